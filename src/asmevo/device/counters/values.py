"""What a profiler saw of a kernel: rows of its files, and counters over the dispatches in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, Final

from asmevo.verdict import InputError, shown, whole

LARGEST: Final = 1 << 64
"""Timestamps, sizes and counters of the profiler have 64 bits."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One row, as all formats of rocprofv3 give it: a dispatch, and one counter of it or none."""

    dispatch: int
    """Its number in its process."""
    kernel: str
    counter: str = ""
    """Empty in a kernel trace."""
    value: float = 0.0
    begin: int | None = None
    """Nanoseconds of the clock of the host; None where the file does not say."""
    end: int | None = None
    agent: str = ""
    """The GPU."""
    process: str = ""
    grid: tuple[int, ...] = ()
    """Work-items in x, y, z of a kernel trace; all of them, one number, of counters."""
    block: tuple[int, ...] = ()
    """Work-items of a workgroup, in the same way."""

    @property
    def nanoseconds(self) -> int | None:
        """Of the dispatch; counting makes it longer."""
        return None if self.begin is None or self.end is None else self.end - self.begin


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """Counters of one kernel."""

    kernel: str
    dispatches: int
    means: Mapping[str, float]
    """Counter to its mean over the dispatches in which it was counted, whole device."""
    microseconds: float | None
    """Median over the dispatches, counting included; None where the file does not say."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "dispatches": self.dispatches,
            "microseconds": self.microseconds,
            "counters": dict(self.means),
        }


def unsigned(value: object) -> int:
    """A number or text of a file as a whole number of 64 bits. Raises `ValueError`."""
    found = whole(value)
    if not 0 <= found < LARGEST:
        raise ValueError("a number does not fit into 64 bits")
    return found


def require_counts(rows: Iterable[Reading], where: str) -> Iterator[Reading]:
    """The rows. Raises `InputError` at one with a value that no counter can hold."""
    for row in rows:
        if row.counter and not 0 <= row.value < LARGEST:
            raise InputError(
                f"{where} has the value {row.value:g} of {shown(row.counter)} in dispatch {row.dispatch} of "
                f"{shown(row.kernel)}, which is no count; collect it again."
            )
        yield row


def by_kernel(readings: Iterable[Reading], where: str) -> dict[str, KernelCounters]:
    """Counters by kernel name. Values of one counter and dispatch add up: they are of parts of the device.

    Rows without a counter are left out. Raises `InputError` when no others are there.
    """
    values: dict[str, dict[str, dict[tuple[str, int], float]]] = {}
    times: dict[str, dict[tuple[str, int], int]] = {}
    for one in readings:
        if not one.counter:
            continue
        dispatch = one.process, one.dispatch
        of_counter = values.setdefault(one.kernel, {}).setdefault(one.counter, {})
        of_counter[dispatch] = of_counter.get(dispatch, 0.0) + one.value
        if one.nanoseconds is not None:
            times.setdefault(one.kernel, {})[dispatch] = one.nanoseconds
    if not values:
        raise InputError(
            f"{where} has no counter of any kernel; collect some with `rocprofv3 --pmc ... --kernel-trace`."
        )
    return {
        kernel: KernelCounters(
            kernel=kernel,
            dispatches=len({dispatch for found in counters.values() for dispatch in found}),
            means={name: fmean(found.values()) for name, found in sorted(counters.items())},
            microseconds=median(times[kernel].values()) / 1e3 if kernel in times else None,
        )
        for kernel, counters in values.items()
    }


def of_kernel(found: Mapping[str, KernelCounters], name: str, where: str) -> KernelCounters:
    """The counters of a kernel by its symbol. Raises `InputError` that lists the names unless it is one of them."""
    written = written_names(name, found)
    if len(written) == 1:
        return found[written[0]]
    if written:
        raise InputError(
            f"The kernel {name} may be each of {', '.join(map(shown, written))} in {where}; profile it alone."
        )
    raise InputError(
        f"{where} has no dispatch of the kernel {name}; it has {', '.join(map(shown, sorted(found)[:8]))}."
    )


def written_names(symbol: str, names: Iterable[str]) -> list[str]:
    """Those of the names that a profiler may have written for a symbol: with `.kd`, demangled (which it does unless
    told `--mangled-kernels`), or cut to the bare function (`--truncate-kernels`). The plainest way that fits decides.

    Of a mangled symbol only the function's own name is compared, so overloads and instances look alike: several names
    are then the answer.
    """
    each = sorted(set(names))
    for way in (_plain, _callable):
        if found := [name for name in each if way(name) == symbol]:
            return found
    return [name for name in each if _identifier(name) == _bare(symbol)] if symbol.startswith("_Z") else []


def _plain(name: str) -> str:
    return name.removesuffix(" [clone .kd]").removesuffix(".kd")


def _callable(name: str) -> str:
    """`f<float>` of `void f<float>(float*)`."""
    return _plain(name).partition("(")[0].rpartition(" ")[2]


def _identifier(name: str) -> str:
    """`f` of `void a::f<float>(float*) [clone .kd]`."""
    plain = re.split(r"[<(]", _plain(name).replace("(anonymous namespace)::", ""), maxsplit=1)[0]
    return _bare(plain.rpartition(" ")[2].rpartition("::")[2])


def _bare(symbol: str) -> str:
    """The function's own name in a mangled symbol (Itanium C++ ABI, 5.1); another symbol as it is."""
    head = re.match(r"_Z(?:N[rVKRO]*)?L?", symbol)
    rest, name = (symbol[head.end() :] if head else ""), ""
    while length := re.match(r"[1-9]\d{0,4}", rest):
        end = length.end() + int(length.group())
        name, rest = rest[length.end() : end], rest[end:]
    return name or symbol
