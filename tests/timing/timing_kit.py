"""Synthetic programs, traces and launches for tests of the timing model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Buffer, Constant, Launch
from asmevo.program import Program
from asmevo.timing import Chip, Estimate, chip, estimate
from asmevo.timing.encode import encode_program
from asmevo.timing.grid import GridRun, run_grid
from asmevo.timing.plan import Plan
from asmevo.timing.traces import collect
from asmevo.timing.traffic import MemoryView
from programs import program_from_text

ANYWHERE = 1 << 20
"""A fetch boundary that no test program reaches: code placement costs nothing."""
L1 = MemoryView(load_latency=112, bytes_per_clk=64.0, inflight=1 << 20)
L2 = MemoryView(load_latency=224, bytes_per_clk=54.0, inflight=1 << 20)


@dataclass(frozen=True)
class FakeTrace:
    workgroup: int
    wave: int
    runs: NDArray[np.int32]


def launch_of(workgroups: int = 1, waves: int = 4, *, mebibytes: int = 64, dynamic_lds: int = 0) -> Launch:
    buffer = Buffer("data", "inout", "u8", (mebibytes << 20,), Constant(0))
    return Launch("test", (workgroups, 1, 1), (64 * waves, 1, 1), (), (buffer,), dynamic_lds=dynamic_lds)


def runs_of(program: Program, trips: int = 1) -> NDArray[np.int32]:
    """The program once, in address order; a block that branches back to itself is a loop of `trips` trips."""
    runs: list[tuple[int, int]] = []
    for block in program.blocks:
        runs += [(block.first, block.last)] * (trips if block.number in block.successors else 1)
    return np.array(runs, np.int32)


def traces_of(program: Program, trips: int = 1, waves: int = 4, workgroup: int = 0) -> list[FakeTrace]:
    return [FakeTrace(workgroup, w, runs_of(program, trips)) for w in range(waves)]


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
    """Modelled time of a program in text form, without penalties for where its code happens to lie."""
    program = program_from_text(text, **{"lds_size": 0, **descriptor})
    launch = launch_of(workgroups, waves, mebibytes=mebibytes)
    on = on or chip("mi300x").with_(fetch_bytes=ANYWHERE)
    return estimate(program, launch, traces_of(program, trips, waves), on)


def loop(body: Sequence[str] | str) -> str:
    """A counted loop around a body; s1 is the counter."""
    text = body if isinstance(body, str) else "\n".join(body)
    return f"s_mov_b32 s1, 9\nloop:\n{text}\ns_sub_u32 s1, s1, 1\ns_cmp_lg_u32 s1, 0\ns_cbranch_scc1 loop\ns_endpgm"


def filled(template: str, **numbers: int) -> str:
    """`v[{d}:{d}+3]` with d=8 becomes `v[8:11]`."""
    for name, value in numbers.items():
        template = re.sub(rf"\{{{name}\}}\+(\d+)", lambda m, n=value: str(n + int(m[1])), template)
        template = template.replace(f"{{{name}}}", str(value))
    return template


def bandwidth(template: str, size: int, active: Sequence[int], view: MemoryView = L1, *, batch: int = 8) -> float:
    """Bytes a clock of one compute unit when `active[s]` waves of SIMD s repeat `batch` accesses and a wait for all."""
    trips = 200
    body = "\n".join(filled(template, d=4 * i, o=i % 4 * 1024) for i in range(batch))
    wait = "lgkmcnt" if template.startswith("ds_") else "vmcnt"
    head = "s_branch go\nidle:\ns_endpgm\ngo:\n"
    program = program_from_text(head + loop(f"{body}\ns_waitcnt {wait}(0)"), lds_size=0)
    block = next(b for b in program.blocks if b.number in b.successors)
    work = [(0, 1), (2, 3), *[(block.first, block.last)] * (trips - 1), (block.first, block.last + 1)]
    waves = [
        FakeTrace(0, w, np.array(work if w // 4 < active[w % 4] else [(0, 1), (1, 2)], np.int32))
        for w in range(4 * max(active))
    ]
    return sum(active) * batch * trips * size / replayed(program, waves, chip("mi308x"), view).cycles


def replayed(program: Program, waves: list[FakeTrace], on: Chip, view: MemoryView = L1) -> GridRun:
    """One workgroup on one compute unit with a given view of memory."""
    samples = collect(program, waves)
    code = encode_program(program, samples.positions, on)
    return run_grid(code, samples, Plan(1, 1, (0,)), view)
