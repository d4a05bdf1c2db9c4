"""Which blocks all waves of a workgroup execute alike, whatever the launch: by the control flow alone."""

from __future__ import annotations

from asmevo.isa import ControlRow, Instruction, MemoryRow, RegSet, ScalarRow, Space, effects, span
from asmevo.program import Block, Program, control_kind
from asmevo.program.paths import reachable

_EXIT = -1
"""The end of the kernel, to which every way leads."""
_SAME = frozenset({"getpc"})
"""Kinds of control instructions whose result is the same in every wave."""


def uniform_blocks(program: Program) -> frozenset[int]:
    """Numbers of blocks that every wave of a workgroup executes equally often and in the same order.

    A branch that asks for something that may differ from wave to wave (whatever comes of work-item ids, of vector
    registers or of hardware registers) parts the waves up to the block through which all of its ways lead; what is
    written between is then another value in other waves. All blocks outside of such regions are given. A scalar load
    from one address is taken to give all waves the same. Raises `UnsupportedError` for computed jumps.
    """
    blocks = program.blocks
    behind = _postdominators(blocks)
    parted: set[int] = set()
    while True:
        ends = _differing(program, parted)
        regions = (_region(program, b, behind[b.number]) for b in blocks if _parts(program, b, ends[b.number]))
        found = parted.union(*regions)
        if found == parted:
            return frozenset(b.number for b in blocks if b.number not in parted)
        parted = found


def _parts(program: Program, block: Block, differing: RegSet) -> bool:
    """Whether the branch at the end of a block asks for something that may differ."""
    last = program.lines[block.last - 1].instruction
    return control_kind(last) == "cbranch" and bool(effects(last).reads & differing)


def _region(program: Program, block: Block, behind: frozenset[int]) -> set[int]:
    """Blocks that some waves may execute and others not, or another number of times, because of a branch: all that can
    be reached from it without coming through one of those that all of its ways lead through."""
    others = {b.number for b in program.blocks} - behind | {block.number}
    return reachable(program, block.successors, within=others)


def _postdominators(blocks: tuple[Block, ...]) -> list[frozenset[int]]:
    """Blocks through which every way from a block to the end leads, itself among them."""
    everything = frozenset(b.number for b in blocks) | {_EXIT}
    found = [everything] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            new = everything if block.successors else frozenset({_EXIT})
            for successor in block.successors:
                new &= found[successor]
            new |= {block.number}
            if new != found[block.number]:
                found[block.number], changed = new, True
    return found


def _differing(program: Program, parted: set[int]) -> list[RegSet]:
    """For each block the registers that may differ from wave to wave behind its last line."""
    blocks = program.blocks
    first = program.block_of[program.entry]
    begins: list[RegSet] = [0] * len(blocks)
    ends: list[RegSet] = [0] * len(blocks)
    begins[first] = ~_given(program)
    work = sorted(reachable(program, [first]))
    while work:
        block = blocks[work.pop()]
        ends[block.number] = _through(program, block, begins[block.number], block.number in parted)
        for successor in block.successors:
            if ends[block.number] & ~begins[successor]:
                begins[successor] |= ends[block.number]
                work.append(successor)
    return ends


def _given(program: Program) -> RegSet:
    """Registers with which all waves of a workgroup begin alike: user SGPRs and workgroup ids."""
    known = program.kernel.descriptor
    ids = (known.workgroup_id_x, known.workgroup_id_y, known.workgroup_id_z)
    return span(0, known.user_sgpr_count + sum(map(bool, ids)))


def _through(program: Program, block: Block, differing: RegSet, parted: bool) -> RegSet:
    for line in program.lines[block.first : block.last]:
        known = effects(line.instruction)
        if parted or known.reads & differing or not _same(line.instruction):
            differing |= known.writes
        elif not known.masked:
            differing &= ~known.writes
    return differing


def _same(instruction: Instruction) -> bool:
    """Whether all waves get the same out of it where they put the same in."""
    row = effects(instruction).row
    if isinstance(row, ControlRow):
        return row.kind in _SAME
    return isinstance(row, ScalarRow) or (isinstance(row, MemoryRow) and row.space is Space.SCALAR)
