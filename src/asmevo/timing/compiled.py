"""The border to numba: a typed decorator, and a key that changes when any compiled source does."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

SOURCES = (
    "compiled.py", "layout.py", "scoreboard.py", "counters.py", "banks.py", "lds.py", "memory.py", "fetch.py",
    "issue.py", "cu.py",
)  # fmt: skip
"""Files with code that is compiled, and how."""


def compiled(function: F) -> F:
    """Compile with numba; the machine code is cached on disk beside the source or in the user's cache.

    All of a replay becomes one function: left to itself LLVM calls the larger ones, which takes a third of the time.
    """
    return cast(F, numba.njit(cache=True, forceinline=True)(function))


c_array: Final = cast(Callable[[Any, int], Any], cast(Any, numba).carray)
"""A view of so many elements at a C pointer, in compiled code."""


def c_function(function: Callable[..., None], signature: str) -> int:
    """Host address of a function as C sees it, by a numba signature; valid until the process ends.

    What it calls must be in its own file: only then is the cached machine code renewed with it.
    """
    made = cast(Any, numba.cfunc(signature, cache=True)(function))
    _KEPT.append(made)
    return int(made.address)


_KEPT: Final[list[Any]] = []


@cache
def revision() -> str:
    """Name of a field of the machine record.

    numba renews a cached function when its own file changed, not when a function it calls did. The record's type is
    part of the cache key, so a field named after the contents of all the sources makes stale code unreachable.
    """
    here = Path(__file__).parent
    text = b"".join((here / name).read_bytes() for name in SOURCES)
    return f"revision_{hashlib.sha256(text).hexdigest()[:16]}"
