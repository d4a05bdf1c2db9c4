"""Native functions that turn the addresses of 64 lanes into checked offsets.

Each writes `offsets[lane]` for the lanes of `exec` and gives the lanes that may be accessed. An address outside of its
space is recorded as a fault of the wave, and the lane is left out: the host's own memory is never at risk.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from asmevo.sim.ir import Builder, Module, Variable
from asmevo.sim.layout import FAULTS, LANES, ROW
from asmevo.sim.runtime.fields import set_wave_field, wave_field, worker_field

GROUP = 16
I64 = f"<{GROUP} x i64>"
I32 = f"<{GROUP} x i32>"
BIT = f"<{GROUP} x i1>"

OFFSETS = 8 * LANES
"""Bytes of one array of offsets."""
ARRAYS = 7
"""Arrays of the scratch of a wave: two of offsets, one of bytes that remain in range, four of dwords that lie apart."""
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
    _aligned(module)
    _scalar(module)


def _record(module: Module) -> None:
    """void sim_fault(state, kind, at, lane, address): keep the first fault of a wave."""
    parameters = {"state": "ptr", "kind": "i32", "at": "i32", "lane": "i32", "address": "i64"}
    with module.function("sim_fault", "void", parameters) as f:
        with f.when(f.i32("icmp eq", wave_field(f, "%state", "fault"), 0)):
            for name, value in (("fault", "kind"), ("fault_at", "at"), ("fault_lane", "lane")):
                set_wave_field(f, "%state", name, f"%{value}")
            set_wave_field(f, "%state", "fault_address", "%address")
        f.do("ret void")


def record_fault(f: Builder, kind: str, lane: str, address: str) -> None:
    code = FAULTS.index(kind)
    f.call("void", "sim_fault", "ptr %state", f"i32 {code}", "i32 %at", f"i32 {lane}", f"i64 {address}")


def outside(f: Builder, offset: str, limit: str) -> str:
    """Whether `offset` is below 0 or above `limit`, as i1: the sign of either difference."""
    return f.i64("icmp slt", f.i64("or", offset, f.i64("sub", limit, offset)), 0)


def check(
    f: Builder,
    kind: str,
    size: str,
    base: str,
    offset_of: Callable[[str], str],
    offsets: str,
    elsewhere: Callable[[str, str], str] | None = None,
) -> str:
    """Compute and check the offsets of all lanes; gives the lanes of `%exec` that are inside.

    `offset_of(group)` emits the offsets of a group of lanes; `size` is the size of the space and `base` the address of
    its start, for the report. `elsewhere(lane, address)` emits what is tried for a lane outside; it gives an i1 that
    says whether the lane's offset has been stored.
    """
    limit = f.i64("sub", size, "%size")
    limits = f.splat(limit, "i64", GROUP)
    wrong = f.variable(I64, "zeroinitializer")
    with f.loop(LANES // GROUP) as group:
        word = f.cast("trunc", f.i64("lshr", "%exec", f.i64("shl", group, 4)), "i64", "i16")
        active = f.cast("bitcast", word, "i16", BIT)
        offset = f.let(f"select {BIT} {active}, {I64} {offset_of(group)}, {I64} zeroinitializer")
        f.store(I64, offset, f.at(offsets, group, 8 * GROUP), 64)
        wrong.update("or", f.op("or", I64, offset, f.op("sub", I64, limits, offset)))
    reduce = f.module.intrinsic(f"llvm.vector.reduce.or.v{GROUP}i64", "i64", I64)
    any_wrong = f.i64("icmp slt", f.call("i64", reduce, f"{I64} {wrong.get()}"), 0)
    good = f.variable("i64", "%exec")
    with f.when(any_wrong), f.each_bit("%exec") as lane:
        offset = f.load("i64", f.at(offsets, lane, 8), 8)
        with f.when(outside(f, offset, limit)):
            address = f.i64("add", offset, base)
            if elsewhere is None:
                _drop(f, kind, lane, address, good)
            else:
                with f.when(f.let(f"xor i1 {elsewhere(lane, address)}, true")):
                    _drop(f, kind, lane, address, good)
    return good.get()


def _drop(f: Builder, kind: str, lane: str, address: str, good: Variable) -> None:
    """Record the fault of a lane and leave it out."""
    record_fault(f, kind, f.cast("trunc", lane, "i64", "i32"), address)
    good.update("and", f.i64("xor", f.i64("shl", "1", lane), -1))


def words_of(f: Builder, row: str, group: str) -> str:
    """A group of lanes of a register as i64."""
    return f.cast("zext", f.load(I32, f.at(row, group, 4 * GROUP), 64), I32, I64)


def near(f: Builder, row: str, shift: str, size: str, offsets: str) -> None:
    """The usual case, quick: when the largest address of all lanes, active or not, is inside, return `%exec`.

    The offset of a lane is its 32-bit address plus `shift`; `size` is the size of the space.
    """
    top = f.variable(I32, "zeroinitializer")
    greater = f.module.intrinsic(f"llvm.umax.v{GROUP}i32", I32, I32, I32)
    with f.loop(LANES // GROUP) as group:
        words = f.load(I32, f.at(row, group, 4 * GROUP), 64)
        top.set(f.call(I32, greater, f"{I32} {top.get()}", f"{I32} {words}"))
    reduce = f.module.intrinsic(f"llvm.vector.reduce.umax.v{GROUP}i32", "i32", I32)
    largest = f.cast("zext", f.call("i32", reduce, f"{I32} {top.get()}"), "i32", "i64")
    room = f.i64("sub", f.i64("sub", size, "%size"), f.i64("add", largest, shift))
    with f.when(f.i64("icmp sge", f.i64("or", room, shift), 0)):
        all_shift = f.splat(shift, "i64", GROUP)
        with f.loop(LANES // GROUP) as group:
            place = f.op("add", I64, words_of(f, row, group), all_shift)
            f.store(I64, place, f.at(offsets, group, 8 * GROUP), 64)
        f.do("ret i64 %exec")


@contextmanager
def told(
    module: Module, name: str, parameters: Mapping[str, str], tell: Callable[[Builder, str], None]
) -> Generator[Builder]:
    """A function that gives lanes, and one in front of it that tells the hook of the run of them, if there is one."""
    with module.function(f"{name}_untold", "i64", parameters) as f:
        yield f
    arguments = (f"{kind} %{parameter}" for parameter, kind in parameters.items())
    with module.function(name, "i64", parameters) as f:
        lanes = f.call("i64", f"{name}_untold", *arguments)
        with f.when(f.let(f"icmp ne ptr {wave_field(f, '%state', 'access_hook')}, null")):
            tell(f, lanes)
        f.do(f"ret i64 {lanes}")


def tell(f: Builder, lanes: str, slot: str = "0") -> None:
    """Tell the hook of an access by lanes whose places are in an array of the scratch."""
    firsts = worker_field(f, wave_field(f, "%state", "worker"), "firsts")
    block = f.cast("zext", wave_field(f, "%state", "chunk"), "i32", "i64")
    position = f.cast("zext", f.i32("add", f.load("i32", f.at(firsts, block, 4), 4), "%at"), "i32", "i64")
    places = f.at(wave_field(f, "%state", "offsets"), slot, OFFSETS)
    notes, hook = wave_field(f, "%state", "access_notes"), wave_field(f, "%state", "access_hook")
    f.do(f"call void {hook}(ptr {notes}, i64 {position}, i64 {slot}, ptr {places}, i64 {lanes})")


def _global64(module: Module) -> None:
    """Addresses in two registers: `address + offset`."""
    parameters = {"state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with told(module, "sim_global64", parameters, tell) as f:
        base = wave_field(f, "%state", "image_base")
        shift = f.splat(f.i64("sub", "%offset", base), "i64", GROUP)
        high_row = f.at("%address", ROW)

        def offset_of(group: str) -> str:
            low, high = words_of(f, "%address", group), words_of(f, high_row, group)
            whole = f.op("or", I64, low, f.op("shl", I64, high, "splat (i64 32)"))
            return f.op("add", I64, whole, shift)

        offsets = wave_field(f, "%state", "offsets")
        f.do(f"ret i64 {check(f, 'global', wave_field(f, '%state', 'image_size'), base, offset_of, offsets)}")


def _global32(module: Module) -> None:
    """A scalar base and a 32-bit unsigned offset in a register: `base + address`."""
    parameters = {"state": "ptr", "address": "ptr", "base": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with told(module, "sim_global32", parameters, tell) as f:
        start = wave_field(f, "%state", "image_base")
        distance = f.i64("sub", "%base", start)
        offsets = wave_field(f, "%state", "offsets")
        space = wave_field(f, "%state", "image_size")
        near(f, "%address", distance, space, offsets)
        shift = f.splat(distance, "i64", GROUP)
        good = check(f, "global", space, start, lambda g: f.op("add", I64, words_of(f, "%address", g), shift), offsets)
        f.do(f"ret i64 {good}")


def _lds(module: Module) -> None:
    """LDS addresses: `address + offset` below the workgroup's allocation; `slot` chooses the array of offsets."""
    parameters = {
        "state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32", "slot": "i64"
    }  # fmt: skip
    with told(module, "sim_lds", parameters, lambda f, lanes: tell(f, lanes, "%slot")) as f:
        shift = f.splat("%offset", "i64", GROUP)
        offsets = f.at(wave_field(f, "%state", "offsets"), "%slot", OFFSETS)
        space = wave_field(f, "%state", "lds_size")
        near(f, "%address", "%offset", space, offsets)
        good = check(f, "lds", space, "0", lambda g: f.op("add", I64, words_of(f, "%address", g), shift), offsets)
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
            with f.when(outside(f, own, limit)):
                _drop(f, "scratch", lane, own, good)
            f.store("i64", f.i64("add", own, f.i64("mul", lane, space)), f.at(offsets, lane, 8), 8)
        f.do(f"ret i64 {good.get()}")


def _inside(module: Module) -> None:
    """Which lanes have an offset in the scratch that is inside the memory image."""
    parameters = {"state": "ptr", "offsets": "ptr", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_inside", "i64", parameters) as f:
        space, start = wave_field(f, "%state", "image_size"), wave_field(f, "%state", "image_base")
        good = check(f, "global", space, start, lambda g: f.load(I64, f.at("%offsets", g, 8 * GROUP), 64), "%offsets")
        f.do(f"ret i64 {good}")


def _aligned(module: Module) -> None:
    """Which lanes of `exec` have an offset that is a multiple of `size`, a power of two; the others are faults.

    `base` is added to an offset for the report.
    """
    parameters = {"state": "ptr", "offsets": "ptr", "base": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_aligned", "i64", parameters) as f:
        good = f.variable("i64", "%exec")
        with f.each_bit("%exec") as lane:
            offset = f.load("i64", f.at("%offsets", lane, 8), 8)
            with f.when(f.i64("icmp ne", f.i64("and", offset, f.i64("sub", "%size", 1)), 0)):
                _drop(f, "alignment", lane, f.i64("add", offset, "%base"), good)
        f.do(f"ret i64 {good.get()}")


def _scalar(module: Module) -> None:
    """ptr sim_scalar(state, address, size, at): host address of scalar data, or of scratch memory after a fault."""
    parameters = {"state": "ptr", "address": "i64", "size": "i64", "at": "i32"}
    with module.function("sim_scalar", "ptr", parameters) as f:
        offset = f.i64("sub", f.i64("and", "%address", -4), wave_field(f, "%state", "image_base"))
        with f.when(outside(f, offset, f.i64("sub", wave_field(f, "%state", "image_size"), "%size"))):
            record_fault(f, "scalar", "-1", "%address")
            f.do(f"ret ptr {wave_field(f, '%state', 'offsets')}")
        f.do(f"ret ptr {f.at(wave_field(f, '%state', 'image'), offset)}")
