"""K0 against itself: which launches can judge a candidate, and what K0 leaves in memory on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, Outcome, RunLimits, Status, WaveOrder, objective_of
from asmevo.gate.memory import Snapshot
from asmevo.launch import POISONS, Launch, MemoryImage, build_image
from asmevo.verdict import Check, Finding, Severity, Verdict

REPEATS = 2
"""Launches on one image without restoring it: state that drifts from launch to launch shows in the second."""
SHOWN = frozenset({Status.FAULT, Status.DEADLOCK})
"""Ends that say something of the kernel. The others say something of the device or the limits: no evidence."""
SLACK = 2
"""A wave may execute this many times the instructions of all of K0's waves, and a constant more."""
_SLACK_INSTRUCTIONS = 100_000


@dataclass(slots=True)
class Track:
    """One launch under one poison and one order of waves: memory before, memory to run on, and what K0 leaves after
    each repeat."""

    template: MemoryImage
    work: MemoryImage
    order: WaveOrder
    after: tuple[Snapshot, ...] = ()

    def reset(self) -> None:
        """Make `work` equal to the template, whatever it holds."""
        self.work.data[:] = self.template.data


@dataclass(slots=True)
class LaunchBaseline:
    """What is known of K0 on one launch."""

    launch: Launch
    tracks: tuple[Track, ...] = ()
    """One for each poison, each with another order of waves; empty when the launch is not used."""
    zeroed: Track | None = None
    """Another one whose poison is 0, for the smallest launch: a size or a bound that nobody set is a large number under
    other poisons, behind which any access is in bounds."""
    findings: tuple[Finding, ...] = ()
    """Why it is not used, or what is odd about it."""
    instructions: int = 0
    """Wave instructions of one run."""
    seconds: float = 0.0
    """Time of one run, for ordering."""
    lines: frozenset[int] = frozenset()
    """Positions in K0's program that it executed, vector instructions with a lane."""
    lost: bool = False
    """The device gave no evidence: whether the launch can judge is not known."""

    @property
    def usable(self) -> bool:
        return bool(self.tracks)

    @property
    def all_tracks(self) -> tuple[Track, ...]:
        """All on which a candidate is compared."""
        return self.tracks if self.zeroed is None else (*self.tracks, self.zeroed)

    @property
    def limits(self) -> RunLimits:
        """What another run of it may use."""
        return RunLimits(SLACK * self.instructions + _SLACK_INSTRUCTIONS, 20.0 + 50 * self.seconds)


class Baseline:
    """Runs K0 once and keeps what candidates are compared with.

    A launch is used when K0 finishes it, leaves the same bytes in two sequences of runs, depends on its inputs, and
    leaves the same under both poisons (what it never writes excepted), with the first or the last workgroup and wave
    ahead; the smallest launch also where all that nobody wrote is 0. Each launch has another of its buffers across a
    multiple of 4 GiB, where 64-bit address arithmetic needs its carry. A launch on which K0 itself shows that it cannot
    judge is set aside; one on which the device gave no evidence leaves the whole baseline UNKNOWN, as does a timed
    launch that is set aside.
    """

    def __init__(
        self, k0: CodeObject, module: Module, launches: tuple[Launch, ...], device: Device, limits: RunLimits
    ) -> None:
        self._k0, self._module, self._device, self._limits = k0, module, device, limits
        self._smallest = min(launches, key=lambda launch: sum(b.size for b in launch.buffers))
        self.launches = tuple(self._examine(launch, number) for number, launch in enumerate(launches))

    @property
    def usable(self) -> tuple[LaunchBaseline, ...]:
        """Launches that judge candidates, the quickest first."""
        return tuple(sorted((b for b in self.launches if b.usable), key=lambda b: (b.instructions, b.launch.name)))

    @property
    def executed(self) -> frozenset[int]:
        """Positions of K0's program that some usable launch executed."""
        return frozenset[int]().union(*(known.lines for known in self.usable))

    def check(self) -> Check:
        """TESTED when a launch is left to judge by, none was lost, and those that are timed judge, too."""
        facts = {
            "launches": {
                b.launch.name: {
                    "used": b.usable,
                    "digest": b.launch.digest,
                    "workgroups": len(b.launch.sampled() or ()) or b.launch.workgroups,
                    "workgroups_of_grid": b.launch.workgroups,
                    "instructions": b.instructions,
                    "results": [[snapshot.sha256 for snapshot in track.after] for track in b.tracks],
                }
                for b in self.launches
            }
        }
        findings = tuple(finding for b in self.launches for finding in b.findings)
        missing = self._missing()
        known = not missing and not any(b.lost for b in self.launches)
        return Check("baseline", Verdict.TESTED if known else Verdict.UNKNOWN, (*findings, *missing), facts)

    def _missing(self) -> tuple[Finding, ...]:
        """What launches set aside leave open."""
        if not any(b.usable for b in self.launches):
            causes = " ".join(f.message for b in self.launches for f in b.findings[:1])
            message = f"No launch can judge a candidate; mend one or add another. {causes}{self._remedy()}"
            return (Finding("baseline.none", message),)
        timed = objective_of([b.launch for b in self.launches])
        aside = [b.launch.name for b in self.launches if not b.usable and not b.lost and b.launch in timed]
        remedy = self._remedy()
        return tuple(_finding("objective", f"The launch {name!r} is timed {_TIMED}{remedy}", name) for name in aside)

    def _remedy(self) -> str:
        """What may help where K0 depends on the order of waves."""
        dependent = any(finding.rule == "baseline.order" for b in self.launches for finding in b.findings)
        return " Where waves race through LDS, `asmevo repair` makes an object to take as K0." if dependent else ""

    def _examine(self, launch: Launch, number: int) -> LaunchBaseline:
        kernel = self._k0.kernel(launch.kernel or self._module.kernel)
        first = build_image(launch, self._k0, kernel, POISONS[0], straddle=_straddled(launch, number))
        templates = (first, *(first.with_poison(p) for p in POISONS[1:]))
        result = LaunchBaseline(launch)
        tracks: list[Track] = []
        for template, order in zip(templates, WaveOrder, strict=True):
            track = Track(template, template.copy(), order)
            problem = self._record(track, result)
            if problem:
                return _unused(result, problem)
            tracks.append(track)
        problem = self._dependence(tracks, result) or self._insensitivity(tracks[0], result)
        problem = problem or (self._zeros(tracks[0], result) if launch is self._smallest else None)
        if problem:
            return _unused(result, problem)
        result.tracks = tuple(tracks)
        return result

    def _run(self, launch: Launch, track: Track, limits: RunLimits) -> Outcome:
        return self._device.run(
            self._module, launch, track.work, limits=limits, workgroups=launch.sampled(), wave_order=track.order
        )

    def _record(self, track: Track, result: LaunchBaseline) -> Finding | None:
        """Run the sequence twice from the same memory, and keep what it left."""
        launch = result.launch
        for attempt in range(2):
            after: list[Snapshot] = []
            for _ in range(REPEATS):
                outcome = self._run(launch, track, self._limits)
                if outcome.status in SHOWN:
                    return _aside(launch, "fault", f"K0 itself ends with {outcome.status} on it. {_why(outcome)}")
                if not outcome.done:
                    return _lost(result, outcome)
                if place := track.work.overrun():
                    return _aside(launch, "overrun", f"K0 writes outside of its buffers, first in the {place}.")
                after.append(Snapshot.take(track.template, track.work))
                result.instructions, result.seconds = outcome.instructions, outcome.seconds
                result.lines |= outcome.lines_active
            track.reset()
            if attempt == 0:
                track.after = tuple(after)
            elif [s.sha256 for s in after] != [s.sha256 for s in track.after]:
                return _aside(launch, "unstable", "K0 leaves different bytes in two sequences of runs.")
        return None

    def _dependence(self, tracks: list[Track], result: LaunchBaseline) -> Finding | None:
        """K0 must leave the same whatever the poison and the order of waves; which one matters shows in a third run."""
        one, other = tracks
        if (place := _disagreement(one, other)) is None:
            return None
        in_order = Track(other.template, other.work, one.order)
        if problem := self._record(in_order, result):
            return problem
        if _disagreement(one, in_order) is None:
            message = f"K0 leaves something else when workgroups and waves run in another order: {place} depends on it."
            return _aside(result.launch, "order", message)
        message = f"K0 uses memory, registers or LDS that nobody wrote: {place} depends on it."
        return _aside(result.launch, "poison", message)

    def _zeros(self, one: Track, result: LaunchBaseline) -> Finding | None:
        """K0 must leave the same where all that nobody wrote is 0."""
        template = one.template.with_poison(0)
        zeroed = Track(template, template.copy(), one.order)
        if problem := self._record(zeroed, result):
            return problem
        if (place := _disagreement(one, zeroed)) is not None:
            message = f"K0 uses memory, registers or LDS that nobody wrote: {place} is another one where they are 0."
            return _aside(result.launch, "poison", message)
        result.zeroed = zeroed
        return None

    def _insensitivity(self, track: Track, result: LaunchBaseline) -> Finding | None:
        """Change the inputs; what the kernel writes must change. A run that then goes wrong depends on them too."""
        launch = result.launch
        perturb(track.work)
        before = track.work.data.copy()
        outcome = self._run(launch, track, result.limits)
        if not outcome.done and outcome.status not in SHOWN | {Status.LIMIT}:
            return _lost(result, outcome)
        got, normal, initial = track.work.data, track.after[0].materialise(track.template), track.template.data
        written = (got != before) | (normal != initial)
        start = track.template.code_space
        sensitive = not outcome.done or bool(np.any(((got != normal) & written)[start:]))
        track.reset()
        return None if sensitive else _aside(launch, "insensitive", "K0's results do not depend on its inputs.")


def _straddled(launch: Launch, number: int) -> str | None:
    """Which buffer lies across a multiple of 4 GiB: each launch takes another one, the largest first."""
    by_size = sorted(launch.buffers, key=lambda b: -b.size)
    return by_size[number % len(by_size)].name if by_size else None


def _disagreement(one: Track, other: Track) -> str | None:
    """The first place where K0 leaves different bytes on two tracks, other than poison that it never wrote."""
    a, b = (track.after[-1].materialise(track.template) for track in (one, other))
    untouched = (a == one.template.poison) & (b == other.template.poison)
    bad = np.flatnonzero(((a != b) & ~untouched)[one.template.code_space :])
    return one.work.locate(one.work.base + one.template.code_space + int(bad[0])) if len(bad) else None


def perturb(image: MemoryImage) -> None:
    """Turn the input buffers by half: those of floats where there are any, since integers may be indices."""
    inputs = [p for p in image.placements if p.role in ("in", "inout")]
    for place in [p for p in inputs if p.format.is_float] or inputs:
        codes = image.buffer(place.name).reshape(-1)
        turned = np.roll(codes, len(codes) // 2 + 1)
        if np.array_equal(turned, codes):
            turned = place.format.encode(np.arange(len(codes)) % 3 + 1.0)
        codes[:] = turned


_TIMED = "and cannot judge a candidate; repair it, or mark those launches `objective` that can."


def _finding(rule: str, message: str, launch: str) -> Finding:
    return Finding(f"baseline.{rule}", message, Severity.WARNING, facts={"launch": launch})


def _aside(launch: Launch, rule: str, message: str) -> Finding:
    """Why a launch is set aside."""
    return _finding(rule, f"The launch {launch.name!r} is not used: {message.strip()}", launch.name)


def _lost(result: LaunchBaseline, outcome: Outcome) -> Finding:
    """Why nothing is known of a launch."""
    result.lost = True
    name = result.launch.name
    message = f"The launch {name!r} gave no evidence: K0 ends with {outcome.status}. {_why(outcome)}"
    return _finding("lost", message.strip(), name)


def _why(outcome: Outcome) -> str:
    if outcome.status is Status.LIMIT:
        return "A wave executes more instructions than are allowed; make the launch smaller."
    return outcome.fault.message if outcome.fault else ""


def _unused(result: LaunchBaseline, problem: Finding) -> LaunchBaseline:
    result.tracks, result.zeroed, result.findings = (), None, (problem,)
    return result
