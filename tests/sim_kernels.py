"""Tiny kernels for simulator tests: assembly text in, memory out, no launch files needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.isa import linked
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Executable, Execution, Limits, execute

BASE = 0x7E00_0000_0000
SPACE = 1 << 16
"""Bytes of memory before the code."""

_KERNEL = """
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
    .text
    .globl k
    .p2align 8
    .type k,@function
k:
{code}
    s_endpgm
    .size k, .-k
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_next_free_vgpr 512
        .amdhsa_next_free_sgpr 96
        .amdhsa_accum_offset 256
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_system_sgpr_workgroup_id_y 1
        .amdhsa_system_sgpr_workgroup_id_z 1
        .amdhsa_system_vgpr_workitem_id 2
        .amdhsa_group_segment_fixed_size {lds}
        .amdhsa_private_segment_fixed_size {private}
        .amdhsa_float_denorm_mode_32 {denorm}
        .amdhsa_float_denorm_mode_16_64 {denorm64}
        .amdhsa_float_round_mode_32 {round}
        .amdhsa_float_round_mode_16_64 {round64}
        .amdhsa_dx10_clamp {dx10}
        .amdhsa_ieee_mode {ieee}
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .args: []
    .group_segment_fixed_size: {lds}
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 1024
    .private_segment_fixed_size: {private}
    .sgpr_count: 96
    .vgpr_count: 512
    .wavefront_size: 64
...
    .end_amdgpu_metadata
"""


@lru_cache(maxsize=512)
def kernel(
    code: str, *, lds: int = 0, private: int = 0, flush: bool = False, dx10: bool = True, mode: int | None = None
) -> CodeObject:
    """A linked code object with one kernel.

    Its float mode is that of compilers, `flush` and `dx10` aside, or the ten low bits of MODE are `mode`.
    """
    mode = (0x0C0 if flush else 0x0F0) | dx10 << 8 | 1 << 9 if mode is None else mode
    fields = {"denorm": mode >> 4 & 3, "denorm64": mode >> 6 & 3, "round": mode & 3, "round64": mode >> 2 & 3}
    text = _KERNEL.format(code=code, lds=lds, private=private, dx10=mode >> 8 & 1, ieee=mode >> 9 & 1, **fields)
    return CodeObject.parse(linked(text, "gfx942", "A kernel of the tests"))


@cache
def block_cache() -> BlockCache:
    """The cache that all tests share."""
    return BlockCache()


@dataclass
class Image:
    """Memory of `SPACE` bytes from `BASE`: arguments at the start, data from byte 4096."""

    data: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(SPACE, np.uint8))
    base: int = BASE
    kernarg_address: int = BASE
    code_address: int = BASE
    poison: int = 0
    code_space: int = 0

    def copy(self) -> Image:
        return replace(self, data=self.data.copy())

    def load(self, obj: CodeObject) -> None:
        """Kernels of these tests do not read their code."""

    def words(self, offset: int, count: int, kind: Any = np.uint32) -> NDArray[Any]:
        """A view of `count` numbers at a byte offset."""
        return self.data[offset : offset + count * np.dtype(kind).itemsize].view(kind)


@dataclass(frozen=True)
class Grid:
    """A launch geometry."""

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (64, 1, 1)
    dynamic_lds: int = 0


def run(
    code: str | Program,
    image: Image | None = None,
    grid: Grid | None = None,
    *,
    lds: int = 0,
    private: int = 0,
    flush: bool = False,
    dx10: bool = True,
    mode: int | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> tuple[Image, Execution]:
    """Run a kernel; s[0:1] points to the arguments at BASE, s2, s3, s4 are the workgroup ids."""
    image = image or Image()
    program = code
    if not isinstance(program, Program):
        program = recover(kernel(program, lds=lds, private=private, flush=flush, dx10=dx10, mode=mode))
    executable = Executable.build(program, block_cache())
    limits = limits or Limits(instructions=100_000)
    return image, execute(executable, grid or Grid(), image, limits=limits, **options)


INPUTS, OUTPUTS = 4096, 32768
"""Byte offsets of the rows that `lanes` passes in and takes out; a row is 256 bytes."""

_MASKED = """
    s_mov_b32 s10, 0x{low:x}
    s_mov_b32 s11, 0x{high:x}
    s_mov_b64 exec, s[10:11]
"""


def lanes(
    code: str,
    inputs: Sequence[NDArray[Any]] = (),
    outputs: int = 1,
    *,
    active: int = (1 << 64) - 1,
    scalars: Sequence[int] = (),
    extra_rows: Sequence[NDArray[Any]] = (),
    **options: Any,
) -> NDArray[np.uint32]:
    """Run code on one wave: input rows are in v10, v11, ..., results are taken from v40, v41, ...; s20, s21, ... are
    `scalars`.

    `extra_rows` follow the inputs in memory, from byte 4096, without being loaded. `active` is EXEC while the code
    runs. All vector registers not given start as 0. v0 is the lane.
    """
    image = Image()
    for i, row in enumerate([*inputs, *extra_rows]):
        image.words(INPUTS + 256 * i, 64)[:] = np.ascontiguousarray(row).view(np.uint32)
    image.words(2048, max(len(scalars), 1))[: len(scalars)] = [s & 0xFFFFFFFF for s in scalars]
    load = [f"global_load_dword v{10 + i}, v1, s[6:7] offset:{256 * i % 4096}" for i in range(len(inputs))]
    assert len(inputs) <= 16
    scalar = [f"s_load_dword s{20 + i}, s[0:1], 0x{2048 + 4 * i:x}" for i in range(len(scalars))]
    masked = active != (1 << 64) - 1
    store: list[str] = []
    for i in range(outputs):
        if i % 16 == 0:
            store.append(f"s_add_u32 s8, s0, 0x{OUTPUTS + 4096 * (i // 16):x}")
            store.append("s_addc_u32 s9, s1, 0")
        store.append(f"global_store_dword v1, v{40 + i}, s[8:9] offset:{256 * (i % 16)}")
    parts = [
        "v_and_b32_e32 v0, 0x3ff, v0",
        "v_lshlrev_b32_e32 v1, 2, v0",
        f"s_add_u32 s6, s0, 0x{INPUTS:x}",
        "s_addc_u32 s7, s1, 0",
        *load,
        *scalar,
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        _MASKED.format(low=active & 0xFFFFFFFF, high=active >> 32) if masked else "",
        code,
        "s_mov_b64 exec, -1" if masked else "",
        *store,
    ]
    _, execution = run("\n".join(parts), image, **options)
    assert execution.status == "done", execution
    return image.words(OUTPUTS, 64 * outputs).reshape(outputs, 64).copy()
