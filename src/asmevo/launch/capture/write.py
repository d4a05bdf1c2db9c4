"""Writing a capture, whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject, Kernel
from asmevo.isa.limits import limits_of
from asmevo.launch.build import build_image, lds_bytes
from asmevo.launch.capture.layout import (
    CODE,
    DISPATCH,
    FORMAT,
    HASHED,
    KERNARG,
    KERNARG_RAW,
    MEMORY,
    METADATA,
    OURS,
    REGIONS,
    region_file,
    table_text,
)
from asmevo.launch.image import MemoryImage
from asmevo.launch.scattered import DeviceMemory
from asmevo.launch.values import Launch
from asmevo.launch.window import PAGE, Extent
from asmevo.verdict import InputError

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Extra:
    """What a writer knows beyond the launch."""

    index: int = 0
    """Number of the dispatch in its program."""
    occurrences: int = 1
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More keys of metadata.json, such as `triton_user_name` and `constexpr_values`."""
    ours: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """More keys of asmevo.json."""


def write_capture(folder: Path | str, launch: Launch, obj: CodeObject, extra: Extra | None = None) -> Path:
    """Write a launch as a capture folder: kernarg, memory and code as a device would have them before the dispatch.

    Buffers without an address of their own get the one of their place in the memory image. Raises `InputError` where
    the folder exists already, and what `build_image` raises.
    """
    folder, extra = Path(folder), extra or Extra()
    if folder.exists():
        raise InputError(f"{folder} exists already; choose another folder for the capture.")
    kernel = obj.kernel(launch.kernel)
    image = build_image(launch, obj, kernel)
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / MEMORY).mkdir(parents=True)
    try:
        kernarg = image.bytes_at(image.kernarg_address, image.kernarg_size).tobytes()
        (partial / KERNARG_RAW).write_bytes(kernarg)
        (partial / KERNARG).write_bytes(kernarg)
        (partial / CODE).write_bytes(obj.data)
        _write(partial / METADATA, _metadata(launch, obj, kernel) | dict(extra.metadata))
        _write(partial / DISPATCH, _dispatch(launch, obj, kernel, extra.index))
        hashes = _write_memory(partial, image.on_device)
        ours = {"format": FORMAT, "occurrences": extra.occurrences, "sample": launch.sample, "regions": hashes}
        _write(partial / OURS, ours | dict(extra.ours))
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(table_text(table), encoding="utf-8")


def _work_items(launch: Launch) -> list[int]:
    return [g * b for g, b in zip(launch.grid, launch.block, strict=True)]


def _dispatch(launch: Launch, obj: CodeObject, kernel: Kernel, index: int) -> dict[str, Any]:
    return {
        "mangled_name": kernel.symbol,
        "demangled_name": kernel.name,
        "agent_name": obj.target,
        "isa_name": f"amdgcn-amd-amdhsa--{obj.target}",
        "wavefront_size": limits_of(obj.target).wave_size,
        "grid": _work_items(launch),
        "block": list(launch.block),
        "group_segment_size": lds_bytes(launch, kernel),
        "private_segment_size": kernel.descriptor.private_size,
        "kernarg_size": kernel.kernarg_size,
        "dispatch_index": index,
    }


def _metadata(launch: Launch, obj: CodeObject, kernel: Kernel) -> dict[str, Any]:
    facts = next(k for k in obj.metadata["amdhsa.kernels"] if k[".symbol"] == kernel.symbol)
    slots = [
        {
            "offset": a.offset,
            "size": a.size,
            "value_kind": a.kind,
            "value_type": a.type,
            "address_space": a.address_space,
            "name": a.name,
        }
        for a in kernel.args
    ]
    return {
        "kernel_name": kernel.name,
        "kernel_symbol": kernel.symbol,
        "gpu_arch": obj.target,
        "grid": dict(zip("xyz", _work_items(launch), strict=True)),
        "block": dict(zip("xyz", launch.block, strict=True)),
        "lds_size": lds_bytes(launch, kernel),
        "kernarg_slots": slots,
        "kernarg_segment_size_meta": kernel.kernarg_size,
        "sgpr_count": int(facts.get(".sgpr_count", 0)),
        "vgpr_count": int(facts.get(".vgpr_count", 0)),
        "hsaco_sha256": obj.sha256,
        "kernarg_raw": KERNARG_RAW,
    }


def _write_memory(folder: Path, memory: MemoryImage | DeviceMemory) -> dict[str, str]:
    """Write the table of regions and their files; gives hashes by base."""
    regions = _regions(memory.placements)
    rows = [
        {
            "base": region.address,
            "size": region.size,
            "is_pool": True,
            "is_vmem": False,
            "contains_kernarg": False,
            "handle": 0,
            "access": 0,
        }
        for region in regions
    ]
    _write(folder / REGIONS, {"regions": rows})
    hashes: dict[str, str] = {}
    for region in regions:
        start = region.address - memory.base
        path = folder / region_file(region.address)
        _write_sparse(path, memory.data[start : start + region.size])
        if region.size <= HASHED:
            with path.open("rb") as file:
                hashes[f"{region.address:x}"] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _regions(placements: Sequence[Any]) -> list[Extent]:
    """The buffers, those that share a page or meet joined: a replay maps whole pages."""
    joined: list[Extent] = []
    for one in sorted((p for p in placements if p.size), key=lambda p: p.address):
        last = joined[-1] if joined else None
        if last is not None and one.address // PAGE * PAGE < -(-(last.address + last.size) // PAGE) * PAGE:
            end = max(last.address + last.size, one.address + one.size)
            joined[-1] = Extent(last.address, end - last.address)
        else:
            joined.append(Extent(one.address, one.size))
    return joined


def _write_sparse(path: Path, content: NDArray[np.uint8]) -> None:
    """Write bytes to a file that takes no space for long runs of zeros."""
    with path.open("wb") as file:
        for low in range(0, len(content), _CHUNK):
            part = content[low : low + _CHUNK]
            if part.any():
                file.seek(low)
                file.write(part.data)
        file.truncate(len(content))
