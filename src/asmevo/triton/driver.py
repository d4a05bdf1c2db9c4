"""Triton's driver interface over the simulated chip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from asmevo.isa.limits import limits_of
from asmevo.triton import upstream
from asmevo.triton.array import Array
from asmevo.triton.benchmark import benchmark
from asmevo.triton.execution import Engine, LoadedKernel
from asmevo.triton.launcher import Launcher
from asmevo.verdict import UnsupportedError

_BUS_BITS = 8192
"""Width of the memory bus of an MI300X: eight stacks of 1024 bits."""


_Handles: TypeAlias = tuple[LoadedKernel, LoadedKernel, int, int, int]


class SimDriver:
    """One device, number 0, which takes tensors of the CPU."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.utils = _Utils(engine)
        self.launcher_cls: Callable[[Any, Any], Launcher] = partial(Launcher, engine)

    @property
    def is_timing(self) -> bool:
        """Whether launches are for an estimate of their time, and part of no program."""
        return self.engine.is_timing

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> Any:
        return upstream.GPUTarget("hip", self.engine.chip.target, limits_of(self.engine.chip.target).wave_size)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return 9, 4

    def get_device_interface(self) -> type[_Interface]:
        return _Interface

    def get_active_torch_device(self) -> Any:
        torch: Any = import_module("torch")  # only code that uses torch asks for this
        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., float | Sequence[float]]:
        return partial(benchmark, self.engine)

    def get_empty_cache_for_benchmark(self) -> Array:
        return Array(np.zeros(1, np.int32))

    def clear_cache(self, cache: Array) -> None:
        cache.zero_()

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Array:
        return Array(np.zeros(size, np.int8))


class _Utils:
    """Modules and device properties."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def load_binary(
        self, name: str, binary: bytes, shared: int, device: int
    ) -> tuple[Any, LoadedKernel, int, int, int]:
        """(module, function, registers, spills, most work-items of a workgroup)."""
        loaded = self._engine.load(name, binary)
        facts = next(k for k in loaded.object.metadata["amdhsa.kernels"] if k[".name"] == loaded.kernel.name)
        spills = int(facts.get(".vgpr_spill_count", 0)) + int(facts.get(".sgpr_spill_count", 0))
        return loaded, loaded, int(facts[".vgpr_count"]), spills, loaded.kernel.max_workgroup

    def unload_module(self, module: LoadedKernel) -> None:
        """Nothing: a kernel that Triton forgets is found again by its bytes."""

    def get_device_properties(self, device: int) -> dict[str, Any]:
        chip = self._engine.chip
        limits = limits_of(chip.target)
        return {
            "max_shared_mem": limits.lds,
            "max_num_regs": limits.registers * limits.wave_size * limits.simds,
            "multiprocessor_count": chip.cus,
            "sm_clock_rate": round(chip.clock_ghz * 1e6),
            "mem_clock_rate": round(chip.hbm_bytes_per_s * 8 / (2 * _BUS_BITS) / 1e3),
            "mem_bus_width": _BUS_BITS,
            "arch": chip.target,
            "warpSize": limits.wave_size,
            "max_threads_per_sm": limits.waves_per_simd * limits.simds * limits.wave_size,
            "cooperativeLaunch": 0,
        }


class _Interface:
    """What is left of `torch.cuda` on a device without queues: launches have ended when they return."""

    class Event:
        """Marks nothing: wall time of a simulation says nothing of the chip."""

        def __init__(self, enable_timing: bool = False, **_: Any) -> None:
            pass

        def record(self, stream: Any = None) -> None:
            pass

        def synchronize(self) -> None:
            pass

        def elapsed_time(self, other: Any) -> float:
            raise UnsupportedError(
                "Events do not time a simulated chip; use `triton.testing.do_bench`, which gives modelled time."
            )

    class Stream:
        cuda_stream = 0

        def synchronize(self) -> None:
            pass

    @staticmethod
    def synchronize(device: Any = None) -> None:
        pass

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def set_device(device: Any) -> None:
        pass

    @staticmethod
    def current_stream(device: Any = None) -> _Interface.Stream:
        return _Interface.Stream()

    @staticmethod
    def default_stream(device: Any = None) -> _Interface.Stream:
        return _Interface.Stream()

    @staticmethod
    def get_device_capability(device: Any = None) -> tuple[int, int]:
        return 9, 4
