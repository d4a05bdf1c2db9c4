"""Small kernels on one compute unit of the chip that published microbenchmarks were measured on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from asmevo.launch import Buffer, Field, Launch, Zeros, build_image
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable
from asmevo.timing import Chip, Recording, chip, prepare, record
from asmevo.timing.encode import encode_program
from asmevo.timing.grid import run_grid
from asmevo.timing.plan import Plan
from asmevo.timing.traffic import MemoryView
from benchmarks.timing_assembly import assembled

TRIPS: Final = 100
ANYWHERE: Final = 1 << 20
"""A fetch boundary that no kernel here reaches: code placement costs nothing."""
WITHIN: Final = 0.10


@dataclass(frozen=True, slots=True)
class Cell:
    """One published figure."""

    name: str
    measured: float
    modelled: float
    unit: str
    cause: str = ""
    """Why the model misses it, where that is known."""

    @property
    def within(self) -> bool:
        return abs(self.modelled / self.measured - 1) <= WITHIN


def loop(body: list[str]) -> str:
    """The body `TRIPS` times over."""
    lines = ["s_movk_i32 s10, 0", "1:", *body, "s_add_u32 s10, s10, 1", f"s_cmp_lt_u32 s10, {TRIPS}"]
    return "\n".join([*lines, "s_cbranch_scc1 1b"])


class Bench:
    """Runs kernels on the simulator and replays them on one compute unit of the chip that was measured."""

    def __init__(self, kernels: dict[str, str], on: Chip | None = None) -> None:
        self._object = assembled(kernels)
        self._on = (on or chip("mi308x")).with_(fetch_bytes=ANYWHERE)
        self._executables = cache(self._executable)
        self._cache = BlockCache()

    def _executable(self, kernel: str) -> Executable:
        return Executable.build(recover(self._object, kernel), self._cache)

    def recorded(self, kernel: str, waves: int = 1, simds: int = 1, each: int = 1) -> Recording:
        """An execution by a workgroup of so many waves, with these arguments."""
        executable = self._executables(kernel)
        launch = _launch(kernel, waves, simds, each)
        return record(executable, launch, build_image(launch, self._object, executable.program.kernel))

    def clocks(
        self, kernel: str, waves: int = 1, simds: int = 1, each: int = 1, view: MemoryView | None = None
    ) -> float:
        """Clocks of a workgroup of so many waves, `each` of them on each SIMD of the mask at work."""
        done = self.recorded(kernel, waves, simds, each)
        program, launch = self._executables(kernel).program, _launch(kernel, waves, simds, each)
        ready = prepare(program, launch, done.execution.traces, self._on, done.accesses)
        code = encode_program(program, ready.samples.positions, self._on, ready.accesses)
        l1 = MemoryView(self._on.l1_latency, self._on.l1_bytes_per_clk, 1 << 20)
        return run_grid(code, ready.samples, Plan(1, 1, (0,)), view or l1).cycles


def _launch(kernel: str, waves: int, simds: int, each: int) -> Launch:
    arguments = (Field("data", buffer="data"), Field("simds", value=simds), Field("waves", value=each))
    data = Buffer("data", "in", "uint8", (65536,), Zeros())
    return Launch(kernel, (1, 1, 1), (64 * waves, 1, 1), arguments, (data,), kernel=kernel)
