"""Where barriers go so that no two accesses of a race are left between the same two barriers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from asmevo.isa.wait import parse_wait
from asmevo.program import Program, control_kind
from asmevo.program.asynchronous import Kind, Queue, operation
from asmevo.repair.races import Pair, Phase
from asmevo.verdict import UnsupportedError

MOST = 4
"""Barriers that one phase may need: two paths with two each."""
_TRIALS = 100_000
"""Sets of places that are tried for one phase."""
Partners: TypeAlias = Mapping[int, frozenset[int]]
"""Position of a racing access to those it races with."""
_Order: TypeAlias = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Place:
    """Instructions to insert in front of a line."""

    before: int
    """Id of the line."""
    texts: tuple[str, ...]
    everywhere: bool
    """Whether the control flow alone says that all waves of a workgroup come by equally often; else launches do."""
    follows: int | None = None
    """Id of K0's barrier in front of it in its block, if there is one: all waves come by as often as by that one."""

    @property
    def barrier(self) -> bool:
        """Whether it is a barrier; a wait in front of one that is there otherwise."""
        return "s_barrier" in self.texts

    def padded(self, unit: int) -> Place:
        """With nops, so that what follows moves by a multiple of `unit` bytes: each instruction has four."""
        return replace(self, texts=(*self.texts, *("s_nop 0",) * (-len(self.texts) % (unit // 4))))


def partners_of(program: Program, pairs: Collection[Pair]) -> Partners:
    """Positions that race, each with the others."""
    found: dict[int, set[int]] = {}
    for pair in pairs:
        a, b = (program.position[line] for line in pair)
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)
    return {position: frozenset(others) for position, others in found.items()}


def gaps(program: Program, partners: Partners) -> list[int]:
    """Positions in front of which a barrier may stand: around racing accesses and barriers, and where blocks begin.

    Between two accesses of one kind that do not race with each other there is nothing to part.
    """
    found: set[int] = set()
    for block in program.blocks:
        special = [
            i
            for i in range(block.first, block.last)
            if i in partners or control_kind(program.lines[i].instruction) == "barrier"
        ]
        if not special:
            found.add(block.first)
            continue
        previous: int | None = None
        for position in special:
            if previous is None or not _alike(program, partners, previous, position):
                found.add(position)
            previous = position
        behind = special[-1] + 1
        while behind + 1 < block.last and control_kind(program.lines[behind].instruction) == "waitcnt":
            behind += 1
        if behind < block.last:
            found.add(behind)
    return sorted(found)


def _alike(program: Program, partners: Partners, a: int, b: int) -> bool:
    if a not in partners or b not in partners or b in partners[a]:
        return False
    kind = kind_at(program, a)
    return kind is not None and kind is kind_at(program, b)


def meetings(phase: Phase, places: Collection[int], partners: Partners) -> set[tuple[int, int]]:
    """Pairs of racing positions that two waves come by between the same two barriers, with barriers in these places."""
    found: set[tuple[int, int]] = set()
    parts = [[frozenset(p) & partners.keys() for p in _cut(wave, places)] for wave in phase]
    for number in range(max(map(len, parts))):
        lines = [wave[number] for wave in parts if number < len(wave)]
        for mine, theirs in combinations(lines, 2):
            found.update((min(a, b), max(a, b)) for a in mine for b in partners[a] & theirs)
    return found


def aligned(phases: Sequence[Phase], places: Collection[int]) -> bool:
    """Whether in each phase all waves come by barriers in these places equally often."""
    return all(len({sum(p in places for p in wave) for wave in phase}) == 1 for phase in phases)


def _cut(wave: Sequence[int], places: Collection[int]) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for position in wave:
        if position in places:
            parts.append([])
        parts[-1].append(position)
    return parts


def place_barriers(
    program: Program, phases: Sequence[Phase], partners: Partners, candidates: Sequence[int], uniform: frozenset[int]
) -> tuple[int, ...]:
    """The fewest places, phase by phase, that part all racing accesses; in equal numbers those that all waves pass
    whatever the launch, that are passed least often, and that come last.

    Raises `UnsupportedError` where there are none, or where they could as well part the accesses the other way round.
    """
    chosen: frozenset[int] = frozenset()
    for phase in phases:
        left = meetings(phase, chosen, partners)
        if left:
            chosen |= _for_phase(program, phase, phases, partners, candidates, uniform, chosen, left)
    return tuple(sorted(chosen))


def _for_phase(
    program: Program,
    phase: Phase,
    phases: Sequence[Phase],
    partners: Partners,
    candidates: Sequence[int],
    uniform: frozenset[int],
    chosen: frozenset[int],
    left: set[tuple[int, int]],
) -> frozenset[int]:
    met = {p for wave in phase for p in wave}
    fresh = [p for p in candidates if p in met and p not in chosen]
    found: list[frozenset[int]] = []
    told = True
    for trial in _trials(fresh):
        places = chosen | trial
        if found and len(trial) > len(found[0]):
            break
        if aligned([phase], places) and not meetings(phase, places, partners) and aligned(phases, places):
            if all(_told(phase, place, partners) for place in trial):
                found.append(trial)
            else:
                told = False
    where = _lines(program, left)
    if not found and told:
        raise UnsupportedError(
            f"No barrier can part {where}: there is no place between them that all waves of a workgroup pass equally "
            "often; change the code by hand (`asmevo recover`, `asmevo rebuild`)."
        )
    if len({_order(phase, chosen | trial, partners) for trial in found}) != 1:
        raise UnsupportedError(
            f"Nothing tells which of {where} comes first: no wave executes both, or some do it the other way round; "
            "change the code by hand (`asmevo recover`, `asmevo rebuild`)."
        )

    def rank(trial: frozenset[int]) -> tuple[int, int, list[int]]:
        launches_only = sum(program.block_of[program.lines[p].id] not in uniform for p in trial)
        passed = sum(p in trial for one in phases for wave in one for p in wave)
        return launches_only, passed, sorted((-p for p in trial), reverse=True)

    return min(found, key=rank)


def _told(phase: Phase, place: int, partners: Partners) -> bool:
    """Whether a wave accesses something in front of the place that races with what it accesses behind it: only its own
    order says that one is meant to come first."""
    for wave in phase:
        front: set[int] = set()
        passed = False
        for position in wave:
            passed = passed or position == place
            if position in partners:
                if passed and partners[position] & front:
                    return True
                front.update(() if passed else (position,))
    return False


def _trials(candidates: Sequence[int]) -> Iterator[frozenset[int]]:
    """Sets of places, small ones first, as many as are tried."""
    left = _TRIALS
    for size in range(1, MOST + 1):
        for trial in combinations(candidates, size):
            if not left:
                return
            left -= 1
            yield frozenset(trial)


def _order(phase: Phase, places: Collection[int], partners: Partners) -> _Order:
    """Which access of a race comes first, between different waves."""
    cut = [_cut(wave, places) for wave in phase]
    seen = [{p: n for n, part in reversed(list(enumerate(wave))) for p in part if p in partners} for wave in cut]
    return frozenset(
        (a, b)
        for i, one in enumerate(seen)
        for j, other in enumerate(seen)
        if i != j
        for a, first in one.items()
        for b in partners[a]
        if b in other and first < other[b]
    )


def _lines(program: Program, pairs: Collection[tuple[int, int]]) -> str:
    a, b = min(pairs)
    texts = [f"line {program.lines[p].id}, `{program.lines[p].instruction}`," for p in (a, b)]
    more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
    return f"{texts[0]} and {texts[1].rstrip(',')}{more}" if a != b else f"{texts[0].rstrip(',')} of two waves{more}"


def wait_for(program: Program, position: int, partners: Partners) -> tuple[str, ...]:
    """The wait that makes what was accessed in front of a position complete; nothing where it surely is."""
    dma = any(kind_at(program, p) is Kind.DMA for p in partners)
    wanted = (["vmcnt(0)"] if dma and not _complete(program, position, vm=True) else []) + (
        [] if _complete(program, position, vm=False) else ["lgkmcnt(0)"]
    )
    return (f"s_waitcnt {' '.join(wanted)}",) if wanted else ()


def kind_at(program: Program, position: int) -> Kind | None:
    """Of the asynchronous operation that a line starts; None where it starts none."""
    started = operation(program.lines[position].instruction)
    return None if started is None else started.kind


def _complete(program: Program, position: int, *, vm: bool) -> bool:
    """Whether a line of its block in front of the position waits for all of a counter, with nothing new between."""
    begin = program.blocks[program.block_of[program.lines[position].id]].first
    queues = (Queue.VM, Queue.FLAT) if vm else (Queue.LDS, Queue.FLAT)
    for line in reversed(program.lines[begin:position]):
        started = operation(line.instruction)
        if started is not None and started.queue in queues:
            return False
        if control_kind(line.instruction) == "waitcnt":
            wait = parse_wait(line.instruction)
            if (wait.vm if vm else wait.lgkm) == 0:
                return True
    return False
