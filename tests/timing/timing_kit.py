"""Synthetic traces and launches for tests of the timing model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Buffer, Constant, Launch
from asmevo.program import Program
from asmevo.timing import Chip, Estimate, chip, estimate
from programs import program_from_text


@dataclass(frozen=True)
class FakeTrace:
    workgroup: int
    wave: int
    runs: NDArray[np.int32]


def launch_of(workgroups: int = 1, waves: int = 4, *, mebibytes: int = 64, dynamic_lds: int = 0) -> Launch:
    buffer = Buffer("data", "inout", "u8", (mebibytes << 20,), Constant(0))
    return Launch("test", (workgroups, 1, 1), (64 * waves, 1, 1), (), (buffer,), dynamic_lds=dynamic_lds)


def traces_of(program: Program, trips: int = 1, waves: int = 4, workgroup: int = 0) -> list[FakeTrace]:
    """Every wave runs the program once; a block that branches back to itself is a loop of `trips` trips."""
    runs: list[tuple[int, int]] = []
    for block in program.blocks:
        is_loop = block.number in block.successors
        runs += [(block.first, block.last)] * (trips if is_loop else 1)
    return [FakeTrace(workgroup, w, np.array(runs, np.int32)) for w in range(waves)]


def timed(
    text: str,
    trips: int = 1,
    *,
    waves: int = 4,
    workgroups: int = 1,
    on: Chip | None = None,
    mebibytes: int = 64,
    **descriptor: int,
) -> Estimate:
    """Modelled time of a program in text form."""
    program = program_from_text(text, **{"lds_size": 0, **descriptor})
    launch = launch_of(workgroups, waves, mebibytes=mebibytes)
    return estimate(program, launch, traces_of(program, trips, waves), on or chip("mi300x"))
