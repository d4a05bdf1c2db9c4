"""Launches of captured dispatches: at the addresses of the program, or with their pointers moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from asmevo.codeobject import CodeObject, Kernel
from asmevo.launch.capture.layout import CODE, captures_in
from asmevo.launch.capture.read import Capture, Region, read_capture
from asmevo.launch.fills import File
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError, UnsupportedError

_POINTER = "global_buffer"
_WIDTHS = (8, 4, 2, 1)
_CHUNK = 1 << 24


def captured_launches(folder: Path, obj: CodeObject | None = None) -> tuple[Launch, ...]:
    """The launches of a capture, or of a folder of captures, each weighted by how often it occurred.

    With `obj` those of its kernels: of the captures with this very object where there are any, else of those whose
    kernel has the name and the arguments of one of its. Raises `InputError` where that leaves none, and what
    `read_capture` and `launch_of` raise.
    """
    captures = [read_capture(one) for one in captures_in(folder)]
    chosen = captures if obj is None else _of_object(captures, obj)
    if captures and not chosen:
        assert obj is not None
        raise InputError(
            f"None of the captures in {folder} is of a kernel of this object; they are of "
            f"{', '.join(sorted({c.symbol for c in captures}))}, and it has {', '.join(k.name for k in obj.kernels)}."
        )
    return tuple(launch_of(one, obj) for one in chosen)


def _of_object(captures: Sequence[Capture], obj: CodeObject) -> list[Capture]:
    named = [c for c in captures if any(c.symbol in (k.name, k.symbol.removesuffix(".kd")) for k in obj.kernels)]
    exact = [c for c in named if c.code == obj.data]
    return exact or [c for c in named if _same_arguments(c, obj)]


def _same_arguments(capture: Capture, obj: CodeObject) -> bool:
    if capture.code is None:
        return True
    own = CodeObject.parse(capture.code, str(capture.folder / CODE)).kernel(capture.symbol)
    other = obj.kernel(capture.symbol)
    return [(a.offset, a.size, a.kind) for a in own.args] == [(a.offset, a.size, a.kind) for a in other.args]


def launch_of(capture: Capture, obj: CodeObject | None = None) -> Launch:
    """The launch of a capture: its regions at the addresses they had, its arguments as they were.

    Raises `InputError` when the object is missing or does not fit the dispatch, `UnsupportedError` when globals of the
    object had other values than it starts with.
    """
    obj, kernel = _kernel(capture, obj)
    return Launch(
        name=capture.folder.resolve().name,
        grid=capture.grid,
        block=capture.block,
        kernarg=tuple(_raw_fields(capture.kernarg)),
        buffers=tuple(_buffer(capture, region) for region in capture.regions),
        kernel=kernel.name,
        dynamic_lds=capture.lds - kernel.lds_size,
        objective=True,
        weight=float(capture.occurrences),
        sample=capture.sample,
    )


def relocated(capture: Capture, obj: CodeObject | None = None) -> Launch:
    """The same dispatch with its regions anywhere, between red zones, and its pointer arguments changed to fit.

    Only what the object's metadata calls a pointer is changed, so memory must hold none: raises `InputError` for a
    region with words that could be pointers, and for a pointer argument into nothing, besides what `launch_of` raises.
    """
    launch = launch_of(capture, obj)
    _, kernel = _kernel(capture, obj)
    fields = {field.offset: field for field in launch.kernarg}
    used: dict[str, Region] = {}
    for argument in kernel.args:
        if argument.kind != _POINTER or argument.size != 8:
            continue
        address = int.from_bytes(capture.kernarg[argument.offset : argument.offset + 8], "little")
        region = capture.region_at(address)
        if region is not None:
            used[_name(region)] = region
            target = Field(argument.name, argument.offset, buffer=_name(region), byte_offset=address - region.base)
            fields[argument.offset] = target
        elif address:
            raise InputError(
                f"The pointer argument at offset {argument.offset} of {capture.folder} is 0x{address:x}, which no "
                "region holds; replay the capture at its own addresses."
            )
    for region in used.values():
        _refuse_pointers(capture, region)
    buffers = (b for b in launch.buffers if b.name in used)
    free = tuple(Buffer(b.name, b.role, b.dtype, b.shape, b.fill) for b in buffers)
    return replace(launch, kernarg=tuple(fields.values()), buffers=free)


def moved_files(launch: Launch) -> tuple[Launch, dict[str, Path]]:
    """A launch with its data files under a folder of its own name, and where each of them is now."""
    sources: dict[str, Path] = {}
    buffers: list[Buffer] = []
    for buffer in launch.buffers:
        if isinstance(buffer.fill, File):
            name = f"{launch.name}/{Path(buffer.fill.path).name}"
            sources[name] = buffer.fill.place
            buffer = replace(buffer, fill=replace(buffer.fill, path=name))
        buffers.append(buffer)
    return replace(launch, buffers=tuple(buffers)), sources


def _kernel(capture: Capture, obj: CodeObject | None) -> tuple[CodeObject, Kernel]:
    if obj is None:
        if capture.code is None:
            raise InputError(
                f"The capture {capture.folder} has no {CODE}: the object was not caught. Put it there under that name."
            )
        obj = CodeObject.parse(capture.code, str(capture.folder / CODE))
    kernel = obj.kernel(capture.symbol)
    if capture.target and capture.target != obj.target:
        raise InputError(
            f"{capture.folder} was captured on {capture.target} and the object is for {obj.target}; take the object of "
            "that chip."
        )
    if capture.lds < kernel.lds_size:
        raise InputError(
            f"The dispatch in {capture.folder} has {capture.lds} bytes of LDS and the kernel {kernel.name} declares "
            f"{kernel.lds_size}; it is another kernel than the captured one."
        )
    low, code = obj.load_image()
    for variable in capture.variables:
        at = next((s.value - low for s in obj.symbols if s.name == variable.name), None)
        if at is not None and code[at : at + len(variable.content)] != variable.content:
            raise UnsupportedError(
                f"The global {variable.name!r} of {capture.folder} was changed before the dispatch, and a launch "
                "starts with the object's own globals; capture a dispatch that needs none."
            )
    return obj, kernel


def _raw_fields(kernarg: bytes) -> list[Field]:
    """The arguments as numbers of 8 bytes, the last ones smaller."""
    fields: list[Field] = []
    at = 0
    while at < len(kernarg):
        width = next(w for w in _WIDTHS if at + w <= len(kernarg))
        value = int.from_bytes(kernarg[at : at + width], "little")
        fields.append(Field(offset=at, value=value, type=f"u{8 * width}"))
        at += width
    return fields


def _buffer(capture: Capture, region: Region) -> Buffer:
    fill = File(region.file, folder=str(capture.folder.resolve()))
    return Buffer(_name(region), "inout", "uint8", (region.size,), fill, red_zone=0, address=region.base)


def _name(region: Region) -> str:
    return f"region_{region.base:x}"


def _refuse_pointers(capture: Capture, region: Region) -> None:
    """Raise for a region with words that lie in a region: they would point to nothing once it is moved."""
    fill = File(region.file, folder=str(capture.folder))
    words = fill.raw(region.size - region.size % 8).view(np.uint64)
    for low in range(0, len(words), _CHUNK):
        part = words[low : low + _CHUNK]
        for other in capture.regions:
            found = np.flatnonzero((part >= np.uint64(other.base)) & (part < np.uint64(other.end)))
            if len(found):
                at = 8 * (low + int(found[0]))
                raise InputError(
                    f"The region at 0x{region.base:x} of {capture.folder} holds what looks like a pointer, at offset "
                    f"{at}, so it cannot be moved; replay the capture at its own addresses."
                )
