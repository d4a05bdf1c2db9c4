"""What follows a block whose successor only its execution tells: computed jumps, and changes of MODE."""

from __future__ import annotations

from asmevo.isa.registers import MODE
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import COMPUTED, FAULTS, scalar_offset
from asmevo.sim.runtime.fields import set_wave_field, wave_field, worker_field


def define(module: Module) -> None:
    """Add i32 sim_redirect(worker, wave, kind, block): set the wave's next block or mode; 1 after a fault.

    `block` is the one that has ended, of kind COMPUTED or NEW_MODE; a fault is at its last instruction.
    """
    parameters = {"worker": "ptr", "wave": "ptr", "kind": "i32", "block": "i32"}
    with module.function("sim_redirect", "i32", parameters) as f:
        with f.when(f.i32("icmp eq", "%kind", COMPUTED)):
            _jump(f)
        _change_mode(f)


def _jump(f: Builder) -> None:
    target = wave_field(f, "%wave", "target")
    distance = f.i64("sub", target, worker_field(f, "%worker", "code_start"))
    inside = f.i64("icmp ult", distance, worker_field(f, "%worker", "code_bytes"))
    with f.when(f.let(f"and i1 {inside}, {f.i64('icmp eq', f.i64('and', distance, 3), 0)}")):
        landing = f.load("i32", f.at(worker_field(f, "%worker", "landings"), distance), 4)
        with f.when(f.i32("icmp sge", landing, 0)):
            set_wave_field(f, "%wave", "chunk", landing)
            f.do("ret i32 0")
    _fault(f, "jump", target)


def _change_mode(f: Builder) -> None:
    """Find the mode in the worker's list."""
    wanted = f.load("i32", f.at("%wave", scalar_offset(MODE)), 4)
    count = f.cast("zext", worker_field(f, "%worker", "mode_count"), "i32", "i64")
    with f.loop(count) as number:
        known = f.load("i32", f.at(worker_field(f, "%worker", "modes"), number, 4), 4)
        with f.when(f.i32("icmp eq", known, wanted)):
            set_wave_field(f, "%wave", "mode", f.cast("trunc", number, "i64", "i32"))
            f.do("ret i32 0")
    _fault(f, "mode", f.cast("zext", wanted, "i32", "i64"))


def _fault(f: Builder, kind: str, value: str) -> None:
    lengths = worker_field(f, "%worker", "lengths")
    length = f.load("i32", f.at(lengths, f.cast("zext", "%block", "i32", "i64"), 4), 4)
    at = f.i32("sub", length, 1)
    f.call("void", "sim_fault", "ptr %wave", f"i32 {FAULTS.index(kind)}", f"i32 {at}", "i32 -1", f"i64 {value}")
    set_wave_field(f, "%wave", "chunk", "%block")
    f.do("ret i32 1")
