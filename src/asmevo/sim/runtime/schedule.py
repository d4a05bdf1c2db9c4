"""The native loop that runs blocks of waves, waves of a workgroup and workgroups of a worker.

Python enters it with `sim_run(worker)` and is called back by its return when a block is not compiled yet, when the
trace buffer is full, or when a wave faults or runs out of its instruction budget; entering again resumes.
"""

from __future__ import annotations

from asmevo.isa.registers import EXEC_LO
from asmevo.sim.ir import Builder, Module, Variable
from asmevo.sim.layout import (
    ALL_DONE,
    END,
    ENDED,
    FAULTED,
    FULL,
    IDLE,
    LIMIT,
    MISSING,
    NEXT,
    PARTIAL,
    ROW,
    RUNNING,
    SKIP,
    TRACE_FULL,
    UNITS,
    VECTOR_BASE,
    WAITING,
    register_offset,
    scalar_offset,
)
from asmevo.sim.runtime.fields import set_wave_field, set_worker_field, wave_field, worker_field

_YIELD = -1
"""What `sim_wave` returns when the wave waits, ends, or has used up its turn."""


def define(module: Module) -> None:
    """Add `sim_start`, `sim_wave` and `sim_run`."""
    _start(module)
    _wave(module)
    _run(module)


def _fill(f: Builder, start: str, groups: str, value: str) -> None:
    """Fill `groups` times 64 bytes from `start` with an i32."""
    with f.when(f.i64("icmp sgt", groups, 0)):
        vector = f.splat(value, "i32", 16)
        with f.loop(groups) as group:
            f.store("<16 x i32>", vector, f.at(start, group, 64), 64)


def _groups(f: Builder, rows: str) -> str:
    """64-byte groups of so many registers."""
    return f.i64("mul", f.cast("zext", rows, "i32", "i64"), ROW // 64)


def _start(module: Module) -> None:
    """void sim_start(worker, wave, number, workgroup): registers at the entry of a kernel."""
    parameters = {"worker": "ptr", "wave": "ptr", "number": "i64", "workgroup": "i32"}
    with module.function("sim_start", "void", parameters) as f:
        template = worker_field(f, "%worker", "scalars")
        with f.loop(UNITS) as unit:
            word = f.load("i32", f.at(template, unit, 4), 4)
            f.store("i32", word, f.at(f.at("%wave", scalar_offset(0)), unit, 4), 4)
        grid_x, grid_y = worker_field(f, "%worker", "grid_x"), worker_field(f, "%worker", "grid_y")
        rest = f.i32("udiv", "%workgroup", grid_x)
        ids = (f.i32("urem", "%workgroup", grid_x), f.i32("urem", rest, grid_y), f.i32("udiv", rest, grid_y))
        for axis, value in zip("xyz", ids, strict=True):
            unit = worker_field(f, "%worker", f"id_{axis}")
            with f.when(f.i32("icmp sge", unit, 0)):
                place = f.at(f.at("%wave", scalar_offset(0)), f.cast("sext", unit, "i32", "i64"), 4)
                f.store("i32", value, place, 4)
        info = worker_field(f, "%worker", "id_info")
        with f.when(f.i32("icmp sge", info, 0)):
            first = f.cast("zext", f.i64("icmp eq", "%number", 0), "i1", "i32")
            size = worker_field(f, "%worker", "wave_count")
            place = f.at(f.at("%wave", scalar_offset(0)), f.cast("sext", info, "i32", "i64"), 4)
            f.store("i32", f.i32("or", f.i32("shl", first, 31), size), place, 4)
        active = f.load("i64", f.at(worker_field(f, "%worker", "lanes"), "%number", 8), 8)
        f.store("i64", active, f.at("%wave", scalar_offset(EXEC_LO)), 4)
        fill = worker_field(f, "%worker", "fill")
        _fill(f, f.at("%wave", VECTOR_BASE), _groups(f, worker_field(f, "%worker", "vgprs")), fill)
        _fill(f, f.at("%wave", register_offset(512)), _groups(f, worker_field(f, "%worker", "agprs")), fill)
        items = f.at(worker_field(f, "%worker", "items"), "%number", ROW)
        with f.loop(ROW // 64) as group:
            f.store("<16 x i32>", f.load("<16 x i32>", f.at(items, group, 64), 4), f.at("%wave", group, 64), 64)
        number = f.cast("trunc", "%number", "i64", "i32")
        first = (("chunk", worker_field(f, "%worker", "entry")), ("phase", str(RUNNING)), ("count", "0"))
        rest_fields = (("fault", "0"), ("vskip", "0"), ("number", number), ("workgroup", "%workgroup"))
        for name, value in (*first, *rest_fields, ("deadline", worker_field(f, "%worker", "quantum"))):
            set_wave_field(f, "%wave", name, value)
        f.do("ret void")


def _wave(module: Module) -> None:
    """i32 sim_wave(worker, wave): run blocks until the wave yields or Python is needed."""
    with module.function("sim_wave", "i32", {"worker": "ptr", "wave": "ptr"}) as f:
        table = {n: worker_field(f, "%worker", n) for n in ("functions", "counts", "successors", "lengths", "kinds")}
        blocks, limit = worker_field(f, "%worker", "blocks"), worker_field(f, "%worker", "limit")
        trace, trace_size = worker_field(f, "%worker", "trace"), worker_field(f, "%worker", "trace_size")
        tracing = f.i64("icmp ne", trace_size, 0)
        with f.when(tracing):
            _trace(f, trace, trace_size, _mark(f), wave_field(f, "%wave", "workgroup"))
        head = f.fresh("head")
        f.jump(head)
        f.start(head)
        chunk = wave_field(f, "%wave", "chunk")
        block = f.cast("zext", chunk, "i32", "i64")
        active = f.load("i64", f.at("%wave", scalar_offset(EXEC_LO)), 4)
        full = f.i64("icmp eq", active, -1)
        skipping = f.i32("icmp ne", wave_field(f, "%wave", "vskip"), 0)
        variant = f.choose(skipping, "i64", str(SKIP), f.choose(full, "i64", str(FULL), str(PARTIAL)))
        index = f.i64("add", f.i64("mul", variant, blocks), block)
        function = f.load("ptr", f.at(table["functions"], index, 8), 8)
        with f.when(f.let(f"icmp eq ptr {function}, null")):
            set_worker_field(f, "%worker", "request", chunk)
            set_worker_field(f, "%worker", "variant", f.cast("trunc", variant, "i64", "i32"))
            f.do(f"ret i32 {MISSING}")
        with f.when(tracing):
            _trace(f, trace, trace_size, chunk)
        idle = f.let(f"and i1 {f.i64('icmp eq', variant, PARTIAL)}, {f.i64('icmp eq', active, 0)}")
        row = f.choose(idle, "i64", f.i64("add", f.i64("mul", blocks, IDLE), block), index)
        counter = f.at(table["counts"], row, 8)
        f.store("i64", f.i64("add", f.load("i64", counter, 8), 1), counter, 8)
        length = f.cast("zext", f.load("i32", f.at(table["lengths"], block, 4), 4), "i32", "i64")
        count = f.i64("add", wave_field(f, "%wave", "count"), length)
        set_wave_field(f, "%wave", "count", count)
        taken = f.let(f"call i32 {function}(ptr %wave)")
        with f.when(f.i32("icmp ne", wave_field(f, "%wave", "fault"), 0)):
            f.do(f"ret i32 {FAULTED}")
        edge = f.i64("add", f.i64("shl", block, 1), f.cast("zext", taken, "i32", "i64"))
        set_wave_field(f, "%wave", "chunk", f.load("i32", f.at(table["successors"], edge, 4), 4))
        kind = f.load("i32", f.at(table["kinds"], block, 4), 4)
        with f.when(f.i32("icmp ne", kind, NEXT)):
            ends = f.i32("icmp eq", kind, END)
            set_wave_field(f, "%wave", "phase", f.choose(ends, "i32", str(ENDED), str(WAITING)))
            f.do(f"ret i32 {_YIELD}")
        with f.when(f.i64("icmp ugt", count, limit)):
            f.do(f"ret i32 {LIMIT}")
        with f.when(f.i64("icmp uge", count, wave_field(f, "%wave", "deadline"))):
            deadline = f.i64("add", count, worker_field(f, "%worker", "quantum"))
            set_wave_field(f, "%wave", "deadline", deadline)
            f.do(f"ret i32 {_YIELD}")
        f.jump(head)


def _mark(f: Builder) -> str:
    """What tells a wave from a block in the trace: -1 minus its number; the workgroup follows."""
    return f.i32("sub", "-1", wave_field(f, "%wave", "number"))


def _trace(f: Builder, trace: str, size: str, *values: str) -> None:
    """Append to the trace; return to Python when it is full."""
    used = worker_field(f, "%worker", "trace_used")
    after = f.i64("add", used, len(values))
    with f.when(f.i64("icmp ugt", after, size)):
        f.do(f"ret i32 {TRACE_FULL}")
    for i, value in enumerate(values):
        f.store("i32", value, f.at(f.at(trace, used, 4), 4 * i), 4)
    set_worker_field(f, "%worker", "trace_used", after)


def _run(module: Module) -> None:
    """i32 sim_run(worker): run the workgroups that the workers share, one after the other."""
    with module.function("sim_run", "i32", {"worker": "ptr"}) as f:
        saved = f.call("i64", "sim_float_get")
        f.call("void", "sim_float_mode", f"i32 {worker_field(f, '%worker', 'flush')}")
        waves, count = worker_field(f, "%worker", "turns"), worker_field(f, "%worker", "wave_count")
        result = f.variable("i32", "0")
        head, turn, leave = f.fresh("head"), f.fresh("turn"), f.fresh("leave")
        f.jump(head)
        f.start(head)
        with f.when(f.i32("icmp eq", worker_field(f, "%worker", "active"), 0)):
            _next_workgroup(f, result, leave)
        f.jump(turn)
        f.start(turn)
        current = worker_field(f, "%worker", "current")
        wave = f.load("ptr", f.at(waves, f.cast("zext", current, "i32", "i64"), 8), 8)
        with f.when(f.i32("icmp eq", wave_field(f, wave, "phase"), RUNNING)):
            reason = f.call("i32", "sim_wave", "ptr %worker", f"ptr {wave}")
            with f.when(f.i32("icmp ne", reason, _YIELD)):
                result.set(reason)
                f.jump(leave)
        following = f.i32("add", current, 1)
        set_worker_field(f, "%worker", "current", following)
        with f.when(f.i32("icmp uge", following, count)):
            set_worker_field(f, "%worker", "current", "0")
            _end_of_round(f, waves, count)
        f.jump(head)
        f.start(leave)
        f.call("void", "sim_float_set", f"i64 {saved}")
        f.do(f"ret i32 {result.get()}")


def _next_workgroup(f: Builder, result: Variable, leave: str) -> None:
    """Take the next workgroup of the shared list and set its waves up; leave if there is none."""
    stop = f.load("i32", worker_field(f, "%worker", "stop"), 4)
    with f.when(f.i32("icmp ne", stop, 0)):
        result.set(str(ALL_DONE))
        f.jump(leave)
    counter = worker_field(f, "%worker", "next")
    index = f.let(f"atomicrmw add ptr {counter}, i64 1 monotonic")
    with f.when(f.i64("icmp sge", index, worker_field(f, "%worker", "list_size"))):
        result.set(str(ALL_DONE))
        f.jump(leave)
    workgroup = f.load("i32", f.at(worker_field(f, "%worker", "list"), index, 4), 4)
    waves = worker_field(f, "%worker", "waves")
    count = f.cast("zext", worker_field(f, "%worker", "wave_count"), "i32", "i64")
    with f.loop(count) as number:
        wave = f.load("ptr", f.at(waves, number, 8), 8)
        f.call("void", "sim_start", "ptr %worker", f"ptr {wave}", f"i64 {number}", f"i32 {workgroup}")
    lds, fill = wave_field(f, f.load("ptr", waves, 8), "lds"), worker_field(f, "%worker", "fill")
    _fill(f, lds, _groups(f, f.i32("udiv", worker_field(f, "%worker", "lds_bytes"), ROW)), fill)
    private = f.i64("udiv", worker_field(f, "%worker", "private_bytes"), 64)
    _fill(f, worker_field(f, "%worker", "private"), private, fill)
    set_worker_field(f, "%worker", "active", "1")
    set_worker_field(f, "%worker", "current", "0")


def _end_of_round(f: Builder, waves: str, count: str) -> None:
    """Every wave had its turn: when none can run, open the barrier, or end the workgroup if all have ended.

    A wave that has ended no longer counts at the barrier, as on the hardware.
    """
    running, waiting = f.variable("i32", "0"), f.variable("i32", "0")
    total = f.cast("zext", count, "i32", "i64")
    with f.loop(total) as number:
        phase = wave_field(f, f.load("ptr", f.at(waves, number, 8), 8), "phase")
        for wanted, sum_ in ((RUNNING, running), (WAITING, waiting)):
            sum_.update("add", f.cast("zext", f.i32("icmp eq", phase, wanted), "i1", "i32"))
    with f.when(f.i32("icmp eq", running.get(), 0)):
        with f.when(f.i32("icmp eq", waiting.get(), 0)):
            set_worker_field(f, "%worker", "active", "0")
        with f.when(f.i32("icmp ne", waiting.get(), 0)), f.loop(total) as number:
            wave = f.load("ptr", f.at(waves, number, 8), 8)
            with f.when(f.i32("icmp eq", wave_field(f, wave, "phase"), WAITING)):
                set_wave_field(f, wave, "phase", str(RUNNING))
