"""Cold caches: nothing of a kernel's data or code is left in any cache of the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from asmevo.device.hip.binding import Runtime
from asmevo.device.hip.identity import ChipIdentity
from asmevo.device.hip.launching import Loaded, load, start, unload
from asmevo.device.hip.memory import GpuMemory, Span
from asmevo.isa import linked
from asmevo.isa.llvm import TRIPLE
from asmevo.launch import Launch

LAST_CACHE = 256 << 20
"""Bytes of the memory-side cache of MI300 parts, the largest that any of the handled chips has (AMD CDNA3 white
paper)."""
SWEEP = "asmevo_sweep"
_CODE = 96 << 10
"""Bytes of code of the sweep: more than the 64 KiB that two compute units share (ROCm GPU specifications)."""
_WORKGROUPS_PER_CU = 4
_SOURCE = """
    .amdgcn_target "{triple}--{target}"
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}:
    .rept {count}
    s_nop 0
    .endr
    s_endpgm
    .size {name}, .-{name}
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 16
{more}    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: {name}, .symbol: {name}.kd, .args: [], .group_segment_fixed_size: 0, .kernarg_segment_align: 8,
     .kernarg_segment_size: 0, .max_flat_workgroup_size: 64, .private_segment_fixed_size: 0, .sgpr_count: 16,
     .vgpr_count: 8, .wavefront_size: 64}}
...
    .end_amdgpu_metadata
"""
_NO_ACCUMULATORS = ("gfx908",)


@cache
def sweep_object(target: str) -> bytes:
    """An object whose only kernel walks through more code than the instruction cache holds."""
    more = "" if target in _NO_ACCUMULATORS else "        .amdhsa_accum_offset 8\n"
    source = _SOURCE.format(triple=TRIPLE, target=target, name=SWEEP, count=_CODE // 4, more=more)
    return linked(source, target, "The kernel that empties instruction caches")


@dataclass(frozen=True, slots=True)
class Flush:
    """Overwrites twice the last cache, then walks through the sweep on every compute unit."""

    runtime: Runtime
    memory: GpuMemory
    junk: Span
    sweep: Loaded
    launch: Launch

    @classmethod
    def make(cls, runtime: Runtime, memory: GpuMemory, chip: ChipIdentity) -> Flush:
        """Raises `MemoryError` when the GPU has no room for it."""
        launch = Launch(SWEEP, (_WORKGROUPS_PER_CU * chip.compute_units, 1, 1), (64, 1, 1), (), ())
        sweep = load(runtime, sweep_object(chip.target), None)
        return cls(runtime, memory, memory.allocate(2 * LAST_CACHE), sweep, launch)

    def __call__(self) -> None:
        """Enqueue it."""
        self.memory.fill(self.junk, 0)
        start(self.runtime, self.sweep, self.launch, b"")
        self.runtime.call("hipDeviceSynchronize")

    def close(self) -> None:
        self.memory.free(self.junk)
        unload(self.runtime, self.sweep)
