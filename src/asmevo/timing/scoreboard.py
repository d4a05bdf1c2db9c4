"""Register scoreboard: when results of the ALUs may be read.

Loads are not in it: their results are guarded by wait counters. A register holds two times, one for any reader and one
for readers with a forwarding path (`layout.FORWARD`): the C operand of an MFMA, and a VALU that reads what a VALU wrote
to an SGPR.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled
from asmevo.timing.layout import FORWARD


@compiled
def operands_ready(m: Any, wave: Any, line: Any, floor: int) -> tuple[int, int]:
    """Time at which all operands of an instruction are ready, and the register that decides (-1 if it is `floor`)."""
    ready, last = floor, -1
    first = line.first_code
    for i in range(first, first + line.costs.reads):
        code = m.codes[i]
        if wave.board[code] > ready:
            ready, last = wave.board[code], code & (FORWARD - 1)
    return ready, last


@compiled
def record_results(m: Any, wave: Any, line: Any, now: int) -> None:
    """Note when the registers that an ALU instruction issued `now` writes become readable."""
    slow, fast, sgpr = now + line.costs.slow, now + line.costs.fast, now + line.costs.sgpr
    matrix = line.costs.matrix > 0
    first = line.first_code + line.costs.reads
    for i in range(first, first + line.costs.writes):
        code = m.codes[i]
        unit = code & (FORWARD - 1)
        wave.board[unit] = slow if code == unit else sgpr
        wave.board[unit + FORWARD] = fast
        wave.producer[unit] = matrix
