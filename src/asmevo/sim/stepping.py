"""One instruction of one wave at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.isa.registers import EXEC_LO
from asmevo.program.program import Line, Program
from asmevo.sim.cache import BlockCache
from asmevo.sim.driver import Geometry, Memory, drivers_for
from asmevo.sim.executable import Executable
from asmevo.sim.layout import ENDED, STARTED, STEPPED
from asmevo.sim.results import Limits, WaveOrder
from asmevo.sim.waves import WaveView
from asmevo.verdict import Finding


@dataclass(frozen=True, slots=True)
class Step:
    """What one wave has just executed; `wave_view` is its state afterwards, until the next step."""

    workgroup: int
    wave: int
    lines: tuple[Line, ...]
    """One line; several only where registers are indexed. None when the workgroup has just begun."""
    exec_before: int
    view: WaveView
    next_line: Line | None
    """What the wave executes next; None when it has ended."""

    @property
    def line(self) -> Line:
        """The line that was executed last."""
        return self.lines[-1]


class Stepper:
    """Runs workgroups of a launch on an image, which it changes, step by step. Iterating goes on with the run.

    The waves take their turns as in `asmevo.sim.execute`: one runs until a barrier, its end, or long polling. `status`
    is `running`, then as `Execution.status`, with the finding in `fault`.
    """

    def __init__(
        self,
        program: Program,
        launch: Geometry,
        image: Memory,
        cache: BlockCache,
        *,
        limits: Limits | None = None,
        workgroups: Sequence[int] | None = None,
        wave_order: WaveOrder = WaveOrder.ASCENDING,
    ) -> None:
        self.executable = Executable.build(program, cache, single=True)
        (self._driver,) = drivers_for(self.executable, launch, image, limits or Limits(), workgroups, wave_order)
        self.worker = self._driver.worker
        self.worker.step_by_step()
        self._before: dict[tuple[int, int], tuple[int, int]] = {}
        """(slot, wave) to the block it executes next and EXEC."""
        self.status = "running"
        self.fault: Finding | None = None

    def __iter__(self) -> Iterator[Step]:
        while (step := self.step()) is not None:
            yield step

    def step(self) -> Step | None:
        """The next step; None when the run is over. A workgroup that begins is a step of wave 0 without lines."""
        driver, worker = self._driver, self.worker
        while self.status == "running":
            reason = driver.enter(worker.pointer)
            if reason == STEPPED:
                return self._executed()
            if reason == STARTED:
                return self._begun()
            if not driver.step(reason):
                self.status, self.fault = driver.status, driver.fault
        return None

    def wave(self, slot: int, number: int) -> WaveView:
        """A wave of a resident workgroup."""
        return WaveView(self.worker.slots.state(slot, number))

    def _begun(self) -> Step:
        slot = self.worker.get("slot")
        for number in range(self.worker.slots.waves):
            view = self.wave(slot, number)
            self._before[slot, number] = view.field("chunk"), view.pair(EXEC_LO)
        view = self.wave(slot, 0)
        first = self.executable.chunks[view.field("chunk")].first
        lines = self.executable.program.lines
        return Step(view.field("workgroup"), 0, (), view.exec_mask, view, lines[first])

    def _executed(self) -> Step:
        slot, number = self.worker.current
        view = self.wave(slot, number)
        chunk, mask = self._before[slot, number]
        following = view.field("chunk")
        self._before[slot, number] = following, view.pair(EXEC_LO)
        chunks, lines = self.executable.chunks, self.executable.program.lines
        ended = view.field("phase") == ENDED
        executed = lines[chunks[chunk].first : chunks[chunk].last]
        next_line = None if ended else lines[chunks[following].first]
        return Step(view.field("workgroup"), number, executed, mask, view, next_line)
