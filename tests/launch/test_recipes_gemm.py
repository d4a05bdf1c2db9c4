"""GEMM recipes against slow loops over what the kernel gets, and their launches."""

import math

import ml_dtypes
import numpy as np
import pytest

from asmevo.launch import Bf16Gemm, Fp8BlockGemm, Int8Gemm
from asmevo.verdict import InputError


def shuffled(flat, k, row, column, size=1, tile=16):
    """An element of a shuffled matrix with `size` bytes an element."""
    run = 16 // size
    block = (row // tile * (k // 32) + column // 32) * tile * 32
    return flat[block + column % 32 // run * tile * run + row % tile * run + column % run]


def names(launch):
    return {field.name: field for field in launch.kernarg}


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_bf16_by_a_loop(is_shuffled):
    recipe = Bf16Gemm(m=3, n=64, k=128, seed=2, shuffled=is_shuffled, bias=True)
    arrays, want = recipe.inputs(), recipe.expectations()[0].values
    a = arrays["a"].view(ml_dtypes.bfloat16).astype(np.float64)
    b, bias = (arrays[key].view(ml_dtypes.bfloat16).astype(np.float64).reshape(-1) for key in ("b", "bias"))
    for i in range(3):
        for j in (0, 17, 63):
            row = [shuffled(b, 128, j, k, 2) if is_shuffled else b[j * 128 + k] for k in range(128)]
            total = math.fsum(x * y for x, y in zip(a[i], row, strict=True)) + bias[j]
            assert math.isclose(total, want[i, j], rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("tile", [16, 32])
def test_int8_by_a_loop(tile):
    recipe = Int8Gemm(m=3, n=128, k=384, seed=2, weight_tile=tile)
    arrays, want = recipe.inputs(), recipe.expectations()[0].values
    b = arrays["b"].reshape(-1).astype(int)
    for i in range(3):
        for j in (0, 17, 40, 127):
            total = sum(int(arrays["a"][i, k]) * int(shuffled(b, 384, j, k, tile=tile)) for k in range(384))
            total = total * float(arrays["a_scale"][i]) * float(arrays["b_scale"][j]) + float(arrays["bias"][j])
            assert math.isclose(total, want[i, j], rel_tol=1e-9, abs_tol=1e-12)


def test_fp8_with_block_scales_by_a_loop():
    recipe = Fp8BlockGemm(m=3, n=256, k=256, seed=2)
    arrays, want = recipe.inputs(), recipe.expectations()[0].values
    a, b = (arrays[key].view(ml_dtypes.float8_e4m3fnuz).astype(np.float64) for key in ("a", "b"))
    for i in range(3):
        for j in (0, 17, 127, 128, 255):
            total = float(arrays["bias"][j])
            for k in range(256):
                scale = float(arrays["a_scale"][k // 128, i]) * float(arrays["b_scale"][j // 128, k // 128])
                total += a[i, k] * shuffled(b.reshape(-1), 256, j, k) * scale
            assert math.isclose(total, want[i, j], rel_tol=1e-9, abs_tol=1e-12)


def test_bf16_launches_of_three_generations():
    oldest = Bf16Gemm(m=70, n=128, k=256, kernarg=288).launch("t")
    assert oldest.grid == (2, 2, 1) and oldest.kernarg[-1].name == "splitk" and oldest.buffer("d").role == "out"
    sliced = Bf16Gemm(m=70, n=128, k=256, splitk=3).launch("t")
    assert sliced.grid == (2, 2, 3) and sliced.buffer("d").role == "inout"
    clean = Bf16Gemm(m=70, n=128, k=256, splitk=3, semaphores=True, kernarg=352, bias=True, out="bf16").launch("t")
    assert clean.buffer("d").role == "out" and names(clean)["semaphore"].buffer == "semaphore"
    assert names(clean)["strideD0"].value == 256 and names(clean)["Bias"].buffer == "bias"


def test_float32_results_are_judged_in_bf16_and_as_they_are():
    in_bf16, as_they_are = Bf16Gemm(m=3, n=64, k=64).expectations()
    assert in_bf16.as_bf16 and in_bf16.bounds.least_exact == 0.9997 and not as_they_are.as_bf16
    assert np.all(as_they_are.tolerance > 0) and np.all(as_they_are.tolerance < 1e-3)
    (sliced,) = Bf16Gemm(m=3, n=64, k=128, splitk=2, out="bf16").expectations()
    assert sliced.bounds.most_off == 5e-4


def test_quantised_launches():
    launch = Int8Gemm(m=130, n=256, k=256, ks=2).launch("t")
    assert launch.grid == (4, 2, 1) and launch.buffer("c").role == "inout" and names(launch)["ldc"].value == 512
    assert names(launch)["ks"].value == 2 and launch.buffer("a_scale").shape == (130,)
    launch = Fp8BlockGemm(m=130, n=256, k=384).launch("t")
    assert launch.buffer("a_scale").shape == (3, 130) and launch.buffer("b_scale").shape == (2, 3)
    assert names(launch)["scale_k"].value == 3 and names(launch)["scale_k"].offset == 240


def test_older_int8_objects_round():
    assert Int8Gemm(m=1, n=128, k=384).expectations()[0].truncated
    assert not Int8Gemm(m=1, n=128, k=384, weight_tile=32).expectations()[0].truncated


BAD = {
    "bf16 n": (Bf16Gemm, {"n": 96}, "n=96"),
    "bf16 k": (Bf16Gemm, {"k": 96}, "k=96"),
    "bf16 slices": (Bf16Gemm, {"splitk": 5}, "splitk=5"),
    "bf16 out": (Bf16Gemm, {"out": "float16"}, "'float16'"),
    "bf16 kernarg": (Bf16Gemm, {"out": "bf16", "kernarg": 288}, "kernarg=336"),
    "bf16 semaphores": (Bf16Gemm, {"semaphores": True}, "kernarg=352"),
    "int8 n": (Int8Gemm, {"n": 192}, "n=192"),
    "int8 k": (Int8Gemm, {"k": 192}, "k=192"),
    "int8 m": (Int8Gemm, {"m": 0}, "below 1"),
    "int8 tile": (Int8Gemm, {"weight_tile": 8}, "weight_tile 8"),
    "int8 slices of wide tiles": (Int8Gemm, {"ks": 2, "tile_n": 256}, "use ks=1"),
    "int8 slices of older objects": (Int8Gemm, {"ks": 2, "weight_tile": 32}, "ks=2"),
    "int8 short rows of older objects": (Int8Gemm, {"weight_tile": 32}, "at least 384"),
    "fp8 slices": (Fp8BlockGemm, {"ks": 3}, "ks=3"),
}


@pytest.mark.parametrize("case", BAD)
def test_arguments_outside_of_the_family(case):
    make, change, words = BAD[case]
    with pytest.raises(InputError, match=words):
        make(**({"m": 4, "n": 256, "k": 256} | change))


def test_slices_are_truncated_before_they_are_added():
    whole, sliced = (Int8Gemm(m=4, n=128, k=640, seed=3, ks=ks).expectations()[0] for ks in (1, 2))
    assert not np.array_equal(whole.values, sliced.values)
    assert np.all(np.abs(whole.values - sliced.values) <= 2.0**-6 * np.abs(whole.values).max())
    arrays = Int8Gemm(m=4, n=128, k=640, seed=3, ks=2).inputs()
    b = arrays["b"].reshape(-1).astype(int)
    scale = np.float64(arrays["a_scale"][1]) * float(arrays["b_scale"][2])
    parts = [
        sum(int(arrays["a"][1, k]) * int(shuffled(b, 640, 2, k)) for k in span) * scale
        for span in (range(384), range(384, 640))
    ]
    parts[0] += float(arrays["bias"][2])
    cut = [(np.float32([p]).view(np.uint32) & 0xFFFF0000).view(np.float32)[0] for p in parts]
    assert sliced.values[1, 2] == float(cut[0]) + float(cut[1])
