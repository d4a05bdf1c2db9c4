"""What the benchmarks share: their last line of JSON, numpy's matrix multiplication as the yardstick, and whether there
is a second core."""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import threadpoolctl

SPINS_SCALE = 1.9
"""What two spinning threads must scale by before the scaling of something else on two cores says anything."""


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


def wall(work: Callable[[], object]) -> float:
    """Seconds of wall time."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def second_core() -> bool:
    """Whether this machine has a second core to give, now: what two threads that only compute gain over one."""

    def spin() -> None:
        hashlib.pbkdf2_hmac("sha256", b"spin", b"loop", 600_000)

    def pair() -> None:
        with ThreadPoolExecutor(2) as pool:
            for one in [pool.submit(spin) for _ in range(2)]:
                one.result()

    scale = 2 * min(wall(spin) for _ in range(3)) / min(wall(pair) for _ in range(3))
    print(f"two spinning threads scale by {scale:.2f}", file=sys.stderr, flush=True)
    return scale >= SPINS_SCALE
