"""Recording dispatches of Triton kernels as capture folders, whatever driver launches them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.launch import Buffer, Launch
from asmevo.launch.capture import Extra, occurrences_of, write_capture
from asmevo.triton import upstream
from asmevo.triton.arguments import launch_of
from asmevo.triton.array import Array
from asmevo.triton.host import ON_DEVICE, device_extent_of, extent_of

_FIRST, _STEP = 0x7F00_0000_0000, 2 << 20
"""Addresses of buffers that have none of a device: the first, and what they are multiples of."""
_NAME = 150
"""Letters of a kernel's name that Triton uses for files."""


@dataclass
class Recorded:
    """Dispatches that are alike: same object, grid, scalars and sizes of memory."""

    kernel: str
    folder: Path | None
    """Where the first of them is kept; None when the limit was reached."""
    count: int = 1


@dataclass
class Recorder:
    """Writes the first dispatch of each kind into a folder of its own, and counts all of them.

    Works between Triton and its driver: whatever the driver, kernels are loaded by `utils.load_binary` and launched by
    what `launcher_cls` makes. `kernels` are the names of those to be recorded, all when it is empty; at most `limit`
    kinds are kept.
    """

    out: Path
    kernels: frozenset[str] = frozenset()
    limit: int = 16
    seen: dict[str, int] = field(default_factory=dict[str, int])
    """Launches by kernel name, recorded or not."""
    _kinds: dict[bytes, Recorded] = field(default_factory=dict[bytes, Recorded])
    _binaries: dict[int, tuple[Any, bytes]] = field(default_factory=dict[int, Any])
    _launches: int = 0

    def attach(self, driver: Any) -> None:
        """From now on record what this driver launches."""
        load, make = driver.utils.load_binary, driver.launcher_cls

        def load_binary(name: str, binary: bytes, *rest: Any) -> Any:
            loaded = load(name, binary, *rest)
            self._binaries[_key(loaded[1])] = loaded[1], bytes(binary)
            return loaded

        def launcher(source: Any, metadata: Any) -> _Watched:
            return _Watched(self, driver, make(source, metadata), source, metadata)

        driver.utils.load_binary, driver.launcher_cls = load_binary, launcher

    @property
    def kinds(self) -> tuple[Recorded, ...]:
        """What was found, in the order of first dispatches."""
        return tuple(self._kinds.values())

    def finish(self) -> None:
        """Write down how often each kind occurred."""
        for kind in self.kinds:
            if kind.folder is not None:
                occurrences_of(kind.folder, kind.count)

    def wants(self, name: str) -> bool:
        return not self.kernels or name in self.kernels

    def count(self, name: str) -> int:
        """Number of a launch in the program, from 0."""
        self.seen[name] = self.seen.get(name, 0) + 1
        self._launches += 1
        return self._launches - 1

    def binary(self, function: Any) -> bytes:
        return self._binaries[_key(function)][1]

    def record(self, name: str, launch: Launch, binary: bytes, extra: Extra) -> None:
        """Keep a dispatch unless one of its kind is kept."""
        kind = _kind(launch, binary)
        if kind in self._kinds:
            self._kinds[kind].count += 1
            return
        kept = sum(r.folder is not None for r in self.kinds)
        folder = self.out / f"{name[:_NAME]}-{kept}" if kept < self.limit else None
        if folder is not None:
            write_capture(folder, launch, CodeObject.parse(binary, name), extra)
        self._kinds[kind] = Recorded(name, folder)


class _Watched:
    """A launcher that records before it launches."""

    def __init__(self, recorder: Recorder, driver: Any, inner: Any, source: Any, metadata: Any) -> None:
        self._recorder, self._driver, self._inner = recorder, driver, inner
        self._source, self._metadata = source, metadata
        self._name = str(source.name)
        descriptors = getattr(metadata, "tensordesc_meta", None)
        self._signature: list[tuple[str, Any]] = [
            (str(name), one)
            for name, kind in source.signature.items()
            for one in upstream.expand_signature([kind], descriptors, "tensordesc")
        ]
        self._flatten: Any = upstream.handle_descriptors(self._record, source.signature, descriptors, _decomposed)

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, *rest: Any) -> Any:
        """Triton's call: after the function come packed metadata, launch metadata, two hooks and the arguments."""
        timing = getattr(self._driver, "is_timing", False)
        if x * y * z > 0 and not timing:
            index = self._recorder.count(self._name)
            if self._recorder.wants(self._name):
                self._flatten((x, y, z), index, function, rest[4:])
        return self._inner(x, y, z, stream, function, *rest)

    def _record(self, grid: tuple[int, int, int], index: int, function: Any, values: tuple[Any, ...]) -> None:
        m = self._metadata
        binary = self._recorder.binary(function)
        kernel = CodeObject.parse(binary, self._name).kernel(m.name)
        on_device = any(_is_on_device(value) for value in values)
        if on_device:
            self._driver.get_device_interface().synchronize()
        workgroups = grid[0] * grid[1] * grid[2]
        given = launch_of(
            kernel,
            self._signature,
            values,
            [_scratch(workgroups * size) for size in (m.global_scratch_size, m.profile_scratch_size)],
            grid=grid,
            threads=m.num_warps * m.warp_size,
            dynamic_lds=m.shared,
            extent=device_extent_of if on_device else extent_of,
        )
        launch = _in_order(given.launch)
        own = {b.name: s.start - s.lead for b, s in zip(given.launch.buffers, given.storages, strict=True)}
        addresses = [own[b.name] for b in launch.buffers] if on_device else _addresses(launch.buffers)
        buffers = (replace(b, address=a, red_zone=0) for b, a in zip(launch.buffers, addresses, strict=True))
        launch = replace(launch, buffers=tuple(buffers))
        self._recorder.record(self._name, launch, binary, self._extra(index, values))

    def _extra(self, index: int, values: tuple[Any, ...]) -> Extra:
        source = self._source
        names = list(source.fn.arg_names)
        constants = {str(names[path[0]]): _plain(value) for path, value in source.constants.items()}
        key = base64.b32encode(bytes.fromhex(source.hash())).decode().rstrip("=")
        tensors = [
            {"name": name, "dtype": str(value.dtype), "shape": [int(n) for n in value.shape]}
            for (name, _), value in zip(self._signature, values, strict=True)
            if hasattr(value, "data_ptr") and hasattr(value, "shape")
        ]
        triton = {
            "override": f"{key}/{self._name[:_NAME]}.hsaco",
            "num_warps": self._metadata.num_warps,
            "tensors": tensors,
        }
        metadata = {"triton_user_name": self._name, "constexpr_values": constants}
        return Extra(index=index, metadata=metadata, ours={"triton": triton})


def _decomposed(descriptor: Any, *_: Any) -> list[Any]:
    return upstream.decompose_descriptor(descriptor)


def _key(function: Any) -> int:
    """A number of a function handle; handles that are no numbers are kept, so that theirs stay their own."""
    return function if isinstance(function, int) else id(function)


def _is_on_device(value: Any) -> bool:
    return getattr(getattr(value, "device", None), "type", "cpu") in ON_DEVICE


def _scratch(size: int) -> Array | None:
    return Array(np.zeros(size, np.int8)) if size else None


def _in_order(launch: Launch) -> Launch:
    """The buffers in the order of the arguments that point to them, wherever the host had them."""
    order = [f.buffer for f in launch.kernarg if f.buffer is not None]
    return replace(launch, buffers=tuple(sorted(launch.buffers, key=lambda b: order.index(b.name))))


def _addresses(buffers: Sequence[Buffer]) -> list[int]:
    """Addresses as an allocator of a device gives them, the same in every run."""
    result: list[int] = []
    at = _FIRST
    for buffer in buffers:
        result.append(at)
        at += -(-max(buffer.size, 1) // _STEP) * _STEP
    return result


def _kind(launch: Launch, binary: bytes) -> bytes:
    """What dispatches that count as the same have in common: everything but what memory holds and where it lies."""
    shape = [(b.size,) for b in launch.buffers]
    arguments = [(f.offset, f.value, f.buffer, f.byte_offset) for f in launch.kernarg]
    facts = (launch.grid, launch.block, launch.dynamic_lds, shape, arguments)
    return hashlib.sha256(binary + repr(facts).encode()).digest()


def _plain(value: Any) -> Any:
    """A constant as JSON has it; else its text."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
