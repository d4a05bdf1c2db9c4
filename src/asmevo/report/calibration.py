"""What measured times and counters say of the model, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asmevo.device.calibration import Calibration, ClockFit, Compared, LeftOver, Move, Told
from asmevo.report.table import figure, table
from asmevo.verdict import shown

_LISTED = 12
"""Kinds of dispatches without a launch that are named."""


def calibration_text(found: Calibration, file: str | None) -> str:
    """All of a calibration; `file` is where the fitted chip was written."""
    return "\n".join(_lines(found, file)) + "\n"


def chip_remark(found: Calibration) -> str:
    """What a file of the fitted chip says of its origin."""
    told = [fit for fit in found.clocks if fit.ghz is not None]
    words = [
        f"{fit.parameter} was fitted to {sum(not own.reason for own in fit.launches)} measured launches; its range is "
        "that of the clocks of the launches."
        for fit in told
    ]
    if cold := _cold(found):
        words.append(f"Only a cold first dispatch was measured of {', '.join(cold)}, so a clock may be too low.")
    return "\n".join(["Clocks by `asmevo calibrate`; what is not named here is as in the table of the base.", *words])


def _lines(found: Calibration, file: str | None) -> Iterator[str]:
    where = f" on {shown(found.agent)}" if found.agent else ""
    yield f"modelled for {found.chip.name}, measured{where}"
    if found.launches:
        yield table(
            ["launch", "modelled us", "measured us", "95 % interval", "samples", "measured/modelled", "limiter"],
            [_row(one) for one in found.launches],
        )
    if uneven := [one.launch for one in found.launches if one.measured and one.measured.uneven]:
        yield f"uneven: {', '.join(uneven)}; files do not say arguments, so other launches of these sizes may be there"
    if cold := _cold(found):
        yield (
            f"cold: {', '.join(cold)}; the first dispatch is the only one and may take longer than the next, so a "
            "clock from it may be too low; dispatch each launch several times"
        )
    for fit in found.clocks:
        yield from _clock(fit)
    for one in found.launches:
        if one.counted_ghz is not None:
            yield f"{one.launch} ran at {figure(one.counted_ghz)} GHz while it was counted"
    if not found.clocks:
        yield "no clock is told: no launch has even times without counters"
    if found.error is not None:
        before, after = (f"{100 * error:.1f} %" for error in found.error)
        yield f"median error {before}" + (f", {after} with the fitted clocks" if found.told else "")
    yield from _moves(found)
    for one in found.launches:
        if one.counters:
            yield f"\ncounters of {one.launch}; what the model has no figure for is -"
            yield table(
                ["counter", "counted", "modelled", "counted/modelled", "unit"],
                [
                    [shown(p.name), f"{p.counted:.6g}", figure(p.modelled, 6), figure(p.ratio, 3), p.unit]
                    for p in one.counters
                ],
            )
    yield from _left(found.left)
    if found.missing:
        yield f"\nlaunches without a dispatch: {', '.join(found.missing)}"
    if file is not None:
        yield f"\nwritten: {file}, for --chip"


def _cold(found: Calibration) -> list[str]:
    return [shown(one.launch) for one in found.launches if one.measured and one.measured.cold]


def _row(one: Compared) -> list[str]:
    measured = one.measured
    if measured is None:
        return [one.launch, f"{one.modelled:.2f}", "-", "counted only", "-", "-", one.limiter]
    no_interval = measured.low is None or measured.high is None
    why = "uneven, not used" if measured.uneven else "too few"
    return [
        one.launch,
        f"{one.modelled:.2f}",
        f"{measured.microseconds:.2f}",
        why if no_interval else f"{measured.low:.2f} to {measured.high:.2f}",
        str(measured.samples),
        figure(one.ratio),
        one.limiter,
    ]


def _clock(fit: ClockFit) -> Iterator[str]:
    if fit.ghz is None:
        yield f"{fit.parameter}: not told, since {fit.reason}"
    else:
        used = sum(not own.reason for own in fit.launches)
        span = f"{figure(fit.low)} to {figure(fit.high)} over {used} launches"
        words = f"; {fit.reason}" if fit.reason else ""
        yield f"{fit.parameter}: {figure(fit.ghz)} GHz ({span}; it was {fit.table:g}){words}"
    for own in fit.launches:
        if own.reason:
            yield f"  {own.launch}: {own.reason}"


def _moves(found: Calibration) -> Iterator[str]:
    if not found.moves:
        if found.error is not None:
            yield "of the other doubtful numbers so few launches tell nothing"
        return
    better = [move for move in found.moves if move.told is Told.MOVES]
    yield "" if better else "no other doubtful number would move"
    if better:
        yield "numbers that these times would move, each alone; they are not changed"
        yield table(["number", "value", "towards", "unit", "mean error %", "there"], [_moved(move) for move in better])
    if silent := [move.name for move in found.moves if move.told is Told.SILENT]:
        yield f"the times say nothing of {', '.join(silent)}"


def _moved(move: Move) -> list[str]:
    errors = (f"{100 * error:.1f}" for error in (move.error, move.error_at_end))
    return [move.name, figure(move.value), figure(move.end), move.unit, *errors]


def _left(left: Sequence[LeftOver]) -> Iterator[str]:
    if not left:
        return
    yield f"\ndispatches that stand for no launch: {sum(one.dispatches for one in left)}"
    for one in left[:_LISTED]:
        grid, block = ("x".join(map(str, sizes)) or "?" for sizes in (one.grid, one.block))
        yield f"  {one.dispatches} of {shown(one.kernel)}, {grid} work-items in workgroups of {block}: {one.reason}"
    if len(left) > _LISTED:
        yield f"  and {len(left) - _LISTED} other kinds; --json names all"
