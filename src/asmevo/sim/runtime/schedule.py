"""Native functions that set a wave up and run its blocks until its turn ends or Python is needed.

A turn ends at a barrier, at the end of the program, after `quantum` instructions, or when the wave only polls.
"""

from __future__ import annotations

from asmevo.isa.registers import EXEC_LO
from asmevo.sim import polling
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import (
    COMPUTED,
    END,
    ENDED,
    FAULTED,
    FULL,
    HOT,
    IDLE,
    LIMIT,
    MISSING,
    NEXT,
    PARTIAL,
    ROW,
    RUNNING,
    SKIP,
    STEPPED,
    TRACE_FULL,
    UNITS,
    VARIANTS,
    VECTOR_BASE,
    WAITING,
    register_offset,
    scalar_offset,
)
from asmevo.sim.runtime.fields import set_wave_field, set_worker_field, wave_field, worker_field

YIELD = -1
"""What `sim_wave` returns when the wave waits, ends, or has used up its turn."""


def define(module: Module) -> None:
    """Add `sim_start` and `sim_wave`."""
    _start(module)
    _wave(module)


def fill(f: Builder, start: str, groups: str, value: str) -> None:
    """Fill `groups` times 64 bytes from `start` with an i32."""
    with f.when(f.i64("icmp sgt", groups, 0)):
        vector = f.splat(value, "i32", 16)
        with f.loop(groups) as group:
            f.store("<16 x i32>", vector, f.at(start, group, 64), 64)


def groups_of(f: Builder, rows: str) -> str:
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
        value = worker_field(f, "%worker", "fill")
        fill(f, f.at("%wave", VECTOR_BASE), groups_of(f, worker_field(f, "%worker", "vgprs")), value)
        fill(f, f.at("%wave", register_offset(512)), groups_of(f, worker_field(f, "%worker", "agprs")), value)
        items = f.at(worker_field(f, "%worker", "items"), "%number", ROW)
        with f.loop(ROW // 64) as group:
            f.store("<16 x i32>", f.load("<16 x i32>", f.at(items, group, 64), 4), f.at("%wave", group, 64), 64)
        number = f.cast("trunc", "%number", "i64", "i32")
        first = (("chunk", worker_field(f, "%worker", "entry")), ("phase", str(RUNNING)), ("count", "0"))
        first += (("polls", "0"), ("polling", "0"), ("mode", "0"))
        rest_fields = (("fault", "0"), ("vskip", "0"), ("number", number), ("workgroup", "%workgroup"))
        for name, start in (*first, *rest_fields, ("deadline", worker_field(f, "%worker", "quantum"))):
            set_wave_field(f, "%wave", name, start)
        on_start = worker_field(f, "%worker", "on_start")
        with f.when(f.let(f"icmp ne ptr {on_start}, null")):
            f.do(f"call void {on_start}(ptr {wave_field(f, '%wave', 'shadow')}, i64 %number, i32 %workgroup)")
        f.do("ret void")


def _wave(module: Module) -> None:
    """i32 sim_wave(worker, wave): run blocks until the wave yields or Python is needed."""
    with module.function("sim_wave", "i32", {"worker": "ptr", "wave": "ptr"}) as f:
        names = ("functions", "counts", "successors", "lengths", "kinds", "polls", "heat")
        table = {n: worker_field(f, "%worker", n) for n in names}
        stepping = f.i32("icmp ne", worker_field(f, "%worker", "stepping"), 0)
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
        mode = f.cast("zext", wave_field(f, "%wave", "mode"), "i32", "i64")
        code = f.i64("add", f.i64("mul", f.i64("mul", mode, VARIANTS), blocks), index)
        function = f.load("ptr", f.at(table["functions"], code, 8), 8)
        with f.when(f.let(f"icmp eq ptr {function}, null")):
            _request(f, chunk, variant, MISSING)
        left = f.at(table["heat"], index, 8)
        until = f.i64("sub", f.load("i64", left, 8), 1)
        f.store("i64", until, left, 8)
        with f.when(f.i64("icmp eq", until, 0)):
            _request(f, chunk, variant, HOT)
        with f.when(tracing):
            _trace(f, trace, trace_size, chunk)
        idle = f.let(f"and i1 {f.i64('icmp eq', variant, PARTIAL)}, {f.i64('icmp eq', active, 0)}")
        row = f.choose(idle, "i64", f.i64("add", f.i64("mul", blocks, IDLE), block), index)
        counter = f.at(table["counts"], row, 8)
        f.store("i64", f.i64("add", f.load("i64", counter, 8), 1), counter, 8)
        length = f.cast("zext", f.load("i32", f.at(table["lengths"], block, 4), 4), "i32", "i64")
        count = f.i64("add", wave_field(f, "%wave", "count"), length)
        set_wave_field(f, "%wave", "count", count)
        weight = f.load("i32", f.at(table["polls"], block, 4), 4)
        with f.when(f.i32("icmp ne", weight, polling.NEUTRAL)):
            _weigh(f, weight, f.i64("icmp eq", active, 0))
        taken = f.let(f"call i32 {function}(ptr %wave)")
        with f.when(f.i32("icmp ne", wave_field(f, "%wave", "fault"), 0)):
            f.do(f"ret i32 {FAULTED}")
        edge = f.i64("add", f.i64("shl", block, 1), f.cast("zext", taken, "i32", "i64"))
        set_wave_field(f, "%wave", "chunk", f.load("i32", f.at(table["successors"], edge, 4), 4))
        kind = f.load("i32", f.at(table["kinds"], block, 4), 4)
        with f.when(f.i32("icmp uge", kind, COMPUTED)):
            wrong = f.call("i32", "sim_redirect", "ptr %worker", "ptr %wave", f"i32 {kind}", f"i32 {chunk}")
            with f.when(f.i32("icmp ne", wrong, 0)):
                f.do(f"ret i32 {FAULTED}")
        with f.when(f.let(f"and i1 {f.i32('icmp ne', kind, NEXT)}, {f.i32('icmp ult', kind, COMPUTED)}")):
            ends = f.i32("icmp eq", kind, END)
            set_wave_field(f, "%wave", "phase", f.choose(ends, "i32", str(ENDED), str(WAITING)))
            set_worker_field(f, "%worker", "moved", "1")
            _end_turn(f, count, stepping, polls=False)
        with f.when(f.i64("icmp ugt", count, limit)):
            f.do(f"ret i32 {LIMIT}")
        with f.when(f.i64("icmp uge", count, wave_field(f, "%wave", "deadline"))):
            _end_turn(f, count, stepping, polls=False)
        polls = wave_field(f, "%wave", "polls")
        with f.when(f.i64("icmp sge", polls, polling.LIMIT_AGAIN)):
            again = f.i32("icmp ne", wave_field(f, "%wave", "polling"), 0)
            with f.when(f.let(f"or i1 {again}, {f.i64('icmp sge', polls, polling.LIMIT)}")):
                _end_turn(f, count, stepping, polls=True)
        with f.when(stepping):
            f.do(f"ret i32 {STEPPED}")
        f.jump(head)


def _request(f: Builder, chunk: str, variant: str, reason: int) -> None:
    """Ask Python for code of a block, and come back to it."""
    set_worker_field(f, "%worker", "request", chunk)
    set_worker_field(f, "%worker", "variant", f.cast("trunc", variant, "i64", "i32"))
    set_worker_field(f, "%worker", "request_mode", wave_field(f, "%wave", "mode"))
    f.do(f"ret i32 {reason}")


def _weigh(f: Builder, weight: str, idle: str) -> None:
    """Add the weight of a block to the wave's polls, or begin again because it may change memory."""
    with f.when(f.i32("icmp sgt", weight, 0)):
        total = f.i64("add", wave_field(f, "%wave", "polls"), f.cast("zext", weight, "i32", "i64"))
        set_wave_field(f, "%wave", "polls", total)
    vain = f.let(f"and i1 {idle}, {f.i32('icmp eq', weight, polling.STORES)}")
    works = f.let(f"and i1 {f.i32('icmp slt', weight, 0)}, {f.let(f'xor i1 {vain}, true')}")
    with f.when(works):
        set_wave_field(f, "%wave", "polls", "0")
        set_wave_field(f, "%wave", "polling", "0")
        set_worker_field(f, "%worker", "changes", f.i64("add", worker_field(f, "%worker", "changes"), 1))


def _end_turn(f: Builder, count: str, stepping: str, *, polls: bool) -> None:
    """Let the next wave run; the budget of the next turn is fresh."""
    set_wave_field(f, "%wave", "polling", str(int(polls)))
    set_wave_field(f, "%wave", "polls", "0")
    set_wave_field(f, "%wave", "deadline", f.i64("add", count, worker_field(f, "%worker", "quantum")))
    set_worker_field(f, "%worker", "turn_over", "1")
    f.do(f"ret i32 {f.choose(stepping, 'i32', str(STEPPED), str(YIELD))}")


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
