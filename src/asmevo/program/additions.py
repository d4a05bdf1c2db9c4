"""Encodings of `s_getpc_b64` and of the additions that make an address of its result.

Sources: CDNA3 ISA, SOP1 and SOP2; for gfx1250 what llvm-mc encodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from asmevo.program.program import Line, Part

GETPC_MASK, GETPC, _GETPC_GFX12 = 0xFF80FF00, 0xBE801C00, 0xBE804700
"""The bits that say `s_getpc_b64`, before gfx12 and there."""
_OPCODES: dict[int, Part] = {0: "low", 4: "high", 0x53: "whole"}
"""SOP2 opcodes of `s_add_u32`, `s_addc_u32` and, on gfx1250, `s_add_nc_u64`."""
_LITERAL, _LITERAL_64 = 255, 254
_ZERO, _NEGATIVE, _AFTER_INTEGERS = 128, 192, 209
_SGPRS = 108
_MASK = {"low": 0xFFFFFFFF, "high": 0xFFFFFFFF, "whole": 0xFFFFFFFFFFFFFFFF}


@dataclass(frozen=True, slots=True)
class Addition:
    """An addition of a constant to a scalar register, or to a pair of them."""

    part: Part
    """Which part of a distance the constant can be."""
    destination: int
    source: int
    value: int
    """The constant, modulo 2**32 or, for the whole, 2**64."""
    literal: bool
    """Whether it stands behind the instruction and is not an inline constant."""


def addition(words: bytes) -> Addition | None:
    """The addition that these words are."""
    first = int.from_bytes(words[:4], "little")
    part = _OPCODES.get(first >> 23 & 0x7F)
    if first >> 30 != 2 or part is None:
        return None
    left, right = first & 0xFF, first >> 8 & 0xFF
    if left >= _SGPRS:
        left, right = right, left
    if left >= _SGPRS or not (_ZERO <= right < _AFTER_INTEGERS or right == _literal(part)):
        return None
    if right == _literal(part):
        value = int.from_bytes(words[4:], "little")
    else:
        value = (right - _ZERO if right <= _NEGATIVE else _NEGATIVE - right) & _MASK[part]
    return Addition(part, first >> 16 & 0x7F, left, value, right == _literal(part))


def _literal(part: Part) -> int:
    return _LITERAL_64 if part == "whole" else _LITERAL


def with_constant(words: bytes, value: int) -> bytes:
    """The addition's words with another constant, which an inline one cannot have (see `widened`)."""
    found = addition(words)
    assert found is not None and (found.literal or found.value == value)
    return words[:4] + value.to_bytes(len(words) - 4, "little") if found.literal else words


def widened(line: Line) -> Line:
    """The line with its inline constant as a literal, which can hold every distance."""
    assert line.words is not None
    found, first = addition(line.words), int.from_bytes(line.words, "little")
    assert found is not None and not found.literal
    shift, size = 8 if first & 0xFF < _SGPRS else 0, 8 if found.part == "whole" else 4
    first = first & ~(0xFF << shift) | _literal(found.part) << shift
    return replace(line, words=first.to_bytes(4, "little") + found.value.to_bytes(size, "little"))


def part_of(distance: int, part: Part) -> int:
    """The constant that holds a part of a signed distance."""
    return (distance >> 32 if part == "high" else distance) & _MASK[part]


def getpc_register(line: Line) -> int | None:
    """First register of the pair that an `s_getpc_b64` writes; None for another instruction."""
    if line.words is None or not line.instruction.mnemonic.startswith("s_get"):
        return None
    first = int.from_bytes(line.words[:4], "little")
    return first >> 16 & 0x7F if first & GETPC_MASK in (GETPC, _GETPC_GFX12) else None
