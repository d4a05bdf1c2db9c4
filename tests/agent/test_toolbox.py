"""The door of the toolbox: arguments on the way in, text on the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_kit import fake_toolbox

from asmevo.agent import Kind


def test_an_unknown_tool_is_an_answer(tmp_path: Path) -> None:
    answer = fake_toolbox(tmp_path / "run").call("skip_checks", {})
    assert answer.kind is Kind.MISTAKE
    assert "There is no tool 'skip_checks'" in answer.text


@pytest.mark.parametrize(
    "arguments", [{}, {"text": 3}, {"text": ""}, {"text": "x", "force": True}, {"text": "x" * 2001}]
)
def test_arguments_that_do_not_fit_are_an_answer(tmp_path: Path, arguments: dict[str, object]) -> None:
    answer = fake_toolbox(tmp_path / "run").call("note", arguments)
    assert answer.kind is Kind.MISTAKE
    assert "text" in answer.text or "force" in answer.text


def test_notes_survive_the_session(tmp_path: Path) -> None:
    toolbox = fake_toolbox(tmp_path / "run")
    toolbox.call("note", {"text": "loads are not the limit"})
    assert toolbox.call("note", {"text": "waits are"}).data == {"notes": 2}
    assert toolbox.call("notes").text == "2. waits are\n1. loads are not the limit"
