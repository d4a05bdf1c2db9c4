"""The demo's figures: the keys of its JSON, and a kernel without a faster candidate reported as such."""

from __future__ import annotations

from asmevo.launch import load_launches
from benchmarks import objects
from benchmarks.common import numpy_gflop_per_cpu_s
from benchmarks.demo import kernels_table, simulated_gflop_per_cpu_s


def result(**changes):
    """A row of the JSON."""
    row = {"name": "k", "instructions": 10, "roundtrip_identical": True, "max_error": 0.5}
    row |= {
        "k0_us": 20.0,
        "best_us": 18.0,
        "speedup": 20 / 18,
        "verdict": "TESTED",
        "attempts": 7,
        "attempts_per_s": 0.5,
    }
    return row | changes


def test_a_kernel_without_a_faster_candidate_is_reported_as_such():
    faster, none = kernels_table([result(), result(best_us=20.0, speedup=1.0)]).splitlines()[2:]
    assert "18.00" in faster and "1.1111" in faster
    assert "none faster" in none and "1.0000" in none


def test_the_times_are_called_modelled():
    assert "modelled" in kernels_table([result()]).splitlines()[0]


def test_every_launch_of_the_demo_has_a_reference():
    for folder in (objects.FP8_GEMM_FOLDER, objects.ROOT / "examples" / "fmoe_stage1"):
        launches = load_launches(folder / "launches")
        assert all(launch.recipe is not None for launch in launches)
        assert sum(launch.objective for launch in launches) >= 1


def test_simulated_speed_is_a_fifth_of_numpy():
    """The floor for the FP8 GEMM at 1024^3; both in this process, on one thread."""
    assert simulated_gflop_per_cpu_s(repeats=1) >= 0.2 * numpy_gflop_per_cpu_s()
