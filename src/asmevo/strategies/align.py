"""Alignment: nops that keep hot instructions from crossing fetch boundaries, where they cost little or nothing.

An instruction that crosses a boundary comes an issue turn late, on every turn of a loop; moving a loop by a few bytes
has changed real kernels by about 1 % (tingqli/pyhip notes).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Edit, Insert, apply_all
from asmevo.program import control_kind
from asmevo.strategies.bench import address_of, proposal
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.stretch import stretch_of
from asmevo.timing import size_of

NOP = "s_nop 0"
RUN = 3
"""Long instructions in a row from which a nop in front of them can pay."""


class Align:
    """Nops in front of a loop (or of a block outside of loops), and in front of runs of long instructions inside.

    What the pace finds faster, the fastest first.
    """

    name = "align"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        found: list[Proposal] = []
        for edit in (*_in_front(context), *_inside(context)):
            program = apply_all(context.program, [edit])
            found.append(proposal(context, program, [edit], f"{len(edit.to_json()['text'])} nops for alignment"))
        for one in sorted(found, key=lambda one: -one.gain):
            if one.gain > 0 and context.analyses.placer.is_right(apply_all(context.program, one.edits)):
                yield one


def _in_front(context: Context) -> Iterator[Edit]:
    """One to seven nops where the stretch is entered by falling into it: executed once, they shift all behind them."""
    numbers, _ = stretch_of(context.program, context.block, context.heat)
    first = context.program.blocks[numbers[0]].first
    before = context.program.lines[first - 1] if first else None
    if before is None or before.id not in context.program.block_of:  # a second entry stays behind its header
        return
    if control_kind(before.instruction) not in ("branch", "endpgm"):
        for count in range(1, context.analyses.analyst.costs.chip.fetch_bytes // 4):
            yield Insert(context.program.lines[first].id, (NOP,) * count, fallthrough=True)


def _inside(context: Context) -> Iterator[Edit]:
    """One nop in front of each run of long instructions that stands at an odd dword."""
    address = address_of(context.program, context.block.first)
    lines: Sequence[tuple[int, int]] = [(line.id, size_of(line)) for line in context.lines]
    run = 0
    for n, (_, size) in enumerate(lines):
        if size == 8 and address % 8:
            run += 1
            if run == RUN:
                yield Insert(lines[n - RUN + 1][0], (NOP,))
        else:
            run = 0
        address += size
