"""Random straight-line code against a machine that executes one instruction after the other in numpy.

What is tested is not arithmetic but the bookkeeping: values kept between instructions, masks as numbers and lane by
lane, scalar code ahead of vector code, inactive lanes, cuts between blocks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from asmevo.isa import effects, parse_instruction
from asmevo.isa.registers import EXEC, EXEC_LO, VCC_LO
from asmevo.sim import BlockCache
from asmevo.sim.layout import FULL, GUARD, PARTIAL, SCALAR_BASE, UNITS, WAVE_BYTES
from asmevo.sim.options import Options

LANES = 64
FULL_MASK = (1 << LANES) - 1
OPTIONS = Options()
VECTORS = 8
SCALARS = 12
PAIRS = {"vcc": VCC_LO, "exec": EXEC_LO} | {f"s[{i}:{i + 1}]": i for i in range(0, SCALARS, 2)}
"""Names of pairs of scalar units."""

Step = Callable[["Machine"], None]


class Machine:
    """Registers v0..v7, s0..s11, VCC, EXEC and SCC."""

    def __init__(self, seed: int) -> None:
        g = np.random.default_rng(seed)
        self.v = g.integers(0, 1 << 32, (VECTORS, LANES), dtype=np.uint32)
        self.s = g.integers(0, 1 << 32, UNITS, dtype=np.uint32)
        self.scc = 0

    def pair(self, unit: int) -> int:
        return int(self.s[unit]) | int(self.s[unit + 1]) << 32

    def set_pair(self, unit: int, value: int) -> None:
        self.s[unit], self.s[unit + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    def mask(self, unit: int) -> NDArray[np.bool_]:
        bits = self.pair(unit)
        return np.array([bool(bits >> i & 1) for i in range(LANES)])

    def write(self, register: int, values: NDArray[np.uint32]) -> None:
        self.v[register] = np.where(self.mask(EXEC_LO), values, self.v[register])

    def set_mask(self, unit: int, lanes: NDArray[np.bool_]) -> None:
        self.set_pair(unit, sum(1 << i for i in np.flatnonzero(lanes & self.mask(EXEC_LO)).tolist()))


vector = st.integers(0, VECTORS - 1)
scalar = st.integers(0, SCALARS - 1)
mask_name = st.sampled_from([n for n in PAIRS if n != "exec"])
any_pair = st.sampled_from(list(PAIRS))


def rotate(a: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.roll(a.reshape(4, 16), 3, axis=1).reshape(LANES)


@st.composite
def instruction(draw: st.DrawFn) -> tuple[str, Step]:
    """Text and effect of one instruction."""
    d, a, b = (draw(vector) for _ in range(3))
    s, t = draw(scalar), draw(scalar)
    m, n, p = draw(mask_name), draw(mask_name), draw(any_pair)
    unit, other, source = PAIRS[m], PAIRS[n], PAIRS[p]
    lane = draw(st.integers(0, 63))

    def first(x: Machine) -> int:
        active = x.pair(EXEC_LO)
        return (active & -active).bit_length() - 1 if active else 0

    def set_word(x: Machine, index: int, value: int) -> None:
        x.s[index] = value & 0xFFFFFFFF

    def carry(x: Machine) -> None:
        total = x.v[a].astype(np.uint64) + x.v[b] + x.mask(VCC_LO)
        x.write(d, (total & 0xFFFFFFFF).astype(np.uint32))
        x.set_mask(VCC_LO, total >> 32 > 0)

    def logic(x: Machine, operation: Callable[[int, int], int]) -> None:
        value = operation(x.pair(unit), x.pair(source)) & FULL_MASK
        x.set_pair(other, value)
        x.scc = int(value != 0)

    def save_exec(x: Machine) -> None:
        old = x.pair(EXEC_LO)
        new = x.pair(unit) & old
        x.set_pair(other, old)
        x.set_pair(EXEC_LO, new)
        x.scc = int(new != 0)

    def write_lane(x: Machine) -> None:
        x.v[d][lane] = x.s[s]

    choices: list[tuple[str, Step]] = [
        (f"v_add_u32_e32 v{d}, v{a}, v{b}", lambda x: x.write(d, x.v[a] + x.v[b])),
        (f"v_xor_b32_e32 v{d}, s{s}, v{b}", lambda x: x.write(d, x.s[s] ^ x.v[b])),
        (f"v_mov_b32_e32 v{d}, s{s}", lambda x: x.write(d, np.full(LANES, x.s[s]))),
        (f"v_mov_b32_e32 v{d}, vcc_lo", lambda x: x.write(d, np.full(LANES, x.s[VCC_LO]))),
        (
            f"v_mov_b32_dpp v{d}, v{a} row_ror:3 row_mask:0xf bank_mask:0x5 bound_ctrl:0",
            lambda x: dpp(x, d, a),
        ),
        (f"v_cmp_lt_u32_e64 {m}, v{a}, v{b}", lambda x: x.set_mask(unit, x.v[a] < x.v[b])),
        (f"v_cmp_gt_u32_e32 vcc, s{s}, v{b}", lambda x: x.set_mask(VCC_LO, x.s[s] > x.v[b])),
        (f"v_cndmask_b32_e64 v{d}, v{a}, v{b}, {p}", lambda x: x.write(d, np.where(x.mask(source), x.v[b], x.v[a]))),
        (f"v_addc_co_u32_e32 v{d}, vcc, v{a}, v{b}, vcc", carry),
        (f"s_and_b64 {n}, {m}, {p}", lambda x: logic(x, lambda y, z: y & z)),
        (f"s_andn2_b64 {n}, {m}, {p}", lambda x: logic(x, lambda y, z: y & ~z)),
        (f"s_mov_b64 {n}, {p}", lambda x: x.set_pair(other, x.pair(source))),
        (f"s_mov_b32 s{s}, s{t}", lambda x: set_word(x, s, int(x.s[t]))),
        (f"s_mul_i32 s{s}, s{t}, 5", lambda x: set_word(x, s, int(x.s[t]) * 5)),
        (f"s_cselect_b32 s{s}, s{t}, 9", lambda x: set_word(x, s, int(x.s[t]) if x.scc else 9)),
        (f"v_readlane_b32 s{s}, v{a}, {lane}", lambda x: set_word(x, s, int(x.v[a][lane]))),
        (f"v_readfirstlane_b32 s{s}, v{a}", lambda x: set_word(x, s, int(x.v[a][first(x)]))),
        (f"v_writelane_b32 v{d}, s{s}, {lane}", write_lane),
        (f"s_and_saveexec_b64 {n}, {m}", save_exec),
        (f"s_mov_b64 exec, {m}", lambda x: x.set_pair(EXEC_LO, x.pair(unit))),
        ("s_mov_b64 exec, -1", lambda x: x.set_pair(EXEC_LO, FULL_MASK)),
    ]
    return draw(st.sampled_from(choices))


def dpp(x: Machine, d: int, a: int) -> None:
    active = x.mask(EXEC_LO)
    moved = np.where(rotate(active.astype(np.uint32)) > 0, rotate(x.v[a]), 0).astype(np.uint32)
    banks = np.array([(i % 16) // 4 in (0, 2) for i in range(LANES)])
    x.write(d, np.where(banks, moved, x.v[d]))


def run_native(cache: BlockCache, state: NDArray[np.uint8], texts: list[str], force_partial: bool) -> None:
    """Blocks as the engine would cut them."""
    words = state[SCALAR_BASE:].view(np.uint32)
    part: list[str] = []
    for i, text in enumerate(texts):
        part.append(text)
        if i + 1 < len(texts) and not effects(parse_instruction(text)).writes & EXEC:
            continue
        everyone = words[EXEC_LO] == words[EXEC_LO + 1] == 0xFFFFFFFF
        variant = FULL if everyone and not force_partial else PARTIAL
        code = cache.block([parse_instruction(t) for t in part], (), variant, OPTIONS)
        ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.address)(state.ctypes.data)
        part = []


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> BlockCache:
    return BlockCache(tmp_path_factory.mktemp("blocks"))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(instruction(), min_size=1, max_size=25), st.integers(0, 1000), st.booleans())
def test_random_code(cache: BlockCache, program: list[tuple[str, Step]], seed: int, force_partial: bool) -> None:
    machine = Machine(seed)
    memory = np.zeros(GUARD + WAVE_BYTES + 64, np.uint8)
    state = memory[-memory.ctypes.data % 64 :][:WAVE_BYTES]
    state[: VECTORS * 256].view(np.uint32)[:] = machine.v.reshape(-1)
    words = state[SCALAR_BASE:].view(np.uint32)
    words[:128] = machine.s[:128]
    words[128] = 0
    for _, step in program:
        step(machine)
    run_native(cache, state, [text for text, _ in program], force_partial)
    listing = "\n".join(text for text, _ in program)
    np.testing.assert_array_equal(words[:128], machine.s[:128], listing)
    assert words[128] == machine.scc, listing
    np.testing.assert_array_equal(state[: VECTORS * 256].view(np.uint32).reshape(VECTORS, LANES), machine.v, listing)
