"""Published microbenchmarks of CDNA3, as small kernels through the simulator and the timing model.

Bandwidths, `s_nop`, vector instructions beside MFMA and LDS latencies were measured on MI308X (tingqli/pyhip); MFMA
intervals are those of AMD's matrix instruction calculator; the L1 latency is from MrRoy09/AMD-CDNA3-CacheBenchmarking.
Those of LDS bank conflicts are in `benchmarks.timing_lds`, those of lanes that lie apart in `benchmarks.timing_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from asmevo.timing import chip
from asmevo.timing.traffic import MemoryView
from benchmarks.timing_bench import TRIPS, Bench, Cell, loop
from benchmarks.timing_lds import group_cells, stride_cells
from benchmarks.timing_lines import line_cells

BATCH: Final = 8
"""Accesses before a wait; the length in the published benchmark is not known, and 8 fits it."""
ACTIVE: Final = {"0": 0b0001, "0+1": 0b0011, "0+2": 0b0101, "all": 0b1111}
"""SIMDs with waves, as a mask; measured in bytes a clock with 1, 2 and 4 waves on each of them."""
BANDWIDTH: Final[dict[tuple[str, str, int], dict[str, tuple[int, int, int]]]] = {
    ("ds_read_b32", "v{d}, v120 offset:{o}", 256): {
        "0": (17, 33, 51), "0+1": (29, 57, 58), "0+2": (33, 66, 102), "all": (58, 117, 116),
    },
    ("ds_read_b64", "v[{d}:{d}+1], v120 offset:{o}", 512): {
        "0": (28, 55, 48), "0+1": (55, 64, 64), "0+2": (55, 111, 109), "all": (111, 120, 124),
    },
    ("ds_read_b128", "v[{d}:{d}+3], v120 offset:{o}", 1024): {
        "0": (39, 64, 59), "0+1": (64, 64, 64), "0+2": (79, 128, 122), "all": (128, 128, 128),
    },
    ("ds_write_b128", "v120, v[{d}:{d}+3] offset:{o}", 1024): {
        "0": (27, 35, 37), "0+1": (34, 37, 38), "0+2": (55, 71, 74), "all": (67, 74, 76),
    },
    ("global_load_dwordx4", "v[{d}:{d}+3], v120, s[4:5]", 1024): {
        "0": (30, 62, 64), "0+1": (43, 64, 64), "0+2": (43, 64, 64), "all": (64, 64, 64),
    },
    ("global_load_dwordx4 L2", "v[{d}:{d}+3], v120, s[4:5]", 1024): {
        "0": (12, 24, 48), "0+1": (21, 42, 64), "0+2": (21, 42, 64), "all": (48, 64, 64),
    },
}  # fmt: skip
MFMA: Final = {
    ("v_mfma_f32_16x16x16_bf16", 2, 4): 16, ("v_mfma_f32_16x16x16_f16", 2, 4): 16,
    ("v_mfma_f32_16x16x32_fp8_fp8", 2, 4): 16, ("v_mfma_i32_16x16x32_i8", 2, 4): 16,
    ("v_mfma_f32_32x32x8_bf16", 2, 16): 32, ("v_mfma_f32_32x32x8_f16", 2, 16): 32,
    ("v_mfma_f32_32x32x16_fp8_fp8", 2, 16): 32, ("v_mfma_i32_32x32x16_i8", 2, 16): 32,
    ("v_mfma_f32_4x4x4_16b_f16", 2, 4): 8, ("v_mfma_f32_16x16x4_f32", 1, 4): 32,
    ("v_mfma_f32_32x32x2_f32", 1, 16): 64,
}  # fmt: skip
"""(opcode, registers of A and B, registers of C) to clocks between two independent ones of a SIMD."""
BESIDE: Final = {
    "v_add_f32_e32 v{b}, v60, v61": (4.012, 16, 16, 16, 20),
    "v_fma_f32 v{b}, v60, v61, v62": (4.016, 16, 16, 16, 20),
    "v_exp_f32_e32 v{b}, v60": (16.0, 20, 36, 52, 68),
    "v_pk_mul_f32 v[{b}:{b}+1], v[60:61], v[62:63]": (4.008, 28, 32, 36, 40),
}
"""Clocks alone, and of one 16-clock MFMA followed by 1 to 4 of them."""
LATENCIES: Final = {"ds_read_b32 v1, v120": 52, "ds_read_b128 v[0:3], v120": 64}
L1_LATENCY: Final = 112
NOPS: Final = {10: 44, 3: 16, 7: 32, 15: 64}
"""s_nop N to clocks; 10 was measured, and the rule of 4 clocks a wait state gives the others."""
CAUSES: Final = {
    "global_load_dwordx4 L2": "measured latency of L2 hits under load is twice the unloaded one of the chip table",
    "global_load_dwordx4": "two SIMDs that share the path to L1 disturb each other on hardware before it is full",
}
_SETUP: Final = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dwordx2 s[6:7], s[0:1], 0x8
    v_and_b32_e32 v120, 63, v0
    v_lshlrev_b32_e32 v120, {shift}, v120
    v_lshrrev_b32_e32 v121, 6, v0
    v_readfirstlane_b32 s8, v121
    s_and_b32 s9, s8, 3
    s_lshr_b32 s8, s8, 2
    s_waitcnt lgkmcnt(0)
    s_lshr_b32 s6, s6, s9
    s_and_b32 s6, s6, 1
    s_cbranch_scc0 9f
    s_cmp_lt_u32 s8, s7
    s_cbranch_scc0 9f
"""
"""v120 is the offset of a lane's data, those of a wave side by side. Leaves all but `waves` waves on each SIMD in the
mask `simds`; wave i of a workgroup is on SIMD i modulo 4."""


def filled(template: str, **numbers: int) -> str:
    """`v[{d}:{d}+3]` with d=8 becomes `v[8:11]`."""
    for name, value in numbers.items():
        template = re.sub(rf"\{{{name}\}}\+(\d+)", lambda m, n=value: str(n + int(m[1])), template)
        template = template.replace(f"{{{name}}}", str(value))
    return template


def _kernels() -> dict[str, str]:
    """Code of the looping kernels by name."""
    found: dict[str, str] = {}
    for label, operands, size in BANDWIDTH:
        opcode = label.split()[0]
        accesses = [filled(f"{opcode} {operands}", d=4 * i, o=i % 4 * 1024) for i in range(BATCH)]
        wait = "lgkmcnt" if opcode.startswith("ds_") else "vmcnt"
        setup = _SETUP.format(shift=(size // 64).bit_length() - 1)
        found[opcode] = f"{setup}{loop([*accesses, f's_waitcnt {wait}(0)'])}\n9:\ns_endpgm"
    return found


def _straight() -> dict[str, str]:
    """Code of the kernels without a loop by name."""
    found = {"empty": "s_nop 0\ns_endpgm"}
    found |= {f"nop{n}": f"s_nop 0\ns_nop {n}\ns_endpgm" for n in NOPS}
    for i, load in enumerate(LATENCIES):
        found[f"latency{i}"] = f"{load}\ns_waitcnt lgkmcnt(0)\ns_endpgm"
    found["latency_l1"] = "global_load_dword v1, v120, s[4:5]\ns_waitcnt vmcnt(0)\ns_endpgm"
    for opcode, a, c in MFMA:
        for count in (1, 5):
            lines = [
                f"{opcode} {_span(16 * i, c)}, {_span(100, a)}, {_span(110, a)}, {_span(16 * i, c)}"
                for i in range(count)
            ]
            found[f"{opcode}_{count}"] = "\n".join([*lines, "s_endpgm"])
    for i, op in enumerate(BESIDE):
        for n in range(5):
            for groups in (20, 60):
                head = ["v_mfma_f32_16x16x16_bf16 v[{a}:{a}+3], v[100:101], v[102:103], v[{a}:{a}+3]"] if n else []
                lines = [
                    filled(text, a=4 * (g % 4), b=40 + g % 8 * 2)
                    for g in range(groups)
                    for text in [*head, *[op] * max(n, 1)]
                ]
                found[f"beside{i}_{n}_{groups}"] = "\n".join([*lines, "s_endpgm"])
    return found


def _span(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def cells() -> Iterator[Cell]:
    """All published figures, with the model's."""
    yield from bandwidth_cells()
    yield from stride_cells()
    yield from group_cells()
    yield from line_cells()
    bench = Bench(_straight())
    empty = bench.clocks("empty")
    for n, clocks in NOPS.items():
        yield Cell(f"s_nop {n}", clocks, bench.clocks(f"nop{n}") - empty, "clk")
    for i, (load, clocks) in enumerate(LATENCIES.items()):
        yield Cell(f"latency of {load.split()[0]}", clocks, bench.clocks(f"latency{i}") - empty, "clk")
    yield Cell("latency of an L1 hit", L1_LATENCY, bench.clocks("latency_l1") - empty, "clk")
    for (opcode, _, _), clocks in MFMA.items():
        yield Cell(opcode, clocks, (bench.clocks(f"{opcode}_5") - bench.clocks(f"{opcode}_1")) / 4, "clk")
    for i, (op, row) in enumerate(BESIDE.items()):
        for n, clocks in enumerate(row):
            long, short = (bench.clocks(f"beside{i}_{n}_{groups}") for groups in (60, 20))
            name = op.split()[0] if n == 0 else f"MFMA and {n} {op.split()[0]}"
            yield Cell(name, clocks, (long - short) / 40, "clk")


def bandwidth_cells() -> Iterator[Cell]:
    """Bytes a clock of one compute unit."""
    bench = Bench(_kernels())
    on = chip("mi308x")
    l2 = MemoryView(on.l2_latency, on.l2_bytes_per_clk / on.cus_per_xcd, 1 << 20)
    for (label, _, size), row in BANDWIDTH.items():
        for simds, figures in row.items():
            for each, measured in zip((1, 2, 4), figures, strict=True):
                view = l2 if label.endswith("L2") else None
                clocks = bench.clocks(label.split()[0], 4 * each, ACTIVE[simds], each, view)
                moved = ACTIVE[simds].bit_count() * each * BATCH * TRIPS * size
                name = f"{label}, SIMD {simds}, {each} waves"
                yield Cell(name, measured, moved / clocks, "B/clk", CAUSES.get(label, ""))
