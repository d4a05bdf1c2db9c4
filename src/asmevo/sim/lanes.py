"""The operator algebra of opcode rows as LLVM IR, for one lane (scalar code) or sixteen (vector code)."""

from __future__ import annotations

import struct
from functools import lru_cache

from asmevo.sim.fold import compare, fold
from asmevo.sim.ir import Builder, Value, constant, type_name
from asmevo.sim.options import FloatRules

_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}

_QUIET_NAN = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8 << 48}


@lru_cache(maxsize=1 << 14)
def float_constant(bits_value: int, bits: int, lanes: int) -> Value:
    """A float constant from its IEEE bits."""
    kind = type_name("f", bits)
    if bits == 16:
        text = f"0xH{bits_value:04X}"
    elif bits == 64:
        text = f"0x{bits_value:016X}"
    else:  # LLVM writes a float as the double of the same value
        sign, exponent, fraction = bits_value >> 31, bits_value >> 23 & 0xFF, bits_value & 0x7FFFFF
        if exponent == 0xFF:
            double = sign << 63 | 0x7FF << 52 | fraction << 29
        else:
            value = struct.unpack("<f", struct.pack("<I", bits_value))[0]
            double = struct.unpack("<Q", struct.pack("<d", value))[0]
        text = f"0x{double:016X}"
    return Value(text if lanes == 1 else f"splat ({kind} {text})", "f", bits, lanes, bits_value)


class LaneAlgebra:
    """Implements `asmevo.isa.Algebra`; values are `Value` of `lanes` lanes."""

    def __init__(self, builder: Builder, lanes: int, group: str = "0", rules: FloatRules | None = None) -> None:
        self.b = builder
        self.lanes = lanes
        self.rules = rules or FloatRules()
        self.group = group
        """i64: which group of `lanes` lanes of the wave this is."""
        self._widened: dict[str, Value] = {}
        """64-bit values that are a 32-bit one, zero extended."""
        self._raised: dict[str, Value] = {}
        """64-bit values that are a 32-bit one, shifted up by 32."""
        self._pairs: dict[str, tuple[Value, Value]] = {}
        """64-bit values that are two 32-bit ones, low and high."""
        self._shifted: dict[str, tuple[str, int]] = {}
        """Right shifts of such pairs by less than 32."""
        self._quiet: set[str] = set()
        """Results of arithmetic: none is a signalling NaN."""

    # --- helpers
    def _value(self, text: str, kind: str, bits: int) -> Value:
        return Value(text, kind, bits, self.lanes)

    def _binary(self, op: str, a: Value, b: Value) -> Value:
        result = Value(self.b.let(f"{op} {a.type} {a.text}, {b.text}"), a.kind, a.bits, self.lanes)
        return self._arithmetic(result)

    def _arithmetic(self, result: Value) -> Value:
        if result.kind == "f":
            self._quiet.add(result.text)
        return result

    def _cast(self, op: str, a: Value, kind: str, bits: int) -> Value:
        return Value(self.b.let(f"{op} {a.typed} to {type_name(kind, bits, self.lanes)}"), kind, bits, self.lanes)

    def _suffix(self, kind: str, bits: int) -> str:
        return f"{kind}{bits}" if self.lanes == 1 else f"v{self.lanes}{kind}{bits}"

    def _intrinsic(self, name: str, a: Value, *rest: Value) -> Value:
        """An intrinsic whose operands and result have one type."""
        full = self.b.module.intrinsic(
            f"llvm.{name}.{self._suffix(a.kind, a.bits)}", a.type, *[a.type] * (1 + len(rest))
        )
        arguments = ", ".join(v.typed for v in (a, *rest))
        return Value(self.b.let(f"call {a.type} @{full}({arguments})"), a.kind, a.bits, self.lanes)

    # --- constants
    def const(self, value: int, bits: int = 32) -> Value:
        return constant(value, bits, self.lanes)

    def fconst(self, value: float, bits: int = 32) -> Value:
        pack, unpack = _FORMATS[bits]
        return float_constant(struct.unpack(unpack, struct.pack(pack, value))[0], bits, self.lanes)

    def lane_id(self) -> Value:
        """Number of the lane in the wave."""
        if self.lanes == 1:
            return self._value(self.b.let(f"trunc i64 {self.group} to i32"), "i", 32)
        first = self.b.let(f"trunc i64 {self.group} to i32")
        first = self.b.splat(self.b.let(f"mul i32 {first}, {self.lanes}"), "i32", self.lanes)
        steps = "<" + ", ".join(f"i32 {i}" for i in range(self.lanes)) + ">"
        return self._value(self.b.let(f"add <{self.lanes} x i32> {first}, {steps}"), "i", 32)

    # --- integers
    def _integer(self, op: str, a: Value, b: Value) -> Value:
        """An integer instruction, folded when that needs no instruction."""
        folded = fold(op, a, b)
        return self._binary(op, a, b) if folded is None else folded

    def add(self, a: Value, b: Value) -> Value:
        return self._integer("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self._integer("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self._integer("mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self._integer("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        result = self._integer("or", a, b)
        low, high = (a, b) if b.text in self._raised else (b, a)
        if a.bits == 64 and low.text in self._widened and high.text in self._raised:
            self._pairs[result.text] = self._widened[low.text], self._raised[high.text]
        return result

    def xor(self, a: Value, b: Value) -> Value:
        return self._integer("xor", a, b)

    def not_(self, a: Value) -> Value:
        return self._integer("xor", a, self.const(-1, a.bits))

    def _amount(self, a: Value, amount: Value) -> Value:
        if amount.bits < a.bits:
            amount = self.zext(amount, a.bits)
        elif amount.bits > a.bits:
            amount = self.trunc(amount, a.bits)
        return self.and_(amount, self.const(a.bits - 1, a.bits))

    def shl(self, a: Value, amount: Value) -> Value:
        by = self._amount(a, amount)
        result = self._integer("shl", a, by)
        if by.const == 32 and a.text in self._widened:
            self._raised[result.text] = self._widened[a.text]
        return result

    def lshr(self, a: Value, amount: Value) -> Value:
        by = self._amount(a, amount)
        pair = self._pairs.get(a.text)
        if pair is not None and by.const is not None and by.const >= 32:
            return self.zext(self.lshr(pair[1], self.const(by.const - 32)), 64)
        result = self._integer("lshr", a, by)
        if pair is not None and by.const:
            self._shifted[result.text] = a.text, by.const
        return result

    def ashr(self, a: Value, amount: Value) -> Value:
        return self._integer("ashr", a, self._amount(a, amount))

    def _extreme(self, name: str, a: Value, b: Value) -> Value:
        folded = fold(name, a, b)
        return self._intrinsic(name, a, b) if folded is None else folded

    def umin(self, a: Value, b: Value) -> Value:
        return self._extreme("umin", a, b)

    def umax(self, a: Value, b: Value) -> Value:
        return self._extreme("umax", a, b)

    def smin(self, a: Value, b: Value) -> Value:
        return self._extreme("smin", a, b)

    def smax(self, a: Value, b: Value) -> Value:
        return self._extreme("smax", a, b)

    def bitreverse(self, a: Value) -> Value:
        return self._intrinsic("bitreverse", a)

    def ctpop(self, a: Value) -> Value:
        return self._intrinsic("ctpop", a)

    def ctlz(self, a: Value) -> Value:
        return self._count("ctlz", a)

    def cttz(self, a: Value) -> Value:
        return self._count("cttz", a)

    def _count(self, name: str, a: Value) -> Value:
        full = self.b.module.intrinsic(f"llvm.{name}.{self._suffix('i', a.bits)}", a.type, a.type, "i1")
        return Value(self.b.let(f"call {a.type} @{full}({a.typed}, i1 false)"), "i", a.bits, self.lanes)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        if a.const is not None and b.const is not None:
            return self.const(compare(predicate, a, b), 1)
        return self._value(self.b.let(f"icmp {predicate} {a.type} {a.text}, {b.text}"), "i", 1)

    # --- widths
    def zext(self, a: Value, bits: int) -> Value:
        if a.bits == bits:
            return a
        if a.const is not None:
            return self.const(a.const, bits)
        result = self._cast("zext", a, "i", bits)
        if a.bits == 32:
            self._widened[result.text] = a
        return result

    def sext(self, a: Value, bits: int) -> Value:
        if a.bits == bits:
            return a
        if a.const is not None:
            return self.const(a.const - (1 << a.bits) if a.const >> (a.bits - 1) else a.const, bits)
        return self._cast("sext", a, "i", bits)

    def trunc(self, a: Value, bits: int) -> Value:
        if a.bits == bits:
            return a
        if a.const is not None:
            return self.const(a.const, bits)
        if bits <= 32 and (word := self._low_word(a)) is not None:
            return self.trunc(word, bits)
        return self._cast("trunc", a, "i", bits)

    def _low_word(self, a: Value) -> Value | None:
        """The low 32 bits of a 64-bit value that was put together from words, without 64-bit instructions."""
        if a.text in self._widened:
            return self._widened[a.text]
        if a.text in self._pairs:
            return self._pairs[a.text][0]
        if a.text in self._shifted:
            source, by = self._shifted[a.text]
            low, high = self._pairs[source]
            return self.or_(self.lshr(low, self.const(by)), self.shl(high, self.const(32 - by)))
        return None

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        if condition.const is not None:
            return a if condition.const else b
        if a == b:
            return a
        text = self.b.let(f"select {condition.typed}, {a.typed}, {b.typed}")
        return Value(text, a.kind, a.bits, self.lanes)

    # --- reinterpretation
    def as_int(self, a: Value) -> Value:
        if a.kind == "i":
            return a
        return self.const(a.const, a.bits) if a.const is not None else self._cast("bitcast", a, "i", a.bits)

    def as_float(self, a: Value) -> Value:
        if a.kind == "f":
            return a
        if a.const is not None:
            return float_constant(a.const, a.bits, self.lanes)
        return self._cast("bitcast", a, "f", a.bits)

    def canonical_bits(self, a: Value) -> Value:
        """The bits of a result; every NaN becomes the same one.

        Which of two NaNs an instruction of the host passes on is up to LLVM, and would differ between two places where
        one opcode is compiled. Integers pass through.
        """
        if a.kind == "i":
            return a
        return self.select(self.fcmp("uno", a, a), self.const(_QUIET_NAN[a.bits], a.bits), self.as_int(a))

    # --- floats
    def fadd(self, a: Value, b: Value) -> Value:
        return self._binary("fadd", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self._binary("fsub", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self._binary("fmul", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self._binary("fdiv", a, b)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._fma16(a, b, c) if a.bits == 16 else self._arithmetic(self._intrinsic("fma", a, b, c))

    def _fma16(self, a: Value, b: Value, c: Value) -> Value:
        """The f16 product is exact in f32; rounding the sum to odd there makes the second rounding harmless.

        Rounding twice in one direction is rounding once.
        """
        x, y, z = (self.fpcast(v, 32) for v in (a, b, c))
        product = self.fmul(x, y)
        total = self.fadd(product, z)
        if self.rules.round_f64:
            return self.fpcast(total, 16)
        part = self.fsub(total, product)
        error = self.fadd(self.fsub(product, self.fsub(total, part)), self.fsub(z, part))
        bits = self.as_int(total)
        even = self.icmp("eq", self.and_(bits, self.const(1)), self.const(0))
        inexact = self.fcmp("one", error, self.fconst(0.0))
        away = self.icmp("sge", self.xor(self.as_int(error), bits), self.const(0))
        odd = self.select(away, self.add(bits, self.const(1)), self.sub(bits, self.const(1)))
        fix = self.and_(even, inexact)
        return self.fpcast(self.as_float(self.select(fix, odd, bits)), 16)

    def fneg(self, a: Value) -> Value:
        return Value(self.b.let(f"fneg {a.typed}"), "f", a.bits, self.lanes)

    def fabs(self, a: Value) -> Value:
        return self._intrinsic("fabs", a)

    def fmin(self, a: Value, b: Value) -> Value:
        return self._extreme_float("minimumnum", a, b)

    def fmax(self, a: Value, b: Value) -> Value:
        return self._extreme_float("maximumnum", a, b)

    def _extreme_float(self, name: str, a: Value, b: Value) -> Value:
        result = self._arithmetic(self._intrinsic(name, a, b))
        if not self.rules.ieee:
            return result
        quiet_nan = self.as_float(self.const(_QUIET_NAN[a.bits], a.bits))
        for x in (a, b):
            if x.text not in self._quiet and x.const is None:
                result = self._arithmetic(self.select(self._is_signalling(x), quiet_nan, result))
        return result

    def _is_signalling(self, a: Value) -> Value:
        """A NaN without the quiet bit: with the sign shifted out, above infinity and below the quiet NaNs."""
        bits, quiet = a.bits, _QUIET_NAN[a.bits]
        infinity = quiet & quiet << 1
        above = self.sub(
            self.and_(self.as_int(a), self.const((1 << (bits - 1)) - 1, bits)), self.const(infinity + 1, bits)
        )
        return self.icmp("ult", above, self.const(quiet - infinity - 1, bits))

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self._value(self.b.let(f"fcmp {predicate} {a.type} {a.text}, {b.text}"), "i", 1)

    def ffloor(self, a: Value) -> Value:
        return self._intrinsic("floor", a)

    def fceil(self, a: Value) -> Value:
        return self._intrinsic("ceil", a)

    def ftrunc(self, a: Value) -> Value:
        return self._intrinsic("trunc", a)

    def frint(self, a: Value) -> Value:
        return self._intrinsic("roundeven", a)

    def sqrt(self, a: Value) -> Value:
        return self._intrinsic("sqrt", a)

    def ldexp(self, a: Value, exponent: Value) -> Value:
        if a.bits == 64:
            return self._ldexp64(a, exponent)
        wide = 2 * a.bits  # exact there, so that the result is rounded once
        low, high, bias, shift = (-1000, 1000, 1023, 52) if wide == 64 else (-120, 120, 127, 23)
        clamped = self.smin(self.smax(exponent, self.const(low)), self.const(high))
        biased = self.add(clamped, self.const(bias))
        power = self.as_float(self.shl(self.zext(biased, wide), self.const(shift, wide)))
        return self.fpcast(self.fmul(self.fpcast(a, wide), power), a.bits)

    def _ldexp64(self, a: Value, exponent: Value) -> Value:
        """Three factors, the first two of which keep a normal result normal."""
        rest = self.smin(self.smax(exponent, self.const(-2200)), self.const(2200))
        for _ in range(3):
            step = self.smin(self.smax(rest, self.const(-969)), self.const(1023))
            rest = self.sub(rest, step)
            biased = self.zext(self.add(step, self.const(1023)), 64)
            a = self.fmul(a, self.as_float(self.shl(biased, self.const(52, 64))))
        return a

    # --- approximate functions: in the runtime, on sixteen f32 lanes
    def exp2(self, a: Value) -> Value:
        return self._runtime("exp2", a)

    def log2(self, a: Value) -> Value:
        return self._runtime("log2", a)

    def sin_turns(self, a: Value) -> Value:
        return self._runtime("sin_turns", a)

    def cos_turns(self, a: Value) -> Value:
        return self._runtime("cos_turns", a)

    def _runtime(self, name: str, a: Value) -> Value:
        """A runtime function; f16 goes through f32."""
        single = self.fpcast(a, 32)
        vector = "<16 x float>"
        function = self.b.module.extern(f"sim_{name}", vector, vector)
        operand = single.text if self.lanes == 16 else self.b.splat(single.text, "float", 16)
        result = self.b.let(f"call {vector} @{function}({vector} {operand})")
        if self.lanes == 1:
            result = self.b.let(f"extractelement {vector} {result}, i32 0")
        return self.fpcast(Value(result, "f", 32, self.lanes), a.bits)

    # --- conversions
    def sitofp(self, a: Value, bits: int = 32) -> Value:
        return self._cast("sitofp", a, "f", bits)

    def uitofp(self, a: Value, bits: int = 32) -> Value:
        return self._cast("uitofp", a, "f", bits)

    def fptosi(self, a: Value, bits: int = 32) -> Value:
        if bits < 32:
            top = 1 << (bits - 1)
            wide = self.fptosi(a)
            return self.trunc(self.smin(self.smax(wide, self.const(-top)), self.const(top - 1)), bits)
        top = self.fconst(2.0 ** (bits - 1), a.bits) if a.bits > 16 else None
        whole = self._cast("fptosi", a, "i", bits)
        if top is not None:
            highest = self.const((1 << (bits - 1)) - 1, bits)
            whole = self.select(self.fcmp("oge", a, top), highest, whole)
            whole = self.select(
                self.fcmp("olt", a, self.fconst(-(2.0 ** (bits - 1)), a.bits)), self.const(1 << (bits - 1), bits), whole
            )
            return self.select(self.fcmp("uno", a, a), self.const(0, bits), whole)
        return self.fptosi(self.fpcast(a, 32), bits)

    def fptoui(self, a: Value, bits: int = 32) -> Value:
        if a.bits == 16:
            return self.fptoui(self.fpcast(a, 32), bits)
        if bits < 32:
            return self.trunc(self.umin(self.fptoui(a), self.const((1 << bits) - 1)), bits)
        half, top = self.fconst(2.0 ** (bits - 1), a.bits), self.fconst(2.0**bits, a.bits)
        positive = self.select(self.fcmp("ogt", a, self.fconst(0.0, a.bits)), a, self.fconst(0.0, a.bits))
        large = self.fcmp("oge", positive, half)
        low = self._cast("fptosi", self.select(large, self.fsub(positive, half), positive), "i", bits)
        whole = self.select(large, self.xor(low, self.const(1 << (bits - 1), bits)), low)
        return self.select(self.fcmp("oge", positive, top), self.const(-1, bits), whole)

    def fpcast(self, a: Value, bits: int) -> Value:
        if a.bits == bits:
            return a
        if a.const is not None and bits > a.bits:
            pack, unpack = _FORMATS[a.bits]
            return self.fconst(struct.unpack(pack, struct.pack(unpack, a.const))[0], bits)
        return self._cast("fpext" if bits > a.bits else "fptrunc", a, "f", bits)
