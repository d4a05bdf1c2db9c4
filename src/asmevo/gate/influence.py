"""Whether launches show what a changed line computes: a result that reaches no memory on any of them verifies nothing.

A line may be executed and yet be overwritten wherever the launches go: under an EXEC that they fill, on the side of a
branch that they take, in a loop that they pass once. So its result is spoilt, and some launch must leave other memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from asmevo.device import Device, Module, Status
from asmevo.gate.baseline import SHOWN, Baseline, LaunchBaseline, Track
from asmevo.gate.changes import changes
from asmevo.isa import MatrixRow, MemoryRow, RegSet, effects, names, units
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, VGPR_BASE, unit_name
from asmevo.program import Line, Program, rebuild
from asmevo.program.liveness import Liveness, liveness
from asmevo.program.text import make_line
from asmevo.prove import BlockProof
from asmevo.verdict import Check, Finding, InputError, Severity, UnsupportedError, Verdict

NAME = "influence"
_SPOILT = "0x5a5a5a5a"
_TOGETHER = 4
"""Results of more registers than these are spoilt all at once, as are those of matrix instructions."""

Agrees: TypeAlias = Callable[[LaunchBaseline, Track], bool]
"""Whether the memory of a track, after one run on it, counts as what K0 leaves."""


def _equal(known: LaunchBaseline, track: Track) -> bool:
    return track.after[0].equals(track.template, track.work)


class InfluenceStage:
    """Spoils results of edited and deleted lines, one by one; what is known of K0's lines is kept.

    `agrees` is the comparison that must notice it: that of the differential stage.
    """

    def __init__(self, k0: Program, agrees: Agrees = _equal) -> None:
        self._agrees = agrees
        self._k0 = _Probe(k0, agrees)

    def check(
        self, candidate: Program, kernel: str | None, baseline: Baseline, device: Device, proofs: Sequence[BlockProof]
    ) -> Check:
        """UNKNOWN where no launch shows the result of a changed line.

        Lines of proved blocks need no launch, and neither do results that nobody can read.
        """
        proved = {proof.block for proof in proofs if proof.proved}
        spoilt = 0
        findings: list[Finding] = []
        for probe, line in self._lines(candidate, proved):
            for result in probe.results(line):
                spoilt += 1
                if not probe.shows(line, result, kernel, baseline, device):
                    message = (
                        f"No launch shows what `{line.instruction}` leaves in {names(result)}: memory stays the same "
                        "when it is spoilt; add a launch on which it counts."
                    )
                    findings.append(Finding(f"{NAME}.hidden", message, Severity.WARNING, line.id))
        return Check(NAME, Verdict.UNKNOWN if findings else Verdict.TESTED, tuple(findings), {"results": spoilt})

    def _lines(self, candidate: Program, proved: set[int]) -> Iterator[tuple[_Probe, Line]]:
        """K0's lines that were edited or deleted, and the candidate's new ones, with the program to spoil each in."""
        k0, other = self._k0.program, _Probe(candidate, self._agrees)
        changed = changes(k0, candidate)
        for line in (candidate.lines[position] for position in changed.edited):
            if candidate.block_of.get(line.id, -1) not in proved:
                known = k0.line(line.id) if line.id in k0.position else None
                if known is not None:
                    yield self._k0, known
                if known is None or effects(known.instruction).writes != effects(line.instruction).writes:
                    yield other, line
        for line in (k0.lines[position] for position in changed.deleted):
            if k0.block_of.get(line.id, -1) not in proved:
                yield self._k0, line


class _Probe:
    """One program, and which of its results launches show."""

    def __init__(self, program: Program, agrees: Agrees) -> None:
        self.program, self._agrees = program, agrees
        self._known: dict[tuple[int, RegSet], bool] = {}

    @cached_property
    def _liveness(self) -> Liveness:
        return liveness(self.program)

    def results(self, line: Line) -> Iterator[RegSet]:
        """Numbered registers that a line writes and somebody may read, each by itself. Masks are left to proofs."""
        if line.id not in self.program.block_of or line.target is not None:
            return
        known = effects(line.instruction)
        live = known.writes & self._liveness.live_out(self.program.position[line.id])
        written = [unit for unit in units(live) if unit < SGPR_COUNT or unit >= VGPR_BASE]
        if len(written) > _TOGETHER or isinstance(known.row, MatrixRow):
            yield sum(1 << unit for unit in written)
        else:
            yield from (1 << unit for unit in written)

    def shows(self, line: Line, result: RegSet, kernel: str | None, baseline: Baseline, device: Device) -> bool:
        """Whether some launch leaves other memory, or does not end well, when the result is something else."""
        key = line.id, result
        if key not in self._known:
            try:
                module = device.load(rebuild(self._spoilt(line, result)), kernel)
            except (InputError, UnsupportedError):  # nothing may be put there
                return False
            self._known[key] = any(_differs(module, known, device, self._agrees) for known in baseline.usable)
        return self._known[key]

    def _spoilt(self, line: Line, result: RegSet) -> Program:
        """The program in which the line's result is overwritten right behind it, once it is there."""
        row = effects(line.instruction).row
        waits = ["s_waitcnt vmcnt(0) lgkmcnt(0)"] if isinstance(row, MemoryRow) else ["s_nop 15"] * 2
        texts = [*waits, *map(_overwritten, units(result))]
        first = self.program.next_id
        new = tuple(make_line(first + i, text) for i, text in enumerate(texts))
        at = self.program.position[line.id] + 1
        return self.program.with_lines((*self.program.lines[:at], *new, *self.program.lines[at:]))


def _overwritten(unit: int) -> str:
    """An instruction that leaves something else in a register."""
    name = unit_name(unit)
    if unit >= AGPR_BASE:
        return f"v_accvgpr_write_b32 {name}, -4.0"
    return f"v_xor_b32_e32 {name}, {_SPOILT}, {name}" if unit >= VGPR_BASE else f"s_mov_b32 {name}, {_SPOILT}"


def _differs(module: Module, known: LaunchBaseline, device: Device, agrees: Agrees) -> bool:
    track = known.tracks[0]
    try:
        outcome = device.run(
            module,
            known.launch,
            track.work,
            limits=known.limits,
            workgroups=known.launch.sampled(),
            wave_order=track.order,
        )
        if outcome.done:
            return not agrees(known, track)
        return outcome.status in SHOWN or outcome.status is Status.LIMIT
    finally:
        track.reset()
