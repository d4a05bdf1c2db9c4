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
def push_vm(wave: Any, completion: int) -> None:
    """Add an operation that completes at `completion` or, if later, with the one before it."""
    wave.vm_last = max(completion, wave.vm_last)
    wave.vm_ring[wave.vm_count & (VM_SIZE - 1)] = wave.vm_last
    wave.vm_count += 1


@compiled
def push_lgkm(wave: Any, completion: int, late: int) -> None:
    """The same for LDS, scalar loads and messages, of which this one is `late` because of bank conflicts."""
    wave.lgkm_last = max(completion, wave.lgkm_last)
    wave.clear_last = max(completion - late, wave.clear_last)
    wave.lgkm_ring[wave.lgkm_count & (LGKM_SIZE - 1)] = wave.lgkm_last
    wave.clear_ring[wave.lgkm_count & (LGKM_SIZE - 1)] = wave.clear_last
    wave.lgkm_count += 1


@compiled
def vm_falls_to(wave: Any, outstanding: int) -> int:
    """Time at which at most `outstanding` vector memory operations are left; VM_SIZE - 1 leaves room for one more.

    Issue stalls when the counter is full and nothing is lost (tingqli/pyhip, docs/vm_cnt.md).
    """
    index = wave.vm_count - outstanding - 1
    return wave.vm_ring[index & (VM_SIZE - 1)] if index >= 0 else 0


@compiled
def lgkm_falls_to(wave: Any, outstanding: int) -> tuple[int, int]:
    """The same for LDS, scalar loads and messages, and the time at which it would without bank conflicts."""
    index = wave.lgkm_count - outstanding - 1
    if index < 0:
        return 0, 0
    return wave.lgkm_ring[index & (LGKM_SIZE - 1)], wave.clear_ring[index & (LGKM_SIZE - 1)]
