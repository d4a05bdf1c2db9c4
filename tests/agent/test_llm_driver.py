"""The driver over the fakes: one lineage with the rules, several conversations at once, replay, kills."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llm_kit import SETTINGS, Canned, Ran, llm_folder, run_fake

from asmevo.agent.llm import Asked, Call, Failure, LlmConfig, Models, Reply, Result, Said, Trouble, Usage
from asmevo.agent.llm.answers import Outcome
from asmevo.agent.llm.conversation import conversations
from asmevo.program import control_kind
from asmevo.verdict import EnvironmentError_, InputError
from tests.search.fakes_search import k0_program

FEW = replace(SETTINGS, attempts=8)
ADVICE = "* Delete nops first.\n* Then think."


def config(**habits: Any) -> LlmConfig:
    models = [{"name": "one", "weight": 1}, {"name": "two", "weight": 3}]
    return LlmConfig.from_json({"models": models, "habits": {"conversations": 2, "patience": 4} | habits})


def use(number: int, tool: str, **arguments: Any) -> Call:
    return Call(f"c{number}", tool, json.dumps(arguments))


@cache
def nops(window: str) -> tuple[int, ...]:
    """Ids of the `s_nop`s of a block of K0, which a model would see in its listing."""
    program = k0_program()
    found = [i for i in program.block_of if control_kind(program.line(i).instruction) == "nop"]
    return tuple(i for i in found if program.block_of[i] == int(window[1:]))


def thinner(asked: Asked) -> Outcome:
    """A model that deletes one `s_nop` of its window, which is faster by the fake timer, and is done."""
    usage = Usage(asked.request.size, 50)
    messages = asked.request.messages
    if not asked.request.tools:
        return Reply(ADVICE, usage=usage)
    window = re.search(r"^Window: (\w+),", messages[1].text, re.MULTILINE)
    commits = re.search(r" (\d+) commits;", messages[1].text)
    assert window and commits
    left = nops(window[1])[int(commits[1]) :]
    said = sum(isinstance(m, Reply) for m in messages)
    if said == 0:
        return Reply("", (use(0, "registers", line=nops("B1")[0]),), usage)
    if said > 1 or not left:
        return Reply("Done.", usage=usage)
    edits = [{"kind": "delete", "lines": [left[0]]}]
    arguments = {"window": window[1], "edits": edits, "note": "a nop less", "then": "evaluate"}
    return Reply("", (use(9, "propose_edits", **arguments),), usage)


def run_thinner(folder: Path, **habits: Any) -> tuple[Ran, Canned]:
    canned = Canned(thinner)
    return run_fake(folder, (config(**habits), canned), lenient=True), canned


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Canned]:
    """Rules that never commit, and models that do."""
    return run_thinner(tmp_path_factory.mktemp("mixed") / "run", evolve=2)


def test_rules_and_models_share_one_lineage(mixed: tuple[Ran, Canned]) -> None:
    ran, _ = mixed
    made = [a.strategy for a in ran.attempts]
    assert made[:6] == ["k0", "swap", "swap", "swap", "swap", "llm"], "models are asked where the rules have stalled"
    commits = [a for a in ran.attempts if a.strategy == "llm" and a.microseconds is not None]
    assert ran.summary.commits == len(commits) >= 2 and {"swap", "llm"} == set(made[1:])
    first = commits[0]
    after = next(a for a in ran.attempts if a.ordinal > first.ordinal)
    assert after.parent == first.ordinal, "the rules go on from what the model found"
    assert all(a.parent is not None and a.parent < a.ordinal for a in ran.attempts[1:])


def test_models_are_mixed_by_weight_and_prompts_recorded(mixed: tuple[Ran, Canned]) -> None:
    ran, canned = mixed
    talks = conversations(llm_folder(ran.folder))
    assert {c.brief.model for c in talks} == {"one", "two"} or len(talks) < 4
    assert all(c.brief.prompts["system"] >= 1 and c.ended for c in talks)
    assert talks[0].gain > 0 and ran.report.commits == sum(c.gain > 0 for c in talks)
    assert len({a.request.key for a in canned.asked}) == len(canned.asked) == ran.report.requests


def test_the_advice_evolves_within_the_run(mixed: tuple[Ran, Canned]) -> None:
    ran, _ = mixed
    made = json.loads((llm_folder(ran.folder) / "variants.json").read_text())
    assert made[0]["text"] == ADVICE and made[0]["how"] == "model" and len(made[0]["parents"]) == 3
    assert all(v["how"] == "crossed" for v in made[1:]), "the same text again is nothing new"
    talks = conversations(llm_folder(ran.folder))
    assert any(c.brief.variant == made[0]["id"] for c in talks)
    assert any(ADVICE in m.text for c in talks for m in c.messages[:1] if isinstance(m, Said))


def test_a_run_replays_without_anyone_to_ask(mixed: tuple[Ran, Canned], tmp_path: Path) -> None:
    ran, canned = mixed
    kept = {"config": config(evolve=2).to_json(), "replay": None}
    (llm_folder(ran.folder) / "config.json").write_text(json.dumps(kept))
    again = run_fake(tmp_path / "again", Models.replaying(ran.folder), lenient=True)
    assert again.lineage == ran.lineage and again.report == ran.report
    gone = next(p for p in (llm_folder(ran.folder) / "replies").iterdir() if canned.asked[-1].request.key in p.name)
    data = gone.read_bytes()
    gone.unlink()
    with pytest.raises(InputError, match="holds no reply 0 to the request"):
        run_fake(tmp_path / "missing", Models.replaying(ran.folder), lenient=True)
    gone.write_bytes(data)


def test_a_killed_run_goes_on_as_if_it_had_not_been(mixed: tuple[Ran, Canned], tmp_path: Path) -> None:
    ran, canned = mixed
    asked = 0

    def dying(one: Asked) -> Outcome:
        nonlocal asked
        asked += 1
        if asked in (2, 5):
            raise KeyboardInterrupt
        return thinner(one)

    folder = tmp_path / "run"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_fake(folder, (config(evolve=2), Canned(dying)), lenient=True)
    again = run_fake(folder, (config(evolve=2), Canned(dying)), lenient=True)
    assert again.lineage == ran.lineage and again.report == ran.report
    assert asked == len(canned.asked) + 2, "only what was under way is asked again"


def test_islands_talk_at_the_same_time_about_different_windows(tmp_path: Path) -> None:
    batches: list[int] = []

    class Counting(Canned):
        def ask(self, asked):
            batches.append(len(asked))
            return super().ask(asked)

    counting = Counting(thinner)
    ran = run_fake(tmp_path / "run", (config(islands=2, rules=False, conversations=1), counting), FEW, lenient=True)
    talks = conversations(llm_folder(ran.folder))
    assert batches[0] == 2 and len({c.brief.window for c in talks[:2]}) == 2
    assert [c.brief.island for c in talks[:2]] == [0, 1]
    told = [m.text for c in talks[:2] for m in c.messages if isinstance(m, Said) and m.text.startswith("Meanwhile")]
    assert told, "an island is told of what another one found"
    assert ran.report.requests == sum(batches)


def test_a_server_that_is_not_there_is_told_with_the_remedy(tmp_path: Path) -> None:
    """With nothing else to do it ends the run, which can go on; rules go on without."""

    def nobody(asked: Asked) -> Outcome:
        return Failure(Trouble.CONNECTION, "Connection error.")

    with pytest.raises(EnvironmentError_, match=r"does not answer \(Connection error.\); check that its server runs"):
        run_fake(tmp_path / "alone", (config(rules=False), Canned(nobody)))
    went_on = run_fake(tmp_path / "alone", (config(rules=False), Canned(lambda a: Reply("Nothing to do."))))
    assert "the model: Nothing to do." in went_on.report.last
    settings = replace(SETTINGS, attempts=12)
    ran = run_fake(tmp_path / "mixed", (config(), Canned(nobody)), settings)
    assert len(ran.attempts) == 13 and ran.report.last.endswith("no answer (connection): Connection error.")


def test_a_history_that_is_too_long_is_shortened_and_asked_again(tmp_path: Path) -> None:
    sizes: list[int] = []

    def forgetful(asked: Asked) -> Outcome:
        sizes.append(sum(len(getattr(m, "text", "")) for m in asked.request.messages))
        if len(sizes) == 3:
            return Failure(Trouble.CONTEXT, "too long")
        window = re.search(r"^Window: (\w+),", asked.request.messages[1].text, re.MULTILINE)
        assert window
        if len(sizes) > 4:
            return Reply("Done.")
        return Reply("", (use(0, "note", text=f"note {len(sizes)}"), use(1, "listing", window=window[1])))

    ran = run_fake(tmp_path / "run", (config(rules=False, conversations=1, evolve=9), Canned(forgetful)))
    (talk,) = conversations(llm_folder(ran.folder))
    assert talk.ended == "the model: Done." and sizes[3] < sizes[2]
    assert any(isinstance(m, Said) and "note 1" in m.text for m in talk.messages), "notes survive"


def test_limits_of_attempts_hold_for_models_too(tmp_path: Path) -> None:
    number = 0

    def eager(asked: Asked) -> Outcome:
        nonlocal number
        window = re.search(r"^Window: (\w+),", asked.request.messages[1].text, re.MULTILINE)
        shown = "".join(m.text for m in asked.request.messages if isinstance(m, Result))
        line = re.search(r"^(\d+) \w", shown, re.MULTILINE)
        assert window
        if not line:
            return Reply("", (use(0, "listing", window=window[1]),))
        calls: list[Call] = []
        for _ in range(3):
            number += 1
            edits = [{"kind": "insert", "before": int(line[1]) + number, "text": ["s_nop 0"]}]
            arguments = {"window": window[1], "edits": edits, "note": "more", "then": "evaluate"}
            calls.append(use(number, "propose_edits", **arguments))
        return Reply("", tuple(calls))

    wanted = config(rules=False, mistakes=99, rounds=5)
    wanted = wanted.model_copy(update={"limits": wanted.limits.model_copy(update={"attempts": 4})})
    ran = run_fake(tmp_path / "run", (wanted, Canned(eager)))
    assert ran.report.attempts == 4 == len(ran.attempts) - 1
    settings = replace(SETTINGS, attempts=2)
    ran = run_fake(tmp_path / "other", (config(rules=False, mistakes=99), Canned(eager)), settings)
    assert len(ran.attempts) == 3 and ran.summary.reason == "budget of 2 attempts used"


def test_arguments_that_cannot_be_read_are_answered_and_wedge_nothing(tmp_path: Path) -> None:
    """Nesting that no reader bears is a mistake of the model's, in this process and in the next one."""

    def deep(asked: Asked) -> Outcome:
        said = [m for m in asked.request.messages if isinstance(m, Reply)]
        return Reply("Done.") if said else Reply("", (Call("c1", "note", '{"text": ' * 2_000),))

    first = run_fake(tmp_path / "run", (config(rules=False, conversations=1), Canned(deep)), FEW)
    told = [m for m in conversations(llm_folder(first.folder))[0].messages if isinstance(m, Result)]
    assert told and told[0].text.startswith("Not run: the arguments are not JSON")
    again = run_fake(tmp_path / "run", (config(rules=False, conversations=1), Canned(deep)), FEW)
    assert again.lineage == first.lineage
