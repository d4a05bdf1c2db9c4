"""A gate, a timer and strategies whose answers are functions of their inputs, over the FP8 GEMM object."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Insert, Reorder
from asmevo.program import Program, control_kind, recover
from asmevo.search import Settings
from asmevo.search.draft import Drafter
from asmevo.search.examination import Examination
from asmevo.search.executor import Station
from asmevo.search.worker import Desk
from asmevo.store import Run, Store
from asmevo.strategies import Context, Proposal
from asmevo.timing import chip
from asmevo.verdict import Check, Finding, Verdict

K0 = Path(__file__).resolve().parents[2] / "examples" / "fp8_gemm" / "fp8_block_scaled_gemm.hsaco"
LAUNCHES = b"launches"


@dataclass(frozen=True)
class FakeReport:
    verdict: Verdict
    checks: tuple[Check, ...]


class FakeGate:
    """Refuses a third of all candidates, by their hash, or none when `lenient`; K0 passes."""

    def __init__(self, k0: bytes, *, lenient: bool = False) -> None:
        self.k0 = k0
        self.lenient = lenient
        self.examined: list[str] = []
        self.admitted: set[str] = set()

    def examine(self, candidate: bytes, k0: Program, edits: Sequence[Edit]) -> FakeReport:
        digest = hashlib.sha256(candidate).hexdigest()
        self.examined.append(digest)
        verdict = Verdict.TESTED
        if candidate != self.k0 and not self.lenient:
            verdict = {0: Verdict.REFUTED, 1: Verdict.UNKNOWN}.get(int(digest, 16) % 6, Verdict.TESTED)
        findings = () if verdict.admitted else (Finding("fake.rule", "The fake does not like it."),)
        if verdict.admitted:
            self.admitted.add(digest)
        return FakeReport(verdict, (Check("static", Verdict.TESTED), Check("differential", verdict, findings)))


@dataclass(frozen=True)
class FakeTimed:
    microseconds: float
    heat: Mapping[int, float]
    source: str = "modelled"
    bytes_per_clk: float | None = None
    room: float | None = None


class FakeTimer:
    """100 us and 1 for each reachable `s_nop`; all reachable lines are equally hot."""

    def __init__(self, gate: FakeGate) -> None:
        self.gate = gate
        self.room: float | None = None
        self.timed: list[str] = []

    def time(self, candidate: bytes, program: Program) -> FakeTimed:
        digest = hashlib.sha256(candidate).hexdigest()
        assert digest in self.gate.admitted, "timed before it was admitted"
        self.timed.append(digest)
        heat = {line_id: 1.0 / len(program.block_of) for line_id in program.block_of}
        nops = sum(control_kind(program.line(i).instruction) == "nop" for i in program.block_of)
        return FakeTimed(100.0 + nops, heat, room=self.room)


def _ids(context: Context) -> list[int]:
    return [line.id for line in context.program.lines[context.block.first : context.block.last]]


class Thin:
    """Deletes one `s_nop`: faster."""

    name = "thin"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        nops = [i for i in _ids(context) if control_kind(context.program.line(i).instruction) == "nop"]
        rng.shuffle(nops)
        for i in nops:
            yield Proposal((Delete((i,)),), f"delete {i}", (i, i))


class Swap:
    """Swaps two neighbours: as fast as before, so never a commit."""

    name = "swap"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        ids = _ids(context)[:-1]
        if len(ids) >= 2:
            at = rng.randrange(len(ids) - 1)
            yield Proposal((Reorder((ids[at + 1], ids[at])),), f"swap {ids[at]}", (ids[at], ids[at + 1]))


class Pad:
    """Inserts an `s_nop`: slower."""

    name = "pad"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        at = rng.choice(_ids(context))
        yield Proposal((Insert(at, "s_nop 0"),), f"pad before {at}", (at, at))


class Broken:
    """Proposes what cannot be applied or assembled."""

    name = "broken"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        at = rng.choice(_ids(context))
        yield Proposal((Insert(at, f"v_no_such_opcode v{rng.randrange(200)}"),), "nonsense", (at, at))


ALL = {strategy.name: strategy for strategy in (Thin(), Swap(), Pad(), Broken())}


def new_store(folder: Path, settings: Settings) -> Store:
    k0 = K0.read_bytes()
    digests = [hashlib.sha256(data).hexdigest() for data in (k0, LAUNCHES)]
    run = Run(digests[0], digests[1], settings.seed, "mi300x", settings.to_json(), {"asmevo": "0"})
    return Store.create(folder, run, [k0, LAUNCHES], clock=lambda: 0.0)


def k0_program() -> Program:
    return recover(CodeObject.parse(K0.read_bytes()))


class PlainTimer(FakeTimer):
    """Times whatever it is given: what one worker proposes for, another one had admitted."""

    def time(self, candidate: bytes, program: Program) -> FakeTimed:
        self.gate.admitted.add(hashlib.sha256(candidate).hexdigest())
        return super().time(candidate, program)


@contextmanager
def station(names: str) -> Iterator[Station]:
    """A station with the fakes; `names` of strategies, joined by commas."""
    program = k0_program()
    gate = FakeGate(K0.read_bytes())
    examination = Examination(program, gate, PlainTimer(gate), lambda: 0.0)
    strategies = {name: ALL[name] for name in names.split(",")}
    yield Station(examination, Drafter(program, chip("mi300x"), examination.time, strategies))


def serve(connection: Connection, names: str) -> None:
    """A worker process with the fakes."""
    desk = Desk(partial(station, names))
    while True:
        try:
            connection.send(desk.answer(*connection.recv()))
        except EOFError:
            return
