"""Native shadow of LDS: who wrote and who read each dword last, and whether that may still be under way.

An access of another wave is ordered before this one only if a barrier lies between them and the other wave had waited
for its access when it arrived there. Accesses of one wave are in order, except between LDS instructions and LDS-DMA.
A store that leaves what was there disturbs nobody, nor do atomics disturb each other.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.sim.checked import lds_conflicts
from asmevo.sim.checked.fields import either, get, here, negated, put, shadow_of, wide
from asmevo.sim.checked.layout import (
    ATOMIC,
    CHANGED,
    DMA,
    GROUP,
    NEVER,
    READ,
    READ_RECORD,
    RUN,
    SHADOW,
    WAVES,
    WRITE,
)
from asmevo.sim.checked.lds_frame import AGENT, ALL_BYTES, UPDATE, Frame
from asmevo.sim.ir import Builder, Module, Variable
from asmevo.sim.layout import LANES, ROW
from asmevo.sim.runtime.fields import wave_field

SIZES = (1, 2, 4, 8, 12, 16)
"""Bytes of one access of a lane."""
_MODES = {READ: "read", WRITE: "write", UPDATE: "update"}


def access_name(size: int, mode: int) -> str:
    """The function that checks an access of LDS: `name(state, offsets, lanes, data, at)`."""
    return f"check_lds_{_MODES[mode]}_{size}"


def define(module: Module) -> None:
    """Add the functions of the shadow."""
    lds_conflicts.define(module)
    _record(module)
    _flat(module)
    for size in SIZES:
        for mode in (READ, WRITE, UPDATE):
            _access(module, size, mode)
    _dma(module)


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
        frame = Frame(f)
        hit = f.variable(vector, "zeroinitializer")
        suspect = f.splat(f.i32("shl", frame.suspect(f), 5), "i32", words)
        own = f.splat(frame.wave, "i32", words)

        def place(lane: str) -> tuple[str, str]:
            """Number of the dword, and which of its bytes."""
            offset = f.load("i64", f.at("%offsets", lane, 8), 8)
            mask = str(ALL_BYTES)
            if size < 4:
                shift = f.cast("trunc", f.i64("and", offset, 3), "i64", "i32")
                mask = f.i32("and", f.i32("shl", str((1 << size) - 1), shift), ALL_BYTES)
            return f.i64("lshr", offset, 2), mask

        def suspicious(lane: str) -> None:
            """Whether the last write may be under way, or a read finds what nobody wrote."""
            dword, mask = place(lane)
            record = f.load(vector, f.at(frame.writers, dword, 4), 4)
            recent = f.op("icmp sge", vector, record, suspect)
            agent = f.op("and", vector, record, f"splat (i32 {AGENT})" if words > 1 else f"<i32 {AGENT}>")
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
    f: Builder, frame: Frame, vector: str, words: int, hit: Variable, dword_of: Callable[[str], str]
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
        frame = Frame(f)
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
        frame = Frame(f)
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
            other = f.op("icmp ne", vector, f.op("and", vector, record, f"splat (i32 {AGENT})"), own)
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
            f.store("i8", str(ALL_BYTES), f.at(frame.written, dword), 1)
            f.store("i8", str(ALL_BYTES | CHANGED), f.at(frame.last, dword), 1)
        f.do("ret void")
