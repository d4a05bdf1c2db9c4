"""Calls and computed jumps: the program counter as data."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.program import recover
from asmevo.sim import Executable, Limits
from asmevo.verdict import UnsupportedError
from sim_kernels import BASE, block_cache, kernel, run

CALL = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    s_mov_b32 s33, 3
again:
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, triple@rel32@lo+4
    s_addc_u32 s5, s5, triple@rel32@hi+12
    s_swappc_b64 s[30:31], s[4:5]
    s_sub_u32 s33, s33, 1
    s_cmp_lg_u32 s33, 0
    s_cbranch_scc1 again
    s_call_b64 s[30:31], increment
    global_store_dword v1, v0, s[0:1] offset:2048
    s_endpgm
increment:
    v_add_u32_e32 v0, 1, v0
    s_setpc_b64 s[30:31]
    .type triple,@function
triple:
    s_mov_b64 s[34:35], s[30:31]
    s_call_b64 s[30:31], increment
    v_mul_u32_u24_e32 v0, 3, v0
    s_mov_b64 s[30:31], s[34:35]
    s_swappc_b64 s[30:31], s[30:31]
"""


def test_functions_are_called_and_return() -> None:
    """Thrice x -> 3 (x + 1), then x + 1. The function returns by `s_swappc_b64`, which overwrites its operand."""
    image, execution = run(CALL)
    assert execution.status == "done", execution
    x = np.arange(64)
    for _ in range(3):
        x = 3 * (x + 1)
    np.testing.assert_array_equal(image.words(2048, 64), x + 1)


TABLE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    s_getpc_b64 s[4:5]
here:
    s_lshl_b32 s6, s2, 3
    s_add_u32 s4, s4, s6
    s_addc_u32 s5, s5, 0
    s_add_u32 s4, s4, cases-here
    s_addc_u32 s5, s5, 0
    s_setpc_b64 s[4:5]
    s_nop 0
cases:
    s_movk_i32 s7, 0x11
    s_branch done
    s_movk_i32 s7, 0x22
    s_branch done
    s_movk_i32 s7, 0x33
done:
    v_mov_b32_e32 v2, s7
    global_store_dword v1, v2, s[0:1] offset:2048
"""


def test_a_jump_to_where_no_block_begins_is_a_finding() -> None:
    """A table that the code indexes: where its entries begin nothing tells."""
    _, execution = run(TABLE)
    assert execution.status == "fault" and execution.fault is not None
    assert execution.fault.rule == "sim.jump" and "s_setpc_b64" in execution.fault.message
    assert BASE < execution.fault.facts["address"] < BASE + (1 << 20)


@pytest.mark.parametrize("low", [0, 2])
def test_a_jump_out_of_the_code_is_a_finding(low: int) -> None:
    _, execution = run(f"s_mov_b32 s4, {low}\ns_mov_b32 s5, 0x7000\ns_setpc_b64 s[4:5]")
    assert execution.status == "fault" and execution.fault is not None
    assert execution.fault.facts["address"] == low + (0x7000 << 32)


def test_recursion_ends_at_the_limit() -> None:
    code = """
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, f@rel32@lo+4
    s_addc_u32 s5, s5, f@rel32@hi+12
    .type f,@function
f:
    s_setpc_b64 s[4:5]
    """
    _, execution = run(code, limits=Limits(instructions=1000))
    assert execution.status == "limit"


def test_what_a_called_function_needs_is_refused_at_load() -> None:
    with pytest.raises(UnsupportedError, match="HW_REG_STATUS"):
        Executable.build(
            recover(kernel(CALL.replace("v_mul_u32_u24_e32 v0, 3, v0", "s_getreg_b32 s9, hwreg(HW_REG_STATUS)"))),
            block_cache(),
        )
