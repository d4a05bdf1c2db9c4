"""The attention recipe against a slow loop, and its launches."""

import math

import ml_dtypes
import numpy as np
import pytest

from asmevo.launch import AttentionForward
from asmevo.verdict import InputError

CASES = {
    "plain": {"batch": 2, "heads": 2, "queries": 3, "keys": 5},
    "causal": {"batch": 1, "heads": 2, "queries": 3, "keys": 5, "causal": True},
    "shared keys": {"batch": 2, "heads": 4, "kv_heads": 2, "queries": 3, "keys": 4},
    "group": {"batch": 3, "heads": 2, "queries": 5, "keys": 7, "group": True, "causal": True, "seed": 4},
    "two tiles of keys": {"batch": 1, "heads": 1, "queries": 2, "keys": 41, "causal": True},
    "truncated": {"batch": 1, "heads": 1, "queries": 3, "keys": 70, "rounding": "rtz"},
    "ties away": {"batch": 1, "heads": 1, "queries": 3, "keys": 70, "rounding": "rtna"},
    "narrow values": {"batch": 1, "heads": 1, "queries": 2, "keys": 3, "head": "192x128"},
}


def rounded(value: float, rounding: str) -> float:
    """A positive number with the eight significant bits of bf16."""
    fraction, exponent = math.frexp(float(np.float32(value)))
    scaled = fraction * 256
    whole = {"rtne": round(scaled), "rtna": math.floor(scaled + 0.5), "rtz": math.floor(scaled)}[rounding]
    return math.ldexp(whole, exponent - 8)


@pytest.mark.parametrize("case", CASES)
def test_attention_by_a_loop(case):
    recipe = AttentionForward(**CASES[case])
    q, k, v = (recipe.inputs()[key].view(ml_dtypes.bfloat16).astype(np.float64) for key in ("q", "k", "v"))
    o, lse = recipe.expectations()
    row = 0
    q_lengths, k_lengths = recipe.lengths()
    first_key = 0
    for number, (queries, keys) in enumerate(zip(q_lengths, k_lengths, strict=True)):
        for i in range(queries):
            for head in range(recipe.heads):
                source = head * recipe.kv_count // recipe.heads
                scale = float(np.float32(q.shape[2] ** -0.5))
                seen = [j for j in range(keys) if not recipe.causal or j <= i + keys - queries]
                scores = [scale * float(q[row, head] @ k[first_key + j, source]) for j in seen]
                terms = [math.exp(score) for score in scores]
                total = math.fsum(terms)
                got = np.zeros(v.shape[2])
                for score, j in zip(scores, seen, strict=True):
                    largest = max(other for other, at in zip(scores, seen, strict=True) if at // 32 <= j // 32)
                    weight = rounded(math.exp(score - largest), recipe.rounding) * math.exp(largest)
                    got += weight * v[first_key + j, source] / total
                assert np.allclose(got, o.values[row, head], rtol=1e-9, atol=1e-12)
                logarithm = lse.values[head, row] if recipe.group else lse.values[number, head, i]
                assert math.isclose(math.log(total), logarithm, rel_tol=1e-9, abs_tol=1e-12)
            row += 1
        first_key += keys
    assert row == o.values.shape[0]


def test_lengths_of_a_group():
    recipe = AttentionForward(batch=9, heads=1, queries=20, keys=30, group=True, causal=True)
    queries, keys = recipe.lengths()
    assert (queries[0], keys[0]) == (20, 30) and len(set(queries)) > 3
    assert all(1 <= q <= k <= 30 for q, k in zip(queries, keys, strict=True))
    assert recipe.inputs()["q_starts"].tolist() == [0, *np.cumsum(queries)]


@pytest.mark.parametrize(
    ("change", "grid"),
    [
        ({}, (3, 8, 2)),
        ({"causal": True}, (2, 8, 2)),
        ({"group": True}, (8, 2, 3)),
        ({"head": "192x128"}, (8, 5, 2)),
        ({"head": "192x128", "group": True}, (8, 2, 5)),
    ],
)
def test_grids(change, grid):
    recipe = AttentionForward(**({"batch": 2, "heads": 8, "queries": 600, "keys": 600} | change))
    launch = recipe.launch("t")
    assert launch.grid == grid and launch.block[0] == (256 if "head" in change else 512)
    values = {f.name: f.value for f in launch.kernarg}
    assert values["q_batch"] == (0 if recipe.group else 600 * 8 * 2 * (192 if "head" in change else 128))
    assert launch.kernarg[-1].offset == 496


def test_tuning_options():
    def options(**change):
        recipe = AttentionForward(**({"batch": 1, "heads": 8, "queries": 4, "keys": 4} | change))
        return {f.name: f.value for f in recipe.launch("t").kernarg}["opt"]

    assert options() == options(heads=3) == options(causal=True) == 5
    assert options(heads=3, causal=True) == 3 and options(head="192x128") == 0


BAD = {
    "causal": ({"causal": True, "keys": 3}, "keys >= queries"),
    "shared": ({"kv_heads": 3}, "divisor"),
    "head": ({"head": "64"}, "'64'"),
    "rounding": ({"rounding": "up"}, "'up'"),
    "queries": ({"queries": 0}, "below 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_arguments_outside_of_the_family(case):
    change, words = BAD[case]
    with pytest.raises(InputError, match=words):
        AttentionForward(**({"batch": 1, "heads": 4, "queries": 4, "keys": 4} | change))
