"""Mixture-of-experts recipes against slow loops that start from what the kernel gets: sorted ids, shuffled weights."""

import math

import ml_dtypes
import numpy as np
import pytest

from asmevo.launch import FmoeOneStage, FmoeOneStageWide, FmoeStage1
from asmevo.launch.recipes.experts import activated
from asmevo.launch.recipes.numbers import quantised
from asmevo.launch.recipes.weights import shuffle_weights, unshuffle_weights
from asmevo.verdict import InputError

FP8 = ml_dtypes.float8_e4m3fnuz


def real(codes):
    return (codes if codes.dtype == np.int8 else codes.view(FP8)).astype(np.float64)


def rows_of(recipe, arrays):
    """(token, slot, expert, weight) of every sorted row that is no padding."""
    for row in range(int(arrays["num_valid_ids"][0])):
        token, slot = int(arrays["sorted_ids"][row]) & 0xFFFFFF, int(arrays["sorted_ids"][row]) >> 24
        if token < recipe.tokens:
            yield token, slot, int(arrays["sorted_expert_ids"][row // recipe.tile_m]), arrays["sorted_weights"][row]


def weight(flat, k, row, column):
    """Elements of a row of a shuffled matrix, one byte each."""
    tile = (row // 16 * (k // 32) + column // 32) * 512
    return flat[tile + column % 32 // 16 * 256 + row % 16 * 16 + column % 16]


def gate_or_up(recipe, arrays, token, expert, row):
    """One scaled dot product."""
    k = np.arange(recipe.dim)
    w = real(weight(arrays["gu"][expert].reshape(-1), recipe.dim, row, k))
    if recipe.scaling == "token":
        scale = np.float64(arrays["x_scale"][token]) * arrays["gu_scale"][expert, row]
    else:
        scale = arrays["x_scale"][k // 128, token].astype(float) * arrays["gu_scale"][expert, row // 128, k // 128]
    return math.fsum(real(arrays["x"][token]) * w * scale)


def hidden(recipe, arrays, token, expert, column, given):
    gate, up = (gate_or_up(recipe, arrays, token, expert, n) for n in (column, column + recipe.inter))
    if recipe.doweight:
        gate, up = gate * given, up * given
    if recipe.activation == "silu":
        return gate / (1 + math.exp(-gate)) * up
    return gate * 0.5 * (1 + math.tanh(0.7978845608028654 * (gate + 0.044715 * gate**3))) * up


VARIANTS = {
    "token": {},
    "int8": {"dtype": "int8"},
    "weighted": {"doweight": True},
    "gelu": {"activation": "gelu"},
    "block": {"scaling": "block", "dim": 256},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_stage_1_by_a_loop(variant):
    sizes = {"tokens": 5, "experts": 3, "topk": 2, "dim": 128, "inter": 128, "seed": 3} | VARIANTS[variant]
    recipe = FmoeStage1(**sizes)
    arrays = recipe.inputs()
    want = recipe.expectations()[0].values.reshape(5, 2, 128)
    if variant == "block":
        want = want * recipe.expectations()[1].values.reshape(5, 2, 1)
    seen = set()
    for token, slot, expert, given in rows_of(recipe, arrays):
        seen.add((token, slot))
        for column in (0, 17, 127):
            got = hidden(recipe, arrays, token, expert, column, float(given))
            step = 0.07 if variant == "block" else 1e-9  # half of an fp8 step
            assert math.isclose(got, want[token, slot, column], rel_tol=step, abs_tol=1e-12 if step < 0.01 else 0.01)
    assert seen == {(t, s) for t in range(5) for s in range(2)}


def test_slices_of_stage_1_leave_gate_and_up():
    recipe = FmoeStage1(tokens=3, experts=2, topk=1, dim=256, inter=128, splitk=1, seed=1)
    arrays, (expected,) = recipe.inputs(), recipe.expectations()
    for token, slot, expert, _ in rows_of(recipe, arrays):
        for row in (0, 130):
            assert math.isclose(
                gate_or_up(recipe, arrays, token, expert, row), expected.values[token, slot, row], rel_tol=1e-9
            )
    launch = recipe.launch("t")
    assert launch.grid[2] == 2 and launch.buffer("o").role == "inout" and launch.buffer("o").shape == (3, 1, 256)


def test_scales_lie_behind_the_codes():
    recipe = FmoeStage1(tokens=3, experts=2, topk=2, dim=128, inter=256, scaling="block")
    codes, scales = recipe.expectations()
    assert codes.part == (0, "fp8") and scales.part == (3 * 2 * 256, "float32") and scales.values.shape == (6, 2)
    assert recipe.launch("t").buffer("o").size == 3 * 2 * (256 + 2 * 4)
    assert np.all(np.abs(codes.values.reshape(6, 2, 128)).max(axis=2) == 240)


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"dtype": "int8"},
        {"doweight": True},
        {"scaling": "block", "dim": 256},
        {"tile_n": 64, "inter": 128},
    ],
)
def test_one_stage_by_a_loop(variant):
    sizes = {"tokens": 4, "experts": 3, "topk": 2, "dim": 256, "inter": 128, "tile_n": 128, "seed": 5} | variant
    recipe = FmoeOneStage(**sizes)
    arrays, (expected,) = recipe.inputs(), recipe.expectations()
    width = 128 if recipe.scaling == "block" else recipe.tile_n
    columns = (0, 100, 255)
    want = np.zeros((4, len(columns)))
    for token, _, expert, given in rows_of(recipe, arrays):
        h = np.array([hidden(recipe, arrays, token, expert, c, float(given)) for c in range(recipe.inter)])
        flat = arrays["d"][expert].reshape(-1)
        for first in range(0, recipe.inter, width):
            part = h[first : first + width]
            top = 127.0 if recipe.dtype == "int8" else 240.0
            unit = np.float32(top) * (np.float32(1) / np.float32(np.abs(part).max()))
            scaled = part.astype(np.float32) * unit
            codes = np.trunc(scaled) if recipe.dtype == "int8" else scaled.astype(FP8).astype(np.float64)
            for at, column in enumerate(columns):
                terms = codes * real(weight(flat, recipe.inter, column, first + np.arange(width)))
                if recipe.scaling == "block":
                    scale = float(arrays["d_scale"][expert, column // 128, first // 128])
                else:
                    scale = float(arrays["d_scale"][expert, column])
                share = 1.0 if recipe.doweight else float(given)
                want[token, at] += math.fsum(terms) * np.abs(part).max() / top * scale * share
    assert np.allclose(want, expected.values[:, columns], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("sort", ["host", "none", "kernel"])
def test_one_stage_of_bf16_by_dense_matrices(sort):
    """Every expert's matrices at full size; X quantised in runs of 128 columns, as h is."""
    recipe = FmoeOneStageWide(
        tokens=5, experts=3, topk=2, dim=512, inter=128, tile_n=128, sort=sort, persistent=8 if sort == "kernel" else 0
    )
    arrays, (expected,) = recipe.inputs(), recipe.expectations()

    def requantised(rows):
        runs = rows.reshape(len(rows), -1, 128).astype(np.float32)
        unit = np.float32(240) * (np.float32(1) / np.abs(runs).max(axis=2, keepdims=True))
        codes = (runs * unit).astype(FP8).astype(np.float64)
        return (codes * (np.abs(rows.reshape(runs.shape)).max(axis=2, keepdims=True) / 240)).reshape(rows.shape)

    def dense(key, k):
        flat = [real(unshuffle_weights(codes, k)) for codes in arrays[key]]
        return [
            w * np.kron(s.astype(float), np.ones((128, 128))) for w, s in zip(flat, arrays[f"{key}_scale"], strict=True)
        ]

    x = requantised(arrays["x"].view(ml_dtypes.bfloat16).astype(np.float64))
    want = np.zeros((5, 512))
    for gate_up, down, expert in zip(dense("gu", 512), dense("d", 128), range(3), strict=True):
        both = x @ gate_up.T
        h = requantised(both[:, :128] / (1 + np.exp(-both[:, :128])) * both[:, 128:])
        share = np.where(recipe.chosen() == expert, recipe.routing_weights(), 0).sum(axis=1)
        want += (h @ down.T) * share[:, None]
    assert np.allclose(want, expected.values, rtol=1e-6, atol=1e-6)
    launch = recipe.launch("t")
    fields = {f.name: f for f in launch.kernarg}
    assert fields["Xs"].value == 1024 and fields["XQ"].value == 0 and fields["XQ"].type == "u64"
    assert launch.grid == {"host": (1, recipe.blocks, 1), "none": (1, 2, 5), "kernel": (8, 1, 1)}[sort]
    assert launch.buffer("o").size == 5 * 512 * 2 + (0 if sort == "host" else 8)
    assert launch.buffer("sorted_ids").shape == ((5, 2) if sort != "host" else (recipe.blocks * 16,))


def test_one_stage_launch():
    plain = FmoeOneStage(tokens=4, experts=3, topk=2, dim=256, inter=512, tile_n=256)
    assert plain.launch("t").grid == (2, plain.blocks, 1)
    assert [f.offset for f in plain.launch("t").kernarg] == [16 * i for i in range(28)]
    walking = FmoeOneStage(tokens=4, experts=3, topk=2, dim=256, inter=768, tile_n=256, persistent=8)
    launch = walking.launch("t")
    assert launch.grid == (8, 1, 1)
    assert {f.name: f.value for f in launch.kernarg if f.name in ("total_tgs", "ps_deno")} == {
        "total_tgs": 6,
        "ps_deno": 3,
    }
    older = FmoeOneStage(tokens=4, experts=3, topk=2, dim=256, inter=256, kernarg=416)
    assert older.launch("t").kernarg[-1].name == "topk"


def test_quantised_runs():
    rows = np.array([[1.0, -2.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]])
    codes, scales = quantised(rows, 2, "fp8")
    assert codes.tolist() == [[120.0, -240.0, 240.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    assert scales.tolist() == [[2 / 240, 0.5 / 240], [0.0, 0.0]]
    codes, _ = quantised(np.array([[1.0, 0.999, -0.999, 0.5]]), 4, "int8")
    assert codes.tolist() == [[127.0, 126.0, -126.0, 63.0]]


def test_activations():
    x = np.array([-3.0, 0.0, 2.0])
    assert np.allclose(activated(x, "silu"), [-0.14227762, 0, 1.76159416])
    assert np.allclose(activated(x, "gelu"), [-0.00363739, 0, 1.95459769])


@pytest.mark.parametrize(("dtype", "tile"), [(np.uint8, 16), (np.uint8, 32), (np.uint16, 16)])
def test_weight_shuffle_round_trip(dtype, tile):
    codes = np.random.default_rng(1).integers(0, 256, (2, 32, 64)).astype(dtype)
    assert np.array_equal(unshuffle_weights(shuffle_weights(codes, 64, tile), 64, tile), codes)
    run = 16 // codes.itemsize
    row = shuffle_weights(codes[0], 64, tile).reshape(-1)
    assert row[run : 2 * run].tolist() == codes[0, 1, :run].tolist()
    assert row[tile * run : (tile + 1) * run].tolist() == codes[0, 0, run : 2 * run].tolist()


def test_sorting_fills_blocks():
    recipe = FmoeStage1(tokens=70, experts=4, topk=2, dim=128, inter=128, seed=9)
    order = recipe.sorting()
    assert order.padded % 32 == 0 and order.padded <= len(order.ids) == 32 * recipe.blocks
    is_real = order.ids & 0xFFFFFF < 70
    assert len(order.ids[is_real]) == 140 == len(set(order.ids[is_real].tolist()))
    assert np.all(order.ids[order.padded :] == (2 << 24 | 70))
    assert np.all((order.weights > 0) == is_real)
    assert 0.5 < recipe.routing_weights().sum(axis=1).mean() < 1.5
    chosen = recipe.chosen()
    assert all(len(set(row)) == 2 for row in chosen.tolist())


def test_levels_fill_blocks_by_one_row_more_each():
    recipe = FmoeStage1(tokens=6, experts=3, topk=1, dim=128, inter=128, routing="levels")
    order = recipe.sorting()
    filled = (order.ids.reshape(-1, 32) & 0xFFFFFF) < 6
    assert filled.sum(axis=1).tolist() == [1, 2, 3, 0] and order.experts.tolist()[:3] == [0, 1, 2]


BAD = {
    "dim": ({"dim": 192}, "dim=192"),
    "inter": ({"inter": 96}, "inter=96"),
    "topk": ({"topk": 3}, "topk=3"),
    "tokens": ({"tokens": 0}, "below 1"),
    "values": ({"values": "odd"}, "'odd'"),
    "routing": ({"routing": "odd"}, "'odd'"),
    "levels": ({"routing": "levels"}, "tokens=3"),
    "dtype": ({"dtype": "int4"}, "'int4'"),
    "scaling": ({"scaling": "none"}, "'none'"),
    "activation": ({"activation": "relu"}, "'relu'"),
    "block": ({"scaling": "block", "inter": 64, "tile_n": 64}, "multiples of 128"),
    "slices": ({"splitk": 1}, "splitk=1"),
    "weighted slices": ({"splitk": 1, "dim": 256, "doweight": True}, "splitk=1"),
}


@pytest.mark.parametrize("case", BAD)
def test_arguments_outside_of_stage_1(case):
    change, words = BAD[case]
    with pytest.raises(InputError, match=words):
        FmoeStage1(**({"tokens": 4, "experts": 2, "topk": 1, "dim": 128, "inter": 128} | change))


BAD_ONE_STAGE = {
    "dim": ({"dim": 768}, "dim=768"),
    "inter": ({"inter": 384}, "inter=384"),
    "kernarg": ({"kernarg": 100}, "kernarg=100"),
    "older and persistent": ({"kernarg": 416, "persistent": 8}, "persistent=8"),
    "few": ({"inter": 1024, "persistent": 2}, "at least 4"),
}


@pytest.mark.parametrize("case", BAD_ONE_STAGE)
def test_arguments_outside_of_one_stage(case):
    change, words = BAD_ONE_STAGE[case]
    with pytest.raises(InputError, match=words):
        FmoeOneStage(**({"tokens": 4, "experts": 2, "topk": 1, "dim": 256, "inter": 256} | change))


BAD_WIDE = {
    "dim": ({"dim": 256}, "dim=256"),
    "sort": ({"sort": "later"}, "'later'"),
    "scaling": ({"scaling": "token"}, "'token'"),
    "dtype": ({"dtype": "int8"}, "'int8'"),
    "sorting alone": ({"sort": "kernel"}, "persistent"),
}


@pytest.mark.parametrize("case", BAD_WIDE)
def test_arguments_outside_of_one_stage_of_bf16(case):
    change, words = BAD_WIDE[case]
    with pytest.raises(InputError, match=words):
        FmoeOneStageWide(**({"tokens": 4, "experts": 2, "topk": 1, "dim": 512, "inter": 256} | change))


def test_numbers_of_down_apart_leave_one_number_for_each_element_of_the_result() -> None:
    recipe = FmoeOneStage(tokens=9, experts=3, topk=2, dim=256, inter=512, apart=True)
    plain = np.stack([real(unshuffle_weights(part, 512)) for part in recipe.inputs()["d"]])
    runs = (plain.reshape(3, 256, 512 // 32, 32) != 0).any(axis=3)
    assert (runs.sum(axis=2) == (np.arange(256) % 3 == np.arange(3)[:, None])).all()
    assert len(set(np.argwhere(runs)[:, 2])) == 16
    (expected,) = recipe.expectations()
    assert np.count_nonzero(expected.values) > 9 * 256 / 2
