"""From a launch to its memory image."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from asmevo.codeobject import CodeObject, Kernel
from asmevo.isa.limits import limits_of
from asmevo.launch.fills import File
from asmevo.launch.formats import format_of
from asmevo.launch.hidden import hidden_bytes
from asmevo.launch.image import BASE, CODE_SPACE, MemoryImage, Placement, allocate
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.launch.window import PAGE, Extent, Piece, pieces_of
from asmevo.verdict import EnvironmentError_, InputError

POISONS = (0xA5, 0x5A)
"""The two poison bytes: complements, so that no bit is the same under both."""
_KERNARG_ALIGN = 256
_HOME_ALIGN = 1 << 16
_APART = 1 << 20
"""Bytes between the arguments and the first buffer at a fixed address."""


def build_image(
    launch: Launch,
    obj: CodeObject,
    kernel: Kernel | None = None,
    poison: int = POISONS[0],
    straddle: str | None = None,
) -> MemoryImage:
    """Memory before the launch: code, arguments (hidden ones too), filled buffers, poison everywhere else.

    `straddle` names a buffer inside of which a multiple of 4 GiB lies, as far as its alignment allows: pointer
    arithmetic that loses the carry between its halves shows there and nowhere else; a launch with fixed addresses keeps
    these. Raises `InputError` when the launch does not fit the kernel or a buffer's data does not fit its shape,
    `EnvironmentError_` when memory does not suffice, `UnsupportedError` for an object of a target whose limits are not
    known.
    """
    kernel = obj.kernel(launch.kernel) if kernel is None else kernel
    _check_geometry(launch, kernel, limits_of(obj.target).lds)
    layout = _place(launch, obj, kernel, straddle)
    arguments = _kernarg(launch, kernel, layout.addresses)
    fd, data = allocate(layout.size)
    for offset, size in layout.poisoned:
        data[offset : offset + size] = poison
    for buffer, place in zip(launch.buffers, layout.placements, strict=True):
        if buffer.fill is not None:
            _fill(data[place.address - layout.base :][: place.size], buffer)
    at = layout.kernarg_address - layout.base
    data[at : at + len(arguments)] = np.frombuffer(arguments, np.uint8)
    image = MemoryImage(
        base=layout.base,
        data=data,
        placements=layout.placements,
        kernarg_address=layout.kernarg_address,
        kernarg_size=len(arguments),
        code_space=layout.code_space,
        poison=poison,
        poisoned=layout.poisoned,
        fd=fd,
        pieces=layout.pieces,
    )
    image.load(obj)
    return image


def image_key(launch: Launch, obj: CodeObject, kernel: Kernel) -> Hashable:
    """Equal keys give equal images, but for the code and the poison: everything that `build_image` looks at.

    That includes what is in the data files now, which are read for it.
    """
    files = tuple(b.fill.sha256(b.size) for b in launch.buffers if isinstance(b.fill, File))
    arguments = (kernel.name, kernel.args, kernel.kernarg_size)
    geometry = (kernel.lds_size, kernel.max_workgroup, kernel.required_workgroup, obj.target)
    return launch.digest, files, _code_space(obj), arguments, geometry


def pointer_offsets(launch: Launch, kernel: Kernel) -> tuple[int, ...]:
    """Where in the kernarg segment the addresses of buffers are: what has to be moved with them."""
    return tuple(_offset(item, launch, kernel) for item in launch.kernarg if item.buffer is not None)


def lds_bytes(launch: Launch, kernel: Kernel) -> int:
    """LDS of one workgroup: what the descriptor declares and what the launch adds."""
    return kernel.lds_size + launch.dynamic_lds


@dataclass(frozen=True, slots=True)
class _Layout:
    base: int
    code_space: int
    kernarg_address: int
    placements: tuple[Placement, ...]
    poisoned: tuple[tuple[int, int], ...]
    size: int
    pieces: tuple[Piece, ...] = ()

    addresses: Mapping[str, int] = field(default_factory=dict[str, int])
    """What an argument that points to a buffer holds."""


def _check_geometry(launch: Launch, kernel: Kernel, lds: int) -> None:
    limit = kernel.max_workgroup
    if kernel.required_workgroup not in (None, launch.block):
        raise InputError(
            f"The launch {launch.name!r} has the block {list(launch.block)} and the kernel {kernel.name} is made for "
            f"{list(kernel.required_workgroup or ())}; use that."
        )
    if limit and launch.threads > limit:
        raise InputError(
            f"The launch {launch.name!r} has {launch.threads} work-items in a workgroup and the kernel {kernel.name} "
            f"allows {limit}; reduce `block`."
        )
    if lds_bytes(launch, kernel) > lds:
        raise InputError(
            f"The launch {launch.name!r} needs {lds_bytes(launch, kernel)} bytes of LDS and a workgroup has "
            f"{lds}; reduce `dynamic_lds`."
        )


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align


def _code_space(obj: CodeObject) -> int:
    low, code = obj.load_image()
    return _round_up(2 * (low + len(code)), CODE_SPACE)  # twice: a candidate may grow


def _place(launch: Launch, obj: CodeObject, kernel: Kernel, straddle: str | None) -> _Layout:
    code_space = _code_space(obj)
    kernarg = code_space
    cursor = kernarg + _round_up(max(kernel.kernarg_size, 1), _KERNARG_ALIGN)
    starts: dict[str, int] = {}
    poisoned: list[tuple[int, int]] = []
    edge = kernarg + kernel.kernarg_size
    for buffer in launch.buffers:
        if buffer.address is not None:
            continue
        start = starts[buffer.name] = _round_up(cursor + buffer.red_zone, buffer.align)
        cursor = start + buffer.size + buffer.red_zone
        if buffer.fill is not None:
            poisoned.append((edge, start - edge))
            edge = start + buffer.size
    home = size = _round_up(cursor, PAGE)
    fixed = sorted((b for b in launch.buffers if b.address is not None), key=lambda b: b.address or 0)
    pieces = pieces_of((Extent(b.address or 0, b.size) for b in fixed), home)
    for buffer in fixed:
        start = starts[buffer.name] = _offset_of(buffer.address or 0, pieces, home)
        if buffer.fill is not None:
            if start < edge:
                raise InputError(f"The buffer {buffer.name!r} begins inside of another one; give each byte once.")
            poisoned.append((edge, start - edge))
            edge = start + buffer.size
    if pieces:
        size = pieces[-1].offset + pieces[-1].size
    poisoned.append((edge, size - edge))
    if pieces:
        base = _base_below(pieces[0].address, home, launch)
    else:
        base = BASE if straddle is None else _base_for(launch, starts, straddle)
    placements = tuple(
        Placement(b.name, base + starts[b.name], b.size, b.role, b.red_zone, b.format, b.shape) for b in launch.buffers
    )
    addresses = {b.name: base + starts[b.name] if b.address is None else b.address for b in launch.buffers}
    return _Layout(base, code_space, base + kernarg, placements, tuple(poisoned), size, pieces, addresses)


def _offset_of(address: int, pieces: Sequence[Piece], home: int) -> int:
    """Where a fixed address is in the memory file; the end of the rest for a buffer without bytes."""
    found = bisect_right(pieces, address, key=lambda piece: piece.address)
    return pieces[found - 1].offset + address - pieces[found - 1].address if found else home


def _base_below(lowest: int, home: int, launch: Launch) -> int:
    """The address of code, arguments and the buffers that lie anywhere: in front of those at fixed addresses."""
    align = max(_HOME_ALIGN, *(b.align for b in launch.buffers))
    base = (lowest - home - _APART) // align * align
    if base <= 0:
        raise InputError(
            f"The launch {launch.name!r} has a buffer at 0x{lowest:x}, and code and arguments need {home} bytes in "
            "front of it; give addresses as a device has them."
        )
    return base


def _base_for(launch: Launch, starts: Mapping[str, int], straddle: str) -> int:
    """The base that puts a multiple of 4 GiB behind 5/8 of a buffer, where few tiles end, and keeps all alignments."""
    buffer = launch.buffer(straddle)
    align = max(_KERNARG_ALIGN, *(b.align for b in launch.buffers))
    inside = starts[buffer.name] + buffer.size * 5 // 8
    return BASE + (1 << 32) - inside // align * align


def _fill(memory: np.ndarray, buffer: Buffer) -> None:
    assert buffer.fill is not None
    try:
        codes = buffer.fill.codes(buffer.format, buffer.count)
    except MemoryError as error:
        raise EnvironmentError_(
            f"The data of buffer {buffer.name!r}, {buffer.size} bytes, cannot be made in the memory that is free; use "
            "a smaller shape."
        ) from error
    if codes.nbytes != buffer.size:
        raise InputError(
            f"The buffer {buffer.name!r} has room for {buffer.size} bytes and its data has {codes.nbytes}; "
            "make shape and data agree."
        )
    memory[:] = np.ascontiguousarray(codes).view(np.uint8)


def _kernarg(launch: Launch, kernel: Kernel, address: Mapping[str, int]) -> bytes:
    size = kernel.kernarg_size
    segment, taken = bytearray(size), bytearray(size)
    for item in launch.kernarg:
        offset = _offset(item, launch, kernel)
        data = _field_bytes(item, address)
        if offset < 0 or offset + len(data) > size:
            raise InputError(
                f"{item} takes bytes {offset} to {offset + len(data)} and the kernarg segment of {kernel.name} has "
                f"{size}; compare the launch with `asmevo inspect`."
            )
        if any(taken[offset : offset + len(data)]):
            raise InputError(f"{item} overlaps another argument at offset {offset}; give each byte once.")
        segment[offset : offset + len(data)] = data
        taken[offset : offset + len(data)] = b"\1" * len(data)
    for argument in kernel.args:
        span = slice(argument.offset, argument.offset + argument.size)
        if argument.kind.startswith("hidden_") and not any(taken[span]) and span.stop <= size:
            segment[span] = hidden_bytes(argument, launch)
        elif argument.kind == "global_buffer" and not all(taken[span]):
            label = f" ({argument.name})" if argument.name else ""
            raise InputError(
                f"The launch {launch.name!r} gives nothing for the pointer argument at offset {argument.offset}{label} "
                f"of {kernel.name}; add a kernarg entry with a buffer, or the value 0 of type u64."
            )
    return bytes(segment)


def _offset(item: Field, launch: Launch, kernel: Kernel) -> int:
    if item.offset is not None:
        return item.offset
    found = [a.offset for a in kernel.args if a.name == item.name]
    if len(found) != 1:
        what = "has no argument" if not found else "has several arguments"
        raise InputError(
            f"The kernel {kernel.name} {what} named {item.name!r} in its metadata; give `offset` in launch "
            f"{launch.name!r}."
        )
    return found[0]


def _field_bytes(item: Field, address: Mapping[str, int]) -> bytes:
    if item.buffer is not None:
        return (address[item.buffer] + item.byte_offset).to_bytes(8, "little")
    fmt = format_of(item.type_name)
    if not fmt.is_float:
        info = np.iinfo(fmt.storage)
        if not isfinite(item.value or 0):
            raise InputError(f"{item} has the value {item.value}, which the type {item.type_name} cannot hold.")
        wide = 2 * (int(info.max) + 1) if info.min == 0 else 2 * int(info.max) + 2
        if item.value != int(item.value or 0) or not -(wide // 2) <= int(item.value or 0) < wide:
            raise InputError(f"{item} has the value {item.value}, which the type {item.type_name} cannot hold.")
        return (int(item.value or 0) % wide).to_bytes(fmt.size, "little")
    return fmt.encode(np.array([item.value], np.float64)).tobytes()
