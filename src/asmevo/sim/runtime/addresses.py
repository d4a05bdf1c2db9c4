"""Native functions that turn the addresses of 64 lanes into checked offsets.

Each writes `offsets[lane]` for the lanes of `exec` and gives the lanes that may be accessed. An address outside of its
space is recorded as a fault of the wave, and the lane is left out: the host's own memory is never at risk.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import FAULTS, LANES, ROW
from asmevo.sim.runtime.fields import set_wave_field, wave_field

GROUP = 16
_I64 = f"<{GROUP} x i64>"
_I32 = f"<{GROUP} x i32>"
_BIT = f"<{GROUP} x i1>"

OFFSETS = 8 * LANES
"""Bytes of one array of offsets. The scratch of a wave holds three, one of them for what remains in range."""
ZEROS = "@sim_zeros"
"""A row of zeros: addresses, offsets or data."""


def define(module: Module) -> None:
    """Add all address functions to a module."""
    module.bodies.append(f"{ZEROS} = constant [{OFFSETS} x i8] zeroinitializer, align 64\n")
    _record(module)
    _global64(module)
    _global32(module)
    _lds(module)
    _private(module)
    _inside(module)
    _buffer(module)
    _scalar(module)
    _scalar_buffer(module)


def _record(module: Module) -> None:
    """void sim_fault(state, kind, at, lane, address): keep the first fault of a wave."""
    parameters = {"state": "ptr", "kind": "i32", "at": "i32", "lane": "i32", "address": "i64"}
    with module.function("sim_fault", "void", parameters) as f:
        with f.when(f.i32("icmp eq", wave_field(f, "%state", "fault"), 0)):
            for name, value in (("fault", "kind"), ("fault_at", "at"), ("fault_lane", "lane")):
                set_wave_field(f, "%state", name, f"%{value}")
            set_wave_field(f, "%state", "fault_address", "%address")
        f.do("ret void")


def _fault(f: Builder, kind: str, lane: str, address: str) -> None:
    code = FAULTS.index(kind)
    f.call("void", "sim_fault", "ptr %state", f"i32 {code}", "i32 %at", f"i32 {lane}", f"i64 {address}")


def _outside(f: Builder, offset: str, limit: str) -> str:
    """Whether `offset` is below 0 or above `limit`, as i1: the sign of either difference."""
    return f.i64("icmp slt", f.i64("or", offset, f.i64("sub", limit, offset)), 0)


def _check(f: Builder, kind: str, size: str, base: str, offset_of: Callable[[str], str], offsets: str) -> str:
    """Compute and check the offsets of all lanes; gives the lanes of `%exec` that are inside.

    `offset_of(group)` emits the offsets of a group of lanes; `size` is the size of the space and `base` the address of
    its start, for the report.
    """
    limit = f.i64("sub", size, "%size")
    limits = f.splat(limit, "i64", GROUP)
    wrong = f.variable(_I64, "zeroinitializer")
    with f.loop(LANES // GROUP) as group:
        word = f.cast("trunc", f.i64("lshr", "%exec", f.i64("shl", group, 4)), "i64", "i16")
        active = f.cast("bitcast", word, "i16", _BIT)
        offset = f.let(f"select {_BIT} {active}, {_I64} {offset_of(group)}, {_I64} zeroinitializer")
        f.store(_I64, offset, f.at(offsets, group, 8 * GROUP), 64)
        wrong.update("or", f.op("or", _I64, offset, f.op("sub", _I64, limits, offset)))
    reduce = f.module.intrinsic(f"llvm.vector.reduce.or.v{GROUP}i64", "i64", _I64)
    any_wrong = f.i64("icmp slt", f.call("i64", reduce, f"{_I64} {wrong.get()}"), 0)
    good = f.variable("i64", "%exec")
    with f.when(any_wrong), f.each_bit("%exec") as lane:
        offset = f.load("i64", f.at(offsets, lane, 8), 8)
        with f.when(_outside(f, offset, limit)):
            _fault(f, kind, f.cast("trunc", lane, "i64", "i32"), f.i64("add", offset, base))
            good.update("and", f.i64("xor", f.i64("shl", "1", lane), -1))
    return good.get()


def _words(f: Builder, row: str, group: str) -> str:
    """A group of lanes of a register as i64."""
    return f.cast("zext", f.load(_I32, f.at(row, group, 4 * GROUP), 64), _I32, _I64)


def _near(f: Builder, row: str, shift: str, size: str, offsets: str) -> None:
    """The usual case, quick: when the largest address of all lanes, active or not, is inside, return `%exec`.

    The offset of a lane is its 32-bit address plus `shift`; `size` is the size of the space.
    """
    top = f.variable(_I32, "zeroinitializer")
    greater = f.module.intrinsic(f"llvm.umax.v{GROUP}i32", _I32, _I32, _I32)
    with f.loop(LANES // GROUP) as group:
        words = f.load(_I32, f.at(row, group, 4 * GROUP), 64)
        top.set(f.call(_I32, greater, f"{_I32} {top.get()}", f"{_I32} {words}"))
    reduce = f.module.intrinsic(f"llvm.vector.reduce.umax.v{GROUP}i32", "i32", _I32)
    largest = f.cast("zext", f.call("i32", reduce, f"{_I32} {top.get()}"), "i32", "i64")
    room = f.i64("sub", f.i64("sub", size, "%size"), f.i64("add", largest, shift))
    with f.when(f.i64("icmp sge", f.i64("or", room, shift), 0)):
        all_shift = f.splat(shift, "i64", GROUP)
        with f.loop(LANES // GROUP) as group:
            place = f.op("add", _I64, _words(f, row, group), all_shift)
            f.store(_I64, place, f.at(offsets, group, 8 * GROUP), 64)
        f.do("ret i64 %exec")


def _global64(module: Module) -> None:
    """Addresses in two registers: `address + offset`."""
    parameters = {"state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_global64", "i64", parameters) as f:
        base = wave_field(f, "%state", "image_base")
        shift = f.splat(f.i64("sub", "%offset", base), "i64", GROUP)
        high_row = f.at("%address", ROW)

        def offset_of(group: str) -> str:
            low, high = _words(f, "%address", group), _words(f, high_row, group)
            whole = f.op("or", _I64, low, f.op("shl", _I64, high, "splat (i64 32)"))
            return f.op("add", _I64, whole, shift)

        offsets = wave_field(f, "%state", "offsets")
        f.do(f"ret i64 {_check(f, 'global', wave_field(f, '%state', 'image_size'), base, offset_of, offsets)}")


def _global32(module: Module) -> None:
    """A scalar base and a 32-bit unsigned offset in a register: `base + address`."""
    parameters = {"state": "ptr", "address": "ptr", "base": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_global32", "i64", parameters) as f:
        start = wave_field(f, "%state", "image_base")
        distance = f.i64("sub", "%base", start)
        offsets = wave_field(f, "%state", "offsets")
        space = wave_field(f, "%state", "image_size")
        _near(f, "%address", distance, space, offsets)
        shift = f.splat(distance, "i64", GROUP)
        good = _check(f, "global", space, start, lambda g: f.op("add", _I64, _words(f, "%address", g), shift), offsets)
        f.do(f"ret i64 {good}")


def _lds(module: Module) -> None:
    """LDS addresses: `address + offset` below the workgroup's allocation; `slot` chooses the array of offsets."""
    parameters = {
        "state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32", "slot": "i64"
    }  # fmt: skip
    with module.function("sim_lds", "i64", parameters) as f:
        shift = f.splat("%offset", "i64", GROUP)
        offsets = f.at(wave_field(f, "%state", "offsets"), "%slot", OFFSETS)
        space = wave_field(f, "%state", "lds_size")
        _near(f, "%address", "%offset", space, offsets)
        good = _check(f, "lds", space, "0", lambda g: f.op("add", _I64, _words(f, "%address", g), shift), offsets)
        f.do(f"ret i64 {good}")


def _private(module: Module) -> None:
    """Scratch addresses: `address + offset` in each lane's own memory, `address` signed; it may be null."""
    parameters = {"state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_private", "i64", parameters) as f:
        space = wave_field(f, "%state", "private_size")
        limit = f.i64("sub", space, "%size")
        offsets = wave_field(f, "%state", "offsets")
        given = f.let("icmp ne ptr %address, null")
        row = f.choose(given, "ptr", "%address", ZEROS)
        good = f.variable("i64", "%exec")
        with f.each_bit("%exec") as lane:
            word = f.cast("sext", f.load("i32", f.at(row, lane, 4), 4), "i32", "i64")
            own = f.i64("add", word, "%offset")
            with f.when(_outside(f, own, limit)):
                _fault(f, "scratch", f.cast("trunc", lane, "i64", "i32"), own)
                good.update("and", f.i64("xor", f.i64("shl", "1", lane), -1))
            f.store("i64", f.i64("add", own, f.i64("mul", lane, space)), f.at(offsets, lane, 8), 8)
        f.do(f"ret i64 {good.get()}")


def _inside(module: Module) -> None:
    """Which lanes have an offset in the scratch that is inside the memory image."""
    parameters = {"state": "ptr", "offsets": "ptr", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_inside", "i64", parameters) as f:
        space, start = wave_field(f, "%state", "image_size"), wave_field(f, "%state", "image_base")
        good = _check(f, "global", space, start, lambda g: f.load(_I64, f.at("%offsets", g, 8 * GROUP), 64), "%offsets")
        f.do(f"ret i64 {good}")


def _descriptor(f: Builder, words: str) -> tuple[str, str, str]:
    """Base address, stride and NUM_RECORDS of a buffer descriptor, as i64."""
    low, high, records = (f.cast("zext", f.load("i32", f.at(words, 4 * i), 4), "i32", "i64") for i in range(3))
    base = f.i64("or", low, f.i64("shl", f.i64("and", high, 0xFFFF), 32))
    return base, f.i64("and", f.i64("lshr", high, 16), 0x3FFF), records


def _near_buffer(f: Builder, row: str, fixed: str, records: str, base: str, offsets: str) -> None:
    """The usual case of `sim_buffer`: every lane is in range of the descriptor, and that range is in memory."""
    space = wave_field(f, "%state", "image_size")
    start = f.i64("add", f.i64("sub", base, wave_field(f, "%state", "image_base")), fixed)
    reach = f.i64("add", start, records)  # past the last byte that is in range
    small = f.module.intrinsic("llvm.smin.i64", "i64", "i64", "i64")
    _near(f, row, start, f.call("i64", small, f"i64 {reach}", f"i64 {space}"), offsets)


def _buffer(module: Module) -> None:
    """Buffer addresses: base + soffset + index * stride + voffset + offset.

    Gives the lanes that are in range as a whole. `remaining[lane]` (third array of the scratch) holds the bytes in
    range from the start of the access, so that a caller can treat the dwords of a partly covered access one by one. A
    lane out of range is not a fault. Range rule: bytes against NUM_RECORDS, soffset included, unless the descriptor
    has a stride and the access an index; then the index against NUM_RECORDS (CDNA3 ISA, "Range checking"). Swizzled
    descriptors and ADD_TID are refused with a fault.
    """
    parameters = {
        "state": "ptr", "words": "ptr", "soffset": "i32", "voffset": "ptr", "vindex": "ptr", "offset": "i64",
        "exec": "i64", "size": "i64", "at": "i32",
    }  # fmt: skip
    with module.function("sim_buffer", "i64", parameters) as f:
        base, stride, records = _descriptor(f, "%words")
        swizzle = f.i32("lshr", f.load("i32", f.at("%words", 4), 4), 31)
        add_tid = f.i32("and", f.load("i32", f.at("%words", 12), 4), 1 << 23)
        with f.when(f.i32("icmp ne", f.i32("or", swizzle, add_tid), 0)):
            _fault(f, "descriptor", "0", base)
            f.do("ret i64 0")
        fixed = f.i64("add", f.cast("zext", "%soffset", "i32", "i64"), "%offset")
        offsets = wave_field(f, "%state", "offsets")
        remaining = f.at(offsets, 2 * OFFSETS)
        has_index = f.let("icmp ne ptr %vindex, null")
        structured = f.let(f"and i1 {has_index}, {f.i64('icmp ne', stride, 0)}")
        row_offset = f.choose(f.let("icmp ne ptr %voffset, null"), "ptr", "%voffset", ZEROS)
        row_index = f.choose(has_index, "ptr", "%vindex", ZEROS)
        left_of_records = f.i64("sub", records, fixed)
        with f.when(f.let(f"xor i1 {has_index}, true")):
            _near_buffer(f, row_offset, fixed, left_of_records, base, offsets)
        by_index = f.splat(structured, "i1", GROUP)
        sizes, limit = f.splat("%size", "i64", GROUP), f.splat(records, "i64", GROUP)
        fixed_all, strides = f.splat(fixed, "i64", GROUP), f.splat(stride, "i64", GROUP)
        starts = f.splat(f.i64("sub", base, wave_field(f, "%state", "image_base")), "i64", GROUP)
        covered, touched = f.variable("i64", "0"), f.variable("i64", "0")
        with f.loop(LANES // GROUP) as group:
            index = _words(f, row_index, group)
            position = f.op("add", _I64, _words(f, row_offset, group), fixed_all)
            inside = f.op("icmp ult", _I64, index, limit)
            all_or_none = f.let(f"select {_BIT} {inside}, {_I64} {sizes}, {_I64} zeroinitializer")
            by_bytes = f.op("sub", _I64, limit, position)
            left = f.let(f"select {_BIT} {by_index}, {_I64} {all_or_none}, {_I64} {by_bytes}")
            place = f.op("add", _I64, f.op("add", _I64, position, starts), f.op("mul", _I64, index, strides))
            whole = f.op("icmp sge", _I64, left, sizes)
            some = f.op("icmp sgt", _I64, left, "zeroinitializer")
            place = f.let(f"select {_BIT} {some}, {_I64} {place}, {_I64} zeroinitializer")
            f.store(_I64, place, f.at(offsets, group, 8 * GROUP), 64)
            f.store(_I64, left, f.at(remaining, group, 8 * GROUP), 64)
            first = f.i64("shl", group, 4)
            for bits, total in ((whole, covered), (some, touched)):
                part = f.cast("zext", f.cast("bitcast", bits, _BIT, "i16"), "i16", "i64")
                total.update("or", f.i64("shl", part, first))
        some = f.i64("and", touched.get(), "%exec")
        good = f.call("i64", "sim_inside", "ptr %state", f"ptr {offsets}", f"i64 {some}", "i64 %size", "i32 %at")
        with f.each_bit(f.i64("and", some, f.i64("xor", good, -1))) as lane:  # a wild lane is not touched at all
            f.store("i64", "0", f.at(remaining, lane, 8), 8)
        f.do(f"ret i64 {f.i64('and', covered.get(), good)}")


def _scalar(module: Module) -> None:
    """ptr sim_scalar(state, address, size, at): host address of scalar data, or of scratch memory after a fault."""
    parameters = {"state": "ptr", "address": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_scalar", "ptr", parameters) as f:
        offset = f.i64("sub", f.i64("and", "%address", -4), wave_field(f, "%state", "image_base"))
        with f.when(_outside(f, offset, f.i64("sub", wave_field(f, "%state", "image_size"), "%size"))):
            _fault(f, "scalar", "-1", "%address")
            f.do(f"ret ptr {wave_field(f, '%state', 'offsets')}")
        f.do(f"ret ptr {f.at(wave_field(f, '%state', 'image'), offset)}")


def _scalar_buffer(module: Module) -> None:
    """ptr sim_scalar_buffer(state, words, offset, size, at): dwords of a buffer; those out of range are 0."""
    parameters = {"state": "ptr", "words": "ptr", "offset": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_scalar_buffer", "ptr", parameters) as f:
        base, stride, records = _descriptor(f, "%words")
        factor = f.choose(f.i64("icmp eq", stride, 0), "i64", "1", stride)
        limit = f.i64("mul", records, factor)
        out = wave_field(f, "%state", "offsets")
        first = f.i64("and", "%offset", -4)
        with f.loop("%size", 4) as step:
            position = f.i64("add", first, step)
            value = f.variable("i32", "0")
            with f.when(f.i64("icmp ule", f.i64("add", position, 4), limit)):
                address = f.i64("add", base, position)
                place = f.call("ptr", "sim_scalar", "ptr %state", f"i64 {address}", "i64 4", "i32 %at")
                value.set(f.load("i32", place, 4))
            f.store("i32", value.get(), f.at(out, step), 4)
        f.do(f"ret ptr {out}")
