"""Two programs side by side: the first instruction whose result differs.

Lines are matched by id, and executions of a line by their number in the wave, so that inserted, removed and moved lines
do not matter. Results are compared by operand: a register that an edit renamed is compared under both names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.isa import ControlRow, Instruction, MemoryRow, Reg, bind, row_of
from asmevo.isa.registers import VGPR_BASE, unit_name
from asmevo.isa.row import HIDDEN
from asmevo.program.program import Line, Program
from asmevo.sim.cache import BlockCache
from asmevo.sim.driver import Geometry, Memory
from asmevo.sim.executable import Executable
from asmevo.sim.execute import execute
from asmevo.sim.results import Limits, WaveOrder
from asmevo.sim.stepping import Step, Stepper
from asmevo.sim.waves import WaveView

Key: TypeAlias = tuple[int, int, int, int]
"""(workgroup, wave, line id, number of the execution)."""
_ADDRESSES = frozenset({"getpc", "swappc", "call", "clock"})
"""Kinds of instructions whose results say where code lies, or when: they differ between programs that do the same."""


class LoadableMemory(Memory, Protocol):
    """A memory image that can be copied and takes an object's code, such as `asmevo.launch.MemoryImage`."""

    @property
    def code_space(self) -> int: ...
    def copy(self) -> LoadableMemory: ...
    def load(self, obj: CodeObject) -> None: ...


@dataclass(frozen=True, slots=True)
class Divergence:
    """One execution of one line that differs between two programs, a and b."""

    kind: str
    """`result`: a register has another value. `store`: other data, or another place. `path`: b executes a line more
    often than a does."""
    workgroup: int
    wave: int
    line: int
    execution: int
    """Number of the execution of this line by this wave, from 0."""
    instruction_a: str
    instruction_b: str
    register_a: str = ""
    register_b: str = ""
    lane: int | None = None
    a: int | None = None
    """Value in a: of 32 bits; an address where no register is named."""
    b: int | None = None
    lanes: int = 0
    """How many lanes differ."""


@dataclass(frozen=True, slots=True)
class LockstepResult:
    """What two programs did side by side."""

    first: Divergence | None
    """The first difference, in the order in which b executes; None when there is none."""
    first_store: Divergence | None
    """The first store that differs: where the difference reaches memory."""
    status_a: str
    status_b: str
    steps: int
    """Instructions compared."""


def lockstep(
    a: Program,
    b: Program,
    launch: Geometry,
    image: LoadableMemory,
    cache: BlockCache,
    *,
    workgroups: Sequence[int] | None = None,
    wave_order: WaveOrder = WaveOrder.ASCENDING,
    limits: Limits | None = None,
) -> LockstepResult:
    """Run both programs on copies of an image, and compare what each instruction gives.

    The image holds data; each program's object is loaded into its copy. Give the workgroup that `differing_workgroup`
    finds: stepping is thousands of times slower than running.
    """
    runs = [_Run(p, launch, image, cache, workgroups, wave_order, limits or Limits()) for p in (a, b)]
    known: dict[Key, bytes] = {}
    for key, step, line in runs[0].executions():
        known[key] = _digest(step, line)
    status_a = runs[0].status
    first: tuple[Key, Step, Line] | None = None
    differences: list[Divergence] = []
    steps = 0
    shared = {line.id for line in a.lines} & {line.id for line in b.lines}
    for key, step, line in runs[1].executions():
        if line.id not in shared:
            continue
        steps += 1
        if known.get(key) == _digest(step, line):
            continue
        is_store = _is_store(line.instruction)
        if first is not None and not is_store:
            continue
        found = _explain(key, step, line, runs[0])
        if found is None:
            continue
        first = first or (key, step, line)
        differences.append(found)
        if found.kind == "store":
            break
    runs[1].finish()
    store = next((d for d in differences if d.kind == "store"), None)
    return LockstepResult(differences[0] if differences else None, store, status_a, runs[1].status, steps)


def differing_workgroup(
    a: Program, b: Program, launch: Geometry, image: LoadableMemory, cache: BlockCache, *, limits: Limits | None = None
) -> int | None:
    """The workgroup after which memory differs for the first time, when they run in ascending order; None if never.

    Raises nothing when a program faults or hangs: what it did until then counts.
    """
    executables = [Executable.build(program, cache) for program in (a, b)]

    def differs(count: int) -> bool:
        """Whether the first `count` workgroups leave different memory, or end in different ways."""
        after: list[tuple[str, NDArray[np.uint8]]] = []
        for executable in executables:
            memory = image.copy()
            memory.load(executable.program.source)
            done = execute(executable, launch, memory, limits=limits, workgroups=range(count))
            after.append((done.status, memory.data[memory.code_space :]))
        return after[0][0] != after[1][0] or not np.array_equal(after[0][1], after[1][1])

    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if not differs(total):
        return None
    low, high = 0, total  # the first `low` agree, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if differs(middle) else (middle, high)
    return high - 1


class _Run:
    """One of the two programs; can be run again from the start."""

    def __init__(
        self,
        program: Program,
        launch: Geometry,
        image: LoadableMemory,
        cache: BlockCache,
        workgroups: Sequence[int] | None,
        wave_order: WaveOrder,
        limits: Limits,
    ) -> None:
        self.program = program
        self._arguments = launch, image, cache, workgroups, wave_order, limits
        self.status = "running"
        self._stepper: Stepper | None = None

    def executions(self) -> Iterator[tuple[Key, Step, Line]]:
        """Every execution from the start of the run."""
        launch, image, cache, workgroups, wave_order, limits = self._arguments
        memory = image.copy()
        memory.load(self.program.source)
        stepper = self._stepper = Stepper(
            self.program, launch, memory, cache, limits=limits, workgroups=workgroups, wave_order=wave_order
        )
        counts: dict[tuple[int, int, int], int] = {}
        for step in stepper:
            for line in step.lines[-1:]:
                place = step.workgroup, step.wave, line.id
                number = counts[place] = counts.get(place, -1) + 1
                yield (*place, number), step, line
        self.status = stepper.status

    def finish(self) -> None:
        """Let the run end by itself, for its status."""
        if self._stepper is not None and self.status == "running":
            for _ in self._stepper:
                pass
            self.status = self._stepper.status


@dataclass(frozen=True, slots=True)
class _Value:
    """One 32-bit unit that an execution gave or stored."""

    name: str
    lanes: NDArray[np.uint32]
    """Values of the lanes that count; one for a scalar unit."""
    numbers: NDArray[Any]
    """Which lanes those are; -1 for a scalar unit."""


def _is_store(instruction: Instruction) -> bool:
    row = row_of(instruction)
    return isinstance(row, MemoryRow) and row.kind != "load"


def _values(step: Step, line: Line) -> Iterator[_Value]:
    """Units that an execution gave, in the order of the operands; those of a store are its data."""
    row = row_of(line.instruction)
    if isinstance(row, ControlRow) and row.kind in _ADDRESSES:
        return
    stores = isinstance(row, MemoryRow) and row.kind != "load"
    bound = list(bind(line.instruction, row))
    data = _data_operands(bound) if stores else set[int]()
    for at, (slot, operand) in enumerate(bound):
        if not (slot.is_def or at in data):
            continue
        if slot.hidden:
            first, count = HIDDEN[slot.hidden]
        elif isinstance(operand, Reg):
            first, count = operand.first, operand.count
        else:
            continue
        for unit in range(first, first + count):
            yield _value(step, unit, masked=row.is_vector)


def _data_operands(bound: list[tuple[Any, Any]]) -> set[int]:
    """Operands of a store or atomic that hold data: vector registers that are used and are no address."""
    return {at for at, (slot, _) in enumerate(bound) if slot.is_use and slot.type.startswith("b") and not slot.hidden}


def _value(step: Step, unit: int, *, masked: bool) -> _Value:
    if unit < VGPR_BASE:
        return _Value(unit_name(unit), np.array([step.view.scalar(unit)], np.uint32), np.array([-1]))
    lanes = _lanes(step.exec_before if masked else (1 << 64) - 1)
    return _Value(unit_name(unit), step.view.vector(unit)[lanes], lanes)


def _lanes(mask: int) -> NDArray[Any]:
    return np.flatnonzero(np.unpackbits(np.array([mask], "<u8").view(np.uint8), bitorder="little"))


def _digest(step: Step, line: Line) -> bytes:
    h = hashlib.blake2b(digest_size=12)
    for value in _values(step, line):
        h.update(value.lanes.tobytes())
        h.update(b"|")
    if _is_store(line.instruction) and (address := _address(step.view, line)) is not None:
        h.update(address.to_bytes(16, "little", signed=True))
    return h.digest()


def _address(view: WaveView, line: Line) -> int | None:
    """Where a store goes, for its first lane; None when that cannot be told."""
    return view.address(line.instruction)


def _explain(key: Key, step: Step, line: Line, other: _Run) -> Divergence | None:
    """The difference of one execution, from running the other program again up to it."""
    workgroup, wave, number, execution = key
    base = (workgroup, wave, number, execution)
    mine = list(_values(step, line))
    my_address = _address(step.view, line) if _is_store(line.instruction) else None
    kind = "store" if _is_store(line.instruction) else "result"
    for other_key, other_step, other_line in other.executions():
        if other_key != key:
            continue
        texts = str(other_line.instruction), str(line.instruction)
        for a, b in zip(_values(other_step, other_line), mine, strict=False):
            if a.numbers.shape != b.numbers.shape or (a.numbers != b.numbers).any():
                return Divergence(kind, *base, *texts, a.name, b.name, a=other_step.exec_before, b=step.exec_before)
            lanes = np.flatnonzero(a.lanes != b.lanes)
            if len(lanes):
                at = int(lanes[0])
                lane = int(a.numbers[at])
                return Divergence(
                    kind, *base, *texts, a.name, b.name, None if lane < 0 else lane, int(a.lanes[at]), int(b.lanes[at]),
                    len(lanes),
                )  # fmt: skip
        if kind == "store":
            theirs = _address(other_step.view, other_line)
            if theirs != my_address:
                return Divergence(kind, *base, *texts, a=theirs, b=my_address)
        return None
    return Divergence("path", *base, "", str(line.instruction))
