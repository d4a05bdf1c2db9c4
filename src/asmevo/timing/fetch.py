"""Instruction fetch: what taken branches and the alignment of code cost.

A loop is taken to stay in the instruction cache, and cold misses are not modelled.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled


@compiled
def fetch_ready(m: Any, wave: Any, line: Any, taken: bool) -> int:
    """Earliest issue of a wave's next instruction as far as fetch is concerned.

    After a taken branch the target has to be fetched. Otherwise an instruction that crosses a fetch boundary comes one
    issue turn later, unless the wave has waited that long since the last such instruction and fetch got ahead.
    """
    if taken:
        return wave.base + m.branch_clk - m.issue_clk
    if line.crosses and wave.slack < m.issue_clk:
        return wave.base + m.issue_clk
    return wave.base


@compiled
def note_wait(m: Any, wave: Any, line: Any, now: int) -> None:
    """Account for the time between what the previous instruction allowed and the issue of this one."""
    waited = now - wave.base
    if line.crosses:
        wave.slack = max(0, waited - (m.issue_clk if wave.slack < m.issue_clk else 0))
    else:
        wave.slack += waited
