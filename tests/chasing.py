"""A kernel that follows pointers in memory, and a launch of it at addresses that lie far apart."""

from __future__ import annotations

import struct

import numpy as np

import small_objects
from asmevo.codeobject import CodeObject
from asmevo.launch import Buffer, Field, File, Launch

FOLLOW = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_lshl_b32 s6, s2, 4
    s_waitcnt lgkmcnt(0)
    s_add_u32 s4, s4, s6
    s_addc_u32 s5, s5, 0
    s_load_dwordx4 s[8:11], s[4:5], 0x0
    s_load_dword s7, s[0:1], 0x8
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[8:9]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, 0, v2
    v_add_u32_e32 v2, s7, v2
    global_store_dword v1, v2, s[10:11]
    s_endpgm
"""
"""k0(p, n): workgroup i finds pointers to 64 inputs and 64 outputs in p[2 i] and p[2 i + 1], and adds n."""
TABLE, INPUTS, OUTPUTS = 0x7F12_0000_0000, 0x7F12_4000_0000, 0x7F13_0000_1000
GROUPS = 3


def follow() -> CodeObject:
    return CodeObject.parse(small_objects.build(FOLLOW))


def chasing(name: str = "chase", n: int = 5, groups: int = GROUPS, inputs: int = INPUTS, **more: object) -> Launch:
    """A launch whose pointers lie in a buffer; inputs are 0, 1, 2, ..."""
    pointers = b"".join(struct.pack("<QQ", inputs + 256 * i, OUTPUTS + 256 * i) for i in range(groups))
    data = np.arange(64 * groups, dtype=np.int32)
    return Launch(
        name=name,
        grid=(groups, 1, 1),
        block=(64, 1, 1),
        kernarg=(Field(offset=0, value=TABLE, type="u64"), Field(offset=8, value=n, type="i32")),
        buffers=(
            fixed("table", TABLE, pointers),
            fixed("inputs", inputs, data.tobytes()),
            fixed("outputs", OUTPUTS, bytes(256 * groups)),
        ),
        **more,  # pyright: ignore[reportArgumentType] - as the test says
    )


def fixed(name: str, address: int, content: bytes) -> Buffer:
    fill = File(f"{name}.bin", content=content)
    return Buffer(name, "inout", "uint8", (len(content),), fill, red_zone=0, address=address)
