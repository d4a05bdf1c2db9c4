"""Instruction fetch: what taken branches and the alignment of code cost.

A loop is taken to stay in the instruction cache, and cold misses are not modelled.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled


@compiled
def fetch_ready(m: Any, position: int, base: int, taken: bool) -> int:
    """Earliest issue of an instruction whose predecessor in the wave allows `base`.

    After a taken branch the target has to be fetched; otherwise an instruction that crosses a fetch boundary comes one
    issue turn later, unless the wave waits that long anyway.
    """
    if taken:
        return base + m.branch_clk - m.issue_clk
    return base + (m.issue_clk if m.crosses[position] else 0)
