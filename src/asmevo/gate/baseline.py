"""K0 against itself: which launches can judge a candidate, and what K0 leaves in memory on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, Outcome, RunLimits
from asmevo.gate.memory import Snapshot
from asmevo.launch import POISONS, Launch, MemoryImage, build_image
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict

REPEATS = 2
"""Launches on one image without restoring it: state that drifts from launch to launch shows in the second."""


@dataclass(slots=True)
class Track:
    """One launch under one poison: memory before, memory to run on, and what K0 leaves after each repeat."""

    template: MemoryImage
    work: MemoryImage
    after: tuple[Snapshot, ...] = ()

    def reset(self) -> None:
        """Make `work` equal to the template, whatever it holds."""
        self.work.data[:] = self.template.data


@dataclass(slots=True)
class LaunchBaseline:
    """What is known of K0 on one launch."""

    launch: Launch
    tracks: tuple[Track, ...] = ()
    """One for each poison; empty when the launch is not used."""
    findings: tuple[Finding, ...] = ()
    """Why it is not used, or what is odd about it."""
    instructions: int = 0
    """Wave instructions of one run."""
    seconds: float = 0.0
    """Time of one run, for ordering."""
    lines: frozenset[int] = frozenset()
    """Positions in K0's program that it executed."""

    @property
    def usable(self) -> bool:
        return bool(self.tracks)


class Baseline:
    """Runs K0 once and keeps what candidates are compared with.

    A launch is used when K0 finishes it, leaves the same bytes in two sequences of runs, depends on its inputs, and
    leaves the same under both poisons (what it never writes excepted). Each launch has another of its buffers across a
    multiple of 4 GiB, where 64-bit address arithmetic needs its carry.
    """

    def __init__(
        self, k0: CodeObject, module: Module, launches: tuple[Launch, ...], device: Device, limits: RunLimits
    ) -> None:
        self._k0, self._module, self._device, self._limits = k0, module, device, limits
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
        """TESTED when a launch is left to judge by."""
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
        if any(b.usable for b in self.launches):
            return Check("baseline", Verdict.TESTED, findings, facts)
        reason = Finding(
            "baseline.none", "No launch can judge a candidate; add one that K0 finishes and that is stable."
        )
        return Check("baseline", Verdict.UNKNOWN, (*findings, reason), facts)

    def _examine(self, launch: Launch, number: int) -> LaunchBaseline:
        kernel = self._k0.kernel(launch.kernel or self._module.kernel)
        first = build_image(launch, self._k0, kernel, POISONS[0], straddle=_straddled(launch, number))
        templates = (first, *(first.with_poison(p) for p in POISONS[1:]))
        result = LaunchBaseline(launch)
        tracks: list[Track] = []
        for template in templates:
            track = Track(template, template.copy())
            problem = self._record(launch, track, result)
            if problem:
                return _unused(result, problem)
            tracks.append(track)
        problem = _poison_dependence(launch, tracks) or self._insensitivity(launch, tracks[0])
        if problem:
            return _unused(result, problem)
        result.tracks = tuple(tracks)
        return result

    def _run(self, launch: Launch, image: MemoryImage) -> Outcome:
        try:
            return self._device.run(self._module, launch, image, limits=self._limits, workgroups=launch.sampled())
        except UnsupportedError as error:
            raise UnsupportedError(f"K0 cannot be executed on the device: {error}") from error

    def _record(self, launch: Launch, track: Track, result: LaunchBaseline) -> Finding | None:
        """Run the sequence twice from the same memory, and keep what it left."""
        for attempt in range(2):
            after: list[Snapshot] = []
            for _ in range(REPEATS):
                outcome = self._run(launch, track.work)
                if not outcome.done:
                    why = outcome.fault.message if outcome.fault else ""
                    return _finding(launch, "fault", f"K0 itself ends with {outcome.status} on it. {why}".strip())
                if place := track.work.overrun():
                    return _finding(launch, "overrun", f"K0 writes outside of its buffers, first in the {place}.")
                after.append(Snapshot.take(track.template, track.work))
                result.instructions, result.seconds = outcome.instructions, outcome.seconds
                result.lines = frozenset(outcome.lines)
            track.reset()
            if attempt == 0:
                track.after = tuple(after)
            elif [s.sha256 for s in after] != [s.sha256 for s in track.after]:
                return _finding(launch, "unstable", "K0 leaves different bytes in two sequences of runs.")
        return None

    def _insensitivity(self, launch: Launch, track: Track) -> Finding | None:
        """Change the inputs; what the kernel writes must change. A run that then fails depends on them too."""
        perturb(track.work)
        before = track.work.data.copy()
        outcome = self._run(launch, track.work)
        got, normal, initial = track.work.data, track.after[0].materialise(track.template), track.template.data
        written = (got != before) | (normal != initial)
        start = track.template.code_space
        sensitive = not outcome.done or bool(np.any(((got != normal) & written)[start:]))
        track.reset()
        return None if sensitive else _finding(launch, "insensitive", "K0's results do not depend on its inputs.")


def _straddled(launch: Launch, number: int) -> str | None:
    """Which buffer lies across a multiple of 4 GiB: each launch takes another one, the largest first."""
    by_size = sorted(launch.buffers, key=lambda b: -b.size)
    return by_size[number % len(by_size)].name if by_size else None


def _poison_dependence(launch: Launch, tracks: list[Track]) -> Finding | None:
    one, other = tracks
    a, b = (track.after[-1].materialise(track.template) for track in tracks)
    untouched = (a == one.template.poison) & (b == other.template.poison)
    bad = np.flatnonzero(((a != b) & ~untouched)[one.template.code_space :])
    if not len(bad):
        return None
    place = one.work.locate(one.work.base + one.template.code_space + int(bad[0]))
    return _finding(launch, "poison", f"K0 uses memory, registers or LDS that nobody wrote: {place} depends on it.")


def perturb(image: MemoryImage) -> None:
    """Turn the input buffers by half: those of floats where there are any, since integers may be indices."""
    inputs = [p for p in image.placements if p.role in ("in", "inout")]
    for place in [p for p in inputs if p.format.is_float] or inputs:
        codes = image.buffer(place.name).reshape(-1)
        turned = np.roll(codes, len(codes) // 2 + 1)
        if np.array_equal(turned, codes):
            turned = place.format.encode(np.arange(len(codes)) % 3 + 1.0)
        codes[:] = turned


def _finding(launch: Launch, rule: str, message: str) -> Finding:
    text = f"The launch {launch.name!r} is not used: {message}"
    return Finding(f"baseline.{rule}", text, Severity.WARNING, facts={"launch": launch.name})


def _unused(result: LaunchBaseline, problem: Finding) -> LaunchBaseline:
    result.tracks, result.findings = (), (problem,)
    return result
