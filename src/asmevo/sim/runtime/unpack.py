"""Native functions that unpack a matrix operand from registers to a panel of numbers, one function for each type."""

from __future__ import annotations

from collections.abc import Callable

from asmevo.sim.ir import Builder, Module, Value, constant, index_text
from asmevo.sim.lanes import LaneAlgebra
from asmevo.sim.layout import LANES, ROW

ELEMENT_BITS = {"f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "i8": 8, "f64": 64}
"""Matrix element types to their bits."""

PARAMETERS = {"panel": "ptr", "source": "ptr", "registers": "i64"}
SELECT = "sim_select_sparse"
SELECT_PARAMETERS = {"panel": "ptr", "source": "ptr", "shift": "i32", "count": "i64"}

_GROUP = 16
_WORDS = f"<{_GROUP} x i32>"


def unpack_name(element: str) -> str:
    """The function that unpacks operands of this type."""
    return f"sim_unpack_{element}"


def unpack_module(element: str) -> Module:
    """void sim_unpack_<type>(panel, source, registers)."""
    module = Module()
    with module.function(unpack_name(element), "void", PARAMETERS) as f:
        if element == "f64":
            _doubles(f)
        elif element in ("fp8", "bf8"):
            _with_nan(f, element)
        else:
            _each(f, 32 // ELEMENT_BITS[element], _CONVERSIONS[element])
        f.do("ret void")
    return module


def select_module() -> Module:
    """void sim_select_sparse(panel, source, shift, count): where in a panel of B the elements of a sparse A belong.

    Element e of a lane stands at k = 4 (e / 2) + i with the index i in bits 2 e + 1 : 2 e of the lane's register above
    `shift`. The panel gets the distance in bytes of row k from the begin of its group of lanes.
    """
    module = Module()
    with module.function(SELECT, "void", SELECT_PARAMETERS) as f:
        with f.loop("%count") as e:
            low = f.i32("add", f.i32("shl", f.cast("trunc", e, "i64", "i32"), 1), "%shift")
            first = f.i32("shl", f.i32("lshr", f.cast("trunc", e, "i64", "i32"), 1), 2)
            row = f.at("%panel", e, 4 * LANES)
            with f.loop(LANES // _GROUP) as group:
                words = f.load(_WORDS, f.at("%source", group, 4 * _GROUP), 64)
                moved = f.op("lshr", _WORDS, words, f.splat(low, "i32", _GROUP))
                k = f.op("add", _WORDS, f.op("and", _WORDS, moved, "splat (i32 3)"), f.splat(first, "i32", _GROUP))
                distance = f.op("mul", _WORDS, k, f"splat (i32 {4 * LANES})")
                f.store(_WORDS, distance, f.at(row, group, 4 * _GROUP), 64)
        f.do("ret void")
    return module


def _each(f: Builder, parts: int, convert: Callable[[LaneAlgebra, Value], list[Value]]) -> None:
    """Apply `convert` to each group of lanes of each register; it gives the f32 numbers of the register's elements."""
    o = LaneAlgebra(f, _GROUP)
    with f.loop("%registers") as register:
        source, panel = f.at("%source", register, ROW), f.at("%panel", register, parts * 4 * LANES)
        with f.loop(LANES // _GROUP) as group:
            words = Value(f.load(_WORDS, f.at(source, group, 4 * _GROUP), 64), "i", 32, _GROUP)
            for j, number in enumerate(convert(o, words)):
                place = f.at(f.at(panel, 4 * j * LANES), group, 4 * _GROUP)
                f.store(number.type, number.text, place, 64)


def _bf16(o: LaneAlgebra, words: Value) -> list[Value]:
    return [o.as_float(o.shl(words, o.const(16))), o.as_float(o.and_(words, o.const(0xFFFF0000)))]


def _f16(o: LaneAlgebra, words: Value) -> list[Value]:
    return [o.fpcast(o.as_float(o.trunc(part, 16)), 32) for part in (words, o.lshr(words, o.const(16)))]


def _i8(o: LaneAlgebra, words: Value) -> list[Value]:
    top = o.const(24)
    return [o.sitofp(o.ashr(o.shl(words, o.const(24 - 8 * j)), top)) for j in range(4)]


def _f32(o: LaneAlgebra, words: Value) -> list[Value]:
    return [o.as_float(words)]


def _xf32(o: LaneAlgebra, words: Value) -> list[Value]:
    """Ten fraction bits, rounded to nearest even; NaN and infinity stay."""
    odd = o.and_(o.lshr(words, o.const(13)), o.const(1))
    rounded = o.and_(o.add(words, o.add(odd, o.const(0xFFF))), o.const(~0x1FFF))
    special = o.icmp("eq", o.and_(words, o.const(0x7F800000)), o.const(0x7F800000))
    return [o.as_float(o.select(special, words, rounded))]


def _fp8(o: LaneAlgebra, words: Value) -> list[Value]:
    """e4m3fnuz: its bits, shifted into an f16, are the number times 2**-7, denormals included. 0x80 is not handled.

    Bytes 0 and 2 of all words are converted in one go as halves of a word, then 1 and 3.
    """
    halves = LaneAlgebra(o.b, 2 * o.lanes)
    pairs = Value(o.b.cast("bitcast", words.text, words.type, f"<{halves.lanes} x i16>"), "i", 16, halves.lanes)
    numbers: list[Value] = []
    for part in range(4):
        bytes_ = halves.shl(pairs, halves.const(8, 16)) if part % 2 == 0 else pairs
        # the sign fills the bits above the magnitude; the mask keeps one of it
        shifted = halves.and_(halves.ashr(bytes_, halves.const(1, 16)), halves.const(0xBF80, 16))
        chosen = index_text(list(range(part // 2, halves.lanes, 2)))
        one = o.b.let(f"shufflevector {shifted.typed}, {shifted.type} poison, {chosen}")
        number = o.fpcast(o.as_float(Value(one, "i", 16, o.lanes)), 32)
        numbers.append(o.fmul(number, o.fconst(128.0)))
    return numbers


def _bf8(o: LaneAlgebra, words: Value) -> list[Value]:
    """e5m2fnuz: exponent bias 16, no infinity. 0x80 is not handled."""
    numbers: list[Value] = []
    for j in range(4):
        byte = o.and_(o.lshr(words, o.const(8 * j)), o.const(0xFF))
        magnitude = o.and_(byte, o.const(0x7F))
        normal = o.add(o.shl(magnitude, o.const(21)), o.const((127 - 16) << 23))
        small = o.as_int(o.fmul(o.sitofp(magnitude), o.fconst(2.0**-17)))
        bits = o.select(o.icmp("ult", magnitude, o.const(4)), small, normal)
        numbers.append(o.as_float(o.or_(bits, o.shl(o.and_(byte, o.const(0x80)), o.const(24)))))
    return numbers


def _nan_aware(convert: Callable[[LaneAlgebra, Value], list[Value]]) -> Callable[[LaneAlgebra, Value], list[Value]]:
    def converted(o: LaneAlgebra, words: Value) -> list[Value]:
        numbers: list[Value] = []
        for j, number in enumerate(convert(o, words)):
            byte = o.and_(o.lshr(words, o.const(8 * j)), o.const(0xFF))
            nan = o.as_float(o.const(0x7FC00000))
            numbers.append(o.select(o.icmp("eq", byte, o.const(0x80)), nan, number))
        return numbers

    return converted


def _with_nan(f: Builder, element: str) -> None:
    """fnuz formats: look for the NaN code 0x80 first, and convert without a thought of it where there is none."""
    bytes_ = f"<{4 * _GROUP} x i8>"
    bits = f"<{4 * _GROUP} x i1>"
    found = f.variable(bytes_, "zeroinitializer")
    with f.loop(f.i64("shl", "%registers", 2)) as group:
        data = f.load(bytes_, f.at("%source", group, 4 * _GROUP), 64)
        equal = f.op("icmp eq", bytes_, data, "splat (i8 128)")
        found.update("or", f.cast("sext", equal, bits, bytes_))
    words = f.cast("bitcast", found.get(), bytes_, f"<{_GROUP // 2} x i64>")
    reduce = f.module.intrinsic(f"llvm.vector.reduce.or.v{_GROUP // 2}i64", "i64", f"<{_GROUP // 2} x i64>")
    some = f.i64("icmp ne", f.call("i64", reduce, f"<{_GROUP // 2} x i64> {words}"), 0)
    convert = _CONVERSIONS[element]
    with f.when(some):
        _each(f, 4, _nan_aware(convert))
        f.do("ret void")
    _each(f, 4, convert)


def _doubles(f: Builder) -> None:
    """Pairs of registers to doubles."""
    wide = f"<{_GROUP} x i64>"
    with f.loop(LANES // _GROUP) as group:
        low, high = (
            f.cast("zext", f.load(_WORDS, f.at(f.at("%source", i * ROW), group, 4 * _GROUP), 64), _WORDS, wide)
            for i in range(2)
        )
        whole = f.op("or", wide, low, f.op("shl", wide, high, constant(32, 64, _GROUP).text))
        f.store(wide, whole, f.at("%panel", group, 8 * _GROUP), 64)


_CONVERSIONS: dict[str, Callable[[LaneAlgebra, Value], list[Value]]] = {
    "bf16": _bf16, "f16": _f16, "i8": _i8, "f32": _f32, "xf32": _xf32, "fp8": _fp8, "bf8": _bf8,
}  # fmt: skip
