"""Where a search looks for edits."""

from __future__ import annotations

from asmevo.search.draft import Ground
from asmevo.strategies import Analyst
from asmevo.timing import chip
from programs import program_from_text

TEXT = """
front:
    v_add_f32_e32 v4, v5, v5
    v_mul_f32_e32 v6, v5, v5
    s_cbranch_scc1 front
    {}
    global_atomic_add v0, v1, s[4:5]
    s_nop 0
    {}
    s_cbranch_scc1 front
    s_endpgm
"""


def promised(on: str, off: str) -> set[int]:
    program = program_from_text(TEXT.format(on, off))
    heat = {line.id: 0.1 for line in program.lines}
    return set(Ground.of(program, heat, Analyst(program, chip("mi300x"))).promise)


def test_blocks_whose_instructions_may_be_skipped_are_left_alone() -> None:
    assert promised("s_nop 0", "s_nop 0") == {0, 1, 2}
    assert promised("s_setvskip s20, 0", "s_setvskip 0, 0") == {0, 2}
