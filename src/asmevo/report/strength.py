"""How much a gate and its launches catch, kind by kind."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.gate.strength import Score, Strength
from asmevo.report.table import table

_HEAD = ("kind of fault", "seeded", "killed", "equivalent", "survived", "kill rate", "of all")
SHOWN = 8
"""Survivors that text shows; JSON has all of them."""


def strength_text(found: Strength) -> str:
    """A table of kinds, the survivors, both rates, and which launch would help."""
    rows = [_row(score.kind.name, [score]) for score in found.scores if score.seeded]
    out = [table(_HEAD, [*rows, _row("all", found.scores)])]
    absent = [score.kind.name for score in found.scores if not score.seeded]
    if absent:
        out.append(f"No such place in this kernel: {', '.join(absent)}.")
    if found.cache_bits.seeded:
        out.append(
            f"Apart, since it can be legal on private data: {found.cache_bits.killed} of {found.cache_bits.seeded} "
            "changes of cache bits were refused."
        )
    survivors = [s for score in found.scores for s in score.survivors]
    for survivor in survivors[:SHOWN]:
        lines = "; ".join(f"`{text}`" for text in survivor.lines)
        edits = ", ".join(str(edit.to_json()) for edit in survivor.edits)
        out.append(f"survived as {survivor.verdict}: {survivor.kind} at {lines}: {edits}")
    if len(survivors) > SHOWN:
        out.append(f"and {len(survivors) - SHOWN} more; `--json` prints all")
    out += found.advice
    word = "These launches suffice" if found.is_enough else "These launches show too little"
    out.append(
        f"{word}: {_percent(found.rate)} of the faults that are not equivalent are refused, "
        f"{_percent(found.rate_of_all)} of all."
    )
    return "\n".join(out)


def _row(name: str, scores: Sequence[Score]) -> tuple[str, ...]:
    seeded, killed = sum(s.seeded for s in scores), sum(s.killed for s in scores)
    aside, survived = sum(s.set_aside.total() for s in scores), sum(len(s.survivors) for s in scores)
    rate = killed / (seeded - aside) if seeded > aside else 1.0
    numbers = (seeded, killed, aside, survived)
    return (name, *map(str, numbers), _percent(rate), _percent(killed / seeded if seeded else 1.0))


def _percent(rate: float) -> str:
    """Rounded down, so that 100 % means all."""
    return f"{int(rate * 10000) / 100:g} %"
