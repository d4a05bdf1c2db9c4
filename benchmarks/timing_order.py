"""Pairs of small programs whose order in time is certain by construction, through the timing model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from asmevo.launch import Buffer, Launch, Zeros
from asmevo.program import Program, recover
from asmevo.sim import WaveTrace
from asmevo.timing import chip, prepare
from benchmarks.timing_assembly import assembled
from benchmarks.timing_bench import Bench

CHIP: Final = "mi300x"
LOAD: Final = "global_load_dwordx4 v[0:3], v120, s[4:5]"
NARROW: Final = [f"global_load_dword v{i}, v120, s[4:5] offset:{4 * i}" for i in range(4)]
LDS: Final = "ds_read_b128 v[4:7], v121"
SCALAR: Final = "s_load_dwordx4 s[8:11], s[4:5], 0x0"
VM, LGKM = "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"


def adds(count: int, first: int = 20) -> list[str]:
    """Instructions that depend on nothing."""
    return [f"v_add_f32_e32 v{first + i % 40}, v100, v101" for i in range(count)]


def mfmas(count: int, opcode: str = "v_mfma_f32_16x16x32_fp8_fp8", *, chained: bool = False) -> list[str]:
    """Matrix instructions, independent or each adding to the last."""
    at = [64 if chained else 64 + 4 * (i % 8) for i in range(count)]
    return [f"{opcode} v[{a}:{a + 3}], v[100:101], v[102:103], v[{a}:{a + 3}]" for a in at]


@dataclass(frozen=True, slots=True)
class Ordered:
    """Two programs of which the first is faster on any chip."""

    why: str
    faster: tuple[str, ...]
    slower: tuple[str, ...]


def pairs() -> Iterator[Ordered]:
    """All pairs."""

    def pair(why: str, faster: list[str], slower: list[str]) -> Ordered:
        return Ordered(why, tuple(faster), tuple(slower))

    for n in (0, 3, 15):
        yield pair(f"s_nop {n} removed", [*adds(8), *adds(8)], [*adds(8), f"s_nop {n}", *adds(8)])
    yield pair("s_sleep removed", adds(8), [*adds(8), "s_sleep 1"])
    yield pair("a barrier removed", [*adds(8), *adds(8)], [*adds(8), "s_barrier", *adds(8)])
    yield pair("a branch to the next line but one removed", adds(9), ["s_branch 1f", "s_nop 0", "1:", *adds(9)])
    for n in (20, 60, 120):
        yield pair(f"a load hoisted over {n} instructions", [LOAD, *adds(n), VM], [*adds(n), LOAD, VM])
    yield pair("an LDS load hoisted", [LDS, *adds(20), LGKM], [*adds(20), LDS, LGKM])
    yield pair("a scalar load hoisted", [SCALAR, *adds(20), LGKM], [*adds(20), SCALAR, LGKM])
    yield pair("a load hoisted over MFMA", [LOAD, *mfmas(16), VM], [*mfmas(16), LOAD, VM])
    yield pair("a wait sunk below work", [LOAD, *adds(40), VM], [LOAD, VM, *adds(40)])
    yield pair("a wait for one load of two", [LOAD, *adds(99), LOAD, "s_waitcnt vmcnt(1)"], [LOAD, *adds(99), LOAD, VM])
    yield pair("two loads in flight at once", [LOAD, LOAD, VM], [LOAD, VM, LOAD, VM])
    yield pair("one wide load for four narrow ones", [LOAD, VM] * 4, [*NARROW, VM] * 4)
    yield pair("independent MFMA for chained ones that VALU reads", [*mfmas(9)], [*mfmas(8), "v_mov_b32_e32 v9, v92"])
    yield pair(
        "a reader of an SGPR moved behind others",
        ["v_readfirstlane_b32 s9, v1", *adds(6), "s_add_u32 s10, s9, 1"],
        ["v_readfirstlane_b32 s9, v1", "s_add_u32 s10, s9, 1", *adds(6)],
    )
    yield pair("a plain instruction for a transcendental one", adds(20), ["v_exp_f32_e32 v9, v100"] * 20)
    yield pair("one instruction fewer", adds(40), adds(41))
    yield pair(
        "packed instructions away from MFMA", [*mfmas(8), *["v_pk_mul_f32 v[20:21], v[100:101], v[102:103]"] * 8],
        [x for m in mfmas(8) for x in (m, "v_pk_mul_f32 v[20:21], v[100:101], v[102:103]")],
    )  # fmt: skip
    yield pair("work between MFMA", [x for m in mfmas(8) for x in (m, *adds(2))], [*mfmas(8), *adds(16)])
    yield pair("a store that nothing waits for", ["global_store_dword v120, v1, s[4:5]", *adds(400)],
               ["global_store_dword v120, v1, s[4:5]", VM, *adds(400)])  # fmt: skip
    yield pair("fewer LDS accesses of the same bytes", [LDS, LGKM] * 4, [*["ds_read_b32 v4, v121"] * 4, LGKM] * 4)


def conflicting() -> Iterator[Ordered]:
    """Pairs that differ in nothing but where in LDS their lanes' data lie; they are executed for their addresses."""

    def pair(why: str, access: str, faster: tuple[int, int], slower: tuple[int, int]) -> Ordered:
        programs = [
            (
                f"s_movk_i32 s4, {row}", f"s_movk_i32 s5, {mask}", "v_and_b32_e32 v1, s5, v0",
                "v_lshlrev_b32_e32 v1, 4, v1", "v_and_b32_e32 v0, 63, v0", "v_mul_u32_u24_e32 v2, s4, v0",
                "v_add_u32_e32 v2, v1, v2", *[access] * 8, LGKM,
            )
            for row, mask in (faster, slower)
        ]  # fmt: skip
        return Ordered(why, *programs)

    yield pair("a column of LDS with padded rows", "ds_read_b32 v4, v2", (132, 0), (128, 0))
    yield pair("a column of LDS written with padded rows", "ds_write_b64 v2, v[4:5]", (136, 0), (128, 0))
    yield pair("a column of LDS in swizzled rows", "ds_read_b128 v[4:7], v2", (128, 7), (128, 0))


def scattered() -> Iterator[Ordered]:
    """Pairs that differ in nothing but where in memory their lanes' data lie; executed for their addresses, too."""

    def pair(why: str, access: str, faster: tuple[int, int], slower: tuple[int, int]) -> Ordered:
        programs = [
            (
                "s_load_dwordx2 s[4:5], s[0:1], 0x0", "v_and_b32_e32 v0, 63, v0", f"v_lshrrev_b32_e32 v2, {shift}, v0",
                f"v_mul_u32_u24_e32 v2, {step}, v2", LGKM, *[access] * 8, VM,
            )
            for step, shift in (faster, slower)
        ]  # fmt: skip
        return Ordered(why, *programs)

    load, store = "global_load_dword v4, v2, s[4:5]", "global_store_dword v2, v4, s[4:5]"
    yield pair("dwords side by side for a column of lines", load, (4, 0), (128, 0))
    yield pair("dwords side by side stored for a column of lines", store, (4, 0), (128, 0))
    yield pair("one dword for all lanes instead of a column of lines", load, (0, 0), (128, 0))
    yield pair("rows of 16 B a lane for a column of lines", "global_load_dwordx4 v[4:7], v2, s[4:5]", (16, 0), (512, 0))
    yield pair("half a wave a line for a line a lane", load, (128, 5), (128, 0))
    yield pair("dwords side by side past L1 for every other one", f"{load} nt", (4, 0), (8, 0))


def _path(program: Program) -> Iterator[tuple[int, int]]:
    """The blocks that a program without conditional branches executes."""
    block = program.blocks[0]
    while True:
        yield block.first, block.last
        if not block.successors:
            return
        block = program.blocks[min(block.successors)]


def _code(every: list[Ordered]) -> dict[str, str]:
    return {
        f"p{i}_{j}": "\n".join([*text, "s_endpgm"])
        for i, p in enumerate(every)
        for j, text in enumerate((p.faster, p.slower))
    }


def misordered() -> tuple[int, list[str]]:
    """How many pairs there are, and which the model orders wrongly."""
    on = chip(CHIP)
    every, executed = list(pairs()), [*conflicting(), *scattered()]
    obj = assembled(_code(every))
    launch = Launch("pair", (1, 1, 1), (256, 1, 1), (), (Buffer("data", "inout", "uint8", (1 << 20,), Zeros()),))

    def followed(name: str) -> float:
        program = recover(obj, name)
        runs = np.array(list(_path(program)), np.int32)
        return prepare(program, launch, [WaveTrace(0, w, runs) for w in range(4)], on).replay(on).run.cycles

    bench = Bench(_code(executed), on)
    wrong = [p.why for i, p in enumerate(every) if not followed(f"p{i}_0") < followed(f"p{i}_1")]
    wrong += [p.why for i, p in enumerate(executed) if not bench.clocks(f"p{i}_0", 4) < bench.clocks(f"p{i}_1", 4)]
    return len(every) + len(executed), wrong
