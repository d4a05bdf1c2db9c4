"""Messages and their record: JSON and back, identity of requests, replay, damage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_kit import Canned

from asmevo.agent.llm import (
    Asked,
    Call,
    Failure,
    Record,
    Recording,
    Replay,
    Reply,
    Request,
    Result,
    Said,
    ToolSpec,
    Trouble,
    Usage,
)  # fmt: skip
from asmevo.agent.llm.message import message_json, message_of
from asmevo.verdict import InputError

TEXT = st.text(max_size=20)
CALL = st.builds(Call, TEXT, TEXT, TEXT)
MESSAGE = st.one_of(
    st.builds(Said, st.sampled_from(["system", "user"]), TEXT),
    st.builds(Result, CALL, TEXT),
    st.builds(Reply, TEXT, st.lists(CALL, max_size=3).map(tuple), st.builds(Usage, st.integers(0), st.integers(0))),
)
REPLY = Reply("I look", (Call("1", "windows", "{}"),), Usage(5, 6), seconds=2.0, raw={"provider": "x"})
REQUEST = Request("m", (Said("system", "s"), REPLY), (ToolSpec("windows", "looks", {"type": "object"}),))


@settings(max_examples=30, deadline=None)
@given(MESSAGE)
def test_messages_survive_json(message: Said | Reply | Result) -> None:
    assert message_of(message_json(message)) == message


def test_a_request_is_what_is_said_and_nothing_else() -> None:
    later = replace(REQUEST, messages=(Said("system", "s"), replace(REPLY, seconds=9.0, raw=None, usage=Usage())))
    assert later.key == REQUEST.key, "time, cost and the provider's form are no part of it"
    others = [
        replace(REQUEST, model="n"),
        replace(REQUEST, tools=()),
        replace(REQUEST, messages=(Said("system", "S"), REPLY)),
        replace(REQUEST, messages=(Said("system", "s"), replace(REPLY, calls=(Call("2", "windows", "{}"),)))),
    ]
    assert len({r.key for r in [REQUEST, *others]}) == 5


def test_replies_come_back_in_their_order(tmp_path: Path) -> None:
    said = iter([replace(REPLY, text="one"), Failure(Trouble.TIMEOUT, "too late", 3.0, Usage(7)), REPLY])
    live = Recording(Canned(lambda asked: next(said)), Record(tmp_path / "a"))
    asked = Asked(REQUEST, 100)
    first = [*live.ask([asked, asked]), *live.ask([asked])]
    replay = Recording(Replay(Record(tmp_path / "a"), done := Record(tmp_path / "b")), done)
    assert [*replay.ask([asked, asked]), *replay.ask([replace(asked, output=7)])] == first
    with pytest.raises(InputError, match="holds no reply 3 to the request"):
        replay.ask([asked])
    assert sorted(p.name for p in (tmp_path / "a" / "replies").iterdir()) == [
        f"{REQUEST.key}-{n}.json" for n in range(3)
    ]
    resumed = Replay(Record(tmp_path / "a"), Record(tmp_path / "c"))
    assert resumed.ask([asked]) == first[:1], "another run begins at the beginning"
    assert [outcome for _, outcome in Record(tmp_path / "b").all()] == first


def test_a_request_counts_once_wherever_the_process_ended(tmp_path: Path) -> None:
    """Before or after its outcome was recorded, and when the same request is sent again later."""
    asked = Asked(REQUEST, 100, 2)
    begun = Record(tmp_path)
    begun.begin([asked, asked])
    assert Record(tmp_path).unanswered() == [("m", asked.most)] * 2
    begun.add("m", REQUEST.key, REPLY)
    assert Record(tmp_path).unanswered() == [("m", asked.most)], "the first has an outcome, though its note is there"
    again = Record(tmp_path)
    (note,) = again.begin([asked])
    assert len(again.unanswered()) == 2
    again.add("m", REQUEST.key, REPLY)
    assert len(again.unanswered()) == 1
    note.unlink()
    assert Record(tmp_path).unanswered() == [("m", asked.most)] and len(list(again.all())) == 2


def test_a_kill_between_an_outcome_and_its_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(KeyboardInterrupt):
        Recording(Canned(lambda asked: REPLY), Record(tmp_path)).ask([Asked(REQUEST, 100)])
    assert len(list(Record(tmp_path).all())) == 1 and Record(tmp_path).unanswered() == []


DAMAGES = [
    "",
    "[]",
    "{}",
    '{"reply": ',
    '{"model": "m", "reply": {}}',
    '{"model": "m", "reply": 3}',
    '{"reply": {"text": "", "calls": [], "usage": {}, "cut": false, "seconds": 0, "raw": null}}',
    '{"model": "m", "failure": {"trouble": "bored", "message": "", "seconds": 0, "usage": {}}}',
    '{"model": "m", "failure": {"trouble": "timeout", "message": "", "seconds": 0, "usage": {"tokens": 1}}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_named(tmp_path: Path, damage: str) -> None:
    record = Record(tmp_path)
    record.add("m", "k", REPLY)
    (tmp_path / "replies" / "k-0.json").write_text(damage)
    with pytest.raises(InputError, match="is not the record of a reply"):
        Record(tmp_path).read("k", 0)
    with pytest.raises(InputError, match="is not the record of a reply"):
        list(Record(tmp_path).all())
