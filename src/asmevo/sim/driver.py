"""What takes the native workers through a launch: set-up, compilation on demand, faults and stalls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from asmevo.sim import polling
from asmevo.sim.checked.checking import Checking
from asmevo.sim.checked.findings import findings, line_ids
from asmevo.sim.deadlock import StallWatch, explain
from asmevo.sim.entry import entry_state
from asmevo.sim.executable import Executable
from asmevo.sim.layout import ALL_DONE, FAULTED, FAULTS, HOT, LIMIT, MISSING, NEW_SLOT, STALLED, TRACE_FULL
from asmevo.sim.results import AccessHook, Limits, WaveOrder
from asmevo.sim.slots import resident_workgroups
from asmevo.sim.traces import TraceCollector
from asmevo.sim.waves import WaveView
from asmevo.sim.worker import Entry, Shared, Worker, native_entry
from asmevo.verdict import Finding, InputError


class Memory(Protocol):
    """What a run needs of a memory image."""

    @property
    def base(self) -> int: ...
    @property
    def data(self) -> NDArray[np.uint8]: ...
    @property
    def kernarg_address(self) -> int: ...
    @property
    def code_address(self) -> int: ...
    @property
    def poison(self) -> int: ...


class Geometry(Protocol):
    """What a run needs of a launch."""

    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def dynamic_lds(self) -> int: ...


def usable_threads(executable: Executable) -> int:
    """Threads that give the same result as one: all cores, unless workgroups can tell each other anything.

    They can with atomics and with accesses past the caches. Two workgroups that store different values to one place
    without either are a race on hardware as well.
    """
    if any(polling.talks(executable.instructions(n)) for n in range(len(executable.chunks))):
        return 1
    return len(os.sched_getaffinity(0))


def drivers_for(
    executable: Executable,
    launch: Geometry,
    image: Memory,
    limits: Limits,
    workgroups: Sequence[int] | None,
    wave_order: WaveOrder,
    *,
    trace: bool = False,
    threads: int = 1,
    checking: Checking | None = None,
    access_hook: AccessHook | None = None,
) -> list[Driver]:
    """One driver for each thread, ready to run; see `asmevo.sim.execute` for the arguments."""
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if total > np.iinfo(np.int32).max:
        raise InputError(f"The grid has {total} workgroups, and the simulator counts them in 32 bits; make it smaller.")
    chosen = np.arange(total, dtype=np.int32) if workgroups is None else np.array(workgroups, np.int32)
    if chosen.size and not (int(chosen.min()) >= 0 and int(chosen.max()) < total):
        raise InputError(f"A workgroup to run is not in the grid of {total}; give numbers from 0 to {total - 1}.")
    descriptor = executable.program.kernel.descriptor
    entry = entry_state(descriptor, image.kernarg_address, launch.block, image.poison)
    lds = descriptor.lds_size + launch.dynamic_lds
    threads = max(1, min(threads or usable_threads(executable), len(chosen)))
    residents = limits.residents or resident_workgroups(len(entry.lanes), descriptor.vgpr_alloc, lds)
    shared = Shared(
        executable,
        launch.grid,
        chosen if wave_order is WaveOrder.ASCENDING else np.ascontiguousarray(chosen[::-1]),
        image.code_address,
        limit=limits.instructions,
        quantum=limits.quantum,
        fill=image.poison * 0x01010101,
        trace=trace,
        wave_order=wave_order,
        residents=-(-residents // threads),
    )
    function = executable.cache.function("sim_run")
    on_start = 0 if checking is None else executable.cache.function("check_start").address
    workers = [
        Worker(
            executable, entry, image.data, image.base, shared, lds_bytes=lds, checking=checking, on_start=on_start,
            access_hook=access_hook,
        )
        for _ in range(threads)
    ]  # fmt: skip
    watch = StallWatch(workers, limits.patience)
    return [Driver(executable, worker, native_entry(function.address), watch) for worker in workers]


@dataclass
class Driver:
    """Takes one worker through its workgroups."""

    executable: Executable
    worker: Worker
    enter: Entry
    watch: StallWatch
    status: str = "done"
    fault: Finding | None = None
    finished: bool = False

    traces: TraceCollector = field(default_factory=TraceCollector)

    def run(self) -> None:
        """Enter native code until every workgroup is done or one went wrong; then the other workers stop, too."""
        try:
            while self.step(self.enter(self.worker.pointer)):
                pass
            self.traces.add(self.worker.take_trace())
            self.finished = self.status == "done"
        finally:
            if not self.finished:
                self.worker.shared.stop[0] = 1

    def step(self, reason: int) -> bool:
        """Do what native code came back for; whether to enter it again."""
        if reason == ALL_DONE:
            self.watch.ended(self.worker)
            return False
        if reason in (MISSING, HOT):
            make = self.executable.compile if reason == MISSING else self.executable.quicken
            make(*(self.worker.get(n) for n in ("request", "variant", "request_mode")))
        elif reason == FAULTED:
            self.status, self.fault = "fault", self._finding()
        elif reason == LIMIT:
            self.status = "limit"
        elif reason == NEW_SLOT:
            self.worker.add_slot()
        elif reason == STALLED:
            self._stalled()
        else:
            assert reason == TRACE_FULL
            self.traces.add(self.worker.take_trace())
        return self.status == "done"

    def _stalled(self) -> None:
        if self.worker.shared.stop[0]:
            self.status = "stopped"
        elif self.watch.is_deadlock(self.worker):
            self.status, self.fault = "deadlock", explain(self.executable, self.worker, self.enter)

    def findings(self) -> Iterator[Finding]:
        """What the checks found; nothing where the run is not checked."""
        if self.worker.shadow is not None:
            yield from findings(self.executable.program, self.executable.chunks, self.worker.shadow.events())

    def lds_reads(self) -> NDArray[np.int32] | None:
        """Recorded reads of LDS, with line ids; None where the run is not checked."""
        if self.worker.shadow is None:
            return None
        reads = self.worker.shadow.reads()
        reads[:, 0] = line_ids(self.executable.program, self.executable.chunks, reads[:, 0])
        return reads

    def _finding(self) -> Finding:
        slot, number = self.worker.current
        wave = WaveView(self.worker.slots.state(slot, number))
        chunk = self.executable.chunks[wave.field("chunk")]
        line = self.executable.program.lines[chunk.first + wave.field("fault_at")]
        kind = FAULTS[wave.field("fault")]
        lane, address = wave.field("fault_lane"), wave.field("fault_address")
        facts = {
            "workgroup": wave.field("workgroup"),
            "wave": number,
            "lane": lane if lane >= 0 else None,
            "address": address & 0xFFFFFFFFFFFFFFFF,
        }
        where = f"workgroup {facts['workgroup']}, wave {number}" + (f", lane {lane}" if lane >= 0 else "")
        message = _MESSAGES[kind].format(instruction=line.instruction, address=f"0x{facts['address']:x}", where=where)
        return Finding(f"sim.{kind}", message, line=line.id, facts=facts)


_MESSAGES = {
    "global": "`{instruction}` accesses {address}, which is in no buffer of the launch ({where}).",
    "lds": "`{instruction}` accesses LDS at {address}, beyond what the workgroup has ({where}).",
    "scalar": "`{instruction}` reads {address}, which is in no buffer of the launch ({where}).",
    "descriptor": "`{instruction}` uses a buffer descriptor of an image or of no format, base {address} ({where}).",
    "scratch": "`{instruction}` accesses scratch memory at {address}, beyond what the wave has ({where}).",
    "alignment": "`{instruction}` is an atomic at {address}, which is no multiple of its size ({where}).",
    "trap": "`{instruction}` stops the wave ({where}).",
    "jump": "`{instruction}` goes to {address}, where no block of the code begins ({where}).",
    "mode": "`{instruction}` sets MODE to {address}, for which no code was prepared ({where}).",
}
