"""Races through LDS, as checked runs find them, and where between two barriers each wave meets them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from asmevo.gate.checked import chosen
from asmevo.launch import Launch, build_image
from asmevo.program import Program, control_kind
from asmevo.sim import BlockCache, Checking, Executable, Execution, WaveOrder, execute
from asmevo.sim.results import WaveTrace
from asmevo.verdict import Finding, UnsupportedError

RACE = "check.lds_race"
"""Rule of the findings that are repaired."""
Pair: TypeAlias = tuple[int, int]
"""Lines of two accesses that nothing orders, the lower id first; one line may race with itself."""
Phase: TypeAlias = tuple[tuple[int, ...], ...]
"""What the waves of a workgroup meet between two barriers: for each wave positions in the program, in order."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What checked runs of a program say."""

    races: dict[Pair, tuple[str, ...]]
    """Pairs of lines, and on which launches they were found."""
    earlier: frozenset[tuple[int, int]]
    """The same as (line of the earlier access, line of the later one) in the order of the run."""
    others: frozenset[tuple[str, int | None, int | None]]
    """(rule, line, earlier line) of all other findings."""
    traces: tuple[tuple[WaveTrace, ...], ...]
    """Paths of the waves of each run."""


def observe(program: Program, launches: Sequence[Launch], cache: BlockCache) -> Observation:
    """Run a few workgroups of each launch under checks, with the first wave ahead and with the last one.

    Raises `UnsupportedError` where a run does not come to its end.
    """
    executable = Executable.build(program, cache)
    races: dict[Pair, dict[str, None]] = {}
    earlier: set[tuple[int, int]] = set()
    others: set[tuple[str, int | None, int | None]] = set()
    traces: list[tuple[WaveTrace, ...]] = []
    for launch in launches:
        for order in WaveOrder:
            done = _checked(executable, launch, order)
            traces.append(done.traces)
            for finding in done.findings:
                before: int | None = finding.facts.get("earlier")
                if finding.rule == RACE and finding.line is not None and before is not None:
                    pair = min(before, finding.line), max(before, finding.line)
                    races.setdefault(pair, {})[launch.name] = None
                    earlier.add((before, finding.line))
                else:
                    others.add((finding.rule, finding.line, before))
    found = {pair: tuple(names) for pair, names in sorted(races.items())}
    return Observation(found, frozenset(earlier), frozenset(others), tuple(traces))


def _checked(executable: Executable, launch: Launch, order: WaveOrder) -> Execution:
    program = executable.program
    memory = build_image(launch, program.source, program.kernel).on_device
    done = execute(
        executable, launch, memory,
        workgroups=chosen(launch), wave_order=order, checking=Checking.of(memory), trace=True,
    )  # fmt: skip
    return ended(done, launch)


def ended(done: Execution, launch: Launch) -> Execution:
    """The run. Raises `UnsupportedError` unless it came to its end."""
    if done.status != "done":
        raise unfinished(launch, done.status, done.fault)
    return done


def unfinished(launch: Launch, status: str, fault: Finding | None) -> UnsupportedError:
    """What is to be said of a run that does not come to its end."""
    why = f" ({fault.message.rstrip('.')})" if fault else ""
    return UnsupportedError(
        f"On the launch {launch.name!r} the kernel ends with {status}{why}; give launches that it finishes."
    )


def barriers_of(program: Program) -> set[int]:
    """Positions of its barriers."""
    return {i for i, line in enumerate(program.lines) if control_kind(line.instruction) == "barrier"}


def phases(program: Program, runs: Iterable[Sequence[WaveTrace]], marks: Collection[int]) -> list[Phase]:
    """All different phases of the workgroups: between one barrier and the next, which of the marked positions each wave
    comes by. Waves that have ended are left out."""
    barriers = barriers_of(program)
    marked = frozenset(marks)
    stops = sorted(barriers | marked)
    found: dict[Phase, None] = {}
    for traces in runs:
        groups: dict[int, list[list[tuple[int, ...]]]] = {}
        for trace in traces:
            groups.setdefault(trace.workgroup, []).append(_split(trace, stops, barriers, marked))
        for waves in groups.values():
            for number in range(max(map(len, waves))):
                phase = tuple(sorted(wave[number] for wave in waves if number < len(wave)))
                if any(phase):
                    found[phase] = None
    return list(found)


def _split(
    trace: WaveTrace, stops: Sequence[int], barriers: Collection[int], marks: Collection[int]
) -> list[tuple[int, ...]]:
    """The marked positions that a wave comes by, from barrier to barrier. A mark at a barrier is in front of it."""
    parts: list[tuple[int, ...]] = []
    part: list[int] = []
    for first, last in trace.runs.tolist():
        for at in range(bisect_left(stops, first), bisect_left(stops, last)):
            position = stops[at]
            if position in marks:
                part.append(position)
            if position in barriers:
                parts.append(tuple(part))
                part = []
    return [*parts, tuple(part)]
