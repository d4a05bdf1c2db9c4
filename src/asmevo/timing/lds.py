"""LDS: two ports, each shared by two SIMDs, that serve one access after the other.

An access keeps its port for the clocks of one without bank conflicts and for those that its conflicts add. Each
execution of an instruction has the conflicts of the mean one (`asmevo.timing.recording.Accesses`); fractions of a
clock are carried over to its next execution.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled


@compiled
def lds_admits(m: Any, port: Any, simd: int) -> int:
    """Time from which a port takes another instruction of a SIMD.

    Two SIMDs share it and take turns: else the one whose turn comes right when there is room has it alone.
    """
    turn = m.issue_clk if port.last == simd else 0
    return port.free - m.lds_queue_clk + turn


@compiled
def lds_late(port: Any) -> int:
    """How much earlier a port would be free if what was issued since it was idle had no conflicts."""
    return port.free - port.clear


@compiled
def added(line: Any) -> int:
    """Clocks of an issue, counted already, that bank conflicts or cache lines add; fractions are carried over."""
    times = line.count * line.added_256
    return (times >> 8) - ((times - line.added_256) >> 8)


@compiled
def lds_access(m: Any, port: Any, simd: int, line: Any, now: int) -> int:
    """Occupy the port; returns the completion time."""
    clocks = line.costs.lds_port
    port.clear = max(now, port.clear) + clocks
    port.free = max(now, port.free) + clocks + added(line)
    port.last = simd
    return port.free + m.lds_latency
