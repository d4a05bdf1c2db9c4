"""Checked execution: its price, and whether it finds every wait, barrier and LDS write that is missing.

    python -m benchmarks.checked [--json] [--kernel NAME] [--most N]

For each kernel: an unedited checked run; then one run for each fault, which takes away one counter of a wait, a barrier
or a store to LDS that some launch executes. A fault is *redundant* when nothing shows that it matters: the waits that
are left protect every use on all paths that some launch takes, and the kernel leaves the same memory, with the first or
the last wave ahead. Every other fault must be found, at an instruction that it exposes: for a store, also by a read of
LDS that gives other values than it does in the unedited kernel.

JSON: `checked_slowdown` (the largest of the two example kernels and softmax), and for each of `kernels` its `name`,
`findings` (of the unedited kernel, by rule and line), `slowdown` (null where it is not measured), and for `waits`,
`barriers` and `lds_writes` the numbers `dropped`, `found` and `redundant`, and `missed` (lines that should have been
found).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import parse_instruction
from asmevo.isa.wait import LGKM_MAX, VM_MAX, parse_wait
from asmevo.launch import Launch, MemoryImage, build_image
from asmevo.program import Program
from asmevo.program.asynchronous import Kind, operation
from asmevo.program.program import control_kind
from asmevo.program.waits import WaitAnalysis
from asmevo.sim import BlockCache, Checking, Executable, Execution, WaveOrder, execute, first_difference
from benchmarks.checked_subjects import Subject, subjects
from benchmarks.common import print_json

REPEATS = 5
READS = 1 << 18
"""Reads of LDS that are compared."""
GROUPS = ("waits", "barriers", "lds_writes")


@dataclass(frozen=True, slots=True)
class Fault:
    """A program that lacks something."""

    group: str
    line: int
    what: str
    program: Program


def faults(program: Program, executed: frozenset[int]) -> Iterator[Fault]:
    """Every counter of a wait, every barrier and every store to LDS that was executed, taken away one by one."""
    for line in program.lines:
        if line.id not in executed:
            continue
        kind, started = control_kind(line.instruction), operation(line.instruction)
        if kind == "waitcnt":
            wait = parse_wait(line.instruction)
            weaker = {"vmcnt": replace(wait, vm=VM_MAX), "lgkmcnt": replace(wait, lgkm=LGKM_MAX)}
            for counter, value in weaker.items():
                if value != wait:
                    yield _without(program, line.id, "waits", f"{line.instruction} {counter}", str(value))
        elif kind == "barrier":
            yield _without(program, line.id, "barriers", str(line.instruction))
        elif started is not None and started.kind is Kind.LDS_WRITE and not started.results:
            yield _without(program, line.id, "lds_writes", str(line.instruction))


def _without(program: Program, line: int, group: str, what: str, text: str = "s_nop 0") -> Fault:
    at = program.position[line]
    changed = replace(program.lines[at], instruction=parse_instruction(text), words=None)
    return Fault(group, line, what, program.with_lines((*program.lines[:at], changed, *program.lines[at + 1 :])))


class Examination:
    """Runs one kernel and its faults on one launch."""

    def __init__(self, program: Program, launch: Launch, cache: BlockCache) -> None:
        self.program, self.launch, self._cache = program, launch, cache
        self._image = build_image(launch, program.source, program.kernel)
        self._results = {order: self._run(program, order)[1] for order in WaveOrder}
        self.unedited, memory = self._run(program, checked=True)
        if self.unedited.status != "done" or not np.array_equal(memory, self._results[WaveOrder.ASCENDING]):
            raise SystemExit(f"{launch.name}: the unedited kernel does not run under checks: {self.unedited.fault}")
        self._own = {(f.rule, f.line, f.facts.get("earlier")) for f in self.unedited.findings}

    def _run(
        self, program: Program, order: WaveOrder = WaveOrder.ASCENDING, *, checked: bool = False
    ) -> tuple[Execution, NDArray[np.uint8]]:
        image: MemoryImage = self._image.copy()
        checking = replace(Checking.of(image), reads=READS) if checked else None
        executable = Executable.build(program, self._cache)
        done = execute(executable, self.launch, image, wave_order=order, checking=checking)
        return done, image.data[image.code_space :]

    def judge(self, fault: Fault, exposed: set[tuple[int, int]]) -> str:
        """`found`, `redundant` or `missed`; `exposed` are uses and operations that no wait protects any more."""
        if fault.line not in self.unedited.line_counts:
            return "redundant"
        done, _ = self._run(fault.program, checked=True)
        new = [f for f in done.findings if (f.rule, f.line, f.facts.get("earlier")) not in self._own]
        if exposed:
            return "found" if {(f.line, f.facts.get("earlier")) for f in new} & exposed else "missed"
        if new or done.status == "fault" or (fault.group == "lds_writes" and self._reads_differ(done, fault.program)):
            return "found"
        same = all(np.array_equal(self._run(fault.program, order)[1], was) for order, was in self._results.items())
        return "redundant" if same else "missed"

    def _reads_differ(self, done: Execution, program: Program) -> bool:
        """Whether a read of LDS gives something else than before."""
        assert done.lds_reads is not None and self.unedited.lds_reads is not None
        return first_difference(self.unedited.lds_reads, done.lds_reads, program) is not None


def unprotected(program: Program, executed: frozenset[int]) -> set[tuple[int, int]]:
    """(use, operation) of every use that no wait protects on some path through executed lines."""
    lines = list(program.lines)
    for block in program.blocks:
        if lines[block.first].id not in executed:
            lines[block.first] = replace(lines[block.first], instruction=parse_instruction("s_endpgm"), target=None)
    taken = program.with_lines(tuple(lines))
    return {(line, pending.line) for line, _, pending, _ in WaitAnalysis().run(taken).missing}


def slowdown(program: Program, launch: Launch, cache: BlockCache) -> float:
    """CPU time of a checked run against that of a fast one, each the best of several."""
    executable = Executable.build(program, cache)
    image = build_image(launch, program.source, program.kernel)

    def seconds(checking: Checking | None) -> float:
        runs = (execute(executable, launch, image.copy(), checking=checking).cpu_seconds for _ in range(REPEATS))
        return min(runs)

    return seconds(Checking.of(image)) / seconds(None)


def examine(subject: Subject, cache: BlockCache, most: int) -> dict[str, Any]:
    """All figures of one kernel."""
    program = subject.program
    examinations = [Examination(program, launch, cache) for launch in subject.launches]
    facts: dict[str, Any] = {
        "name": subject.name,
        "findings": sorted({f"{f.rule} {f.line}" for e in examinations for f in e.unedited.findings}),
        "slowdown": slowdown(program, subject.timing, cache) if subject.timing else None,
    }
    counts: dict[str, dict[str, Any]] = {
        group: {"dropped": 0, "found": 0, "redundant": 0, "missed": []} for group in GROUPS
    }
    executed = frozenset(line for e in examinations for line in e.unedited.line_counts)
    chosen = list(faults(program, executed))
    own = unprotected(program, executed)
    for fault in chosen[:: max(1, -(-len(chosen) // most)) if most else 1]:
        exposed = unprotected(fault.program, executed) - own if fault.group == "waits" else set[tuple[int, int]]()
        verdicts: set[str] = set()
        for examination in examinations:
            verdicts.add(examination.judge(fault, exposed))
            if "found" in verdicts:
                break
        verdict = next(v for v in ("found", "missed", "redundant") if v in verdicts)
        count = counts[fault.group]
        count["dropped"] += 1
        if verdict == "missed":
            count["missed"].append(f"{fault.line}: {fault.what}")
        else:
            count[verdict] += 1
        print(f"{subject.name} {fault.line} {fault.what}: {verdict}", file=sys.stderr, flush=True)
    return facts | counts


def text(facts: dict[str, Any]) -> str:
    """One kernel for a person."""
    price = f"{facts['slowdown']:.1f} times as long; " if facts["slowdown"] else ""
    out = [f"{facts['name']}: {price}{len(facts['findings'])} findings unedited"]
    for group in GROUPS:
        c = facts[group]
        out.append(
            f"  {group}: {c['dropped']} dropped, {c['found']} found, {c['redundant']} redundant, "
            f"{len(c['missed'])} missed {c['missed'] or ''}"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--kernel", default="", help="one kernel, as `clang scan`, or all of `triton` or `clang`")
    parser.add_argument("--most", type=int, default=0, help="most faults of one kernel; 0 for all")
    options = parser.parse_args()
    cache = BlockCache()
    kernels: list[dict[str, Any]] = []
    slowest = 0.0
    for subject in subjects(options.kernel):
        kernels.append(examine(subject, cache, options.most))
        slowest = max(slowest, kernels[-1]["slowdown"] or 0.0)
        print(text(kernels[-1]), flush=True)
    if options.json:
        print_json({"checked_slowdown": slowest, "kernels": kernels})


if __name__ == "__main__":
    main()
