"""Natural loops of a program: back edges to a dominator, and the blocks that reach them without leaving."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.program.program import Block, Program


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop; loops with one header are merged."""

    header: int
    """Block number of its only entry."""
    blocks: frozenset[int]
    latches: tuple[int, ...]
    """Blocks that branch back to the header, ascending."""
    parent: int | None
    """Header of the smallest loop around it."""
    depth: int
    """1 for an outermost loop."""


def find_loops(program: Program) -> tuple[Loop, ...]:
    """The natural loops of the code reachable from the entry, by header. Irreducible cycles are not loops."""
    blocks = program.blocks
    if not blocks:
        return ()
    dominators = _dominators(blocks, program.block_of[program.entry])
    predecessors = _predecessors(blocks)
    latches: dict[int, list[int]] = {}
    for block in blocks:
        for successor in block.successors:
            if successor in dominators[block.number]:
                latches.setdefault(successor, []).append(block.number)
    bodies = {header: _body(header, ends, predecessors) for header, ends in latches.items()}
    return tuple(_loop(header, bodies, tuple(sorted(latches[header]))) for header in sorted(bodies))


def _predecessors(blocks: tuple[Block, ...]) -> list[list[int]]:
    predecessors: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            predecessors[successor].append(block.number)
    return predecessors


def _dominators(blocks: tuple[Block, ...], entry: int) -> list[set[int]]:
    """Blocks that are on every path from the entry, by block; iterated to a fixpoint."""
    everything = set(range(len(blocks)))
    predecessors = _predecessors(blocks)
    dominators = [everything] * len(blocks)
    dominators[entry] = {entry}
    order = _reverse_postorder(blocks, entry)
    changed = True
    while changed:
        changed = False
        for n in order:
            if n == entry:
                continue
            new = set[int].intersection(*(dominators[p] for p in predecessors[n])) | {n}
            if new != dominators[n]:
                dominators[n] = new
                changed = True
    return dominators


def _reverse_postorder(blocks: tuple[Block, ...], entry: int) -> list[int]:
    seen, order, stack = {entry}, list[int](), [(entry, iter(blocks[entry].successors))]
    while stack:
        number, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(number)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return order[::-1]


def _body(header: int, latches: list[int], predecessors: list[list[int]]) -> frozenset[int]:
    body, work = {header}, list(latches)
    while work:
        n = work.pop()
        if n not in body:
            body.add(n)
            work += predecessors[n]
    return frozenset(body)


def _loop(header: int, bodies: dict[int, frozenset[int]], latches: tuple[int, ...]) -> Loop:
    around = [h for h, body in bodies.items() if h != header and header in body and bodies[header] <= body]
    parent = min(around, key=lambda h: len(bodies[h]), default=None)
    return Loop(header, bodies[header], latches, parent, 1 + len(around))
