"""Which dispatch of a profiler's file is which launch: by kernel, grid and workgroup size, and never by a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from asmevo.device.counters import Reading, written_names
from asmevo.launch import Launch
from asmevo.verdict import UsageError, shown


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One dispatch, with all that the files say of it."""

    row: Reading
    """One of its rows; that of a kernel trace where there is one, since it has the sizes in each dimension."""
    counters: Mapping[str, float]

    @property
    def counted(self) -> bool:
        """Counting makes a dispatch longer."""
        return bool(self.counters)

    @property
    def microseconds(self) -> float | None:
        """None where the file does not say, or says that it ended before it began."""
        span = self.row.nanoseconds
        return span / 1e3 if span is not None and span > 0 else None


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Dispatches that stand for no launch, and why."""

    kernel: str
    grid: tuple[int, ...]
    """Work-items."""
    block: tuple[int, ...]
    reason: str
    dispatches: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Joined:
    """Launches and their dispatches."""

    found: Mapping[str, tuple[Dispatch, ...]]
    """By name of the launch, in order of time; only launches that have some."""
    left: tuple[LeftOver, ...]
    agent: str
    """The GPU that all of them ran on; empty where the files do not say."""


def dispatches_of(rows: Iterable[Reading]) -> tuple[Dispatch, ...]:
    """Rows put together by dispatch, in order of time. The same dispatch may be in a kernel trace and a counter file of
    one run. Values of one counter add up: they are of parts of the device."""
    found: dict[tuple[Any, ...], tuple[Reading, dict[str, float]]] = {}
    for row in rows:
        run = "" if row.begin is not None else row.process
        key = row.agent, row.kernel, row.dispatch, row.begin, row.end, run
        first, counters = found.setdefault(key, (row, {}))
        if len(row.grid) > len(first.grid):
            found[key] = row, counters
        if row.counter:
            counters[row.counter] = counters.get(row.counter, 0.0) + row.value
    each = [Dispatch(row, counters) for row, counters in found.values()]
    return tuple(sorted(each, key=lambda d: (d.row.begin or 0, d.row.dispatch)))


def join(dispatches: Sequence[Dispatch], launches: Sequence[tuple[Launch, str]], agent: str | None = None) -> Joined:
    """Dispatches of launches, each given with the symbol of its kernel; `agent` is the GPU to look at.

    Raises `UsageError` when the dispatches of the launches ran on several GPUs, or the wanted one is not there.
    """
    agents = sorted({d.row.agent for d in dispatches})
    if agent is not None and agent not in agents:
        raise UsageError(
            f"There is no dispatch on {agent!r}; the files have {', '.join(repr(shown(name)) for name in agents)}."
        )
    written = {d.row.kernel for d in dispatches}
    names = {symbol: written_names(symbol, written) for symbol in {symbol for _, symbol in launches}}
    found: dict[str, list[Dispatch]] = {}
    left: Counter[tuple[str, tuple[int, ...], tuple[int, ...], str]] = Counter()
    for one in dispatches:
        row = one.row
        why, which = _launch_of(row, launches, names)
        if which and agent not in (None, row.agent):
            why, which = f"it ran on {shown(row.agent) or 'a GPU that is not named'}", None
        if which and one.microseconds is None and not one.counted:
            why, which = "it has no time: its end is not after its begin", None
        if which:
            found.setdefault(which, []).append(one)
        else:
            left[row.kernel, row.grid, row.block, why] += 1
    used = sorted({d.row.agent for each in found.values() for d in each if d.row.agent})
    if len(used) > 1:
        raise UsageError(
            f"The launches ran on {' and '.join(map(shown, used))}, and one clock is of one GPU; choose by --agent."
        )
    rest = tuple(LeftOver(*key, dispatches=count) for key, count in sorted(left.items()))
    return Joined({name: tuple(each) for name, each in found.items()}, rest, used[0] if used else "")


def _launch_of(
    row: Reading, launches: Sequence[tuple[Launch, str]], names: Mapping[str, list[str]]
) -> tuple[str, str | None]:
    """The launch of a row, or words for why there is none."""
    symbols = [symbol for symbol, found in names.items() if row.kernel in found]
    if not symbols:
        return "no launch is of this kernel", None
    unclear = next((symbol for symbol in symbols if len(names[symbol]) > 1), None)
    if unclear or len(symbols) > 1:
        several = names[unclear] if unclear else symbols
        return f"the name does not tell which of {', '.join(map(shown, several))} it is", None
    if not row.grid or not row.block:
        return "the file does not say its sizes", None
    fitting = [launch.name for launch, symbol in launches if symbol == symbols[0] and _fits(launch, row)]
    if len(fitting) != 1:
        alike = f"the launches {', '.join(fitting)} are alike in kernel and sizes"
        return alike if fitting else "no launch has these sizes", None
    return "", fitting[0]


def _fits(launch: Launch, row: Reading) -> bool:
    grid = tuple(n * m for n, m in zip(launch.grid, launch.block, strict=True))
    if len(row.grid) == 3 and len(row.block) == 3:
        return (row.grid, row.block) == (grid, launch.block)
    return (prod(row.grid), prod(row.block)) == (prod(grid), launch.threads)
