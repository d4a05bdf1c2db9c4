"""Parsing of operands and instructions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import Imm, Off, Reg, Word, parse_instruction, parse_operand, unit_name, units
from asmevo.verdict import InputError

FILES = {"s": (0, 106), "v": (256, 256), "a": (512, 256), "ttmp": (108, 16)}


@st.composite
def registers(draw: st.DrawFn) -> tuple[str, int, int]:
    """Text, first unit, count."""
    kind = draw(st.sampled_from(sorted(FILES)))
    base, size = FILES[kind]
    count = draw(st.integers(1, min(size, 32)))
    first = draw(st.integers(0, size - count))
    text = f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"
    return text, base + first, count


@given(registers(), st.booleans(), st.booleans())
def test_register_tuples_with_modifiers(register: tuple[str, int, int], neg: bool, absolute: bool) -> None:
    text, first, count = register
    written = f"|{text}|" if absolute else text
    written = f"-{written}" if neg else written
    found = parse_operand(written)
    assert found == Reg(first, count, neg, absolute)
    assert isinstance(found, Reg) and list(units(found.units)) == list(range(first, first + count))


@given(st.sampled_from("sva"), st.integers(0, 400), st.integers(0, 400))
def test_registers_that_do_not_exist_are_refused(kind: str, low: int, high: int) -> None:
    size = FILES[kind][1]
    if low <= high < size:
        assert isinstance(parse_operand(f"{kind}[{low}:{high}]"), Reg)
    else:
        with pytest.raises(InputError, match="do not exist"):
            parse_operand(f"{kind}[{low}:{high}]")


@given(st.integers(-(2**31), 2**32 - 1))
def test_integers_are_taken_modulo_2_to_32(value: int) -> None:
    for text in (str(value), hex(value)):
        found = parse_operand(text)
        assert found == Imm(value % 2**32, literal=value >= 2**32 - 16)
        assert isinstance(found, Imm) and (found.signed - value) % 2**32 == 0


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=2.0**-13, max_value=2.0**40))
def test_floats_keep_their_value(value: float) -> None:
    for number in (value, -value):
        found = parse_operand(f"{number:.24f}")
        assert isinstance(found, Imm) and found.is_float
        assert struct.unpack("<f", struct.pack("<I", found.bits))[0] == number


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("vcc", Reg(106, 2)),
        ("exec_lo", Reg(126, 1)),
        ("m0", Reg(124, 1)),
        ("flat_scratch", Reg(102, 2)),
        ("xnack_mask_hi", Reg(105, 1)),
        ("off", Off()),
        ("sext(v3)", Reg(259, 1, sext=True)),
        ("neg(1.0)", Imm(0x3F800000, True, neg=True)),
        ("neg(2)", Imm(2, neg=True)),
        ("-1.0", Imm(0xBF800000, True)),
        ("-16", Imm(0xFFFFFFF0)),
        ("0.15915494", Imm(0x3E22F983, True)),
        ("0.15915494309189532", Imm(0x3E22F983, True)),
        ("lit(0x1234)", Imm(0x1234)),
        ("lit(0x10)", Imm(0x10, literal=True)),
        ("0x10", Imm(0x10)),
        ("0xfffffff0", Imm(0xFFFFFFF0, literal=True)),
        ("0xffffffef", Imm(0xFFFFFFEF)),
        ("label_0A9F", Word("label_0A9F")),
        ("src_vccz", Word("src_vccz")),
    ],
)
def test_names_and_constants(text: str, operand: object) -> None:
    assert parse_operand(text) == operand


def test_unit_names_read_back() -> None:
    for first, count in ((0, 102), (106, 2), (124, 1), (126, 2), (256, 512)):
        for unit in range(first, first + count):
            assert parse_operand(unit_name(unit)) == Reg(unit, 1)


def test_instruction_parts() -> None:
    found = parse_instruction(
        "v_mul_f32_dpp v4, v24,  -|v49| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1"
    )
    assert (found.base, found.encoding) == ("v_mul_f32", "dpp")
    assert found.operands == (Reg(260, 1), Reg(280, 1), Reg(305, 1, True, True))
    assert found.bits("quad_perm", ()) == (1, 0, 3, 2)
    assert found.number("row_mask") == 15 and "bound_ctrl" in found.modifiers
    assert found == parse_instruction(found.text) and hash(found) == hash(parse_instruction(found.text))


def test_modifiers_behind_a_comma_and_flags() -> None:
    found = parse_instruction("buffer_load_dwordx4 a[112:115], v70, s[24:27], 0 offen offset:4080 sc0 nt")
    assert found.operands == (Reg(624, 4), Reg(326, 1), Reg(24, 4), Imm(0))
    assert found.number("offset") == 4080 and {"offen", "sc0", "nt"} <= set(found.modifiers)
    assert found.number("offset1", 7) == 7


def test_operands_that_are_words() -> None:
    found = parse_instruction("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0")
    assert found.operands == (Word("hwreg(HW_REG_MODE, 0, 8)"), Imm(0xF0))
    assert len(parse_instruction("s_waitcnt vmcnt(0) lgkmcnt(2)").operands) == 1
    assert parse_instruction('ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,"00p11")').operands[1] == Reg(257, 1)
    assert parse_instruction("s_set_gpr_idx_on s40, gpr_idx(SRC0,DST)").operands[1] == Word("gpr_idx(SRC0,DST)")


@pytest.mark.parametrize("suffix", ["e32", "e64", "sdwa", "dpp", "e64_dpp"])
def test_encoding_suffix(suffix: str) -> None:
    found = parse_instruction(f"v_add_f32_{suffix} v0, v1, v2")
    assert (found.base, found.encoding) == ("v_add_f32", suffix)


@pytest.mark.parametrize("text", ["v" + "9" * 5000, "1.0e99", "s[" + "1" * 5000 + ":2]"])
def test_numbers_of_any_length_are_words(text):
    assert parse_operand(text) == Word(text)


@pytest.mark.parametrize("text", ["v_add_u32_e32 v0, , v1", "s_nop ,", "v_mov_b32 v0,"])
def test_an_empty_operand_is_named(text):
    with pytest.raises(InputError, match="has an empty operand"):
        parse_instruction(text)
