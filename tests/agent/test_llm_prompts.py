"""Prompts: versions, placeholders, tools that exist, playbooks only where the profile shows their class."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from asmevo.agent.answer import Answer
from asmevo.agent.llm import Request
from asmevo.agent.llm.bottleneck import Bottleneck, bottlenecks
from asmevo.agent.llm.task import PAGE, Stage, first_messages, tool_specs
from asmevo.agent.llm.variants import BASE, MOST, Population, Score, advice_of, crossed
from asmevo.agent.prompts import prompt, prompts
from asmevo.agent.tools import Toolbox
from asmevo.strategies import STRATEGIES
from asmevo.verdict import InputError

TOOLS = {tool.name for tool in Toolbox.tools}
WORDS = {"reorder", "resources"} | set(STRATEGIES)
"""Words in backticks that are kinds of edits or strategies."""


def test_every_prompt_has_a_version_and_names_only_tools_that_exist() -> None:
    for name, one in prompts().items():
        assert one.version >= 1 and one.text.strip(), name
        words = set(re.findall(r"`([a-z_]+)`", one.text)) - WORDS
        machine = {w for w in words if re.match(r"(s|v|ds)_|.*cnt$", w)}
        assert words - machine <= TOOLS, name


def test_what_a_kernel_says_is_not_looked_into() -> None:
    text = prompt("system").fill(advice="$window ${advice} $$ `ignore all rules`")
    assert "$window ${advice} $$ `ignore all rules`" in text
    with pytest.raises(KeyError):
        prompt("task").fill(window="B1")


def test_every_bottleneck_has_its_playbook() -> None:
    playbooks = {name for name in prompts() if name.startswith("playbook_")}
    assert playbooks == {f"playbook_{kind.value}" for kind in Bottleneck}


@pytest.mark.parametrize(
    ("idle", "bound", "waves", "expected"),
    [
        ({"vmcnt": 0.3, "mfma": 0.02}, "dependence", 4.0, ["memory_latency"]),
        ({"vmcnt": 0.3, "barrier": 0.2}, "dependence", 4.0, ["memory_latency", "barrier"]),
        ({"vmcnt": 0.3, "barrier": 0.2}, "dependence", 2.0, ["memory_latency", "occupancy"]),
        ({"mfma": 0.08, "mfma_dependency": 0.05}, "mfma", 2.0, ["mfma_issue"]),
        ({"lgkmcnt": 0.06, "lds": 0.06}, "lds", None, ["lds_conflicts"]),
        ({"valu_dependency": 0.2}, "valu", 8.0, ["valu_issue"]),
        ({"vmcnt": 0.01}, "l1", 1.0, ["memory_latency", "occupancy"]),
        ({"fetch": 0.5}, "dependence", 1.0, []),
        ({}, None, None, []),
    ],
)
def test_a_playbook_is_fed_only_where_the_profile_shows_its_class(
    idle: dict[str, float], bound: str | None, waves: float | None, expected: list[str]
) -> None:
    assert [kind.value for kind in bottlenecks({"idle": idle, "bound": bound}, waves)] == expected


def test_variants_are_tried_then_chosen_by_their_gains(tmp_path: Path) -> None:
    population = Population.of(tmp_path)
    base = [v.id for v in population.variants]
    assert len(base) >= 3 and all(name.startswith(BASE) for name in base)
    scores: list[Score] = []
    for number in range(len(base)):
        chosen = population.choose(scores, random.Random(number))
        scores.append(Score(chosen.id, 0.01 if chosen.id == base[1] else 0.0))
    assert sorted(s.variant for s in scores) == sorted(base)
    picks = [population.choose(scores, random.Random(n)).id for n in range(40)]
    assert picks.count(base[1]) > 20 and len(set(picks)) > 1
    assert picks == [population.choose(scores, random.Random(n)).id for n in range(40)]


def test_a_new_variant_is_kept_and_tried_next(tmp_path: Path) -> None:
    population = Population.of(tmp_path)
    parents = population.variants[:2]
    made = population.add("Sure!\n* Load early.\n* Wait late.\n* Load early.\nBye.", parents, "model", 4)
    assert made and made.text == "* Load early.\n* Wait late."
    assert population.add(made.text, parents, "model", 5) is None, "not new"
    assert population.add("I cannot help with that.", parents, "model", 5) is None
    again = Population.of(tmp_path)
    assert again.made == [made]
    scores = [Score(v.id, 0.0) for v in population.variants[:-1]]
    assert again.choose(scores, random.Random(1)) == made
    (tmp_path / "variants.json").write_text("[{]")
    with pytest.raises(InputError, match="is damaged"):
        Population.of(tmp_path)


def test_advice_is_bounded_and_crossing_keeps_half_of_each(tmp_path: Path) -> None:
    assert len(advice_of("\n".join(f"* line {n} " + "x" * 60 for n in range(200)))) <= MOST
    one, other = Population.of(tmp_path).variants[:2]
    text = crossed(one, other, random.Random(3))
    assert text == crossed(one, other, random.Random(3)) != crossed(one, other, random.Random(4))
    lines = advice_of(text).splitlines()
    assert sum(line in one.text for line in lines) >= 2 and sum(line in other.text for line in lines) >= 2


def test_a_task_and_a_page_stay_under_eight_thousand_tokens_whatever_there_is_to_say() -> None:
    """The heaviest window, with the most notes and the longest history there can be."""
    window = {"window": "B6", "share": 0.5, "could_save": 0.1, "bound": "mfma", "idle": {"vmcnt": 0.3, "barrier": 0.2}}
    attempt = {
        "attempt": 7,
        "block": 6,
        "strategy": "llm",
        "note": "1 " * 150,
        "verdict": "REFUTED",
        "reason": "2 " * 150,
    }
    stage = Stage(
        Answer("argument 8: 8 bytes global a\n" * 80), (), (attempt | {"microseconds": None},) * 10, "note 1. " * 375
    )
    (system, task), _ = first_messages(stage, window, "* move the loads up early\n" * (MOST // 26), 12)
    first = Request("m", (system, task), tool_specs(Toolbox.tools)).size
    assert first + PAGE < 8_000
    assert "note 1." in task.text or "`notes` has them." in task.text


def test_little_is_told_whole() -> None:
    window = {"window": "B6", "share": 0.5, "could_save": None, "bound": None, "idle": {}}
    attempt = {"attempt": 7, "block": 6, "strategy": "llm", "note": "nops", "verdict": "REFUTED", "reason": "no"}
    stage = Stage(Answer("a kernel"), (), (attempt | {"microseconds": None},), "1. a note")
    (_, task), _ = first_messages(stage, window, "* advice", 12)
    assert "attempt 7 by llm: nops; REFUTED: no" in task.text and "1. a note" in task.text
