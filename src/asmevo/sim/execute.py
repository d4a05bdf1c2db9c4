"""Running a launch: workers over its workgroups, compilation on demand, and the account of what happened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from asmevo.isa import row_of
from asmevo.sim.block import VECTOR_PIPES
from asmevo.sim.checked.checking import Checking
from asmevo.sim.driver import Driver, Geometry, Memory, drivers_for
from asmevo.sim.executable import Executable
from asmevo.sim.layout import COUNTERS, FULL, IDLE, PARTIAL
from asmevo.sim.results import AccessHook, Execution, Limits, WaveOrder


def execute(
    executable: Executable,
    launch: Geometry,
    image: Memory,
    *,
    limits: Limits | None = None,
    workgroups: Sequence[int] | None = None,
    trace: bool = False,
    threads: int = 1,
    wave_order: WaveOrder = WaveOrder.ASCENDING,
    checking: Checking | None = None,
    access_hook: AccessHook | None = None,
) -> Execution:
    """Run workgroups of a launch on a memory image, which it changes.

    `workgroups` are linear numbers, x fastest; None runs the whole grid. They start in the order given, or the
    other way round; the next one starts when one has ended, or when all that are under way only poll memory. Registers
    that the ABI does not define, LDS and scratch start as the image's poison byte in every workgroup. One thread gives
    the same result every time; with more, the order of atomics depends on the machine. 0 threads means all cores where
    that makes no difference (`usable_threads`). Native code runs without the interpreter's lock.

    With `checking` the run is checked (see `asmevo.sim.checked`), on one thread: asynchronous results count as late as
    the executed waits allow, and what is late, racy, unwritten or out of bounds is a finding. The run goes on after it.

    `access_hook` is told of each access of vector instructions to LDS and global memory, on one thread.
    """
    if checking is not None:
        executable, threads = executable.checked, 1
    if access_hook is not None:
        threads = 1
    started = time.process_time()
    drivers = drivers_for(
        executable, launch, image, limits or Limits(), workgroups, wave_order, trace=trace, threads=threads,
        checking=checking, access_hook=access_hook,
    )  # fmt: skip
    if len(drivers) == 1:
        drivers[0].run()
    else:
        with ThreadPoolExecutor(len(drivers)) as pool:
            for running in [pool.submit(d.run) for d in drivers]:
                running.result()
    return _account(executable, drivers, time.process_time() - started)


def _account(executable: Executable, drivers: Sequence[Driver], seconds: float) -> Execution:
    counts = sum((d.worker.counts for d in drivers), np.zeros((COUNTERS, len(executable.chunks)), np.int64))
    lengths = drivers[0].worker.shared.lengths
    lines = executable.program.lines
    line_counts: dict[int, int] = {}
    partial: set[int] = set()
    active: set[int] = set()
    for chunk, row in zip(executable.chunks, counts.T, strict=True):
        times = int(row.sum())
        if not times:
            continue
        part = lines[chunk.first : chunk.last]
        ids = [line.id for line in part]
        line_counts |= dict.fromkeys(ids, times)
        if row[PARTIAL] or row[IDLE]:
            partial.update(ids)
        if row[FULL] or row[PARTIAL]:
            active.update(ids)
        else:
            active.update(line.id for line in part if row_of(line.instruction).pipe not in VECTOR_PIPES)
    failed = next((d for d in drivers if d.status not in ("done", "stopped")), drivers[0])
    return Execution(
        failed.status,
        failed.fault,
        int(counts.sum(axis=0) @ lengths),
        line_counts,
        frozenset(partial),
        frozenset(active),
        tuple(t for d in drivers for t in d.traces.traces(executable.chunks)),
        tuple(f for d in drivers for f in d.findings()),
        drivers[0].lds_reads(),
        seconds,
    )
