"""Numbers in foreign text, and what of it is printed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.verdict import number, readable, shown, whole


@given(value=st.integers(0, 1 << 70))
def test_whole_numbers_come_back(value):
    assert whole(str(value)) == whole(value) == value


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_decimal_numbers_come_back(value):
    assert number(repr(value)) == number(value) == value


@pytest.mark.parametrize("text", ["", "1_0", "\u0663", "\xb2", " 1", "1\n", "0x1", "nan", "inf", "1e", ".", True, None])
def test_what_is_no_plain_number(text):
    for read in (whole, number):
        with pytest.raises(ValueError, match=r"is no .*number"):
            read(text)


@pytest.mark.parametrize("value", ["-1", "1.0", 1.0])
def test_what_is_not_whole(value):
    with pytest.raises(ValueError, match="is no whole number"):
        whole(value)
    assert abs(number(value)) == 1.0


def test_numbers_too_large_for_a_float_are_infinite():
    assert number(10**400) == number("1e400") == math.inf and number(-(10**400)) == -math.inf


@given(text=st.text())
def test_printed_text_obeys_nothing(text):
    assert all(c.isprintable() or c in "\n\t" for c in readable(text))
    line = shown(text, 20)
    assert line.isprintable() and len(line) <= 20
    assert not (text.isprintable() and len(text) <= 20) or line == text
