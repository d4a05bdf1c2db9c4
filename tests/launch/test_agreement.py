"""How results are judged: bounds by elements and by fractions, in whole buffers and in parts of them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.launch import Bounds, Expectation, decode_bf16, format_of
from asmevo.launch.formats import truncate_bf16


class Memory:
    """The part of a memory image that a comparison uses: one buffer."""

    def __init__(self, codes, fmt):
        self.data = np.ascontiguousarray(codes).reshape(-1).view(np.uint8).copy()
        self.place = SimpleNamespace(address=64, format=format_of(fmt))

    def placement(self, name):
        assert name == "o"
        return self.place

    def bytes_at(self, address, size):
        return self.data[address - 64 :][:size]


def memory(values, fmt="float32"):
    return Memory(format_of(fmt).encode(np.asarray(values, np.float64)), fmt)


def test_fractions_allow_whole_elements():
    want = np.ones(10)
    wrong = memory([1.5] + [1.0] * 9)
    assert Expectation("o", want, bounds=Bounds(least_exact=0.95)).compare(wrong).within
    found = Expectation("o", want, bounds=Bounds(least_exact=1.0)).compare(wrong)
    assert not found.within and found.used == np.inf and found.exact == 0.9
    two = memory([1.5, 1.5] + [1.0] * 8)
    found = Expectation("o", want, bounds=Bounds(most_off=0.05)).compare(two)
    assert not found.within and found.off == 0.2 and found.used == pytest.approx(2)


def test_off_is_relative_to_the_larger_of_the_element_and_the_mean():
    want = np.array([10.0, 10.0, 10.0, 0.0])
    assert Expectation("o", want).compare(memory([10.0, 10.0, 10.0, 0.05])).off == 0
    assert Expectation("o", want).compare(memory([10.0, 10.0, 10.2, 0.1])).off == 0.5


def test_mean_relative_is_to_the_unrounded_reference():
    want = np.full(8, 1 + 2**-9)
    found = Expectation("o", want, bounds=Bounds(mean_relative=2**-9)).compare(memory(np.ones(8), "bf16"))
    assert found.within and found.exact == 1 and found.mean_relative == pytest.approx(2**-9 / (1 + 2**-9))
    assert not Expectation("o", want, bounds=Bounds(mean_relative=2**-10)).compare(memory(np.ones(8), "bf16")).within


def test_tolerance_of_each_element():
    want = np.array([1.0, 2.0])
    expected = Expectation("o", want, np.array([0.5, 0.0]))
    assert expected.compare(memory([1.25, 2.0])).used == 0.5
    assert expected.compare(memory([1.0, 2.25])).used == np.inf
    assert not expected.compare(memory([np.nan, 2.0])).within


def test_truncated_results():
    want = np.array([1 + 3 * 2**-9, -(1 + 3 * 2**-9)])  # bf16 has steps of 2**-7 here
    toward_zero, nearest = memory([1.0, -1.0], "bf16"), memory([1 + 2**-7, -1 - 2**-7], "bf16")
    cut, rounded = (Expectation("o", want, bounds=Bounds(1.0), truncated=t) for t in (True, False))
    assert cut.compare(toward_zero).within and not cut.compare(nearest).within
    assert rounded.compare(nearest).within and not rounded.compare(toward_zero).within


def test_wide_results_judged_in_bf16():
    want = np.array([1.0, 2.0])
    close = memory([1 + 1e-6, 2 - 1e-6])
    assert Expectation("o", want, bounds=Bounds(1.0), as_bf16=True).compare(close).within
    assert not Expectation("o", want, bounds=Bounds(1.0)).compare(close).within


def test_parts_of_a_buffer():
    scales = np.array([0.5, 0.25], np.float32)
    codes = format_of("fp8").encode(np.array([1.0, -2.0, 240.0, 0.0]))
    image = Memory(np.concatenate([codes, scales.view(np.uint8)]), "uint8")
    first = Expectation("o", np.array([1.0, -2.0, 240.0, 0.0]), bounds=Bounds(1.0), part=(0, "fp8"))
    second = Expectation("o", np.array([0.5, 0.25]), bounds=Bounds(1.0), part=(4, "float32"))
    assert first.compare(image).within and second.compare(image).within
    image.data[4] ^= 1
    assert first.compare(image).within and not second.compare(image).within
    second.store(image)
    assert second.compare(image).exact == 1


def test_nan_agrees_with_nan_only():
    want = np.array([np.nan, np.inf, 1.0])
    expected = Expectation("o", want, np.zeros(3), Bounds(1.0, 0.0, 0.0))
    assert expected.compare(memory(want)).within
    assert not expected.compare(memory([1.0, np.inf, 1.0])).within
    assert not expected.compare(memory([np.nan, 5.0, 1.0])).within


@given(st.floats(width=32, allow_nan=False))
def test_truncation_goes_toward_zero(value):
    got = float(decode_bf16(truncate_bf16(np.array([value])))[0])
    assert abs(got) <= abs(value) and (got == value or abs(value) - abs(got) < format_of("bf16").ulp(np.array(value)))


@pytest.mark.parametrize("name", ["bf16", "fp8_e4m3fnuz", "float16", "float32", "float64"])
def test_ulp_is_the_distance_of_neighbours(name):
    fmt = format_of(name)
    codes = np.array([0x48, 0x30, 0x78], np.uint8) if name.startswith("fp8") else fmt.encode(np.array([1.5, 3e-3, 7.0]))
    bits = codes.view(f"u{codes.itemsize}")
    near = fmt.decode((bits + 1).view(codes.dtype)).astype(np.float64)
    assert fmt.ulp(fmt.decode(codes)).tolist() == (near - fmt.decode(codes)).tolist()
    assert format_of("int32").ulp(np.array([5])).tolist() == [1]
