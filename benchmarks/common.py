"""What the benchmarks share: their last line of JSON, and numpy's matrix multiplication as the yardstick."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import threadpoolctl


def print_json(result: Mapping[str, Any]) -> None:
    """The closing line of a benchmark: one JSON object."""
    print(json.dumps(result), flush=True)


def numpy_gflop_per_cpu_s(n: int = 1024, repeats: int = 5) -> float:
    """Speed of numpy's float32 matmul of size n on one thread, in GFLOP per CPU-second (median after a warm-up)."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, n, n), dtype=np.float32)
    seconds: list[float] = []
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        for _ in range(repeats + 1):
            start = time.process_time()
            a @ b
            seconds.append(time.process_time() - start)
    return 2 * n**3 / statistics.median(seconds[1:]) / 1e9
