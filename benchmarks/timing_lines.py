"""Published bandwidths of lanes that lie apart, measured on MI308X (tingqli/pyhip, tools/vmem-bandwidth.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from asmevo.timing import chip
from asmevo.timing.traffic import MemoryView
from benchmarks.timing_bench import TRIPS, Bench, Cell, loop

CLOCK_GHZ: Final = 1.8
COMPUTE_UNITS: Final = 80
BATCH: Final = 32
"""Accesses in the loop. The published one waits for them at its end. Here it does not: the model's waves go in step, so
that each wait would show its latency, and the figures say that on hardware it does not."""
WAVES: Final = 4
REGION: Final = 1024
"""Bytes of the data of each group of lanes here; there it is so long that groups lie a power of two apart, too."""
MEASURED: Final = {
    ("load", ""): {(4, 4): 2278.3},
    ("load", "nt"): {
        (16, 4): 3036.0, (8, 8): 2575.6, (8, 4): 1638.4, (4, 16): 3033.3, (4, 8): 1690.6, (4, 4): 413.0,
    },
    ("store", ""): {(8, 4): 1573.2, (4, 8): 1637.9, (4, 4): 726.9},
}  # fmt: skip
"""Accesses and cache bits to (lanes side by side, bytes of each) to GB/s of the chip: those below three quarters of the
best, which memory does not limit. `sc1` does as `nt`."""
CAUSES: Final = {
    ("load", "nt", 8, 8): "the spread of what a line takes past L1",
    ("load", "nt", 4, 4): "lines are asked for eight times, and L2 does not seem to keep them so long",
}
_WIDTH: Final = {4: ("dword", "v{d}"), 8: ("dwordx2", "v[{d}:{e}]"), 16: ("dwordx4", "v[{d}:{e}]")}
_SETUP: Final = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshrrev_b32_e32 v121, {group}, v0
    v_mul_u32_u24_e32 v121, {region}, v121
    v_and_b32_e32 v120, {last}, v0
    v_lshl_add_u32 v120, v120, {size}, v121
    s_waitcnt lgkmcnt(0)
"""
"""v120 is the offset of a lane's data: groups of lanes side by side, each with a region of its own."""


def line_cells() -> Iterator[Cell]:
    """Bytes a clock of one compute unit."""
    on = chip("mi308x")
    share = on.hbm_bytes_per_s / COMPUTE_UNITS / CLOCK_GHZ / 1e9
    view = MemoryView(round(on.hbm_latency_ns * CLOCK_GHZ), share, on.vmem_inflight_bytes)
    cases = [(kind, bits, *key, figure) for (kind, bits), row in MEASURED.items() for key, figure in row.items()]
    bench = Bench({f"lines{i}": _kernel(*case[:4]) for i, case in enumerate(cases)}, on)
    for i, (kind, bits, lanes, size, figure) in enumerate(cases):
        moved = WAVES * 64 * BATCH * TRIPS * size
        name = f"{kind} {bits} of {size} B, {lanes} lanes side by side".replace("  ", " ")
        measured = figure / COMPUTE_UNITS / CLOCK_GHZ
        clocks = bench.clocks(f"lines{i}", WAVES, 0b1111, 1, view)
        yield Cell(name, measured, moved / clocks, "B/clk", CAUSES.get((kind, bits, lanes, size), ""))


def _kernel(kind: str, bits: str, lanes: int, size: int) -> str:
    name, register = _WIDTH[size]
    body: list[str] = []
    for i in range(BATCH):
        first = i % 24 * 4
        data = register.format(d=first, e=first + size // 4 - 1)
        operands = f"{data}, v120" if kind == "load" else f"v120, {data}"
        body.append(f"global_{kind}_{name} {operands}, s[4:5] offset:{i * lanes * size % REGION} {bits}")
    setup = _SETUP.format(group=lanes.bit_length() - 1, last=lanes - 1, size=size.bit_length() - 1, region=hex(REGION))
    return f"{setup}{loop(body)}\ns_waitcnt vmcnt(0)\ns_endpgm"
