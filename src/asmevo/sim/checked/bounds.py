"""Native checks of global memory: every access inside a buffer, and no store of another workgroup met unordered."""

from __future__ import annotations

from asmevo.sim.checked.events import emit_event
from asmevo.sim.checked.fields import both, either, get, here, negated, put, shadow_of
from asmevo.sim.checked.layout import GROUP, KINDS, RUN, SHADOW
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import LANES, ROW
from asmevo.sim.runtime.addresses import OFFSETS
from asmevo.sim.runtime.fields import wave_field

STORE, ATOMIC, SCOPED = 1, 2, 4
"""Bits of the mode of an access; SCOPED also for what orders a workgroup after others."""
_I64 = "<16 x i64>"


def define(module: Module) -> None:
    """Add the checks."""
    _inside(module)
    _stores(module)
    _global(module)
    _rest(module)
    _scalar(module)
    _sync(module)


def _inside(module: Module) -> None:
    """i1 check_inside(run, first, end, mode): whether offsets [first, end) of the image are one buffer's."""
    with module.function("check_inside", "i1", {"run": "ptr", "first": "i64", "end": "i64", "mode": "i32"}) as f:
        spans, count = get(f, "%run", RUN, "spans"), get(f, "%run", RUN, "span_count")
        stores = f.i32("icmp ne", f.i32("and", "%mode", STORE | ATOMIC), 0)
        with f.loop(f.cast("zext", count, "i32", "i64")) as number:
            span = f.at(spans, number, 24)
            low, high, may = (f.load("i64", f.at(span, 8 * n), 8) for n in range(3))
            within = both(f, f.i64("icmp sge", "%first", low), f.i64("icmp sle", "%end", high))
            allowed = either(f, f.i64("icmp ne", may, 0), negated(f, stores))
            with f.when(both(f, within, allowed)):
                f.do("ret i1 true")
        f.do("ret i1 false")


def _global(module: Module) -> None:
    """void check_global(state, lanes, size, mode, data, at): an access of the lanes whose offsets are in the scratch.

    `data` is the first register of what is stored, or null.
    """
    parameters = {"state": "ptr", "lanes": "i64", "size": "i64", "mode": "i32", "data": "ptr", "at": "i32"}
    with module.function("check_global", "void", parameters) as f:
        with f.when(f.i64("icmp eq", "%lanes", 0)):
            f.do("ret void")
        run = get(f, shadow_of(f), SHADOW, "run")
        offsets = wave_field(f, "%state", "offsets")
        low, high = _range(f, offsets)
        end = f.i64("add", high, "%size")
        good = f.call("i1", "check_inside", f"ptr {run}", f"i64 {low}", f"i64 {end}", "i32 %mode")
        with f.when(negated(f, good)), f.each_bit("%lanes") as lane:
            offset = f.load("i64", f.at(offsets, lane, 8), 8)
            _report_outside(f, run, offset, f.i64("add", offset, "%size"), f.cast("trunc", lane, "i64", "i32"))
        with f.when(f.i32("icmp ne", f.i32("and", "%mode", ATOMIC | SCOPED), 0)):
            f.call("void", "check_sync", "ptr %state")
        with f.when(f.let(f"icmp ne ptr {get(f, run, RUN, 'stores')}, null")):
            arguments = ("i64 %lanes", "i64 %size", "i32 %mode", "ptr %data", "i32 %at")
            f.call("void", "check_stores", "ptr %state", *arguments)
        f.do("ret void")


def _range(f: Builder, offsets: str) -> tuple[str, str]:
    """Smallest and largest offset of the active lanes."""
    low, high = f.variable(_I64, f"splat (i64 {(1 << 63) - 1})"), f.variable(_I64, "splat (i64 -1)")
    lower, upper = (f.module.intrinsic(f"llvm.{n}.v16i64", _I64, _I64, _I64) for n in ("smin", "smax"))
    with f.loop(LANES // 16) as group:
        word = f.cast("trunc", f.i64("lshr", "%lanes", f.i64("shl", group, 4)), "i64", "i16")
        active = f.cast("bitcast", word, "i16", "<16 x i1>")
        offset = f.load(_I64, f.at(offsets, group, 128), 64)
        for best, pick in ((low, lower), (high, upper)):
            now = best.get()
            chosen = f.let(f"select <16 x i1> {active}, {_I64} {offset}, {_I64} {now}")
            best.set(f.call(_I64, pick, f"{_I64} {now}", f"{_I64} {chosen}"))
    names = [f.module.intrinsic(f"llvm.vector.reduce.{n}.v16i64", "i64", _I64) for n in ("smin", "smax")]
    return f.call("i64", names[0], f"{_I64} {low.get()}"), f.call("i64", names[1], f"{_I64} {high.get()}")


def _report_outside(f: Builder, run: str, offset: str, end: str, lane: str) -> None:
    """Record an access that is not inside of a buffer."""
    inside = f.call("i1", "check_inside", f"ptr {run}", f"i64 {offset}", f"i64 {end}", "i32 %mode")
    with f.when(negated(f, inside)):
        stores = f.i32("icmp ne", f.i32("and", "%mode", STORE | ATOMIC), 0)
        kinds = (str(KINDS.index("bounds.write")), str(KINDS.index("bounds.read")))
        address = f.i64("add", offset, wave_field(f, "%state", "image_base"))
        emit_event(f, None, here(f, "%at"), code=f.choose(stores, "i32", *kinds), lane=lane, address=address)


def _rest(module: Module) -> None:
    """void check_rest(state, lanes, size, mode, data, at): buffer accesses of which only some dwords are in range."""
    parameters = {"state": "ptr", "lanes": "i64", "size": "i64", "mode": "i32", "data": "ptr", "at": "i32"}
    with module.function("check_rest", "void", parameters) as f:
        run = get(f, shadow_of(f), SHADOW, "run")
        offsets = wave_field(f, "%state", "offsets")
        remaining = f.at(offsets, 2 * OFFSETS)
        with f.each_bit("%lanes") as lane:
            left = f.i64("and", f.load("i64", f.at(remaining, lane, 8), 8), -4)
            with f.when(f.i64("icmp sgt", left, 0)):
                offset = f.load("i64", f.at(offsets, lane, 8), 8)
                _report_outside(f, run, offset, f.i64("add", offset, left), f.cast("trunc", lane, "i64", "i32"))
        f.do("ret void")


def _scalar(module: Module) -> None:
    """void check_scalar(state, address, size, mode, at): a scalar access; an address outside of memory is a fault."""
    parameters = {"state": "ptr", "address": "i64", "size": "i64", "mode": "i32", "at": "i32"}
    with module.function("check_scalar", "void", parameters) as f:
        run = get(f, shadow_of(f), SHADOW, "run")
        offset = f.i64("sub", f.i64("and", "%address", -4), wave_field(f, "%state", "image_base"))
        _report_outside(f, run, offset, f.i64("add", offset, "%size"), "-1")
        with f.when(f.i32("icmp ne", "%mode", 0)):
            f.call("void", "check_sync", "ptr %state")
        f.do("ret void")


def _sync(module: Module) -> None:
    """void check_sync(state): the workgroup did something that orders it after others."""
    with module.function("check_sync", "void", {"state": "ptr"}) as f:
        put(f, get(f, shadow_of(f), SHADOW, "group"), GROUP, "synchronised", 1)
        f.do("ret void")


def _stores(module: Module) -> None:
    """void check_stores(state, lanes, size, mode, data, at): plain accesses against plain stores of other workgroups.

    A store that leaves what was there disturbs nobody. A workgroup that executed an atomic, an access with a scope
    beyond the wave or cache control counts as ordered after all others from there on.
    """
    parameters = {"state": "ptr", "lanes": "i64", "size": "i64", "mode": "i32", "data": "ptr", "at": "i32"}
    with module.function("check_stores", "void", parameters) as f:
        shadow = shadow_of(f)
        run, group = get(f, shadow, SHADOW, "run"), get(f, shadow, SHADOW, "group")
        table, offsets = get(f, run, RUN, "stores"), wave_field(f, "%state", "offsets")
        free = f.i32("icmp eq", get(f, group, GROUP, "synchronised"), 0)
        mine = f.i32("add", get(f, shadow, SHADOW, "workgroup"), 1)
        image = wave_field(f, "%state", "image")
        stores = f.i32("icmp ne", f.i32("and", "%mode", STORE), 0)
        with f.when(f.i32("icmp ne", f.i32("and", "%mode", ATOMIC), 0)):
            f.do("ret void")
        narrow = f.i64("icmp slt", "%size", 4)
        with f.each_bit("%lanes") as lane:
            offset = f.load("i64", f.at(offsets, lane, 8), 8)
            part = f.i64("and", f.i64("shl", f.i64("sub", f.i64("shl", "1", "%size"), 1), f.i64("and", offset, 3)), 15)
            mask = f.cast("trunc", f.choose(narrow, "i64", part, "15"), "i64", "i32")
            with f.loop("%size", 4) as step:
                place = f.i64("add", offset, step)
                cell = f.at(table, f.i64("lshr", place, 2), 4)
                record = f.load("i32", cell, 4)
                owner = f.i32("lshr", record, 4)
                foreign = both(f, f.i32("icmp ne", owner, 0), f.i32("icmp ne", owner, mine))
                overlap = f.i32("icmp ne", f.i32("and", record, mask), 0)
                wrong = both(f, both(f, foreign, overlap), free)
                with f.when(wrong):
                    changes = _changes(f, f.at(image, place), lane, step, stores)
                    with f.when(changes):
                        kinds = (str(KINDS.index("global.write")), str(KINDS.index("global.read")))
                        address = f.i64("add", place, wave_field(f, "%state", "image_base"))
                        emit_event(f, None, here(f, "%at"), code=f.choose(stores, "i32", *kinds),
                                   lane=f.cast("trunc", lane, "i64", "i32"), address=address,
                                   other=f.i32("sub", owner, 1))  # fmt: skip
                with f.when(stores):
                    f.store("i32", f.i32("or", f.i32("shl", mine, 4), mask), cell, 4)
        f.do("ret void")


def _changes(f: Builder, place: str, lane: str, step: str, stores: str) -> str:
    """Whether a store leaves another value than it finds; true for a load."""
    result = f.variable("i1", "true")
    with f.when(both(f, stores, f.let("icmp ne ptr %data, null"))):
        row = f.at(f.at("%data", lane, 4), f.i64("mul", f.i64("lshr", step, 2), ROW))
        for size, kind in ((1, "i8"), (2, "i16")):
            with f.when(f.i64("icmp eq", "%size", size)):
                result.set(f.op("icmp ne", kind, f.load(kind, place), f.load(kind, row)))
        with f.when(f.i64("icmp sge", "%size", 4)):
            result.set(f.op("icmp ne", "i32", f.load("i32", place), f.load("i32", row)))
    return result.get()
