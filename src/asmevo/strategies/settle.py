"""From edits of values to a proposal: nops where the edits make them necessary, nothing where waits would break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from asmevo.edit import Edit, apply_all
from asmevo.program import Program
from asmevo.strategies.arrange import Item
from asmevo.strategies.bench import proposal
from asmevo.strategies.context import Analyses, Context
from asmevo.strategies.placement import spaced
from asmevo.strategies.proposal import Proposal


def settled(context: Context, edits: Sequence[Edit], what: str, blocks: Iterable[int] = ()) -> Iterator[Proposal]:
    """The edits of the context's block, and of other `blocks`, with the nops that they make necessary.

    Nothing when waits or the spacing of blocks that are not edited break.
    """
    result = respaced(context, edits, {context.block.number, *blocks})
    if result is not None:
        yield proposal(context, *result, what)


def respaced(context: Context, edits: Sequence[Edit], blocks: Iterable[int]) -> tuple[Program, tuple[Edit, ...]] | None:
    """The program with these edits of some blocks and the nops that they make necessary, and all edits; None when
    waits, or the spacing of other blocks, break."""
    program = apply_all(context.program, edits)
    analyses = Analyses(program, context.analyses.analyst)
    if not analyses.analyst.too_close(program):
        return (program, tuple(edits)) if context.analyses.placer.is_right(program) else None
    contents: dict[int, Sequence[Item]] = {}
    for number in set(blocks):
        block = program.blocks[number]
        contents[number] = [line.id for line in program.lines[block.first : block.last]]
    result = spaced(analyses, contents)
    if result and context.analyses.placer.is_right(result[0]):
        return result[0], (*edits, *result[1])
    return None
