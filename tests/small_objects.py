"""Small code objects for tests, made from assembly text with llvm-mc and ld.lld."""

from __future__ import annotations

from functools import lru_cache

from asmevo.codeobject import CodeObject
from asmevo.isa import linked

LOOP = """
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_mov_b32 s4, 0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v2, 0
1:
    global_load_dword v3, v1, s[2:3]
    s_add_u32 s4, s4, 1
    s_cmp_lt_u32 s4, 8
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, v2, v3
    s_cbranch_scc1 1b
    v_cmp_eq_u32_e32 vcc, 0, v0
    s_cbranch_vccz 2f
    v_add_u32_e32 v2, 0x12345678, v2
2:
    global_store_dword v1, v2, s[2:3]
    s_endpgm
"""
"""A loop, a forward branch, a literal; 16 instructions."""

FUNCTION = """
    .text
    .p2align 2
    .type {name},@function
{name}:
    s_nop 7
    s_setpc_b64 s[30:31]
    .size {name}, .-{name}
"""
"""A function behind the kernels, to be formatted with its name; 8 bytes."""
DATA = """
    .data
    .globl pointers
    .p2align 3
pointers:
    .quad k0, f, f + 4, numbers + 8, outside + 16
    .globl numbers
numbers:
    .quad 7, 8
    .bss
    .globl zeros
    .p2align 3
zeros:
    .zero 5000
    .section .rodata
    .globl table
table:
    .long 3, 1, 4, 1
    .section .init_array,"aw",@init_array
    .p2align 3
    .quad f
    .section .fini_array,"aw",@fini_array
    .p2align 3
    .quad f
    .globl absolute
    .set absolute, 0x1234
"""
"""Pointers to code and data, tables, zero-filled memory, arrays of functions, an absolute symbol; needs `f`."""

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
        .amdhsa_next_free_vgpr {vgprs}
        .amdhsa_next_free_sgpr 32
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
{more}        .amdhsa_group_segment_fixed_size 512
        .amdhsa_private_segment_fixed_size {private}
    .end_amdhsa_kernel
"""
_ENTRY = """
  - .name: {name}
    .symbol: {name}.kd
    .args:
      - {{.name: p, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_write}}
      - {{.name: n, .offset: 8, .size: 4, .value_kind: by_value, .value_type: i32}}
    .group_segment_fixed_size: 512
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: {private}
    .sgpr_count: 32
    .vgpr_count: {vgprs}
    .wavefront_size: 64
"""


def _more(target: str, preload: int) -> str:
    """Descriptor lines that not every target has."""
    lines = [f".amdhsa_user_sgpr_kernarg_preload_length {preload}"] if preload else []
    lines += [".amdhsa_accum_offset 16"] if target not in ("gfx908", "gfx1250") else []
    return "".join(f"        {line}\n" for line in lines)


@lru_cache
def build(
    *codes: str,
    target: str = "gfx942",
    preload: int = 0,
    extra: str = "",
    debug: bool = False,
    link: tuple[str, ...] = (),
    vgprs: int = 16,
    private: int = 0,
) -> bytes:
    """A linked code object with kernels k0, k1, ... of these codes; `extra` is more assembly, `link` linker flags.

    `vgprs` above 16 are AGPRs; `private` is scratch memory of a work-item in bytes.
    """
    names = [f"k{i}" for i in range(len(codes))]
    source = [f'    .amdgcn_target "amdgcn-amd-amdhsa--{target}"']
    more = _more(target, preload)
    fields = {"more": more, "vgprs": vgprs, "private": private}
    source += [_KERNEL.format(name=n, code=c, **fields) for n, c in zip(names, codes, strict=True)]
    source += [extra, "    .amdgpu_metadata", "---", "amdhsa.version: [1, 2]", "amdhsa.kernels:"]
    source += [_ENTRY.format(name=n, vgprs=vgprs, private=private) for n in names]
    source += ["...", ".end_amdgpu_metadata", ""]
    return linked(
        "\n".join(source),
        target,
        "An object of the tests",
        assembler=["-g"] if debug else [],
        linker=[*link, "--unresolved-symbols=ignore-all"],
    )


def loop_object() -> CodeObject:
    """The object of `LOOP`."""
    return CodeObject.parse(build(LOOP))
