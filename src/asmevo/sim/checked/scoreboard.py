"""Native account of outstanding operations: what a wait proves finished, and which registers are still to be written.

The rules are those of `asmevo.program.outstanding`, on the path that is executed: an operation is outstanding as long
as the waits that were executed allow it to be.
"""

from __future__ import annotations

from asmevo.isa.registers import VGPR_BASE
from asmevo.sim.checked.events import emit_event
from asmevo.sim.checked.fields import both, get, here, negated, put, shadow_of, wide
from asmevo.sim.checked.layout import (
    DMA,
    ENTRIES,
    ENTRY,
    GROUP,
    LDS,
    LOG,
    NEVER,
    NO_ACCESS,
    READ,
    RESTART,
    RUN,
    SCALAR,
    SHADOW,
    VM,
    WAVES,
    WORDS,
    WRITE,
)
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import ROW

_PENDING = ("pending", "pending_vm", "pending_lds", "pending_other")
_BOTH = 3
"""`through` of a flat access that has finished: bit 0 vmcnt, bit 1 lgkmcnt."""


def define(module: Module) -> None:
    """Add the functions of the account."""
    _start(module)
    _oldest(module)
    _mark(module)
    _issue(module)
    _wait(module)
    _pending(module)
    _undefined(module)
    _barrier(module)
    _end(module)


def _start(module: Module) -> None:
    """void check_start(shadow, number, workgroup): a wave begins."""
    parameters = {"shadow": "ptr", "number": "i64", "workgroup": "i32"}
    with module.function("check_start", "void", parameters) as f:
        number = f.cast("trunc", "%number", "i64", "i32")
        for name, value in (("count", "0"), ("vm", "0"), ("lds", "0"), ("epoch", "0"), ("wave", number)):
            put(f, "%shadow", SHADOW, name, value)
        put(f, "%shadow", SHADOW, "workgroup", "%workgroup")
        group, run = get(f, "%shadow", SHADOW, "group"), get(f, "%shadow", SHADOW, "run")
        initial = f.at(get(f, run, RUN, "initial"), "%number", 8 * (WORDS + 1))
        with f.loop(WORDS + 1) as word:
            put(f, "%shadow", SHADOW, "undefined", f.load("i64", f.at(initial, word, 8), 8), word)
            for name in _PENDING:
                put(f, "%shadow", SHADOW, name, 0, word)
        with f.when(f.i64("icmp eq", "%number", 0)):
            _forget(f, group)
        now = f.i32("add", get(f, group, GROUP, "stamp"), 1)
        with f.when(f.i64("icmp eq", "%number", 0)):
            put(f, group, GROUP, "base", now)
            put(f, group, GROUP, "synchronised", 0)
            for parity in (0, 1):
                put(f, group, GROUP, "open", now, parity)
                put(f, group, GROUP, "late", NEVER, parity)
                put(f, group, GROUP, "epoch_of", -parity, parity)
            _clear(f, get(f, group, GROUP, "written"), get(f, group, GROUP, "dwords"))
        for parity in (0, 1):
            _limit(f, group, parity, "%number", now, now, now)
        put(f, group, GROUP, "ended", 0, "%number")
        f.do("ret void")


def _clear(f: Builder, start: str, size: str) -> None:
    name = f.module.intrinsic("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1 immarg")
    f.call("void", name, f"ptr {start}", "i8 0", f"i64 {size}", "i1 false")


def _forget(f: Builder, group: str) -> None:
    """Long before stamps run out, begin anew with them; nothing of an earlier workgroup matters."""
    with f.when(f.i32("icmp sgt", get(f, group, GROUP, "stamp"), RESTART)):
        row = f.i64("shl", get(f, group, GROUP, "dwords"), 2)
        _clear(f, get(f, group, GROUP, "writers"), row)
        _clear(f, get(f, group, GROUP, "readers"), f.i64("mul", row, wide(f, get(f, group, GROUP, "waves"))))
        put(f, group, GROUP, "stamp", 0)


def _limit(f: Builder, group: str, parity: str | int, wave: str, read: str, write: str, dma: str) -> None:
    """From which stamp on accesses of a wave may be under way in an epoch of this parity."""
    first = str(parity * WAVES) if isinstance(parity, int) else f.i64("mul", parity, WAVES)
    put(f, group, GROUP, "read_from", read, f.i64("add", first, wave))
    at = f.i64("add", f.i64("mul", first, 2), wave)
    put(f, group, GROUP, "write_from", write, at)
    put(f, group, GROUP, "write_from", dma, f.i64("add", at, WAVES))


def _oldest(module: Module) -> None:
    """i32 check_oldest(shadow, access): stamp of the oldest outstanding operation of a kind, NEVER without one."""
    with module.function("check_oldest", "i32", {"shadow": "ptr", "access": "i32"}) as f:
        count, entries = get(f, "%shadow", SHADOW, "count"), get(f, "%shadow", SHADOW, "entries")
        with f.when(f.i32("icmp sgt", count, 0)), f.loop(wide(f, count)) as number:
            entry = f.at(entries, number, ENTRY.size)
            with f.when(f.i32("icmp eq", get(f, entry, ENTRY, "access"), "%access")):
                f.do(f"ret i32 {get(f, entry, ENTRY, 'stamp')}")
        f.do(f"ret i32 {NEVER}")


def _mark(module: Module) -> None:
    """void check_mark(shadow, queue, first, units): registers become pending."""
    with module.function("check_mark", "void", {"shadow": "ptr", "queue": "i32", "first": "i32", "units": "i32"}) as f:
        low, high, word = _bits(f, "%first", "%units")
        own = f.choose(f.i32("icmp eq", "%queue", VM), "i64", str(SHADOW["pending_vm"].offset),
                       f.choose(f.i32("icmp eq", "%queue", LDS), "i64", str(SHADOW["pending_lds"].offset),
                                str(SHADOW["pending_other"].offset)))  # fmt: skip
        for base in (f.at("%shadow", SHADOW["pending"].offset), f.at("%shadow", own)):
            for bits, at in ((low, word), (high, f.i64("add", word, 1))):
                cell = f.at(base, at, 8)
                f.store("i64", f.i64("or", f.load("i64", cell, 8), bits), cell, 8)
        f.do("ret void")


def _bits(f: Builder, first: str, units: str) -> tuple[str, str, str]:
    """A range of registers as bits of two words of a set, and the number of the first word."""
    start = wide(f, first)
    ones = f.i64("sub", f.i64("shl", "1", wide(f, units)), 1)
    both = f.let(
        f"shl i128 {f.cast('zext', ones, 'i64', 'i128')}, {f.cast('zext', f.i64('and', start, 63), 'i64', 'i128')}"
    )
    high = f.cast("trunc", f.let(f"lshr i128 {both}, 64"), "i128", "i64")
    return f.cast("trunc", both, "i128", "i64"), high, f.i64("lshr", start, 6)


def _issue(module: Module) -> None:
    """void check_issue(state, at, queue, certain, first, units, access): an operation starts."""
    parameters = {"state": "ptr", **dict.fromkeys(("at", "queue", "certain", "first", "units", "access"), "i32")}
    with module.function("check_issue", "void", parameters) as f:
        shadow, place = shadow_of(f), here(f, "%at")
        stamp = f.variable("i32", str(NEVER))
        with f.when(f.i32("icmp ne", "%access", NO_ACCESS)):
            group = get(f, shadow, SHADOW, "group")
            now = f.i32("add", get(f, group, GROUP, "stamp"), 1)
            put(f, group, GROUP, "stamp", now)
            put(f, shadow, SHADOW, "stamp", now)
            f.store("i32", place, f.at(get(f, group, GROUP, "log"), wide(f, f.i32("and", now, LOG - 1)), 4), 4)
            stamp.set(now)
        seq = f.variable("i32", "0")
        for queue, name in ((VM, "vm"), (LDS, "lds")):
            with f.when(f.i32("icmp eq", "%queue", queue)):
                number = f.i32("add", get(f, shadow, SHADOW, name), "%certain")
                put(f, shadow, SHADOW, name, number)
                seq.set(number)
        with f.when(f.i32("icmp eq", f.i32("or", "%units", "%access"), 0)):
            f.do("ret void")
        count = f.variable("i32", get(f, shadow, SHADOW, "count"))
        entries = get(f, shadow, SHADOW, "entries")
        with f.when(
            f.i32("icmp sge", count.get(), ENTRIES)
        ):  # the oldest finishes, as where the hardware's counters end
            name = f.module.intrinsic("llvm.memmove.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1 immarg")
            second, rest = f.at(entries, ENTRY.size), (ENTRIES - 1) * ENTRY.size
            f.call("void", name, f"ptr {entries}", f"ptr {second}", f"i64 {rest}", "i1 false")
            count.set(str(ENTRIES - 1))
        entry = f.at(entries, wide(f, count.get()), ENTRY.size)
        values = {"place": place, "queue": "%queue", "seq": seq.get(), "first": "%first", "units": "%units"}
        for name, value in {**values, "stamp": stamp.get(), "access": "%access", "through": "0"}.items():
            put(f, entry, ENTRY, name, value)
        put(f, shadow, SHADOW, "count", f.i32("add", count.get(), 1))
        with f.when(f.i32("icmp ne", "%units", 0)):
            f.call("void", "check_mark", f"ptr {shadow}", "i32 %queue", "i32 %first", "i32 %units")
        f.do("ret void")


def _wait(module: Module) -> None:
    """void check_wait(state, vm, lgkm): forget what a wait proves finished."""
    with module.function("check_wait", "void", {"state": "ptr", "vm": "i32", "lgkm": "i32"}) as f:
        shadow = shadow_of(f)
        count = get(f, shadow, SHADOW, "count")
        with f.when(f.i32("icmp eq", count, 0)):
            f.do("ret void")
        with f.loop(WORDS + 1) as word:
            for name in _PENDING:
                put(f, shadow, SHADOW, name, 0, word)
        entries, kept = get(f, shadow, SHADOW, "entries"), f.variable("i32", "0")
        newest = {queue: get(f, shadow, SHADOW, name) for queue, name in ((VM, "vm"), (LDS, "lds"))}
        with f.loop(wide(f, count)) as number:
            entry = f.at(entries, number, ENTRY.size)
            queue, seq = get(f, entry, ENTRY, "queue"), get(f, entry, ENTRY, "seq")
            through = get(f, entry, ENTRY, "through")
            for zero, bit in (("%vm", 1), ("%lgkm", 2)):
                reached = f.cast("zext", f.i32("icmp eq", zero, 0), "i1", "i32")
                through = f.i32("or", through, f.i32("mul", reached, bit))
            put(f, entry, ENTRY, "through", through)
            finished = f.i32("icmp eq", through, _BOTH)
            for kind, value in ((VM, "%vm"), (LDS, "%lgkm")):
                newer = f.i32("sub", newest[kind], seq)
                done = f.i32("icmp sge", newer, value)
                finished = f.choose(f.i32("icmp eq", queue, kind), "i1", done, finished)
            finished = f.choose(f.i32("icmp eq", queue, SCALAR), "i1", f.i32("icmp eq", "%lgkm", 0), finished)
            with f.when(negated(f, finished)):
                target = f.at(entries, wide(f, kept.get()), ENTRY.size)
                for half in (0, 16):
                    f.store("<4 x i32>", f.load("<4 x i32>", f.at(entry, half), 16), f.at(target, half), 16)
                kept.update("add", 1)
                units = get(f, target, ENTRY, "units")
                with f.when(f.i32("icmp ne", units, 0)):
                    first = get(f, target, ENTRY, "first")
                    f.call("void", "check_mark", f"ptr {shadow}", f"i32 {queue}", f"i32 {first}", f"i32 {units}")
        put(f, shadow, SHADOW, "count", kept.get())
        f.do("ret void")


def _pending(module: Module) -> None:
    """void check_pending(state, at, last, touched): some of `touched` is still to be written; record by what.

    The instructions concerned are among those from `at` to `last`. Vector registers become poison.
    """
    with module.function("check_pending", "void", {"state": "ptr", "at": "i32", "last": "i32", "touched": "ptr"}) as f:
        shadow, place = shadow_of(f), here(f, "%at")
        count, entries = get(f, shadow, SHADOW, "count"), get(f, shadow, SHADOW, "entries")
        fill = f.splat(get(f, get(f, shadow, SHADOW, "run"), RUN, "fill"), "i32", 16)
        with f.when(f.i32("icmp sgt", count, 0)), f.loop(wide(f, count)) as number:
            entry = f.at(entries, number, ENTRY.size)
            first, units = get(f, entry, ENTRY, "first"), get(f, entry, ENTRY, "units")
            low, high, word = _bits(f, first, units)
            for bits, index in ((low, word), (high, f.i64("add", word, 1))):
                hit = f.i64("and", f.load("i64", f.at("%touched", index, 8), 8), bits)
                with f.when(f.i64("icmp ne", hit, 0)):
                    with f.each_bit(hit) as bit:
                        unit = f.i64("add", f.i64("shl", index, 6), bit)
                        with f.when(f.i64("icmp sge", unit, VGPR_BASE)):
                            row = f.at("%state", f.i64("sub", unit, VGPR_BASE), ROW)
                            with f.loop(ROW // 64) as part:
                                f.store("<16 x i32>", fill, f.at(row, part, 64), 64)
                    earlier = get(f, entry, ENTRY, "place")
                    emit_event(f, "pending", place, last="%last", earlier=earlier, first=first, units=units)
        f.do("ret void")


def _undefined(module: Module) -> None:
    """void check_undefined(state, at, last, used): some of `used` was never written; record which, once a wave."""
    with module.function("check_undefined", "void", {"state": "ptr", "at": "i32", "last": "i32", "used": "ptr"}) as f:
        shadow, place = shadow_of(f), here(f, "%at")
        with f.loop(WORDS) as word:
            old = get(f, shadow, SHADOW, "undefined", word)
            hit = f.i64("and", f.load("i64", f.at("%used", word, 8), 8), old)
            put(f, shadow, SHADOW, "undefined", f.i64("xor", old, hit), word)
            with f.each_bit(hit) as bit:
                unit = f.cast("trunc", f.i64("add", f.i64("shl", word, 6), bit), "i64", "i32")
                emit_event(f, "undefined", place, last="%last", first=unit, units=1)
        f.do("ret void")


def _barrier(module: Module) -> None:
    """void check_barrier(state): the wave arrives; what is outstanding may take place in the next epoch, too."""
    with module.function("check_barrier", "void", {"state": "ptr"}) as f:
        shadow = shadow_of(f)
        group = get(f, shadow, SHADOW, "group")
        epoch = f.i32("add", get(f, shadow, SHADOW, "epoch"), 1)
        put(f, shadow, SHADOW, "epoch", epoch)
        parity = wide(f, f.i32("and", epoch, 1))
        now = f.i32("add", get(f, group, GROUP, "stamp"), 1)
        lower = f.module.intrinsic("llvm.smin.i32", "i32", "i32", "i32")

        def least(a: str, b: str) -> str:
            return f.call("i32", lower, f"i32 {a}", f"i32 {b}")

        oldest = {n: f.call("i32", "check_oldest", f"ptr {shadow}", f"i32 {n}") for n in (READ, WRITE, DMA)}
        wave = wide(f, get(f, shadow, SHADOW, "wave"))
        _limit(f, group, parity, wave, *(least(oldest[n], now) for n in (READ, WRITE, DMA)))
        with f.when(f.i32("icmp ne", get(f, group, GROUP, "epoch_of", parity), epoch)):
            put(f, group, GROUP, "epoch_of", epoch, parity)
            put(f, group, GROUP, "late", NEVER, parity)
        late = least(get(f, group, GROUP, "late", parity), least(oldest[WRITE], oldest[DMA]))
        put(f, group, GROUP, "late", late, parity)
        put(f, group, GROUP, "open", now, parity)  # that of the last wave to arrive stays
        with f.loop(wide(f, get(f, group, GROUP, "waves"))) as other:
            ended = get(f, group, GROUP, "ended", other)
            before = both(f, f.i32("icmp ne", ended, 0), f.i32("icmp sle", ended, epoch))
            with f.when(before):
                _limit(f, group, parity, other, str(NEVER), str(NEVER), str(NEVER))
        f.do("ret void")


def _end(module: Module) -> None:
    """void check_end(state): the wave ends, and with it all it did."""
    with module.function("check_end", "void", {"state": "ptr"}) as f:
        shadow = shadow_of(f)
        epoch = f.i32("add", get(f, shadow, SHADOW, "epoch"), 1)
        put(f, get(f, shadow, SHADOW, "group"), GROUP, "ended", epoch, wide(f, get(f, shadow, SHADOW, "wave")))
        f.do("ret void")
