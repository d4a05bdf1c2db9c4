"""A launch made ready for the replay once, and replayed on as many chips as there are questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asmevo.isa import MatrixRow, row_of
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.timing.chips import Chip
from asmevo.timing.encode import Code, encode_program
from asmevo.timing.grid import GridRun, run_grid
from asmevo.timing.occupancy import Occupancy, occupancy
from asmevo.timing.origins import origins
from asmevo.timing.plan import Plan, plan
from asmevo.timing.recording import Accesses
from asmevo.timing.traces import Samples, Trace, collect
from asmevo.timing.traffic import MemoryView, Traffic, memory_view, traffic
from asmevo.verdict import InputError

_BITS: Final = {"fp8": 8, "bf8": 8, "i8": 8, "f16": 16, "bf16": 16}
"""Width of the types that have a clock of their own."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A program, a launch of it, and what some of its workgroups executed."""

    program: Program
    launch: Launch
    samples: Samples
    occupancy: Occupancy
    origins: Mapping[int, str]
    """Position of a load to the name of the buffer it reads, where that is known."""
    accesses: Accesses | None
    """None where the addresses of lanes are not known; the replay then takes them to lie side by side."""
    bits: int
    """Width of an element of most matrix instructions; decides the clock. 0 for none."""

    def replay(self, chip: Chip, events: int = 0) -> Replayed:
        """Time on a chip that holds as many workgroups on a compute unit as the one that it was prepared for.

        The same input gives the same cycles. Up to `events` issues are kept for a timeline. Raises what
        `encode_program` raises.
        """
        chip = chip.at(self.bits)
        code = encode_program(self.program, self.samples.positions, chip, self.accesses)
        moved = traffic(code, self.samples, self.launch, chip, self.origins)
        work = plan(self.samples, self.launch, self.occupancy.workgroups, chip)
        view = memory_view(moved, code, self.samples, work, self.launch)
        run = run_grid(code, self.samples, work, view, events)
        return Replayed(code, moved, work, view, run, chip.launch_us + run.cycles / chip.clock_ghz / 1e3)


@dataclass(frozen=True)
class Replayed:
    """One replay and what it rests on."""

    code: Code
    traffic: Traffic
    plan: Plan
    view: MemoryView
    run: GridRun
    microseconds: float
    """Launch overhead included."""


def prepare(
    program: Program, launch: Launch, traces: Sequence[Trace], chip: Chip, accesses: Accesses | None = None
) -> Prepared:
    """A launch ready for the replay on a chip or on copies of it with other parameters.

    `traces` are of the workgroups in `traces_needed`, and `accesses` is what their lanes ask for; both are in what
    `record` gives. Without `accesses` an estimate says that it is not known. Raises `InputError` for traces that are
    missing, empty or of another program, and `UnsupportedError` for a program that is made for another target than the
    chip's.
    """
    chip.require(program.source.target)
    samples = collect(program, traces)
    residency = occupancy(program, launch, chip)
    if (samples.spans[:, 1] - samples.spans[:, 0] != residency.waves_per_workgroup).any():
        raise InputError(
            f"Workgroups of launch {launch.name!r} have {residency.waves_per_workgroup} waves, and the traces hold "
            "another number; trace whole workgroups."
        )
    return Prepared(
        program, launch, samples, residency, origins(program, launch), accesses, _matrix_bits(program, samples)
    )


def _matrix_bits(program: Program, samples: Samples) -> int:
    """Bits of an element of most matrix instructions that are executed; 0 when there are none."""
    positions: list[int] = samples.positions.tolist()
    times: list[int] = samples.counts.sum(axis=0)[samples.positions].tolist()
    lines = program.lines
    opcodes = [lines[position].instruction.mnemonic for position in positions]
    widths: dict[str, int] = {}
    for opcode, position in dict(zip(opcodes, positions, strict=True)).items():
        row = row_of(lines[position].instruction)
        if isinstance(row, MatrixRow):
            widths[opcode] = _BITS.get(row.a_type, 0)
    found: Counter[int] = Counter()
    for opcode, count in zip(opcodes, times, strict=True):
        if opcode in widths:
            found[widths[opcode]] += count
    return max(found, key=lambda bits: (found[bits], bits), default=0)
