"""Native functions that move data between vector registers and memory, given the checked offsets of the lanes.

`sim_load_<kind>(base, offsets, lanes, data)` and `sim_store_<kind>(...)`: `data` is the first register, whose lanes
are 4 bytes apart; `lanes` says which lanes take part. Host addresses need no alignment.
"""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module, index_text
from asmevo.sim.layout import FAULTS, LANES, ROW
from asmevo.sim.runtime.addresses import OFFSETS, ZEROS
from asmevo.sim.runtime.buffers import APART
from asmevo.sim.runtime.fields import wave_field

_PARAMETERS = {"base": "ptr", "offsets": "ptr", "lanes": "i64", "data": "ptr"}
_EIGHT = "<8 x i32>"

NARROW = ("zero", "sign", "d16_lo", "d16_hi", "d16_lo_zero", "d16_hi_zero", "d16_lo_sign", "d16_hi_sign")
"""Ways a load under 32 bits fills its register."""


def load_name(size: int, extend: str) -> str:
    """The function that loads `size` bytes for each lane."""
    return f"sim_load_{8 * size}" + (f"_{extend}" if size < 4 else "")


def store_name(size: int, extend: str) -> str:
    """The function that stores `size` bytes of each lane; `d16_hi` takes them from the high half."""
    return f"sim_store_{8 * size}" + ("_hi" if extend == "d16_hi" else "")


def define(module: Module) -> None:
    """Add all access functions to a module."""
    for size in (1, 2):
        for extend in NARROW:
            _load_narrow(module, size, extend)
        for extend in ("", "d16_hi"):
            _store_narrow(module, size, extend)
    for size in (4, 8, 12, 16):
        _load(module, size)
        _store(module, size)
    _rest(module)
    _lds_dma(module)


def _place(f: Builder, lane: str, base: str = "%base", offsets: str = "%offsets") -> str:
    return f.at(base, f.load("i64", f.at(offsets, lane, 8), 8))


def _load_narrow(module: Module, size: int, extend: str) -> None:
    kind = f"i{8 * size}"
    with module.function(load_name(size, extend), "void", _PARAMETERS) as f:
        with f.each_bit("%lanes") as lane:
            target = f.at("%data", lane, 4)
            value = f.load(kind, _place(f, lane))
            cast = "sext" if extend.endswith("sign") else "zext"
            if extend.startswith("d16"):
                half = f.cast(cast, value, kind, "i16") if size == 1 else value
                f.store("i16", half, f.at(target, 2 if "hi" in extend else 0), 2)
            else:
                f.store("i32", f.cast(cast, value, kind, "i32"), target, 4)
        f.do("ret void")


def _store_narrow(module: Module, size: int, extend: str) -> None:
    kind = f"i{8 * size}"
    with module.function(store_name(size, extend), "void", _PARAMETERS) as f:
        with f.each_bit("%lanes") as lane:
            source = f.at(f.at("%data", lane, 4), 2 if extend else 0)
            f.store(kind, f.load(kind, source, 2), _place(f, lane))
        f.do("ret void")


def _load(module: Module, size: int) -> None:
    words = size // 4
    with module.function(load_name(size, ""), "void", _PARAMETERS) as f:
        with f.when(f.i64("icmp eq", "%lanes", -1)):
            if words == 1:
                _dwords(f, "%offsets", "%base", "%data", store=False)
            elif words == 3:
                with f.loop(LANES) as lane:
                    _move(f, _place(f, lane), 4, f.at("%data", lane, 4), ROW, words)
            else:
                with f.loop(LANES, 8) as lane:
                    _gather_rows(f, lane, words)
            f.do("ret void")
        with f.each_bit("%lanes") as lane:
            _move(f, _place(f, lane), 4, f.at("%data", lane, 4), ROW, words)
        f.do("ret void")


def _store(module: Module, size: int) -> None:
    words = size // 4
    with module.function(store_name(size, ""), "void", _PARAMETERS) as f:
        with f.when(f.i64("icmp eq", "%lanes", -1)):
            if words == 1:
                _dwords(f, "%offsets", "%base", "%data", store=True)
            elif words == 3:
                with f.loop(LANES) as lane:
                    _move(f, f.at("%data", lane, 4), ROW, _place(f, lane), 4, words)
            else:
                with f.loop(LANES, 8) as lane:
                    _scatter_rows(f, lane, words)
            f.do("ret void")
        with f.each_bit("%lanes") as lane:
            _move(f, f.at("%data", lane, 4), ROW, _place(f, lane), 4, words)
        f.do("ret void")


def _dwords(f: Builder, offsets: str, base: str, row: str, *, store: bool) -> None:
    """One dword for each lane, between `base` + offset and `row`; eight lanes next to each other in one go."""
    wide = "<8 x i64>"
    steps = "<" + ", ".join(f"i64 {4 * n}" for n in range(8)) + ">"
    with f.loop(LANES, 8) as lane:
        found = f.load(wide, f.at(offsets, lane, 8), 64)
        first = f.let(f"extractelement {wide} {found}, i32 0")
        expected = f.op("add", wide, f.splat(first, "i64", 8), steps)
        differ = f.cast("bitcast", f.op("icmp ne", wide, found, expected), "<8 x i1>", "i8")
        here = f.at(row, lane, 4)
        together, apart, done = f.fresh("together"), f.fresh("apart"), f.fresh("done")
        f.do(f"br i1 {f.let(f'icmp eq i8 {differ}, 0')}, label %{together}, label %{apart}")
        f.start(together)
        there = f.at(base, first)
        source, target = (here, there) if store else (there, here)
        f.store(_EIGHT, f.load(_EIGHT, source, 1), target, 1)
        f.jump(done)
        f.start(apart)
        for n in range(8):
            memory = f.at(base, f.let(f"extractelement {wide} {found}, i32 {n}"))
            register = f.at(here, 4 * n)
            source, target = (register, memory) if store else (memory, register)
            f.store("i32", f.load("i32", source, 1), target, 1)
        f.jump(done)
        f.start(done)


def _move(f: Builder, source: str, source_step: int, target: str, target_step: int, words: int) -> None:
    """Copy dwords that are `source_step` bytes apart to places `target_step` apart."""
    for i in range(words):
        f.store("i32", f.load("i32", f.at(source, i * source_step), 1), f.at(target, i * target_step), 1)


def _shuffle(f: Builder, kind: str, a: str, b: str, indices: list[int]) -> str:
    return f.let(f"shufflevector {kind} {a}, {kind} {b}, {index_text(indices)}")


_EVEN, _ODD = [0, 2, 4, 6, 8, 10, 12, 14], [1, 3, 5, 7, 9, 11, 13, 15]
_WORDS_LOW, _WORDS_HIGH = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
_PAIRS_LOW, _PAIRS_HIGH = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
"""Index patterns of the two steps that transpose 4x4 dwords in each half of a vector of eight."""


def _transpose(f: Builder, rows: list[str]) -> list[str]:
    """Four vectors of eight dwords, transposed in each half; its own inverse."""
    a, b = _shuffle(f, _EIGHT, rows[0], rows[1], _WORDS_LOW), _shuffle(f, _EIGHT, rows[2], rows[3], _WORDS_LOW)
    c, d = _shuffle(f, _EIGHT, rows[0], rows[1], _WORDS_HIGH), _shuffle(f, _EIGHT, rows[2], rows[3], _WORDS_HIGH)
    return [_shuffle(f, _EIGHT, x, y, p) for x, y in ((a, b), (c, d)) for p in (_PAIRS_LOW, _PAIRS_HIGH)]


def _gather_rows(f: Builder, lane: str, words: int) -> None:
    """Load 2 or 4 dwords for each of eight lanes from `lane`, into as many registers."""
    places = [_place(f, f.i64("add", lane, n)) for n in range(8)]
    target = f.at("%data", lane, 4)
    if words == 2:
        pairs = "poison"
        for n, place in enumerate(places):
            pairs = f.let(f"insertelement <8 x i64> {pairs}, i64 {f.load('i64', place)}, i32 {n}")
        flat = f.cast("bitcast", pairs, "<8 x i64>", "<16 x i32>")
        for i, index in enumerate((_EVEN, _ODD)):
            f.store(_EIGHT, _shuffle(f, "<16 x i32>", flat, "poison", index), f.at(target, i * ROW), 32)
        return
    quads = [f.load("<4 x i32>", place) for place in places]
    rows = [_shuffle(f, "<4 x i32>", quads[n], quads[n + 4], list(range(8))) for n in range(4)]
    for i, row in enumerate(_transpose(f, rows)):
        f.store(_EIGHT, row, f.at(target, i * ROW), 32)


def _scatter_rows(f: Builder, lane: str, words: int) -> None:
    """Store 2 or 4 registers for each of eight lanes from `lane`."""
    places = [_place(f, f.i64("add", lane, n)) for n in range(8)]
    source = f.at("%data", lane, 4)
    rows = [f.load(_EIGHT, f.at(source, i * ROW), 32) for i in range(words)]
    if words == 2:
        flat = _shuffle(f, _EIGHT, rows[0], rows[1], [n // 2 + 8 * (n % 2) for n in range(16)])
        pairs = f.cast("bitcast", flat, "<16 x i32>", "<8 x i64>")
        for n, place in enumerate(places):
            f.store("i64", f.let(f"extractelement <8 x i64> {pairs}, i32 {n}"), place)
        return
    lanes = _transpose(f, rows)  # vector n holds lane n in its low half and lane n + 4 in its high half
    for n, place in enumerate(places):
        half = _shuffle(f, _EIGHT, lanes[n % 4], "poison", list(range(4 * (n // 4), 4 * (n // 4) + 4)))
        f.store("<4 x i32>", half, place)


def _rest(module: Module) -> None:
    """Buffer accesses that are partly in range: dwords in range are accessed, the others load 0 or are dropped.

    `sim_buffer` has left what remains in range from the offset of a lane, or the places of dwords that lie apart.
    """
    parameters = {**_PARAMETERS, "words": "i64", "state": "ptr"}
    for name, is_load in (("sim_rest_load", True), ("sim_rest_store", False)):
        with module.function(name, "void", parameters) as f:
            remaining = f.at("%offsets", 2 * OFFSETS)
            with f.each_bit("%lanes") as lane:
                apart = f.i32("icmp ne", wave_field(f, "%state", "apart"), 0)
                left = f.load("i64", f.at(remaining, lane, 8), 8)
                place, own = _place(f, lane), f.at("%data", lane, 4)
                with f.loop("%words") as word:
                    alone = f.load("i64", f.at(f.at("%offsets", f.i64("add", word, APART), OFFSETS), lane, 8), 8)
                    together = f.i64("icmp sge", left, f.i64("shl", f.i64("add", word, 1), 2))
                    inside = f.choose(apart, "i1", f.i64("icmp sge", alone, 0), together)
                    register = f.at(own, word, ROW)
                    memory = f.choose(apart, "ptr", f.at("%base", alone), f.at(place, word, 4))
                    if is_load:
                        f.store("i32", f.load("i32", f.choose(inside, "ptr", memory, ZEROS), 1), register, 4)
                    else:
                        with f.when(inside):
                            f.store("i32", f.load("i32", register, 4), memory, 1)
            f.do("ret void")


def _lds_dma(module: Module) -> None:
    """Memory to LDS without a register: lane n of `exec` writes LDS at `target + 4 n`; lanes not in `lanes` write 0."""
    parameters = {"state": "ptr", "lanes": "i64", "exec": "i64", "target": "i64", "at": "i32"}
    with module.function("sim_lds_dma", "void", parameters) as f:
        image, offsets = wave_field(f, "%state", "image"), wave_field(f, "%state", "offsets")
        lds, limit = wave_field(f, "%state", "lds"), f.i64("sub", wave_field(f, "%state", "lds_size"), 4)
        row = f.at(lds, "%target")
        whole = f.i64("icmp eq", "%lanes", -1)
        fits = f.i64("icmp sle", f.i64("add", "%target", 4 * (LANES - 1)), limit)
        with f.when(f.let(f"and i1 {whole}, {fits}")):
            _dwords(f, offsets, image, row, store=False)
            f.do("ret void")
        with f.each_bit("%exec") as lane:
            given = f.cast("trunc", f.i64("lshr", "%lanes", lane), "i64", "i1")
            source = f.choose(given, "ptr", _place(f, lane, image, offsets), ZEROS)
            target = f.i64("add", "%target", f.i64("shl", lane, 2))
            with f.when(f.i64("icmp sgt", target, limit)):
                number, kind = f.cast("trunc", lane, "i64", "i32"), FAULTS.index("lds")
                place = (f"i32 {number}", f"i64 {target}")
                f.call("void", "sim_fault", "ptr %state", f"i32 {kind}", "i32 %at", *place)
                f.do("ret void")
            f.store("i32", f.load("i32", source, 1), f.at(row, lane, 4), 1)
        f.do("ret void")
