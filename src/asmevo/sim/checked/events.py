"""Native recording of what checked execution finds, each thing once."""

from __future__ import annotations

from asmevo.sim.checked.fields import either, get, put, shadow_of, wide
from asmevo.sim.checked.layout import EVENT, KINDS, RUN, SEEN, SHADOW
from asmevo.sim.ir import Builder, Module

_PARAMETERS = {
    "state": "ptr", "kind": "i32", "place": "i32", "last": "i32", "earlier": "i32", "other": "i32", "lane": "i32",
    "address": "i64", "first": "i32", "units": "i32",
}  # fmt: skip
_PRIMES = (0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)


def define(module: Module) -> None:
    """void check_event(...): keep an event, unless one of this kind, place, earlier access and registers is known."""
    with module.function("check_event", "void", _PARAMETERS) as f:
        shadow = shadow_of(f)
        run = get(f, shadow, SHADOW, "run")
        used = get(f, run, RUN, "used")
        with f.when(f.i32("icmp sge", used, get(f, run, RUN, "capacity"))):
            f.do("ret void")
        with f.when(_is_known(f, get(f, run, RUN, "seen"))):
            f.do("ret void")
        event = f.at(get(f, run, RUN, "events"), wide(f, used), EVENT.size)
        for name in ("kind", "place", "last", "earlier", "other", "lane", "address", "first", "units"):
            put(f, event, EVENT, name, f"%{name}")
        for name in ("wave", "workgroup"):
            put(f, event, EVENT, name, get(f, shadow, SHADOW, name))
        put(f, run, RUN, "used", f.i32("add", used, 1))
        f.do("ret void")


def _is_known(f: Builder, table: str) -> str:
    """Look an event up in the table of keys and put it there; gives whether it was there, as i1."""
    key = wide(f, "%kind")
    for name, prime in zip(("place", "earlier", "first", "units"), _PRIMES, strict=True):
        part = f.i64("mul", f.i64("add", f.cast("sext", f"%{name}", "i32", "i64"), 1), prime)
        key = f.i64("xor", f.i64("mul", key, 31), part)
    key = f.i64("or", key, 1)
    found, slot, steps = f.variable("i1", "true"), f.variable("i64", f.i64("lshr", key, 40)), f.variable("i64", "0")
    head, done = f.fresh("probe"), f.fresh("found")
    f.jump(head)
    f.start(head)
    place = f.at(table, f.i64("and", slot.get(), SEEN - 1), 8)
    old = f.load("i64", place, 8)
    with f.when(f.i64("icmp eq", old, 0)):
        f.store("i64", key, place, 8)
        found.set("false")
        f.jump(done)
    with f.when(either(f, f.i64("icmp eq", old, key), f.i64("icmp sge", steps.get(), SEEN))):
        f.jump(done)
    slot.update("add", 1)
    steps.update("add", 1)
    f.jump(head)
    f.start(done)
    return found.get()


def emit_event(
    f: Builder,
    kind: str | None,
    place: str,
    *,
    code: str = "",
    last: str | int = 0,
    earlier: str | int = -1,
    other: str | int = -1,
    lane: str | int = -1,
    address: str | int = 0,
    first: str | int = 0,
    units: str | int = 0,
) -> None:
    """Record an event of a kind, or of the i32 `code` of one."""
    number = code if kind is None else str(KINDS.index(kind))
    numbers = [f"i32 {v}" for v in (number, place, last, earlier, other, lane)]
    f.call("void", "check_event", "ptr %state", *numbers, f"i64 {address}", f"i32 {first}", f"i32 {units}")
