"""Small kernels assembled on the spot, for what the timing benchmark asks of single instructions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from asmevo.codeobject import CodeObject
from asmevo.isa import linked

_KERNEL = """
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}:
{code}
    .size {name}, .-{name}
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
        .amdhsa_next_free_vgpr 128
        .amdhsa_accum_offset 128
        .amdhsa_next_free_sgpr 32
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_group_segment_fixed_size 65536
    .end_amdhsa_kernel
"""
_ENTRY = """
  - .name: {name}
    .symbol: {name}.kd
    .args:
      - {{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.name: simds, .offset: 8, .size: 4, .value_kind: by_value}}
      - {{.name: waves, .offset: 12, .size: 4, .value_kind: by_value}}
    .group_segment_fixed_size: 65536
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 1024
    .private_segment_fixed_size: 0
    .sgpr_count: 32
    .vgpr_count: 128
    .wavefront_size: 64
"""


@cache
def _assembled(kernels: tuple[tuple[str, str], ...]) -> CodeObject:
    code = "".join(_KERNEL.format(name=name, code=text) for name, text in kernels)
    entries = "".join(_ENTRY.format(name=name) for name, _ in kernels)
    text = (
        f"{code}    .amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx942\n"
        f"amdhsa.kernels:{entries}...\n    .end_amdgpu_metadata\n"
    )
    return CodeObject.parse(linked(text, "gfx942", "A small kernel"), "small kernels")


def assembled(kernels: Mapping[str, str]) -> CodeObject:
    """One object with these kernels, code by name."""
    return _assembled(tuple(kernels.items()))
