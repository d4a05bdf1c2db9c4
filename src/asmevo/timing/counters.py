"""Wait counters of a wave: completion times of what it has outstanding, in order of issue.

Vector memory and LDS return in order, so the time at which a counter falls to N is the completion time of the operation
issued N + 1 before the next one. Scalar loads return out of order, but only a wait for zero can name them, and for that
the largest completion time counts: keeping the completion times monotonic serves both.
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled

VM_SIZE = 64
LGKM_SIZE = 16


@compiled
def push_vm(m: Any, w: int, completion: int) -> None:
    """Add an operation that completes at `completion` or, if later, with the one before it."""
    m.vm_count[w, 1] = max(completion, m.vm_count[w, 1])
    m.vm_ring[w, m.vm_count[w, 0] & (VM_SIZE - 1)] = m.vm_count[w, 1]
    m.vm_count[w, 0] += 1


@compiled
def push_lgkm(m: Any, w: int, completion: int, late: int) -> None:
    """The same for LDS, scalar loads and messages, of which this one is `late` because of bank conflicts."""
    m.lgkm_count[w, 1] = max(completion, m.lgkm_count[w, 1])
    m.lgkm_count[w, 2] = max(completion - late, m.lgkm_count[w, 2])
    m.lgkm_ring[w, m.lgkm_count[w, 0] & (LGKM_SIZE - 1)] = m.lgkm_count[w, 1]
    m.clear_ring[w, m.lgkm_count[w, 0] & (LGKM_SIZE - 1)] = m.lgkm_count[w, 2]
    m.lgkm_count[w, 0] += 1


@compiled
def vm_falls_to(m: Any, w: int, outstanding: int) -> int:
    """Time at which at most `outstanding` vector memory operations are left; VM_SIZE - 1 leaves room for one more.

    Issue stalls when the counter is full and nothing is lost (tingqli/pyhip, docs/vm_cnt.md).
    """
    index = m.vm_count[w, 0] - outstanding - 1
    return m.vm_ring[w, index & (VM_SIZE - 1)] if index >= 0 else 0


@compiled
def lgkm_falls_to(m: Any, w: int, outstanding: int) -> tuple[int, int]:
    """The same for LDS, scalar loads and messages, and the time at which it would without bank conflicts."""
    index = m.lgkm_count[w, 0] - outstanding - 1
    if index < 0:
        return 0, 0
    return m.lgkm_ring[w, index & (LGKM_SIZE - 1)], m.clear_ring[w, index & (LGKM_SIZE - 1)]
