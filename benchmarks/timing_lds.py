"""Published microbenchmarks of LDS bank conflicts, measured on MI300 (tingqli/pyhip, tests/bank-conflict)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from benchmarks.timing_bench import Bench, Cell, loop

LANES: Final = 64
UNROLLED: Final = 20
"""Reads in the loop that clang 22 makes of the published benchmark of strides."""
STRIDES: Final = {
    1: {0: 358.8, 3: 362.3, 5: 356.8, 9: 357.4, 17: 357.8, 33: 357.3},
    32: {1: 358.3, 2: 474.4, 4: 907.2, 8: 1805.6, 16: 3600.6, 64: 7196.2, 128: 7199.9, 256: 7193.8},
}  # fmt: skip
"""Dwords from lane to lane of a `ds_read_b32` to microseconds of 10,000 of them in each of 16 waves. The clock is not
known, so they are compared as multiples of the time of stride 1 or 32."""
STRIDE_OF: Final = {1: 358.3, 32: 7196.0}
GROUPS: Final = {
    ("ds_read_b64 v[4:5], v2", 8): [range(first, first + 16) for first in range(0, LANES, 16)],
    ("ds_read_b128 v[4:7], v2", 16): [
        [*range(half + a, half + a + 4), *range(half + b, half + b + 4)]
        for half in (0, 32)
        for a, b in ((0, 20), (4, 16), (8, 28), (12, 24))
    ],
}
"""Accesses and bytes of a lane to the lanes that are served together: two of a group can conflict in a bank."""
UNKNOWN_LOOP: Final = "vector instructions decide, and how the published loop was compiled is not known"
"""Why stride 1 is missed: strides without conflicts are not bound by LDS."""
_STRIDED: Final = """
    s_movk_i32 s12, 0
    s_movk_i32 s13, {bytes}
    v_mov_b32_e32 v122, 0
    v_mov_b32_e32 v123, 1
    v_and_b32_e32 v120, 63, v0
    v_mul_u32_u24_e32 v120, s13, v120
"""
"""v120 is the offset of a lane's dword."""
_PROBES: Final = """
    s_load_dword s6, s[0:1], 0x8
    v_mov_b32_e32 v8, {one}
    v_mov_b32_e32 v3, {other}
    s_waitcnt lgkmcnt(0)
    v_cmp_eq_u32_e32 vcc, s6, v0
    v_cndmask_b32_e32 v1, 0, v8, vcc
"""


def stride_cells() -> Iterator[Cell]:
    """Times of strided LDS reads as multiples of those of one stride."""
    bench = Bench(_strided())
    clocks = cache(lambda n: bench.clocks(f"stride{n}", 16))
    for base, row in STRIDES.items():
        for n, measured in row.items():
            times = measured / STRIDE_OF[base], clocks(n) / clocks(base)
            cause = UNKNOWN_LOOP if (base, n) == (32, 1) else ""
            yield Cell(f"ds_read_b32, stride {n} of {base}", *times, "times", cause)


def group_cells() -> Iterator[Cell]:
    """How many lanes are served together with a lane, less those that the model wrongly takes to be."""
    bench = Bench({f"group{i}": _probes(*access) for i, access in enumerate(GROUPS)})
    for i, ((access, _), groups) in enumerate(GROUPS.items()):
        for group in groups:
            asked = bench.recorded(f"group{i}", simds=group[0]).accesses
            probes = asked.passes[asked.executions > 0].tolist()
            found = {group[0], *(lane for lane, extra in enumerate(probes) if extra)}
            name = f"lanes served with lane {group[0]} in {access.split()[0]}"
            yield Cell(name, len(group), len(found & {*group}) - len(found - {*group}), "lanes")


def _probes(access: str, size: int) -> str:
    """Accesses in which one lane, the kernel's argument, and each lane in turn want different dwords of one bank; the
    others all want one dword."""
    turns = [f"v_cmp_eq_u32_e32 vcc, {n}, v0\nv_cndmask_b32_e32 v2, v1, v3, vcc\n{access}" for n in range(LANES)]
    return "\n".join([_PROBES.format(one=size, other=33 * size), *turns, "s_endpgm"])


def _strided() -> dict[str, str]:
    """The published loop `sum += lds[index + (n & mask)]` as clang 22 compiles it: 20 reads, then their sum."""
    indices = [f"v_add_u32_e32 v{i}, {2 * (i // 2)}, v12{2 + i % 2}" for i in range(UNROLLED)]
    masked = [f"v_and_b32_e32 v{i}, s12, v{i}" for i in range(UNROLLED)]
    places = [f"v_lshl_add_u32 v{i}, v{i}, 2, v120" for i in range(UNROLLED)]
    reads = [f"ds_read_b32 v{i}, v{i}" for i in range(UNROLLED)]
    sums = [
        x
        for i in range(0, UNROLLED, 2)
        for x in (f"s_waitcnt lgkmcnt({min(UNROLLED - 2 - i, 14)})", f"v_add3_u32 v100, v{i}, v100, v{i + 1}")
    ]
    body = loop([*indices, *masked, *places, *reads, *sums])
    return {f"stride{n}": f"{_STRIDED.format(bytes=4 * n)}{body}\ns_endpgm" for n in (1, *STRIDES[1], *STRIDES[32], 32)}
