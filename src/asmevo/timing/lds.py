"""LDS: two ports, each shared by two SIMDs, that serve one access after the other.

An access keeps its port for the clocks of one without bank conflicts and for those that its conflicts add. Each
execution of an instruction has the conflicts of the mean one (`asmevo.timing.recording.LdsConflicts`); fractions of a
clock are carried over to its next execution.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled


@compiled
def lds_admits(m: Any, simd: int) -> int:
    """Time from which the port of a SIMD takes another instruction."""
    return m.lds_free[simd >> 1] - m.lds_queue_clk


@compiled
def lds_late(m: Any, simd: int) -> int:
    """How much earlier the port of a SIMD would be free if what was issued since it was idle had no conflicts."""
    return m.lds_free[simd >> 1] - m.lds_clear[simd >> 1]


@compiled
def lds_access(m: Any, simd: int, position: int, now: int) -> int:
    """Occupy the port; returns the completion time."""
    port, clocks = simd >> 1, m.lds_port[position]
    m.lds_clear[port] = max(now, m.lds_clear[port]) + clocks
    times = m.count[position] * m.lds_conflict_256[position]  # this issue is counted already
    extra = (times >> 8) - ((times - m.lds_conflict_256[position]) >> 8)
    m.lds_free[port] = max(now, m.lds_free[port]) + clocks + extra
    return m.lds_free[port] + m.lds_latency
