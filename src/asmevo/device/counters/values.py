"""Hardware counters of one kernel, over the dispatches that a profiler saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean, median
from typing import Any

from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Reading:
    """One counter of one dispatch, as all formats of rocprofv3 give it."""

    dispatch: int
    kernel: str
    counter: str
    value: float
    nanoseconds: int | None = None
    """Of the dispatch; counting makes it longer."""


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


def by_kernel(readings: Iterable[Reading], where: str) -> dict[str, KernelCounters]:
    """Counters by kernel name. Values of one counter and dispatch add up: they are of parts of the device.

    Raises `InputError` when there are none, or one is no finite number.
    """
    values: dict[str, dict[str, dict[int, float]]] = {}
    times: dict[str, dict[int, int]] = {}
    for one in readings:
        if not isfinite(one.value) or one.value < 0:
            raise InputError(
                f"{where} has the value {one.value} of {one.counter}, which is no count; collect it again."
            )
        of_counter = values.setdefault(one.kernel, {}).setdefault(one.counter, {})
        of_counter[one.dispatch] = of_counter.get(one.dispatch, 0.0) + one.value
        if one.nanoseconds is not None:
            times.setdefault(one.kernel, {})[one.dispatch] = one.nanoseconds
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
    """The counters of a kernel by its symbol; the profiler may have written it with `.kd` or demangled.

    Raises `InputError` that lists the names where it is not there.
    """
    for written, counters in found.items():
        bare = written.removesuffix(".kd").removesuffix(" [clone .kd]")
        if name == bare or bare.partition("(")[0].rpartition(" ")[2] == name:
            return counters
    raise InputError(f"{where} has no dispatch of the kernel {name}; it has {', '.join(sorted(found)[:8])}.")
