"""Executing workgroups of a launch so that the model can replay them: their paths, and where their data lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.program import Program
from asmevo.sim import AccessHook, Executable, Execution, Limits, execute
from asmevo.sim.driver import Geometry, Memory
from asmevo.timing.banks import COLUMNS, MEMORY_ACCESS, SCRATCH, hook_function, kind_of


@dataclass(frozen=True)
class Accesses:
    """What a program's accesses to LDS and memory asked for, over everything that was executed.

    The replay takes each execution of an instruction to ask for what it does in the mean: waves and trips of a loop
    that conflict more or touch more lines than others are not told apart.
    """

    passes: NDArray[np.int64]
    """[position] Of LDS, beyond those that an access without bank conflicts takes; a pass serves up to 32 banks."""
    lines: NDArray[np.int64]
    """[position] Of memory, different ones in each execution."""
    whole_lines: NDArray[np.int64]
    """[position] Those of them of which it asked for every dword."""
    executions: NDArray[np.int64]
    """[position]"""


class AccessRecorder:
    """Counts what a program's accesses ask for while its `hook` is given to `execute`."""

    def __init__(self, program: Program) -> None:
        self._notes = np.zeros(SCRATCH + COLUMNS * len(program.lines), np.int64)
        self._rows = self._notes[SCRATCH:].reshape(-1, COLUMNS)
        self._rows[:, 0] = [kind_of(line.instruction) for line in program.lines]

    @property
    def hook(self) -> AccessHook:
        """Valid as long as the recorder lives."""
        return AccessHook(hook_function(), self._notes.ctypes.data)

    @property
    def accesses(self) -> Accesses:
        """What was counted until now."""
        kind, asked, executions, whole = self._rows.T
        memory = kind >= MEMORY_ACCESS
        return Accesses(np.where(memory, 0, asked), np.where(memory, asked, 0), whole.copy(), executions.copy())


@dataclass(frozen=True)
class Recording:
    """Workgroups executed for the replay."""

    execution: Execution
    accesses: Accesses


def record(
    executable: Executable,
    launch: Geometry,
    image: Memory,
    *,
    workgroups: Sequence[int] | None = None,
    limits: Limits | None = None,
) -> Recording:
    """Execute workgroups of a launch with tracing, all of them where none are named. They change the image."""
    recorder = AccessRecorder(executable.program)
    done = execute(
        executable, launch, image, limits=limits, workgroups=workgroups, trace=True, access_hook=recorder.hook
    )
    return Recording(done, recorder.accesses)
