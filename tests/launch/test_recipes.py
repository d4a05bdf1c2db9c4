"""References of the recipes against slow loops written another way, and the data they hand to the kernels."""

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from asmevo.codeobject import CodeObject
from asmevo.launch import BlockScaledGemm, Softmax, build_image, load_launches
from asmevo.launch.recipes import FmoeOneStage, FmoeStage1, Int8Gemm
from asmevo.launch.recipes.numbers import EDGES, edges
from asmevo.verdict import InputError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def real(codes):
    return codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64)


def test_softmax_reference_by_a_loop():
    recipe = Softmax(rows=2, columns=32, values="wide", seed=3)
    x, want = recipe.inputs()["x"], recipe.expectations()[0].values
    for row in range(2):
        powers = [math.exp(float(v) - float(max(x[row]))) for v in x[row]]
        for column in range(32):
            assert math.isclose(want[row, column], powers[column] / sum(powers), rel_tol=1e-12, abs_tol=1e-300)
    special = Softmax(rows=40, columns=32, values="special")
    assert 0.1 < np.mean(np.isnan(special.expectations()[0].values)) < 0.9
    for wrong in ({"columns": 40}, {"columns": 2048}, {"columns": 0}, {"values": "nice"}, {"rows": 0}):
        with pytest.raises(InputError, match=r"triton.softmax"):
            Softmax(**{"rows": 1, "columns": 32, **wrong})


def test_gemm_reference_by_a_loop():
    recipe = BlockScaledGemm(m=3, n=144, k=272, seed=5)
    arrays, want = recipe.inputs(), recipe.expectations()[0].values
    a, b = real(arrays["a"]), real(arrays["b"])
    for i in range(recipe.m):
        for j in (0, 5, 127, 128, 143):
            total = 0.0
            for k in range(recipe.k):
                scale = float(arrays["a_scale"][i, k // 128]) * float(arrays["b_scale"][j // 128, k // 128])
                total += a[i, k] * b[j, k] * scale
            assert math.isclose(total, want[i, j], rel_tol=1e-12, abs_tol=1e-12)


def test_gemm_integers_are_exact_in_any_order():
    recipe = BlockScaledGemm(m=8, n=16, k=512, values="integers", seed=1)
    arrays, expectation = recipe.inputs(), recipe.expectations()[0]
    a, b = real(arrays["a"]).astype(np.float32), real(arrays["b"]).astype(np.float32)
    scale = (arrays["a_scale"][:, None, :] * arrays["b_scale"][0]).repeat(128, axis=2)
    terms = a[:, None, :] * b[None, :, :] * scale
    order = np.random.default_rng(0).permutation(recipe.k)
    shuffled = np.cumsum(terms[:, :, order], axis=2, dtype=np.float32)[:, :, -1]
    assert np.array_equal(shuffled.astype(np.float64), expectation.values)
    assert not expectation.tolerance.any()


@pytest.mark.parametrize("values", ["normal", "zero_scales", "special"])
def test_gemm_values_hold_what_they_promise(values):
    recipe = BlockScaledGemm(m=64, n=128, k=512, values=values, seed=7)
    arrays = recipe.inputs()
    scales, codes = arrays["a_scale"], arrays["a"]
    if values == "normal":
        assert np.all(scales > 0) and np.all(codes != 0x80) and len(np.unique(codes)) > 200
    if values == "zero_scales":
        assert 0.1 < np.mean(scales == 0) < 0.6
    if values == "special":
        assert np.isnan(scales).any() and np.isinf(scales).any() and (codes == 0x80).any()
        assert 0.1 < np.mean(np.isnan(recipe.expectations()[0].values)) < 0.9


def test_special_values_of_experts_stand_beside_numbers():
    shape = {"tokens": 48, "experts": 2, "topk": 1, "dim": 128, "inter": 256, "values": "special"}
    values = FmoeStage1(**shape).expectations()[0].values
    lost = np.isnan(values[:, 0])
    assert np.any(lost[:, 1:] & ~lost[:, :-1]) and np.any(lost[1:] & ~lost[:-1])
    with pytest.raises(InputError, match="no special values"):
        FmoeStage1(**shape, scaling="block")
    with pytest.raises(InputError, match="no edges values"):
        FmoeStage1(**shape | {"values": "edges"}, doweight=True)
    with pytest.raises(InputError, match="no special values"):
        FmoeOneStage(**shape, tile_n=128)


@pytest.mark.parametrize("dtype", ["fp8", "int8"])
def test_edges_of_experts_are_reached_exactly(dtype):
    recipe = FmoeStage1(tokens=5, experts=2, topk=1, dim=384, inter=256, dtype=dtype, values="edges")
    rows = recipe.expectations()[0].values[:, 0].astype(np.float32)
    assert np.array_equal(rows.view(np.uint32), np.broadcast_to(edges(256).view(np.uint32), rows.shape))


def test_edges_differ_from_column_to_column_and_from_group_to_group():
    recipe = Int8Gemm(m=3, n=256, k=384, weight_tile=32, values="edges")
    (expected,) = recipe.expectations()
    bits = expected.values.astype(np.float32)[0].view(np.uint32)
    assert np.array_equal(bits, edges(256).view(np.uint32)) and set(bits.tolist()) == set(EDGES)
    assert np.all(bits[1:16] != bits[:15]) and all(len(set(bits[i::16].tolist())) == len(EDGES) for i in range(16))
    finite = edges(256)[np.isfinite(edges(256))]
    up = ((finite.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
    off = ((finite.view(np.uint32) + 0x8001) >> 16).astype(np.uint16)
    assert 0.3 < np.mean(up != off) < 0.9, "a rounding constant that is off by one shows"
    with pytest.raises(InputError, match="no values 'odd'"):
        Int8Gemm(m=3, n=256, k=384, weight_tile=32, values="odd")


def test_a_right_result_agrees_and_wrong_ones_do_not(fp8_gemm_bytes):
    obj = CodeObject.parse(fp8_gemm_bytes)
    recipe = BlockScaledGemm(m=16, n=32, k=128, seed=2)
    image, expectation = build_image(recipe.launch("t"), obj), recipe.expectations()[0]
    assert not expectation.compare(image).within, "poison must not pass"
    expectation.store(image)
    assert expectation.compare(image).within and expectation.compare(image).exact == 1.0
    image.buffer("c")[3, 4] ^= 4
    report = expectation.compare(image)
    assert not report.within and 1 < report.max_ulp < 8 and report.exact == 511 / 512
    image.buffer("c")[3, 4] = 0x7FC0
    assert not expectation.compare(image).within and "DIFFERS" in str(expectation.compare(image))


@pytest.mark.parametrize("example", ["fp8_gemm", "fmoe_stage1"])
def test_launches_of_the_examples_fit_their_kernels(example, fp8_gemm_bytes, fmoe_stage1_bytes):
    obj = CodeObject.parse({"fp8_gemm": fp8_gemm_bytes, "fmoe_stage1": fmoe_stage1_bytes}[example])
    launches = load_launches(EXAMPLES / example / "launches")
    assert [launch.name for launch in launches if launch.objective] == ["serving"]
    assert len(launches) >= 4
    for launch in launches:
        if not launch.objective:
            image = build_image(launch, obj)
            assert all(np.all(zone == image.poison) for _, zone in image.red_zones())
        assert launch.kernarg[-1].offset + launch.kernarg[-1].size <= obj.kernel().kernarg_size
