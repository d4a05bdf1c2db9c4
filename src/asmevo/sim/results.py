"""What a run is limited by and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from asmevo.verdict import Finding


class WaveOrder(StrEnum):
    """Whether the first workgroup and wave goes ahead, or the last. Correct code leaves the same in every order."""

    ASCENDING = "ascending"
    DESCENDING = "descending"
    """The last workgroup first, and of each workgroup the last wave."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets that end a run which does not end by itself."""

    instructions: int = 200_000_000
    """Instructions that one wave may execute."""
    quantum: int = 1_000_000
    """Instructions after which a wave lets the others run although it does not look as if it polled memory."""
    patience: int = 1_000_000
    """Instructions of each wave after which polling without any change of memory is a deadlock."""
    residents: int | None = None
    """Workgroups under way at once; None takes what an MI300X holds. Only used when workgroups wait for each other."""


@dataclass(frozen=True, slots=True)
class WaveTrace:
    """The path of one wave through the program."""

    workgroup: int
    wave: int
    runs: NDArray[np.int32]
    """[n, 2] half-open ranges of positions in `Program.lines`, in execution order."""


@dataclass(frozen=True, slots=True)
class AccessHook:
    """Native code that a run calls before each access of vector instructions to LDS and to global memory, and what it
    is given. Whoever makes it keeps it alive.

    `void function(int64_t *notes, int64_t position, int64_t slot, const int64_t *places, uint64_t lanes)`: `position`
    in `Program.lines`; `slot` 1 for the second address of an LDS instruction with two; `lanes` are those whose data lie
    inside as a whole; `places[lane]` is where they begin, in bytes from the start of the workgroup's LDS or of the
    memory image. Scratch, what flat instructions do outside of global memory, and dwords of swizzled buffers that lie
    apart have no lanes. The run goes on as if there were no hook.
    """

    function: int
    """Host address."""
    notes: int
    """Host address of whatever the function works on."""


@dataclass(frozen=True)
class Execution:
    """The outcome of running some or all workgroups of a launch."""

    status: str
    """`done`; `fault`: an access outside of memory or a trap; `limit`: a wave used up its instructions; `deadlock`: all
    waves wait at barriers and in polling loops for what none of them will do."""
    fault: Finding | None
    instructions: int
    """Wave instructions executed."""
    line_counts: Mapping[int, int]
    """Line id to the number of times a wave executed it."""
    line_partial: frozenset[int]
    """Ids of lines that were executed with some lanes switched off."""
    lines_active: frozenset[int]
    """Ids of lines whose execution counts: vector and memory instructions that some lane executed, and all others."""
    traces: tuple[WaveTrace, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What a checked run found."""
    lds_reads: NDArray[np.int32] | None = field(default=None, compare=False)
    """[n, 4] line id, wave, workgroup and digest of the values of each recorded read of LDS, in order."""
    cpu_seconds: float = field(default=0.0, compare=False)
    """CPU time of this process, compilation included."""
