"""Registers of which only the lower half counts, where a block's lines say so."""

from __future__ import annotations

import re

from asmevo.edit import Replace
from asmevo.gate.strength.kind import Edits
from asmevo.isa import effects
from asmevo.isa.registers import EXEC, VGPR_BASE
from asmevo.program import Line, Program
from asmevo.program.liveness import liveness

_SHIFT = re.compile(r"v_(?:lshrrev_b32|ashrrev_i32)_e(?:32|64) (v\d+, 16, v\d+)")
_SELECTED = re.compile(r"v_cndmask_b32_e(?:32|64) v(\d+), (v\d+|s\d+|-?\d+), (v\d+), \S+")
_PERMUTED = re.compile(r"v_perm_b32 v\d+, (v\d+), (v\d+), s(\d+)")
_CONSTANT = re.compile(r"s_mov_b32 s\d+, (0x[0-9a-f]+)")


def fills_a_dropped_half(k0: Program, edits: Edits) -> bool:
    """Whether the one edit puts an arithmetic shift right by 16 for a logical one, or the other way round, and nothing
    reads the upper half of the result."""
    (edit, *others) = edits
    if others or not isinstance(edit, Replace):
        return False
    at = k0.position[edit.line]
    old, new = _SHIFT.fullmatch(k0.lines[at].instruction.text), _SHIFT.fullmatch(" ".join(edit.text.split()))
    if not old or not new or old[1] != new[1]:
        return False
    return _only_lower(k0, at, int(old[1].split(",")[0][1:]))


def _only_lower(program: Program, at: int, register: int) -> bool:
    """Whether all that reads a VGPR behind a line drops the upper half, until the block writes it with that EXEC."""
    name, unit = f"v{register}", 1 << VGPR_BASE + register
    last = program.blocks[program.block_of[program.lines[at].id]].last
    for position in range(at + 1, last):
        line = program.lines[position]
        known = effects(line.instruction)
        if (known.reads & unit and not _drops(program, position, name)) or known.writes & EXEC:
            return False
        if known.writes & unit:
            return True
    return not liveness(program).live_out(last - 1) & unit


def _drops(program: Program, position: int, name: str) -> bool:
    """Whether a line that reads a register drops its upper half."""
    text = program.lines[position].instruction.text
    if m := _SELECTED.fullmatch(text):
        return _only_lower(program, position, int(m[1]))
    if m := _PERMUTED.fullmatch(text):
        first = program.blocks[program.block_of[program.lines[position].id]].first
        selector = _constant(program.lines[first:position], int(m[3]))
        if selector is None:
            return False
        upper = [6, 7] * (m[1] == name) + [2, 3] * (m[2] == name)
        return all(byte < 8 and byte not in upper for byte in selector.to_bytes(4, "little"))
    return False


def _constant(lines: tuple[Line, ...], scalar: int) -> int | None:
    """What a scalar register holds behind the lines, if the last of them that writes it gives it a constant."""
    writer = next((x for x in reversed(lines) if effects(x.instruction).writes >> scalar & 1), None)
    m = _CONSTANT.fullmatch(writer.instruction.text) if writer else None
    return int(m[1], 16) if m else None
