"""Renaming: other registers for values that live inside a block, so that what uses a register again need not wait.

A compiler that is short of registers loads the next tile late, into registers that this turn's tile leaves; the latency
of memory then shows on every turn. Where registers are free, the loads can be issued at the begin of the turn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from asmevo.edit import Edit, Replace, apply_all
from asmevo.isa import Instruction, MemoryRow, Space, effects, parse_instruction, units
from asmevo.program.execmask import writes_exec
from asmevo.strategies.anew import scheduled_anew
from asmevo.strategies.bench import paced
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.room import Room, drawn, names_of_line, place_of, rooms, taken_in
from asmevo.strategies.webs import Web, moved, names_of, shifted, webs
from asmevo.verdict import InputError

TRIES = 6
"""Choices of webs that are made in one go."""


class Rename:
    """Gives loads, and results in their way, registers of their own, and schedules the block anew.

    Preconditions: the block leaves EXEC as it is; the values begin and end inside it; no AGPRs are used; registers are
    free there: in the grant as it is, in a larger one of the same occupancy, or (rarely tried) in one that costs a
    wave. Operands of matrix instructions stay, as lanes that are off count there.
    """

    name = "rename"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        program, block = context.program, context.block
        if any(writes_exec(line.instruction) for line in context.lines):
            return
        live_out = context.analyses.liveness.live_out(block.last - 1)
        found = context.analyses.remember(("webs", block.number), lambda: webs(context.lines, live_out))
        wanted = [web for web in found if _reused(context, web) and not _seen_beyond_lanes(context, web)]
        places = rooms(program)
        if not wanted or not places:
            return
        now = context.analyses.remember(("paced", block.number), lambda: paced(context, program))
        ideas = self._ideas(context, wanted, places, now, rng)
        while batch := list(islice(ideas, 2)):
            yield from sorted(batch, key=lambda idea: -idea.gain)

    def _ideas(
        self, context: Context, wanted: Sequence[Web], places: Sequence[Room], now: int, rng: random.Random
    ) -> Iterator[Proposal]:
        for attempt in range(TRIES):
            room = drawn(places, rng)
            chosen = list(wanted) if attempt == 0 else [web for web in wanted if rng.random() < rng.choice((0.3, 0.7))]
            chosen.sort(key=lambda web: (_urgency(context, web), rng.random()))
            edits, what = _renames(context, chosen, room)
            if not edits:
                continue
            try:
                program = apply_all(context.program, edits)
            except InputError:  # the target has not that many registers
                continue
            yield from scheduled_anew(context, program, edits, f"{what} renamed", now, rng)


def _renames(context: Context, chosen: Sequence[Web], room: Room) -> tuple[tuple[Edit, ...], str]:
    """Edits that move as many of the webs as find a place."""
    lines, taken = context.lines, taken_in(context)
    texts: dict[int, str] = {}
    names: list[str] = []
    for web in chosen:
        base = place_of(web, taken, room.vgprs)
        if base is None:
            continue
        current = [replace(line, instruction=_now(line.id, texts, line.instruction)) for line in lines]
        changed = moved(current, web, base)
        if changed is None:
            continue
        texts |= changed
        taken |= shifted(web.registers, web.registers, base - min(units(web.registers)))
        names.append(names_of(web.registers))
    edits: tuple[Edit, ...] = tuple(Replace(i, text) for i, text in sorted(texts.items()))
    edits = (*room.edits_for(context.program, taken), *edits)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (edits, shown) if texts else ((), "")


def _now(line_id: int, texts: dict[int, str], instruction: Instruction) -> Instruction:
    return parse_instruction(texts[line_id]) if line_id in texts else instruction


def _reused(context: Context, web: Web) -> bool:
    """Whether the block uses the web's registers for something else before it: an order that renaming takes away."""
    before = context.lines[: web.first]
    return any(names_of_line(line) & web.registers for line in before)


def _seen_beyond_lanes(context: Context, web: Web) -> bool:
    """Whether matrix instructions read what only active lanes were given.

    In other registers the lanes that are off hold something else, and nothing proves that none is.
    """
    made = any(effects(context.lines[n].instruction).masked for n in web.definitions)
    return made and any(not effects(context.lines[n].instruction).masked for n in web.uses)


def _urgency(context: Context, web: Web) -> int:
    """Loads from memory first, then from LDS, then results of arithmetic."""
    row = effects(context.lines[web.first].instruction).row
    if not isinstance(row, MemoryRow):
        return 2
    return 1 if row.space is Space.LDS else 0
