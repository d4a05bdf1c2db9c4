"""The gate's benchmark: sums and keys of its JSON, its kernels, and what it keeps between runs."""

from __future__ import annotations

import json

import pytest

from asmevo.codeobject import CodeObject
from benchmarks import gate as benchmark
from benchmarks.gate_kernels import SOURCE, compiled
from benchmarks.generated import clang
from benchmarks.static_corpus import Kernel, summarized

RESULT = {
    "kernel": "k",
    "made_by": "clang",
    "legal_edits": 3,
    "refusals": ["nop: ..."],
    "strength": {
        "seeded": 5,
        "killed": 3,
        "set_aside": 1,
        "kinds": {
            "lost store": {"seeded": 5, "killed": 3, "set_aside": {"proved": 1}, "survivors": [{"kind": "lost store"}]}
        },
        "cache_bits": {"seeded": 2, "killed": 1},
    },
}


def test_sums():
    found = benchmark.summarized([RESULT, RESULT, {"kernel": "other", "made_by": "aiter", "unjudged": "no launch"}])
    assert (found["kernels"], found["faults"], found["set_aside"], found["killed"]) == (2, 10, 2, 6)
    assert (found["rate"], found["rate_of_all"]) == (0.75, 0.6)
    assert found["survivors"] == [{"kernel": "k", "kind": "lost store"}] * 2
    assert (found["legal_edits"], found["false_refusals"], found["unjudged"]) == (6, 2, ["other"])
    assert found["cache_bits"] == {"seeded": 4, "killed": 2}
    nothing = benchmark.summarized([])
    assert nothing["rate"] is None and nothing["faults"] == 0


def test_results_that_are_kept_are_not_made_again(tmp_path, monkeypatch):
    made: list[str] = []

    def examine(subject, faults, legal):
        made.append(subject.name)
        return RESULT | {"kernel": subject.name}

    monkeypatch.setattr(benchmark, "examine", examine)
    out = tmp_path / "results.jsonl"
    subject = type("Subject", (), {"name": "a"})
    for _ in range(2):
        (found,) = benchmark.all_results(iter([subject]), 1, 1, out)
        assert found["kernel"] == "a"
    assert made == ["a"]
    assert [json.loads(line)["kernel"] for line in out.read_text().splitlines()] == ["a"]


def test_compiled_kernels_are_those_of_the_source():
    compiler = clang()
    if compiler is None:
        pytest.skip("clang is not installed")
    names = {kernel.name for kernel in CodeObject.parse(compiled(compiler, "-O1")).kernels}
    assert len(names) == SOURCE.read_text().count("\nKERNEL void ") >= 8


def test_equal_objects_are_counted_each_time():
    kernel = Kernel("s", b"1", b"key", "", (("wait.raw", "known"), ("wait.raw", "")), ("sentence",))
    jump = Kernel("s", b"2", b"", "computed jump or call", (), ())
    found = summarized("s", {("s", b"1"): 3, ("s", b"2"): 1, ("t", b"1"): 9}, [kernel, jump])
    assert (found["objects"], found["kernels"], found["distinct"]) == (4, 4, 1)
    assert found["findings"] == {"wait.raw": 6} and found["explained"] == {"known": 3} and found["unexplained"] == 3
    assert found["undecided"] == {"computed jump or call": 1}
