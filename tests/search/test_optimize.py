"""The loop with fake gate, timer and strategies: what commits, what stops it, what a kill leaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from fakes_search import ALL, K0, FakeGate, FakeReport, FakeTimed, FakeTimer, k0_program, new_store

from asmevo.device import LaunchTime, ObjectiveTime, Timing
from asmevo.edit import Delete
from asmevo.search import HANDOVER, Expense, Hand, Settings, Update, build, optimize
from asmevo.store import Attempt, Status, Store
from asmevo.timing import Comparison
from asmevo.verdict import Check, EnvironmentError_, InputError, UnsupportedError, Verdict

SETTINGS = Settings(seed=11, attempts=40, patience=10, stall=100, trims=6, strategies=("thin", "swap", "pad"))


class Rig:
    """One run in a folder, to be continued with new fakes as a new process would."""

    def __init__(self, folder: Path, settings: Settings = SETTINGS) -> None:
        self.store = new_store(folder, settings) if not folder.exists() else Store.open(folder, time.time, write=True)
        self.gate = FakeGate(K0.read_bytes())
        self.gate.admitted = {a.candidate for a in self.store.attempts() if a.status is Status.ADMITTED}
        self.timer = FakeTimer(self.gate)
        self.updates: list[Update] = []

    def run(self, settings: Settings | None = None, strategies: dict | None = None, **more):
        chosen = strategies or {n: ALL[n] for n in (settings or SETTINGS).strategies}
        with self.store:
            return optimize(
                self.store, self.gate, self.timer, clock=time.monotonic, settings=settings,
                progress=self.updates.append, strategies=chosen, **more,
            )  # fmt: skip


def lineage(folder: Path) -> list[tuple]:
    with Store.open(folder, time.time) as store:
        return [
            (a.ordinal, a.parent, a.strategy, a.edits, a.candidate, a.status, a.verdict, a.microseconds, a.draws)
            for a in store.attempts()
        ] + [(c.number, c.attempt, c.microseconds) for c in store.commits()]


def test_commits_are_admitted_and_faster(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "run")
    summary = rig.run()
    with Store.open(tmp_path / "run", time.time) as store:
        attempts, commits = store.attempts(), store.commits()
    assert summary.attempts == 40 and summary.reason == "budget of 40 attempts used"
    assert len(commits) >= 2
    best = attempts[0].microseconds
    for commit in commits:
        attempt = attempts[commit.attempt]
        assert attempt.verdict is Verdict.TESTED and attempt.status is Status.ADMITTED
        assert attempt.strategy in ("thin", "compose")  # swaps are A/A, pads are slower: neither ever commits
        assert best is not None and commit.microseconds < best * 0.999
        best = commit.microseconds
    refused = [a for a in attempts if a.status is Status.REFUSED]
    assert refused and all(a.microseconds is None and not a.verdict.admitted for a in refused)
    assert len({a.candidate for a in attempts}) == len(attempts)
    assert len(rig.timer.timed) < len(rig.gate.examined)
    assert summary.best_microseconds <= commits[-1].microseconds
    assert summary.speedup > 1 and summary.commits == len(commits)


def test_result_object_is_what_the_store_says(tmp_path: Path) -> None:
    def certify(candidate: bytes, attempt, edits) -> dict:
        return {"sha256": hashlib.sha256(candidate).hexdigest(), "edits": list(edits)}

    summary = Rig(tmp_path / "run").run(certify=certify)
    data = summary.files["object"].read_bytes()
    assert hashlib.sha256(data).hexdigest() == summary.best_sha256
    certificate = json.loads(summary.files["certificate"].read_text())
    assert certificate["sha256"] == summary.best_sha256 and len(certificate["edits"]) == summary.edits
    assert json.loads(json.dumps(summary.to_json()))["speedup"] == summary.speedup
    assert not list((tmp_path / "run").glob(".*part"))


def test_edits_that_do_not_pay_are_dropped(tmp_path: Path) -> None:
    """Swaps move the working point, so they are in the way to later commits; trimming takes them out again."""
    strategies = {"thin": ALL["thin"], "swap": ALL["swap"]}
    rig = Rig(tmp_path / "run", Settings.from_json(SETTINGS.to_json() | {"seed": 3, "islands": 1, "ahead": 1}))
    rig.gate.lenient = True
    summary = rig.run(strategies=strategies)
    with Store.open(tmp_path / "run", time.time) as store:
        attempts = store.attempts()
        last = store.commits()[-1]
        untrimmed = [e["kind"] for a in store.chain(last.attempt) for e in a.edits]
        kinds = [e["kind"] for a in store.chain(summary.best_ordinal) for e in a.edits]
    assert 0 < summary.trims <= 2 * SETTINGS.trims
    assert "reorder" in untrimmed
    assert kinds.count("reorder") < untrimmed.count("reorder")
    assert kinds.count("delete") == untrimmed.count("delete")
    assert attempts[summary.best_ordinal].microseconds == summary.best_microseconds <= last.microseconds
    with Store.open(tmp_path / "run", time.time) as store:
        shares, patterns = store.events()[-1].facts["shares"], store.patterns()
    known = [share["share"] for share in shares if share["share"] is not None]
    assert (
        known and all(0 < share < 1 for share in known) and {share["strategy"] for share in shares} <= {"thin", "swap"}
    )
    assert set(patterns) == {commit.attempt for commit in Store.open(tmp_path / "run", time.time).commits()}
    again = Rig(tmp_path / "run")
    assert again.run(strategies=strategies).best_ordinal == summary.best_ordinal
    assert again.gate.examined == [], "a finished run has nothing left to examine"


class UnsureTimer(FakeTimer):
    """Compares, and cannot."""

    def compare(self, base: bytes, candidate: bytes) -> Comparison:
        raise UnsupportedError("The clock never rests.")


def test_a_comparison_that_fails_is_no_gain(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "run", replace(SETTINGS, attempts=12))
    rig.timer = UnsureTimer(rig.gate)
    summary = rig.run(strategies={"thin": ALL["thin"]})
    assert summary.commits == 0 and summary.best_ordinal == 0
    with Store.open(tmp_path / "run", time.time) as store:
        compared = [a.comparison for a in store.attempts() if a.comparison is not None]
    assert compared and compared[0] == {"against": 0, "faster": False, "reason": "The clock never rests."}


def test_nothing_found_is_reported_as_nothing(tmp_path: Path) -> None:
    settings = Settings(seed=1, attempts=12, strategies=("swap", "pad"))
    summary = Rig(tmp_path / "run", settings).run(settings)
    assert summary.best_ordinal == 0 and summary.speedup == 1.0 and summary.commits == 0
    assert summary.files == {} and not (tmp_path / "run" / "best.co").exists()


def test_same_seed_same_lineage_other_seed_other(tmp_path: Path) -> None:
    Rig(tmp_path / "a").run()
    Rig(tmp_path / "b").run()
    other = Settings.from_json(SETTINGS.to_json() | {"seed": 12})
    Rig(tmp_path / "c", other).run(other)
    assert lineage(tmp_path / "a") == lineage(tmp_path / "b")
    assert lineage(tmp_path / "a") != lineage(tmp_path / "c")


def test_a_longer_budget_continues_the_same_lineage(tmp_path: Path) -> None:
    no_trims = SETTINGS.to_json() | {"trims": 0}
    short, whole = Settings.from_json(no_trims | {"attempts": 15}), Settings.from_json(no_trims)
    Rig(tmp_path / "a", short).run(short)
    Rig(tmp_path / "a").run(whole)
    Rig(tmp_path / "b", whole).run(whole)
    assert lineage(tmp_path / "a") == lineage(tmp_path / "b")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"attempts": 0}, "budget of 0 attempts used"),
        ({"attempts": 7}, "budget of 7 attempts used"),
        ({"seconds": 0.0, "attempts": None}, "budget of 0 seconds used"),
        ({"stall": 3, "strategies": ("swap",)}, "no commit in 3 attempts"),
    ],
)
def test_budgets_and_stall(tmp_path: Path, change: dict, reason: str) -> None:
    settings = Settings.from_json(SETTINGS.to_json() | change)
    rig = Rig(tmp_path / "run", settings)
    summary = rig.run(settings)
    assert summary.reason == reason
    assert summary.attempts <= (settings.attempts if settings.attempts is not None else 0)
    with Store.open(tmp_path / "run", time.time) as store:
        assert store.events()[-1].facts["reason"] == reason
    assert rig.updates[-1].kind == "stop" and rig.updates[-1].reason == reason


def test_no_more_ideas(tmp_path: Path) -> None:
    settings = Settings(seed=2, attempts=10_000, stall=10_000, trims=0, strategies=("thin",))
    summary = Rig(tmp_path / "run", settings).run(settings)
    assert summary.reason == "nothing new to propose"


def test_what_cannot_be_built_is_unknown_and_never_reaches_the_gate(tmp_path: Path) -> None:
    settings = Settings(seed=2, attempts=5, strategies=("broken",))
    rig = Rig(tmp_path / "run", settings)
    summary = rig.run(settings)
    assert summary.verdicts == {"UNKNOWN": 5}
    assert len(rig.gate.examined) == 1  # K0
    with Store.open(tmp_path / "run", time.time) as store:
        (check,) = store.attempt(1).checks
    assert "v_no_such_opcode" in check["findings"][0]["message"]


def test_a_gate_that_breaks_or_contradicts_itself_admits_nothing(tmp_path: Path) -> None:
    class Doubtful(FakeGate):
        def examine(self, candidate, k0, edits):
            if candidate == self.k0:
                return super().examine(candidate, k0, edits)
            if len(self.examined) % 2:
                self.examined.append("")
                raise UnsupportedError("No row for this opcode.")
            self.examined.append("")
            return FakeReport(Verdict.TESTED, ())

    rig = Rig(tmp_path / "run")
    rig.gate = Doubtful(K0.read_bytes())
    rig.timer = FakeTimer(rig.gate)
    summary = rig.run(Settings(attempts=6, strategies=("thin",)), {"thin": ALL["thin"]})
    assert summary.verdicts == {"UNKNOWN": 6} and summary.commits == 0
    assert len(rig.timer.timed) == 1


def test_a_timer_without_an_answer_makes_no_commit(tmp_path: Path) -> None:
    class Stuck(FakeTimer):
        def time(self, candidate, program):
            timed = super().time(candidate, program)
            if candidate == K0.read_bytes():
                return timed
            return FakeTimed(0.0 if len(self.timed) % 2 else float("nan"), timed.heat)

    rig = Rig(tmp_path / "run")
    rig.timer = Stuck(rig.gate)
    summary = rig.run(Settings(attempts=6, strategies=("thin",)), {"thin": ALL["thin"]})
    assert summary.commits == 0 and set(summary.verdicts) <= {"UNKNOWN", "REFUTED"}


@pytest.mark.parametrize(("verdict", "error"), [(Verdict.REFUTED, InputError), (Verdict.UNKNOWN, UnsupportedError)])
def test_k0_that_is_not_admitted_ends_the_run(tmp_path: Path, verdict: Verdict, error: type[Exception]) -> None:
    class Never(FakeGate):
        def examine(self, candidate, k0, edits):
            return FakeReport(verdict, (Check("baseline", verdict),))

    for _ in range(2):  # also when resumed
        rig = Rig(tmp_path / "run")
        rig.gate = Never(b"")
        with pytest.raises(error, match="original object itself"):
            rig.run()
        assert rig.timer.timed == []


def test_a_failing_machine_ends_the_run_and_it_resumes(tmp_path: Path) -> None:
    class Failing(FakeGate):
        def examine(self, candidate, k0, edits):
            if len(self.examined) == 9:
                raise EnvironmentError_("The device is gone.")
            return super().examine(candidate, k0, edits)

    rig = Rig(tmp_path / "a")
    rig.gate = Failing(K0.read_bytes())
    rig.timer = FakeTimer(rig.gate)
    with pytest.raises(EnvironmentError_, match="device is gone"):
        rig.run()
    Rig(tmp_path / "a").run()
    Rig(tmp_path / "b").run()
    assert lineage(tmp_path / "a") == lineage(tmp_path / "b")


def test_interrupt_stops_cleanly_and_resumes(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)  # a shell may start this process with the signal ignored
    rig = Rig(tmp_path / "a")
    seen: list[str] = []

    def interrupt(update: Update) -> None:
        seen.append(update.kind)
        if update.attempts == 5 and update.kind in ("attempt", "commit"):
            os.kill(os.getpid(), signal.SIGINT)

    with rig.store:
        summary = optimize(
            rig.store, rig.gate, rig.timer, clock=time.monotonic, progress=interrupt,
            strategies={n: ALL[n] for n in SETTINGS.strategies},
        )  # fmt: skip
    assert summary.interrupted and summary.reason == "interrupted" and summary.attempts == 5
    assert seen[-1] == "stop" and "trim" not in seen
    assert signal.getsignal(signal.SIGINT) == before
    Rig(tmp_path / "a").run()
    Rig(tmp_path / "b").run()
    assert lineage(tmp_path / "a") == lineage(tmp_path / "b")


def test_runs_outside_the_main_thread(tmp_path: Path) -> None:
    results: list[float] = []
    settings = Settings(attempts=3, strategies=("thin",))
    thread = threading.Thread(target=lambda: results.append(Rig(tmp_path / "run", settings).run(settings).speedup))
    thread.start()
    thread.join()
    assert results and results[0] >= 1


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [{here!r}]
from test_optimize import Rig
Rig(Path(sys.argv[1])).run()
"""


def test_kill_at_any_moment_gives_the_same_lineage(tmp_path: Path) -> None:
    Rig(tmp_path / "whole").run()
    folder = tmp_path / "killed"
    Rig(folder).store.close()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CHILD.format(here=str(Path(__file__).parent)), str(folder)]
    kills = 0
    for want in (0, 4, 12, 25):
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as child:
            while child.poll() is None and done(folder) <= want:
                time.sleep(0.001)
            kills += child.poll() is None
            child.send_signal(signal.SIGKILL)
    assert kills >= 3
    Rig(folder).run()
    assert lineage(folder) == lineage(tmp_path / "whole")


def done(folder: Path) -> int:
    with Store.open(folder, time.time) as store:
        return len(store.attempts())


def test_updates_tell_the_state(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "run")
    summary = rig.run()
    kinds = [u.kind for u in rig.updates]
    assert kinds[0] == "start" and kinds[-1] == "stop"
    assert kinds.count("commit") == summary.commits
    assert kinds.count("attempt") + kinds.count("commit") == summary.attempts
    assert kinds.count("trim") == summary.trims
    counts = [u.attempts for u in rig.updates]
    assert counts == sorted(counts)
    assert rig.updates[-1].verdicts == summary.verdicts and sum(summary.verdicts.values()) == 40
    assert all(u.best_microseconds <= u.k0_microseconds for u in rig.updates)


def test_the_fakes_see_a_real_program() -> None:
    program = k0_program()
    assert len(program.blocks) > 10


class Helper:
    """A driver that thins out one `s_nop` a turn through the bench, and has `turns` of them."""

    patience = 5
    alone = under_way = False

    @property
    def expense(self) -> Expense:
        return Expense(0.25 * self.taken, None, "it has had its turns" if self.refused else "")

    def __init__(self, turns: int) -> None:
        self.turns, self.taken, self.left, self.refused = turns, 0, [], False

    def turn(self, hand: Hand) -> bool:
        if self.taken >= self.turns:
            self.refused = True
            return False
        self.taken += 1
        self.left.append(hand.attempts)
        bench = hand.bench
        best = bench.state.best
        program = bench.program(best.ordinal)
        nops = [i for i in program.block_of if program.line(i).instruction.mnemonic == "s_nop"]
        edit = Delete((nops[0],))
        built = build(program, [edit])
        ordinal = bench.state.next_ordinal
        attempt = Attempt(ordinal, best.ordinal, "helper", "thin", (edit.to_json(),), built.sha256)
        hand.tell(*bench.examine(attempt, built))
        return True


def test_a_driver_has_a_turn_where_the_strategies_have_stalled(tmp_path: Path) -> None:
    """Swaps never commit, so the helper is asked after each `patience` of them; its commits count as any other's."""
    settings = Settings(seed=1, attempts=18, ahead=1, strategies=("swap",), trims=0)
    rig, helper = Rig(tmp_path / "run", settings), Helper(9)
    rig.gate.lenient = True
    summary = rig.run(settings, driver=helper)
    with Store.open(tmp_path / "run", time.time) as store:
        made = [a.strategy for a in store.attempts()]
        handed = [e.ordinal for e in store.events() if e.kind == HANDOVER]
        commits = [c.attempt for c in store.commits()]
    assert made == ["k0"] + (["swap"] * 5 + ["helper"]) * 3
    assert handed == commits == [6, 12, 18] and helper.left == [13, 7, 1]
    assert summary.commits == 3 and [u.kind for u in rig.updates].count("commit") == 3


def test_a_driver_alone(tmp_path: Path) -> None:
    settings = Settings(seed=1, attempts=10, trims=0)
    rig, helper = Rig(tmp_path / "run", settings), Helper(3)
    rig.gate.lenient = True
    with rig.store:
        summary = optimize(
            rig.store, rig.gate, rig.timer, clock=time.monotonic, settings=settings, strategies={}, driver=helper
        )
    assert summary.attempts == summary.commits == 3
    assert summary.reason == "nothing new to propose: it has had its turns"
    assert summary.cost == Expense(0.75, None, "it has had its turns")


@pytest.mark.parametrize(("room", "attempts"), [(0.004, 0), (0.006, 40), (None, 40)])
def test_a_kernel_at_its_bound_is_left_alone(tmp_path: Path, room: float | None, attempts: int) -> None:
    rig = Rig(tmp_path / "run")
    rig.timer.room = room
    summary = rig.run()
    assert summary.attempts == attempts
    assert ("K0 is at its bound" in summary.reason) is (attempts == 0)
    if not attempts:
        assert "leaves 0.40 % of its time" in summary.reason and summary.best_ordinal == 0 and not summary.files


def test_room_is_what_memory_and_the_matrix_pipe_do_not_need() -> None:
    def launch(weight: float, microseconds: float, **facts: object) -> LaunchTime:
        return LaunchTime("x", weight, microseconds, {"cycles": 20_000.0, "clock_ghz": 2.0, **facts})

    tight, slack = {"memory": 20_000.0, "mfma": 9_000.0}, {"memory": 9_000.0, "mfma": 15_000.0}
    time_of = partial(ObjectiveTime, heat={})
    assert time_of(Timing("modelled", (launch(1.0, 12.5, bounds=tight),))).room == 0.0
    both = (launch(1.0, 12.5, bounds=tight), launch(3.0, 12.5, bounds=slack))
    assert time_of(Timing("modelled", both)).room == pytest.approx(3 * 2.5 / 50)
    assert time_of(Timing("measured", (launch(1.0, 12.5),))).room is None
