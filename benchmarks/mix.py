"""A synthetic kernel of vector arithmetic: float, integer, compare and select over 32 live registers."""

from __future__ import annotations

import random

from asmevo.codeobject import CodeObject
from asmevo.isa import linked

REGISTERS = 32
LENGTH = 300
"""Vector instructions of the loop."""
SEED = 0

_OPCODES = (
    "v_fma_f32 {d}, {a}, {b}, {c}",
    "v_mul_f32_e32 {d}, {a}, {b}",
    "v_add_f32_e32 {d}, {a}, {b}",
    "v_add_u32_e32 {d}, {a}, {b}",
    "v_lshlrev_b32_e32 {d}, 3, {b}",
    "v_and_b32_e32 {d}, {a}, {b}",
    "v_mov_b32_e32 {d}, {a}",
    "v_cmp_lt_u32_e32 vcc, {a}, {b}",
    "v_cndmask_b32_e32 {d}, {a}, {b}, vcc",
)
_KERNEL = """
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
    .text
    .globl mix
    .p2align 8
    .type mix,@function
mix:
    s_load_dword s4, s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
{first}
1:
{body}
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    .size mix, .-mix
    .rodata
    .p2align 6
    .amdhsa_kernel mix
        .amdhsa_next_free_vgpr 40
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 40
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_float_denorm_mode_32 3
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: mix
    .symbol: mix.kd
    .args:
      - {{.name: turns, .offset: 0, .size: 4, .value_kind: by_value}}
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 8
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 16
    .vgpr_count: 40
    .wavefront_size: 64
...
    .end_amdgpu_metadata
"""


def mix_object() -> CodeObject:
    """A kernel `mix(turns)` that goes round its loop of `LENGTH` vector instructions. The same one every time."""
    rng = random.Random(SEED)
    body: list[str] = []
    while len(body) < LENGTH:
        a, b, c, d = (f"v{rng.randrange(REGISTERS)}" for _ in range(4))
        body.append("    " + rng.choice(_OPCODES).format(a=a, b=b, c=c, d=d))
    first = "\n".join(f"    v_add_u32_e32 v{n}, {n}, v0" for n in reversed(range(REGISTERS)))
    text = _KERNEL.format(first=first, body="\n".join(body))
    return CodeObject.parse(linked(text, "gfx942", "The mix"), "mix")
