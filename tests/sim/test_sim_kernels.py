"""AMD's FP8 mixture-of-experts kernel and the Triton FP8 GEMM on every example launch, against their references."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from asmevo.codeobject import CodeObject
from asmevo.launch import FmoeStage1, Launch, Recipe, build_image, load_launches
from asmevo.program import recover
from asmevo.sim import Executable, execute
from asmevo.verdict import UnsupportedError
from sim_kernels import block_cache

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECKS = {
    f"{folder}/{launch.name}": launch
    for folder in ("fmoe_stage1", "fp8_gemm")
    for launch in load_launches(EXAMPLES / folder / "launches")
    if not launch.objective
}


@cache
def executable(data: bytes) -> Executable:
    return Executable.build(recover(CodeObject.parse(data)), block_cache())


def object_of(launch: Launch, request: pytest.FixtureRequest) -> bytes:
    is_moe = isinstance(launch.recipe, FmoeStage1)
    return request.getfixturevalue("fmoe_stage1_bytes" if is_moe else "fp8_gemm_bytes")


@pytest.mark.parametrize("name", CHECKS)
def test_example_launch_computes_what_its_recipe_says(name: str, request: pytest.FixtureRequest) -> None:
    launch = CHECKS[name]
    data = object_of(launch, request)
    image = build_image(launch, CodeObject.parse(data))
    before = {label: zone.copy() for label, zone in image.red_zones()}
    done = execute(executable(data), launch, image)
    assert done.status == "done", done.fault
    assert isinstance(launch.recipe, Recipe)
    for comparison in launch.recipe.compare(image):
        assert comparison.within, str(comparison)
    for label, zone in image.red_zones():
        np.testing.assert_array_equal(zone, before[label], label)


@pytest.mark.parametrize("name", ["fmoe_stage1/ragged", "fp8_gemm/ragged"])
def test_runs_repeat_bit_by_bit_also_with_threads(name: str, request: pytest.FixtureRequest) -> None:
    launch = CHECKS[name]
    data = object_of(launch, request)
    results = []
    for threads in (1, 1, 2):
        image = build_image(launch, CodeObject.parse(data))
        done = execute(executable(data), launch, image, threads=threads)
        results.append((image.data.tobytes(), done.instructions, done.line_counts))
    assert results[0] == results[1] == results[2]


def test_a_kernel_that_leaves_its_buffer_is_caught(request: pytest.FixtureRequest) -> None:
    """The address of an argument bent to where nothing is."""
    launch = CHECKS["fp8_gemm/tile"]
    data = object_of(launch, request)
    image = build_image(launch, CodeObject.parse(data))
    at = image.kernarg_address - image.base
    image.data[at + 5] ^= 0x40
    done = execute(executable(data), launch, image)
    assert done.status == "fault" and done.fault is not None
    assert done.fault.rule == "sim.global" and done.fault.line is not None
    line = executable(data).program.line(done.fault.line)
    assert line.instruction.text in done.fault.message


def test_only_gfx942_is_executed(fp8_gemm_bytes: bytes) -> None:
    program = recover(CodeObject.parse(fp8_gemm_bytes))
    foreign = replace(program, source=replace(program.source, target="gfx950"))
    with pytest.raises(UnsupportedError, match="gfx950"):
        Executable.build(foreign, block_cache())
