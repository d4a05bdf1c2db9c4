"""Hardware with the simulator beside it, which says what hardware cannot: which lines were executed, what is racy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from asmevo.device.contract import Ability, Device, Module, Outcome, RunLimits, Status, Timing
from asmevo.launch import Launch, MemoryImage
from asmevo.sim import WaveOrder
from asmevo.timing import Comparison

SIMULATED_SECONDS = 600.0
"""Wall time of one simulated run."""
_KEPT = 64


class AccompaniedDevice(Device):
    """Runs on hardware, and on the simulator as well (see `Device` for the contract).

    Memory after a run, faults and times are the hardware's. Lines, instruction counts and checked runs are the
    simulator's, on the same memory, for the workgroups asked for; hardware runs all of them. A run that does not end on
    the simulator as it should has the simulator's outcome, and an opcode that the simulator does not know is no
    evidence. Heat is modelled.
    """

    abilities = frozenset({Ability.COUNTS})

    def __init__(self, hardware: Device, simulator: Device) -> None:
        self._hardware, self._simulator = hardware, simulator
        self.source = hardware.source
        self._simulated: OrderedDict[Hashable, Outcome] = OrderedDict()
        """Lines do not depend on what K0 or a candidate finds in poisoned memory: the gate requires that of K0."""

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        self._simulator.load(data, kernel)
        return self._hardware.load(data, kernel)

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
        limits = limits or RunLimits()
        slow = replace(limits, seconds=max(limits.seconds, SIMULATED_SECONDS))
        if limits.checked:
            order = wave_order
            return self._simulator.run(module, launch, image, limits=slow, workgroups=workgroups, wave_order=order)
        simulated = self._lines(module, launch, image, slow, workgroups, wave_order)
        if not simulated.done:
            return simulated
        outcome = self._hardware.run(module, launch, image, limits=limits)
        return replace(
            outcome,
            instructions=simulated.instructions,
            lines=simulated.lines,
            lines_active=simulated.lines_active,
        )

    def _lines(
        self,
        module: Module,
        launch: Launch,
        image: MemoryImage,
        limits: RunLimits,
        workgroups: Sequence[int] | None,
        wave_order: WaveOrder,
    ) -> Outcome:
        """One simulated run on a copy of the memory, kept for others like it."""
        chosen = None if workgroups is None else tuple(workgroups)
        key = (module.sha256, module.kernel, launch.digest, chosen, image.poison, wave_order)
        if key not in self._simulated:
            copy = image.copy()
            found = self._simulator.run(
                module, launch, copy, limits=limits, workgroups=workgroups, wave_order=wave_order
            )
            if found.status in (Status.TIMEOUT, Status.CRASH, Status.GARBAGE, Status.MEMORY):
                return found  # of the simulator, not of the code: another time it may go better
            self._simulated[key] = found
            while len(self._simulated) > _KEPT:
                self._simulated.popitem(last=False)
        self._simulated.move_to_end(key)
        return self._simulated[key]

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        measured = self._hardware.time(module, launches, limits=limits)
        return replace(measured, heat=self._simulator.time(module, launches, limits=limits).heat)

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> Comparison:
        return self._hardware.compare(base, candidate, launches, limits=limits)

    def describe(self) -> dict[str, Any]:
        beside = self._simulator.describe()
        return {**self._hardware.describe(), "lines_and_checks": beside["device"], "model": beside["chip"]}

    def close(self) -> None:
        self._hardware.close()
        self._simulator.close()
