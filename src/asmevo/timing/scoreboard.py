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
def operands_ready(m: Any, w: int, position: int, floor: int) -> tuple[int, int]:
    """Time at which all operands of an instruction are ready, and the register that decides (-1 if it is `floor`)."""
    ready, last = floor, -1
    for i in range(m.reads[position, 0], m.reads[position, 1]):
        code = m.codes[i]
        if m.board[w, code] > ready:
            ready, last = m.board[w, code], code & (FORWARD - 1)
    return ready, last


@compiled
def record_results(m: Any, w: int, position: int, now: int) -> None:
    """Note when the registers that an ALU instruction issued `now` writes become readable."""
    slow, fast = now + m.slow[position], now + m.fast[position]
    matrix = m.matrix[position] > 0
    for i in range(m.writes[position, 0], m.writes[position, 1]):
        code = m.codes[i]
        unit = code & (FORWARD - 1)
        m.board[w, unit] = slow if code == unit else now + m.sgpr[position]
        m.board[w, unit + FORWARD] = fast
        m.producer[w, unit] = matrix
