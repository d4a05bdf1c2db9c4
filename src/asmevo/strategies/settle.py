"""From edits of values to a proposal: nops where the edits make them necessary, nothing where waits would break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from asmevo.edit import Edit, apply_all
from asmevo.strategies.arrange import Item
from asmevo.strategies.bench import proposal
from asmevo.strategies.context import Analyses, Context
from asmevo.strategies.placement import spaced
from asmevo.strategies.proposal import Proposal


def settled(context: Context, edits: Sequence[Edit], what: str, blocks: Iterable[int] = ()) -> Iterator[Proposal]:
    """The edits of the context's block, and of other `blocks`, with the nops that they make necessary.

    Nothing when waits or the spacing of blocks that are not edited break.
    """
    program = apply_all(context.program, edits)
    analyses = Analyses(program, context.analyses.analyst)
    if not analyses.analyst.too_close(program):
        if context.analyses.placer.is_right(program):
            yield proposal(context, program, edits, what)
        return
    contents: dict[int, Sequence[Item]] = {}
    for number in {context.block.number, *blocks}:
        block = program.blocks[number]
        contents[number] = [line.id for line in program.lines[block.first : block.last]]
    result = spaced(analyses, contents)
    if result and context.analyses.placer.is_right(result[0]):
        yield proposal(context, result[0], (*edits, *result[1]), what)
