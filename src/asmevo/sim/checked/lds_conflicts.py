"""What an access of LDS disturbs, lane by lane: the rare case, in which something may still be under way."""

from __future__ import annotations

from asmevo.sim.checked.events import emit_event
from asmevo.sim.checked.fields import both, either, get, here, negated, wide
from asmevo.sim.checked.layout import ATOMIC, CHANGED, DMA, GROUP, KINDS, READ, WAVES, WRITE
from asmevo.sim.checked.lds_frame import AGENT, ALL_BYTES, UPDATE, Frame
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import ROW
from asmevo.sim.runtime.fields import wave_field


def define(module: Module) -> None:
    """Add the functions that explain a suspicion."""
    _underway(module)
    _explain(module)


def _underway(module: Module) -> None:
    """i1 check_underway(state, table, width, agent, stamp): whether an access of another agent may be under way.

    `table` are the stamps from which on accesses of the agents may be, `width` of them for each parity of the epoch.
    """
    parameters = {"state": "ptr", "table": "ptr", "width": "i64", "agent": "i32", "stamp": "i32"}
    with module.function("check_underway", "i1", parameters) as f:
        frame = Frame(f)
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
        frame, place = Frame(f), here(f, "%at")
        lds = wave_field(f, "%state", "lds")
        is_read, is_dma = f.i32("icmp eq", "%mode", READ), f.i32("icmp eq", "%mode", DMA)
        writes, updates = negated(f, is_read), f.i32("icmp eq", "%mode", UPDATE)
        needs = either(f, is_read, updates)
        narrow = f.i64("icmp slt", "%size", 4)
        with f.each_bit("%lanes") as lane:
            offset = f.load("i64", f.at("%offsets", lane, 8), 8)
            shift = f.choose(narrow, "i64", f.i64("and", offset, 3), "0")
            bytes_ = f.i64("and", f.i64("shl", f.i64("sub", f.i64("shl", "1", "%size"), 1), shift), ALL_BYTES)
            mask = f.cast("trunc", f.choose(narrow, "i64", bytes_, str(ALL_BYTES)), "i64", "i32")
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
    f: Builder, frame: Frame, place: str, dword: str, mask: str, lane: str, how: tuple[str, str, str, str]
) -> None:
    """Record the last write of a dword if it may be under way."""
    is_read, is_dma, updates, changes = how
    record = f.load("i32", f.at(frame.writers, dword, 4), 4)
    stamp, agent = f.i32("lshr", record, 5), f.i32("and", record, AGENT)
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
        earlier = frame.logged(f, stamp)
        emit_event(f, None, place, code=code, earlier=earlier, other=f.i32("and", agent, WAVES - 1), lane=lane,
                   address=f.i64("shl", dword, 2))  # fmt: skip


def _last_reads(f: Builder, frame: Frame, place: str, dword: str, mask: str, lane: str, is_dma: str) -> None:
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
            earlier = frame.logged(f, stamp)
            emit_event(f, "lds.write", place, earlier=earlier, other=number, lane=lane,
                       address=f.i64("shl", dword, 2))  # fmt: skip
