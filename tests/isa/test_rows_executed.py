"""Every row in the simulator: which plain forms are executed, for this host and for AArch64."""

from __future__ import annotations

import pytest
from test_shapes import ROWS, written

from asmevo.isa import Decoder, Instruction, assemble, parse_instruction
from asmevo.sim.block import block_module, refusal
from asmevo.sim.layout import FULL, PARTIAL
from asmevo.sim.native import Compiler, Effort, Host
from asmevo.sim.options import FloatRules, Options

REFUSED = {
    "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_rfe_b64", "s_rfe_restore_b64", "s_setkill",
    "s_dcache_discard", "s_dcache_discard_x2", "v_screen_partition_4se_b32", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode",
}  # fmt: skip
"""Rows that the simulator names and does not execute, apart from conversions of buffer formats and the GWS."""
BLOCK = 24


@pytest.fixture(scope="module")
def forms() -> dict[str, Instruction]:
    """Row name to an instruction as LLVM prints it."""
    words = assemble([written(row)[0] for row in ROWS], "gfx942")
    texts = [d.text for d in Decoder("gfx942").decode(b"".join(words))]
    return {row.name: parse_instruction(text) for row, text in zip(ROWS, texts, strict=True)}


def test_all_rows_but_those_listed_are_executed(forms: dict[str, Instruction]) -> None:
    refused = {name for name, instruction in forms.items() if refusal(instruction.text)}
    assert {n for n in refused if "_format_" not in n and not n.startswith("ds_gws")} == REFUSED
    assert {row.name for row in ROWS if "format" in row.tags} <= refused


@pytest.mark.slow
@pytest.mark.parametrize("rules", [FloatRules(), FloatRules(0, 0, 1, 2, False, True)])
def test_all_rows_compile_for_aarch64(forms: dict[str, Instruction], rules: FloatRules) -> None:
    compiler = Compiler(Host("aarch64-unknown-linux-gnu", "generic"))
    wanted = [i for i in forms.values() if not refusal(i.text) and i.base != "s_set_gpr_idx_on"]
    for first in range(0, len(wanted), BLOCK):
        part = wanted[first : first + BLOCK]
        for variant in (FULL, PARTIAL):
            text = block_module(part, [0] * len(part), variant, Options(rules)).text
            assert compiler.compile(text, Effort.QUICK)[18] == 183  # EM_AARCH64


@pytest.mark.slow
def test_all_rows_compile_without_avx512(forms: dict[str, Instruction]) -> None:
    compiler = Compiler(Host("x86_64-unknown-linux-gnu", "x86-64-v3"))
    wanted = [i for i in forms.values() if not refusal(i.text) and i.base != "s_set_gpr_idx_on"]
    for first in range(0, len(wanted), BLOCK):
        part = wanted[first : first + BLOCK]
        assert compiler.compile(block_module(part, [0] * len(part), PARTIAL, Options()).text, Effort.QUICK)
