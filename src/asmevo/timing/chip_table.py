"""Chip tables: cited numbers of CDNA3 accelerators.

Sources in short:
ROCM = ROCm documentation (GPU architecture of MI300, GPU specifications, rocprofiler-compute pipeline descriptions).
LLVM = AMDGPU back end (SISchedule.td, GCNHazardRecognizer.cpp, AMDGPUUsage).
MATRIX = ROCm/amd_matrix_instruction_calculator for cdna3.
MGPU = sarchlab/mgpusim, calibration/mi300x_ground_truth.csv (one MI300X).
CACHE = MrRoy09/AMD-CDNA3-CacheBenchmarking (s_memtime around one access).
WAVE = documentation of iree-org/wave (buffer_and_swizzle): on MI300 bits 7 and 8 of an address choose one of 4 L1 sets.
HIPNOTES = tingqli/pyhip notes, measured on MI308X at 1.8 to 1.85 GHz: docs/mem_latency.md, docs/mfma-valu-coissue.md,
docs/vm_cnt.md, tools/vmem-fifo.md, tools/vmem-bandwidth.md, tools/gpu-frequency-probe.md and its table of LDS and L1
bandwidth by active SIMDs.
FIT = fitted to times that AMD measured on MI308X (two thirds of the objects; `python -m benchmarks.timing --fit`).
CLRX = CLRX-mirror GcnTimings (GCN, older than CDNA).
"""

from __future__ import annotations

from functools import cache

from asmevo.timing.chips import Chip, ClassCost, build_chip
from asmevo.timing.chips import Parameter as P
from asmevo.timing.overrides import chip_in_brackets
from asmevo.verdict import UsageError

COMPUTE_UNIT = (
    P("workgroups_per_cu", 16, "workgroups", "assumed: barrier slots of GCN", 16, 32),
    P("issue_clk", 4, "clk", "ROCM: one SIMD is considered each clock, round robin"),
    P("sgpr_result_clk", 16, "clk", "CLRX: 16 clk between vector and scalar use of VCC", 8, 16),
    P("mfma_read_passes", 4, "passes", "LLVM: XDL result read after passes + 3 wait states"),
    P("packed_f32_mfma_clk", 12, "clk", "HIPNOTES: MFMA then 1..4 v_pk_*_f32 take 28, 32, 36, 40 clk"),
    P("lds_read_bytes_per_clk", 64, "B/clk/port", "HIPNOTES; ROCM"),
    P("lds_write_clk_1", 8, "clk", "ROCM: a 64-wide b32 store takes 8 clk"),
    P("lds_write_clk_2", 14, "clk", "between the b32 and b128 values", 10, 16),
    P("lds_write_clk_3", 21, "clk", "between the b32 and b128 values", 14, 24),
    P("lds_write_clk_4", 28, "clk", "HIPNOTES: 37 B/clk/port; ROCM says 20", 20, 28),
    P("lds_latency", 48, "clk", "HIPNOTES: b32 52, b128 64 clk including 4 and 16 on the port", 44, 64),
    P("lds_queue_clk", 64, "clk", "chosen so that 47 of 48 LDS bandwidth cells of HIPNOTES come within 15 %", 32, 128),
    P("l1_bytes_per_clk", 64, "B/clk/CU", "ROCM; HIPNOTES"),
    P("l1_line_clk", 1.0, "clk", "HIPNOTES: 16 B of 16 lines, 16.2 clk; 4 at once if of other sets (WAVE)?", 0.25, 1.0),
    P(
        "l2_line_clk",
        3.0,
        "clk",
        "HIPNOTES: 16 to 64 B of 4 to 16 lines, 2.8 to 3.2 stored, 2.7 to 3.6 loaded",
        2.7,
        3.6,
    ),
    P("lds_dma_clk", 12, "clk", "fitted (FIT): a dword load into LDS takes as long as one of 12 B a lane", 4, 24),
    P(
        "vmem_queue_clk",
        192,
        "clk",
        "HIPNOTES: 16 dwordx4 loads issue fast, then one in 16 clk; stores never",
        128,
        256,
    ),
    P("vmem_inflight_bytes", 51200, "B", "HIPNOTES: long issue stalls from about load 50 of 1 KiB", 32768, 65536),
    P("barrier_clk", 16, "clk", "assumed", 4, 40),
    P("branch_clk", 24, "clk", "chosen so that LDS cells of HIPNOTES fit; GCN folklore 16, LLVM guesses 32", 8, 32),
    P("fetch_bytes", 32, "B", "HIPNOTES: 8-byte instructions off 8-byte alignment take 5 clk, 32 B a fetch"),
    P("icache_bytes", 65536, "B per 2 CUs", "ROCM"),
)

MI300X_CHIP = (
    P("xcds", 8, "dies", "ROCM"),
    P("cus_per_xcd", 38, "CUs", "ROCM"),
    P("clock_ghz", 2.1, "GHz", "ROCM: maximum engine clock; MFMA-heavy kernels run below it", 1.2, 2.1),
    P("clock_ghz_8", 2.1, "GHz", "as clock_ghz; hipBLASLt's 1160 Tflop/s of fp8 (Azure) would need 0.93", 0.93, 2.1),
    P("clock_ghz_16", 2.1, "GHz", "as clock_ghz", 1.2, 2.1),
    P("hbm_bytes_per_s", 4.2e12, "B/s", "Azure ND MI300X copy and triad 4.1 to 4.3 TB/s; peak 5.3", 4.0e12, 5.1e12),
    P("fabric_bytes_per_clk", 800, "B/clk/XCD", "ROCM: 16 channels of 64 B, 17.2 TB/s; share assumed", 500, 1024),
    P("l2_bytes_per_clk", 2048, "B/clk/XCD", "ROCM: 16 channels of 128 B"),
    P("mall_bytes", 256 << 20, "B", "ROCM"),
    P("l2_bytes", 4 << 20, "B/XCD", "ROCM"),
    P("hbm_latency_ns", 325, "ns", "MGPU pointer chase, 0.5 to 4 GB", 300, 580),
    P("mall_latency_ns", 200, "ns", "MGPU pointer chase, 8 to 64 MB", 170, 330),
    P("l2_latency", 224, "clk", "CACHE; MGPU pointer chase gives 180", 180, 280),
    P("l1_latency", 112, "clk", "CACHE; MGPU pointer chase gives 68", 68, 120),
    P("scalar_latency", 64, "clk", "assumed; LLVM schedules 20", 20, 200),
    P("store_latency", 500, "clk", "assumed: a round trip to L2 and the fabric", 224, 900),
    P("launch_us", 4.0, "us", "shortest profiled kernels 5.7 us in AITer's tables, with work", 2.0, 6.0),
    P("dispatch_clk", 8.1, "clk/workgroup/XCD", "MGPU: 2,097,152 empty workgroups in 1011.7 us", 8, 17),
)

MI308X_CHIP = (
    P("xcds", 4, "dies", "rocprofiler-compute, SPX mode"),
    P("cus_per_xcd", 20, "CUs", "80 CUs over 4 dies"),
    P("clock_ghz", 1.59, "GHz", "HIPNOTES, sustained: loads from HBM 1.59, MFMA 1.13, MFMA with EXP 1.34", 1.13, 1.85),
    P("clock_ghz_8", 1.5, "GHz", "fitted (FIT)", 1.13, 1.85),
    P("clock_ghz_16", 1.84, "GHz", "HIPNOTES: 301.5 Tflop/s of bf16 at 1.84", 1.13, 1.85),
    P("hbm_bytes_per_s", 4.2e12, "B/s", "fitted (FIT); HIPNOTES: streams load at 4.06 to 4.27 TB/s", 3.3e12, 4.3e12),
    P("hbm_latency_ns", 525, "ns", "grid search on the objects of FIT, all shapes; `--fit` gives 500", 300, 580),
    P("fabric_bytes_per_clk", 720, "B/clk/XCD", "as hbm_latency_ns; `--fit` gives 640", 500, 1024),
)

MI325X_CHIP = (
    P("hbm_bytes_per_s", 4.8e12, "B/s", "assumed: the share of its 6 TB/s that MI300X reaches of 5.3", 4.2e12, 5.7e12),
)

MI355X_CHIP = (
    P("cus_per_xcd", 32, "CUs", "ROCM: 256 CUs over 8 dies"),
    P("clock_ghz", 2.4, "GHz", "ROCM: maximum engine clock; sustained clocks not known", 1.2, 2.4),
    P("clock_ghz_8", 2.4, "GHz", "as clock_ghz", 1.0, 2.4),
    P("clock_ghz_16", 2.4, "GHz", "as clock_ghz", 1.2, 2.4),
    P("hbm_bytes_per_s", 6.3e12, "B/s", "assumed: the share of its 8 TB/s that MI300X reaches of 5.3", 5.5e12, 7.5e12),
    P("lds_read_bytes_per_clk", 128, "B/clk/port", "CDNA4 white paper: twice the LDS read bandwidth", 64, 128),
)

CLASSES = {
    "valu": ClassCost(4, 4, "ROCM: wave64 on 16 lanes; HIPNOTES 4.01 clk"),
    "valu_pk": ClassCost(4, 4, "HIPNOTES 4.01 clk; see packed_f32_mfma_clk"),
    "valu_64": ClassCost(4, 4, "LLVM, full-rate f64 model of gfx942"),
    "valu_mul": ClassCost(4, 4, "LLVM for gfx90a and later; 16 on GCN", (4, 16)),
    "valu_cvt": ClassCost(16, 16, "LLVM", (4, 16)),
    "valu_trans": ClassCost(16, 16, "HIPNOTES 16.0 clk"),
    "valu_trans64": ClassCost(16, 16, "LLVM", (16, 64)),
    "mfma": ClassCost(4, 0, "MATRIX: other vector instructions may issue 4 clk later; the rest follows from passes"),
    "salu": ClassCost(0, 4, "LLVM"),
    "branch": ClassCost(0, 4, "one issue turn; see branch_clk"),
    "internal": ClassCost(0, 4, "one issue turn"),
    "smem": ClassCost(0, 0, "see scalar_latency"),
    "lds": ClassCost(0, 0, "see lds_latency"),
    "vmem_load": ClassCost(0, 0, "see the memory latencies"),
    "vmem_store": ClassCost(0, 0, "see store_latency"),
    "atomic": ClassCost(0, 0, "see the memory latencies"),
}
"""Cost by latency class of the opcode rows (`asmevo.isa.row.LATENCIES`)."""


@cache
def chips() -> dict[str, Chip]:
    """All chips by name."""
    mi300x = COMPUTE_UNIT + MI300X_CHIP
    return {
        "mi300x": build_chip("mi300x", "gfx942", mi300x, CLASSES),
        "mi308x": build_chip("mi308x", "gfx942", mi300x + MI308X_CHIP, CLASSES),
        "mi325x": build_chip("mi325x", "gfx942", mi300x + MI325X_CHIP, CLASSES),
        "mi355x": build_chip("mi355x", "gfx950", mi300x + MI355X_CHIP, CLASSES),
    }


def chip(name: str) -> Chip:
    """A chip by name, which may have numbers of its own in brackets (`asmevo.timing.overrides`).

    Raises `UsageError` with the names there are, and `InputError` for numbers that cannot be.
    """
    base, bracket, numbers = name.partition("[")
    if base not in chips():
        raise UsageError(f"There is no chip {name!r}; the chips are {', '.join(chips())}.")
    return chip_in_brackets(numbers, chips()[base]) if bracket else chips()[base]
