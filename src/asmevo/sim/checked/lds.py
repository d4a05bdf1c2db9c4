"""Native shadow of LDS: who wrote and who read each dword last, and whether that may still be under way.

An access of another wave is ordered before this one only if a barrier lies between them and the other wave had waited
for its access when it arrived there. Accesses of one wave are in order, except between LDS instructions and LDS-DMA.
A store that leaves what was there disturbs nobody, nor do atomics disturb each other.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.sim.checked.events import emit_event
from asmevo.sim.checked.fields import both, either, get, here, negated, put, shadow_of, wide
from asmevo.sim.checked.layout import (
    ATOMIC,
    CHANGED,
    DMA,
    GROUP,
    KINDS,
    LOG,
    NEVER,
    READ,
    READ_RECORD,
    RUN,
    SHADOW,
    WAVES,
    WRITE,
)
from asmevo.sim.ir import Builder, Module, Variable
from asmevo.sim.layout import LANES, ROW
from asmevo.sim.runtime.fields import wave_field

SIZES = (1, 2, 4, 8, 12, 16)
"""Bytes of one access of a lane."""
UPDATE = 4
"""An atomic, besides READ, WRITE and DMA."""
_MODES = {READ: "read", WRITE: "write", UPDATE: "update"}
_OWN = (1 << 5) - 1
_ALL = 15


def access_name(size: int, mode: int) -> str:
    """The function that checks an access of LDS: `name(state, offsets, lanes, data, at)`."""
    return f"check_lds_{_MODES[mode]}_{size}"


def define(module: Module) -> None:
    """Add the functions of the shadow."""
    _underway(module)
    _explain(module)
    _record(module)
    _flat(module)
    for size in SIZES:
        for mode in (READ, WRITE, UPDATE):
            _access(module, size, mode)
    _dma(module)


class _Frame:
    """What every function of the shadow loads first."""

    def __init__(self, f: Builder) -> None:
        self.shadow = shadow_of(f)
        self.group = get(f, self.shadow, SHADOW, "group")
        self.wave = get(f, self.shadow, SHADOW, "wave")
        self.stamp = get(f, self.shadow, SHADOW, "stamp")
        self.epoch = get(f, self.shadow, SHADOW, "epoch")
        self.parity = wide(f, f.i32("and", self.epoch, 1))
        self.dwords = get(f, self.group, GROUP, "dwords")
        names = ("readers", "writers", "written", "last")
        self.readers, self.writers, self.written, self.last = (get(f, self.group, GROUP, name) for name in names)

    def suspect(self, f: Builder) -> str:
        """Writes from this stamp on may be under way."""
        lower = f.module.intrinsic("llvm.smin.i32", "i32", "i32", "i32")
        opened, late = (get(f, self.group, GROUP, name, self.parity) for name in ("open", "late"))
        return f.call("i32", lower, f"i32 {opened}", f"i32 {late}")

    def row_of(self, f: Builder, wave: str) -> str:
        """The reads of a wave."""
        return f.at(self.readers, f.i64("mul", wave, f.i64("shl", self.dwords, 2)))


def _each_lane(f: Builder, lanes: str, body: Callable[[str], None]) -> None:
    """The body for every lane of a mask, quickest for all of them."""
    done = f.fresh("lanes")
    with f.when(f.i64("icmp eq", lanes, -1)):
        with f.loop(LANES) as lane:
            body(lane)
        f.jump(done)
    with f.each_bit(lanes) as lane:
        body(lane)
    f.jump(done)
    f.start(done)


def _access(module: Module, size: int, mode: int) -> None:
    words = max(size // 4, 1)
    vector, small = f"<{words} x i32>", f"<{words} x i8>"
    parameters = {"state": "ptr", "offsets": "ptr", "lanes": "i64", "data": "ptr", "at": "i32"}
    with module.function(access_name(size, mode), "void", parameters) as f:
        frame = _Frame(f)
        hit = f.variable(vector, "zeroinitializer")
        suspect = f.splat(f.i32("shl", frame.suspect(f), 5), "i32", words)
        own = f.splat(frame.wave, "i32", words)

        def place(lane: str) -> tuple[str, str]:
            """Number of the dword, and which of its bytes."""
            offset = f.load("i64", f.at("%offsets", lane, 8), 8)
            mask = str(_ALL)
            if size < 4:
                shift = f.cast("trunc", f.i64("and", offset, 3), "i64", "i32")
                mask = f.i32("and", f.i32("shl", str((1 << size) - 1), shift), _ALL)
            return f.i64("lshr", offset, 2), mask

        def suspicious(lane: str) -> None:
            """Whether the last write may be under way, or a read finds what nobody wrote."""
            dword, mask = place(lane)
            record = f.load(vector, f.at(frame.writers, dword, 4), 4)
            recent = f.op("icmp sge", vector, record, suspect)
            agent = f.op("and", vector, record, f"splat (i32 {_OWN})" if words > 1 else f"<i32 {_OWN}>")
            found = f.op("and", f"<{words} x i1>", recent, f.op("icmp ne", vector, agent, own))
            if mode != WRITE:
                need = f.splat(f.cast("trunc", mask, "i32", "i8"), "i8", words)
                have = f.op("and", small, f.load(small, f.at(frame.written, dword), 1), need)
                found = f.op("or", f"<{words} x i1>", found, f.op("icmp ne", small, have, need))
            hit.update("or", f.cast("sext", found, f"<{words} x i1>", vector))

        _each_lane(f, "%lanes", suspicious)
        if mode != READ:
            _read_by_others(f, frame, vector, words, hit, lambda lane: place(lane)[0])
        reduce = f.module.intrinsic(f"llvm.vector.reduce.or.v{words}i32", "i32", vector)
        with f.when(f.i32("icmp ne", f.call("i32", reduce, f"{vector} {hit.get()}"), 0)):
            arguments = f"ptr %offsets, i64 %lanes, i64 {size}, i32 {mode}, ptr %data, i32 %at".split(", ")
            f.call("void", "check_lds_explain", "ptr %state", *arguments)
        if mode == READ:
            row = frame.row_of(f, wide(f, frame.wave))
            stamp = f.i32("shl", frame.stamp, 4)

            def note_read(lane: str) -> None:
                dword, mask = place(lane)
                f.store(vector, f.splat(f.i32("or", stamp, mask), "i32", words), f.at(row, dword, 4), 4)

            _each_lane(f, "%lanes", note_read)
            reads = get(f, get(f, frame.shadow, SHADOW, "run"), RUN, "reads")
            with f.when(f.let(f"icmp ne ptr {reads}, null")):
                f.call("void", "check_lds_record", "ptr %state", "ptr %offsets", "i64 %lanes", f"i64 {size}", "i32 %at")
            f.do("ret void")
            return
        record = f.splat(f.i32("or", f.i32("shl", frame.stamp, 5), frame.wave), "i32", words)
        lds = wave_field(f, "%state", "lds")

        def note_write(lane: str) -> None:
            dword, mask = place(lane)
            f.store(vector, record, f.at(frame.writers, dword, 4), 4)
            bits = f.splat(f.cast("trunc", mask, "i32", "i8"), "i8", words)
            known = f.at(frame.written, dword)
            f.store(small, f.op("or", small, f.load(small, known, 1), bits), known, 1)
            flags = bits
            if mode == UPDATE:
                flags = f.op("or", small, bits, f.splat(str(CHANGED | ATOMIC), "i8", words))
            elif size >= 4:
                old, new = f.load(vector, f.at(lds, dword, 4), 4), "poison"
                for word in range(words):
                    part = f.load("i32", f.at(f.at("%data", lane, 4), word * ROW), 4)
                    new = f.let(f"insertelement {vector} {new}, i32 {part}, i32 {word}")
                differ = f.cast("zext", f.op("icmp ne", vector, old, new), f"<{words} x i1>", small)
                flags = f.op("or", small, bits, f.op("shl", small, differ, f.splat("4", "i8", words)))
            else:
                flags = f.op("or", small, bits, f.splat(str(CHANGED), "i8", words))
            f.store(small, flags, f.at(frame.last, dword), 1)

        _each_lane(f, "%lanes", note_write)
        f.do("ret void")


def _read_by_others(
    f: Builder, frame: _Frame, vector: str, words: int, hit: Variable, dword_of: Callable[[str], str]
) -> None:
    """Whether other waves may still be reading what is written."""
    with f.loop(wide(f, get(f, frame.group, GROUP, "waves"))) as other:
        index = f.i64("add", f.i64("mul", frame.parity, WAVES), other)
        start = get(f, frame.group, GROUP, "read_from", index)
        own = f.i32("icmp eq", f.cast("trunc", other, "i64", "i32"), frame.wave)
        skip = either(f, own, f.i32("icmp eq", start, NEVER))
        limit = f.splat(f.choose(skip, "i32", str(NEVER), f.i32("shl", start, 4)), "i32", words)
        row = frame.row_of(f, other)

        def recent(lane: str) -> None:
            read = f.load(vector, f.at(row, dword_of(lane), 4), 4)
            hit.update("or", f.cast("sext", f.op("icmp sge", vector, read, limit), f"<{words} x i1>", vector))

        with f.when(negated(f, skip)):
            _each_lane(f, "%lanes", recent)


def _underway(module: Module) -> None:
    """i1 check_underway(state, table, width, agent, stamp): whether an access of another agent may be under way.

    `table` are the stamps from which on accesses of the agents may be, `width` of them for each parity of the epoch.
    """
    parameters = {"state": "ptr", "table": "ptr", "width": "i64", "agent": "i32", "stamp": "i32"}
    with module.function("check_underway", "i1", parameters) as f:
        frame = _Frame(f)
        wave = wide(f, f.i32("and", "%agent", WAVES - 1))
        ended = get(f, frame.group, GROUP, "ended", wave)
        gone = both(f, f.i32("icmp ne", ended, 0), f.i32("icmp sle", ended, frame.epoch))
        index = f.i64("add", f.i64("mul", frame.parity, "%width"), wide(f, "%agent"))
        recent = f.i32("icmp sge", "%stamp", f.load("i32", f.at("%table", index, 4), 4))
        f.do(f"ret i1 {both(f, recent, negated(f, gone))}")


def _explain(module: Module) -> None:
    """void check_lds_explain(state, offsets, lanes, size, mode, data, at): record what an access disturbs.

    `data` is null where the value is not known beforehand.
    """
    parameters = {
        "state": "ptr", "offsets": "ptr", "lanes": "i64", "size": "i64", "mode": "i32", "data": "ptr", "at": "i32"
    }  # fmt: skip
    with module.function("check_lds_explain", "void", parameters) as f:
        frame, place = _Frame(f), here(f, "%at")
        lds = wave_field(f, "%state", "lds")
        is_read, is_dma = f.i32("icmp eq", "%mode", READ), f.i32("icmp eq", "%mode", DMA)
        writes, updates = negated(f, is_read), f.i32("icmp eq", "%mode", UPDATE)
        needs = either(f, is_read, updates)
        narrow = f.i64("icmp slt", "%size", 4)
        with f.each_bit("%lanes") as lane:
            offset = f.load("i64", f.at("%offsets", lane, 8), 8)
            shift = f.choose(narrow, "i64", f.i64("and", offset, 3), "0")
            bytes_ = f.i64("and", f.i64("shl", f.i64("sub", f.i64("shl", "1", "%size"), 1), shift), _ALL)
            mask = f.cast("trunc", f.choose(narrow, "i64", bytes_, str(_ALL)), "i64", "i32")
            number = f.cast("trunc", lane, "i64", "i32")
            with f.loop("%size", 4) as step:
                dword = f.i64("lshr", f.i64("add", offset, step), 2)
                address = f.i64("shl", dword, 2)
                changes = _changes(f, lds, dword, mask, shift, lane, step, narrow)
                written = f.cast("zext", f.load("i8", f.at(frame.written, dword), 1), "i8", "i32")
                missing = f.i32("icmp ne", f.i32("and", written, mask), mask)
                with f.when(both(f, needs, missing)):
                    emit_event(f, "lds.undefined", place, lane=number, address=address)
                _last_write(f, frame, place, dword, mask, number, (is_read, is_dma, updates, changes))
                with f.when(both(f, writes, changes)):
                    _last_reads(f, frame, place, dword, mask, number, is_dma)
        f.do("ret void")


def _changes(f: Builder, lds: str, dword: str, mask: str, shift: str, lane: str, step: str, narrow: str) -> str:
    """Whether an access would leave another value than it finds, as i1."""
    result = f.variable("i1", "true")
    with f.when(f.let("icmp ne ptr %data, null")):
        old = f.load("i32", f.at(lds, dword, 4), 4)
        row = f.at(f.at("%data", lane, 4), f.i64("mul", f.i64("lshr", step, 2), ROW))
        half = f.cast("zext", f.load("i16", row, 1), "i16", "i32")
        bits = f.i32("shl", half, f.cast("trunc", f.i64("shl", shift, 3), "i64", "i32"))
        new = f.variable("i32", bits)
        with f.when(negated(f, narrow)):
            new.set(f.load("i32", row, 1))
        kept = f.variable("i32", "0")
        for byte in range(4):
            has = f.cast("trunc", f.i32("lshr", mask, byte), "i32", "i1")
            kept.update("or", f.choose(has, "i32", str(0xFF << 8 * byte), "0"))
        result.set(f.i32("icmp ne", f.i32("and", f.i32("xor", old, new.get()), kept.get()), 0))
    return result.get()


def _last_write(
    f: Builder, frame: _Frame, place: str, dword: str, mask: str, lane: str, how: tuple[str, str, str, str]
) -> None:
    """Record the last write of a dword if it may be under way."""
    is_read, is_dma, updates, changes = how
    record = f.load("i32", f.at(frame.writers, dword, 4), 4)
    stamp, agent = f.i32("lshr", record, 5), f.i32("and", record, _OWN)
    flags = f.cast("zext", f.load("i8", f.at(frame.last, dword), 1), "i8", "i32")
    same = f.i32("icmp eq", f.i32("and", agent, WAVES - 1), frame.wave)
    by_dma = f.i32("icmp sge", agent, WAVES)
    table = f.at(frame.group, GROUP["write_from"].offset)
    other = f.call("i1", "check_underway", "ptr %state", f"ptr {table}", f"i64 {2 * WAVES}", f"i32 {agent}",
                   f"i32 {stamp}")  # fmt: skip
    wanted = f.choose(by_dma, "i32", str(DMA), str(WRITE))
    oldest = f.call("i32", "check_oldest", f"ptr {frame.shadow}", f"i32 {wanted}")
    crossed = f.let(f"xor i1 {by_dma}, {is_dma}")  # between the two queues of one wave
    mine = both(f, crossed, f.i32("icmp sge", stamp, oldest))
    recent = f.i32("icmp sge", stamp, get(f, frame.group, GROUP, "base"))
    underway = both(f, recent, f.choose(same, "i1", mine, other))
    overlap = f.i32("icmp ne", f.i32("and", flags, mask), 0)
    plain = negated(f, both(f, f.i32("icmp ne", f.i32("and", flags, ATOMIC), 0), updates))
    matters = f.choose(is_read, "i1", f.i32("icmp ne", f.i32("and", flags, CHANGED), 0), changes)
    wrong = underway
    for condition in (overlap, plain, matters):
        wrong = both(f, wrong, condition)
    with f.when(wrong):
        kinds = ("lds.read", "lds.write", "lds.dma")
        code = f.choose(is_read, "i32", str(KINDS.index(kinds[0])), str(KINDS.index(kinds[1])))
        code = f.choose(same, "i32", str(KINDS.index(kinds[2])), code)
        earlier = _logged(f, frame, stamp)
        emit_event(f, None, place, code=code, earlier=earlier, other=f.i32("and", agent, WAVES - 1), lane=lane,
                   address=f.i64("shl", dword, 2))  # fmt: skip


def _last_reads(f: Builder, frame: _Frame, place: str, dword: str, mask: str, lane: str, is_dma: str) -> None:
    """Record the last read of each wave that may be under way when a dword is written."""
    table = f.at(frame.group, GROUP["read_from"].offset)
    own_oldest = f.call("i32", "check_oldest", f"ptr {frame.shadow}", f"i32 {READ}")
    with f.loop(wide(f, get(f, frame.group, GROUP, "waves"))) as other:
        record = f.load("i32", f.at(frame.row_of(f, other), dword, 4), 4)
        stamp = f.i32("lshr", record, 4)
        number = f.cast("trunc", other, "i64", "i32")
        same = f.i32("icmp eq", number, frame.wave)
        theirs = f.call("i1", "check_underway", "ptr %state", f"ptr {table}", f"i64 {WAVES}", f"i32 {number}",
                        f"i32 {stamp}")  # fmt: skip
        mine = both(f, is_dma, f.i32("icmp sge", stamp, own_oldest))
        recent = f.i32("icmp sge", stamp, get(f, frame.group, GROUP, "base"))
        overlap = f.i32("icmp ne", f.i32("and", record, mask), 0)
        wrong = both(f, both(f, recent, overlap), f.choose(same, "i1", mine, theirs))
        with f.when(wrong):
            earlier = _logged(f, frame, stamp)
            emit_event(f, "lds.write", place, earlier=earlier, other=number, lane=lane,
                       address=f.i64("shl", dword, 2))  # fmt: skip


def _logged(f: Builder, frame: _Frame, stamp: str) -> str:
    """The place of the access with a stamp."""
    return f.load("i32", f.at(get(f, frame.group, GROUP, "log"), wide(f, f.i32("and", stamp, LOG - 1)), 4), 4)


def _record(module: Module) -> None:
    """void check_lds_record(state, offsets, lanes, size, at): keep a digest of what a read gives."""
    parameters = {"state": "ptr", "offsets": "ptr", "lanes": "i64", "size": "i64", "at": "i32"}
    with module.function("check_lds_record", "void", parameters) as f:
        shadow, lds = shadow_of(f), wave_field(f, "%state", "lds")
        run = get(f, shadow, SHADOW, "run")
        used = get(f, run, RUN, "reads_used")
        with f.when(f.i64("icmp sge", used, get(f, run, RUN, "reads_room"))):
            f.do("ret void")
        digest = f.variable("i64", "%lanes")
        with f.each_bit("%lanes") as lane:
            place = f.at(lds, f.load("i64", f.at("%offsets", lane, 8), 8))
            with f.loop("%size") as byte:
                value = f.cast("zext", f.load("i8", f.at(place, byte)), "i8", "i64")
                digest.set(f.i64("mul", f.i64("xor", digest.get(), value), 0x100000001B3))
        record = f.at(get(f, run, RUN, "reads"), used, READ_RECORD)
        folded = f.cast("trunc", f.i64("lshr", digest.get(), 32), "i64", "i32")
        values = (here(f, "%at"), get(f, shadow, SHADOW, "wave"), get(f, shadow, SHADOW, "workgroup"), folded)
        for i, value in enumerate(values):
            f.store("i32", value, f.at(record, 4 * i), 4)
        put(f, run, RUN, "reads_used", f.i64("add", used, 1))
        f.do("ret void")


def _flat(module: Module) -> None:
    """void check_lds_flat(state, lanes, size): what flat stores write in LDS is written; order is not followed."""
    with module.function("check_lds_flat", "void", {"state": "ptr", "lanes": "i64", "size": "i64"}) as f:
        frame = _Frame(f)
        offsets, image, lds = (wave_field(f, "%state", name) for name in ("offsets", "image", "lds"))
        start = f.i64("sub", f.cast("ptrtoint", lds, "ptr", "i64"), f.cast("ptrtoint", image, "ptr", "i64"))
        limit = f.i64("sub", wave_field(f, "%state", "lds_size"), "%size")
        with f.each_bit("%lanes") as lane:
            distance = f.i64("sub", f.load("i64", f.at(offsets, lane, 8), 8), start)
            inside = f.i64("icmp sge", f.i64("or", distance, f.i64("sub", limit, distance)), 0)
            with f.when(inside), f.loop("%size") as byte:
                place = f.i64("add", distance, byte)
                cell = f.at(frame.written, f.i64("lshr", place, 2))
                bit = f.cast("trunc", f.i64("shl", "1", f.i64("and", place, 3)), "i64", "i8")
                f.store("i8", f.op("or", "i8", f.load("i8", cell), bit), cell)
        f.do("ret void")


def _dma(module: Module) -> None:
    """void check_lds_dma(state, lanes, target, at): lane n writes LDS at `target + 4 n`, past all registers."""
    parameters = {"state": "ptr", "lanes": "i64", "target": "i64", "at": "i32"}
    with module.function("check_lds_dma", "void", parameters) as f:
        frame = _Frame(f)
        size = f.i64("shl", frame.dwords, 2)
        inside = f.i64("icmp sle", f.i64("add", "%target", 4 * LANES), size)
        with f.when(negated(f, inside)):  # a fault that is found elsewhere
            f.do("ret void")
        offsets = f.buffer(8 * LANES)
        with f.loop(LANES) as lane:
            f.store("i64", f.i64("add", "%target", f.i64("shl", lane, 2)), f.at(offsets, lane, 8), 8)
        first = f.i64("lshr", "%target", 2)
        agent = f.i32("add", frame.wave, WAVES)
        suspect, vector = f.splat(f.i32("shl", frame.suspect(f), 5), "i32", 16), "<16 x i32>"
        own, hit = f.splat(agent, "i32", 16), f.variable(vector, "zeroinitializer")
        mine = f.call("i32", "check_oldest", f"ptr {frame.shadow}", f"i32 {READ}")
        with f.loop(LANES // 16) as part:
            at = f.i64("add", first, f.i64("shl", part, 4))
            record = f.load(vector, f.at(frame.writers, at, 4), 4)
            other = f.op("icmp ne", vector, f.op("and", vector, record, f"splat (i32 {_OWN})"), own)
            found = f.op("and", "<16 x i1>", f.op("icmp sge", vector, record, suspect), other)
            hit.update("or", f.cast("sext", found, "<16 x i1>", vector))
            with f.loop(wide(f, get(f, frame.group, GROUP, "waves"))) as wave:
                start = get(f, frame.group, GROUP, "read_from", f.i64("add", f.i64("mul", frame.parity, WAVES), wave))
                same = f.i32("icmp eq", f.cast("trunc", wave, "i64", "i32"), frame.wave)
                start = f.choose(same, "i32", mine, start)
                never = f.i32("icmp eq", start, NEVER)
                limit = f.splat(f.choose(never, "i32", str(NEVER), f.i32("shl", start, 4)), "i32", 16)
                read = f.load(vector, f.at(frame.row_of(f, wave), at, 4), 4)
                hit.update("or", f.cast("sext", f.op("icmp sge", vector, read, limit), "<16 x i1>", vector))
        reduce = f.module.intrinsic("llvm.vector.reduce.or.v16i32", "i32", vector)
        with f.when(f.i32("icmp ne", f.call("i32", reduce, f"{vector} {hit.get()}"), 0)):
            arguments = f"ptr {offsets}, i64 %lanes, i64 4, i32 {DMA}, ptr null, i32 %at".split(", ")
            f.call("void", "check_lds_explain", "ptr %state", *arguments)
        record = f.i32("or", f.i32("shl", frame.stamp, 5), agent)
        with f.each_bit("%lanes") as lane:
            dword = f.i64("add", first, lane)
            f.store("i32", record, f.at(frame.writers, dword, 4), 4)
            f.store("i8", str(_ALL), f.at(frame.written, dword), 1)
            f.store("i8", str(_ALL | CHANGED), f.at(frame.last, dword), 1)
        f.do("ret void")
