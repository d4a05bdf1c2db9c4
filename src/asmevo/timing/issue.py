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
def prepare(m: Any, wave: Any, taken: bool) -> None:
    """Work out when the next instruction of a wave may issue, and what decides; its producers have all issued."""
    line = m.lines[wave.position]
    costs = line.costs
    cause = FETCH
    ready = fetch_ready(m, wave, line, taken)
    time, unit = operands_ready(m, wave, line, ready)
    if time > ready:
        ready = time
        cause = MFMA_DEPENDENCY if wave.producer[unit] else VALU_DEPENDENCY
    if costs.matrix > 0 and wave.packed > ready:
        ready, cause = wave.packed, MFMA_BUSY
    wait = VM_SIZE - 1 if costs.counts_vm else costs.wait_vm
    if wait >= 0:
        time = vm_falls_to(wave, wait)
        if time > ready:
            ready, cause = time, VMCNT
    wait = LGKM_SIZE - 1 if costs.counts_lgkm else costs.wait_lgkm
    late = 0
    if wait >= 0:
        time, clear = lgkm_falls_to(wave, wait)
        if time > ready:
            late = time - max(clear, ready)
            ready, cause = time, LGKMCNT
    wave.ready = align(ready, wave.simd)
    wave.ready_cause = cause
    wave.ready_late = late
    wave.blocked = -1


@compiled
def admits(m: Any, line: Any, simd: int) -> tuple[int, int]:
    """Time from which the units that an instruction needs take it, and the cause of waiting for them."""
    category = line.costs.category
    if category == VECTOR:
        unit = m.simds[simd]
        if line.costs.idle_matrix and unit.matrix_free > unit.vector_free:
            return unit.matrix_free, MFMA_BUSY
        return unit.vector_free, VALU_BUSY
    if category == MEMORY:
        return vmem_admits(m, line), VMEM_BUSY
    if category == LDS:
        return lds_admits(m, m.ports[simd >> 1], simd), LDS_BUSY
    return 0, VALU_BUSY


@compiled
def execute(m: Any, wave: Any, line: Any, now: int) -> None:
    """Let an issued instruction occupy its units, note its results and count what it leaves outstanding."""
    costs = line.costs
    category = costs.category
    completion, late = now + m.scalar_latency, 0
    if category == VECTOR:
        simd = m.simds[wave.simd]
        simd.vector_free = now + costs.port
        if costs.matrix > 0:
            simd.matrix_free = now + costs.matrix
        elif costs.idle_matrix:
            wave.packed = now + m.packed_f32_mfma_clk
        record_results(m, wave, line, now)
        return
    if category == MEMORY:
        completion = vmem_access(m, line, now)
        if costs.store:
            m.drained = max(m.drained, completion)
    elif category == LDS:
        port = m.ports[wave.simd >> 1]
        completion = lds_access(m, port, wave.simd, line, now)
        late = lds_late(port)
    elif costs.counts_vm:
        completion = now + m.store_latency
    elif costs.counts_lgkm:
        if costs.bytes > 0:
            completion = scalar_access(m, line, now)
    elif category == SCALAR:
        record_results(m, wave, line, now)
        return
    if costs.counts_vm:
        push_vm(wave, completion)
    if costs.counts_lgkm:
        push_lgkm(wave, completion, late)


@compiled
def advance(m: Any, runs: Any, wave: Any, now: int, extra: int) -> int:
    """Step a wave to its next instruction: 0 in sequence, 1 after a taken branch, 2 when its trace has ended."""
    position = wave.position
    wave.previous = position
    wave.base = now + m.issue_clk + extra
    wave.base_cause = NOP
    following = position + 1
    if following < wave.last:
        wave.position = following
        return 0
    run = wave.run + 1
    if run >= wave.run_end:
        return 2
    wave.run = run
    wave.position = runs[run, 0]
    wave.last = runs[run, 1]
    return 0 if runs[run, 0] == following else 1
