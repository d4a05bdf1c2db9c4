"""Loop-invariant instructions of a loop that is one block: computed once in front of it instead of on every turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from asmevo.isa import RegSet, effects, units
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Block, Program, control_kind
from asmevo.program.execmask import writes_exec
from asmevo.strategies.values import is_pure


def invariant_lines(program: Program, block: Block, live_in: RegSet) -> list[int]:
    """Ids of lines, in order, that give the same results on every turn and can be executed before the loop instead.

    Their results must have no other writer in the loop and no reader before them on the first turn (`live_in` are the
    registers live at the loop's begin); their sources are written by nothing in the loop but other such lines. The loop
    must be entered by falling through, from a place that nothing else leaves.
    """
    lines = program.lines[block.first : block.last]
    if block.number not in block.successors or not entered_by_falling(program, block):
        return []
    if any(writes_exec(line.instruction) for line in lines):
        return []
    writers = Counter(unit for line in lines for unit in units(effects(line.instruction).writes))
    changing = sum(1 << unit for unit in writers)
    found: list[int] = []
    for line in lines:
        known = effects(line.instruction)
        own = known.writes
        once = all(writers[unit] == 1 for unit in units(own))
        if is_pure(line.instruction) and own and once and not known.reads & changing and not own & live_in:
            found.append(line.id)
            changing &= ~own
    return found


def scalar_invariants(program: Program, block: Block, live_in: RegSet) -> list[int]:
    """Those invariant lines that neither read nor write vector registers: what is known of them at the loop's begin is
    known of every lane."""
    found: list[int] = []
    for i in invariant_lines(program, block, live_in):
        known = effects(program.line(i).instruction)
        if not (known.reads | known.writes) >> VGPR_BASE:
            found.append(i)
    return found


def entered_by_falling(program: Program, block: Block) -> bool:
    """Whether, but for its own back edge, the block is reached only by falling through from the block before."""
    others = [b for b in program.blocks if block.number in b.successors and b.number != block.number]
    if len(others) != 1 or others[0].last != block.first:
        return False
    return control_kind(program.lines[block.first - 1].instruction) not in ("branch", "cbranch", "endpgm")


def texts(program: Program, ids: Sequence[int]) -> tuple[str, ...]:
    """The texts of lines."""
    return tuple(program.line(i).instruction.text for i in ids)
