"""What every device promises: something that holds code objects, runs launches on memory images, and times them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from statistics import median
from types import TracebackType
from typing import Any, Self

from asmevo.launch import Launch, MemoryImage
from asmevo.sim import WaveOrder
from asmevo.timing import Comparison, comparison_of
from asmevo.verdict import Finding

MEASURING_SECONDS = 900.0
"""Wall time of one measured comparison, with all of its samples."""
PAIRS = 20
"""Times of each candidate that `Device.compare` takes."""


class Status(StrEnum):
    """How a run ended. Only `DONE` leaves a result."""

    DONE = "done"
    FAULT = "fault"
    """The kernel did what hardware would stop at: a stray access, an illegal instruction."""
    LIMIT = "limit"
    """A wave executed more instructions than allowed."""
    DEADLOCK = "deadlock"
    """No wave can go on."""
    TIMEOUT = "timeout"
    """The device gave no answer in time and was restarted."""
    CRASH = "crash"
    """The device's process died and was restarted."""
    MEMORY = "memory"
    """The device ran out of memory."""
    GARBAGE = "garbage"
    """The device's answer made no sense, and it was restarted."""
    REFUSED = "refused"
    """The device did not start the launch: too large a grid, too few resources."""


class Ability(StrEnum):
    """What some devices can do and hardware cannot. A device without one does what is said here."""

    COUNTS = "counts"
    """Says which lines were executed; without it, `lines` and `lines_active` are empty and `instructions` is 0."""
    CHOOSES = "chooses"
    """Runs some workgroups of a launch only; without it, all are run."""
    POISONS = "poisons"
    """Registers and LDS start as the image's poison byte; without it, as whatever was there before."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may use."""

    instructions_per_wave: int = 20_000_000
    seconds: float = 60.0
    """Time until an answer, enforced where the device is another process: wall time on a GPU, the process's CPU time on
    the simulator."""
    turn: int | None = None
    """Instructions after which a wave lets the others go on, about as on a compute unit; None lets each go as far as it
    can. Correct code computes the same. A device that cannot choose ignores it."""
    threads: int = 1
    """Threads of a device that executes on the host; 0 for all cores where that gives the same result as one."""
    confirmations: int = 0
    """Of measured comparisons: how many gains were put to a confirmation before, which leaves less risk for the next
    (see `asmevo.device.measure`)."""
    checked: bool = False
    """Check the run as `asmevo.sim.checked` does, for what is late, racy, unwritten or out of bounds. A device that
    cannot ignores it, and its outcome says so."""


@dataclass(frozen=True)
class Module:
    """A code object that a device has accepted, with the kernel to launch."""

    data: bytes
    kernel: str | None = None

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run went. The result itself is in the memory image."""

    status: Status
    fault: Finding | None = None
    """What went wrong, when something did."""
    instructions: int = 0
    """Wave instructions executed, over all waves."""
    lines: Mapping[int, int] = field(default_factory=dict[int, int])
    """How often each line was executed by a wave; key is the position in the object's recovered program."""
    lines_active: frozenset[int] = frozenset()
    """Positions whose execution counts as evidence: vector and memory instructions that some lane executed, and all
    others that were executed. A device that cannot tell lanes apart leaves vector instructions out."""
    findings: tuple[Finding, ...] | None = None
    """What a checked run found, lines by position in the object's recovered program; None for one that was not
    checked."""
    seconds: float = 0.0
    """CPU or device time of the run, for reports."""

    @property
    def done(self) -> bool:
        return self.status is Status.DONE


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """The time of one launch."""

    launch: str
    weight: float
    microseconds: float
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """JSON-able: cycles, clock, bounds (modelled); samples, spread, clocks (measured)."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of a module over its objective launches."""

    source: str
    """`modelled` or `measured`. A modelled time is never called anything else."""
    launches: tuple[LaunchTime, ...]
    heat: Mapping[int, float] = field(default_factory=dict[int, float])
    """Position in the recovered program to its share of the time, 0 to 1; empty where the device cannot tell."""

    @property
    def microseconds(self) -> float:
        """Mean over the launches, by weight."""
        return sum(t.weight * t.microseconds for t in self.launches) / sum(t.weight for t in self.launches)

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "microseconds": self.microseconds,
            "launches": [
                {"launch": t.launch, "weight": t.weight, "microseconds": t.microseconds, "facts": dict(t.facts)}
                for t in self.launches
            ],
        }


class Device(ABC):
    """A place where code objects run.

    Contract, checked for every device by `asmevo.device.conformance`:

    - `load` takes any bytes and returns a `Module`, or raises `InputError` (not a code object this device can take) or
      `UnsupportedError` (evidence cannot be had, such as an opcode the device does not know). It never runs code.
    - `run` executes one launch on the image, in place: it loads the module's code into the image's code space, leaves
      every other byte as the kernel left it, and returns an `Outcome`. Whatever a kernel does ends in an `Outcome`:
      faults, endless loops and deadlocks too. After any outcome the device takes the next request.
    - Two runs of one module on equal images give equal images, where the kernel itself is deterministic. Runs leave
      nothing behind that a later run could see: registers and LDS start as the image's poison byte.
    - `workgroups` limits a run to these linear numbers (x fastest); the others are not executed.
    - `wave_order` says which workgroup and wave goes first. A device that cannot choose ignores it.
    - `time` gives a `Timing` with its source. It never judges correctness, and callers time admitted candidates only.
    - `compare` says how much faster one module is than another, as an interval, by paired times of both. A device whose
      times are certain to repeat has to find another source of doubt than repeats.
    - `describe` gives JSON-able facts that tell results of different devices apart.
    - Where a device lacks an `Ability`, it does what is said there instead.
    - A device is used by one thread at a time. `close` frees it; it is also a context manager.
    """

    abilities: frozenset[Ability] = frozenset(Ability)
    source: str = "modelled"
    """Of its times: `modelled` or `measured`. Measured ones vary, so only `compare` says what is faster."""

    @abstractmethod
    def load(self, data: bytes, kernel: str | None = None) -> Module: ...

    @abstractmethod
    def run(
        self,
        module: Module,
        launch: Launch,
        image: MemoryImage,
        *,
        limits: RunLimits | None = None,
        workgroups: Sequence[int] | None = None,
        wave_order: WaveOrder = WaveOrder.ASCENDING,
    ) -> Outcome: ...

    @abstractmethod
    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        """Times the launches that have `objective`, or all of them when none has."""

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> Comparison:
        """How much faster `candidate` is than `base` over the objective launches; raises what `time` raises.

        Here: both are timed in turns, so that what drifts hits both alike.
        """
        times = [[self.time(m, launches, limits=limits) for m in (base, candidate)] for _ in range(PAIRS)]
        speedups = [before.microseconds / after.microseconds for before, after in times]
        return comparison_of(times[0][0].source, float(median(speedups)), speedups, PAIRS)

    @abstractmethod
    def describe(self) -> dict[str, Any]: ...

    @abstractmethod
    def close(self) -> None:
        """Free what the device holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def objective_of(launches: Sequence[Launch]) -> tuple[Launch, ...]:
    """The launches that are timed: those with `objective`, or all when none has."""
    return tuple(launch for launch in launches if launch.objective) or tuple(launches)
