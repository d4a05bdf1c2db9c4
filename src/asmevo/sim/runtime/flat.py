"""Flat addresses: global memory, and LDS and scratch through their apertures.

Offsets are distances from the image in the host's memory, so that what moves the data need not know which it is.
"""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import PRIVATE_APERTURE, ROW, SHARED_APERTURE
from asmevo.sim.runtime.addresses import GROUP, I64, check, outside, tell, told, words_of
from asmevo.sim.runtime.fields import wave_field


def define(module: Module) -> None:
    """i64 sim_flat(state, address, offset, exec, size, at): like `sim_global64`; i64 sim_in_image(state, lanes): those
    of its lanes whose offsets are in global memory."""
    parameters = {"state": "ptr", "address": "ptr", "offset": "i64", "exec": "i64", "size": "i64", "at": "i32"}
    with told(module, "sim_flat", parameters, _tell) as f:
        base = wave_field(f, "%state", "image_base")
        shift = f.splat(f.i64("sub", "%offset", base), "i64", GROUP)
        high_row = f.at("%address", ROW)
        offsets = wave_field(f, "%state", "offsets")

        def offset_of(group: str) -> str:
            low, high = words_of(f, "%address", group), words_of(f, high_row, group)
            return f.op("add", I64, f.op("or", I64, low, f.op("shl", I64, high, "splat (i64 32)")), shift)

        def elsewhere(lane: str, address: str) -> str:
            found = f.variable("i1", "false")
            own = f.i64("mul", lane, wave_field(f, "%state", "private_size"))
            for aperture, start, size in (
                (SHARED_APERTURE, wave_field(f, "%state", "lds"), wave_field(f, "%state", "lds_size")),
                (
                    PRIVATE_APERTURE,
                    f.at(wave_field(f, "%state", "private"), own),
                    wave_field(f, "%state", "private_size"),
                ),
            ):
                distance = f.i64("sub", address, aperture)
                outside_ = outside(f, distance, f.i64("sub", size, "%size"))
                with f.when(f.let(f"xor i1 {outside_}, true")):
                    place = f.i64("add", _from_image(f, start), distance)
                    f.store("i64", place, f.at(offsets, lane, 8), 8)
                    found.set("true")
            return found.get()

        good = check(f, "global", wave_field(f, "%state", "image_size"), base, offset_of, offsets, elsewhere)
        f.do(f"ret i64 {good}")
    with module.function("sim_in_image", "i64", {"state": "ptr", "lanes": "i64"}) as f:
        found = f.variable("i64", "0")
        with f.each_bit("%lanes") as lane:
            offset = f.load("i64", f.at(wave_field(f, "%state", "offsets"), lane, 8), 8)
            inside = f.i64("icmp ult", offset, wave_field(f, "%state", "image_size"))
            found.update("or", f.i64("shl", f.cast("zext", inside, "i1", "i64"), lane))
        f.do(f"ret i64 {found.get()}")


def _tell(f: Builder, lanes: str) -> None:
    """Tell the hook of the lanes that use global memory."""
    tell(f, f.call("i64", "sim_in_image", "ptr %state", f"i64 {lanes}"))


def _from_image(f: Builder, pointer: str) -> str:
    """Distance of host memory from the image."""
    image = f.cast("ptrtoint", wave_field(f, "%state", "image"), "ptr", "i64")
    return f.i64("sub", f.cast("ptrtoint", pointer, "ptr", "i64"), image)
