"""From the arguments of a Triton launch to the launch of the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from asmevo.codeobject import Argument, Kernel
from asmevo.launch import Buffer, Field, Launch, Memory
from asmevo.triton.host import ALIGN, Storage, address_of, extent_of, merged
from asmevo.verdict import UnsupportedError, UsageError

Extent: TypeAlias = Callable[[str, Any], Storage | None]
"""The storage of the tensor of an argument."""
_INTEGERS = ("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64")
_FLOATS = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32", "fp64": "f64"}


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch, and the host memory that its buffers of the same position stand for."""

    launch: Launch
    storages: tuple[Storage, ...]


@dataclass(frozen=True, slots=True)
class _Given:
    name: str
    argument: Argument
    type: str
    """Triton's name, such as `*fp16` or `i32`."""
    value: Any


def launch_of(
    kernel: Kernel,
    signature: Sequence[tuple[str, Any]],
    values: Sequence[Any],
    scratch: Sequence[Any],
    *,
    grid: tuple[int, int, int],
    threads: int,
    dynamic_lds: int,
    extent: Extent = extent_of,
) -> HostLaunch:
    """The launch of a kernel that Triton compiled, with the whole storage of each tensor as a buffer.

    `signature` has a name and Triton's type for each of `values`: tuples nested, `constexpr` for what is no argument.
    `scratch` are the two trailing pointers, null where the kernel needs none. `extent` finds the storage of a tensor.
    """
    explicit = [a for a in kernel.args if not a.kind.startswith("hidden_")]
    flat = [one for (name, kind), value in zip(signature, values, strict=True) for one in _flat(name, kind, value)]
    flat += [("scratch", "*i8", one) for one in scratch]
    if len(flat) != len(explicit):
        raise UnsupportedError(
            f"Triton gives {len(flat)} arguments to {kernel.name} and its metadata has {len(explicit)}; "
            "use Triton 3.9, which this driver is made for."
        )
    given = [_Given(name, a, kind, value) for a, (name, kind, value) in zip(explicit, flat, strict=True)]
    found = (extent(g.name, g.value) for g in given if g.type.startswith("*"))
    storages = merged(one for one in found if one is not None)
    names = _unique([s.name for s in storages])
    launch = Launch(
        name=kernel.name,
        grid=grid,
        block=(threads, 1, 1),
        kernarg=tuple(_field(g, storages, names, extent) for g in given),
        buffers=tuple(
            Buffer(name, "inout", "uint8", (s.lead + s.size,), Memory(s.content), align=max(256, ALIGN))
            for name, s in zip(names, storages, strict=True)
        ),
        kernel=kernel.name,
        dynamic_lds=dynamic_lds,
    )
    return HostLaunch(launch, storages)


def _flat(name: str, kind: Any, value: Any) -> Iterator[tuple[str, str, Any]]:
    if isinstance(kind, tuple):
        for i, (part, one) in enumerate(zip(cast("tuple[Any, ...]", kind), value, strict=True)):
            yield from _flat(f"{name}[{i}]", part, one)
    elif kind != "constexpr":
        yield name, str(kind), value


def _unique(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name}#{i}" for i, name in enumerate(names)]


def _field(given: _Given, storages: Sequence[Storage], names: Sequence[str], extent: Extent) -> Field:
    name, offset = given.name, given.argument.offset
    if given.type.startswith("*"):
        address, own = address_of(given.value), extent(name, given.value)
        for buffer, storage in zip(names, storages, strict=True):
            if own is not None and storage.start <= own.start < storage.start + storage.size:
                return Field(name, offset, buffer=buffer, byte_offset=storage.offset(address))
        return Field(name, offset, value=address, type="u64")
    if given.type in _FLOATS:
        return Field(name, offset, value=float(given.value), type=_FLOATS[given.type])
    if given.type in _INTEGERS:
        width = 8 * given.argument.size
        return Field(name, offset, value=int(given.value) % (1 << width), type=f"u{width}")
    raise UsageError(f"The argument {name!r} of {given.type} is of a kind that this driver does not pass on.")
