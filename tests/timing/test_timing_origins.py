"""Which buffer a load reads, on an object of AMD's compiler, an assembled kernel, and their changes."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.isa import MemoryRow, Space, effects
from asmevo.launch import Buffer, Constant, Field, Launch, load_launches
from asmevo.program import recover
from asmevo.timing.origins import origins
from benchmarks.objects import FP8_GEMM_FOLDER
from small_objects import build

CASES = {
    "a pointer and an offset": ("s_load_dwordx2 s[4:5], s[0:1], 0x8", "global_load_dword v1, v0, s[4:5]", "b"),
    "a pointer in vector registers": (
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n v_mov_b32_e32 v3, s5\n"
        " v_add_co_u32_e32 v2, vcc, s4, v0\n v_addc_co_u32_e32 v3, vcc, 0, v3, vcc",
        "global_load_dword v1, v[2:3], off",
        "a",
    ),
    "a descriptor": (
        "s_load_dwordx4 s[8:11], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_and_b32 s5, s11, 0xffff\n s_mov_b32 s4, s10\n"
        " s_mov_b32 s6, -1\n s_mov_b32 s7, 0x20000",
        "buffer_load_dword v1, v0, s[4:7], 0 offen",
        "b",
    ),
    "masked argument pointer": (
        "s_and_b32 s1, s1, 0xffff\n s_load_dwordx2 s[4:5], s[0:1], 0x0",
        "global_load_dword v1, v0, s[4:5]",
        "a",
    ),
    "a moved argument pointer": (
        "s_add_u32 s0, s0, 8\n s_addc_u32 s1, s1, 0\n s_load_dwordx2 s[4:5], s[0:1], 0x0",
        "global_load_dword v1, v0, s[4:5]",
        None,
    ),
    "either of two": (
        "s_load_dwordx4 s[8:11], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_cmp_eq_u32 s2, 0\n"
        " s_cselect_b32 s4, s8, s10\n s_cselect_b32 s5, s9, s11",
        "global_load_dword v1, v0, s[4:5]",
        None,
    ),
    "a pointer that is loaded from a buffer": (
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_load_dwordx2 s[6:7], s[4:5], 0x0",
        "global_load_dword v1, v0, s[6:7]",
        None,
    ),
}


def launch() -> Launch:
    fields = (Field(offset=0, buffer="a"), Field(offset=8, buffer="b"))
    buffers = tuple(Buffer(name, "in", "int32", (64,), Constant(1)) for name in ("a", "b"))
    return Launch("one", (1, 1, 1), (64, 1, 1), fields, buffers)


@pytest.mark.parametrize("case", CASES)
def test_the_argument_that_an_address_is_made_of(case: str) -> None:
    text, load, wanted = CASES[case]
    program = recover(CodeObject.parse(build(f"{text}\n s_waitcnt lgkmcnt(0)\n {load}\n s_endpgm")))
    (at,) = (i for i, line in enumerate(program.lines) if line.instruction.text.startswith(("global_", "buffer_")))
    assert origins(program, launch()).get(at) == wanted


def test_both_ways_into_a_block() -> None:
    text = """
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_cmp_eq_u32 s2, 0
        s_cbranch_scc1 1f
        s_mov_b64 s[4:5], s[6:7]
    1:  global_load_dword v1, v0, s[4:5]
        global_load_dword v2, v0, s[6:7]
        s_endpgm
    """
    assert list(origins(recover(CodeObject.parse(build(text))), launch()).values()) == ["b"]


def test_every_load_of_a_compiled_gemm() -> None:
    (path,) = FP8_GEMM_FOLDER.glob("*.hsaco")
    program = recover(CodeObject.parse(path.read_bytes()))
    gemm = load_launches(FP8_GEMM_FOLDER / "launches")[0]
    found = origins(program, gemm)
    rows = [effects(line.instruction).row for line in program.lines]
    loads = [i for i, r in enumerate(rows) if isinstance(r, MemoryRow) and r.kind == "load" and r.space is Space.GLOBAL]
    loads += [
        i for i, r in enumerate(rows) if isinstance(r, MemoryRow) and r.kind == "load" and r.space is Space.BUFFER
    ]
    assert loads and set(loads) <= found.keys()
    assert {b.name for b in gemm.buffers if b.role == "in"} == set(found.values())
