"""Executing workgroups of a launch so that the model can replay them: their paths, and their LDS bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.program import Program
from asmevo.sim import Executable, Execution, LdsHook, Limits, execute
from asmevo.sim.driver import Geometry, Memory
from asmevo.timing.banks import COLUMNS, SCRATCH, hook_function, kind_of


@dataclass(frozen=True)
class LdsConflicts:
    """Bank conflicts of a program's LDS instructions over everything that was executed.

    The replay takes each execution of an instruction to conflict as it does in the mean: waves and trips of a loop that
    conflict more than others are not told apart.
    """

    passes: NDArray[np.int64]
    """[position] Passes beyond those that an access without conflicts takes; a pass serves up to 32 banks."""
    executions: NDArray[np.int64]
    """[position]"""


class LdsRecorder:
    """Counts the conflicts of a program's LDS accesses while its `hook` is given to `execute`."""

    def __init__(self, program: Program) -> None:
        self._notes = np.zeros(SCRATCH + COLUMNS * len(program.lines), np.int64)
        self._rows = self._notes[SCRATCH:].reshape(-1, COLUMNS)
        self._rows[:, 0] = [kind_of(line.instruction) for line in program.lines]

    @property
    def hook(self) -> LdsHook:
        """Valid as long as the recorder lives."""
        return LdsHook(hook_function(), self._notes.ctypes.data)

    @property
    def conflicts(self) -> LdsConflicts:
        """What was counted until now."""
        return LdsConflicts(self._rows[:, 1].copy(), self._rows[:, 2].copy())


@dataclass(frozen=True)
class Recording:
    """Workgroups executed for the replay."""

    execution: Execution
    lds: LdsConflicts


def record(
    executable: Executable,
    launch: Geometry,
    image: Memory,
    *,
    workgroups: Sequence[int] | None = None,
    limits: Limits | None = None,
) -> Recording:
    """Execute workgroups of a launch with tracing, all of them where none are named. They change the image."""
    recorder = LdsRecorder(executable.program)
    done = execute(executable, launch, image, limits=limits, workgroups=workgroups, trace=True, lds_hook=recorder.hook)
    return Recording(done, recorder.conflicts)
