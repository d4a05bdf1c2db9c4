"""The static rules on every gfx942 object of two wheels, unedited: what they find, and whether it is explained.

    python -m benchmarks.static_corpus [--json] [--source NAME ...] [--limit N] [--stride N] [--list]

`amd-aiter` is hand-written assembly, `mojolearn-amd` is made by a compiler, where nothing is expected. A kernel whose
code was met before costs nothing. Explanations are `src/asmevo/gate/known_findings.toml`.

JSON: by source `objects`, `kernels`, `distinct` (kernels of other content), `undecided` (kernels that no rule speaks
of, by reason), `findings` (by rule), `explained` (by class), `unexplained`; and `seconds`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from multiprocessing import get_context
from pathlib import PurePosixPath
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.gate.alone import content_key, own_findings
from asmevo.gate.known import explanation
from asmevo.program import recover
from asmevo.program.recover import forget
from asmevo.report import table
from asmevo.verdict import AsmEvoError, Finding, UnsupportedError
from benchmarks.common import print_json
from benchmarks.corpus import SOURCES

WHEELS = ("amd-aiter", "mojolearn-amd")
TARGET = "gfx942"
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Kernel:
    """What came of one kernel."""

    source: str
    digest: bytes
    """Of its object."""
    key: bytes
    """Of its content; empty where that is not decided."""
    undecided: str
    findings: tuple[tuple[str, str], ...]
    """(rule, name of the class that explains it or nothing) of each."""
    examples: tuple[str, ...]
    """Sentences on those that nothing explains."""


def examine(task: tuple[str, str, bytes]) -> list[Kernel]:
    """All kernels of one object for the target."""
    source, name, data = task
    obj = CodeObject.parse(data, name)
    digest = sha256(data).digest()
    found = [_kernel(source, digest, PurePosixPath(name).name, obj, kernel.name) for kernel in obj.kernels]
    forget()
    return found


_seen: dict[bytes, list[Finding]] = {}
"""Findings by content, in each process."""


def _kernel(source: str, digest: bytes, name: str, obj: CodeObject, kernel: str) -> Kernel:
    try:
        program = recover(obj, kernel)
        key = content_key(program)
        if key not in _seen:
            _seen[key] = own_findings(program)
    except UnsupportedError as error:
        return Kernel(source, digest, b"", _reason(str(error)), (), ())
    classes = [(finding, explanation(name, finding)) for finding in _seen[key]]
    open_ = tuple(f"{name}: {finding.message}" for finding, known in classes if known is None)
    pairs = tuple((finding.rule, known.name if known else "") for finding, known in classes)
    return Kernel(source, digest, key, "", pairs, open_)


def _reason(message: str) -> str:
    """The sentence without the line that it is about."""
    return "computed jump or call" if "computed address" in message else message


def tasks(sources: Sequence[str], limit: int | None, stride: int) -> Iterator[tuple[str, str, bytes]]:
    """(source, name, bytes) of each object of every target."""
    for source in sources:
        for name, data in islice(SOURCES[source](), 0, None if limit is None else limit * stride, stride):
            yield source, name, data


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.static_corpus", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--source", action="append", choices=WHEELS, help="only these; default all")
    parser.add_argument("--limit", type=int, help="most objects of a source")
    parser.add_argument("--stride", type=int, default=1, help="only every so-manieth object")
    parser.add_argument("--list", action="store_true", help="print each finding that nothing explains")
    options = parser.parse_args(arguments)
    result = corpus_findings(options.source or WHEELS, options.limit, options.stride, listed=options.list)
    for source, facts in result["by_source"].items():
        print(f"{source}: {facts['objects']} objects, {facts['kernels']} kernels, {facts['distinct']} distinct")
        print(table(("rule or class", "findings"), [(k, str(n)) for k, n in _rows(facts)]))
    print(f"{result['seconds']} seconds")
    if options.json:
        print_json(result)
    return 0 if not any(facts["unexplained"] for facts in result["by_source"].values()) else 1


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, int]]:
    yield from facts["findings"].items()
    yield from ((f"  explained: {name}", count) for name, count in facts["explained"].items())
    yield from ((f"undecided: {reason}", count) for reason, count in facts["undecided"].items())
    yield "unexplained", facts["unexplained"]


def corpus_findings(
    sources: Sequence[str] = WHEELS, limit: int | None = None, stride: int = 1, *, listed: bool = False
) -> dict[str, Any]:
    """The JSON object."""
    start = time.perf_counter()
    objects = Counter[tuple[str, bytes]]()
    results: list[Kernel] = []
    with get_context("fork").Pool(PROCESSES, gc.disable) as pool:  # programs hold no cycles
        queue = _unequal(tasks(sources, limit, stride), objects)
        for number, kernels in enumerate(pool.imap_unordered(examine, queue, chunksize=4), 1):
            results += kernels
            for kernel in kernels if listed else ():
                print("\n".join(kernel.examples), end="\n" * bool(kernel.examples), flush=True)
            if number % 500 == 0:
                print(f"{number} objects, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    by_source = {source: summarized(source, objects, results) for source in sources}
    return {"by_source": by_source, "seconds": round(time.perf_counter() - start, 1)}


def _unequal(
    queue: Iterator[tuple[str, str, bytes]], objects: Counter[tuple[str, bytes]]
) -> Iterator[tuple[str, str, bytes]]:
    """Objects for the target that no earlier one of the source is equal to; `objects` counts all of them."""
    for source, name, data in queue:
        if CodeObject.parse(data, name).target != TARGET:
            continue
        key = (source, sha256(data).digest())
        objects[key] += 1
        if objects[key] == 1:
            yield source, name, data


def summarized(source: str, objects: Counter[tuple[str, bytes]], results: Sequence[Kernel]) -> dict[str, Any]:
    """What the kernels of one source gave, those of equal objects counted each time."""
    findings, explained, undecided = Counter[str](), Counter[str](), Counter[str]()
    kernels, contents = 0, set[bytes]()
    for kernel in results:
        if kernel.source != source:
            continue
        times = objects[source, kernel.digest]
        kernels += times
        contents.add(kernel.key)
        for rule, known in kernel.findings:
            findings[rule] += times
            explained[known] += times
        if kernel.undecided:
            undecided[kernel.undecided] += times
    unexplained = explained.pop("", 0)
    return {
        "objects": sum(count for (of, _), count in objects.items() if of == source),
        "kernels": kernels,
        "distinct": len(contents - {b""}),
        "undecided": dict(undecided),
        "findings": dict(sorted(findings.items())),
        "explained": dict(sorted(explained.items())),
        "unexplained": unexplained,
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
