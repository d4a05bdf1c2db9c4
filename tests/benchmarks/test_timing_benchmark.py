"""The parts of the timing benchmark that need no table of measured times, and how it reads one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asmevo.verdict import EnvironmentError_, InputError
from benchmarks import timing
from benchmarks.timing_baselines import nearest, roofline
from benchmarks.timing_cases import COLUMNS, Candidate, find_table, read_table
from benchmarks.timing_order import misordered
from benchmarks.timing_scores import held_tiles, prefetch_pairs, rank_correlation, scores

ROW = {
    "family": "fmoe_2stages", "cu_num": "80", "splitK": "0", "token": "16", "model_dim": "6144", "inter_dim": "384",
    "expert": "128", "topk": "4", "act_type": "ActivationType.Silu", "q_type": "QuantType.per_Token",
    "doweight_stage1": "0", "us": "10.0", "suspect": "", "tile_m": "32", "tile_n": "64", "origin": "profile",
    "wheel_path": "hsa/a_32x64_pf2.co",
}  # fmt: skip


def table(folder: Path, *changes: dict[str, str]) -> list[Candidate]:
    path = folder / "measured.csv"
    lines = [",".join(COLUMNS), *(",".join((ROW | change)[name] for name in COLUMNS) for change in changes)]
    path.write_text("\n".join(lines) + "\n")
    return read_table(path)


def test_rows_of_one_object_and_shape_become_their_median(tmp_path: Path) -> None:
    times = ({"us": "12"}, {"us": "10"}, {"us": "40"}, {"us": "11", "wheel_path": "b.co", "tile_m": "64"})
    first, second = table(tmp_path, *times)
    assert {first.microseconds, second.microseconds} == {12.0, 11.0}
    assert max(first.spread, second.spread) == pytest.approx(3.0)
    assert first.every and first.shape == second.shape


def test_rows_whose_time_is_in_doubt_are_left_out(tmp_path: Path) -> None:
    doubted = {"us": "99", "suspect": "us copied across shapes"}
    (one,) = table(tmp_path, {"us": "10", "suspect": "err>50%"}, doubted, {"family": "bf16gemm"}, {"splitK": "2"})
    assert one.microseconds == 10.0


def test_tables_that_do_not_serve_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no row whose time counts"):
        table(tmp_path, {"suspect": "bw>6.5TB/s"})
    (tmp_path / "short.csv").write_text("family,us\n")
    with pytest.raises(InputError, match="no column 'cu_num'"):
        read_table(tmp_path / "short.csv")
    monkeypatch.setenv("ASMEVO_CACHE", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentError_, match="--measured FILE"):
        find_table(None)


def test_scores(tmp_path: Path) -> None:
    changes = [{"us": us, "wheel_path": f"{us}.co"} for us in ("10", "10.5", "20")]
    found = table(tmp_path, *changes)
    right = {c: c.microseconds for c in found}
    assert scores(right).to_json() == {
        "shapes": 1, "pairs": 3, "spearman": pytest.approx(1), "pair_accuracy": 1, "pair_accuracy_close": 1,
        "mean_regret": 0, "median_abs_error": 0,
    }  # fmt: skip
    wrong = {c: 1 / c.microseconds for c in found}
    assert scores(wrong).spearman == pytest.approx(-1) and scores(wrong).pair_accuracy == 0
    assert scores(wrong).mean_regret == pytest.approx(1.0)
    tied = scores(dict.fromkeys(found, 10.0))
    assert (tied.spearman, tied.pair_accuracy, tied.pair_accuracy_close) == (0, 0.5, 0.5)
    assert 0.9 < rank_correlation(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0, 4.0])) < 1


def test_prefetch_pairs_count_above_the_noise(tmp_path: Path) -> None:
    rows = [("pf2", "10"), ("pf3", "9"), ("pf2", "10.1")]
    deep = table(tmp_path, *({"wheel_path": f"a_{name}.co", "us": us} for name, us in rows))
    counted = prefetch_pairs({c: c.microseconds for c in deep})
    assert (counted.pf3_wins, counted.pf3_right, counted.pf2_wins) == (1, 1, 0)
    noisy = table(tmp_path, *({"wheel_path": f"a_{n}.co", "us": u} for n, u in (*rows, ("pf3", "9.5"))))
    assert prefetch_pairs({c: c.microseconds for c in noisy}).pf3_wins == 0


def test_a_third_of_the_tiles_is_held(tmp_path: Path) -> None:
    found = table(tmp_path, *({"tile_m": str(m), "wheel_path": f"{m}.co"} for m in (16, 32, 48, 64, 80, 96)))
    held = held_tiles(found)
    assert len(held) == 2 and held == held_tiles(found[::-1]) != held_tiles(found, seed=1)


def test_baselines_need_other_shapes_or_none(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        *(
            {"token": t, "us": us, "wheel_path": p}
            for t, us, p in (("16", "10", "a.co"), ("16", "20", "b.co"), ("32", "30", "a.co"), ("32", "20", "b.co"))
        ),
    )
    predicted = nearest(found)
    assert scores(predicted).pair_accuracy == 0  # each shape is told what the other one says
    assert all(roofline(c) > 5 for c in found)


def test_pairs_that_are_certain_are_ordered_right() -> None:
    count, wrong = misordered()
    assert count >= 20 and wrong == []


def test_the_keys_of_the_json(tmp_path: Path) -> None:
    found = scores(dict.fromkeys(table(tmp_path, {}), 1.0))
    keys = {"shapes", "spearman", "pair_accuracy", "pair_accuracy_close", "mean_regret", "median_abs_error"}
    facts = timing.facts(found, found, {"roofline": found})
    assert facts.keys() == keys | {"fitted_parameters", "held_objects", "baselines"}
    assert facts["held_objects"].keys() == facts["baselines"]["roofline"].keys() == keys
