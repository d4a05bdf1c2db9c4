"""Machine code for the host: LLVM IR text to objects, and objects into the running process, through llvmlite."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from threading import RLock
from typing import Any, cast

import llvmlite.binding as _llvm  # pyright: ignore[reportMissingTypeStubs] - it carries no types

from asmevo.verdict import EnvironmentError_

llvm: Any = cast(Any, _llvm)
"""llvmlite, without the checks of types that it cannot pass."""


class Effort(IntEnum):
    """How much work code generation is worth."""

    QUICK = 0
    """For blocks that may run only a few times: the lowest level of code generation."""
    HOT = 1
    """For blocks that have run often: registers are allocated with care. Passes gain less than they cost."""
    THOROUGH = 2
    """For the runtime: LLVM's passes run over it."""


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that code is compiled for."""

    triple: str
    cpu: str
    features: str = ""

    @property
    def architecture(self) -> str:
        name = self.triple.partition("-")[0]
        return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)

    @classmethod
    def this(cls) -> Host:
        """The machine this process runs on."""
        _initialize()
        return cls(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


class Compiler:
    """Compiles IR text for one host. Thread-safe; LLVM works under one lock."""

    def __init__(self, host: Host) -> None:
        _initialize()
        self.host = host
        self._machines = {level: self._machine(level) for level in Effort}
        self._lock = RLock()

    def _machine(self, level: Effort) -> Any:
        target = llvm.Target.from_triple(self.host.triple)
        return target.create_target_machine(
            cpu=self.host.cpu, features=self.host.features, opt=int(level), reloc="pic", codemodel="small"
        )

    def compile(self, text: str, effort: Effort) -> bytes:
        """The object of a module."""
        machine = self._machines[effort]
        with self._lock:
            try:
                module = llvm.parse_assembly(text)
            except RuntimeError as error:
                raise AssertionError(f"the simulator emitted IR that LLVM refuses: {error}\n{text}") from error
            module.triple = self.host.triple
            module.data_layout = str(machine.target_data)
            if effort is Effort.THOROUGH:
                tuning = llvm.create_pipeline_tuning_options(speed_level=2)
                tuning.loop_vectorization = False
                builder = llvm.create_pass_builder(machine, tuning)
                builder.getModulePassManager().run(module, builder)
            return machine.emit_object(module)


@dataclass(frozen=True, slots=True)
class Library:
    """An object in the process; its functions are callable while this value lives."""

    addresses: Mapping[str, int]
    tracker: Any


class Linker:
    """Loads objects into the process. One for all blocks, since they call each other's helpers."""

    def __init__(self) -> None:
        _initialize()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
        self._numbers = itertools.count()
        self._lock = RLock()

    def load(self, objects: Iterable[bytes], exports: Iterable[str], imports: Mapping[str, int]) -> Library:
        """Link objects into one library and give the addresses of `exports`.

        `imports` are the addresses of the functions that the objects call. Raises `EnvironmentError_` when the host
        refuses executable memory.
        """
        builder = llvm.JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        names = tuple(exports)
        for name in names:
            builder.export_symbol(name)
        builder.add_current_process()
        with self._lock:
            try:
                tracker = builder.link(self._jit, f"asmevo{next(self._numbers)}")
            except RuntimeError as error:
                raise EnvironmentError_(
                    f"The simulator's code cannot be loaded ({error}); allow executable memory for this process."
                ) from error
        return Library({name: tracker[name] for name in names}, tracker)


@lru_cache(maxsize=1)
def linker() -> Linker:
    """The linker of this process."""
    return Linker()
