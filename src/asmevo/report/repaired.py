"""What a repair of races found, where it put barriers, and what the object was shown to do."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from asmevo.repair import Repair
from asmevo.report.checks import checks_text


def repair_facts(found: Repair, microseconds: tuple[float, float] | None, output: str | None) -> dict[str, Any]:
    """Pairs of lines that race, what was inserted and why all waves pass it, the checks, and both modelled times."""
    return {
        "kernel": found.kernel,
        "k0_sha256": found.k0.sha256,
        "races": [
            {"lines": list(pair), "instructions": [found.texts[line] for line in pair], "launches": list(names)}
            for pair, names in found.races.items()
        ],
        "insertions": [
            {
                "before": place.before,
                "instructions": list(place.texts),
                "passed_by_all_waves": ("on every path" if place.everywhere else "on these launches")
                if place.barrier
                else None,
                "behind_barrier": place.follows,
            }
            for place in found.places
        ],
        "edits": [edit.to_json() for edit in found.edits],
        "verdict": found.verdict.value if found.data is not None else None,
        "checks": [check.to_json() for check in found.checks],
        "times": "modelled",
        "k0_us": microseconds and microseconds[0],
        "repaired_us": microseconds and microseconds[1],
        "sha256": None if found.data is None else hashlib.sha256(found.data).hexdigest(),
        "output": output,
    }


def repair_text(found: Repair, facts: Mapping[str, Any]) -> str:
    """The facts for a person to read."""
    if not found.races:
        return "no race through LDS was found on these launches; nothing was written"
    lines = [f"{len(found.races)} pairs of lines race through LDS, with no barrier between them:"]
    lines += [f"  {text}" for text in _pairs(found)]
    for place, told in zip(found.places, facts["insertions"], strict=True):
        why = (
            f", passed equally often by all waves of a workgroup {told['passed_by_all_waves']}" if place.barrier else ""
        )
        once = f", once behind each pass of the barrier in line {place.follows}" if place.follows is not None else ""
        lines.append(f"inserted in front of line {place.before}: {_inserted(place.texts)}{why}{once}")
    lines.append(checks_text(found.checks))
    for check in found.checks:
        if check.name == "refines":
            lines += [_equal(launch, same) for launch, same in check.facts["equal"].items()]
    if facts["k0_us"] is not None:
        before, after = facts["k0_us"], facts["repaired_us"]
        lines.append(f"modelled: K0 {before:.2f} us, repaired {after:.2f} us ({100 * (after / before - 1):+.2f} %)")
    written = f"written to {facts['output']} (sha256 {facts['sha256']})" if facts["output"] else "nothing was written"
    return "\n".join([*lines, f"{facts['verdict']}: {written}"])


def _equal(launch: str, same: Mapping[str, bool]) -> str:
    alike = [name for name, one in same.items() if one]
    other = [name for name, one in same.items() if not one]
    told = f"{launch}: the bytes of K0 when waves run {_words(alike) or 'in none of the orders tried'}"
    return told + (f"; other bytes than K0 when they run {_words(other)}" if other else "")


def _words(orders: Iterable[str]) -> str:
    return ", ".join(f"in {name}" if name.startswith("turns") else name for name in orders)


def _inserted(texts: Sequence[str]) -> str:
    """Instructions, equal ones counted."""
    return "; ".join(text if n == 1 else f"{n} times {text}" for text, n in Counter(texts).items())


def _pairs(found: Repair) -> list[str]:
    """One line for each access that races with most others, with all of these."""
    count = Counter(line for pair in found.races for line in set(pair))
    partners: dict[int, set[int]] = {}
    for a, b in found.races:
        key, other = (a, b) if count[a] > count[b] else (b, a)
        partners.setdefault(key, set()).add(other)
    return [
        f"line {line}, `{found.texts[line]}`, with {_ranges(found, sorted(others))}"
        for line, others in sorted(partners.items())
    ]


def _ranges(found: Repair, lines: Sequence[int]) -> str:
    """Lines one behind the other as a range, with the opcode of the first."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return ", ".join(
        f"{run[0]}{f' to {run[-1]}' if len(run) > 1 else ''} `{found.texts[run[0]].split()[0]}`" for run in runs
    )
