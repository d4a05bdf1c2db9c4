"""A block as a scheduling task: what may be ordered freely, what it costs, what depends on what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from asmevo.isa import units
from asmevo.program import Block, Line, control_kind
from asmevo.program.asynchronous import operation
from asmevo.program.dependence import Dependence, DependenceGraph, dependence_graph
from asmevo.strategies.context import Analyses
from asmevo.strategies.cost import PSEUDO, Cost, pseudo

ENDS = ("branch", "cbranch", "endpgm")
"""Kinds of lines that end a block."""
FREE = ("waitcnt", "nop")
"""Kinds of lines that may be placed anew."""


@dataclass(frozen=True)
class Task:
    """Nodes are lines of the block, numbered in their present order."""

    lines: tuple[Line, ...]
    """The line of each node."""
    costs: tuple[Cost, ...]
    successors: tuple[Mapping[int, int], ...]
    """For each node, the nodes that must stay behind it, with the clocks after which they issue without a stall."""
    predecessors: tuple[Mapping[int, int], ...]

    def window(self, order: Sequence[int], at: int) -> tuple[int, int]:
        """How far the node at place `at` of an order may move: lowest and highest place."""
        node = order[at]
        before, behind = self.predecessors[node], self.successors[node]
        low, high = at, at
        while low > 0 and order[low - 1] not in before:
            low -= 1
        while high + 1 < len(order) and order[high + 1] not in behind:
            high += 1
        return low, high

    def is_order(self, order: Sequence[int]) -> bool:
        """Whether every dependence is respected."""
        place = {node: at for at, node in enumerate(order)}
        return len(place) == len(self.lines) and all(
            place[i] < place[j] for i, targets in enumerate(self.successors) for j in targets
        )

    def ids(self, order: Sequence[int]) -> tuple[int, ...]:
        """Line ids in an order."""
        return tuple(self.lines[node].id for node in order)


def free_task(analyses: Analyses, block: Block, *, pin_memory: bool = False) -> Task:
    """The block without waits and nops, which will be placed anew.

    Waiting for memory is in the costs as reads of pseudo units, so that any order can be paced. `pin_memory` keeps
    vector memory operations in their order, so that the waits of other blocks keep their meaning. Raises
    `UnsupportedError` for an opcode without a row.
    """

    def make() -> Task:
        graph = _graph(analyses, block, pin_waits=False)
        nodes = [i for i, line in enumerate(graph.lines) if control_kind(line.instruction) not in FREE]
        lines = [graph.lines[i] for i in nodes]
        costs = _costs_without_waits(analyses, lines, block)
        successors = _successors(graph, nodes, costs)
        _wait_at_fences(costs, successors)
        if pin_memory:
            for i, j in pairwise(node for node, cost in enumerate(costs) if cost.counter == 1):
                successors[i].setdefault(j, 4)
        return _task(lines, costs, successors)

    return analyses.remember(("free", block.number, pin_memory), make)


def pinned_task(analyses: Analyses, block: Block) -> Task:
    """The block with all its lines; waits keep their meaning, and nops stay between what they keep apart."""

    def make() -> Task:
        graph = _graph(analyses, block, pin_waits=True)
        nodes = range(len(graph.lines))
        costs = [analyses.analyst.costs.of(line.instruction) for line in graph.lines]
        return _task(graph.lines, costs, _successors(graph, nodes, costs))

    return analyses.remember(("pinned", block.number), make)


def _graph(analyses: Analyses, block: Block, *, pin_waits: bool) -> DependenceGraph:
    return dependence_graph(
        analyses.program,
        block.first,
        block.last,
        live_out=analyses.liveness.live_out(block.last - 1),
        barriers=analyses.barriers,
        pin_waits=pin_waits,
        state=analyses.waits.states[block.number] if pin_waits else frozenset(),
    )


def _task(lines: Sequence[Line], costs: Sequence[Cost], successors: list[dict[int, int]]) -> Task:
    if lines and control_kind(lines[-1].instruction) in ENDS:
        for i in range(len(lines) - 1):
            successors[i].setdefault(len(lines) - 1, 4)
    predecessors: list[dict[int, int]] = [{} for _ in lines]
    for i, targets in enumerate(successors):
        for j, clocks in targets.items():
            predecessors[j][i] = clocks
    return Task(tuple(lines), tuple(costs), tuple(successors), tuple(predecessors))


def _successors(graph: DependenceGraph, nodes: Sequence[int], costs: Sequence[Cost]) -> list[dict[int, int]]:
    number = {index: node for node, index in enumerate(nodes)}
    successors: list[dict[int, int]] = [{} for _ in nodes]
    for edge in graph.edges:
        if edge.source in number and edge.target in number:
            i, j = number[edge.source], number[edge.target]
            clocks = max(_clocks(costs[i], costs[j], edge.kind), 4 * (edge.states + 1))
            successors[i][j] = max(successors[i].get(j, 0), clocks)
    return successors


def _costs_without_waits(analyses: Analyses, lines: Sequence[Line], block: Block) -> list[Cost]:
    """Costs with pseudo units: every operation writes one, and whoever must find it finished reads it."""
    finished = analyses.placer.finished(block.number)
    out: list[Cost] = []
    for line in lines:
        cost = analyses.analyst.costs.of(line.instruction)
        must = [pseudo(i) for i in sorted(finished.get(line.id, ()))]
        started = operation(line.instruction)
        done = (pseudo(line.id), *units(started.results)) if started and cost.counter else ()
        out.append(cost.with_units(must, done))
    return out


def _clocks(source: Cost, target: Cost, kind: Dependence) -> int:
    """Clocks from issue of `source` until `target` issues without a stall."""
    if kind is Dependence.RAW:
        shared = set(source.writes)
        forwarded = shared.intersection(target.chained) and not shared.intersection(target.reads)
        return (source.forward if forwarded else source.result) + source.lds + source.path
    if kind is Dependence.WAW and source.matrix:
        return source.result if not target.matrix else 4
    return 4


def _wait_at_fences(costs: Sequence[Cost], successors: list[dict[int, int]]) -> None:
    """A fence waits for the operations that must have finished there."""
    owner = {unit: i for i, cost in enumerate(costs) for unit in cost.writes if unit >= PSEUDO}
    for j, cost in enumerate(costs):
        for unit in cost.reads:
            i = owner.get(unit)
            if i is not None and j in successors[i]:
                source = costs[i]
                successors[i][j] = max(successors[i][j], source.result + source.lds + source.path)


TaskMaker = Callable[[Analyses, Block], Task]
"""Makes the task of a block."""
