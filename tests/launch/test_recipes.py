"""References of the recipes against slow loops written another way, and the data they hand to the kernels."""

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from asmevo.codeobject import CodeObject
from asmevo.launch import BlockScaledGemm, FmoeStage1, build_image, load_launches
from asmevo.launch.recipes.fmoe_stage1 import shuffle_weights, tile_of, unshuffle_weights
from asmevo.verdict import InputError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def real(codes):
    return codes.view(ml_dtypes.float8_e4m3fnuz).astype(np.float64)


def test_gemm_reference_by_a_loop():
    recipe = BlockScaledGemm(m=3, n=144, k=272, seed=5)
    arrays, want = recipe.inputs(), recipe.expectation().values
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
    arrays, expectation = recipe.inputs(), recipe.expectation()
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
        assert 0.1 < np.mean(np.isnan(recipe.expectation().values)) < 0.9


def test_fmoe_reference_by_a_loop():
    """From what the kernel gets: sorted ids and shuffled weights, not the routing they were made from."""
    recipe = FmoeStage1(tokens=5, experts=3, topk=2, dim=128, inter=128, seed=3)
    arrays, want = recipe.inputs(), recipe.expectation().values
    x, flat = real(arrays["x"]), real(arrays["gu"]).reshape(recipe.experts, -1)
    seen = set()
    for row in range(int(arrays["num_valid_ids"][0])):
        token, slot = int(arrays["sorted_ids"][row]) & 0xFFFFFF, int(arrays["sorted_ids"][row]) >> 24
        if token >= recipe.tokens:
            continue
        expert = int(arrays["sorted_expert_ids"][row // recipe.tile_m])
        seen.add((token, slot))
        for column in (0, 17, 127):
            sums = []
            for n in (column, column + recipe.inter):
                total = 0.0
                for k in range(recipe.dim):
                    tile = (n // 16 * (recipe.dim // 32) + k // 32) * 512
                    total += x[token, k] * flat[expert, tile + k % 32 // 16 * 256 + n % 16 * 16 + k % 16]
                sums.append(total * float(arrays["x_scale"][token]) * float(arrays["gu_scale"][expert, n]))
            gate, up = sums
            assert math.isclose(
                gate / (1 + math.exp(-gate)) * up, want[token, slot, column], rel_tol=1e-9, abs_tol=1e-12
            )
    assert seen == {(t, s) for t in range(5) for s in range(2)}


def test_weight_shuffle_round_trip():
    codes = np.random.default_rng(1).integers(0, 256, (2, 32, 64), np.uint8)
    assert np.array_equal(unshuffle_weights(shuffle_weights(codes, 64), 64), codes)
    row = shuffle_weights(codes[0], 64).reshape(-1)
    assert row[16:32].tolist() == codes[0, 1, :16].tolist()
    assert row[256:272].tolist() == codes[0, 0, 16:32].tolist()


def test_sorting_fills_blocks():
    recipe = FmoeStage1(tokens=70, experts=4, topk=2, dim=128, inter=128, seed=9)
    order = recipe.sorting()
    assert order.padded % 32 == 0 and order.padded <= len(order.ids) == 32 * recipe.blocks
    real_rows = order.ids[order.ids & 0xFFFFFF < 70]
    assert len(real_rows) == 140 == len(set(real_rows.tolist()))
    assert np.all(order.ids[order.padded :] == (2 << 24 | 70))
    chosen = recipe.chosen()
    assert all(len(set(row)) == 2 for row in chosen.tolist())


def test_levels_fill_blocks_by_one_row_more_each():
    recipe = FmoeStage1(tokens=6, experts=3, topk=1, dim=128, inter=128, routing="levels")
    order = recipe.sorting()
    filled = (order.ids.reshape(-1, 32) & 0xFFFFFF) < 6
    assert filled.sum(axis=1).tolist() == [1, 2, 3, 0] and order.experts.tolist()[:3] == [0, 1, 2]


def test_a_right_result_agrees_and_wrong_ones_do_not(fp8_gemm_bytes):
    obj = CodeObject.parse(fp8_gemm_bytes)
    recipe = BlockScaledGemm(m=16, n=32, k=128, seed=2)
    image, expectation = build_image(recipe.launch("t"), obj), recipe.expectation()
    assert not expectation.compare(image).within, "poison must not pass"
    image.buffer("c")[:] = expectation.codes
    assert expectation.compare(image).within and expectation.compare(image).exact == 1.0
    image.buffer("c")[3, 4] ^= 4
    report = expectation.compare(image)
    assert not report.within and 1 < report.max_ulp < 8 and report.exact == 511 / 512
    image.buffer("c")[3, 4] = 0x7FC0
    assert not expectation.compare(image).within and "DIFFERS" in str(expectation.compare(image))


def test_tile_of_a_name():
    assert tile_of("fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf3") == (32, 128)
    assert tile_of("_ZN5aiter44fmoe_stage1_bf16_pertokenFp8_g1u1_160x64_pf2E") == (160, 64)
    with pytest.raises(InputError, match="tile size"):
        tile_of("gemm")


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


BAD = {
    "dim": ({"dim": 192}, "dim=192"),
    "inter": ({"inter": 96}, "inter=96"),
    "topk": ({"topk": 3}, "topk=3"),
    "tokens": ({"tokens": 0}, "below 1"),
    "values": ({"values": "odd"}, "'odd'"),
    "routing": ({"routing": "odd"}, "'odd'"),
    "levels": ({"routing": "levels"}, "tokens=3"),
}


@pytest.mark.parametrize("case", BAD)
def test_arguments_outside_of_the_family(case):
    change, words = BAD[case]
    with pytest.raises(InputError, match=words):
        FmoeStage1(**({"tokens": 4, "experts": 2, "topk": 1, "dim": 128, "inter": 128} | change))
