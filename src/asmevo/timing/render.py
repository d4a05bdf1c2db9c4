"""A profile as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.timing.estimate import Estimate
from asmevo.timing.profile import LineProfile, Profile
from asmevo.timing.windows import HotWindow


def render(profile: Profile, *, top: int = 8, listing: bool = False) -> str:
    """The profile as text: summary, hot windows, and with `listing` every executed line."""
    parts = [*_summary(profile), "", *_windows(profile, top)]
    if listing:
        parts += ["", *annotated(profile)]
    return "\n".join(parts) + "\n"


def _summary(profile: Profile) -> Iterator[str]:
    e, roof = profile.estimate, profile.roofline
    yield f"{e.source} {e.microseconds:.2f} us on {e.chip} at {e.clock_ghz:g} GHz (clock {e.clock_status})"
    o = e.occupancy
    yield (
        f"{e.cycles:.0f} cycles on the busiest compute unit with {e.workgroups_of_cu} workgroups; "
        f"{o.workgroups} fit at once ({o.waves_per_simd:g} waves a SIMD, limited by {o.limiter})"
    )
    if len(e.sampled) < e.workgroups:
        doubt = "is not known" if e.sampling_error is None else f"{100 * e.sampling_error:.1f} %"
        yield (
            f"{len(e.sampled)} of {e.workgroups} workgroups traced, the others taken to do as the nearest of them; "
            f"standard error of the instructions {doubt}"
        )
    b = e.bounds
    bounds = ((n, getattr(b, n)) for n in ("issue", "valu", "mfma", "lds", "l1", "memory"))
    yield "busy: " + ", ".join(f"{name} {100 * value / e.cycles:.0f} %" for name, value in bounds)
    if b.lds > 0:
        yield _conflicts(e)
    if e.scatter_cycles:
        yield f"lanes apart in memory: {100 * e.scatter_cycles / b.l1:.0f} % of the time that the path to L1 is busy"
    yield f"limited by {e.limiter}; {100 * roof.fraction:.0f} % of the {roof.roof} roof"


def _conflicts(e: Estimate) -> str:
    if e.lds_conflict_cycles is None:
        return "LDS bank conflicts not known: no addresses were recorded"
    return f"LDS bank conflicts: {100 * e.lds_conflict_cycles / e.bounds.lds:.0f} % of the time that LDS is busy"


def _windows(profile: Profile, top: int) -> Iterator[str]:
    yield f"{'window':<22}{'share':>7}{'cycles':>11}{'could save':>12}  {'bound':<12}idle"
    for window in profile.windows[:top]:
        yield _window(window)
    best = profile.by_saving[:1]
    if best and best[0].saving > 0:
        w = best[0]
        share = 100 * w.saving / profile.estimate.cycles
        yield f"most to gain: {w.kind} {w.window.first}..{w.window.last}, at most {share:.1f} % of the time"


def _window(w: HotWindow) -> str:
    name = f"{w.kind} {w.window.first}..{w.window.last}"
    idle = ", ".join(f"{cause} {100 * clocks / w.cycles:.0f} %" for cause, clocks in list(w.idle.items())[:3])
    return f"{name:<22}{100 * w.share:>6.1f}%{w.cycles:>11.0f}{w.saving:>12.0f}  {w.limiter:<12}{idle}".rstrip()


def annotated(profile: Profile) -> Iterator[str]:
    """One line of text for each executed line: id, count, share, clocks, the instruction, what held it back."""
    yield f"{'line':>6}{'count':>9}{'share':>8}{'cycles':>10}  instruction"
    previous: LineProfile | None = None
    for line in profile.lines:
        if previous is not None and line.position != previous.position + 1:
            yield "   ..."
        previous = line
        notes = [
            *_lines(line),
            *(f"{cause}:{clocks:.0f}" for cause, clocks in list(line.idle.items())[:3] if clocks >= 1),
        ]
        text = f"{line.id:>6}{line.count:>9.0f}{100 * line.share:>7.2f}%{line.cycles:>10.0f}  {line.text}"
        yield f"{text:<92}  {' '.join(notes)}".rstrip()


def _lines(line: LineProfile) -> Iterator[str]:
    """Where the lanes of an access lie so far apart that it touches more cache lines than it has to."""
    if line.lines is not None and line.lines > line.least_lines:
        yield f"lines:{line.lines:.3g} ({line.least_lines:.3g} would do)"
