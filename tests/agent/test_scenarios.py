"""Scripted models over real HTTP: whatever they do, the run ends, the verdicts are right, and it can go on."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from llm_kit import Ran, llm_folder, run_fake

from asmevo.agent.llm import Models
from benchmarks.scripted.scenarios import SCENARIOS
from benchmarks.scripted.server import ScriptedServer

ENDS = {
    "stall": "the model: Let me think about that.",
    "timeout": "no answer (timeout): Request to model 'scripted' timed out after 1 seconds",
    "broken_json": "the model: That is all I can do here.",
    "token_limit": "what is left of the limit of 16000 tokens is not enough for another request",
    "http_errors": "no answer (server): status_code: 503",
    "repeat": "3 calls in a row achieved nothing; the last: Proposal 4 gives the object of attempt 1, which was tried",
}


def play(name: str, folder: Path) -> tuple[Ran, ScriptedServer]:
    scenario = SCENARIOS[name]
    with ScriptedServer(scenario.script()) as server:
        return run_fake(folder, Models(scenario.config(server.base_url))), server


def play_twice(name: str, folder: Path) -> tuple[Ran, ScriptedServer]:
    """The run, after checks that hold for all: it ended well, and gone on with it does nothing twice."""
    ran, server = play(name, folder)
    assert ENDS[name] in ran.report.last, ran.report
    assert ran.summary.reason == f"nothing new to propose: {ran.report.last}" and not ran.summary.interrupted
    assert ran.summary.speedup == 1.0 and ran.summary.best_ordinal == 0
    assert len(server.requests) < 20
    again, idle = play(name, folder)
    assert again.lineage == ran.lineage and again.report == ran.report
    assert not idle.requests, "a run whose models had their say does not ask again"
    return ran, server


def answers(server: ScriptedServer) -> list[str]:
    """What tools answered in the last conversation."""
    return [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "tool"]


@pytest.mark.parametrize("name", ["stall", "timeout"])
def test_a_model_that_says_nothing_of_use(tmp_path: Path, name: str) -> None:
    ran, _ = play_twice(name, tmp_path / "run")
    assert len(ran.attempts) == 1


def test_errors_of_the_server_are_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    ran, server = play_twice("http_errors", tmp_path / "run")
    assert ran.report.conversations == 2 and ran.report.requests == 3, "retries are no requests of their own"
    assert len(server.requests) == 3 + 3 + 3, "the first passed at the third try, the others were given up after three"
    assert answers(server) == []


def test_a_repeated_idea_costs_the_gate_nothing(tmp_path: Path) -> None:
    ran, server = play_twice("repeat", tmp_path / "run")
    assert len(server.requests) == 5
    assert len(ran.attempts) == len(ran.gate.examined) == 2, "K0 and the idea, once each"
    assert "which was tried" in answers(server)[-1]


def test_what_is_malformed_is_answered_with_the_reason(tmp_path: Path) -> None:
    _, server = play_twice("broken_json", tmp_path / "run")
    said = answers(server)
    assert said[0].startswith("Not run: the arguments are not JSON (Expecting")
    assert said[1] == "Not run: the arguments must be one JSON object."
    assert said[2].startswith("The arguments of listing do not fit: ") and "page" in said[2]
    assert said[3].startswith("window ")


def test_a_reply_that_was_cut_is_told_so_until_the_tokens_are_used(tmp_path: Path) -> None:
    ran, server = play_twice("token_limit", tmp_path / "run")
    assert "cut off at its most tokens" in json.dumps(server.requests[1]["messages"][-1])
    assert ran.report.input_tokens + ran.report.output_tokens <= 16_000


def test_no_key_no_path_and_no_address_leaves_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key goes into the header of requests and nowhere else, even when the server says it back."""
    key = "sk-very-secret-2718281828"
    monkeypatch.setenv("SCRIPTED_KEY", key)
    scenario = SCENARIOS["repeat"]
    script = scenario.script()

    def talkative(seen):
        return replace(script(seen), text=f"Your key is {key}.")

    with ScriptedServer(talkative) as server:
        config = scenario.config(server.base_url)
        config = config.model_copy(
            update={"models": (config.models[0].model_copy(update={"key_env": "SCRIPTED_KEY"}),)}
        )
        run_fake(tmp_path / "run", Models(config))
    assert all(headers["authorization"] == f"Bearer {key}" for headers in server.headers)
    prompts = json.dumps(server.requests)
    for hidden in (key, str(tmp_path), str(Path.home()), os.getcwd(), "127.0.0.1"):
        assert hidden not in prompts
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
    for path in llm_folder(tmp_path / "run").glob("replies/*"):
        assert b"127.0.0.1" not in path.read_bytes() and b"uthorization" not in path.read_bytes()
