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
from asmevo.isa.registers import VGPR_BASE
from asmevo.program.execmask import writes_exec
from asmevo.program.registers import granted
from asmevo.strategies.bench import paced, proposal
from asmevo.strategies.context import Analyses, Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.reschedule import Reschedule
from asmevo.strategies.room import Room, place_of, rooms
from asmevo.strategies.webs import Web, moved, names_of, shifted, webs
from asmevo.verdict import InputError

TRIES = 6
"""Choices of webs that are made in one go."""
EACH = 2
"""Schedules that are tried for each choice."""


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
            room = places[0] if len(places) == 1 or rng.random() < 0.75 else rng.choice(places[1:])
            chosen = list(wanted) if attempt == 0 else [web for web in wanted if rng.random() < rng.choice((0.3, 0.7))]
            chosen.sort(key=lambda web: (_urgency(context, web), rng.random()))
            edits, what = _renames(context, chosen, room)
            if not edits:
                continue
            try:
                program = apply_all(context.program, edits)
            except InputError:  # the target has not that many registers
                continue
            analyses = Analyses(program, context.analyses.analyst)
            there = replace(context, program=program, block=program.blocks[context.block.number], analyses=analyses)
            for idea in islice(Reschedule().propose(there, rng), EACH):
                after = apply_all(program, idea.edits)
                if paced(context, after) < now:
                    yield proposal(context, after, (*edits, *idea.edits), f"{what} renamed, new schedule")


def _renames(context: Context, chosen: Sequence[Web], room: Room) -> tuple[tuple[Edit, ...], str]:
    """Edits that move as many of the webs as find a place."""
    lines = context.lines
    taken = context.analyses.liveness.live_in(context.block.first)
    for n, line in enumerate(lines):
        known = effects(line.instruction)
        taken |= known.reads | known.writes | context.analyses.liveness.live_out(context.block.first + n)
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
    grown = max((unit - VGPR_BASE + 1 for unit in units(taken) if unit >= VGPR_BASE), default=0)
    if room.edits and grown > granted(context.program.kernel.descriptor, context.program.source.target)["v"]:
        edits = (*room.edits, *edits)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (edits, shown) if texts else ((), "")


def _now(line_id: int, texts: dict[int, str], instruction: Instruction) -> Instruction:
    return parse_instruction(texts[line_id]) if line_id in texts else instruction


def _reused(context: Context, web: Web) -> bool:
    """Whether the block uses the web's registers for something else before it: an order that renaming takes away."""
    before = context.lines[: web.first]
    return any((effects(line.instruction).reads | effects(line.instruction).writes) & web.registers for line in before)


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
