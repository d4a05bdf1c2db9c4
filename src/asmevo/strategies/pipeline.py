"""Pipelining: loads of a loop made at the end of the turn before, where their latency has a whole turn to pass.

The first turn's are made in front of it. On the way out of the loop there is no next turn, and loads for it could
fault, so they go through a descriptor whose number of records SCC selects: K0's, or none, with which no lane accesses
memory. Addresses have to be made from what a turn begins with; there must be four free SGPRs for each descriptor, and
VGPRs in which the results stay from turn to turn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.edit import Delete, Edit, Insert, Replace, SetResources, apply_all
from asmevo.isa import RegSet, effects, parse_instruction, span, unit_name, units
from asmevo.isa.registers import SCC, UNNUMBERED_SGPRS
from asmevo.isa.wait import parse_wait
from asmevo.program import Line, Program, control_kind
from asmevo.program.execmask import writes_exec
from asmevo.program.liveness import liveness, step_of
from asmevo.strategies.anew import scheduled_anew
from asmevo.strategies.bench import paced
from asmevo.strategies.context import Context
from asmevo.strategies.invariants import entered_by_falling
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.room import Room, drawn, free_sgprs, granted_sgprs, names_of_line, place_of, rooms, taken_in
from asmevo.strategies.settle import respaced
from asmevo.strategies.tuples import Source, place_of_tuple
from asmevo.strategies.turns import Fetch, fetches, repeated
from asmevo.strategies.values import dead_lines
from asmevo.strategies.webs import Web, moved, renamed, webs
from asmevo.verdict import InputError

TRIES = 4
"""Choices of loads that are made in one go."""
WAIT = "s_waitcnt vmcnt(0)"
"""Waits for too much, until the block is scheduled."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Loads that are made ahead together, as instructions read them as one tuple."""

    fetches: tuple[Fetch, ...]
    readers: tuple[int, ...]
    """Indices of the lines that read what they give, or of the copies of it."""
    web: Web | None = None
    """Where the loop has their registers for other things, too: what gets others."""
    copied: bool = False
    """They go to registers of their own and are copied from there to K0's, which code behind the loop may look at."""

    @property
    def width(self) -> int:
        return sum(fetch.results.bit_count() for fetch in self.fetches)


class Pipeline:
    """Loads ahead: those of a loop at the end of the turn before.

    Preconditions: one block, entered by falling into it, repeated by SCC; buffer loads; free registers.
    """

    name = "pipeline"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        if not _is_counted(context):
            return
        groups = context.analyses.remember(("ahead", context.block.number), lambda: _groups(context))
        places = rooms(context.program)
        if not groups or not places:
            return
        now = context.analyses.remember(("paced", context.block.number), lambda: paced(context, context.program))
        for attempt in range(TRIES):
            room = drawn(places, rng)
            share = rng.choice((0.3, 0.7))
            chosen = [group for group in groups if attempt == 0 or rng.random() < share]
            if attempt > 1:
                rng.shuffle(chosen)
            if made := _ahead(context, chosen, room):
                program, edits, count = made
                what = f"{count} loads made at the end of the turn before"
                yield from scheduled_anew(context, program, edits, what, now, rng)


def _is_counted(context: Context) -> bool:
    """Whether SCC repeats the loop, and EXEC stays as it is in it."""
    program, block, lines = context.program, context.block, context.lines
    if not context.is_loop or len(block.successors) != 2 or not entered_by_falling(program, block):
        return False
    if lines[-1].instruction.mnemonic not in ("s_cbranch_scc0", "s_cbranch_scc1"):
        return False
    return not any(writes_exec(line.instruction) for line in lines)


def _groups(context: Context) -> list[_Group]:
    """Loads that may be made ahead, with those that share their registers."""
    program, block, lines = context.program, context.block, context.lines
    found = {fetch.index: fetch for fetch in fetches(lines)}
    live = context.analyses.liveness
    kept = live.live_in(block.first)
    for successor in block.successors:
        kept |= live.live_in(program.blocks[successor].first)
    groups: list[_Group] = []
    grouped: set[int] = set()
    for web in webs(lines, live.live_out(block.last - 1)):
        if set(web.definitions) <= found.keys() and web.uses and not _seen_beyond_lanes(lines, web.uses):
            groups.append(_Group(tuple(found[i] for i in sorted(web.definitions)), tuple(sorted(web.uses)), web))
            grouped |= set(web.definitions)
    for index, fetch in found.items():
        if index in grouped:
            continue
        others = [i for i, line in enumerate(lines) if i != index and names_of_line(line) & fetch.results]
        readers = {i: fetch.results for i in others if not effects(lines[i].instruction).writes & fetch.results}
        alone = not fetch.results & kept and readers and len(readers) == len(others) and min(readers) > index
        stays = alone and not _seen_beyond_lanes(lines, readers)
        groups.append(_Group((fetch,), tuple(readers)) if stays else _Group((fetch,), (index,), copied=True))
    return sorted(groups, key=lambda group: group.fetches[0].index)


def _seen_beyond_lanes(lines: Sequence[Line], uses: Mapping[int, RegSet]) -> bool:
    """Whether some reader looks at lanes that may be off: in other registers they hold something else."""
    return any(step_of(lines[index].instruction).far & read for index, read in uses.items())


def _ahead(context: Context, chosen: Sequence[_Group], room: Room) -> tuple[Program, list[Edit], int] | None:
    """The program with as many of the loads ahead as there are registers for, waiting for too much; its edits, and how
    many loads."""
    program, lines = context.program, context.lines
    texts: dict[int, str] = {}
    taken = taken_in(context)
    sgprs = set(free_sgprs(program))
    quads: dict[tuple[Source, ...], int] = {}
    front: list[str] = []
    back: list[tuple[int, list[str]]] = []
    gone: list[int] = []
    readers: set[int] = set()
    copies: dict[int, tuple[str, ...]] = {}
    for group in chosen:
        placed = _results(lines, group, texts, taken, room)
        words = {fetch.words for fetch in group.fetches}
        wanted = {w: place_of_tuple(4, sgprs) for w in words if w not in quads}
        if placed is None or None in wanted.values() or len(wanted) > 1:
            continue
        own, copied = placed
        there = quads | {w: place for w, place in wanted.items() if place is not None}
        repeats = [_repeat(lines, fetch, own, sgprs, there) for fetch in group.fetches]
        if None in repeats:
            continue
        for place in there.values():
            sgprs -= set(range(place, place + 4))
        quads = there
        texts |= own
        copies |= copied
        for fetch, repeat in zip(group.fetches, repeats, strict=True):
            assert repeat is not None
            front += repeat
            back.append((_earliest(lines, fetch, group), repeat))
            gone.append(lines[fetch.index].id)
            taken |= effects(parse_instruction(repeat[-1])).writes
        readers |= set(group.readers)
    if not gone:
        return None
    return _edited(context, texts, copies, quads, front, back, gone, readers, taken, room)


def _results(
    lines: Sequence[Line], group: _Group, texts: Mapping[int, str], taken: RegSet, room: Room
) -> tuple[dict[int, str], dict[int, tuple[str, ...]]] | None:
    """New texts of loads and readers, in registers of their own where they need them, and copies that take the place of
    loads; None without room."""
    if group.copied:
        (fetch,) = group.fetches
        line = lines[fetch.index]
        base = place_of(Web({fetch.index: fetch.results}, {}), taken, room.vgprs)
        low = min(units(fetch.results))
        text = None if base is None else renamed(line.instruction, 0, fetch.results, base - low)
        if base is None or text is None:
            return None
        pairs = [(unit_name(unit), unit_name(unit - low + base)) for unit in sorted(units(fetch.results))]
        return {line.id: text}, {line.id: tuple(f"v_mov_b32_e32 {old}, {new}" for old, new in pairs)}
    if group.web is None:
        return {}, {}
    base = place_of(group.web, taken, room.vgprs)
    if base is None:
        return None
    current = [
        replace(line, instruction=parse_instruction(texts[line.id])) if line.id in texts else line for line in lines
    ]
    found = moved(current, group.web, base)
    return None if found is None else (found, {})


def _repeat(
    lines: Sequence[Line],
    fetch: Fetch,
    own: Mapping[int, str],
    sgprs: set[int],
    quads: Mapping[tuple[Source, ...], int],
) -> list[str] | None:
    line = lines[fetch.index]
    text = own.get(line.id, line.instruction.text)
    quad = quads[fetch.words]
    free = [n for n in sorted(sgprs) if all(not place <= n < place + 4 for place in quads.values())]
    results = sorted(units(effects(parse_instruction(text)).writes))
    return repeated(lines, fetch, text, [*results, *free], quad)


def _earliest(lines: Sequence[Line], fetch: Fetch, group: _Group) -> int:
    """The index behind which the next turn's load may stand: its results were read, its inputs are the next turn's, and
    SCC is what decides the branch."""
    last = max(group.readers)
    for index, line in enumerate(lines):
        if effects(line.instruction).writes & (fetch.inputs | span(SCC, 1)):
            last = max(last, index)
    return last


def _edited(
    context: Context,
    texts: Mapping[int, str],
    copies: Mapping[int, tuple[str, ...]],
    quads: Mapping[tuple[Source, ...], int],
    front: Sequence[str],
    back: Sequence[tuple[int, list[str]]],
    gone: Sequence[int],
    readers: set[int],
    taken: RegSet,
    room: Room,
) -> tuple[Program, list[Edit], int] | None:
    """Put together what `_ahead` found."""
    program, lines = context.program, context.lines
    moves = [
        f"s_mov_b32 {unit_name(place + n)}, {source if isinstance(source, str) else unit_name(source)}"
        for words, place in quads.items()
        for n, source in enumerate(words)
    ]
    decided = max(i for i, line in enumerate(lines) if effects(line.instruction).writes & span(SCC, 1))
    sides = ("{}, 0", "0, {}")[lines[-1].instruction.mnemonic == "s_cbranch_scc0"]
    behind: dict[int, list[str]] = {decided: []}
    for words, place in quads.items():
        records = words[2] if isinstance(words[2], str) else unit_name(words[2])
        behind[decided].append(f"s_cselect_b32 {unit_name(place + 2)}, {sides.format(records)}")
    for index, repeat in back:
        behind.setdefault(index, []).extend(repeat)
    edits: list[Edit] = [Insert(lines[0].id, (*moves, *front), fallthrough=True)]
    edits += [Replace(i, text) for i, text in texts.items() if i not in gone]
    edits += [Insert(i, (WAIT, *new)) for i, new in copies.items()]
    edits += [Insert(i, WAIT) for i in [lines[n].id for n in sorted(readers) if lines[n].id not in copies][:1]]
    for line in lines:
        if control_kind(line.instruction) == "waitcnt":
            wait = replace(parse_wait(line.instruction), vm=0)
            edits += [Replace(line.id, str(wait))] if str(wait) != line.instruction.text else []
    edits += [Insert(lines[index + 1].id, tuple(new)) for index, new in sorted(behind.items())]
    edits.append(Delete(tuple(gone)))
    edits = [*room.edits_for(program, taken), *edits]
    sgprs = max(place + 4 for place in quads.values())
    if sgprs > granted_sgprs(program):
        edits.insert(0, SetResources(sgprs=sgprs + UNNUMBERED_SGPRS))
    try:
        return _right(context, edits, len(gone))
    except InputError:
        return None


def _right(context: Context, edits: list[Edit], count: int) -> tuple[Program, list[Edit], int] | None:
    """Without lines that nobody needs any more, with nops, and with a wait behind the loop where one is needed."""
    number = context.block.number
    program = apply_all(context.program, edits)
    while dead := _dead(program, number):
        edits = [*edits, Delete(tuple(dead))]
        program = apply_all(context.program, edits)
    out = next(s for s in context.block.successors if s != number)
    first = program.lines[program.blocks[out].first].id
    before = program.lines[program.blocks[number].first - 1].id
    for waits in ((), (Insert(first, WAIT),)):
        result = respaced(context, [*edits, *waits], (number, program.block_of[before], out))
        if result is not None:
            return result[0], list(result[1]), count
    return None


def _dead(program: Program, number: int) -> list[int]:
    block = program.blocks[number]
    live = liveness(program)
    return dead_lines(
        program.lines[block.first : block.last], [live.live_out(n) for n in range(block.first, block.last)]
    )
