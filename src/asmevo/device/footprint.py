"""The part of captured memory that a launch touches: captures may be tens of GiB, of which a dispatch uses little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asmevo.codeobject import CodeObject
from asmevo.device.contract import Device
from asmevo.device.unmapped import missing
from asmevo.launch import Buffer, File, Launch, build_image
from asmevo.launch.window import Extent
from asmevo.timing import traces_needed
from asmevo.verdict import UnsupportedError

WHOLE = 64 << 20
"""A launch with no more bytes at fixed addresses than this is left as it is, and so is a buffer of 1/64 of it."""
CLUSTER = 1 << 16
"""Bytes that are kept or left out together."""
_ROUNDS = 500


def trimmed(launch: Launch, obj: CodeObject, device: Device) -> Launch:
    """The launch with only those parts of its large buffers at fixed addresses that the kernel of `obj` touches, and 64
    KiB on both sides of each; the launch itself where it is small.

    Found by running: memory that is missing reads as zero, then is filled in, until a run misses nothing. An access of
    what was left out counts as a fault. Raises `UnsupportedError` for a kernel that does not end, or that
    follows pointers without end.
    """
    if not is_large(launch):
        return launch
    large = {b.name: b for b in launch.buffers if _can_be_trimmed(b)}
    module = device.load(obj.data, launch.kernel)
    sampled = launch.sampled()
    workgroups = None if sampled is None else tuple(sorted({*sampled, *traces_needed(launch)}))
    kept = {name: {0, (b.size - 1) // CLUSTER} for name, b in large.items()}
    for _ in range(_ROUNDS):
        trial = _with(launch, kept)
        outcome = device.run(module, trial, build_image(trial, obj), workgroups=workgroups)
        lacking = missing(outcome.fault)
        if not outcome.done and not lacking:
            raise UnsupportedError(
                f"K0 ends with {outcome.status} on the launch {launch.name!r}, so it is not known which memory it "
                f"touches; capture it with less memory. {outcome.fault.message if outcome.fault else ''}".rstrip()
            )
        before = sum(map(len, kept.values()))
        for extent in lacking:
            for name, buffer in large.items():
                kept[name].update(_clusters(buffer, extent))
        if sum(map(len, kept.values())) == before:
            return _with(launch, {name: _widened(large[name], clusters) for name, clusters in kept.items()})
    raise UnsupportedError(
        f"The launch {launch.name!r} touches memory that it finds through pointers, in more than {_ROUNDS} steps; "
        "capture it with less memory."
    )


def is_large(launch: Launch) -> bool:
    """Whether a launch has so much captured memory that only what is touched should be kept."""
    fixed = [b for b in launch.buffers if b.address is not None]
    return sum(b.size for b in fixed) > WHOLE and any(map(_can_be_trimmed, fixed))


def _can_be_trimmed(buffer: Buffer) -> bool:
    return buffer.address is not None and isinstance(buffer.fill, File) and buffer.size > WHOLE // 64


def _clusters(buffer: Buffer, extent: Extent) -> range:
    """Numbers of the clusters of a buffer that an extent meets."""
    assert buffer.address is not None
    first, end = extent.address - buffer.address, extent.address + extent.size - buffer.address
    first, end = max(first, 0), min(end, buffer.size)
    return range(first // CLUSTER, (end - 1) // CLUSTER + 1) if first < end else range(0)


def _widened(buffer: Buffer, clusters: set[int]) -> set[int]:
    last = (buffer.size - 1) // CLUSTER
    return {n for c in clusters for n in (c - 1, c, c + 1) if 0 <= n <= last}


def _with(launch: Launch, kept: dict[str, set[int]]) -> Launch:
    """The launch with those clusters of its large buffers and no others."""
    buffers: list[Buffer] = []
    for buffer in launch.buffers:
        if buffer.name in kept:
            buffers.extend(_parts(buffer, sorted(kept[buffer.name])))
        else:
            buffers.append(buffer)
    return replace(launch, buffers=tuple(buffers))


def _parts(buffer: Buffer, clusters: list[int]) -> Iterator[Buffer]:
    assert isinstance(buffer.fill, File) and buffer.address is not None
    runs: list[list[int]] = []
    for number in clusters:
        if runs and number == runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([number, number + 1])
    for first, end in runs:
        start, stop = first * CLUSTER, min(end * CLUSTER, buffer.size)
        fill = replace(buffer.fill, offset=buffer.fill.offset + start)
        yield replace(
            buffer,
            name=f"{buffer.name}+{start:x}",
            dtype="uint8",
            shape=(stop - start,),
            fill=fill,
            address=buffer.address + start,
        )
