"""Blocks that run often get better code, which gives the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asmevo.program import recover
from asmevo.sim import BlockCache, Executable, Limits, execute
from asmevo.sim import executable as executables
from sim_kernels import Grid, Image, kernel

LOOP = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    global_load_dword v2, v1, s[0:1] offset:1024
    s_waitcnt vmcnt(0)
    s_mov_b32 s6, 0
1:
    v_fma_f32 v3, v2, v2, v3
    v_add_f32_dpp v3, v3, v3 row_shr:3 row_mask:0xf bank_mask:0xf
    v_mul_f32_e32 v4, 0x3f9d70a4, v3
    v_exp_f32_e32 v5, v4
    v_cmp_lt_f32_e32 vcc, v5, v4
    v_cndmask_b32_e32 v2, v4, v5, vcc
    v_div_scale_f32 v6, vcc, v2, v3, v2
    v_mad_u64_u32 v[8:9], s[8:9], v6, v5, v[8:9]
    v_xor_b32_e32 v2, v2, v8
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 40
    s_cbranch_scc1 1b
    global_store_dword v1, v2, s[0:1] offset:2048
    global_store_dword v1, v3, s[0:1] offset:3072
"""


@pytest.mark.parametrize("flush", [False, True])
def test_better_code_gives_the_same_bits(flush: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = recover(kernel(LOOP, flush=flush))
    results: list[Image] = []
    compiled: list[int] = []
    for hot in (1 << 20, 1):
        monkeypatch.setattr(executables, "_HOT", hot)
        cache = BlockCache(tmp_path / str(hot))
        image = Image()
        image.words(1024, 64)[:] = np.random.default_rng(5).integers(0, 1 << 32, 64, dtype=np.uint32)
        done = execute(Executable.build(program, cache), Grid(), image, limits=Limits(10_000))
        assert done.status == "done"
        results.append(image)
        compiled.append(cache.compiled)
    np.testing.assert_array_equal(results[0].data, results[1].data)
    assert compiled[1] == 2 * compiled[0]


def test_better_code_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "_HOT", 1)
    program = recover(kernel("s_nop 0"))
    first, second = BlockCache(tmp_path), BlockCache(tmp_path)
    for cache in (first, second):
        assert execute(Executable.build(program, cache), Grid(), Image()).status == "done"
    assert first.compiled == 2 and second.compiled == 0
