"""Recovers and rebuilds, without an edit, every code object at hand; the whole file must come out byte for byte.

    python -m benchmarks.roundtrip [--json] [--source NAME ...] [--limit N]

Every instruction is decoded to a line, and every line emitted from its words with its branch encoded to reach its
target. Two processes share the files; each learns encodings as it meets them, and nothing is kept of an object.

JSON: `files`, `identical`, `files_per_s` (wall time of both processes; reading the wheels and learning encodings count,
compiling the generated files does not), and `by_source` with `files`, `identical`, `instructions`, `data` (words that
are no instruction) and `targets` (files of each target).
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.program import rebuild, recover
from asmevo.program.recover import forget
from asmevo.report import table
from asmevo.verdict import AsmEvoError
from benchmarks.common import print_json
from benchmarks.corpus import MADE_HERE, SOURCES

PROCESSES = 2
KEYS = ("files", "identical", "files_per_s", "by_source")
"""What the JSON object has."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one file."""

    source: str
    name: str
    target: str
    instructions: int
    data: int
    error: str
    """Empty when the file came out identical."""
    cpu_seconds: float


def round_trip(task: tuple[str, str, bytes]) -> Result:
    """Recover and rebuild one object."""
    source, name, data = task
    start = time.process_time()
    target, count, unread = "", 0, 0
    try:
        obj = CodeObject.parse(data, name)
        target = obj.target
        program = recover(obj, obj.kernels[0].name)
        count = len(program.lines)
        unread = sum(line.instruction.mnemonic == ".long" for line in program.lines)
        error = "" if rebuild(program) == data else "other bytes"
    except AsmEvoError as problem:
        error = str(problem)
    forget()
    return Result(source, name, target, count, unread, error, time.process_time() - start)


def tasks(
    sources: Sequence[str], limit: int | None, made: Mapping[str, Sequence[tuple[str, bytes]]]
) -> Iterator[tuple[str, str, bytes]]:
    """(source, name, bytes) of every file."""
    for source in sources:
        for name, data in made[source] if source in made else islice(SOURCES[source](), limit):
            yield source, name, data


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.roundtrip", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--source", action="append", choices=SOURCES, help="only these; default all")
    parser.add_argument("--limit", type=int, help="most files of a source")
    options = parser.parse_args(arguments)
    sources = options.source or list(SOURCES)
    made = {s: list(islice(SOURCES[s](), options.limit)) for s in sources if s in MADE_HERE}
    start = time.perf_counter()
    results: list[Result] = []
    with get_context("fork").Pool(PROCESSES, gc.disable) as pool:  # programs hold no cycles
        for result in pool.imap_unordered(round_trip, tasks(sources, options.limit, made), chunksize=4):
            results.append(result)
            if result.error:
                print(f"{result.name}: {result.error}", flush=True)
            if len(results) % 500 == 0:
                print(f"{len(results)} files, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - start
    summary = summarized(results, seconds)
    headings = ("source", "files", "identical", "instructions", "data", "targets")
    print(table(headings, [row(name, facts) for name, facts in summary["by_source"].items()]))
    print(
        f"{summary['identical']} of {summary['files']} files identical; {summary['files_per_s']} files per second, "
        f"{summary['cpu_seconds']} CPU-seconds"
    )
    if options.json:
        print_json({key: summary[key] for key in KEYS})
    return 0 if summary["identical"] == summary["files"] else 1


def summarized(results: Sequence[Result], seconds: float) -> dict[str, Any]:
    """The JSON object."""
    by_source: dict[str, dict[str, Any]] = {}
    for r in results:
        facts = by_source.setdefault(
            r.source, {"files": 0, "identical": 0, "instructions": 0, "data": 0, "targets": {}}
        )
        facts["files"] += 1
        facts["identical"] += not r.error
        facts["instructions"] += r.instructions
        facts["data"] += r.data
        facts["targets"][r.target] = facts["targets"].get(r.target, 0) + 1
    return {
        "files": len(results),
        "identical": sum(not r.error for r in results),
        "files_per_s": round(len(results) / seconds, 1),
        "cpu_seconds": round(sum(r.cpu_seconds for r in results), 1),
        "by_source": by_source,
    }


def row(name: str, facts: dict[str, Any]) -> tuple[str, ...]:
    targets = ", ".join(f"{target} {n}" for target, n in sorted(facts["targets"].items()))
    return (name, *(str(facts[key]) for key in ("files", "identical", "instructions", "data")), targets)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
