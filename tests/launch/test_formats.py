"""Element types: every code and many values against ml_dtypes, an independent implementation."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.launch import decode_bf16, encode_bf16, encode_fp8, format_of, fp8_values, ulp_bf16
from asmevo.verdict import InputError

FNUZ = ml_dtypes.float8_e4m3fnuz


def test_every_fp8_code():
    theirs = np.arange(256, dtype=np.uint8).view(FNUZ).astype(np.float32)
    assert np.array_equal(fp8_values(), theirs, equal_nan=True)


def test_every_fp8_code_encodes_to_itself():
    assert np.array_equal(encode_fp8(fp8_values()), np.arange(256))


def test_fp8_halfway_points():
    """Between neighbours: the middle goes to the even code, a step off the middle to the nearer one."""
    table = fp8_values()[:128].astype(np.float64)
    middle = (table[:-1] + table[1:]) / 2
    want = np.arange(127) + np.arange(127) % 2
    assert np.array_equal(encode_fp8(middle), want)
    assert np.array_equal(encode_fp8(np.nextafter(middle, 0)), np.arange(127))
    assert np.array_equal(encode_fp8(np.nextafter(middle, np.inf)), np.arange(1, 128))


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_fp8_as_ml_dtypes(values):
    array = np.array(values, np.float32)
    with np.errstate(all="ignore"):
        assert np.array_equal(encode_fp8(array), array.astype(FNUZ).view(np.uint8))


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_bf16_as_ml_dtypes(values):
    array = np.array(values, np.float32)
    mine, theirs = encode_bf16(array), array.astype(ml_dtypes.bfloat16).view(np.uint16)
    number = ~np.isnan(array)
    assert np.array_equal(mine[number], theirs[number])
    assert np.all(np.isnan(decode_bf16(mine[~number])))


@given(st.integers(0, 0xFFFF))
def test_bf16_codes_round_trip(code):
    value = decode_bf16(np.array([code], np.uint16))
    assert np.isnan(value[0]) or encode_bf16(value)[0] == code


@given(st.integers(0, 0x7F7E), st.sampled_from([-1, 0, 1]))
def test_bf16_rounds_once_from_float64(code, side):
    """A hair beside the middle of two neighbours, closer than f32 can tell, still rounds to the right side."""
    low, high = decode_bf16(np.array([code, code + 1], np.uint16)).astype(np.float64)
    middle = (low + high) / 2
    value = middle + side * (high - low) * 2.0**-40
    want = {-1: code, 0: code + code % 2, 1: code + 1}[side]
    assert encode_bf16(np.array([value]))[0] == want


def test_bf16_overflow_and_sign():
    assert encode_bf16(np.array([1e300, -1e300, 0.0, -0.0])).tolist() == [0x7F80, 0xFF80, 0, 0x8000]


@given(st.integers(0x0080, 0x7F7E))
def test_ulp_is_the_distance_of_neighbours(code):
    low, high = decode_bf16(np.array([code, code + 1], np.uint16)).astype(np.float64)
    assert ulp_bf16(np.array([low]))[0] == high - low


def test_integers_wrap():
    assert format_of("i8").encode(np.array([-1, 127, 128, 300])).tolist() == [-1, 127, -128, 44]


def test_unknown_type_is_named():
    with pytest.raises(InputError, match="fp4"):
        format_of("fp4")
