"""The benchmark of recipes on one of AMD's objects; with the wheel at hand (slow), on one of each family."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from asmevo.launch import FmoeOneStage, FmoeStage1, Int8Gemm
from benchmarks import recipes
from benchmarks.wheels import AITER


def last_json(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_one_object(tmp_path, capsys, fmoe_stage1_bytes):
    (tmp_path / "good.co").write_bytes(fmoe_stage1_bytes)
    (tmp_path / "unknown.co").write_bytes(fmoe_stage1_bytes[:100])
    assert recipes.main(["--json", "--folder", str(tmp_path)]) == 0
    result = last_json(capsys)
    (family,) = result["families"]
    assert family["family"] == "stage 1 token fp8" and (family["objects"], family["runs"], family["agreeing"]) == (
        1,
        3,
        3,
    )
    assert 0 <= family["worst"] <= 1 and family["order_dependent"] == [] == result["disagreements"]


def test_a_disagreement_is_an_error(tmp_path, capsys, monkeypatch, fmoe_stage1_bytes):
    (tmp_path / "k.co").write_bytes(fmoe_stage1_bytes)
    right = recipes.for_object

    def wrong(obj):
        """Launches whose kernel multiplies by the wrong scales."""
        return tuple(
            replace(launch, recipe=replace(launch.recipe, seed=9)) for launch in right(obj) if launch.name == "one"
        )

    monkeypatch.setattr(recipes, "for_object", wrong)
    assert recipes.main(["--json", "--folder", str(tmp_path)]) == 1
    result = last_json(capsys)
    assert result["disagreements"] == ["k.co"] and result["families"][0]["agreeing"] == 0
    monkeypatch.setattr(recipes, "WRONG", {hashlib.sha256(fmoe_stage1_bytes).hexdigest()})
    assert recipes.main(["--json", "--folder", str(tmp_path)]) == 0
    result = last_json(capsys)
    assert result["disagreements"] == [] and result["wrong_objects"] == ["k.co"]


def test_nothing_to_run_is_an_error(tmp_path, capsys):
    assert recipes.main(["--folder", str(tmp_path)]) == 1
    assert capsys.readouterr().out == ""


def test_names_of_families():
    sizes = {"tokens": 1, "experts": 1, "topk": 1, "dim": 256, "inter": 256}
    assert recipes.family_of(FmoeStage1(**sizes, doweight=True)) == "stage 1 token fp8 weighted"
    assert recipes.family_of(FmoeOneStage(**sizes, scaling="block")) == "one stage block silu"
    assert recipes.family_of(Int8Gemm(m=1, n=128, k=128)) == "int8 gemm"


@pytest.mark.slow
def test_an_object_of_each_family_of_the_wheel(capsys):
    if not list(AITER.folder.glob("*.whl")):
        pytest.skip("the wheel amd-aiter is not in the cache")
    assert recipes.main(["--each", "1", "--json"]) == 0
    assert len(last_json(capsys)["families"]) >= 9
