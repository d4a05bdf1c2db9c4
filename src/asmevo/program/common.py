"""What two programs have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import is_, is_not

from asmevo.program.program import Line


def common_lines(one: Sequence[Line], other: Sequence[Line], equal: Callable[[Line, Line], bool] = is_) -> int:
    """How many lines two programs begin with that are equal, or without `equal` the same objects.

    Edits share what they leave alone, so only lines that are not the same objects are compared.
    """
    others = compress(count(), map(is_not, one, other))
    return next((n for n in others if not equal(one[n], other[n])), min(len(one), len(other)))
