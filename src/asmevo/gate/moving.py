"""Whether results that are K0's here would be K0's where approximations are as wrong as hardware may make them.

The simulator rounds reciprocals nearly correctly, so a division without its Newton steps may give K0's bits on every
launch whose quotients are exact, and other ones on hardware. K0 and the candidate are therefore also compared with
approximations moved down and up (`asmevo.gate.nudge`). A proof needs none of this: hardware approximates the same value
by the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.device import Device
from asmevo.gate.baseline import Baseline, LaunchBaseline
from asmevo.gate.memory import Snapshot, describe_difference
from asmevo.gate.nudge import has_moved, nudged, unknown_errors
from asmevo.program import Program
from asmevo.prove import BlockProof
from asmevo.verdict import Finding, InputError, Severity, UnsupportedError

VARIANTS = ("down", "up")
"""Of those of `asmevo.gate.nudge`, the ones in which lines go the same way wherever they stand."""
BYTES = "moved.bytes"
"""Rule of a finding that memory is another one when approximations are moved."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How to run a program of one K0 with approximations moved as a variant says."""

    k0: Program
    variant: str
    kernel: str | None
    device: Device

    def runs(self, program: Program, launches: Sequence[LaunchBaseline]) -> Iterator[LaunchBaseline | Finding]:
        """Each launch, while its first track holds what the program leaves; a finding, the last one, where it cannot be
        run."""
        try:
            module = self.device.load(nudged(program, self.variant, self.k0), self.kernel)
        except (InputError, UnsupportedError) as error:
            yield self._finding(f"Approximations cannot be moved {self.variant}: {error}")
            return
        for known in launches:
            track, launch = known.tracks[0], known.launch
            try:
                outcome = self.device.run(
                    module, launch, track.work,
                    limits=known.limits, workgroups=launch.sampled(), wave_order=track.order,
                )  # fmt: skip
                if not outcome.done:
                    how = f"With approximations moved {self.variant} a run ends with {outcome.status}"
                    yield self._finding(f"{how} on {launch.name!r}.")
                    return
                yield known
            finally:
                track.reset()

    def _finding(self, message: str) -> Finding:
        return Finding("inexact.moved", message, Severity.WARNING)


class MovedStage:
    """Compares candidates of one K0; what K0 leaves is kept."""

    def __init__(self, k0: Program) -> None:
        self._k0 = k0
        self._after: dict[str, dict[str, Snapshot] | Finding] = {}

    def finding(
        self, program: Program, kernel: str | None, baseline: Baseline, device: Device, proofs: Sequence[BlockProof]
    ) -> Finding | None:
        """Why K0's results may not be the candidate's on hardware; None where nothing speaks for that.

        An approximation of unknown error in a block that is not proved is such a reason. Timed launches are run only
        where there are no others.
        """
        unproved = {proof.block for proof in proofs if not proof.proved}
        for one in (self._k0, program):
            for finding in unknown_errors(one):
                if finding.line is not None and one.block_of[finding.line] in unproved:
                    return finding
        if not has_moved(self._k0) and not has_moved(program):
            return None
        launches = [b for b in baseline.usable if not b.launch.objective] or list(baseline.usable)
        for variant in VARIANTS:
            moved = Moved(self._k0, variant, kernel, device)
            if variant not in self._after:
                self._after[variant] = _after(moved, launches)
            expected = self._after[variant]
            if isinstance(expected, Finding):
                return expected
            for known in moved.runs(program, launches):
                found = known if isinstance(known, Finding) else _other(known, expected[known.launch.name], variant)
                if found is not None:
                    return found
        return None


def _after(moved: Moved, launches: Sequence[LaunchBaseline]) -> dict[str, Snapshot] | Finding:
    """What K0 leaves on each launch."""
    after: dict[str, Snapshot] = {}
    for known in moved.runs(moved.k0, launches):
        if isinstance(known, Finding):
            return known
        after[known.launch.name] = Snapshot.take(known.tracks[0].template, known.tracks[0].work)
    return after


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
