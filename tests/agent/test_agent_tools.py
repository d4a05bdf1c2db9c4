"""The tools on the real gate: one small launch of the FP8 GEMM, on the simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_kit import real_session

from asmevo.agent import AgentSession, Kind, Toolbox, tokens
from asmevo.device import Device, simulator
from asmevo.store import Store
from asmevo.verdict import EnvironmentError_, UsageError


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with simulator("mi300x") as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agent")


@pytest.fixture(scope="module")
def box(folder: Path, device: Device) -> Iterator[Toolbox]:
    with real_session(folder, device) as session:
        yield Toolbox(session)


def test_the_overview_and_the_windows_say_where_the_time_goes(box: Toolbox) -> None:
    overview = box.call("overview")
    assert overview.data["instructions"] == 1491
    assert overview.data["profile"]["occupancy"]["limiter"] == "lds"
    assert "modelled" in overview.text
    windows = box.call("windows", {"top": 3}).data["windows"]
    assert windows[0]["window"] == "B6"
    assert windows[0]["share"] > 0.5
    assert 0 < windows[0]["could_save"] < windows[0]["share"]


def test_a_listing_says_what_stands_behind_each_line(box: Toolbox) -> None:
    answer = box.call("listing", {"window": "B6", "page": 2})
    lines = {line["id"]: line for line in answer.data["lines"]}
    product = lines[654]
    assert set(product["after"]["raw"]) == {646, 647}
    assert product["owes"] == ["lgkmcnt(5) for 647"]
    assert lines[653]["finishes"] == [646, 647]
    assert 653 not in product["after"].get("wait", [])
    assert lines[678]["spacing"] == ["676:3", "664:7"]
    assert sum(line["clocks"] for line in lines.values()) > 0
    assert tokens(answer.text) < 6_000
    assert "free registers: s19" in answer.text


def test_a_wrong_result_comes_back_with_its_counterexample(box: Toolbox) -> None:
    edit = {"kind": "replace", "line": 724, "text": "v_fma_f32 v62, v100, v17, v62"}
    refused = box.call("propose_edits", {"window": "B6", "edits": [edit], "note": "wrong", "then": "evaluate"})
    assert (refused.kind, refused.data["verdict"]) == (Kind.REFUSED, "REFUTED")
    explained = box.call("explain", {"attempt": refused.data["attempt"]})
    first = explained.data["counterexample"]["first"]
    assert (first["line"], first["register_b"], first["kind"]) == (724, "v62", "result")
    assert first["a"] != first["b"]
    assert f"lane {first['lane']}" in explained.text
    assert f"0x{first['a']:08x} in the original, 0x{first['b']:08x} here" in explained.text


def test_a_missing_wait_comes_back_with_its_path_and_is_not_judged_twice(box: Toolbox) -> None:
    proposed = box.call("propose_edits", {"window": "B6", "edits": [{"kind": "delete", "lines": [653]}], "note": "x"})
    number = proposed.data["proposal"]
    checked = box.call("check", {"proposal": number})
    assert checked.kind is Kind.REFUSED
    refused = box.call("evaluate", {"proposal": number})
    assert "wait.raw" in refused.text
    explained = box.call("explain", {"attempt": refused.data["attempt"]})
    assert "path B6" in explained.text
    again = box.call("evaluate", {"proposal": number})
    assert again.kind is Kind.REPEATED
    assert f"attempt {refused.data['attempt']}" in again.text
    assert "wait.raw" in again.text


def test_what_is_checked_is_no_attempt(box: Toolbox) -> None:
    before = box.session.state.next_ordinal
    insert = {"kind": "insert", "before": 600, "text": ["s_nop 15"] * 4}
    answer = box.call("propose_edits", {"window": "B6", "edits": [insert], "note": "slow", "then": "check"})
    assert answer.kind is Kind.ADMITTED
    assert box.session.state.next_ordinal == before
    slower = box.call("evaluate", {"proposal": answer.data["proposal"]})
    assert slower.kind is Kind.ADMITTED
    assert slower.data["best_attempt"] == 0


def test_a_gain_becomes_a_commit_and_is_written_with_its_certificate(box: Toolbox, folder: Path) -> None:
    won = box.call("apply_strategy", {"strategy": "reschedule", "window": "B6", "then": "evaluate"})
    assert won.kind is Kind.COMMIT
    assert box.session.base.ordinal == won.data["attempt"]
    assert "reschedule" in box.call("lineage").text
    written = box.call("write_result")
    assert written.data["best_us"] < 0.97 * written.data["k0_us"]
    certificate = json.loads((folder / "run" / "certificate.json").read_text())
    assert certificate["verdict"] == written.data["verdict"]
    assert (folder / "run" / "best.co").is_file()


def test_only_admitted_attempts_can_be_built_on(box: Toolbox) -> None:
    refused = next(a.ordinal for a in box.session.store.attempts() if not a.verdict.admitted)
    answer = box.call("work_on", {"attempt": refused})
    assert answer.kind is Kind.MISTAKE
    assert "was not admitted" in answer.text
    best = box.session.base.ordinal
    assert box.call("work_on", {"attempt": 0}).data["base"] == 0
    assert box.call("work_on", {"attempt": best}).data["base"] == best


def test_a_text_that_does_not_assemble_is_a_mistake(box: Toolbox) -> None:
    edit = {"kind": "replace", "line": 724, "text": "v_fma_f32 v62, v100, banana"}
    answer = box.call("propose_edits", {"window": "B6", "edits": [edit], "note": "x"})
    assert answer.kind is Kind.MISTAKE
    assert "v_fma_f32 v62, v100, banana" in answer.text


def test_nothing_told_names_a_folder_of_this_machine(box: Toolbox, folder: Path) -> None:
    for name, arguments in (("overview", {}), ("attempts", {}), ("explain", {"attempt": 99}), ("write_result", {})):
        assert str(folder) not in box.call(name, arguments).text


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("listing", {"window": "B99"}, "no block 99"),
        ("listing", {"window": "the hot one"}, "no id of a window"),
        ("listing", {"window": "L3"}, "no header of a loop"),
        ("listing", {"window": "B6", "page": 9}, "pages 1 to 4"),
        ("evaluate", {"proposal": 99}, "no proposal 99"),
        ("explain", {"attempt": 99}, "no attempt 99"),
        ("opcode", {"text": "v_banana_f32"}, "no 'v_banana_f32'"),
        ("apply_strategy", {"strategy": "magic", "window": "B6"}, "strategy"),
        ("registers", {"line": 10**6}, "no line 1000000"),
    ],
)
def test_mistakes_are_answers(box: Toolbox, name: str, arguments: dict[str, object], why: str) -> None:
    answer = box.call(name, arguments)
    assert answer.kind is Kind.MISTAKE
    assert why in answer.text


def test_a_session_goes_on_where_another_was_killed(box: Toolbox, folder: Path, device: Device) -> None:
    """What was open in the store when a process died is forgotten, all else is there."""
    kept = box.session
    with pytest.raises(EnvironmentError_, match="another process"):
        AgentSession.open(folder / "run", device)
    box.call("note", {"text": "the loop is done"})
    kept.close()
    proposals, best = dict(kept.proposals), kept.state.best
    with Store.open(folder / "run", lambda: 0.0, write=True) as store:
        last = store.attempts()[-1]
        half = type(last)(last.ordinal + 1, 0, "test", "half done", (), "0" * 64)
        store.begin(half)
    with AgentSession.open(folder / "run", device) as session:
        assert session.state.best == best
        assert session.base == best
        assert session.state.next_ordinal == last.ordinal + 1
        assert session.proposals == proposals
        assert session.notes() == ("the loop is done",)


def test_a_session_goes_on_with_times_of_one_source(
    box: Toolbox, folder: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.session.close()
    monkeypatch.setattr(device, "source", "measured")
    with pytest.raises(UsageError, match="times of the run are modelled and those of this device measured"):
        AgentSession.open(folder / "run", device)


def test_a_folder_that_holds_a_run_is_not_begun_again(folder: Path, device: Device, box: Toolbox) -> None:
    with pytest.raises((UsageError, EnvironmentError_)):
        real_session(folder, device)
