"""Issue: what holds a wave back, what its SIMD can take, and what an issued instruction does to the machine."""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled
from asmevo.timing.counters import LGKM_SIZE, VM_SIZE, lgkm_falls_to, push_lgkm, push_vm, vm_falls_to
from asmevo.timing.fetch import fetch_ready
from asmevo.timing.layout import (
    FETCH,
    LDS,
    LDS_BUSY,
    LGKMCNT,
    MEMORY,
    MFMA_BUSY,
    MFMA_DEPENDENCY,
    NOP,
    SCALAR,
    VALU_BUSY,
    VALU_DEPENDENCY,
    VECTOR,
    VMCNT,
    VMEM_BUSY,
)
from asmevo.timing.lds import lds_access, lds_admits, lds_late
from asmevo.timing.memory import scalar_access, vmem_access, vmem_admits
from asmevo.timing.scoreboard import operands_ready, record_results


@compiled
def align(time: int, simd: int) -> int:
    """The first turn of a SIMD at or after `time`."""
    return time + ((simd - time) & 3)


@compiled
def prepare(m: Any, w: int, taken: bool) -> None:
    """Work out when the next instruction of a wave may issue, and what decides; its producers have all issued."""
    position = m.position[w]
    cause = FETCH
    ready = fetch_ready(m, w, position, taken)
    time, unit = operands_ready(m, w, position, ready)
    if time > ready:
        ready = time
        cause = MFMA_DEPENDENCY if m.producer[w, unit] else VALU_DEPENDENCY
    if m.matrix[position] > 0 and m.packed[w] > ready:
        ready, cause = m.packed[w], MFMA_BUSY
    wait = VM_SIZE - 1 if m.counts_vm[position] else m.wait_vm[position]
    if wait >= 0:
        time = vm_falls_to(m, w, wait)
        if time > ready:
            ready, cause = time, VMCNT
    wait = LGKM_SIZE - 1 if m.counts_lgkm[position] else m.wait_lgkm[position]
    late = 0
    if wait >= 0:
        time, clear = lgkm_falls_to(m, w, wait)
        if time > ready:
            late = time - max(clear, ready)
            ready, cause = time, LGKMCNT
    m.ready[w] = align(ready, m.simd[w])
    m.ready_cause[w] = cause
    m.ready_late[w] = late
    m.blocked[w] = -1


@compiled
def admits(m: Any, position: int, simd: int) -> tuple[int, int]:
    """Time from which the units that an instruction needs take it, and the cause of waiting for them."""
    category = m.category[position]
    if category == VECTOR:
        if m.idle_matrix[position] and m.matrix_free[simd] > m.vector_free[simd]:
            return m.matrix_free[simd], MFMA_BUSY
        return m.vector_free[simd], VALU_BUSY
    if category == MEMORY:
        return vmem_admits(m, position), VMEM_BUSY
    if category == LDS:
        # Two SIMDs share a port and take turns: else the one whose turn comes right when there is room has it alone.
        turn = m.issue_clk if m.lds_last[simd >> 1] == simd else 0
        return lds_admits(m, simd) + turn, LDS_BUSY
    return 0, VALU_BUSY


@compiled
def execute(m: Any, w: int, position: int, now: int) -> None:
    """Let an issued instruction occupy its units, note its results and count what it leaves outstanding."""
    category, simd = m.category[position], m.simd[w]
    completion, late = now + m.scalar_latency, 0
    if category == VECTOR:
        m.vector_free[simd] = now + m.port[position]
        if m.matrix[position] > 0:
            m.matrix_free[simd] = now + m.matrix[position]
        elif m.idle_matrix[position]:
            m.packed[w] = now + m.packed_f32_mfma_clk
        record_results(m, w, position, now)
        return
    if category == MEMORY:
        completion = vmem_access(m, position, now)
        if m.store[position]:
            m.drained = max(m.drained, completion)
    elif category == LDS:
        completion = lds_access(m, simd, position, now)
        late = lds_late(m, simd)
        m.lds_last[simd >> 1] = simd
    elif m.counts_vm[position]:
        completion = now + m.store_latency
    elif m.counts_lgkm[position]:
        if m.bytes[position] > 0:
            completion = scalar_access(m, position, now)
    elif category == SCALAR:
        record_results(m, w, position, now)
        return
    if m.counts_vm[position]:
        push_vm(m, w, completion)
    if m.counts_lgkm[position]:
        push_lgkm(m, w, completion, late)


@compiled
def advance(m: Any, runs: Any, w: int, now: int, extra: int) -> int:
    """Step a wave to its next instruction: 0 in sequence, 1 after a taken branch, 2 when its trace has ended."""
    position = m.position[w]
    m.previous[w] = position
    m.base[w] = now + m.issue_clk + extra
    m.base_cause[w] = NOP
    following = position + 1
    if following < m.last[w]:
        m.position[w] = following
        return 0
    run = m.run[w] + 1
    if run >= m.run_end[w]:
        return 2
    m.run[w] = run
    m.position[w] = runs[run, 0]
    m.last[w] = runs[run, 1]
    return 0 if runs[run, 0] == following else 1
