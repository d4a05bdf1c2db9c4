"""What is known of scalar registers at the begin of each block: that they hold what a certain instruction computes."""

from __future__ import annotations

from typing import TypeAlias

from asmevo.isa import Instruction, MemoryRow, RegSet, ScalarRow, effects, units
from asmevo.program import Line, Program
from asmevo.prove.numbers import Numbers
from asmevo.prove.sums import Number
from asmevo.prove.values import State, step

Facts: TypeAlias = dict[int, Instruction]
"""Unit to the scalar instruction whose result it holds, all of whose operands still hold what they held then."""


def entry_facts(program: Program) -> tuple[Facts, ...]:
    """For each block, what holds on every path to it. A forward dataflow; at a join what all predecessors agree on."""
    blocks = program.blocks
    predecessors: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            predecessors[successor].append(block.number)
    entry = program.block_of[program.entry]
    begins: list[Facts | None] = [{} if b.number == entry else None for b in blocks]
    ends: list[Facts | None] = [None] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in blocks:
            if block.number != entry:
                begins[block.number] = _joined([ends[p] for p in predecessors[block.number]])
            begin = begins[block.number]
            end = None if begin is None else _behind(begin, program.lines[block.first : block.last])
            if end != ends[block.number]:
                ends[block.number] = end
                changed = True
    return tuple(begin or {} for begin in begins)


def _joined(facts: list[Facts | None]) -> Facts | None:
    """What all agree on; a predecessor that was not reached yet agrees with everything."""
    reached = [f for f in facts if f is not None]
    if not reached:
        return None
    return {unit: fact for unit, fact in reached[0].items() if all(f.get(unit) == fact for f in reached[1:])}


def _behind(facts: Facts, lines: tuple[Line, ...]) -> Facts:
    facts = dict(facts)
    for line in lines:
        known = effects(line.instruction)
        if not known.writes:
            continue
        stale = [u for u, fact in facts.items() if (effects(fact).reads | 1 << u) & known.writes]
        for unit in stale:
            del facts[unit]
        if _is_pure(line.instruction, known.reads, known.writes):
            facts.update(dict.fromkeys(units(known.writes), line.instruction))
    return facts


def _is_pure(instruction: Instruction, reads: RegSet, writes: RegSet) -> bool:
    """A scalar instruction that has one result and does not overwrite its own operands."""
    row = effects(instruction).row
    single = sum(slot.is_def for slot in row.slots) == 1 and not any(s.is_def and s.hidden for s in row.slots)
    return isinstance(row, ScalarRow) and not isinstance(row, MemoryRow) and single and not reads & writes


def begin_state(
    numbers: Numbers, facts: Facts, live: RegSet, dead: RegSet, publishing: bool, *, adds_up: bool = False
) -> State:
    """The state in which a block of the candidate begins."""
    state = State(numbers, publishes=publishing, shared=live | dead, adds_up=adds_up)
    known: dict[int, Number] = {}
    for unit, instruction in facts.items():
        if live >> unit & 1 or effects(instruction).reads & ~live:
            continue
        then = State(numbers, publishes=publishing, shared=live, adds_up=adds_up)
        step(then, instruction)
        known[unit] = then.register(unit)
    state.registers.update(known)
    return state
