"""The value of a wait: text, immediate, comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import parse_instruction
from asmevo.isa.wait import Wait, parse_wait
from asmevo.verdict import InputError

WAITS = st.builds(Wait, st.integers(0, 63), st.integers(0, 15), st.integers(0, 7))


@given(WAITS)
def test_text_and_immediate_come_back(wait: Wait):
    assert parse_wait(parse_instruction(str(wait))) == wait
    assert Wait.from_immediate(wait.immediate) == wait
    assert parse_wait(parse_instruction(f"s_waitcnt {wait.immediate}")) == wait


@pytest.mark.parametrize(
    ("text", "immediate", "printed"),
    [
        ("s_waitcnt lgkmcnt(0)", 0xC07F, "s_waitcnt lgkmcnt(0)"),
        ("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", 0x0000, "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"),
        ("s_waitcnt vmcnt(62)", 0xCF7E, "s_waitcnt vmcnt(62)"),
        ("s_waitcnt vmcnt(3) & lgkmcnt(2)", 0x0273, "s_waitcnt vmcnt(3) lgkmcnt(2)"),
        ("s_waitcnt 0xcf7f", 0xCF7F, "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"),
    ],
)
def test_known_encodings(text: str, immediate: int, printed: str):
    wait = parse_wait(parse_instruction(text))
    assert (wait.immediate, str(wait)) == (immediate, printed)


def test_every_wait_of_a_kernel_is_encoded_as_its_words(fmoe_stage1_bytes: bytes):
    from asmevo.codeobject import CodeObject
    from asmevo.program import control_kind, recover

    lines = [x for x in recover(CodeObject.parse(fmoe_stage1_bytes)).lines if control_kind(x.instruction) == "waitcnt"]
    assert len(lines) == 50
    for line in lines:
        assert line.words is not None
        assert parse_wait(line.instruction).immediate == int.from_bytes(line.words[:2], "little")


@given(WAITS, WAITS)
def test_a_wait_for_both_covers_both(a: Wait, b: Wait):
    both = a.both(b)
    assert both.covers(a) and both.covers(b)
    assert a.covers(b) == (a.both(b) == a)
    assert a.covers(Wait()) and Wait().is_noop


@pytest.mark.parametrize("text", ["s_waitcnt vscnt(0)", "s_waitcnt vmcnt(0) junk", "s_nop 0", "s_waitcnt depctr(0)"])
def test_what_is_no_wait_of_gfx9_is_refused(text: str):
    with pytest.raises(InputError, match="is not a wait that gfx9 has"):
        parse_wait(parse_instruction(text))
