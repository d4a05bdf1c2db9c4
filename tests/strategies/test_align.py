"""Nops for alignment."""

from __future__ import annotations

from strategy_kit import lines, results

from asmevo.strategies.align import Align

MFMA = "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[8:9], v[10:11], 0"
LONG = "v_mul_f32_e64 v{}, v9, v10"


def test_a_loop_is_moved_to_where_nothing_crosses() -> None:
    """The loop's long instructions stand at odd dwords, so one of four crosses 32 bytes; one nop in front helps."""
    body = "\n".join(LONG.format(n) for n in range(11, 19))
    text = f"s_mov_b32 s0, 0\nloop:\n{body}\ns_cbranch_scc1 loop\ns_endpgm"
    found = results(Align(), text, block=1)
    assert found["1 nops for alignment"] == lines(f"s_mov_b32 s0, 0\ns_nop 0\n{body}\ns_cbranch_scc1 ->2\ns_endpgm")


def test_a_run_inside_a_block_gets_one_in_front() -> None:
    body = "\n".join(LONG.format(n) for n in range(11, 27))
    text = f"loop:\nv_mov_b32_e32 v1, v2\n{body}\ns_cbranch_scc1 loop\ns_endpgm"
    found = results(Align(), text)
    assert found["1 nops for alignment"][:3] == ["v_mov_b32_e32 v1, v2", "s_nop 0", LONG.format(11)]


def test_nothing_where_nothing_crosses_or_nothing_falls_in() -> None:
    body = "\n".join(LONG.format(n) for n in range(11, 19))
    assert results(Align(), f"loop:\n{body}\ns_cbranch_scc1 loop\ns_endpgm") == {}
    jumped = results(Align(), f"s_branch loop\nloop:\nv_mov_b32_e32 v1, v2\n{body}\ns_cbranch_scc1 loop\ns_endpgm", 1)
    assert all(after[:2] == ["s_branch ->1", "v_mov_b32_e32 v1, v2"] for after in jumped.values())


def test_code_behind_nops_that_nobody_runs_stays_where_it_is() -> None:
    """The second entry of a kernel stands 256 bytes behind the first, behind nops that are jumped over."""
    body = "\n".join(LONG.format(n) for n in range(11, 27))
    found = results(Align(), f"s_branch body\ns_nop 0\nbody:\nv_mov_b32_e32 v1, v2\n{body}\ns_endpgm", 1)
    assert found and all(after[:3] == ["s_branch ->2", "s_nop 0", "v_mov_b32_e32 v1, v2"] for after in found.values())
