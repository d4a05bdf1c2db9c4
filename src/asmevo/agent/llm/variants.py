"""Variants of the advice in the instructions: scored by the gains of their conversations, and evolved within a run."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from asmevo.agent.prompts import prompts
from asmevo.agent.text import clean
from asmevo.store import write_atomic
from asmevo.verdict import InputError

BASE = "advice_"
"""Prefix of the files with the variants that every run begins with."""
MOST = 1200
"""Most characters of a variant."""
LIVING = 6
"""Variants that are chosen from: the best ones and those not tried yet."""
CURIOUS = 0.25
"""Probability of a choice that does not look at scores."""
_FILE = "variants.json"


@dataclass(frozen=True, slots=True)
class Variant:
    """One text of advice."""

    id: str
    """The file it came from, or the beginning of the hash of the text."""
    text: str
    parents: tuple[str, ...] = ()
    how: str = "file"
    """`file`, `model` (written by one) or `crossed` (lines of two)."""
    born: int = 0
    """Conversations there had been."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one conversation made of a variant."""

    variant: str
    gain: float
    """Share of the best time that its commits took away."""


@dataclass
class Population:
    """The variants of one run and their scores, kept in its folder."""

    folder: Path
    made: list[Variant] = field(default_factory=list[Variant])
    """Those that this run made, oldest first."""

    @classmethod
    def of(cls, folder: Path) -> Population:
        """The population of a run; a new run has only the base. Raises `InputError` for a damaged file."""
        path = folder / _FILE
        if not path.is_file():
            return cls(folder)
        try:
            values: list[dict[str, Any]] = json.loads(path.read_text())
            made = [Variant(v["id"], v["text"], tuple(v["parents"]), v["how"], v["born"]) for v in values]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path} is damaged ({error}); remove it to begin with the base variants.") from error
        return cls(folder, made)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All variants: those of the files, then those made."""
        base = (Variant(name, p.text.strip()) for name, p in prompts().items() if name.startswith(BASE))
        return (*base, *self.made)

    def choose(self, scores: Sequence[Score], rng: random.Random) -> Variant:
        """The variant of the next conversation: one not tried yet, else mostly the best, sometimes any living one."""
        untried = [v for v in self.variants if all(s.variant != v.id for s in scores)]
        if untried:
            return rng.choice(untried)
        ranked = self.ranked(scores)[:LIVING]
        return rng.choice(ranked) if rng.random() < CURIOUS else ranked[0]

    def ranked(self, scores: Sequence[Score]) -> list[Variant]:
        """By mean gain, the best first; younger ones first among equals."""
        return sorted(self.variants, key=lambda v: (-mean_gain(v.id, scores), -v.born, v.id))

    def add(self, text: str, parents: Sequence[Variant], how: str, born: int) -> Variant | None:
        """Keep a new variant; None when the text is no advice or is not new. Written before it is used."""
        text = advice_of(text)
        if not text or any(v.text == text for v in self.variants):
            return None
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        variant = Variant(name, text, tuple(p.id for p in parents), how, born)
        self.made.append(variant)
        data = json.dumps([asdict(v) for v in self.made], indent=1, ensure_ascii=False)
        write_atomic(self.folder / _FILE, data.encode())
        return variant


def mean_gain(variant: str, scores: Sequence[Score]) -> float:
    """Mean gain of the conversations that used it; 0 for none."""
    gains = [s.gain for s in scores if s.variant == variant]
    return sum(gains) / len(gains) if gains else 0.0


def advice_of(text: str) -> str:
    """The lines of a text that are advice, as far as they fit; empty when there are fewer than two."""
    lines: list[str] = []
    for line in clean(text).splitlines():
        line = " ".join(line.split())
        if line.startswith("* ") and line not in lines and sum(map(len, lines)) + len(line) + len(lines) <= MOST:
            lines.append(line)
    return "\n".join(lines) if len(lines) > 1 else ""


def crossed(one: Variant, other: Variant, rng: random.Random) -> str:
    """Lines of two variants, half of each at least; what is written when no model writes anything better."""
    a, b = (_bullets(v.text) for v in (one, other))
    kept = rng.sample(a, -(-len(a) // 2)) + rng.sample(b, -(-len(b) // 2))
    return "\n".join(line for line in (*a, *b) if line in kept)


def _bullets(text: str) -> list[str]:
    """The points of a text, each on one line."""
    points: list[str] = []
    for line in text.splitlines():
        if line.startswith("* "):
            points.append(line)
        elif points:
            points[-1] += " " + line.strip()
    return points
