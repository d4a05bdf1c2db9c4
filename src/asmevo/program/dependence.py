"""The dependence graph of a run of lines: what must keep its order, and how far apart."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import attrgetter

from asmevo.isa import Counter, RegSet, effects, span, units
from asmevo.isa.limits import limits_of
from asmevo.isa.registers import UNIT_COUNT, VGPR_BASE
from asmevo.program.asynchronous import Kind
from asmevo.program.hazards import required_states
from asmevo.program.memory import Access, Barriers, Fence, Memory, access, fence
from asmevo.program.outstanding import CAP, Outstanding, State, facts
from asmevo.program.program import Line, Program, control_kind

_EVERYTHING = span(0, UNIT_COUNT)


class Dependence(StrEnum):
    """Why two lines keep their order."""

    RAW = "raw"
    WAR = "war"
    WAW = "waw"
    MEMORY = "memory"
    FENCE = "fence"
    WAIT = "wait"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Edge:
    """Line `source` must stay before line `target`; both are indices into `DependenceGraph.lines`."""

    source: int
    target: int
    kind: Dependence
    registers: RegSet
    states: int
    """Wait states that must stand between the two."""


@dataclass(frozen=True)
class DependenceGraph:
    """Edges between the lines of one run, from earlier to later; transitive ones are mostly left out.

    A register that is overwritten before anybody reads it constrains only what is in between when it is scalar (SCC
    is written by nearly every scalar instruction and read by few). Accesses of LDS and LDS-DMA that this program
    leaves in flight together are unordered: it has no way to rely on their order. Waits have no edges unless they are
    pinned.
    """

    lines: tuple[Line, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def successors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges out of each line."""
        return _grouped(len(self.lines), self.edges, attrgetter("source"))

    @cached_property
    def predecessors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges into each line."""
        return _grouped(len(self.lines), self.edges, attrgetter("target"))

    def is_order(self, order: tuple[int, ...]) -> bool:
        """Whether the indices of all lines, in a new order, respect every edge; spacing is not looked at."""
        place = {index: at for at, index in enumerate(order)}
        complete = len(order) == len(self.lines) == len(place)
        return complete and all(place[e.source] < place[e.target] for e in self.edges)


def _grouped(count: int, edges: tuple[Edge, ...], end: Callable[[Edge], int]) -> tuple[tuple[Edge, ...], ...]:
    groups: list[list[Edge]] = [[] for _ in range(count)]
    for edge in edges:
        groups[end(edge)].append(edge)
    return tuple(map(tuple, groups))


def dependence_graph(
    program: Program,
    first: int,
    last: int,
    *,
    live_out: RegSet = _EVERYTHING,
    barriers: Barriers | None = None,
    pin_waits: bool = False,
    state: State = frozenset(),
) -> DependenceGraph:
    """The graph of the lines at positions `first` to `last - 1`, all in one block.

    `live_out`: registers somebody reads behind the run. `barriers`: what is known of stores in the whole program,
    computed when absent. `pin_waits`: waits keep their meaning, so counted operations keep their order and consumers
    stay behind the wait that covers them; otherwise waits are free, and whoever reorders must place new ones.
    `state`: what is outstanding at the begin, for pinned waits (`Waits.states`, if the run begins a block).

    Raises `UnsupportedError` for an opcode without a row.
    """
    limits_of(program.source.target)
    lines = program.lines[first:last]
    builder = _Builder(lines, program.source.target)
    builder.registers(live_out)
    builder.memory()
    builder.fences(first, barriers or Barriers(program))
    if pin_waits:
        builder.waits(state)
    builder.control()
    return DependenceGraph(lines, builder.edges())


def memory_order(lines: tuple[Line, ...], kept: Container[int]) -> list[tuple[int, int]]:
    """Index pairs of a run of lines that order all conflicting accesses among those whose ids are in `kept`.

    The graph leaves out what follows from a third access; where that one is gone, so would be the order of the others.
    """
    builder = _Builder(lines, target="")
    builder.memory(kept)
    return builder.pairs()


class _Builder:
    """Collects edges, one for each pair of lines and kind."""

    def __init__(self, lines: tuple[Line, ...], target: str) -> None:
        self._lines = lines
        self._target = target
        self._found: dict[tuple[int, int, Dependence], RegSet] = {}

    def pairs(self) -> list[tuple[int, int]]:
        return sorted({(source, target) for source, target, _ in self._found})

    def edges(self) -> tuple[Edge, ...]:
        states: dict[tuple[int, int], int] = {}
        for source, target, _ in self._found:
            if (source, target) not in states:
                a, b = self._lines[source].instruction, self._lines[target].instruction
                states[source, target] = required_states(a, b, self._target)
        return tuple(
            Edge(source, target, kind, registers, states[source, target])
            for (source, target, kind), registers in sorted(self._found.items(), key=lambda item: item[0][:2])
        )

    def _add(self, source: int, target: int, kind: Dependence, registers: RegSet = 0) -> None:
        key = (source, target, kind)
        self._found[key] = self._found.get(key, 0) | registers

    # registers

    def registers(self, live_out: RegSet) -> None:
        dead = self._dead_scalars(live_out)
        last: dict[int, int] = {}
        readers: dict[int, list[int]] = {}
        unread: dict[int, list[int]] = {}
        for j, line in enumerate(self._lines):
            known = effects(line.instruction)
            for unit in units(known.reads):
                if unit in last:
                    self._add(last[unit], j, Dependence.RAW, 1 << unit)
                readers.setdefault(unit, []).append(j)
            for unit in units(known.writes):
                for reader in readers.get(unit, ()):
                    if reader != j:
                        self._add(reader, j, Dependence.WAR, 1 << unit)
                if (j, unit) in dead:
                    unread.setdefault(unit, []).append(j)
                    continue
                for other in unread.pop(unit, ()):
                    self._add(other, j, Dependence.WAW, 1 << unit)
                if unit in last:
                    self._add(last[unit], j, Dependence.WAW, 1 << unit)
                last[unit] = j
                readers[unit] = []

    def _dead_scalars(self, live_out: RegSet) -> set[tuple[int, int]]:
        """(line, unit) of scalar writes that nobody reads before the next write."""
        dead: set[tuple[int, int]] = set()
        live = live_out
        for j in range(len(self._lines) - 1, -1, -1):
            known = effects(self._lines[j].instruction)
            scalars = known.writes & ((1 << VGPR_BASE) - 1)
            dead.update((j, unit) for unit in units(scalars & ~live))
            live = live & ~scalars | known.reads
        return dead

    # memory

    def memory(self, kept: Container[int] | None = None) -> None:
        """Per memory a chain: a write follows everything since the last write, a read follows the last write.

        With `kept`, only accesses with these line ids count.
        """
        last: dict[Memory, int] = {}
        since: dict[Memory, list[int]] = {}
        chains = (Memory.LDS, Memory.GLOBAL, Memory.SCRATCH)
        accesses = {
            j: touched
            for j, line in enumerate(self._lines)
            if (kept is None or line.id in kept) and (touched := access(line.instruction)) is not None
        }
        for j, touched in accesses.items():
            for memory in chains:
                if memory not in touched.touched or (memory is Memory.LDS and touched.kind is Kind.DMA):
                    continue
                writes = memory in touched.writes or (touched.ordered and memory is Memory.GLOBAL)
                if memory in last:
                    self._add(last[memory], j, Dependence.MEMORY)
                if writes:
                    for other in since.get(memory, ()):
                        self._add(other, j, Dependence.MEMORY)
                    last[memory], since[memory] = j, []
                else:
                    since.setdefault(memory, []).append(j)
        self._transfers(accesses)

    def _transfers(self, accesses: Mapping[int, Access]) -> None:
        """LDS-DMA among itself keeps its order; with LDS accesses only where a wait lies between the two."""
        account = Outstanding(cautious=False)
        before: list[tuple[int, bool]] = []
        last = -1
        for j, line in enumerate(self._lines):
            touched = accesses.get(j)
            if touched is not None and Memory.LDS in touched.touched:
                is_transfer = touched.kind is Kind.DMA
                for other, other_is_transfer in before:
                    if other_is_transfer != is_transfer and not account.is_pending(self._lines[other].id):
                        self._add(other, j, Dependence.MEMORY)
                if is_transfer and last >= 0:
                    self._add(last, j, Dependence.MEMORY)
                last = j if is_transfer else last
                before.append((j, is_transfer))
            account.advance(line.id, line.instruction)

    # fences

    def fences(self, first: int, barriers: Barriers) -> None:
        """Accesses stay on their side of the nearest fences that hold them; fences keep their order."""
        fences: list[int] = []
        open_ = list[int]()
        for j, line in enumerate(self._lines):
            kind = fence(line.instruction)
            if kind is Fence.NONE:
                open_.append(j)
                for f in reversed(fences):
                    if self._held(j, f, lambda f=f: barriers.may_rise(first + f)):
                        self._add(f, j, Dependence.FENCE)
                        break
                continue
            if fences:
                self._add(fences[-1], j, Dependence.FENCE)
            fences.append(j)
            for i in list(open_):
                if self._held(i, j, lambda j=j: barriers.may_sink(first + j)):
                    self._add(i, j, Dependence.FENCE)
                    open_.remove(i)

    def _held(self, i: int, f: int, load_may_cross: Callable[[], bool]) -> bool:
        """Whether line `i` must stay on its side of the fence at `f`."""
        kind = fence(self._lines[f].instruction)
        if kind is Fence.ALL:
            return True
        touched = access(self._lines[i].instruction)
        if touched is None:
            return False
        if kind is Fence.BARRIER and not touched.ordered:
            if touched.kind is Kind.SCALAR_LOAD:
                return False
            if touched.kind is Kind.LOAD:
                return not load_may_cross()
        return True

    # waits

    def waits(self, state: State) -> None:
        """Pinned waits: counted operations, waits and fences keep their order; what a wait covers stays behind it."""
        account = Outstanding(state)
        chain: dict[Counter, int] = {}
        covered: list[tuple[int, RegSet]] = []
        for j, line in enumerate(self._lines):
            now = facts(line.instruction)
            counters = set(Counter) if fence(line.instruction) is not Fence.NONE else set[Counter]()
            if now.operation is not None:
                counters |= set(now.operation.queue.counters)
            if now.wait is not None:
                counters |= {c for c, n in ((Counter.VM, now.wait.vm), (Counter.LGKM, now.wait.lgkm)) if n <= CAP[c]}
            for counter in counters:
                if counter in chain:
                    self._add(chain[counter], j, Dependence.WAIT)
                chain[counter] = j
            for wait, results in covered:
                if now.touched & results:
                    self._add(wait, j, Dependence.WAIT, now.touched & results)
            before = account.results
            account.advance(line.id, line.instruction)
            if now.wait is not None:
                covered.append((j, before & ~account.results))

    def control(self) -> None:
        """What ends the block stays last."""
        last = len(self._lines) - 1
        if last < 0 or control_kind(self._lines[last].instruction) not in ("branch", "cbranch", "endpgm"):
            return
        inner = {source for source, _, _ in self._found}
        for i in range(last):
            if i not in inner:
                self._add(i, last, Dependence.CONTROL)
