"""Accuracy of exp2, log2, sine and cosine, as the ledger states it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from asmevo.sim import APPROXIMATIONS, LEDGER
from sim_kernels import lanes

INF = np.inf


def many(code: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = list(x.reshape(-1, 64))
    text = "\n".join(f"{code} v{40 + i}, v{10 + i}" for i in range(len(rows)))
    return lanes(text, rows, len(rows)).view(np.float32).reshape(-1)


def units(got: NDArray[np.float32], want: NDArray[np.float64]) -> float:
    return float(np.max(np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)))


def _roots(draw: np.random.Generator) -> NDArray[np.float64]:
    return np.concatenate([np.exp2(draw.uniform(-120, 120, 512)), draw.uniform(1, 1.01, 512)])


FUNCTIONS = {
    "v_exp_f32": (np.exp2, lambda g: np.concatenate([g.uniform(-126, 127.9, 512), g.uniform(-1, 1, 512)])),
    "v_log_f32": (np.log2, lambda g: np.concatenate([np.exp2(g.uniform(-126, 127, 512)), g.uniform(0.5, 2, 512)])),
    "v_rcp_f32": (lambda x: 1 / x, _roots),
    "v_rcp_iflag_f32": (lambda x: 1 / x, _roots),
    "v_rsq_f32": (lambda x: 1 / np.sqrt(x), _roots),
    "v_sqrt_f32": (np.sqrt, _roots),
}


@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_approximations_are_within_what_the_table_says(opcode: str) -> None:
    exact, draw = FUNCTIONS[opcode]
    x = draw(np.random.default_rng(1)).astype(np.float32)
    (known,) = [a for a in APPROXIMATIONS if opcode in a.opcodes]
    error = units(many(f"{opcode}_e32", x), exact(x.astype(np.float64)))
    assert known.here / 4 < error <= known.here


def test_sine_and_cosine_of_turns() -> None:
    g = np.random.default_rng(2)
    x = np.concatenate([g.uniform(-256, 256, 512), g.uniform(-1, 1, 512)]).astype(np.float32)
    angle = 2 * np.pi * (x.astype(np.float64) % 1)
    assert np.max(np.abs(many("v_sin_f32_e32", x) - np.sin(angle))) < 2.0**-22
    assert np.max(np.abs(many("v_cos_f32_e32", x) - np.cos(angle))) < 2.0**-22


@pytest.mark.parametrize(
    ("code", "x", "want"),
    [
        ("v_exp_f32_e32", [INF, -INF, np.nan, 128, -150, 0, -0.0, 1], [INF, 0, np.nan, INF, 0, 1, 1, 2]),
        ("v_log_f32_e32", [INF, 0, np.nan, -1, 1, 0.25, -0.0, 8], [INF, -INF, np.nan, np.nan, 0, -2, -INF, 3]),
        ("v_rcp_f32_e32", [INF, 0, np.nan, -4, 1, -0.0, -INF, 3], [0, INF, np.nan, -0.25, 1, -INF, 0, 1 / 3]),
        ("v_sin_f32_e32", [0, 0.25, 0.5, 0.75, 1, -0.25, 100.25, INF], [0, 1, 0, -1, 0, -1, 1, np.nan]),
    ],
)  # fmt: skip
def test_special_values(code: str, x: list[float], want: list[float]) -> None:
    got = many(code, np.resize(np.array(x, np.float32), 64))[:8]
    np.testing.assert_array_equal(got, np.array(want, np.float32))


def test_the_ledger_names_what_is_approximate() -> None:
    words = " ".join(d.what for d in LEDGER)
    for name in ("SMFMAC summation", "v_exp_f32", "v_log_f32", "v_sin_f32", "v_rcp", "NaN"):
        assert name in words
    (reciprocals,) = [d for d in LEDGER if "v_rcp_f64" in d.what]
    assert reciprocals.here == "correctly rounded, within 0.5 units in the last place"
    assert reciprocals.hardware == "within 536870912 units in the last place: a seed for Newton steps"
