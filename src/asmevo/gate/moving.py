"""Whether results that are K0's here would be K0's where approximations are as wrong as hardware may make them.

The simulator rounds reciprocals nearly correctly, so a division without its Newton steps may give K0's bits on every
launch whose quotients are exact, and other ones on hardware. Where something that is not proved to be K0's meets an
approximation, K0 and the candidate are therefore also compared with approximations moved (`asmevo.gate.nudge`). A proof
needs none of this: hardware approximates the same value by the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from asmevo.device import Device, Status
from asmevo.gate.baseline import SHOWN, Baseline, LaunchBaseline
from asmevo.gate.memory import Snapshot, describe_difference
from asmevo.gate.nudge import approximations, is_nudged, nudged, unknown_error
from asmevo.program import Line, Program
from asmevo.prove import BlockProof, dependents
from asmevo.verdict import Finding, InputError, Severity, UnsupportedError

VARIANTS = ("down", "up")
"""Those of `asmevo.gate.nudge` in which the same approximation of the same value is the same wherever it stands."""
BYTES = "moved.bytes"
"""Rule of a finding that memory is another one when approximations are moved."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How to run a program of one K0 with approximations moved as a variant says."""

    k0: Program
    variant: str
    kernel: str | None
    device: Device

    def runs(
        self, program: Program, launches: Sequence[LaunchBaseline]
    ) -> Iterator[tuple[LaunchBaseline, Finding | None]]:
        """Each launch, while its first track holds what the program leaves, or with why that cannot be run."""
        try:
            module = self.device.load(nudged(program, self.variant, self.k0), self.kernel)
        except (InputError, UnsupportedError) as error:
            refused = _unknown(f"Approximations cannot be moved {self.variant}: {error}")
            yield from ((known, refused) for known in launches)
            return
        for known in launches:
            track, launch = known.tracks[0], known.launch
            try:
                outcome = self.device.run(
                    module, launch, track.work,
                    limits=known.limits, workgroups=launch.sampled(), wave_order=track.order,
                )  # fmt: skip
                how = f"With approximations moved {self.variant} a run ends with {outcome.status} on {launch.name!r}."
                yield known, None if outcome.done else _unknown(how, outcome.status)
            finally:
                track.reset()


class MovedStage:
    """Compares candidates of one K0; what K0 leaves is kept."""

    def __init__(self, k0: Program) -> None:
        self._k0 = k0
        self._after: dict[str, dict[str, Snapshot | Finding]] = {}

    @cached_property
    def _of_k0(self) -> Set[int]:
        """Its approximations and all that depends on one."""
        return _dependents(self._k0, approximations(self._k0))

    def finding(
        self, program: Program, kernel: str | None, baseline: Baseline, device: Device, proofs: Sequence[BlockProof]
    ) -> Finding | None:
        """Why K0's results may not be the candidate's on hardware; None where nothing speaks for that.

        An approximation meets what may differ where they have a dependent in common, themselves included. One that
        cannot be moved is a reason then. Timed launches are run only where there are no others.
        """
        meets = False
        for one, other in ((self._k0, program), (program, self._k0)):
            lines = approximations(one)
            differing = _differing(one, other, proofs) if lines else frozenset[int]()
            if (self._of_k0 if one is self._k0 else _dependents(one, lines)).isdisjoint(differing):
                continue
            meets = True
            for line in lines:
                if not is_nudged(line) and not _dependents(one, [line]).isdisjoint(differing):
                    return unknown_error(line)
        if not meets:
            return None
        launches = [b for b in baseline.usable if not b.launch.objective] or list(baseline.usable)
        for variant in VARIANTS:
            moved = Moved(self._k0, variant, kernel, device)
            after = self._after.get(variant) or _after(moved, launches)
            if lost := next((x for x in after.values() if isinstance(x, Finding) and not _shown(x)), None):
                return lost
            self._after[variant] = after
            ran = [b for b in launches if b.launch.name in _ran(after)]
            for known, problem in moved.runs(program, ran) if ran else ():
                expected = after[known.launch.name]
                assert isinstance(expected, Snapshot)
                if found := problem or _other(known, expected, variant):
                    return found
        return self._hidden(launches)

    def _hidden(self, launches: Sequence[LaunchBaseline]) -> Finding | None:
        """Why K0 does not come to its end on some launch, whichever way approximations are moved; None without such."""
        ran = set[str]().union(*map(_ran, self._after.values()))
        missing = (b.launch.name for b in launches if b.launch.name not in ran)
        problems = (after[name] for name in missing for after in self._after.values())
        return next((problem for problem in problems if isinstance(problem, Finding)), None)


def _dependents(program: Program, lines: Sequence[Line]) -> Set[int]:
    return dependents(program, {program.position[line.id] for line in lines})


def _differing(program: Program, other: Program, proofs: Sequence[BlockProof]) -> Set[int]:
    """Positions of lines that may not compute what they do in the other program, or do not stand there."""
    unproved = {proof.block: proof for proof in proofs if not proof.proved}
    sources: set[int] = set()
    for number, proof in unproved.items():
        block = program.blocks[number]
        for position in range(block.first, block.last):
            line = program.lines[position]
            kept = line.id in other.position and other.line(line.id).instruction == line.instruction
            if not kept or line.id in proof.recomputed:
                sources.add(position)
    return dependents(program, sources, {number: proof.differing for number, proof in unproved.items()})


def _after(moved: Moved, launches: Sequence[LaunchBaseline]) -> dict[str, Snapshot | Finding]:
    """What K0 leaves on each launch, or why that is not known."""
    return {
        known.launch.name: problem or Snapshot.take(known.tracks[0].template, known.tracks[0].work)
        for known, problem in moved.runs(moved.k0, launches)
    }


def _shown(problem: Finding) -> bool:
    """Whether K0 itself goes wrong: it does not on hardware, so hardware is not off like that."""
    return problem.facts.get("status") in SHOWN | {Status.LIMIT}


def _ran(after: Mapping[str, Snapshot | Finding]) -> set[str]:
    return {name for name, what in after.items() if isinstance(what, Snapshot)}


def _other(known: LaunchBaseline, expected: Snapshot, variant: str) -> Finding | None:
    """What is to be said where a track does not hold what K0 leaves."""
    track, name = known.tracks[0], known.launch.name
    if expected.equals(track.template, track.work):
        return None
    offsets = expected.differences(track.template, track.work)
    sentence, facts = describe_difference(expected, track.template, track.work, offsets)
    message = (
        f"With approximations of both moved {variant} as far as hardware may be off, on the launch {name!r} {sentence} "
        "Hardware may show that difference."
    )
    return Finding(BYTES, message, Severity.WARNING, facts={"launch": name, "moved": variant} | facts)


def _unknown(message: str, status: Status | None = None) -> Finding:
    return Finding("inexact.moved", message, Severity.WARNING, facts={} if status is None else {"status": status})
