"""Native functions for `ds_bpermute_b32` and `ds_permute_b32`: lanes exchange values by address."""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import LANES, ROW

_PARAMETERS = {"target": "ptr", "address": "ptr", "data": "ptr", "offset": "i64", "exec": "i64"}


def define(module: Module) -> None:
    """Add `sim_bpermute` (pull) and `sim_permute` (push). Only active lanes send and receive; others send 0."""
    with module.function("sim_bpermute", "void", _PARAMETERS) as f:
        out = f.buffer(ROW)
        with f.each_bit("%exec") as lane:
            other = _other(f, lane)
            value = f.load("i32", f.at("%data", other, 4), 4)
            sends = f.cast("trunc", f.i64("lshr", "%exec", other), "i64", "i1")
            f.store("i32", f.choose(sends, "i32", value, "0"), f.at(out, lane, 4), 4)
        _deliver(f, out)
    with module.function("sim_permute", "void", _PARAMETERS) as f:
        out = f.buffer(ROW)
        with f.loop(LANES) as lane:
            f.store("i32", "0", f.at(out, lane, 4), 4)
        with f.each_bit("%exec") as lane:  # of several senders the highest lane wins
            f.store("i32", f.load("i32", f.at("%data", lane, 4), 4), f.at(out, _other(f, lane), 4), 4)
        _deliver(f, out)


def _other(f: Builder, lane: str) -> str:
    """The lane that this lane's address names: (address + offset) / 4 modulo 64."""
    address = f.cast("zext", f.load("i32", f.at("%address", lane, 4), 4), "i32", "i64")
    return f.i64("and", f.i64("lshr", f.i64("add", address, "%offset"), 2), LANES - 1)


def _deliver(f: Builder, out: str) -> None:
    with f.each_bit("%exec") as lane:
        f.store("i32", f.load("i32", f.at(out, lane, 4), 4), f.at("%target", lane, 4), 4)
    f.do("ret void")
