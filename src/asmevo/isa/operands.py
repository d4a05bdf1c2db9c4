"""Operands of a printed instruction."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa.limits import NUMBERED
from asmevo.isa.registers import AGPR_BASE, NAMED, VGPR_BASE, RegSet, span
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Reg:
    """A register tuple with its source modifiers."""

    first: int
    """First unit (see `asmevo.isa.registers`)."""
    count: int
    """Number of 32-bit units."""
    neg: bool = False
    absolute: bool = False
    sext: bool = False

    @property
    def units(self) -> RegSet:
        return span(self.first, self.count)

    @property
    def is_scalar(self) -> bool:
        """An SGPR or a scalar special register."""
        return self.first < VGPR_BASE

    @property
    def is_agpr(self) -> bool:
        return self.first >= AGPR_BASE


@dataclass(frozen=True, slots=True)
class Imm:
    """An inline constant or literal."""

    bits: int
    """Value as the hardware sees it in a 32-bit operand: integers modulo 2**32, floats as IEEE f32 bits."""
    is_float: bool = False
    """Printed as a float: a 64-bit or 16-bit operand takes the same *value*, not the same bits."""
    neg: bool = False
    absolute: bool = False
    literal: bool = False
    """A literal although its bits are those of an integer inline constant. Operands of 64 bits take inline constants
    with their sign and extend literals with zeros (LLVM `SIInstrInfo`, test of `s_mov_b64 s[0:1], 0xffffffff`)."""

    @property
    def needs_literal(self) -> bool:
        """Whether an operand of 32 bits needs a literal for it: it is no inline constant, however it is printed."""
        return self.bits not in INLINE_FLOATS and not -16 <= self.signed <= 64

    @property
    def is_inline_integer(self) -> bool:
        """Whether it is one of the integers -16 to 64 that need no literal."""
        return not self.is_float and not self.literal and -16 <= self.signed <= 64

    @property
    def signed(self) -> int:
        return self.bits - (1 << 32) if self.bits & 0x80000000 else self.bits


@dataclass(frozen=True, slots=True)
class Off:
    """The operand `off` or `null`: no register here."""


@dataclass(frozen=True, slots=True)
class Word:
    """A symbolic operand: a branch label, `hwreg(...)`, `sendmsg(...)`, a wait list."""

    text: str


Operand: TypeAlias = Reg | Imm | Off | Word

_ONE = re.compile(r"([sva])(\d{1,9})$|(ttmp)(\d{1,9})$")
_RANGE = re.compile(r"([sva]|ttmp)\[(\d{1,9}):(\d{1,9})\]$")
_BASE = {"s": 0, "v": VGPR_BASE, "a": AGPR_BASE, "ttmp": 108}
INV_2PI = 0x3E22F983
INLINE_FLOATS = frozenset((
    0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, INV_2PI,
))  # fmt: skip
"""f32 bits of the inline constants: +-0.5, +-1, +-2, +-4 and 1/(2 pi)."""


@lru_cache(maxsize=65536)
def parse_operand(text: str) -> Operand:
    """Parse one printed operand, e.g. `-|v3|`, `s[4:7]`, `0x3ff`, `1.0`, `vcc`, `off`.

    Raises `InputError` when a register is out of range.
    """
    body, neg, absolute, sext = text, False, False, False
    if body.startswith("sext(") and body.endswith(")"):
        body, sext = body[5:-1], True
    if body.startswith("neg(") and body.endswith(")"):  # of a constant
        body, neg = body[4:-1], True
    if len(body) > 1 and body[0] == "-" and not (body[1].isdigit() or body[1] == "."):
        body, neg = body[1:], True
    if len(body) > 2 and body[0] == "|" and body[-1] == "|":
        body, absolute = body[1:-1], True
    if body in ("off", "null"):
        return Off()
    if body in NAMED:
        first, count = NAMED[body]
        return Reg(first, count, neg, absolute, sext)
    if m := _ONE.match(body):
        kind = m[1] or m[3]
        return _register(text, kind, int(m[2] or m[4]), 1, neg, absolute, sext)
    if m := _RANGE.match(body):
        low, high = int(m[2]), int(m[3])
        return _register(text, m[1], low, high - low + 1, neg, absolute, sext)
    forced = body.startswith("lit(") and body.endswith(")")
    return _immediate(body[4:-1] if forced else body, neg, absolute, forced) or Word(text)


def _register(text: str, kind: str, first: int, count: int, neg: bool, absolute: bool, sext: bool) -> Reg:
    limit = NUMBERED[kind]
    if count < 1 or first + count > limit:
        raise InputError(f"The operand {text!r} names registers that do not exist; use {kind}0 to {kind}{limit - 1}.")
    return Reg(_BASE[kind] + first, count, neg, absolute, sext)


def _immediate(body: str, neg: bool, absolute: bool, literal: bool) -> Imm | None:
    try:
        value = int(body, 0)
    except ValueError:
        pass
    else:
        plain = Imm(value & 0xFFFFFFFF, False, neg, absolute)
        looks_inline = plain.is_inline_integer and (literal or value > 0x7FFFFFFF)
        return replace(plain, literal=True) if looks_inline else plain
    if body.startswith("0.15915494"):
        return Imm(INV_2PI, True, neg, absolute)
    if not re.fullmatch(r"-?\d+\.\d*(e[-+]?\d+)?", body):
        return None
    try:
        return Imm(int.from_bytes(struct.pack("<f", float(body)), "little"), True, neg, absolute)
    except OverflowError:
        return None
