"""Every row with a meaning against an independent reference, on special and seeded random values."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
import reference_atomic
import reference_float
import reference_integer
import reference_media  # noqa: F401 - adds to the references of floats

from asmevo.isa import LaneRow, MemoryRow, PackedRow, ScalarRow, rows
from asmevo.isa.evaluate import evaluate, evaluate_atomic

REFERENCES = {**reference_integer.REFERENCES, **reference_float.REFERENCES}
LANE_DEPENDENT = {"v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"}
CASES = 80

MEANINGS = {
    name: row
    for name, row in rows().items()
    if isinstance(row, (ScalarRow, LaneRow)) and not (isinstance(row, PackedRow) and row.kind == "mov")
}
ATOMICS = {name: row for name, row in rows().items() if isinstance(row, MemoryRow) and row.kind == "atomic"}
NAN_HALVES = {"v_cvt_pkrtz_f16_f32": 16, "v_cvt_pk_f32_fp8": 32, "v_cvt_pk_f32_bf8": 32, "v_pack_b32_f16": 16}
"""Results that hold two floats: NaNs in them are compared as NaNs."""
_FRACTION = {16: 10, 32: 23, 64: 52}


def kinds_of(row: ScalarRow | LaneRow) -> tuple[list[str], list[str]]:
    """Types of defs and uses, as the interpreter takes them."""
    uses = [slot.type for slot in row.slots if slot.is_use]
    defs = [slot.type for slot in row.slots if slot.is_def]
    if isinstance(row, PackedRow):
        return ([row.element] if row.kind != "mix" else defs), [row.element] * len(uses)
    return defs, uses


def width_of(kind: str, *, scalar: bool) -> int:
    if kind == "mask":
        return 64 if scalar else 1
    return {"scc": 1, "imm": 32}.get(kind) or int(kind.lstrip("ubif"))


def special_floats(width: int) -> list[int]:
    fraction = _FRACTION[width]
    inf = ((1 << (width - 1 - fraction)) - 1) << fraction
    one, quiet = ((1 << (width - 2 - fraction)) - 1) << fraction, 1 << (fraction - 1)
    near_one = [one - (1 << fraction), one - 1, one, one + 1, one + quiet, one + (1 << fraction)]
    subnormal = [1, 2, (1 << fraction) - 1]
    positive = [0, *subnormal, 1 << fraction, (1 << fraction) + 1, *near_one, inf - 1, inf, inf | 1, inf | quiet]
    return [*positive, *(p | 1 << (width - 1) for p in positive)]


def special_integers(width: int) -> list[int]:
    top = (1 << width) - 1
    found = [0, 1, 2, 3, 31, 32, 33, 63, 64, top // 3, top // 3 * 2]
    found += [top, top - 1, top >> 1, (top >> 1) + 1, (top >> 1) - 1]
    return [v & top for v in found]


def sample(kind: str, width: int, rng: random.Random) -> int:
    if kind in ("f16", "f32", "f64"):
        choice = rng.random()
        if choice < 0.15:
            value = rng.choice((0.0, 1.0, math.inf, math.nan))
            return reference_float.raw(rng.choice((value, -value)), width)
        if choice < 0.3:
            return rng.choice(special_floats(width))
        if choice < 0.38:  # subnormal, of any number of digits
            return rng.getrandbits(rng.randint(1, _FRACTION[width])) | rng.getrandbits(1) << (width - 1)
        if choice < 0.75:  # of moderate size, with few or many digits
            value = math.ldexp(rng.choice((rng.random(), rng.randrange(16) / 8)), rng.randrange(-20, 13))
            return reference_float.raw(rng.choice((value, -value)), width)
        return rng.getrandbits(width)
    if width == 1:
        return rng.getrandbits(1)
    if rng.random() < 0.4:
        return rng.choice(special_integers(width))
    if rng.random() < 0.3:
        return rng.randrange(70) & ((1 << width) - 1)
    if rng.random() < 0.4:  # small bytes, as selectors and packed offsets are
        return sum(rng.randrange(40) << i for i in range(0, width, 8))
    return rng.getrandbits(width)


def inputs(row: ScalarRow | LaneRow) -> Iterator[list[int]]:
    """Seeded by the name; some draws repeat an operand, so that equalities and ties happen."""
    _, kinds = kinds_of(row)
    scalar = isinstance(row, ScalarRow)
    widths = [width_of(kind, scalar=scalar) for kind in kinds]
    rng = random.Random(zlib.crc32(row.name.encode()))
    if widths == [8]:
        yield from ([v] for v in range(256))
    for _ in range(CASES):
        drawn = [sample(kind, width, rng) for kind, width in zip(kinds, widths, strict=True)]
        if len(drawn) > 1 and widths[0] == widths[1] and rng.random() < 0.15:
            drawn[1] = drawn[0]
        yield drawn


def is_nan(raw: int, width: int) -> bool:
    return bool(np.isnan(reference_float.f(raw, width)))


def same(name: str, kind: str, got: int, want: int) -> bool:
    if got == want:
        return True
    if name in NAN_HALVES:
        width = NAN_HALVES[name]
        mask = (1 << width) - 1
        pairs = [((got >> i) & mask, (want >> i) & mask) for i in (0, width)]
        return all(a == b or (is_nan(a, width) and is_nan(b, width)) for a, b in pairs)
    if kind not in ("f16", "f32", "f64"):
        return False
    width = int(kind[1:])
    if is_nan(got, width) or is_nan(want, width):
        return is_nan(got, width) and is_nan(want, width)
    if name in reference_float.TOLERANT:
        a, b = float(reference_float.f(got, width)), float(reference_float.f(want, width))
        return math.isclose(a, b, rel_tol=2.0 ** (1 - _FRACTION[width]), abs_tol=2.0**-44)
    return False


def test_every_row_with_a_meaning_has_a_reference() -> None:
    assert set(MEANINGS) - set(REFERENCES) == LANE_DEPENDENT
    assert not set(REFERENCES) - set(MEANINGS)
    assert set(ATOMICS) == set(reference_atomic.REFERENCES)


@pytest.mark.parametrize("name", sorted(set(MEANINGS) - LANE_DEPENDENT))
def test_meaning_agrees_with_reference(name: str) -> None:
    row = MEANINGS[name]
    defs, _ = kinds_of(row)
    for uses in inputs(row):
        if name.startswith("v_div_fmas") and not reference_float.is_division_step(*uses, int(name[-2:])):
            continue
        got, want = evaluate(row, *uses), REFERENCES[name](*uses)
        for kind, x, y in zip(defs, got, want, strict=True):
            assert same(name, kind, x, y), (
                f"{name}({', '.join(map(hex, uses))}) = {[*map(hex, got)]}, reference {[*map(hex, want)]}"
            )


@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomic_agrees_with_reference(name: str) -> None:
    row = ATOMICS[name]
    kind = row.atomic_type
    width = int(kind[1:])
    operands = 3 if any(part in name for part in ("cmpst", "cmpswap", "mskor", "ds_wrap")) else 2
    packed_float = 16 if "pk_add" in name else 0
    rng = random.Random(zlib.crc32(name.encode()))
    for _ in range(CASES):
        if packed_float:
            values = [sample("f16", 16, rng) | sample("f16", 16, rng) << 16 for _ in range(2)]
            if "bf16" in name:
                values = [sample("f32", 32, rng) >> 16 | sample("f32", 32, rng) & 0xFFFF0000 for _ in range(2)]
        else:
            values = [sample(kind, width, rng) for _ in range(operands)]
        if operands == 3 and rng.random() < 0.5:
            values[rng.choice((1, 2))] = values[0]
        got, want = evaluate_atomic(row, *values), reference_atomic.REFERENCES[name](*values)
        if packed_float:
            pairs = [((got >> i) & 0xFFFF, (want >> i) & 0xFFFF) for i in (0, 16)]
            shift = 16 if "bf16" in name else 0
            nan = [is_nan(v << shift, 16 + shift) for pair in pairs for v in pair]
            assert all(a == b or (nan[2 * i] and nan[2 * i + 1]) for i, (a, b) in enumerate(pairs)), (name, values)
        else:
            assert same(name, kind, got, want), f"{name}{[*map(hex, values)]} = {got:#x}, reference {want:#x}"


@pytest.mark.parametrize("lane", [0, 1, 31, 32, 33, 63])
def test_lanes_below(lane: int) -> None:
    """The pair counts the set bits of a 64-bit mask below this lane."""
    rng = random.Random(lane)
    for _ in range(40):
        mask, base = rng.getrandbits(64), rng.getrandbits(32)
        (low,) = evaluate(MEANINGS["v_mbcnt_lo_u32_b32"], mask & 0xFFFFFFFF, base, lane=lane)
        (both,) = evaluate(MEANINGS["v_mbcnt_hi_u32_b32"], mask >> 32, low, lane=lane)
        assert both == (base + bin(mask & ((1 << lane) - 1)).count("1")) % 2**32


def divide(numerator: int, denominator: int, bits: int) -> int:
    """The sequence compilers emit for IEEE division."""
    one = reference_float.raw(1.0, bits)
    minus = 1 << (bits - 1)

    def run(opcode: str, *uses: int) -> tuple[int, ...]:
        return evaluate(MEANINGS[f"v_{opcode}_f{bits}"], *uses)

    d, _ = run("div_scale", denominator, denominator, numerator)
    n, flag = run("div_scale", numerator, denominator, numerator)
    (r,) = run("rcp", d)
    (e,) = run("fma", d ^ minus, r, one)
    (r,) = run("fma", e, r, r)
    if bits == 64:
        (e,) = run("fma", d ^ minus, r, one)
        (r,) = run("fma", e, r, r)
    (q,) = run("mul", n, r)
    if bits == 32:
        (e,) = run("fma", d ^ minus, q, n)
        (q,) = run("fma", e, r, q)
    (e,) = run("fma", d ^ minus, q, n)
    (q,) = run("div_fmas", e, r, q, flag)
    return run("div_fixup", q, denominator, numerator)[0]


@pytest.mark.parametrize("bits", [32, 64])
def test_division_sequence_is_correctly_rounded(bits: int) -> None:
    rng = random.Random(bits)
    kind = reference_float.FLOAT[bits]
    for _ in range(400):
        n, d = (rng.choice((rng.getrandbits(bits), sample(f"f{bits}", bits, rng))) for _ in range(2))
        if rng.random() < 0.4:  # a quotient of few bits among the subnormals, where ties occur
            fraction = _FRACTION[bits]
            n = rng.randrange(1 << 6) << rng.randrange(fraction) | rng.getrandbits(1) << (bits - 1)
            d = reference_float.raw(math.ldexp(rng.randrange(1, 64) / 16, rng.randrange(-4, 8)), bits)
        with np.errstate(all="ignore"):
            want = kind(reference_float.f(n, bits) / reference_float.f(d, bits))
        got = divide(n, d, bits)
        assert same("", f"f{bits}", got, reference_float.raw(want, bits)), (hex(n), hex(d), hex(got), want)
