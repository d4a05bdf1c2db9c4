"""What the parts of a printed instruction mean: DPP patterns, SDWA selects, immediates of each width."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from asmevo.isa import Imm, Instruction
from asmevo.isa.operands import INV_2PI
from asmevo.isa.row import TYPE_UNITS
from asmevo.sim.registers import GROUP
from asmevo.verdict import UnsupportedError

SDWA_SELECTS = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16),
    "DWORD": (0, 32),
}  # fmt: skip
"""SDWA select to (first bit, bits)."""


def type_bits(kind: str) -> int:
    """Bits of an operand type as a value: 1 for masks and SCC."""
    if kind in ("mask", "scc"):
        return 1
    if kind in ("imm", "any"):
        return 32
    if kind in ("u16", "i16", "f16", "bf16"):
        return 16
    if kind == "u8":
        return 8
    return 32 * TYPE_UNITS[kind]


@lru_cache(maxsize=4096)
def immediate_bits(imm: Imm, kind: str) -> int:
    """Bits of a constant as an operand of this type. A float constant gives the same value in each float width."""
    bits = type_bits(kind)
    if bits == 32 or bits == 1:
        return imm.bits
    if bits >= 64:
        if imm.is_float:
            return struct.unpack("<Q", struct.pack("<d", _float_value(imm)))[0]
        if kind == "f64" and not imm.is_inline_integer:
            return imm.bits << 32  # a literal is the high half of the double
        return imm.signed % (1 << bits) if imm.is_inline_integer or kind == "i64" else imm.bits
    return half_bits(imm) if imm.is_float else imm.bits & ((1 << bits) - 1)


def half_bits(imm: Imm) -> int:
    """A float constant as f16 bits."""
    return struct.unpack("<H", struct.pack("<e", _float_value(imm)))[0]


def _float_value(imm: Imm) -> float:
    if imm.bits == INV_2PI:
        return 0.15915494309189532  # 1 / (2 pi) in the precision of the operand
    return struct.unpack("<f", struct.pack("<I", imm.bits))[0]


@dataclass(frozen=True, slots=True)
class Dpp:
    """A DPP movement of source 0 within rows of sixteen lanes, or between rows."""

    source: tuple[int, ...]
    """For each lane of a row, the lane of the row it reads; -1 where there is none."""
    wave: str
    """`row_bcast:15`, `row_bcast:31`, `wave_shr:1`, ... for movements between rows; `source` is then unused."""
    row_mask: int
    bank_mask: int
    zero_fill: bool
    """Lanes without a source read 0 and are written, instead of keeping their old value."""


_WAVE_MOVES = {
    "row_bcast": ("15", "31"),
    "wave_shl": ("1",),
    "wave_shr": ("1",),
    "wave_rol": ("1",),
    "wave_ror": ("1",),
}


@lru_cache(maxsize=4096)
def dpp(instruction: Instruction) -> Dpp:
    """The movement of a DPP instruction. Raises `UnsupportedError` for one that gfx942 does not have."""
    modifiers = instruction.modifiers
    source, wave = _row_move(instruction), ""
    if source is None:
        found = [f"{k}:{modifiers[k]}" for k, allowed in _WAVE_MOVES.items() if modifiers.get(k) in allowed]
        if not found:
            raise UnsupportedError(f"The DPP movement of `{instruction}` is not known to the simulator.")
        source, wave = (), found[0]
    return Dpp(
        tuple(source),
        wave,
        instruction.number("row_mask", 15),
        instruction.number("bank_mask", 15),
        "bound_ctrl" in modifiers,
    )


def _row_move(instruction: Instruction) -> list[int] | None:
    modifiers = instruction.modifiers
    lanes = range(GROUP)
    if "quad_perm" in modifiers:
        quad = instruction.bits("quad_perm", ())
        return [(n & ~3) | quad[n & 3] for n in lanes]
    if "row_shl" in modifiers:
        by = instruction.number("row_shl")
        return [n + by if n + by < GROUP else -1 for n in lanes]
    if "row_shr" in modifiers:
        by = instruction.number("row_shr")
        return [max(n - by, -1) for n in lanes]
    if "row_ror" in modifiers:
        by = instruction.number("row_ror")
        return [(n - by) % GROUP for n in lanes]
    if "row_newbcast" in modifiers:
        return [instruction.number("row_newbcast")] * GROUP
    if "row_mirror" in modifiers:
        return [GROUP - 1 - n for n in lanes]
    if "row_half_mirror" in modifiers:
        return [(n & 8) | (7 - (n & 7)) for n in lanes]
    return None
