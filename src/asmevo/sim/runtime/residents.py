"""The native loop over the workgroups of a worker.

Python enters it with `sim_run(worker)` and is called back by its return when a block is not compiled yet, when the
trace buffer is full, when a wave faults or runs out of its instruction budget, or when nothing can go on; entering
again resumes.

One workgroup runs at a time, as long as its waves come to barriers or end. When they only poll memory, the next
resident one runs, and when all do, another one is started: the chip would have it resident already.
"""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module, Variable
from asmevo.sim.layout import ALL_DONE, NEW_SLOT, ROW, RUNNING, SLOT_BYTES, STALLED, STARTED, WAITING
from asmevo.sim.runtime.fields import (
    set_slot_field,
    set_wave_field,
    set_worker_field,
    slot_field,
    wave_field,
    worker_field,
)
from asmevo.sim.runtime.schedule import YIELD, fill, groups_of

_FINISHED, _MOVED, _STUCK = range(3)
"""What a round of turns brought: the workgroup has ended; a wave came to a barrier, or the barrier opened; nothing."""


def define(module: Module) -> None:
    """Add `sim_run` and its parts."""
    _begin(module)
    _round(module)
    _advance(module)
    _run(module)
    _note_change(module)


def _note_change(module: Module) -> None:
    """void sim_note_change(state, changed): an atomic wrote something else than it found when `changed` is not 0."""
    with module.function("sim_note_change", "void", {"state": "ptr", "changed": "i64"}) as f:
        with f.when(f.i64("icmp ne", "%changed", 0)):
            worker = wave_field(f, "%state", "worker")
            set_worker_field(f, worker, "changes", f.i64("add", worker_field(f, worker, "changes"), 1))
        f.do("ret void")


def _slot(f: Builder, number: str) -> str:
    wide = f.cast("sext", number, "i32", "i64")
    return f.at(worker_field(f, "%worker", "slots"), wide, SLOT_BYTES)


def _run(module: Module) -> None:
    """i32 sim_run(worker)."""
    with module.function("sim_run", "i32", {"worker": "ptr"}) as f:
        saved = f.call("i64", "sim_float_get")
        f.call("void", "sim_float_mode", f"i32 {worker_field(f, '%worker', 'host_mode')}")
        result = f.variable("i32", "0")
        head, leave = f.fresh("head"), f.fresh("leave")
        f.jump(head)
        f.start(head)
        with f.when(f.i32("icmp eq", worker_field(f, "%worker", "residents"), 0)):
            _leave_if_stopped(f, result, leave)
            begun = f.call("i32", "sim_begin", "ptr %worker", f"ptr {_slot(f, worker_field(f, '%worker', 'slot'))}")
            with f.when(f.i32("icmp eq", begun, 0)):
                result.set(str(ALL_DONE))
                f.jump(leave)
            with f.when(f.i32("icmp ne", worker_field(f, "%worker", "stepping"), 0)):
                result.set(str(STARTED))
                f.jump(leave)
        slot = _slot(f, worker_field(f, "%worker", "slot"))
        current = worker_field(f, "%worker", "current")
        wave = f.load("ptr", f.at(slot_field(f, slot, "turns"), f.cast("zext", current, "i32", "i64"), 8), 8)
        under_way = f.i32("icmp eq", worker_field(f, "%worker", "turn_over"), 0)  # it may have ended when last stepped
        runs = f.i32("icmp eq", wave_field(f, wave, "phase"), RUNNING)
        with f.when(f.let(f"and i1 {under_way}, {runs}")):
            reason = f.call("i32", "sim_wave", "ptr %worker", f"ptr {wave}")
            with f.when(f.i32("icmp ne", reason, YIELD)):
                result.set(reason)
                f.jump(leave)
        set_worker_field(f, "%worker", "turn_over", "0")
        following = f.i32("add", current, 1)
        set_worker_field(f, "%worker", "current", following)
        with f.when(f.i32("icmp uge", following, worker_field(f, "%worker", "wave_count"))):
            set_worker_field(f, "%worker", "current", "0")
            outcome = f.call("i32", "sim_round", "ptr %worker", f"ptr {slot}")
            after = f.call("i32", "sim_advance", "ptr %worker", f"i32 {outcome}")
            with f.when(f.i32("icmp ne", after, YIELD)):
                result.set(after)
                f.jump(leave)
        f.jump(head)
        f.start(leave)
        f.call("void", "sim_float_set", f"i64 {saved}")
        f.do(f"ret i32 {result.get()}")


def _leave_if_stopped(f: Builder, result: Variable, leave: str) -> None:
    stop = f.load("i32", worker_field(f, "%worker", "stop"), 4)
    with f.when(f.i32("icmp ne", stop, 0)):
        result.set(str(ALL_DONE))
        f.jump(leave)


def _begin(module: Module) -> None:
    """i32 sim_begin(worker, slot): set up the next workgroup of the shared list in a free slot; 0 if there is none."""
    with module.function("sim_begin", "i32", {"worker": "ptr", "slot": "ptr"}) as f:
        counter, size = worker_field(f, "%worker", "next"), worker_field(f, "%worker", "list_size")
        with f.when(f.i64("icmp sge", f.let(f"load atomic i64, ptr {counter} monotonic, align 8"), size)):
            f.do("ret i32 0")
        index = f.let(f"atomicrmw add ptr {counter}, i64 1 monotonic")
        with f.when(f.i64("icmp sge", index, size)):
            f.do("ret i32 0")
        workgroup = f.load("i32", f.at(worker_field(f, "%worker", "list"), index, 4), 4)
        waves = slot_field(f, "%slot", "waves")
        count = f.cast("zext", worker_field(f, "%worker", "wave_count"), "i32", "i64")
        with f.loop(count) as number:
            wave = f.load("ptr", f.at(waves, number, 8), 8)
            f.call("void", "sim_start", "ptr %worker", f"ptr {wave}", f"i64 {number}", f"i32 {workgroup}")
        lds, value = wave_field(f, f.load("ptr", waves, 8), "lds"), worker_field(f, "%worker", "fill")
        fill(f, lds, groups_of(f, f.i32("udiv", worker_field(f, "%worker", "lds_bytes"), ROW)), value)
        private = f.i64("udiv", worker_field(f, "%worker", "private_bytes"), 64)
        fill(f, slot_field(f, "%slot", "private"), private, value)
        set_slot_field(f, "%slot", "active", "1")
        set_worker_field(f, "%worker", "residents", f.i32("add", worker_field(f, "%worker", "residents"), 1))
        for name in ("current", "moved", "idle"):
            set_worker_field(f, "%worker", name, "0")
        f.do("ret i32 1")


def _round(module: Module) -> None:
    """i32 sim_round(worker, slot): every wave had its turn.

    When none can run, the barrier opens, or the workgroup has ended if all waves have. A wave that has ended no longer
    counts at the barrier, as on the hardware.
    """
    with module.function("sim_round", "i32", {"worker": "ptr", "slot": "ptr"}) as f:
        waves, moved = slot_field(f, "%slot", "waves"), worker_field(f, "%worker", "moved")
        set_worker_field(f, "%worker", "moved", "0")
        running, waiting, working = (f.variable("i32", "0") for _ in range(3))
        total = f.cast("zext", worker_field(f, "%worker", "wave_count"), "i32", "i64")
        with f.loop(total) as number:
            wave = f.load("ptr", f.at(waves, number, 8), 8)
            phase = wave_field(f, wave, "phase")
            runs = f.i32("icmp eq", phase, RUNNING)
            works = f.let(f"and i1 {runs}, {f.i32('icmp eq', wave_field(f, wave, 'polling'), 0)}")
            for holds, total_ in ((runs, running), (f.i32("icmp eq", phase, WAITING), waiting), (works, working)):
                total_.update("add", f.cast("zext", holds, "i1", "i32"))
        with f.when(f.i32("icmp eq", running.get(), 0)):
            with f.when(f.i32("icmp eq", waiting.get(), 0)):
                set_slot_field(f, "%slot", "active", "0")
                f.do(f"ret i32 {_FINISHED}")
            with f.loop(total) as number:
                wave = f.load("ptr", f.at(waves, number, 8), 8)
                with f.when(f.i32("icmp eq", wave_field(f, wave, "phase"), WAITING)):
                    set_wave_field(f, wave, "phase", str(RUNNING))
            f.do(f"ret i32 {_MOVED}")
        with f.when(f.i32("icmp ne", moved, 0)):
            f.do(f"ret i32 {_MOVED}")
        changes = worker_field(f, "%worker", "changes")
        same = f.i64("icmp eq", changes, worker_field(f, "%worker", "changes_seen"))
        set_worker_field(f, "%worker", "changes_seen", changes)
        vain = f.let(f"and i1 {same}, {f.i32('icmp eq', working.get(), 0)}")
        set_worker_field(
            f, "%worker", "idle", f.choose(vain, "i32", f.i32("add", worker_field(f, "%worker", "idle"), 1), "0")
        )
        f.do(f"ret i32 {_STUCK}")


def _advance(module: Module) -> None:
    """i32 sim_advance(worker, outcome): choose the workgroup that runs next; gives a reason to leave or YIELD."""
    with module.function("sim_advance", "i32", {"worker": "ptr", "outcome": "i32"}) as f:
        with f.when(f.i32("icmp eq", "%outcome", _MOVED)):
            set_worker_field(f, "%worker", "idle", "0")
            f.do(f"ret i32 {YIELD}")
        with f.when(f.i32("icmp eq", "%outcome", _FINISHED)):
            set_worker_field(f, "%worker", "idle", "0")
            residents = f.i32("sub", worker_field(f, "%worker", "residents"), 1)
            set_worker_field(f, "%worker", "residents", residents)
            with f.when(f.i32("icmp eq", residents, 0)):
                f.do(f"ret i32 {YIELD}")
        all_poll = f.i32("icmp uge", worker_field(f, "%worker", "idle"), worker_field(f, "%worker", "residents"))
        with f.when(f.let(f"and i1 {all_poll}, {f.i32('icmp eq', '%outcome', _STUCK)}")):
            _another(f)
        _find(f, active=1)
        f.do(f"ret i32 {YIELD}")


def _another(f: Builder) -> None:
    """All residents poll: start one more workgroup and return, or say why that cannot be."""
    counter, size = worker_field(f, "%worker", "next"), worker_field(f, "%worker", "list_size")
    some = f.i64("icmp slt", f.let(f"load atomic i64, ptr {counter} monotonic, align 8"), size)
    count, limit = worker_field(f, "%worker", "slot_count"), worker_field(f, "%worker", "slot_limit")
    with f.when(some):
        residents = worker_field(f, "%worker", "residents")
        with f.when(f.i32("icmp ult", residents, count)):
            _find(f, active=0)
            slot = _slot(f, worker_field(f, "%worker", "slot"))
            begun = f.call("i32", "sim_begin", "ptr %worker", f"ptr {slot}")
            with f.when(f.i32("icmp ne", begun, 0)):
                stepping = f.i32("icmp ne", worker_field(f, "%worker", "stepping"), 0)
                f.do(f"ret i32 {f.choose(stepping, 'i32', str(STARTED), str(YIELD))}")
            _find(f, active=1)
        with f.when(f.let(f"and i1 {f.i32('icmp eq', residents, count)}, {f.i32('icmp ult', count, limit)}")):
            f.do(f"ret i32 {NEW_SLOT}")
    _find(f, active=1)
    set_worker_field(f, "%worker", "idle", "0")
    f.do(f"ret i32 {STALLED}")


def _find(f: Builder, *, active: int) -> None:
    """Go on to the next slot that is in use, or that is not; there is one."""
    head, found = f.fresh("head"), f.fresh("found")
    f.jump(head)
    f.start(head)
    following = f.i32("add", worker_field(f, "%worker", "slot"), 1)
    past = f.i32("icmp uge", following, worker_field(f, "%worker", "slot_count"))
    number = f.choose(past, "i32", "0", following)
    set_worker_field(f, "%worker", "slot", number)
    state = slot_field(f, _slot(f, number), "active")
    f.do(f"br i1 {f.i32('icmp eq', state, active)}, label %{found}, label %{head}")
    f.start(found)
