"""How fast and how steadily the search works, on the example GEMM."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asmevo.device import Device, ObjectiveTimer, simulator
from asmevo.device.simulated import SimDevice
from asmevo.edit import Delete, Insert
from asmevo.gate import Gate
from asmevo.launch import load_launches
from asmevo.program import control_kind
from asmevo.search import Settings, Update, build, start
from asmevo.store import DATABASE, Store
from asmevo.strategies import STRATEGIES, Analyses, Analyst, Context, Proposal
from asmevo.timing import chip
from benchmarks.common import second_core
from benchmarks.objects import FP8_GEMM_FOLDER, ROOT

CHIP = "mi300x"
K0 = FP8_GEMM_FOLDER / "fp8_block_scaled_gemm.hsaco"
TILE = FP8_GEMM_FOLDER / "launches" / "tile.toml"
BROKEN = 40
"""Candidates that break a rule, for each that does not: strategies of which most proposals fail are of this kind."""
GATED = 6
KILLED_ATTEMPTS = 40
NOP_BYTES = 4
PATIENCE, PAUSE_S = 10, 15
"""How often, and with what pause, a machine is asked for its second core."""


class NoOp:
    """An edit that changes bytes and nothing else: `s_nop` in front of any instruction, as many as fill a fetch.

    Fewer would move the code behind them against the boundaries of fetch, which is an effect (see `Align`).
    """

    name = "no_op"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        ids = [line.id for line in context.lines]
        nops = ("s_nop 0",) * (chip(CHIP).fetch_bytes // NOP_BYTES)
        for at in rng.sample(ids, len(ids)):
            yield Proposal((Insert(at, nops),), f"nops in front of {at}", (at, at), 0.0)


def no_op_trial(device: Device, folder: Path, count: int) -> tuple[int, int]:
    """How many of so many edits without effect the gate admits, and how many of those become commits; none should."""
    shutil.rmtree(folder, ignore_errors=True)
    settings = Settings(attempts=count, stall=count + 1, trims=0)
    launches, admitted = load_launches(TILE), 0

    def told(update: Update) -> None:
        nonlocal admitted
        admitted += update.kind in ("attempt", "commit") and update.microseconds is not None

    strategies = {"no_op": NoOp()}
    k0 = K0.read_bytes()
    summary = start(folder, k0, launches, device, chip=CHIP, settings=settings, strategies=strategies, progress=told)
    return admitted, summary.commits


def speeds(device: Device) -> tuple[float, float]:
    """Candidates per CPU-second of this machine: with those that the static checks refuse, and fully gated ones."""
    launches = load_launches(FP8_GEMM_FOLDER / "launches")
    with SimDevice(CHIP) as here:
        gate = Gate(K0.read_bytes(), launches, here)
        timer = ObjectiveTimer(here, launches)
        k0 = timer.time(K0.read_bytes(), gate.program)
        gate.baseline()
        analyses = Analyses(gate.program, Analyst(gate.program, chip(CHIP), k0.bytes_per_clk))
        loop = max(
            gate.program.blocks, key=lambda b: sum(k0.heat.get(x.id, 0) for x in gate.program.lines[b.first : b.last])
        )
        context = Context(gate.program, loop, k0.heat, analyses)
        proposals = STRATEGIES["reschedule"].propose(context, random.Random(0))
        wanted = [proposal for proposal, _ in zip(proposals, range(GATED + 1), strict=False)]

        def tried(edits: tuple[Any, ...]) -> None:
            candidate = build(gate.program, edits)
            report = gate.examine(candidate.data, gate.program, edits)
            if report.verdict.admitted:
                timer.time(candidate.data, candidate.program)
                timer.compare(K0.read_bytes(), candidate.data)

        tried(wanted[0].edits)  # compiles what all of them share
        began = time.process_time()
        for proposal in wanted[1:]:
            tried(proposal.edits)
        gated = time.process_time() - began
        waits = [line.id for line in context.lines if control_kind(line.instruction) == "waitcnt"]
        began = time.process_time()
        for n in range(BROKEN):
            tried((Delete((waits[n % len(waits)],)),))
        refused = time.process_time() - began
    return (BROKEN + 1) / (refused + gated / GATED), GATED / gated


def two_core_scaling(folder: Path, attempts: int = 24) -> float | None:
    """Speed of a small search with two workers over that with one, after both have their code compiled.

    It is taken while the machine has two cores to give: before and after it, two spinning threads scale. None where
    that did not happen in `PATIENCE` tries.
    """
    for again in range(PATIENCE):
        if again:
            time.sleep(PAUSE_S)
        if second_core():
            one, two = (_seconds_each(folder, attempts, workers) for workers in (1, 2))
            print(f"seconds an attempt: {one:.3f} with one worker, {two:.3f} with two", file=sys.stderr, flush=True)
            if second_core():
                return one / two
    return None


def _seconds_each(folder: Path, attempts: int, workers: int) -> float:
    """Wall seconds an attempt, once everything is compiled."""
    shutil.rmtree(folder, ignore_errors=True)
    marks: list[float] = []
    launches, settings = load_launches(FP8_GEMM_FOLDER / "launches"), Settings(attempts=attempts, trims=0)

    def told(update: Update) -> None:
        if update.kind in ("attempt", "commit"):
            marks.append(time.monotonic())

    with simulator(CHIP) as device:
        data = K0.read_bytes()
        start(folder, data, launches, device, chip=CHIP, settings=settings, workers=workers, progress=told)
    first = len(marks) // 3
    return (marks[-1] - marks[first]) / (len(marks) - 1 - first)


def kill_resume_same(folder: Path, kills: int, attempts: int = KILLED_ATTEMPTS) -> bool:
    """Whether runs that are killed at random moments, so often altogether, end with the lineage of one that was not.

    A run that is done before it was killed often enough is compared, and another one begun.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random.Random(0)
    budget = ["-n", str(attempts), "--json-lines"]
    _run(["optimize", str(K0), "-l", str(TILE), "--out", str(folder / "whole"), *budget])
    done, runs, same = 0, 0, True
    whole = _lineage(folder / "whole")
    while same and done < kills:
        killed = folder / f"killed{runs}"
        first = ["optimize", str(K0), "-l", str(TILE), "--out", str(killed), *budget]
        again = ["resume", str(killed), *budget]
        while done < kills and _killed(again if (killed / DATABASE).exists() else first, rng.uniform(0.0, 3.0)):
            done += 1
        _run(again if (killed / DATABASE).exists() else first)
        runs, same = runs + 1, _lineage(killed) == whole
    return same


def _killed(command: list[str], seconds: float) -> bool:
    """Whether a command had to be killed so many seconds after its first line; else it is done."""
    with subprocess.Popen(_command(command), stdout=subprocess.PIPE, env=_environment(), text=True) as process:
        assert process.stdout
        process.stdout.readline()  # it began
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True
    return False


def _lineage(folder: Path) -> list[tuple[Any, ...]]:
    with Store.open(folder, time.time) as store:
        attempts = [
            (a.ordinal, a.parent, a.strategy, a.edits, a.candidate, a.verdict, a.microseconds) for a in store.attempts()
        ]
        return [*attempts, *[(c.number, c.attempt, c.microseconds) for c in store.commits()]]


def _run(arguments: list[str]) -> None:
    subprocess.run(_command(arguments), check=True, stdout=subprocess.DEVNULL, env=_environment())


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "asmevo", *arguments]


def _environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)]))
