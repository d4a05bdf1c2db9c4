"""Shortest ways through the control flow."""

from __future__ import annotations

from asmevo.program.paths import block_path
from programs import program_from_text

TEXT = """
    s_nop 0
loop:
    s_nop 1
    s_cbranch_scc0 skip
    s_nop 2
skip:
    s_nop 3
    s_cbranch_scc1 loop
    s_endpgm
"""


def test_paths():
    program = program_from_text(TEXT)
    assert block_path(program, 1, 2) == [1]
    assert block_path(program, 0, 6) == [0, 1, 3, 4]
    assert block_path(program, 2, 1) == [1, 3, 1]
    assert block_path(program, 1, 1) == [1, 3, 1]
    assert block_path(program, 6, 0) == []
