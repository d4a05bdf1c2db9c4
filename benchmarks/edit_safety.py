"""Random insertions and deletions in code objects of every kind, each rebuilt and checked by independent means.

    python -m benchmarks.edit_safety [--json] [--source NAME ...] [--objects N] [--edits N] [--seed N]

Each object gets ten edits on top of one another, and is rebuilt after each. What was refused by a named error is
counted and left out. Every file that came of it, of large ones only the last, is parsed again, checked by
`check_rebuild`, and compared with K0 and with a model of the edits by `benchmarks.independent`, which knows objects
only through llvm-objdump and pyelftools. An object that llvm-objdump does not read whole leaves nothing to compare
with; it is left out and counted as unread.

Then the time to recover AMD's kernel with the most instructions, and to emit it again after an edit of one line; the
encodings of K0 are known by then, the edited text is new to the assembler. Both are medians.

JSON: `edits` (tried), `wrong` (objects in which anything differs), `refused` (edits by the name of the error),
`recover_30k_s` and `reemit_30k_ms`. The table above it has, by source, the objects, the files that were rebuilt, and
how many of them were checked.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Insert
from asmevo.isa import Toolchain
from asmevo.program import Program, check_rebuild, rebuild, recover
from asmevo.program.recover import forget
from asmevo.report import table
from asmevo.verdict import AsmEvoError
from benchmarks.common import print_json
from benchmarks.corpus import SOURCES
from benchmarks.independent import File, Model, problems
from benchmarks.wheels import AITER, fetch_wheel

PROCESSES = 2
OBJECTS = {"amd-aiter": 190, "mojolearn-amd": 90, "bitsandbytes": 20, "triton": 20, "clang": 60}
"""Most objects of each source."""
LARGEST = 1 << 20
"""Bytes of an object; a few have hundreds of kernels."""
EACH = 64 << 10
"""Bytes up to which every rebuilt file is checked; of those that are larger, the last one of an object."""
TEXTS = (
    "s_nop 3",
    "s_mov_b32 s7, 0x1234567",
    "s_mov_b64 s[8:9], 0",
    "v_mov_b32_e32 v1, 0x12345678",
    "v_lshl_add_u32 v3, v2, 4, v1",
)
"""Instructions that every target has and llvm-objdump prints as they are written here."""
RUNS = (1,) * 60 + (2, 3, 5, 8) * 6 + (1100,) * 13 + (33000,) * 3
"""Lengths of insertions: now and then a page, now and then more than a branch reaches."""
GETPC = (0xBE801C00, 0xBE804700)
"""Instructions that give the program counter, on gfx9 and gfx1250, without their register."""
KERNEL_30K = "aiter_meta/hsa/gfx942/pa/pa_bf16_pertokenInt8_gqa16_1tg_4w_mtp_msk1.co"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one object."""

    source: str
    name: str
    edits: int
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """Edits by the name of the error that refused them."""
    messages: tuple[str, ...] = ()
    """One message for each name."""
    files: int = 0
    """Rebuilt files, one for each edit that was not refused."""
    checked: int = 0
    """How many of them were checked."""
    unread: bool = False
    """Whether llvm-objdump does not read all of the object; then nothing is edited."""
    problems: tuple[str, ...] = ()


def examine(task: Task) -> Result:
    """One object with its edits, up to the first file in which anything differs."""
    source, name, data, count, seed = task
    rng = random.Random(f"{seed} {source} {name}")
    try:
        obj = CodeObject.parse(data, name)
        program = recover(obj, rng.choice(obj.kernels).name)
    except AsmEvoError as problem:
        return Result(source, name, count, {type(problem).__name__: count}, (str(problem),))
    original = File(data, _objdump())
    if len(original.instructions) != len(program.lines):
        return Result(source, name, 0, unread=True)
    model = Model(len(program.lines))
    refused, messages = Counter[str](), dict[str, str]()
    files = checked = 0
    pending: bytes | None = None
    """The newest file, as long as it is not checked."""
    found: list[str] = []
    for _ in range(count):
        at, edit = _random_edit(model, rng)
        try:
            candidate, _ = edit.apply(program)
            pending = rebuild(candidate)
        except AsmEvoError as problem:
            refused[type(problem).__name__] += 1
            messages.setdefault(type(problem).__name__, str(problem))
            continue
        program, files = candidate, files + 1
        if isinstance(edit, Insert):
            model.insert(at, edit.texts)
        else:
            model.delete(at)
        if len(pending) <= EACH:
            found, checked, pending = [*_found(program, original, pending, model)], checked + 1, None
            if found:
                break
    if pending is not None:
        found, checked = [*_found(program, original, pending, model)], checked + 1
    forget()
    return Result(source, name, count, dict(refused), tuple(messages.values()), files, checked, problems=tuple(found))


def _objdump() -> Path:
    return Toolchain.find().bin / "llvm-objdump"


def _random_edit(model: Model, rng: random.Random) -> tuple[int, Edit]:
    """(line of K0, edit): an insertion in front of it, or its deletion."""
    at = rng.choice(model.kept())
    if rng.random() < 0.5:
        return at, Delete((at,))
    texts = [rng.choice(TEXTS) for _ in range(rng.choice(RUNS))]
    return at, Insert(at, tuple(texts))


def _found(program: Program, original: File, after: bytes, model: Model) -> Iterator[str]:
    check = check_rebuild(program, after)
    if not check.verdict.admitted:
        yield f"check_rebuild: {check.findings[0].message}"
    yield from problems(original, File(after, _objdump()), model)


def chosen(source: str, count: int, seed: int) -> list[tuple[str, bytes]]:
    """A sample of a source; half of it objects that compute code addresses, as far as there are any."""
    found = [(name, data) for name, data in SOURCES[source]() if len(data) <= LARGEST]
    rng = random.Random(f"{seed} {source}")
    rng.shuffle(found)
    found.sort(key=lambda item: item[0].endswith(".hsaco"), reverse=True)
    distinct = list({data: (name, data) for name, data in found}.values())
    computing = [item for item in distinct if _computes(item[1])]
    plain = [item for item in distinct if not _computes(item[1])]
    triton = [item for item in plain if item[0].endswith(".hsaco")][: count // 8]
    rest = [item for item in plain if item not in triton]
    return (computing[: count // 2] + triton + rest + computing[count // 2 :])[:count]


def _computes(data: bytes) -> bool:
    """Whether a dword looks like one that gives the program counter."""
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
    return bool(np.isin(words & 0xFF80FFFF, GETPC).any())


def timed(action: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def speed(repeats: int = 7) -> dict[str, Any]:
    """Median times on AMD's largest kernel, its encodings known."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        data = archive.read(KERNEL_30K)
    program = recover(CodeObject.parse(data))

    def recovered() -> None:
        forget()
        recover(CodeObject.parse(data))

    recovering = [timed(recovered) for _ in range(repeats)]
    middle = program.lines[len(program.lines) // 2].id
    edits = [Insert(middle + i, f"s_mov_b32 s{i + 1}, 0x{seed:x}") for i, seed in enumerate(_fresh(repeats))]
    emitting = [timed(lambda e=edit: rebuild(e.apply(program)[0])) for edit in edits]
    return {
        "instructions_30k": len(program.lines),
        "recover_30k_s": round(statistics.median(recovering), 3),
        "reemit_30k_ms": round(statistics.median(emitting) * 1000, 1),
    }


def _fresh(count: int) -> list[int]:
    """Literals that no text before had."""
    return [0x5EED0000 + i for i in range(count)]


KEYS = ("edits", "wrong", "refused", "recover_30k_s", "reemit_30k_ms")
"""What the JSON object has."""
COLUMNS = ("source", "objects", "edits", "files", "checked", "wrong", "unread")
Task: TypeAlias = tuple[str, str, bytes, int, int]
"""Source, name, bytes, number of edits, seed."""


def tasks(sources: Sequence[str], most: int | None, count: int, seed: int) -> Iterator[Task]:
    for source in sources:
        for name, data in chosen(source, OBJECTS[source] if most is None else most, seed):
            yield source, name, data, count, seed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.edit_safety", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--source", action="append", choices=SOURCES, help="only these; default all")
    parser.add_argument("--objects", type=int, help="most objects of a source")
    parser.add_argument("--edits", type=int, default=10, help="edits of each object")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    times = speed()
    results: list[Result] = []
    work = tasks(options.source or list(SOURCES), options.objects, options.edits, options.seed)
    with get_context("fork").Pool(PROCESSES, gc.disable, maxtasksperchild=100) as pool:
        for result in pool.imap_unordered(examine, work):
            results.append(result)
            if len(results) % 50 == 0:
                print(f"{len(results)} objects", file=sys.stderr, flush=True)
            for problem in result.problems[:3]:
                print(f"WRONG {result.source} {result.name}: {problem}", flush=True)
    summary = summarized(results) | times
    print(table((*COLUMNS, "refused"), list(rows(summary["by_source"]))))
    for message in sorted({m for r in results for m in r.messages}, key=len)[:8]:
        print(f"refused: {message}")
    print(
        f"{times['instructions_30k']} instructions: recovered in {times['recover_30k_s']} s, emitted after an edit of "
        f"one line in {times['reemit_30k_ms']} ms"
    )
    if options.json:
        print_json({key: summary[key] for key in KEYS})
    return 0 if summary["checked"] and not summary["wrong"] else 1


def summarized(results: Sequence[Result]) -> dict[str, Any]:
    """The counts, in all and by source."""
    by_source = {
        source: _counts([r for r in results if r.source == source]) for source in {r.source: 0 for r in results}
    }
    return _counts(results) | {"by_source": by_source}


def _counts(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "objects": sum(not r.unread for r in results),
        "edits": sum(r.edits for r in results),
        "files": sum(r.files for r in results),
        "checked": sum(r.checked for r in results),
        "wrong": sum(bool(r.problems) for r in results),
        "unread": sum(r.unread for r in results),
        "refused": dict(sum((Counter(r.refused) for r in results), Counter[str]())),
    }


def rows(by_source: dict[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The result for a person."""
    for name, facts in by_source.items():
        refused = ", ".join(f"{n} {error}" for error, n in facts["refused"].items())
        yield name, *(str(facts[key]) for key in COLUMNS[1:]), refused


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
