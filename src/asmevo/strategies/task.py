"""A block as a scheduling task: what may be ordered freely, what it costs, what depends on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from asmevo.isa import units
from asmevo.program import Block, Line, control_kind
from asmevo.program.asynchronous import operation
from asmevo.program.dependence import Dependence, dependence_graph
from asmevo.strategies.context import Analyses
from asmevo.strategies.pace import PSEUDO, Cost, pseudo

ENDS = ("branch", "cbranch", "endpgm")
"""Kinds of lines that end a block."""
FREE = ("waitcnt", "nop")
"""Kinds of lines that are placed anew, and so take no part in an order."""


@dataclass(frozen=True)
class Task:
    """Nodes are the block's lines without waits and nops, numbered in their present order."""

    ids: tuple[int, ...]
    """Line id of each node."""
    costs: tuple[Cost, ...]
    """Waiting for memory is expressed as reads of pseudo units, so that any order can be paced without waits."""
    successors: tuple[Mapping[int, int], ...]
    """For each node, the nodes that must stay behind it, with the clocks after which they issue without a stall."""
    predecessors: tuple[Mapping[int, int], ...]

    def window(self, order: Sequence[int], at: int) -> tuple[int, int]:
        """How far the node at place `at` of an order may move: lowest and highest place."""
        node = order[at]
        low, high = at, at
        while low > 0 and order[low - 1] not in self.predecessors[node]:
            low -= 1
        while high + 1 < len(order) and order[high + 1] not in self.successors[node]:
            high += 1
        return low, high

    def is_order(self, order: Sequence[int]) -> bool:
        """Whether every dependence is respected."""
        place = {node: at for at, node in enumerate(order)}
        return len(place) == len(self.ids) and all(
            place[i] < place[j] for i, targets in enumerate(self.successors) for j in targets
        )

    def lines(self, order: Sequence[int]) -> tuple[int, ...]:
        """Line ids in an order."""
        return tuple(self.ids[node] for node in order)


def task_of(analyses: Analyses, block: Block, *, pin_memory: bool = False) -> Task:
    """The task of one block. `pin_memory` keeps vector memory operations in their order, so that the waits of other
    blocks keep their meaning.

    Raises `UnsupportedError` for an opcode without a row.
    """
    program = analyses.program
    graph = dependence_graph(
        program,
        block.first,
        block.last,
        live_out=analyses.liveness.live_out(block.last - 1),
        barriers=analyses.barriers,
    )
    nodes = [i for i, line in enumerate(graph.lines) if control_kind(line.instruction) not in FREE]
    number = {index: node for node, index in enumerate(nodes)}
    costs = _costs(analyses, [graph.lines[i] for i in nodes], block)
    successors: list[dict[int, int]] = [{} for _ in nodes]
    for edge in graph.edges:
        if edge.source in number and edge.target in number:
            i, j = number[edge.source], number[edge.target]
            clocks = max(_clocks(costs[i], costs[j], edge.kind), 4 * (edge.states + 1))
            successors[i][j] = max(successors[i].get(j, 0), clocks)
    _add_waits(costs, successors)
    if pin_memory:
        chain = [node for node, cost in enumerate(costs) if cost.counter == 1]
        for i, j in pairwise(chain):
            successors[i].setdefault(j, 4)
    if nodes and control_kind(graph.lines[nodes[-1]].instruction) in ENDS:
        for i in range(len(nodes) - 1):
            successors[i].setdefault(len(nodes) - 1, 4)
    predecessors: list[dict[int, int]] = [{} for _ in nodes]
    for i, targets in enumerate(successors):
        for j, clocks in targets.items():
            predecessors[j][i] = clocks
    ids = tuple(graph.lines[i].id for i in nodes)
    return Task(ids, tuple(costs), tuple(successors), tuple(predecessors))


def _costs(analyses: Analyses, lines: Sequence[Line], block: Block) -> list[Cost]:
    """Costs with pseudo units: every operation writes one, and whoever must find it finished reads it."""
    finished = analyses.placer.finished(block.number)
    out: list[Cost] = []
    for line in lines:
        cost = analyses.analyst.pace.cost(line.instruction)
        must = [pseudo(i) for i in sorted(finished.get(line.id, ()))]
        started = operation(line.instruction)
        done = (pseudo(line.id), *units(started.results)) if started and cost.counter else ()
        out.append(cost.after(must, done))
    return out


def _clocks(source: Cost, target: Cost, kind: Dependence) -> int:
    """Clocks from issue of `source` until `target` issues without a stall."""
    if kind is Dependence.RAW:
        shared = set(source.writes)
        if source.matrix and shared.intersection(target.chained) and not shared.intersection(target.reads):
            return source.forward
        return source.result + source.lds + source.path
    if kind is Dependence.WAW and source.matrix:
        return source.result if not target.matrix else 4
    return 4


def _add_waits(costs: Sequence[Cost], successors: list[dict[int, int]]) -> None:
    """A fence waits for the operations that must have finished there."""
    owner = {unit: i for i, cost in enumerate(costs) for unit in cost.writes if unit >= PSEUDO}
    for j, cost in enumerate(costs):
        for unit in cost.reads:
            i = owner.get(unit)
            if i is not None and j in successors[i]:
                source = costs[i]
                successors[i][j] = max(successors[i][j], source.result + source.lds + source.path)
