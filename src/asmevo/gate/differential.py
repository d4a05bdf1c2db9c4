"""The candidate on the same launches as K0: whole memory compared as bytes, launch after launch, under both poisons and
with workgroups and waves in two orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, Outcome
from asmevo.gate.baseline import REPEATS, SHOWN, Baseline, LaunchBaseline, Track
from asmevo.gate.memory import describe_difference
from asmevo.launch import MemoryImage
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict

BYTES = "diff.bytes"
"""Rule of a finding that memory is another one; nothing else was wrong up to there."""
Judge: TypeAlias = Callable[[LaunchBaseline, Track, int], Finding | None]
"""What is wrong with the memory that a candidate leaves on a track after one of the repeats; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Differential:
    """The check, and which lines of the candidate were executed."""

    check: Check
    executed: set[int]
    """Positions in the candidate's program that some launch executed, vector instructions with a lane."""


def differential(
    candidate: CodeObject, kernel: str | None, baseline: Baseline, device: Device, judge: Judge | None = None
) -> Differential:
    """Run the candidate on every usable launch, the quickest first, until something differs; `judge` says what does, in
    place of all bytes."""
    judge = judge or different_bytes
    executed: set[int] = set()
    compared = 0
    facts: dict[str, object] = {"poisons": [], "repeats": REPEATS, "launches": []}
    usable = baseline.usable
    try:
        module = device.load(candidate.data, kernel)
    except UnsupportedError as error:
        return Differential(_unknown(f"The candidate cannot be executed: {error}", facts), executed)
    for known in usable:
        for track in known.all_tracks:
            finding, size = _compare(candidate, module, known, track, device, executed, judge)
            compared += size
            if finding is not None:
                verdict = Verdict.REFUTED if finding.severity is Severity.ERROR else Verdict.UNKNOWN
                return Differential(Check("differential", verdict, (finding,), facts), executed)
    facts |= {"poisons": list(dict.fromkeys(t.template.poison for known in usable for t in known.all_tracks))}
    facts |= {"launches": [b.launch.name for b in usable], "bytes_compared": compared}
    if not usable:
        return Differential(_unknown("No launch was there to run.", facts), executed)
    return Differential(Check("differential", Verdict.TESTED, (), facts), executed)


def different_bytes(known: LaunchBaseline, track: Track, repeat: int) -> Finding | None:
    """The first byte of memory that is not as K0 leaves it."""
    expected = track.after[repeat]
    if expected.equals(track.template, track.work):
        return None
    return difference(known, track, repeat, expected.differences(track.template, track.work))


def difference(known: LaunchBaseline, track: Track, repeat: int, offsets: NDArray[np.int64]) -> Finding:
    """What is to be said of bytes that differ."""
    sentence, facts = describe_difference(track.after[repeat], track.template, track.work, offsets)
    where = place_of(known, track, repeat)
    message = f"On the launch {known.launch.name!r} (run {repeat + 1}, poison 0x{track.template.poison:02x}) {sentence}"
    return Finding(BYTES, message, facts=where | facts)


def place_of(known: LaunchBaseline, track: Track, repeat: int) -> dict[str, object]:
    """Facts that name a run."""
    where: dict[str, object] = {"launch": known.launch.name, "poison": track.template.poison, "repeat": repeat}
    return where | {"wave_order": track.order.value}


def _compare(
    candidate: CodeObject,
    module: Module,
    known: LaunchBaseline,
    track: Track,
    device: Device,
    executed: set[int],
    judge: Judge,
) -> tuple[Finding | None, int]:
    launch, size = known.launch, 0
    clean = False
    try:
        for repeat in range(len(track.after)):
            outcome = device.run(
                module,
                launch,
                track.work,
                limits=known.limits,
                workgroups=launch.sampled(),
                wave_order=track.order,
            )
            executed.update(outcome.lines_active)
            where = place_of(known, track, repeat)
            if not outcome.done:
                return _failed(outcome, where), size
            if not _code_intact(candidate, track.work):
                message = f"The candidate overwrites its own code on the launch {launch.name!r}."
                return Finding("diff.code", message, facts=where), size
            if finding := judge(known, track, repeat):
                return finding, size
            size += len(track.work.data) - track.work.code_space
        if judge is different_bytes:
            track.after[-1].restore(track.template, track.work)
            clean = True
        return None, size
    finally:
        if not clean:
            track.reset()


def _code_intact(candidate: CodeObject, image: MemoryImage) -> bool:
    low, code = candidate.load_image()
    space = image.data[: image.code_space]
    loaded = np.array_equal(space[low : low + len(code)], np.frombuffer(code, np.uint8))
    return loaded and not space[:low].any() and not space[low + len(code) :].any()


def _failed(outcome: Outcome, where: dict[str, object]) -> Finding:
    reason = outcome.fault.message if outcome.fault else "There is no more to say."
    severity = Severity.ERROR if outcome.status in SHOWN else Severity.WARNING
    message = f"On the launch {where['launch']!r} the candidate ends with {outcome.status}. {reason}"
    facts = dict(outcome.fault.facts) if outcome.fault else {}
    return Finding(
        f"diff.{outcome.status}", message, severity, outcome.fault.line if outcome.fault else None, where | facts
    )


def _unknown(message: str, facts: dict[str, object]) -> Check:
    return Check("differential", Verdict.UNKNOWN, (Finding("diff.unknown", message, Severity.WARNING),), facts)
