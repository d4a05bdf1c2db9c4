"""What the agent costs besides its models: time of the tools, sizes of prompts, and scripted models on the demo GEMM.

    python -m benchmarks.agent [--json] [--attempts N] [--scenario NAME ...]

Overhead is the CPU time of this process for one attempt, from the tool call to the answer, with a gate and a timer that
answer at once: reading the proposal, keeping it inside its window, applying, assembling and rebuilding, the store, the
diff. Median of the attempts on each of three kernels of AMD's wheel with about 500, 5,000 and 30,000 instructions; each
attempt adds instructions that were not there before, so nothing is remembered.

A window prompt is all that shows a window to a model: instructions, task, the descriptions of all tools and the
largest page of its listing. Tokens are counted as `asmevo.agent.tokens` does, rather too many than too few.

The scenarios are models that play a part (`benchmarks.scripted`), served over HTTP on this machine, on the real gate.

JSON: `overhead_ms` (the largest of the medians), `window_prompt_tokens_max`, `scenarios` by name: how each ended.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.agent import AgentSession, Kind, Toolbox, tokens
from asmevo.agent.llm import Models
from asmevo.agent.llm.message import tools_size
from asmevo.agent.llm.task import Stage, first_messages, tool_specs
from asmevo.codeobject import CodeObject
from asmevo.device import simulator
from asmevo.edit import Edit
from asmevo.launch import load_launches
from asmevo.program import Program, recover
from asmevo.report import counts_text, figure, table
from asmevo.search import Settings, State, Workbench, new_run, start
from asmevo.verdict import AsmEvoError, Check, Verdict
from benchmarks import objects
from benchmarks.common import print_json
from benchmarks.edit_safety import KERNEL_30K
from benchmarks.scripted.scenarios import SCENARIOS
from benchmarks.scripted.server import ScriptedServer
from benchmarks.wheels import AITER, fetch_wheel

CHIP = "mi300x"
KERNELS = (
    "aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_4x128x6.co",
    "aiter_meta/hsa/gfx942/fmoe/gelu/fmoe_bf16_pertokenInt8_g1u0_vs_atm_opt_gelu_1tg_32x512.co",
    KERNEL_30K,
)
"""About 500, 5,000 and 30,000 instructions."""
ATTEMPTS = 20
PAGES = 12
"""Pages of one window that are looked at, spread over it."""
SPECS = tool_specs(Toolbox.tools)
LAST = 160
"""Most characters of why a scenario ended."""
ADVICE = "advice_small_steps"
LAUNCHES = ("tile", "serving")
"""Of the demo GEMM, for the scenarios."""


@dataclass(frozen=True, slots=True)
class Admitted:
    verdict: Verdict = Verdict.TESTED
    checks: tuple[Check, ...] = (Check("none", Verdict.TESTED),)


@dataclass(frozen=True, slots=True)
class Timed:
    heat: Mapping[int, float]
    microseconds: float = 100.0
    source: str = "modelled"
    bytes_per_clk: float | None = None


class AtOnce:
    """A gate that admits and a timer that answers, both at once; all reachable lines are equally hot."""

    def examine(self, candidate: bytes, k0: Program, edits: Sequence[Edit]) -> Admitted:
        return Admitted()

    def time(self, candidate: bytes, program: Program) -> Timed:
        return Timed(dict.fromkeys(range(len(program.lines)), 1.0 / len(program.lines)))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one kernel."""

    instructions: int
    attempt_ms: float
    first_listing_ms: float
    """With the analyses of a program that was not seen before."""
    listing_ms: float
    prompt_tokens: int
    windows: int
    pages: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.agent", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, help="attempts on each kernel")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="only this one; may be repeated")
    options = parser.parse_args(arguments)
    costs = list(kernels(options.attempts))
    print(costs_table(costs))
    print(f"descriptions of the {len(SPECS)} tools: {tools_size(SPECS)} tokens of every prompt\n")
    outcomes = dict(scenarios(options.scenario or list(SCENARIOS)))
    for name, outcome in outcomes.items():
        print(f"{name:12} {outcome}")
    if options.json:
        print_json(
            {
                "overhead_ms": round(max(cost.attempt_ms for cost in costs), 2),
                "window_prompt_tokens_max": max(cost.prompt_tokens for cost in costs),
                "scenarios": outcomes,
            }
        )
    return 0


def kernels(attempts: int) -> Iterator[Cost]:
    """What the tools cost on each kernel."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        for name in KERNELS:
            say(f"tools on {Path(name).name}")
            with tempfile.TemporaryDirectory() as folder, session(Path(folder) / "run", archive.read(name)) as one:
                yield cost_of(Toolbox(one), attempts)


def session(folder: Path, k0: bytes) -> AgentSession:
    """A session whose gate and timer take no time."""
    settings, at_once = Settings(), AtOnce()
    store = new_run(folder, k0, (), CHIP, settings)
    kernel = CodeObject.parse(k0).kernels[0].name
    bench = Workbench(store, at_once, at_once, State(settings), time.process_time, kernel)
    bench.require_k0()
    return AgentSession(bench, at_once, (), clock=time.process_time)


def cost_of(box: Toolbox, attempts: int) -> Cost:
    windows: list[dict[str, Any]] = box.call("windows", {"top": 40}).data["windows"]
    largest = max(windows, key=lambda w: w["lines"])
    first, _ = seconds(box, "listing", {"window": largest["window"]})
    spent: list[float] = []
    rng = random.Random(0)
    for n in range(attempts):
        program = box.session.program
        low = program.position[largest["first"]]
        before = program.lines[rng.randrange(low, low + largest["lines"])].id
        edit = {"kind": "insert", "before": before, "text": [f"v_mov_b32_e32 v1, 0x{0x1000 + n:x}"]}
        arguments = {"window": largest["window"], "edits": [edit], "note": "one more", "then": "evaluate"}
        took, kind = seconds(box, "propose_edits", arguments)
        if kind is not Kind.ADMITTED:
            raise SystemExit(f"the attempt was answered with {kind}")
        spent.append(took)
    stage = Stage.of(box)
    sizes: list[int] = []
    listed: list[float] = []
    for window in windows:
        told, _ = first_messages(stage, window, ADVICE, 12)
        head = tools_size(SPECS) + sum(tokens(message.text) for message in told)
        for page in pages_of(window["pages"]):
            began = time.process_time()
            answer = box.call("listing", {"window": window["window"], "page": page})
            listed.append(time.process_time() - began)
            sizes.append(head + tokens(answer.text))
    lines = len(recover(box.session.k0.source, box.session.k0.kernel.name).lines)
    return Cost(
        lines, 1e3 * statistics.median(spent), 1e3 * first, 1e3 * statistics.median(listed), max(sizes),
        len(windows), sum(window["pages"] for window in windows),
    )  # fmt: skip


def seconds(box: Toolbox, name: str, arguments: Mapping[str, Any]) -> tuple[float, Kind]:
    """CPU seconds of one call."""
    began = time.process_time()
    answer = box.call(name, arguments)
    return time.process_time() - began, answer.kind


def pages_of(count: int) -> list[int]:
    """Some pages of a window, the first and the last among them."""
    return sorted({1 + round(n * (count - 1) / (PAGES - 1)) for n in range(PAGES)})


def costs_table(costs: Sequence[Cost]) -> str:
    header = ["instructions", "windows", "pages", "attempt ms", "listing ms", "first listing ms", "prompt tokens"]
    rows = [
        [
            str(c.instructions),
            str(c.windows),
            str(c.pages),
            figure(c.attempt_ms, 3),
            figure(c.listing_ms, 3),
            figure(c.first_listing_ms, 3),
            str(c.prompt_tokens),
        ]
        for c in costs
    ]
    return table(header, rows)


def scenarios(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """How each scripted model's run ended."""
    folder = objects.FP8_GEMM_FOLDER
    k0 = (folder / "fp8_block_scaled_gemm.hsaco").read_bytes()
    launches = [one for name in LAUNCHES for one in load_launches(folder / "launches" / f"{name}.toml")]
    with simulator(CHIP) as device, tempfile.TemporaryDirectory() as runs:
        for name in names:
            say(f"scripted model {name}")
            scenario = SCENARIOS[name]
            with ScriptedServer(scenario.script()) as server, Models(scenario.config(server.base_url)) as models:
                summary = start(
                    Path(runs) / name, k0, launches, device, chip=CHIP, settings=Settings(trims=0), driver=models
                )
                report = models.report
            assert report
            found = "nothing faster"
            if summary.files:
                found = f"{summary.verdict}, speedup {summary.speedup:.4f} ({summary.source})"
            verdicts = counts_text(summary.verdicts) or "none"
            tried = f"{summary.attempts} attempts: {verdicts}; {report.requests} requests"
            yield name, f"{found}; {tried}; ended: {report.last[:LAST]}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as error:
        print(f"asmevo: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
