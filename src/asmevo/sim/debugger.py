"""Breakpoints, watches and dumps on a run of the simulator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Reg, parse_operand
from asmevo.isa.registers import AGPR_BASE, EXEC_LO, M0, SCC, SGPR_COUNT, VCC_LO, VGPR_BASE, unit_name
from asmevo.program.program import Line
from asmevo.sim.driver import Memory
from asmevo.sim.stepping import Step, Stepper
from asmevo.sim.waves import WaveView
from asmevo.verdict import UsageError

_ADDRESS = re.compile(r"(lds:)?(0x[0-9a-fA-F]+|\d+)(?::(\d+))?$")


@dataclass(frozen=True, slots=True)
class Watch:
    """Registers (`v12`, `s[4:5]`, `exec`) or memory (`0x7e0000100000:8`, `lds:64:16`; 4 bytes by default)."""

    text: str
    units: tuple[int, ...] = ()
    """Register units."""
    lds: bool = False
    address: int = 0
    size: int = 0
    """Bytes, for memory."""

    @classmethod
    def parse(cls, text: str) -> Watch:
        """A watch from its text. Raises `UsageError` for what is neither register nor address."""
        if m := _ADDRESS.match(text):
            return cls(text, lds=bool(m[1]), address=int(m[2], 0), size=int(m[3] or 4))
        operand = parse_operand(text)
        if not isinstance(operand, Reg):
            raise UsageError(f"{text!r} cannot be watched; name a register such as v12 or s[4:5], or an address.")
        return cls(text, units=tuple(range(operand.first, operand.first + operand.count)))


@dataclass(frozen=True, slots=True)
class Change:
    """One watched register of one lane, or memory, that changed."""

    what: str
    lane: int | None
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class WaveState:
    """All that a wave holds, copied."""

    workgroup: int
    wave: int
    next_line: Line | None
    exec_mask: int
    vcc: int
    m0: int
    scc: int
    sgprs: NDArray[np.uint32]
    """[n] SGPRs that an instruction can name and the kernel is granted."""
    vgprs: NDArray[np.uint32]
    """[n, LANES]."""
    agprs: NDArray[np.uint32]
    """[n, LANES]."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the run stopped."""

    reason: str
    """`breakpoint`, `watch`, `steps`, or how the run ended: `done`, `fault`, `limit`, `deadlock`."""
    step: Step | None
    """What was executed last, where a wave stopped."""
    changes: tuple[Change, ...] = ()


@dataclass
class Debugger:
    """Takes a run forward to breakpoints and changes."""

    stepper: Stepper
    image: Memory
    watches: tuple[Watch, ...] = ()
    steps: int = 0
    """Instructions executed so far."""
    _seen: dict[tuple[int, int, str], NDArray[Any]] = field(default_factory=dict[tuple[int, int, str], Any])

    def run(
        self,
        *,
        line: int | None = None,
        workgroup: int | None = None,
        wave: int | None = None,
        skip: int = 0,
        most: int | None = None,
    ) -> Stop:
        """Go on until a wave is about to execute a line, something watched changes, or `most` instructions are done.

        `workgroup` and `wave` restrict the breakpoint; it is passed `skip` times. Without `line` the run stops for
        watches only.
        """
        begun = self.steps
        while most is None or self.steps - begun < most:
            step = self.stepper.step()
            if step is None:
                return Stop(self.stepper.status, None)
            self.steps += bool(step.lines)
            if changes := self._changes(step):
                return Stop("watch", step, changes)
            if self._hits(step, line, workgroup, wave):
                if skip == 0:
                    return Stop("breakpoint", step)
                skip -= 1
        return Stop("steps", None)

    def _hits(self, step: Step, line: int | None, workgroup: int | None, wave: int | None) -> bool:
        if line is None or step.next_line is None or step.next_line.id != line:
            return False
        return workgroup in (None, step.workgroup) and wave in (None, step.wave)

    def _changes(self, step: Step) -> tuple[Change, ...]:
        if not step.lines:
            self._begin(step)
            return ()
        found: list[Change] = []
        for watch in self.watches:
            key = _owner(watch, step.workgroup, step.wave)
            old, now = self._seen[key], self._value(watch, step.view)
            self._seen[key] = now
            if not np.array_equal(old, now):
                found += _differences(watch, old, now)
        return tuple(found)

    def _begin(self, step: Step) -> None:
        """A workgroup begins: what its waves hold now is what changes are changes of."""
        stepper = self.stepper
        for watch in self.watches:
            for wave in range(stepper.worker.slots.waves):
                view = stepper.wave(stepper.worker.get("slot"), wave)
                self._seen[_owner(watch, step.workgroup, wave)] = self._value(watch, view)

    def _value(self, watch: Watch, view: WaveView) -> NDArray[Any]:
        if watch.units:
            return register_values(view, watch.units)
        if watch.lds:
            memory, at = self.stepper.worker.slots.lds(self.stepper.worker.get("slot")), watch.address
        else:
            memory, at = self.image.data, watch.address - self.image.base
        if not 0 <= at <= at + watch.size <= len(memory):
            raise UsageError(
                f"The watched address {watch.text} is outside of memory; take one of the launch's buffers."
            )
        return memory[at : at + watch.size].copy()

    def state(self, step: Step) -> WaveState:
        """A copy of the state of the wave that stopped."""
        descriptor = self.stepper.executable.program.kernel.descriptor
        view = step.view
        vectors = min(descriptor.accum_offset, descriptor.vgpr_alloc)
        scalars = min(descriptor.sgpr_alloc, SGPR_COUNT)
        return WaveState(
            step.workgroup,
            step.wave,
            step.next_line,
            view.pair(EXEC_LO),
            view.pair(VCC_LO),
            view.scalar(M0),
            view.scalar(SCC),
            np.array([view.scalar(unit) for unit in range(scalars)], np.uint32),
            np.array([view.vector(VGPR_BASE + n) for n in range(vectors)], np.uint32),
            np.array([view.vector(AGPR_BASE + n) for n in range(descriptor.vgpr_alloc - vectors)], np.uint32),
        )


def _owner(watch: Watch, workgroup: int, wave: int) -> tuple[int, int, str]:
    """Registers belong to a wave, LDS to a workgroup, memory to all."""
    if watch.units:
        return workgroup, wave, watch.text
    return (workgroup if watch.lds else -1), -1, watch.text


def register_values(view: WaveView, units: Sequence[int]) -> NDArray[np.uint32]:
    """[units, LANES] copies of registers; a scalar one is the same in every lane's place."""
    rows = [view.vector(u) if u >= VGPR_BASE else np.full(64, view.scalar(u), np.uint32) for u in units]
    return np.array(rows, np.uint32)


def _differences(watch: Watch, old: NDArray[Any], new: NDArray[Any]) -> list[Change]:
    if not watch.units:
        return [Change(watch.text, None, *(int.from_bytes(v.tobytes(), "little") for v in (old, new)))]
    found: list[Change] = []
    for row, unit in enumerate(watch.units):
        lanes = np.flatnonzero(old[row] != new[row]).tolist()
        for lane in lanes[:1] if unit < VGPR_BASE else lanes:
            shown = None if unit < VGPR_BASE else lane
            found.append(Change(unit_name(unit), shown, int(old[row][lane]), int(new[row][lane])))
    return found
