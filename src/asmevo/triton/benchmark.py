"""Timing for Triton: the modelled time of one call, whatever Triton wanted to repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from asmevo.triton.execution import Engine
from asmevo.verdict import UsageError


def benchmark(
    engine: Engine,
    call: Callable[[], Any],
    *_: Any,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    **ignored: Any,
) -> float | Sequence[float]:
    """Modelled milliseconds of the kernels that a call launches, in the form that `triton.testing.do_bench` has.

    The call is made once. A few workgroups of each launch are executed on a copy of its memory, and their traces
    replayed on the chip's model: the result is the same every time, so every quantile is. Warm-up and repetitions are
    ignored. Raises `UsageError` for a call that launches nothing.
    """
    with engine.timing() as times:
        call()
    if not times:
        raise UsageError("Only kernels have a modelled time, and the call to be timed launched none.")
    milliseconds = sum(times) / 1e3
    if quantiles is not None:
        return [milliseconds] * len(quantiles) if len(quantiles) > 1 else milliseconds
    return [milliseconds] if return_mode == "all" else milliseconds
