"""Every row's meaning as native code against the exact interpreter, on special and random values of 64 lanes."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import zlib
from functools import cache

import numpy as np
import pytest

from asmevo.isa import LaneRow, MatrixRow, PackedRow, ScalarRow, parse_instruction, rows
from asmevo.isa.evaluate import evaluate
from asmevo.sim.block import block_module
from asmevo.sim.forms import type_bits
from asmevo.sim.ir import Module, Value
from asmevo.sim.lanes import LaneAlgebra
from asmevo.sim.layout import FULL, PARTIAL, SKIP
from asmevo.sim.native import Compiler, Effort, Host, Library, linker
from asmevo.sim.options import FloatRules, Options
from asmevo.sim.runtime import core_module
from asmevo.sim.runtime.matrix import Shape, product_module, sparse_module
from asmevo.sim.runtime.unpack import ELEMENT_BITS, select_module, unpack_module
from sim_kernels import block_cache

LANES = 64
GROUP = 16
ROWS = {
    name: row
    for name, row in rows().items()
    if isinstance(row, (LaneRow, ScalarRow)) and not (isinstance(row, PackedRow) and row.kind == "mov")
}
APPROXIMATE = ("exp", "log", "sin", "cos")
NAN_PARTS = {"v_cvt_pkrtz_f16_f32": 16, "v_cvt_pk_f32_fp8": 32, "v_cvt_pk_f32_bf8": 32, "v_pack_b32_f16": 16}
"""Integer results that hold floats of these bits."""


def kinds(row: LaneRow | ScalarRow) -> tuple[list[str], list[str]]:
    """Types of defs and of uses as the meaning sees them."""
    defs = [s.type for s in row.slots if s.is_def]
    uses = [s.type for s in row.slots if s.is_use]
    if isinstance(row, PackedRow):
        return defs if row.kind == "mix" else [row.element], [row.element] * len(uses)
    return defs, uses


def width(kind: str, row: LaneRow | ScalarRow) -> int:
    return 64 if kind == "mask" and isinstance(row, ScalarRow) else type_bits(kind)


def words_of(bits: int) -> int:
    return max(1, bits // 64)


def joined(o: LaneAlgebra, low: Value, high: Value) -> Value:
    return o.or_(o.zext(low, 128), o.shl(o.zext(high, 128), o.const(64, 128)))


def emit(module: Module, name: str, row: LaneRow | ScalarRow) -> None:
    """void <name>(in, out): one i64 for each use or def and lane, two where it has 128 bits."""
    _, uses = kinds(row)
    step = 1 if isinstance(row, ScalarRow) else GROUP
    with module.function(name, "void", {"in": "ptr", "out": "ptr"}) as f:
        with f.loop(LANES // step) as group:
            o = LaneAlgebra(f, step, group)
            vector = Value("", "i", 64, step).type
            values = []
            place = 0
            for kind in uses:
                bits = width(kind, row)
                words = []
                for _ in range(words_of(bits)):
                    words.append(Value(f.load(vector, f.at(f.at("%in", place), group, 8 * step), 8), "i", 64, step))
                    place += 8 * LANES
                value = o.trunc(words[0], bits) if bits <= 64 else joined(o, *words)
                values.append(o.as_float(value) if kind in ("f16", "f32", "f64") else value)
            given = row.meaning(o, *values)
            place = 0
            for value in given if isinstance(given, tuple) else (given,):
                wide = o.as_int(value)
                for i in range(words_of(wide.bits)):
                    part = (
                        o.zext(wide, 64) if wide.bits <= 64 else o.trunc(o.lshr(wide, o.const(64 * i, wide.bits)), 64)
                    )
                    f.store(vector, part.text, f.at(f.at("%out", place), group, 8 * step), 8)
                    place += 8 * LANES
        f.do("ret void")


@cache
def module() -> Module:
    made = Module()
    for name, row in ROWS.items():
        emit(made, f"row_{name}", row)
    return made


@cache
def library() -> Library:
    text = Compiler(Host.this()).compile(module().text, Effort.QUICK)
    imports = {name: block_cache().function(name).address for name in module().imports}
    return linker().load([text], [f"row_{n}" for n in ROWS], imports)


def call(name: str, uses: np.ndarray, results: int) -> np.ndarray:
    out = np.zeros((results, LANES), np.uint64)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library().addresses[f"row_{name}"])
    function(uses.ctypes.data, out.ctypes.data)
    return out


def as_float(raw: int, bits: int) -> float:
    return struct.unpack({16: "<e", 32: "<f", 64: "<d"}[bits], raw.to_bytes(bits // 8, "little"))[0]


def draw(kind: str, bits: int, rng: random.Random) -> int:
    """A value: special, of moderate size, or any bits."""
    choice = rng.random()
    if kind in ("f16", "f32", "f64"):
        fraction = {16: 10, 32: 23, 64: 52}[bits]
        infinity = ((1 << (bits - 1 - fraction)) - 1) << fraction
        one = ((1 << (bits - 2 - fraction)) - 1) << fraction
        if choice < 0.3:
            special = (
                0,
                1,
                (1 << fraction) - 1,
                1 << fraction,
                one,
                one + 1,
                one - 1,
                infinity - 1,
                infinity,
                infinity | 5,
            )
            return rng.choice(special) | rng.getrandbits(1) << (bits - 1)
        if choice < 0.8:
            exponent = rng.randrange(-12, 13) + (one >> fraction)
            return exponent << fraction | rng.getrandbits(fraction) | rng.getrandbits(1) << (bits - 1)
    elif choice < 0.4 and bits > 1:
        return rng.choice((0, 1, 2, 31, 32, 33, (1 << bits) - 1, (1 << (bits - 1)) - 1, 1 << (bits - 1))) % (1 << bits)
    return rng.getrandbits(bits)


def agrees(name: str, kind: str, bits: int, got: int, want: int) -> bool:
    if got == want:
        return True
    part = NAN_PARTS.get(name) or (bits if kind in ("f16", "f32", "f64") else 0)
    if not part:
        return False
    mask = (1 << part) - 1
    for shift in range(0, bits, part):
        x, y = as_float(got >> shift & mask, part), as_float(want >> shift & mask, part)
        approximate = any(word in name for word in APPROXIMATE)
        close = approximate and math.isclose(x, y, rel_tol=2.0**-9 if part == 16 else 2.0**-21, abs_tol=2.0**-21)
        if not ((x == y and math.copysign(1, x) == math.copysign(1, y)) or (math.isnan(x) and math.isnan(y)) or close):
            return False
    return True


@pytest.mark.parametrize("name", sorted(ROWS))
def test_native_code_agrees_with_the_interpreter(name: str) -> None:
    row = ROWS[name]
    defs, uses = kinds(row)
    rng = random.Random(zlib.crc32(name.encode()))
    table = [[draw(k, width(k, row), rng) for k in uses] for _ in range(LANES)]
    for lane in range(0, LANES, 7):  # equal operands now and then
        if len(uses) > 1 and width(uses[0], row) == width(uses[1], row):
            table[lane][1] = table[lane][0]
    widths = [[width(kind, row) for kind in side] for side in (uses, defs)]
    split = [[v >> (64 * i) for v, b in zip(r, widths[0], strict=True) for i in range(words_of(b))] for r in table]
    words = np.array([[v & (1 << 64) - 1 for v in r] for r in split], np.uint64).T.copy()
    got = call(name, words, sum(map(words_of, widths[1])))
    for lane, values in enumerate(table):
        want = evaluate(row, *values, lane=lane)
        place = 0
        for kind, bits, y in zip(defs, widths[1], want, strict=True):
            x = sum(int(got[place + i, lane]) << (64 * i) for i in range(words_of(bits)))
            place += words_of(bits)
            assert agrees(name, kind, bits, x, y), (
                f"{name} lane {lane} ({', '.join(map(hex, values))}): {hex(x)}, interpreter {hex(y)}"
            )


ARM = Host("aarch64-unknown-linux-gnu", "generic")


def is_arm_object(data: bytes) -> bool:
    return data[:4] == b"\x7fELF" and data[18] == 183  # EM_AARCH64


def test_every_row_compiles_for_aarch64() -> None:
    assert is_arm_object(Compiler(ARM).compile(module().text, Effort.QUICK))


def test_runtime_and_blocks_compile_for_aarch64() -> None:
    compiler = Compiler(ARM)
    matrices = [r for r in rows().values() if isinstance(r, MatrixRow)]
    modules = [core_module("aarch64"), select_module(), *(unpack_module(e) for e in ELEMENT_BITS)]
    modules += [product_module(s) for s in {Shape.of(r) for r in matrices if not r.sparse}]
    modules += [sparse_module(s) for s in {Shape.of(r) for r in matrices if r.sparse}]
    code = (
        "v_add_f32_dpp v4, v4, v4 row_shr:4 row_mask:0xf bank_mask:0xf",
        "v_cmp_lt_f32_e32 vcc, v1, v2",
        "v_add_f64 v[2:3], v[4:5], v[6:7]",
        "global_atomic_pk_add_bf16 v[4:5], v6, off",
        "v_mfma_f32_32x32x16_fp8_bf8 a[0:15], v[4:5], v[6:7], a[0:15]",
        "s_and_saveexec_b64 s[4:5], vcc",
    )
    instructions = [parse_instruction(text) for text in code]
    options = Options(FloatRules(denorm_f32=0), 3)
    modules += [block_module(instructions, [0] * len(code), variant, options) for variant in (FULL, PARTIAL, SKIP)]
    for made in modules:
        assert is_arm_object(compiler.compile(made.text, Effort.QUICK))
