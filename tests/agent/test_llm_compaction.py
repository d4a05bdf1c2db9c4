"""Long histories are made short without losing the task, the notes, or the result of any call."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.agent.llm import Call, Reply, Result, Said
from asmevo.agent.llm.compaction import compacted
from asmevo.agent.llm.message import Message, size

HEAD = (Said("system", "rules"), Said("user", "the task"))


def exchange(number: int, lines: int, calls: int = 1) -> list[Message]:
    asked = tuple(Call(f"{number}.{i}", "listing", "{}") for i in range(calls))
    return [Reply(f"turn {number}", asked), *(Result(c, "v_add v0\n" * lines) for c in asked)]


def history(*lines: int) -> list[Message]:
    return [*HEAD, *(m for n, count in enumerate(lines) for m in exchange(n, count))]


def test_what_fits_is_left_alone() -> None:
    messages = history(3, 3)
    assert compacted(messages, 10_000, lambda: "never asked") == tuple(messages)


def test_the_oldest_go_and_the_summary_stands_in_their_place() -> None:
    messages = history(100, 100, 100, 20, 5)
    room = sum(map(size, messages)) - 1
    short = compacted(messages, room, lambda: "notes: loads are late")
    assert short[:3] == (*HEAD, Said("user", "notes: loads are late"))
    assert short[-2:] == tuple(messages[-2:])
    assert sum(map(size, short)) <= room // 2 + 20


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=8), st.integers(200, 900))
def test_every_call_keeps_its_result(turns: list[tuple[int, int]], room: int) -> None:
    messages = [*HEAD, *(m for n, (lines, calls) in enumerate(turns) for m in exchange(n, lines, calls))]
    short = compacted(messages, room, lambda: "summary")
    asked = [c for m in short if isinstance(m, Reply) for c in m.calls]
    assert [m.call for m in short if isinstance(m, Result)] == asked
    assert short[:2] == HEAD
    assert sum(map(size, short)) <= room
    assert compacted(short, room, lambda: "again") == short
