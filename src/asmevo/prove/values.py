"""Value numbering: what a run of lines leaves in registers and memory, as expressions over what was there before.

Two runs that leave the same numbers compute the same for every input. An opcode is an uninterpreted function of its
operands, modifiers, MODE and, where it depends on them, EXEC and memory, so nothing is assumed of its meaning but that
it is a function. What is looked up in a meaning is whether it hands a source on unchanged (a copy, or a selection that
is decided) and, with `State.adds_up`, whether it is a sum, and how large it can be.

Results of memory operations count as there at once: that the waits for them suffice is for the static stage to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from asmevo.isa import (
    ControlRow,
    Effects,
    Imm,
    Instruction,
    LaneRow,
    MemoryRow,
    Operand,
    Reg,
    RegSet,
    Slot,
    Space,
    bind,
    effects,
    span,
)
from asmevo.isa import units as units_of
from asmevo.isa.registers import EXEC, EXEC_LO, MODE, SCC, VGPR_BASE
from asmevo.isa.row import HIDDEN
from asmevo.program import Line
from asmevo.prove.addresses import OFFSETS, Address, address_of, is_plain_lds_load
from asmevo.prove.commuting import commutes
from asmevo.prove.copies import chosen_use, copied_use
from asmevo.prove.numbers import Numbers
from asmevo.prove.ranges import LARGEST, bound_of
from asmevo.prove.steering import MASKS, NOTHING, Carried, judges_data, steering_units
from asmevo.prove.sums import Number, Sum, summed
from asmevo.verdict import UnsupportedError

_TIMING_ONLY = frozenset({"waitcnt", "nop", "setprio", "sleep"})
"""Control kinds that change when things happen and no value."""
_BRANCHES = frozenset({"branch", "cbranch", "endpgm"})
_NO_STORAGE: RegSet = span(102, 4) | span(108, 16)
"""Scalar names that need not keep what is written to them: flat_scratch and xnack_mask, which gfx942 keeps elsewhere or
changes itself, and ttmp0 to ttmp15, which belong to the trap handler (LLVM AMDGPUUsage, trap handler registers)."""
_MEMORY, _LDS = "memory", "lds"
"""The two memories that are told apart. Scratch counts with global memory."""


@dataclass(frozen=True, slots=True)
class Load:
    """One load, whatever becomes of its result."""

    number: Number
    """Of its address, its form, the lanes that make it and the memory that it meets."""
    line: int
    """Line id."""
    barriers: int
    """Barriers of the block in front of it."""


@dataclass
class State:
    """Numbers of registers and memories at one point. A register that was not written yet stands for itself."""

    numbers: Numbers
    registers: dict[int, Number] = field(default_factory=dict[int, Number])
    memories: dict[str, Number] = field(default_factory=dict[str, Number])
    condition: tuple[object, ...] = ()
    """What decides the branch at the end: its mnemonic and the numbers that it reads."""
    results: dict[int, Number] = field(default_factory=dict[int, Number])
    """By line id, what the line computed."""
    steered: dict[int, tuple[Number, ...]] = field(default_factory=dict[int, "tuple[Number, ...]"])
    """By line id, what steered the line (see `steering_units`), where something did."""
    loads: list[Load] = field(default_factory=list["Load"])
    """In the order of execution."""
    barriers: int = 0
    """How many were met."""
    judged: dict[int, Number] = field(default_factory=dict[int, Number])
    """Units whose mask a comparison of floats made, with the number of the comparison whatever it compares."""
    publishes: bool = True
    """Whether a barrier may make stores of other waves visible in global memory."""
    carried: Carried = NOTHING
    """Spaces to which a store is steered by what it stores, too."""
    adds_up: bool = False
    """Whether sums and places are told from the operations that make them (`asmevo.prove.sums`, `.addresses`)."""
    execs: set[Number] = field(default_factory=set[Number])
    """What EXEC was set to."""
    parts: tuple[Number, ...] = ()
    """What the last line that computes something accessed or computed: one number, or one for each element of LDS."""
    shared: RegSet = -1
    """Registers that hold the same at the begin of both runs; any other one stands for itself in this run alone."""
    decided: dict[Number, bool] = field(default_factory=dict[Number, bool])
    """What SCC is known to be on the way that is followed, by its number: the branch at the end was decided by it."""
    signals: bool = False
    """Whether what is read from LDS may say that another wave has stored to global memory."""

    def register(self, unit: int) -> Number:
        found = self.registers.get(unit)
        if found is None:
            found = self.numbers.of("register" if self.shared >> unit & 1 else "private", unit)
        return found

    def memory(self, name: str) -> Number:
        found = self.memories.get(name)
        return self.numbers.of("memory", name) if found is None else found


def run(lines: Iterable[Line], state: State) -> State:
    """The state behind the lines of one block that begins in `state`, which is changed.

    Raises `UnsupportedError` for an opcode without a row and for what reads the clock or the program counter.
    """
    for line in lines:
        if steering := steering_units(line.instruction, state.carried):
            known = effects(line.instruction)
            state.steered[line.id] = tuple(
                state.judged[unit] if unit in state.judged else _read(state, known, unit, lanes=True)
                for unit in steering
            )
        value = step(state, line.instruction)
        for unit in units_of(effects(line.instruction).writes & MASKS):
            state.judged.pop(unit, None)
        for unit in units_of(judges_data(line.instruction)):
            state.judged[unit] = state.numbers.of("judged", line.instruction.mnemonic)
        if value is not None:
            state.results[line.id] = value
            _note(state, line)
    return state


def _note(state: State, line: Line) -> None:
    row = effects(line.instruction).row
    if isinstance(row, MemoryRow) and row.kind == "load":
        state.loads += [Load(part, line.id, state.barriers) for part in state.parts]
    state.barriers += isinstance(row, ControlRow) and row.kind == "barrier"


def step(state: State, instruction: Instruction) -> Number | None:
    """Change the state as one instruction does; the number of what it computes, None for a copy or for nothing."""
    known = effects(instruction)
    row = known.row
    if isinstance(row, ControlRow):
        if row.kind in _TIMING_ONLY:
            return None
        if row.kind in _BRANCHES:
            state.condition = (instruction.mnemonic, *(state.register(u) for u in units_of(known.reads)))
            return None
        if row.kind in ("getpc", "setpc", "swappc", "call", "clock", "setvskip") or row.kind.startswith("gpr_idx"):
            raise UnsupportedError(f"`{instruction}` does more than compute values; its block is not proved.")
    if known.writes & _NO_STORAGE:
        raise UnsupportedError(f"`{instruction}` writes a register that need not keep it; its block is not proved.")
    bound = list(bind(instruction, row))
    if _is_copy(state, instruction, known, bound):
        _note_lanes(state, known)
        return None
    value = state.numbers.of(*_key(state, instruction, known, bound))
    made = _made(state, instruction, known, bound, value)
    if isinstance(row, MemoryRow):
        _access(state, instruction, row, value)
    elif isinstance(row, ControlRow):  # barriers, cache control, messages, modes: nothing passes them
        for name in (_LDS,) if row.kind == "barrier" and not state.publishes else (_MEMORY, _LDS):
            state.memories[name] = state.numbers.of("behind", value, state.memory(name))
    for index, unit in enumerate(_written(known, bound)):
        number = made[index] if index < len(made) else state.numbers.of("result", value, index)
        _write(state, known, unit, number)
    _note_lanes(state, known)
    return value


def _note_lanes(state: State, known: Effects) -> None:
    if known.writes & EXEC:
        state.execs.add(exec_number(state))


def _made(
    state: State, instruction: Instruction, known: Effects, bound: list[tuple[Slot, Operand | None]], value: Number
) -> tuple[Number, ...]:
    """The numbers of the first results, where they are sums or elements of LDS; notes bounds and parts on the way."""
    state.parts = (value,)
    if not state.adds_up:
        return ()
    numbers = state.numbers

    def top_of(unit: int) -> int:
        return numbers.tops.get(_read(state, known, unit, lanes=True), LARGEST)

    if isinstance(known.row, MemoryRow):
        address = _address(state, instruction, known, bound)
        if address is None or not is_plain_lds_load(known.row):
            return ()
        state.parts = tuple(numbers.of("element", *key) for key in _elements(state, known, address))
        return tuple(numbers.of("result", p, word) for p in state.parts for word in range(known.row.size // 4))
    value_sum = summed(instruction, known.row, bound, lambda reg: _sum(state, known, reg), numbers.of)
    made = () if value_sum is None else numbers.of_sum(value_sum)
    top = bound_of(instruction, top_of)
    if top < LARGEST:
        first = made[0] if made else numbers.of("result", value, 0)
        numbers.tops[first] = min(top, numbers.tops.get(first, LARGEST))
    return made


def _sum(state: State, known: Effects, operand: Reg) -> Sum:
    units = range(operand.first, operand.first + operand.count)
    return state.numbers.sum_of([_read(state, known, unit, lanes=True) for unit in units])


def _address(
    state: State, instruction: Instruction, known: Effects, bound: list[tuple[Slot, Operand | None]]
) -> Address | None:
    if not state.adds_up or not isinstance(known.row, MemoryRow):
        return None
    return address_of(
        instruction,
        known.row,
        bound,
        lambda reg: _sum(state, known, reg),
        lambda unit: _read(state, known, unit, lanes=True),
        state.numbers.tops,
    )


def _elements(state: State, known: Effects, address: Address) -> Iterator[tuple[object, ...]]:
    """What each element of a plain load from LDS is a function of: its size, too, which its alignment depends on."""
    assert isinstance(known.row, MemoryRow)
    others = tuple((unit, state.register(unit)) for unit in units_of(known.reads & ~address.operand.units))
    for place in address.places:
        yield known.row.size, place, state.register(MODE), others, state.memory(_LDS)


def _is_copy(state: State, instruction: Instruction, known: Effects, bound: list[tuple[Slot, Operand | None]]) -> bool:
    """Hand the numbers of a copied source on to the destination."""
    use = copied_use(instruction)
    if use is None and state.decided:
        known_scc = state.decided.get(state.register(SCC))
        use = None if known_scc is None else chosen_use(instruction, known_scc)
    if use is None:
        return False
    source = bound[use][1]
    target = next(operand for slot, operand in bound if slot.is_def)
    assert isinstance(target, Reg)
    if isinstance(source, Reg):
        values = [_read(state, known, unit, lanes=True) for unit in range(source.first, source.first + source.count)]
    else:
        assert isinstance(source, Imm)
        values = [state.numbers.of("constant", source.bits)]
    if len(values) != target.count:
        return False
    for unit, value in zip(range(target.first, target.first + target.count), values, strict=True):
        _write(state, known, unit, value)
    return True


def _key(
    state: State, instruction: Instruction, known: Effects, bound: list[tuple[Slot, Operand | None]]
) -> tuple[object, ...]:
    """What the results of an instruction are a function of."""
    moved = instruction.encoding if instruction.is_sdwa_or_dpp else ""
    address = _address(state, instruction, known, bound)
    modifiers = instruction.modifiers.items()
    if address is not None:
        modifiers = [(name, text) for name, text in modifiers if name not in OFFSETS]
    key: list[object] = [known.row.name, moved, tuple(sorted(modifiers)), state.register(MODE)]
    lanes = isinstance(known.row, (LaneRow, MemoryRow)) and "dpp" not in moved and "cross_lane" not in known.row.tags
    covered = 0
    sources: list[tuple[object, ...]] = []
    for index, (slot, operand) in enumerate(bound):
        if not slot.is_use:
            continue
        used = range(0)
        source: list[object] = []
        if slot.hidden:
            first, count = HIDDEN[slot.hidden]
            used = range(first, first + count)
        elif address is not None and address.slot == index:
            source.append(address.places)
            covered |= address.operand.units
        elif isinstance(operand, Reg):
            used = range(operand.first, operand.first + operand.count)
            source.append((operand.neg, operand.absolute, operand.sext))
        elif isinstance(operand, Imm) and not (operand.neg or operand.absolute or operand.is_float):
            kind = "literal" if operand.literal and "64" in slot.type else "constant"  # extended in another way
            source += [(False, False, False), state.numbers.of(kind, operand.bits)]
        else:
            source.append(operand)
        for unit in used:
            covered |= 1 << unit
            source.append(_read(state, known, unit, lanes=lanes))
        sources.append(tuple(source))
    if not moved and not instruction.modifiers and commutes(known.row):
        sources.sort(key=repr)
    key += sources
    key += [(unit, state.register(unit)) for unit in units_of(known.reads & ~covered)]
    if isinstance(known.row, MemoryRow):
        key += [state.memory(name) for name in _memories(instruction, known.row)]
    return tuple(key)


def _read(state: State, known: Effects, unit: int, *, lanes: bool) -> Number:
    value = state.register(unit)
    if lanes and known.masked and unit >= VGPR_BASE:
        return state.numbers.active(exec_number(state), value)
    return value


def _written(known: Effects, bound: list[tuple[Slot, Operand | None]]) -> list[int]:
    """Units written, in the order of the row's defs."""
    written: list[int] = []
    for slot, operand in bound:
        if not slot.is_def:
            continue
        if slot.hidden:
            first, count = HIDDEN[slot.hidden]
            written += range(first, first + count)
        elif isinstance(operand, Reg):
            written += range(operand.first, operand.first + operand.count)
    if sum(1 << u for u in set(written)) != known.writes:
        raise UnsupportedError(f"The results of `{known.row.name}` are not all operands; its block is not proved.")
    return written


def _write(state: State, known: Effects, unit: int, value: Number) -> None:
    if known.masked and unit >= VGPR_BASE:
        value = state.numbers.merged(exec_number(state), value, state.register(unit))
    state.registers[unit] = value


def exec_number(state: State) -> Number:
    """The number of EXEC as a whole: which lanes are active."""
    return state.numbers.of("exec", *(state.register(u) for u in range(EXEC_LO, EXEC_LO + EXEC.bit_count())))


def _access(state: State, instruction: Instruction, row: MemoryRow, value: Number) -> None:
    """Loads leave memory alone; everything else, and a load to LDS, puts its memories behind it.

    So does a load with a scope: another wave may have stored since the last one, and what is loaded behind it is newer.
    """
    touched = _memories(instruction, row)
    if row.kind == "load" and not instruction.is_scoped:
        touched = (_LDS,) if _LDS in touched and row.space is not Space.LDS and to_lds(instruction, row) else ()
    if state.signals and row.kind != "store" and row.space in (Space.LDS, Space.FLAT):
        touched = tuple({_MEMORY: 0, **dict.fromkeys(touched)})
    for name in touched:
        state.memories[name] = state.numbers.of("behind", value, state.memory(name))


def _memories(instruction: Instruction, row: MemoryRow) -> tuple[str, ...]:
    if row.space is Space.LDS:
        return (_LDS,)
    if row.space is Space.FLAT or to_lds(instruction, row):
        return (_MEMORY, _LDS)
    return (_MEMORY,)


def to_lds(instruction: Instruction, row: MemoryRow) -> bool:
    """Whether a load writes LDS and no register."""
    return "lds" in instruction.modifiers or "lds_dma" in row.tags
