"""What is known of EXEC: where it is surely all ones, and which writes can only switch lanes off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from asmevo.isa import Imm, Instruction, Reg, effects
from asmevo.isa.registers import EXEC
from asmevo.program.program import Line, Program

_NARROWING_WITH_OLD = ("s_and_b64", "s_andn2_b64")


@lru_cache(maxsize=1 << 14)
def writes_exec(instruction: Instruction) -> bool:
    """Whether it writes EXEC or half of it."""
    return bool(effects(instruction).writes & EXEC)


@lru_cache(maxsize=1 << 14)
def narrows_exec(instruction: Instruction) -> bool:
    """Whether it writes EXEC so that no lane can be switched on.

    `v_cmpx` writes a bit only for lanes that are on, and clears the others. `s_andn2_saveexec s, x` is x AND NOT
    EXEC, so it is not among them.
    """
    base = instruction.base
    if base.startswith("v_cmpx"):
        return True
    if base == "s_and_saveexec_b64":
        return True
    if base in _NARROWING_WITH_OLD and len(instruction.operands) == 3:
        target, first, second = instruction.operands
        old = (first,) if base == "s_andn2_b64" else (first, second)
        return _is_exec(target) and any(map(_is_exec, old))
    return False


def _is_exec(operand: object) -> bool:
    return isinstance(operand, Reg) and operand.units == EXEC


def _sets_all(instruction: Instruction) -> bool:
    if instruction.base != "s_mov_b64" or not _is_exec(instruction.operands[0]):
        return False
    value = instruction.operands[1]
    return isinstance(value, Imm) and value.is_inline_integer and value.signed == -1


def full_at_entry(program: Program) -> tuple[bool, ...]:
    """For each block, whether EXEC is surely all ones where it begins. At the kernel's entry that is not known."""
    blocks = program.blocks
    transfer = [_transfer(program.lines[b.first : b.last]) for b in blocks]
    full = [True] * len(blocks)
    entry = program.block_of[program.entry]
    full[entry] = False
    work = list(range(len(blocks)))
    while work:
        n = work.pop()
        out = full[n] if transfer[n] is None else transfer[n]
        for s in blocks[n].successors:
            if full[s] and not out:
                full[s] = False
                work.append(s)
    return tuple(full)


def _transfer(lines: Sequence[Line]) -> bool | None:
    """True or False where the block decides; None where EXEC passes through."""
    state: bool | None = None
    for line in lines:
        if writes_exec(line.instruction):
            state = _sets_all(line.instruction)
    return state


def full_lines(lines: Sequence[Line], full: bool) -> list[bool]:
    """For each line of a block, whether EXEC is surely all ones when it executes."""
    known: list[bool] = []
    for line in lines:
        known.append(full)
        if writes_exec(line.instruction):
            full = _sets_all(line.instruction)
    return known
