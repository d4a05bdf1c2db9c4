"""Loads and memories of two runs of one block, compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo.prove.sums import Number
from asmevo.prove.values import Load, State


def same_loads(old: Sequence[Load], new: Sequence[Load]) -> bool:
    """Whether the same loads are made, each as often, and none by another line behind a barrier it was in front of.

    An added load may fault, and one that is gone may have seen what another wave stored meanwhile. A line that makes
    the same load as in K0 keeps its side of barriers by the rules of the static stage; of other lines only this says
    that they do. What one line of K0 loads, one line loads: in between another wave could store.
    """
    before, after = _by_number(old), _by_number(new)
    if {n: len(loads) for n, loads in before.items()} != {n: len(loads) for n, loads in after.items()}:
        return False
    made = _by_line(new)
    if not all(len(parts) == 1 or any(parts <= others for others in made) for parts in _by_line(old)):
        return False
    return all(
        here.barriers <= there.barriers
        for number, loads in after.items()
        if {load.line for load in loads} != {load.line for load in before[number]}
        for here, there in zip(loads, before[number], strict=True)
    )


def _by_number(loads: Iterable[Load]) -> dict[Number, list[Load]]:
    found: dict[Number, list[Load]] = {}
    for load in loads:
        found.setdefault(load.number, []).append(load)
    return found


def _by_line(loads: Iterable[Load]) -> list[set[Number]]:
    found: dict[int, set[Number]] = {}
    for load in loads:
        found.setdefault(load.line, set()).add(load.number)
    return list(found.values())


def memories(state: State) -> tuple[Number, Number]:
    """What was written to global memory and to LDS."""
    return state.memory("memory"), state.memory("lds")
