"""Checked execution on whole kernels: what is taken away is found, what is whole raises nothing."""

from __future__ import annotations

import pytest

from asmevo.sim import BlockCache
from benchmarks.checked import GROUPS, examine
from benchmarks.checked_subjects import subjects
from benchmarks.generated import clang

PROMISED = 15.0
"""A checked run takes at most this many times as long."""
KNOWN = ("check.bounds", "check.lds_race", "check.lds_pending")
"""What AMD's kernel does itself: prefetches past the end that nobody waits for."""


def judge(facts: dict) -> None:
    assert not {rule.split()[0] for rule in facts["findings"]} - set(KNOWN if facts["name"] == "fmoe_stage1" else ())
    for group in GROUPS:
        assert facts[group]["missed"] == [] and facts[group]["dropped"] > 0
        assert facts[group]["found"] + facts[group]["redundant"] == facts[group]["dropped"]
    assert facts["slowdown"] is None or facts["slowdown"] < PROMISED


@pytest.mark.skipif(clang() is None, reason="needs clang")
def test_everything_a_small_kernel_needs_is_missed_when_it_is_gone():
    (product,) = (s for s in subjects("clang product"))
    facts = examine(product, BlockCache(), 0)
    judge(facts)
    assert [facts[group]["found"] for group in GROUPS] == [facts[group]["dropped"] for group in GROUPS]


@pytest.mark.slow
def test_every_kernel():
    names = set()
    for subject in subjects():
        judge(examine(subject, BlockCache(), 0))
        names.add(subject.name)
    assert len(names) >= 10
