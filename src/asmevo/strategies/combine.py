"""Combining: the readers of a result do the work that made it.

Which instruction does the work of which two is read off the meanings of the opcode table (see `meanings`). All results
of a block that do not touch one another go first, then each for itself, the ones with the fewest readers first.
Preconditions: all readers are in the block and can do it; EXEC and what the first instruction reads stay as they are
until the last of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from asmevo.edit import Delete, Edit, Replace
from asmevo.isa import Instruction, Reg, RegSet, effects, parse_instruction
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.strategies.context import Context
from asmevo.strategies.fusion import can_fuse, fused
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled
from asmevo.strategies.values import is_pure


@dataclass(frozen=True, slots=True)
class Absorption:
    """One instruction whose work its readers can do, so that it can go."""

    absorbed: int
    """Line id."""
    replaced: Mapping[int, str]
    """New texts of its readers, by line id."""


class Combine:
    """Two instructions as one: `v_lshl_add_u32` for a shift and a sum, `v_bfe_u32`, a constant as an operand."""

    name = "combine"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        lines = context.lines
        live = [context.analyses.liveness.live_out(context.block.first + n) for n in range(len(lines))]
        found = absorptions(lines, live)
        together = _apart(found)
        if len(together) > 1:
            yield from _if_no_slower(context, together, f"{len(together)} results made where they are used")
        for one in sorted(found, key=lambda one: (len(one.replaced), rng.random())):
            text = context.program.line(one.absorbed).instruction.text
            made = " and ".join(f"`{new}`" for new in list(one.replaced.values())[:2])
            more = f" and {len(one.replaced) - 2} more" if len(one.replaced) > 2 else ""
            yield from _if_no_slower(context, [one], f"`{text}` made part of {made}{more}")


def _if_no_slower(context: Context, some: Sequence[Absorption], what: str) -> Iterator[Proposal]:
    return (idea for idea in settled(context, _edits(some), what) if idea.gain >= 0)


def absorptions(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[Absorption]:
    """The instructions of a block that their readers can do with, in order; `live_out` is by line."""
    found: list[Absorption] = []
    for at, line in enumerate(lines):
        if not can_fuse(line.instruction) or not is_pure(line.instruction):
            continue
        target = line.instruction.operands[0]
        assert isinstance(target, Reg)
        if effects(line.instruction).writes & live_out[at] != target.units:  # dead, or SCC is read too
            continue
        replaced = _readers(line.instruction, target.units, lines[at + 1 :], live_out[at + 1 :])
        if replaced:
            found.append(Absorption(line.id, replaced))
    return found


def _readers(
    instruction: Instruction, target: RegSet, lines: Sequence[Line], live_out: Sequence[RegSet]
) -> dict[int, str] | None:
    """New texts of the readers; None when one of them cannot, or may be outside of these lines."""
    sources, masked = effects(instruction).reads & ~target, effects(instruction).masked
    lost = bool(effects(instruction).reads & target)
    replaced: dict[int, str] = {}
    for line, live in zip(lines, live_out, strict=True):
        known = effects(line.instruction)
        if known.reads & target:
            text = None if lost else fused(instruction, line.instruction)
            if text is None or not _reads_other_registers(line.instruction, text, target, live):
                return None
            replaced[line.id] = text
        if not live & target or (known.writes & target and known.reads & target):
            return replaced
        if known.writes & target:
            return None  # some of its lanes are read later
        lost |= bool(known.writes & sources) or (masked and writes_exec(line.instruction))
    return None


def _reads_other_registers(old: Instruction, text: str, target: RegSet, live: RegSet) -> bool:
    """Whether the text does without `target`, and leaves what is live behind it, its result aside, as it is: a carry
    may be another one."""
    before, after = effects(old), effects(parse_instruction(text))
    result = old.operands[0]
    assert isinstance(result, Reg)
    return not after.reads & target and not (before.writes | after.writes) & live & ~result.units


def _apart(found: Sequence[Absorption]) -> list[Absorption]:
    """Those that do not touch one another's lines, the first come first."""
    taken: set[int] = set()
    chosen: list[Absorption] = []
    for one in found:
        touched = {one.absorbed, *one.replaced}
        if not touched & taken:
            chosen.append(one)
            taken |= touched
    return chosen


def _edits(absorptions: Sequence[Absorption]) -> list[Edit]:
    replaced = {line: text for one in absorptions for line, text in one.replaced.items()}
    edits: list[Edit] = [Replace(line, text) for line, text in sorted(replaced.items())]
    return [*edits, Delete(tuple(one.absorbed for one in absorptions))]
