"""Code objects on the GPU, and launches with a raw kernarg segment."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from asmevo.codeobject import CodeObject, Kernel
from asmevo.device.contract import Module
from asmevo.device.hip.binding import HipError, Runtime
from asmevo.device.hip.faults import WRONG_OBJECT
from asmevo.launch import Launch, MemoryImage, pointer_offsets
from asmevo.verdict import UnsupportedError

_KEPT = 16
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3
"""HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel that the runtime has loaded."""

    obj: CodeObject
    kernel: Kernel
    module: ctypes.c_void_p
    function: ctypes.c_void_p


@dataclass(slots=True)
class Modules:
    """Loaded objects, those used last."""

    runtime: Runtime
    target: str
    """What the GPU executes."""
    _kept: OrderedDict[tuple[str, str | None], Loaded] = field(
        default_factory=OrderedDict[tuple[str, str | None], Loaded]
    )

    def load(self, module: Module) -> Loaded:
        """Raises `InputError` for what is no code object, `UnsupportedError` for one that the GPU does not take."""
        key = (module.sha256, module.kernel)
        if key not in self._kept:
            self._require(CodeObject.parse(module.data, "the object").target)
            self._kept[key] = load(self.runtime, module.data, module.kernel)
            while len(self._kept) > _KEPT:
                unload(self.runtime, self._kept.popitem(last=False)[1])
        self._kept.move_to_end(key)
        return self._kept[key]

    def _require(self, target: str) -> None:
        if target != self.target:
            raise UnsupportedError(
                f"The GPU executes {self.target} code and the object is made for {target}; give an object for "
                f"{self.target}."
            )

    def close(self) -> None:
        while self._kept:
            unload(self.runtime, self._kept.popitem()[1])


def load(runtime: Runtime, data: bytes, name: str | None) -> Loaded:
    """Load from memory, once more whether or not it is loaded already."""
    obj = CodeObject.parse(data, "the object")
    kernel = obj.kernel(name)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        runtime.call("hipModuleLoadData", ctypes.byref(module), data)
        runtime.call("hipModuleGetFunction", ctypes.byref(function), module, kernel.symbol.removesuffix(".kd").encode())
    except HipError as error:
        if error.code in WRONG_OBJECT or error.function == "hipModuleGetFunction":
            raise UnsupportedError(f"The GPU does not take the object for {obj.target}: {error}.") from error
        raise
    return Loaded(obj, kernel, module, function)


def unload(runtime: Runtime, loaded: Loaded) -> None:
    runtime.call("hipModuleUnload", loaded.module)


def arguments(launch: Launch, kernel: Kernel, image: MemoryImage, shift: int) -> bytes:
    """The kernarg segment, with the pointers to buffers moved by `shift`."""
    segment = bytearray(image.bytes_at(image.kernarg_address, image.kernarg_size).tobytes())
    for offset in pointer_offsets(launch, kernel) if shift else ():
        value = int.from_bytes(segment[offset : offset + 8], "little") + shift
        segment[offset : offset + 8] = value.to_bytes(8, "little")
    return bytes(segment)


def start(runtime: Runtime, loaded: Loaded, launch: Launch, segment: bytes) -> None:
    """Enqueue one launch; it may not have begun when this returns. The runtime fills hidden arguments itself."""
    buffer, size = ctypes.create_string_buffer(segment, max(1, len(segment))), ctypes.c_size_t(len(segment))
    extra = _pointers([_BUFFER_POINTER, ctypes.addressof(buffer), _BUFFER_SIZE, ctypes.addressof(size), _END])
    runtime.call(
        "hipModuleLaunchKernel",
        loaded.function,
        *(ctypes.c_uint(n) for n in (*launch.grid, *launch.block, launch.dynamic_lds)),
        None,
        None,
        extra,
    )


def _pointers(values: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(values))(*values)
