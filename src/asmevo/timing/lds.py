"""LDS: two ports, each shared by two SIMDs, conflict-free accesses.

Bank conflicts are not modelled: traces carry no addresses.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled


@compiled
def lds_admits(m: Any, simd: int) -> int:
    """Time from which the port of a SIMD takes another instruction."""
    return m.lds_free[simd >> 1] - m.lds_queue_clk


@compiled
def lds_access(m: Any, simd: int, position: int, now: int) -> int:
    """Occupy the port; returns the completion time."""
    done = max(now, m.lds_free[simd >> 1]) + m.lds_port[position]
    m.lds_free[simd >> 1] = done
    return done + m.lds_latency
