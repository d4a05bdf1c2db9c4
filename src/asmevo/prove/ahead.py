"""Loads that a candidate makes one turn of a loop ahead of K0: at the end of each block that leads into the loop.

A second induction over the one of `Prover`. Claim: wherever the loop begins, certain registers of the candidate hold,
in lanes that are on, what certain loads of the loop will give in K0 on the turn that begins. Shown at the end of every
block that leads into the loop (on its own back edge with SCC as the branch found it), with K0 followed on into the
turn: equal numbers mean the same address, lanes, form and memory. The loop is then compared from that beginning.

Every load that the candidate makes is one that K0 makes, on the same way and as often, with one exception: on the way
out of the loop the loads for a turn that K0 does not have. Those must be unable to fault: either a load that K0 makes
on this very turn, or one through a descriptor of no records and without a scalar offset, whose lanes are all out of
range and access nothing (CDNA3 ISA, buffer range checking: offset >= num_records - soffset, or index >= num_records).
A large num_records protects nothing, and neither does the value of an address. So such a load needs `s_cselect_b32 W,
RECORDS, 0` under the SCC that decides the branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.isa import ControlRow, Imm, Instruction, MemoryRow, Reg, RegSet, Space, bind, effects, span, units
from asmevo.isa.registers import IMPLIED, SCC, VGPR_BASE
from asmevo.program import Block, Line, Program
from asmevo.program.liveness import Liveness
from asmevo.prove.entry import Facts, begin_state
from asmevo.prove.loads import memories, same_loads
from asmevo.prove.numbers import Numbers
from asmevo.prove.steering import Carried
from asmevo.prove.sums import Number
from asmevo.prove.values import Load, State, exec_number, run, to_lds
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class Sides:
    """Both programs, block by block, and what is known of them."""

    k0: Program
    candidate: Program
    k0_live: Liveness
    live: Liveness
    """Of the candidate."""
    facts: Sequence[Facts]
    """Of the candidate, at the begin of each block."""
    steering: Sequence[RegSet]
    carried: Carried
    publishing: bool
    signalling: bool
    """Whether a value in LDS may say that a store to global memory was made: a turn may begin by waiting for one."""

    def lines(self, block: Block) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        """Those of K0 and those of the candidate."""
        other = self.candidate.blocks[block.number]
        return self.k0.lines[block.first : block.last], self.candidate.lines[other.first : other.last]

    def begin(self, numbers: Numbers, decided: Mapping[Number, bool]) -> State:
        """K0's state at the begin of a block."""
        return State(
            numbers,
            publishes=self.publishing,
            carried=self.carried,
            decided=dict(decided),
            signals=self.signalling,
        )

    def candidate_begin(self, block: Block, numbers: Numbers, decided: Mapping[Number, bool]) -> State:
        """The candidate's, without what loads ahead give."""
        live = self.k0_live.live_in(block.first) | IMPLIED
        dead = ~self.live.live_in(self.candidate.blocks[block.number].first)
        state = begin_state(numbers, self.facts[block.number], live, dead, self.publishing)
        state.carried, state.decided, state.signals = self.carried, dict(decided), self.signalling
        return state

    def same_end(self, block: Block, old: State, new: State) -> bool:
        """Whether both leave the same behind the block, and go on in the same way."""
        end = self.k0_live.live_out(block.last - 1) | IMPLIED | self.steering[block.number]
        same = all(old.register(unit) == new.register(unit) for unit in units(end))
        return same and memories(old) == memories(new) and old.condition == new.condition


@dataclass(frozen=True, slots=True)
class _Made:
    """A load that was made."""

    load: Load
    exec: Number
    """Lanes that were on."""
    results: tuple[Number, ...]
    """Of the registers that it writes, in order; empty for a load that may not be made ahead."""
    harmless: bool
    """No lane accesses memory."""


def loads_ahead(sides: Sides, blocks: Collection[int]) -> dict[int, frozenset[int]]:
    """Which of these blocks are proved when loads of loops of one block are made one turn ahead, with the ids of the
    candidate's lines that make such loads.

    A loop and all blocks that lead into it are proved together. Raises nothing: what is beyond value numbering is not
    proved.
    """
    found: dict[int, frozenset[int]] = {}
    for number in blocks:
        block = sides.k0.blocks[number]
        try:
            found |= _loop(sides, block)
        except UnsupportedError:
            continue
    return {number: lines for number, lines in found.items() if number in blocks}


def _loop(sides: Sides, block: Block) -> dict[int, frozenset[int]]:
    """A loop and the blocks that lead into it, or none."""
    number = block.number
    sources = [b for b in sides.k0.blocks if number in b.successors and b.number != number]
    is_loop = number in block.successors and len(block.successors) == 2
    if not is_loop or not sources or number == sides.k0.block_of[sides.k0.entry]:
        return {}
    if any(b.successors != (number,) for b in sources):
        return {}
    carried = sides.live.live_in(sides.candidate.blocks[number].first) & ~sides.k0_live.live_in(block.first)
    bound = _bound(sides, block, sources[0], carried >> VGPR_BASE << VGPR_BASE & ~IMPLIED)
    if not bound:
        return {}
    found = {number: _turns(sides, block, bound)}
    for source in sources:
        found[source.number] = _leads(sides, source, block, bound)
    return {n: lines for n, lines in found.items() if lines is not None} if None not in found.values() else {}


_Bound = Mapping[int, tuple[int, int]]
"""Register of the candidate to a load of K0's loop, by its place among them, and the index of a result."""


def _bound(sides: Sides, block: Block, source: Block, carried: RegSet) -> _Bound:
    """What the candidate's registers may hold, judged by the end of one block that leads into the loop. A guess."""
    numbers = Numbers()
    _, _, end, ahead = _source(sides, source, block, numbers)
    found: dict[int, tuple[int, int]] = {}
    for unit in units(carried):
        for place, made in enumerate(ahead):
            value = numbers.active(made.exec, end.register(unit))
            if value in made.results:
                found[unit] = place, made.results.index(value)
                break
    return found


def _source(
    sides: Sides, source: Block, block: Block, numbers: Numbers
) -> tuple[State, list[_Made], State, list[_Made]]:
    """K0 behind a block that leads into the loop; the candidate's loads there, and its state; K0's loads on the turn
    that follows."""
    before, after = sides.lines(source)
    old, new = sides.begin(numbers, {}), sides.candidate_begin(source, numbers, {})
    _run(before, old)
    made = _run(after, new)
    return old, made, new, _run(sides.lines(block)[0], _on(old))


def _leads(sides: Sides, source: Block, block: Block, bound: _Bound) -> frozenset[int] | None:
    """The lines that load ahead in a block in front of the loop, if it leaves what it left and what the first turn
    loads."""
    numbers = Numbers()
    old, made, new, ahead = _source(sides, source, block, numbers)
    extra = _extra(made, bound, ahead)
    right = (
        extra is not None
        and sides.same_end(source, old, new)
        and _holds(new, bound, ahead)
        and same_loads(old.loads, [m.load for m in made if m.load.line not in extra])
    )
    return extra if right else None


def _turns(sides: Sides, block: Block, bound: _Bound) -> frozenset[int] | None:
    """The lines that load ahead in the loop, if a turn that begins with what was loaded ahead is a turn of K0's, and
    ends with the same for the next turn, where there is one."""
    before, after = sides.lines(block)
    numbers = Numbers()
    first = sides.begin(numbers, {})
    _run(before, first)
    taken = _taken(before[-1], block, sides.k0)
    places = {place for place, _ in bound.values()}
    extra: frozenset[int] = frozenset()
    for stays in (True, False):
        decided = {} if taken is None else {first.condition[1]: taken == stays}
        old = sides.begin(numbers, {n: truth for n, truth in decided.items() if isinstance(n, int)})
        new = sides.candidate_begin(block, numbers, old.decided)
        there = _run(before, old)
        for unit, (place, index) in bound.items():
            made = there[place]
            new.registers[unit] = numbers.merged(made.exec, made.results[index], new.register(unit))
        here = _run(after, new)
        if not sides.same_end(block, old, new) or old.condition != first.condition:
            return None
        k0_loads = {made.load.number for made in there}
        if stays:
            ahead = _run(before, _on(old))
            found = _extra(here, bound, ahead)
            if found is None or not _holds(new, bound, ahead):
                return None
            extra = found
        elif not all(m.harmless or m.load.number in k0_loads for m in here if m.load.line in extra):
            return None
        kept = [made.load for place, made in enumerate(there) if place not in places]
        if not same_loads(kept, [made.load for made in here if made.load.line not in extra]):
            return None
    return extra


def _taken(line: Line, block: Block, program: Program) -> bool | None:
    """The SCC with which a branch at the end of a loop goes back; None where something else decides it."""
    known = effects(line.instruction)
    if not isinstance(known.row, ControlRow) or known.row.kind != "cbranch" or known.reads != span(SCC, 1):
        return None
    if line.target is None or program.block_of[line.target] != block.number:
        return None
    return {"s_cbranch_scc1": True, "s_cbranch_scc0": False}.get(known.row.name)


def _extra(made: Sequence[_Made], bound: _Bound, ahead: Sequence[_Made]) -> frozenset[int] | None:
    """Lines of the candidate that make the loads of the next turn, each once; None where it does not make just them."""
    wanted = Counter(ahead[place].load.number for place in {place for place, _ in bound.values()})
    found = [m.load for m in made if m.load.number in wanted]
    return frozenset(load.line for load in found) if Counter(load.number for load in found) == wanted else None


def _holds(state: State, bound: _Bound, ahead: Sequence[_Made]) -> bool:
    """Whether the candidate's registers hold what K0 loads on the turn that begins, in the lanes that load."""
    return all(
        state.numbers.active(ahead[place].exec, state.register(unit)) == ahead[place].results[index]
        for unit, (place, index) in bound.items()
    )


def _on(state: State) -> State:
    """The same state, with nothing loaded yet."""
    return replace(
        state,
        registers=dict(state.registers),
        memories=dict(state.memories),
        condition=(),
        results={},
        steered={},
        loads=[],
        barriers=0,
        judged=dict(state.judged),
    )


def _run(lines: Sequence[Line], state: State) -> list[_Made]:
    """Follow a block and tell of its loads."""
    found: list[_Made] = []
    for line in lines:
        lanes, harmless = exec_number(state), _is_null(state, line.instruction)
        count = len(state.loads)
        run((line,), state)
        if len(state.loads) == count:
            continue
        load = state.loads[-1]
        width = effects(line.instruction).writes.bit_count() if _may_be_ahead(line.instruction) else 0
        results = tuple(state.numbers.of("result", load.number, index) for index in range(width))
        found.append(_Made(load, lanes, results, harmless))
    return found


def _may_be_ahead(instruction: Instruction) -> bool:
    """Plain loads from global memory to vector registers; one with a scope may wait for what another wave stores."""
    known = effects(instruction)
    row = known.row
    if not isinstance(row, MemoryRow) or row.kind != "load" or row.space not in (Space.BUFFER, Space.GLOBAL):
        return False
    if to_lds(instruction, row) or instruction.is_scoped:
        return False
    return known.masked and not known.writes & span(0, VGPR_BASE)


def guarding_descriptor(instruction: Instruction) -> Reg | None:
    """The descriptor of a buffer load to registers that makes it harmless when it has no records: there is no scalar
    offset, which could wrap the range check around. None for all else."""
    row = effects(instruction).row
    if not isinstance(row, MemoryRow) or row.kind != "load" or row.space is not Space.BUFFER:
        return None
    if to_lds(instruction, row):
        return None
    operands = [operand for slot, operand in bind(instruction, row) if slot.is_use and not slot.hidden]
    descriptor = [o for o in operands if isinstance(o, Reg) and o.first < VGPR_BASE and o.count == 4]
    offset = operands[-1]
    if len(descriptor) != 1 or not isinstance(offset, Imm) or offset.bits or offset.is_float:
        return None
    return descriptor[0]


def _is_null(state: State, instruction: Instruction) -> bool:
    """Whether it is a load through a descriptor of no records."""
    descriptor = guarding_descriptor(instruction)
    return descriptor is not None and state.register(descriptor.first + 2) == state.numbers.of("constant", 0)
