"""GPUs of this host as one device: a worker process for the one in use, and another GPU when it stops answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from asmevo.device.contract import MEASURING_SECONDS, Ability, Module, Outcome, RunLimits, Status, Timing
from asmevo.device.hip.faults import fault_in
from asmevo.device.hip.identity import ChipIdentity, recorded_chip
from asmevo.device.isolated import IsolatedDevice
from asmevo.device.measure import MeasuredComparison
from asmevo.device.process import Lost
from asmevo.launch import Launch, MemoryImage
from asmevo.sim import WaveOrder
from asmevo.verdict import EnvironmentError_, Finding, UnsupportedError

TARGET = "asmevo.device.hip.backend:serve"
PROBE_SECONDS = 30.0
"""Wall time in which a GPU has to answer after it was lost, or it counts as unhealthy."""
_SUSPICIOUS = (Status.TIMEOUT, Status.CRASH, Status.GARBAGE)


@dataclass(slots=True)
class _Health:
    """Which GPUs may be used."""

    left: list[int]
    lost: list[int] = field(default_factory=list[int])

    def give_up(self) -> None:
        self.lost.append(self.left.pop(0))


class HipDevice(IsolatedDevice):
    """The first healthy one of these GPUs, in a process of its own (see `Device` for the contract).

    A kernel that faults, hangs or kills the runtime is an `Outcome`; the worker is replaced, and the GPU has to answer
    it before it is used again. One that does not is unhealthy, and the next of the same chip takes its place; when none
    is left, every request raises `EnvironmentError_`. Hardware cannot tell a deadlock from a long run: both end as
    `TIMEOUT`, which is no evidence.
    """

    abilities = frozenset[Ability]()
    source = "measured"

    def __init__(self, gpus: Sequence[int] = (0,), probe_seconds: float = PROBE_SECONDS) -> None:
        self._health = _Health(list(gpus))
        self._probe_seconds = probe_seconds
        self._chip: ChipIdentity | None = None
        self._confirmations = 0
        self._doubtful = True
        # The runtime reserves all of the address space, and a GPU's time is wall time.
        super().__init__(f"{TARGET}:{self._health.left[0]}", memory=0, patience=1.0)

    @property
    def chip(self) -> ChipIdentity:
        """What the GPU in use is. Raises `EnvironmentError_` without a runtime or a GPU."""
        self._ensure_healthy()
        assert self._chip is not None
        return self._chip

    @property
    def unhealthy(self) -> tuple[int, ...]:
        """GPUs that stopped answering."""
        return tuple(self._health.lost)

    def run(
        self,
        module: Module,
        launch: Launch,
        image: MemoryImage,
        *,
        limits: RunLimits | None = None,
        workgroups: Sequence[int] | None = None,
        wave_order: WaveOrder = WaveOrder.ASCENDING,
    ) -> Outcome:
        self._ensure_healthy()
        outcome = super().run(module, launch, image, limits=limits, workgroups=workgroups, wave_order=wave_order)
        if outcome.status in (*_SUSPICIOUS, Status.FAULT):
            self._worker.stop()  # a runtime that has seen a fault refuses all that follows
            self._doubtful = outcome.status in _SUSPICIOUS
        return outcome

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        return super().time(module, launches, limits=limits or RunLimits(seconds=MEASURING_SECONDS))

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> MeasuredComparison:
        """The confirmations of this device's life are counted, after those that `limits` names, and leave less risk for
        those that follow."""
        limits = limits or RunLimits(seconds=MEASURING_SECONDS)
        self._confirmations = max(self._confirmations, limits.confirmations)
        spent = replace(limits, confirmations=self._confirmations)
        found = super().compare(base, candidate, launches, limits=spent)
        if not isinstance(found, MeasuredComparison):
            raise UnsupportedError("The device gave no measured comparison; the candidate counts as no faster.")
        self._confirmations += found.level > 0
        return found

    def _ask(self, seconds: float, *request: Any) -> Any:
        self._ensure_healthy()
        try:
            return super()._ask(seconds, *request)
        except UnsupportedError:
            self._doubtful = True  # the process may have been lost over it
            raise

    def _lost(self, lost: Lost) -> Outcome:
        """A process that the runtime aborted over a fault of the kernel is a fault."""
        if lost.how == "crash" and (words := fault_in(lost.complaints)):
            return Outcome(Status.FAULT, Finding("hip.fault", f"The GPU stopped the kernel: {words}."))
        self._doubtful = True
        return super()._lost(lost)

    def _ensure_healthy(self) -> None:
        """Ask the GPU for its identity when there is reason to doubt that it answers."""
        while self._doubtful:
            if not self._health.left:
                listed = ", ".join(map(str, self._health.lost))
                raise EnvironmentError_(
                    f"No GPU answers any more (tried: {listed}); reset it with `amd-smi reset --gpureset`, or restart "
                    "the machine."
                )
            try:
                self._request(self._probe_seconds, "forget", [])  # the process is there, whatever the GPU does
                facts = self._request(self._probe_seconds, "describe")
            except EnvironmentError_:  # it computes wrongly; without a runtime, the last one says so
                if len(self._health.left) == 1:
                    raise
                facts = None
            except Lost:
                facts = None
            if facts is None or isinstance(facts, Outcome):  # an outcome: it has no memory left, or faults
                self._health.give_up()
                self._move()
                continue
            found = recorded_chip(facts)
            if self._chip is not None and found != self._chip:
                raise EnvironmentError_(
                    f"GPU {self._health.left[0]} is another chip ({found}) than the one that stopped answering "
                    f"({self._chip}), so their results cannot be mixed; start again on one kind."
                )
            self._chip, self._doubtful = found, False

    def _move(self) -> None:
        """Let the next GPU take over."""
        self._worker.stop()
        if self._health.left:
            self._worker.retarget(f"{TARGET}:{self._health.left[0]}")
