"""How much the gate catches: seeded faults and legal edits on kernels of all kinds, static rules on two wheels, times.

    python -m benchmarks.gate [--json] [--kernels N] [--faults N] [--legal N] [--no-corpus] [--out FILE]

Each kernel gets at most `--faults` faults and `--legal` legal edits of each kind, evenly spread over its code. `--out`
keeps what came of each kernel, a line of JSON each; those that it has are not examined again.

JSON: `kernels`, `faults`, `set_aside` (equivalent by a rule of `asmevo.gate.strength.equivalent`), `killed`,
`survivors`, `legal_edits`, `false_refusals`, `full_gate_s` (wall time of the whole gate for one candidate of the demo's
GEMM with all its launches, the baseline at hand), `static_ms` (of the static stage there), `corpus_findings`; and
`rate`, `rate_of_all`, `cache_bits`, `unjudged` (kernels that the gate has no verdict on at
all, K0 itself among them: no launch can judge, or `s_setvskip`), `refusals`, `by_kind`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from asmevo.device import IsolatedDevice
from asmevo.edit import apply_all
from asmevo.gate import Gate
from asmevo.gate.static import StaticBaseline
from asmevo.gate.strength import LEGAL, examined, legal_edits, seeded_code, strength
from asmevo.launch import load_launches
from asmevo.report import table
from asmevo.search import kernel_of
from asmevo.verdict import AsmEvoError, UnsupportedError
from benchmarks.common import print_json
from benchmarks.gate_kernels import Subject, subjects
from benchmarks.objects import FP8_GEMM_FOLDER
from benchmarks.static_corpus import corpus_findings

FAULTS_OF_A_KIND, LEGAL_OF_A_KIND = 12, 10
TIMED = 12
"""Candidates whose examination is timed."""


def examine(subject: Subject, faults: int, legal: int) -> dict[str, Any]:
    """What came of one kernel."""
    result: dict[str, Any] = {"kernel": subject.name, "made_by": subject.made_by}
    with IsolatedDevice() as device:
        gate = Gate(subject.data, subject.launches, device, kernel=kernel_of(subject.launches))
        itself = gate.examine(subject.data, edits=())
        if (refused := itself.refused_by) is not None:
            return result | {"unjudged": refused.findings[0].message}
        try:
            found = strength(gate, faults, _quiet)
        except UnsupportedError as error:
            return result | {"unjudged": str(error)}
        outcomes = list(legal_edits(gate, legal))
    refusals = [f"{f.kind}: {[e.to_json() for e in f.edits]}: {f.stage}: {f.message}" for f in outcomes if f]
    return result | {"strength": found.to_json(), "legal_edits": len(outcomes), "refusals": refusals}


def _quiet(_: str) -> None:
    return None


def all_results(chosen: Iterator[Subject], faults: int, legal: int, out: Path | None) -> Iterator[dict[str, Any]]:
    """The result of each kernel, from the file where it has it."""
    known: dict[str, dict[str, Any]] = {}
    if out is not None and out.exists():
        known = {r["kernel"]: r for r in map(json.loads, out.read_text().splitlines())}
    for subject in chosen:
        start = time.perf_counter()
        result = known.get(subject.name) or examine(subject, faults, legal)
        if out is not None and subject.name not in known:
            with out.open("a") as file:
                file.write(json.dumps(result) + "\n")
        print(f"{subject.name}: {_told(result)}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        yield result


def _told(result: dict[str, Any]) -> str:
    if "unjudged" in result:
        return f"not judged ({result['unjudged']})"
    found = result["strength"]
    return (
        f"{found['killed']} of {found['seeded']} faults refused, {found['set_aside']} equivalent, "
        f"{len(result['refusals'])} of {result['legal_edits']} legal edits refused"
    )


def times() -> dict[str, float]:
    """Seconds of the whole gate and milliseconds of its static stage for one candidate of the demo's GEMM."""
    (path,) = FP8_GEMM_FOLDER.glob("*.hsaco")
    with IsolatedDevice() as device:
        gate = Gate(path.read_bytes(), load_launches(FP8_GEMM_FOLDER / "launches"), device)
        code = seeded_code(gate)
        (swap,) = [kind for kind in LEGAL if kind.name == "independent swap"]
        candidates = swap.sample(code, TIMED)
        static = StaticBaseline(gate.program)
        static.check(gate.program)
        whole: list[float] = []
        part: list[float] = []
        for edits in candidates:
            program = apply_all(gate.program, edits)
            start = time.perf_counter()
            static.check(program)
            part.append(time.perf_counter() - start)
            start = time.perf_counter()
            report = examined(gate, edits)
            whole.append(time.perf_counter() - start)
            assert report is not None and report.verdict.admitted, "a legal edit is admitted"
    return {
        "full_gate_s": round(statistics.median(whole), 3),
        "static_ms": round(1000 * statistics.median(part), 1),
    }


def summarized(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sums over all kernels."""
    judged = [r for r in results if "strength" in r]
    by_kind: dict[str, dict[str, int]] = {}
    survivors: list[dict[str, Any]] = []
    for r in judged:
        for name, kind in r["strength"]["kinds"].items():
            sums = by_kind.setdefault(name, {"seeded": 0, "killed": 0, "set_aside": 0})
            sums["seeded"] += kind["seeded"]
            sums["killed"] += kind["killed"]
            sums["set_aside"] += sum(kind["set_aside"].values())
            survivors += [{"kernel": r["kernel"], **survivor} for survivor in kind["survivors"]]
    faults, killed, aside = (sum(k[key] for k in by_kind.values()) for key in ("seeded", "killed", "set_aside"))
    bits = [r["strength"]["cache_bits"] for r in judged]
    return {
        "kernels": len(judged),
        "faults": faults,
        "set_aside": aside,
        "killed": killed,
        "survivors": survivors,
        "legal_edits": sum(r["legal_edits"] for r in judged),
        "false_refusals": sum(len(r["refusals"]) for r in judged),
        "rate": killed / (faults - aside) if faults > aside else None,
        "rate_of_all": killed / faults if faults else None,
        "cache_bits": {key: sum(b[key] for b in bits) for key in ("seeded", "killed")},
        "unjudged": [r["kernel"] for r in results if "unjudged" in r],
        "refusals": [f"{r['kernel']}: {text}" for r in judged for text in r["refusals"]],
        "by_kind": by_kind,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.gate", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--kernels", type=int, help="most kernels; default all")
    parser.add_argument("--faults", type=int, default=FAULTS_OF_A_KIND, help="most faults of a kind in a kernel")
    parser.add_argument("--legal", type=int, default=LEGAL_OF_A_KIND, help="most legal edits of a kind in a kernel")
    parser.add_argument("--no-corpus", action="store_true", help="leave out the static rules on the wheels")
    parser.add_argument("--out", type=Path, help="file that keeps the result of each kernel")
    options = parser.parse_args(arguments)
    chosen = islice(subjects(), options.kernels)
    result = summarized(list(all_results(chosen, options.faults, options.legal, options.out)))
    result |= times() | {"corpus_findings": None if options.no_corpus else corpus_findings()}
    rows = [(name, *map(str, sums.values())) for name, sums in result["by_kind"].items() if sums["seeded"]]
    print(table(("kind of fault", "seeded", "killed", "equivalent"), rows))
    for survivor in result["survivors"]:
        print(f"survived in {survivor['kernel']}: {survivor['kind']}: {survivor['edits']}")
    print("\n".join(f"legal edit refused: {text}" for text in result["refusals"]))
    print(
        f"{result['killed']} of {result['faults']} faults in {result['kernels']} kernels refused, "
        f"{result['set_aside']} equivalent; {result['false_refusals']} of {result['legal_edits']} legal edits refused; "
        f"{result['full_gate_s']} s a candidate, {result['static_ms']} ms of them static"
    )
    if options.json:
        print_json(result)
    return 0 if not result["survivors"] and not result["false_refusals"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
