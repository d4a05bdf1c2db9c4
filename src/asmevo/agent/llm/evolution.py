"""The next variant of the advice: written by a model that is told what paid, or crossed from the two best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from asmevo.agent.llm.message import Request, Said
from asmevo.agent.llm.variants import MOST, Population, Score, Variant, crossed, mean_gain
from asmevo.agent.prompts import prompt
from asmevo.agent.text import clean
from asmevo.search import stream
from asmevo.store import Attempt

PARENTS = 3
"""Variants that a model is shown, the best ones."""
TRIES = 4
"""Crossings that are made until one is new."""

Ask = Callable[[Callable[[str], Request]], str]
"""Given what to ask of a model of some name: the text of the reply, empty when there is none."""


def evolve(
    population: Population, scores: Sequence[Score], talks: int, attempts: Sequence[Attempt], ask: Ask, seed: int
) -> Variant | None:
    """Add a variant to the population; None when nothing new came out. `talks` is how many conversations there were."""
    ranked = population.ranked(scores)
    parents = ranked[:PARENTS]

    def request(model: str) -> Request:
        shown = "\n\n".join(f"Score {1000 * mean_gain(v.id, scores):.2f}:\n{v.text}" for v in parents)
        text = prompt("meta").fill(variants=shown, outcomes=outcomes(attempts), most=MOST)
        return Request(model, (Said("user", text),))

    if written := population.add(ask(request), parents, "model", talks):
        return written
    for turn in range(TRIES):
        text = crossed(ranked[0], ranked[1], stream(seed, "cross", talks, turn))
        if made := population.add(text, ranked[:2], "crossed", talks):
            return made
    return None


def outcomes(attempts: Sequence[Attempt]) -> str:
    """How many attempts ended how, and the commonest reasons of refusals."""
    verdicts = Counter(a.verdict.value for a in attempts if a.parent is not None)
    rules = Counter(
        str(f["rule"]) for a in attempts for c in a.checks for f in c["findings"] if f["severity"] == "error"
    )
    lines = [", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) or "None yet."]
    if rules:
        lines.append("refused for: " + ", ".join(f"{rule} ({count})" for rule, count in rules.most_common(6)))
    return clean("\n".join(lines))
