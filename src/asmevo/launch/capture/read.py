"""Reading a capture: its tables at once, its memory only when it is used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from asmevo.launch.capture.layout import (
    CODE,
    DISPATCH,
    FORMAT,
    KERNARG,
    KERNARG_RAW,
    METADATA,
    OURS,
    REGIONS,
    VARIABLES,
    region_file,
)
from asmevo.launch.table import Table
from asmevo.launch.values import ADDRESSES
from asmevo.verdict import InputError, UnsupportedError

_MOST = 1 << 32


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of device memory as it was before the dispatch."""

    base: int
    size: int
    file: str
    """Relative to the capture."""

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True, slots=True)
class Variable:
    """A global of the code object, as it was before the dispatch."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Capture:
    """One captured dispatch."""

    folder: Path
    symbol: str
    """Of the kernel, without the `.kd` of its descriptor."""
    target: str
    """Name of the agent, such as `gfx942`; empty where the capture does not say."""
    grid: tuple[int, int, int]
    """Workgroups; the file counts work-items."""
    block: tuple[int, int, int]
    """Work-items of a workgroup."""
    lds: int
    """Bytes of LDS of a workgroup, what the kernel declares included."""
    kernarg: bytes
    regions: tuple[Region, ...]
    """By address; they do not overlap."""
    variables: tuple[Variable, ...]
    code: bytes | None
    """The code object; None where the capture has none."""
    index: int
    """Number of the dispatch in its program."""
    occurrences: int = 1
    sample: int = 0
    """Most workgroups that the gate executes; 0 for all."""

    @property
    def size(self) -> int:
        """Bytes of all regions."""
        return sum(region.size for region in self.regions)

    def region_at(self, address: int) -> Region | None:
        """The region that holds an address."""
        return next((r for r in self.regions if r.base <= address < r.end), None)


def read_capture(folder: Path | str) -> Capture:
    """The capture of a folder.

    Raises `InputError` for a file that is missing, damaged, shorter than it says or of another hash, and
    `UnsupportedError` for captures without a memory image and for dispatches that end within a workgroup.
    """
    folder = Path(folder)
    dispatch = _table(folder, DISPATCH)
    if dispatch is None:
        raise _no_capture(folder)
    grid, block = _extent(dispatch, "grid"), _extent(dispatch, "block")
    if any(g % b for g, b in zip(grid, block, strict=True)):
        raise UnsupportedError(
            f"The dispatch in {folder} has {list(grid)} work-items in workgroups of {list(block)}: it ends within a "
            "workgroup, which cannot be executed here; capture one of whole workgroups."
        )
    ours = _ours(folder)
    return Capture(
        folder=folder,
        symbol=dispatch.text("mangled_name").removesuffix(".kd"),
        target=dispatch.text("agent_name", "").partition(":")[0],
        grid=(grid[0] // block[0], grid[1] // block[1], grid[2] // block[2]),
        block=block,
        lds=dispatch.integer("group_segment_size", 0),
        kernarg=_kernarg(folder, dispatch.integer("kernarg_size")),
        regions=_regions(folder, ours),
        variables=_variables(folder),
        code=_code(folder),
        index=dispatch.integer("dispatch_index", 0),
        occurrences=_at_least(ours, "occurrences", 1, 1),
        sample=_at_least(ours, "sample", 0, 0),
    )


def override_path(folder: Path) -> str:
    """Where Triton looks for another object of the captured kernel, relative to an override folder.

    Raises `InputError` for a capture that does not say so.
    """
    ours = _ours(folder)
    triton = Table(ours.data.get("triton", {}), f"triton of {ours.where}")
    path: str | None = triton.text("override", None)
    if path is None:
        raise InputError(f"The capture {folder} is not of a Triton kernel; install into a folder that holds K0.")
    return path


def _no_capture(folder: Path) -> InputError | UnsupportedError:
    metadata = _table(folder, METADATA)
    if metadata is not None and "args" in metadata.data:
        return UnsupportedError(
            f"{folder} is a capture of kerncap's older Python path, which has no image of the memory; capture again "
            "with a kerncap that writes dispatch.json."
        )
    return InputError(f"{folder} holds no {DISPATCH}, so it is no capture; give the folder that kerncap wrote.")


def _table(folder: Path, name: str) -> Table | None:
    """A JSON table of the capture; None where there is no such file."""
    path = folder / name
    if not path.exists():
        return None
    try:
        return Table(json.loads(path.read_bytes()), str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the folder.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); capture again.") from error


def _bytes(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read ({error.strerror}); capture again.") from error


def _extent(table: Table, key: str) -> tuple[int, int, int]:
    value: tuple[int, ...] = table.integers(key)
    if len(value) != 3 or min(value) < 1 or max(value) >= _MOST or prod(value) >= 1 << 64:
        raise InputError(f"The key {key!r} in {table.where} is {list(value)}; it must be three positive numbers.")
    return value[0], value[1], value[2]


def _kernarg(folder: Path, size: int) -> bytes:
    path = folder / KERNARG
    data = _bytes(path if path.exists() else folder / KERNARG_RAW, "arguments file")
    if len(data) != size:
        raise InputError(
            f"The arguments in {folder} are {len(data)} bytes and {DISPATCH} says {size}; the capture is damaged, so "
            "capture again."
        )
    return data


def _regions(folder: Path, ours: Table) -> tuple[Region, ...]:
    table = _table(folder, REGIONS)
    if table is None:
        raise InputError(f"{folder} holds no {REGIONS}, so the memory of the dispatch is not known; capture again.")
    rows = [Table(row, f"region {n} of {table.where}") for n, row in enumerate(table.tables("regions"))]
    found = [Region(r.integer("base"), r.integer("size"), region_file(r.integer("base"))) for r in rows]
    regions = tuple(sorted((r for r in found if r.size), key=lambda r: r.base))
    if not regions:
        raise InputError(f"{table.where} names no region, so the dispatch had no memory; capture again.")
    for region, behind in zip(regions, (*regions[1:], None), strict=True):
        if not 0 < region.base < region.end <= ADDRESSES:
            raise InputError(
                f"{table.where} has a region of {region.size} bytes at {region.base}, which no device has; capture "
                "again."
            )
        if behind is not None and behind.base < region.end:
            raise InputError(
                f"{table.where} has two regions at 0x{behind.base:x}; the capture is damaged, so capture again."
            )
        _check_file(folder, region)
        _check_hash(folder, region, ours)
    return regions


def _check_file(folder: Path, region: Region) -> None:
    path = folder / region.file
    try:
        size = path.stat().st_size
    except OSError:
        size = None
    if size != region.size:
        what = "is missing" if size is None else f"has {size} bytes instead of {region.size}"
        raise InputError(
            f"The region at 0x{region.base:x} was not captured whole: {path} {what}. Capture again, or take the region "
            f"out of {REGIONS} if the kernel does not use it."
        )


def _check_hash(folder: Path, region: Region, ours: Table) -> None:
    hashes = Table(ours.data.get("regions", {}), f"regions of {ours.where}")
    wanted = hashes.text(f"{region.base:x}", None)
    if wanted is None:
        return
    with (folder / region.file).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise InputError(
            f"{folder / region.file} has the hash {found} and {OURS} says {wanted}: it was changed after the capture; "
            "capture again."
        )


def _ours(folder: Path) -> Table:
    table = _table(folder, OURS)
    if table is None:
        return Table({}, str(folder / OURS))
    if table.data.get("format") != FORMAT:
        raise InputError(
            f"{table.where} is of the version {table.data.get('format')!r} and this AsmEvo reads {FORMAT!r}; capture "
            "again with this one."
        )
    return table


def _at_least(table: Table, key: str, default: int, least: int) -> int:
    value: int = table.integer(key, default)
    if value < least:
        raise InputError(f"The key {key!r} in {table.where} is {value}; give {least} or more.")
    return value


def _variables(folder: Path) -> tuple[Variable, ...]:
    table = _table(folder, VARIABLES)
    if table is None:
        return ()
    result: list[Variable] = []
    for n, row in enumerate(table.tables("variables")):
        one = Table(row, f"variable {n} of {table.where}")
        name, size, blob = one.text("name"), one.integer("size"), one.text("blob")
        path = folder / blob
        if ".." in Path(blob).parts or Path(blob).is_absolute():
            raise InputError(f"{table.where} names the file {blob!r}, which is outside of the capture.")
        content = _bytes(path, "variable")
        if len(content) != size:
            raise InputError(f"The variable {name!r} has {size} bytes and {path} {len(content)}; capture again.")
        result.append(Variable(name, content))
    return tuple(result)


def _code(folder: Path) -> bytes | None:
    path = folder / CODE
    if not path.exists():
        return None
    data = _bytes(path, "code object")
    metadata = _table(folder, METADATA)
    wanted: Any = None if metadata is None else metadata.text("hsaco_sha256", None)
    if wanted and wanted != hashlib.sha256(data).hexdigest():
        raise InputError(
            f"{path} is not the object that was captured: its hash is not {wanted}, as {METADATA} says; put that one "
            "back, and give another object on the command line."
        )
    return data
