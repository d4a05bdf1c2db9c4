"""Liveness of registers, aware that vector writes reach active lanes only.

A vector write leaves the lanes that EXEC masks off as they were, so it ends the life of the old value only for
readers that look at no other lanes. Two sets are kept for that: registers needed by readers under the *same* EXEC (or
a narrower one), and registers needed in lanes that may be off here: by readers behind a write of EXEC that may switch
lanes on, and by instructions that look beyond active lanes (MFMA, lane reads, DPP, LDS permutes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa import Instruction, RegSet, effects, span
from asmevo.isa.limits import limits_of
from asmevo.isa.registers import UNIT_COUNT, VGPR_BASE
from asmevo.program.execmask import full_at_entry, full_lines, narrows_exec, writes_exec
from asmevo.program.program import Line, Program

_VECTOR: RegSet = span(VGPR_BASE, UNIT_COUNT - VGPR_BASE)
_ALL: RegSet = span(0, UNIT_COUNT)

Pair: TypeAlias = tuple[RegSet, RegSet]
"""(registers needed under this EXEC, registers needed whatever EXEC is here)."""


@dataclass(frozen=True, slots=True)
class Step:
    """How one line changes the pair, walking backward."""

    near: RegSet
    """Reads of active lanes."""
    far: RegSet
    """Reads of any lane, and reads of scalars."""
    kill_near: RegSet
    kill_far: RegSet
    """Registers whose old value dies for readers in any lane; with all lanes on, `kill_near` instead."""
    widens: bool
    """It may switch lanes on."""


@lru_cache(maxsize=1 << 18)
def step_of(instruction: Instruction) -> Step:
    """What an instruction does to the pair. Raises `UnsupportedError` for an opcode without a row."""
    known = effects(instruction)
    reads, writes = known.reads, known.writes
    beyond = not known.masked or instruction.encoding.endswith("dpp") or "cross_lane" in known.row.tags
    far = reads if beyond else reads & ~_VECTOR
    kill_far = writes if not known.masked else writes & ~_VECTOR
    widens = writes_exec(instruction) and not narrows_exec(instruction)
    return Step(reads & ~far, far, writes, kill_far, widens)


@dataclass(frozen=True)
class Liveness:
    """Live registers by position in `Program.lines`, for reachable lines. Computed per block, on demand per line."""

    program: Program
    ends: tuple[Pair, ...]
    """For each block, what is needed behind its last line."""
    full: tuple[bool, ...]
    """For each block, whether EXEC is surely all ones at its begin."""
    _cache: dict[int, list[RegSet]] = field(default_factory=dict[int, list[RegSet]], compare=False, repr=False)

    def live_out(self, position: int) -> RegSet:
        """Registers whose value may still be read after the line at `position`."""
        block, offset = self._at(position)
        return block[offset + 1]

    def live_in(self, position: int) -> RegSet:
        """Registers whose value may still be read by the line at `position` or after it."""
        block, offset = self._at(position)
        return block[offset]

    def _at(self, position: int) -> tuple[list[RegSet], int]:
        number = self.program.block_of[self.program.lines[position].id]
        block = self.program.blocks[number]
        if number not in self._cache:
            lines = self.program.lines[block.first : block.last]
            self._cache[number] = _per_line(lines, self.ends[number], self.full[number])
        return self._cache[number], position - block.first


def liveness(program: Program) -> Liveness:
    """Backward liveness over the whole program. Raises `UnsupportedError` for an opcode without a row."""
    limits_of(program.source.target)
    blocks = program.blocks
    full = full_at_entry(program)
    transfers = [_transfer(program.lines[b.first : b.last], full[b.number]) for b in blocks]
    ends: list[Pair] = [(0, 0)] * len(blocks)
    predecessors: list[list[int]] = [[] for _ in blocks]
    for b in blocks:
        for s in b.successors:
            predecessors[s].append(b.number)
    work, queued = list(range(len(blocks))), [True] * len(blocks)
    while work:
        n = work.pop()
        queued[n] = False
        near, far = transfers[n].apply(ends[n])
        for p in predecessors[n]:
            merged = (ends[p][0] | near, ends[p][1] | far)
            if merged != ends[p]:
                ends[p] = merged
                if not queued[p]:
                    queued[p] = True
                    work.append(p)
    return Liveness(program, tuple(ends), full)


@dataclass(frozen=True, slots=True)
class _Transfer:
    """A block's effect on the pair: distributive, so three masks and two constants describe it."""

    gen: Pair
    near_to: Pair
    """Where a register of the first set ends up, if it passes."""
    far_to: RegSet

    def apply(self, end: Pair) -> Pair:
        near, far = end
        return self.gen[0] | near & self.near_to[0], self.gen[1] | near & self.near_to[1] | far & self.far_to


def _transfer(lines: Sequence[Line], full: bool) -> _Transfer:
    steps = list(zip((step_of(line.instruction) for line in lines), full_lines(lines, full), strict=True))
    gen, near, far = (0, 0), (_ALL, 0), (0, _ALL)
    for step, all_on in reversed(steps):
        gen = _back(step, all_on, gen)
        near = _back(step, all_on, near, reads=False)
        far = _back(step, all_on, far, reads=False)
    return _Transfer(gen, near, far[1])


def _back(step: Step, all_on: bool, pair: Pair, *, reads: bool = True) -> Pair:
    near, far = pair
    if step.widens:
        near, far = 0, far | near
    near &= ~step.kill_near
    far &= ~(step.kill_near if all_on else step.kill_far)
    if reads:
        near, far = near | step.near, far | step.far
    return near, far


def _per_line(lines: Sequence[Line], end: Pair, full: bool) -> list[RegSet]:
    """Live sets before each line of a block, and after its last."""
    known = full_lines(lines, full)
    live = [end[0] | end[1]]
    for line, all_on in zip(reversed(lines), reversed(known), strict=True):
        end = _back(step_of(line.instruction), all_on, end)
        live.append(end[0] | end[1])
    live.reverse()
    return live
