"""Native functions for buffer accesses: from a descriptor, an index and offsets to checked offsets of 64 lanes.

Sources: CDNA3 ISA, "Buffer resource descriptor", "Buffer addressing" and "Range checking"; what NUM_RECORDS counts on
GFX9 is as Mesa's drivers have it: bytes, unless the descriptor has a stride and the instruction an index.
"""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import LANES
from asmevo.sim.runtime.addresses import (
    BIT,
    GROUP,
    I64,
    OFFSETS,
    ZEROS,
    near,
    outside,
    record_fault,
    tell,
    told,
    words_of,
)
from asmevo.sim.runtime.fields import set_wave_field, wave_field

ELEMENT = 4
"""Bytes of an element of a swizzled buffer; GFX9 descriptors have no field for it."""
_ADD_TID, _TYPE = 1 << 23, 3 << 30
_FORMAT, _FORMAT_SHIFT = 15 << 15, 15
"""In word 3. With ADD_TID the data format is the upper part of the stride."""
_INDEX_STRIDE_SHIFT = 21
APART = 3
"""First of the scratch arrays that hold the place of each dword when they lie apart, or -1 out of range."""
_PARAMETERS = {
    "state": "ptr", "words": "ptr", "soffset": "i32", "voffset": "ptr", "vindex": "ptr", "offset": "i64",
    "exec": "i64", "size": "i64", "at": "i32",
}  # fmt: skip


def define(module: Module) -> None:
    """Add `sim_buffer`, `sim_scalar_buffer` and `sim_scalar_place`."""
    _swizzled(module)
    _buffer(module)
    _scalar_buffer(module)


def _word(f: Builder, number: int) -> str:
    return f.load("i32", f.at("%words", 4 * number), 4)


def _wide(f: Builder, number: int) -> str:
    return f.cast("zext", _word(f, number), "i32", "i64")


def _base(f: Builder) -> str:
    return f.i64("or", _wide(f, 0), f.i64("shl", f.i64("and", _wide(f, 1), 0xFFFF), 32))


def _stride(f: Builder) -> str:
    """14 bits of word 1."""
    return f.i64("and", f.i64("lshr", _wide(f, 1), 16), 0x3FFF)


def _adds_tid(f: Builder) -> str:
    """Whether the lane is added to the index, as i1."""
    return f.i32("icmp ne", f.i32("and", _word(f, 3), _ADD_TID), 0)


def _whole_stride(f: Builder, tid: str) -> str:
    """18 bits when the lane is added to the index."""
    high = f.i64("and", f.i64("lshr", _wide(f, 3), _FORMAT_SHIFT), 15)
    return f.i64("or", _stride(f), f.choose(tid, "i64", f.i64("shl", high, 14), "0"))


def _near_buffer(f: Builder, row: str, fixed: str, records: str, base: str, offsets: str) -> None:
    """The usual case: every lane is in range of the descriptor, and that range is in memory."""
    space = wave_field(f, "%state", "image_size")
    start = f.i64("add", f.i64("sub", base, wave_field(f, "%state", "image_base")), fixed)
    reach = f.i64("add", start, records)  # past the last byte that is in range
    small = f.module.intrinsic("llvm.smin.i64", "i64", "i64", "i64")
    near(f, row, start, f.call("i64", small, f"i64 {reach}", f"i64 {space}"), offsets)


def _invalid(f: Builder) -> None:
    """A descriptor that is of an image, or of no format: on hardware nothing is bound there."""
    word = _word(f, 3)
    formatless = f.i32("icmp eq", f.i32("and", word, _FORMAT | _ADD_TID), 0)
    with f.when(f.let(f"or i1 {formatless}, {f.i32('icmp ne', f.i32('and', word, _TYPE), 0)}")):
        record_fault(f, "descriptor", "-1", _base(f))
        f.do("ret i64 0")


def _buffer(module: Module) -> None:
    """Buffer addresses: base + soffset + index * stride + voffset + offset, or swizzled.

    Gives the lanes that are in range as a whole. `remaining[lane]` (third array of the scratch) holds the bytes in
    range from the start of the access, so that a caller can treat the dwords of a partly covered access one by one.
    A lane out of range is not a fault.
    """
    with told(module, "sim_buffer", _PARAMETERS, tell) as f:
        _invalid(f)
        base, records = _base(f), _wide(f, 2)
        with f.when(f.i32("icmp slt", _word(f, 1), 0)):
            arguments = ", ".join(f"{kind} %{name}" for name, kind in _PARAMETERS.items())
            f.do(f"ret i64 {f.let(f'call i64 @sim_buffer_swizzled({arguments})')}")
        fixed = f.i64("add", f.cast("zext", "%soffset", "i32", "i64"), "%offset")
        offsets = wave_field(f, "%state", "offsets")
        remaining = f.at(offsets, 2 * OFFSETS)
        set_wave_field(f, "%state", "apart", "0")
        has_index, tid = f.let("icmp ne ptr %vindex, null"), _adds_tid(f)
        row_offset = f.choose(f.let("icmp ne ptr %voffset, null"), "ptr", "%voffset", ZEROS)
        with f.when(f.let(f"xor i1 {f.let(f'or i1 {has_index}, {tid}')}, true")):
            _near_buffer(f, row_offset, fixed, f.i64("sub", records, fixed), base, offsets)
        row_index = f.choose(has_index, "ptr", "%vindex", ZEROS)
        stride = _whole_stride(f, tid)
        by_index = f.splat(f.let(f"and i1 {has_index}, {f.i64('icmp ne', stride, 0)}"), "i1", GROUP)
        sizes, limit = f.splat("%size", "i64", GROUP), f.splat(records, "i64", GROUP)
        fixed_all, strides = f.splat(fixed, "i64", GROUP), f.splat(stride, "i64", GROUP)
        starts = f.splat(f.i64("sub", base, wave_field(f, "%state", "image_base")), "i64", GROUP)
        steps = "<" + ", ".join(f"i64 {n}" for n in range(GROUP)) + ">"
        covered, touched = f.variable("i64", "0"), f.variable("i64", "0")
        with f.loop(LANES // GROUP) as group:
            first = f.i64("shl", group, 4)
            lanes = f.op("add", I64, f.splat(first, "i64", GROUP), steps)
            own = f.let(f"select i1 {tid}, {I64} {lanes}, {I64} zeroinitializer")
            index = f.op("add", I64, words_of(f, row_index, group), own)
            distance = f.op("mul", I64, index, strides)
            position = f.op("add", I64, words_of(f, row_offset, group), fixed_all)
            inside = f.op("icmp ult", I64, index, limit)
            all_or_none = f.let(f"select {BIT} {inside}, {I64} {sizes}, {I64} zeroinitializer")
            by_bytes = f.op("sub", I64, limit, f.op("add", I64, position, distance))
            left = f.let(f"select {BIT} {by_index}, {I64} {all_or_none}, {I64} {by_bytes}")
            place = f.op("add", I64, f.op("add", I64, position, starts), distance)
            whole = f.op("icmp sge", I64, left, sizes)
            some = f.op("icmp sgt", I64, left, "zeroinitializer")
            place = f.let(f"select {BIT} {some}, {I64} {place}, {I64} zeroinitializer")
            f.store(I64, place, f.at(offsets, group, 8 * GROUP), 64)
            f.store(I64, left, f.at(remaining, group, 8 * GROUP), 64)
            for bits, total in ((whole, covered), (some, touched)):
                part = f.cast("zext", f.cast("bitcast", bits, BIT, "i16"), "i16", "i64")
                total.update("or", f.i64("shl", part, first))
        some = f.i64("and", touched.get(), "%exec")
        good = f.call("i64", "sim_inside", "ptr %state", f"ptr {offsets}", f"i64 {some}", "i64 %size", "i32 %at")
        with f.each_bit(f.i64("and", some, f.i64("xor", good, -1))) as lane:  # a wild lane is not touched at all
            f.store("i64", "0", f.at(remaining, lane, 8), 8)
        f.do(f"ret i64 {f.i64('and', covered.get(), good)}")


def _swizzled(module: Module) -> None:
    """The same for a swizzled buffer: elements of four bytes of `index stride` records lie side by side.

    An access of several dwords touches elements that lie apart: then the wave's field `apart` is 1, the places of the
    dwords are in arrays of their own, -1 out of range, and no lane is given.
    """
    with module.function("sim_buffer_swizzled", "i64", _PARAMETERS) as f:
        base, records, tid = _base(f), _wide(f, 2), _adds_tid(f)
        soffset = f.cast("zext", "%soffset", "i32", "i64")
        offsets, space = wave_field(f, "%state", "offsets"), wave_field(f, "%state", "image_size")
        has_index = f.let("icmp ne ptr %vindex, null")
        row_offset = f.choose(f.let("icmp ne ptr %voffset, null"), "ptr", "%voffset", ZEROS)
        row_index = f.choose(has_index, "ptr", "%vindex", ZEROS)
        stride = _whole_stride(f, tid)
        by_index = f.let(f"and i1 {has_index}, {f.i64('icmp ne', stride, 0)}")
        width = f.i64("shl", "8", f.i64("and", f.i64("lshr", _wide(f, 3), _INDEX_STRIDE_SHIFT), 3))  # 8, 16, 32 or 64
        start = f.i64("add", f.i64("sub", base, wave_field(f, "%state", "image_base")), soffset)
        apart = f.i64("icmp ugt", "%size", ELEMENT)
        set_wave_field(f, "%state", "apart", f.cast("zext", apart, "i1", "i32"))
        part = f.choose(apart, "i64", str(ELEMENT), "%size")
        dwords = f.i64("udiv", f.i64("add", "%size", ELEMENT - 1), ELEMENT)
        good = f.variable("i64", "0")
        with f.each_bit("%exec") as lane:
            given = f.cast("zext", f.load("i32", f.at(row_index, lane, 4), 4), "i32", "i64")
            index = f.i64("add", given, f.choose(tid, "i64", lane, "0"))
            own = f.cast("zext", f.load("i32", f.at(row_offset, lane, 4), 4), "i32", "i64")
            position = f.i64("add", own, "%offset")
            f.store("i64", "0", f.at(f.at(offsets, 2 * OFFSETS), lane, 8), 8)  # nothing remains of an element
            with f.loop(dwords) as dword:
                offset = f.i64("add", position, f.i64("mul", dword, ELEMENT))
                element = f.i64("and", offset, -ELEMENT)
                row = f.i64("add", f.i64("mul", f.i64("udiv", index, width), stride), element)
                column = f.i64("add", f.i64("mul", f.i64("urem", index, width), ELEMENT), f.i64("sub", offset, element))
                place = f.i64("add", f.i64("mul", row, width), column)
                end = f.i64("add", f.i64("add", place, soffset), part)
                by_bytes = f.i64("icmp ule", end, records)
                inside = f.choose(by_index, "i1", f.i64("icmp ult", index, records), by_bytes)
                at = f.i64("add", start, place)
                wild = f.let(f"and i1 {inside}, {outside(f, at, f.i64('sub', space, part))}")
                with f.when(wild):
                    address = f.i64("add", at, wave_field(f, "%state", "image_base"))
                    record_fault(f, "global", f.cast("trunc", lane, "i64", "i32"), address)
                fine = f.let(f"and i1 {inside}, {f.let(f'xor i1 {wild}, true')}")
                array = f.choose(apart, "ptr", f.at(offsets, f.i64("add", dword, APART), OFFSETS), offsets)
                f.store("i64", f.choose(fine, "i64", at, "-1"), f.at(array, lane, 8), 8)
                whole = f.let(f"and i1 {fine}, {f.let(f'xor i1 {apart}, true')}")
                good.update("or", f.i64("shl", f.cast("zext", whole, "i1", "i64"), lane))
        f.do(f"ret i64 {good.get()}")


def _scalar_buffer(module: Module) -> None:
    """Scalar accesses to a buffer; NUM_RECORDS counts records when there is a stride.

    ptr sim_scalar_buffer(state, words, offset, size, at): dwords to load; those out of range are 0.
    ptr sim_scalar_place(...): where to store or exchange; memory of no account when that is out of range.
    """
    parameters = {"state": "ptr", "words": "ptr", "offset": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_scalar_place", "ptr", parameters) as f:
        stride = _stride(f)
        factor = f.choose(f.i64("icmp eq", stride, 0), "i64", "1", stride)
        position = f.i64("and", "%offset", -4)
        inside = f.i64("icmp ule", f.i64("add", position, "%size"), f.i64("mul", _wide(f, 2), factor))
        with f.when(inside):
            address = f.i64("add", _base(f), position)
            f.do(f"ret ptr {f.call('ptr', 'sim_scalar', 'ptr %state', f'i64 {address}', 'i64 %size', 'i32 %at')}")
        out = wave_field(f, "%state", "offsets")
        f.store("i64", "0", out, 8)
        f.do(f"ret ptr {out}")
    with module.function("sim_scalar_buffer", "ptr", parameters) as f:
        out = f.at(wave_field(f, "%state", "offsets"), OFFSETS)
        with f.loop("%size", 4) as step:
            position = f.i64("add", f.i64("and", "%offset", -4), step)
            rest = (f"i64 {position}", "i64 4", "i32 %at")
            place = f.call("ptr", "sim_scalar_place", "ptr %state", "ptr %words", *rest)
            f.store("i32", f.load("i32", place, 4), f.at(out, step), 4)
        f.do(f"ret ptr {out}")
