"""All strategies by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from asmevo.strategies.align import Align
from asmevo.strategies.combine import Combine
from asmevo.strategies.fold import Fold
from asmevo.strategies.hoist import Hoist
from asmevo.strategies.inexact import Inexact
from asmevo.strategies.nudge import Nudge
from asmevo.strategies.offsets import Offsets
from asmevo.strategies.pack import Pack
from asmevo.strategies.pipeline import Pipeline
from asmevo.strategies.priority import Priority
from asmevo.strategies.proposal import Strategy
from asmevo.strategies.rename import Rename
from asmevo.strategies.reschedule import Reschedule
from asmevo.strategies.simplify import Simplify
from asmevo.strategies.waits import Waits
from asmevo.verdict import UsageError

_ALL: tuple[Strategy, ...] = (
    Reschedule(),
    Nudge(),
    Waits(),
    Simplify(),
    Align(),
    Rename(),
    Priority(),
    Combine(),
    Pack(),
    Fold(),
    Hoist(),
    Pipeline(),
    Offsets(),
)
STRATEGIES: Mapping[str, Strategy] = MappingProxyType({strategy.name: strategy for strategy in _ALL})
"""Name to strategy."""
INEXACT: Mapping[str, Strategy] = MappingProxyType({Inexact.name: Inexact()})
"""Strategies that give other results than K0, for searches that allow it."""


def strategies_named(names: Iterable[str]) -> dict[str, Strategy]:
    """The strategies of these names, `INEXACT` ones too. Raises `UsageError` for one that does not exist."""
    known = {**STRATEGIES, **INEXACT}
    chosen: dict[str, Strategy] = {}
    for name in names:
        if name not in known:
            raise UsageError(f"There is no strategy {name!r}; the strategies are {', '.join(known)}.")
        chosen[name] = known[name]
    return chosen
