"""Launches that travel: as plain values with what it takes to find their data files again, wherever they are read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from asmevo.launch.fills import File, Fill
from asmevo.launch.folder import launch_from_json
from asmevo.launch.table import Table
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError

EMBEDDED = 1 << 16
"""Data up to this size in bytes comes along whole; of more only the hash does."""
_FILES = "files"
_FILE = ("buffer", "bytes", "sha256", "base64")


def portable(launch: Launch) -> dict[str, Any]:
    """`to_json`, and size and hash of the data that buffers take from files; small data in full.

    Raises `InputError` when a file is missing or too short.
    """
    files = [_record(b, b.fill) for b in launch.buffers if isinstance(b.fill, File)]
    return launch.to_json() | ({_FILES: files} if files else {})


def restore(data: Mapping[str, Any], folders: Sequence[Path], where: str) -> Launch:
    """The launch of a `portable` table. Data that did not come along is looked for in `folders`, by the path that the
    launch file gives, and taken where its hash is right.

    Raises `InputError` for a table that is none, and for data that is in none of the folders.
    """
    records = {r.text("buffer"): r for r in (Table(f, f"file of {where}", _FILE) for f in _files(data, where))}
    launch = launch_from_json({k: v for k, v in data.items() if k != _FILES}, Path(), where)
    buffers = tuple(
        replace(b, fill=_found(b, b.fill, records, folders)) if isinstance(b.fill, File) else b for b in launch.buffers
    )
    return replace(launch, buffers=buffers)


def laden(launch: Launch) -> Launch:
    """The same launch with all data of its files in it, for a machine that does not have them.

    Raises `InputError` when a file is missing or too short.
    """
    return replace(launch, buffers=tuple(replace(b, fill=_laden(b.fill, b.size)) for b in launch.buffers))


def _laden(fill: Fill | None, size: int) -> Fill | None:
    return replace(fill, content=fill.raw(size).tobytes()) if isinstance(fill, File) else fill


def data_folders(launch: Launch) -> tuple[Path, ...]:
    """The folders of this machine from which the data files of a launch are named."""
    return tuple(sorted({Path(b.fill.folder).resolve() for b in launch.buffers if isinstance(b.fill, File)}))


def _record(buffer: Buffer, fill: File) -> dict[str, Any]:
    record: dict[str, Any] = {"buffer": buffer.name, "bytes": buffer.size, "sha256": fill.sha256(buffer.size)}
    if buffer.size <= EMBEDDED:
        record["base64"] = base64.b64encode(fill.raw(buffer.size).tobytes()).decode()
    return record


def _files(data: Mapping[str, Any], where: str) -> list[Mapping[str, Any]]:
    return Table(data, where).tables(_FILES)


def _found(buffer: Buffer, fill: File, records: Mapping[str, Table], folders: Sequence[Path]) -> File:
    what = f"data of buffer {buffer.name!r} ({buffer.size} bytes of {fill.path})"
    if buffer.name not in records:
        raise InputError(f"The hash of the {what} is missing; give the launch file itself.")
    record = records[buffer.name]
    wanted = record.text("sha256")
    if "base64" in record:
        return replace(fill, content=_decoded(record.text("base64"), wanted, what))
    for folder in folders:
        candidate = replace(fill, folder=str(folder))
        present = candidate.place.is_file() and candidate.place.stat().st_size >= fill.offset + buffer.size
        if present and candidate.sha256(buffer.size) == wanted:
            return candidate
    looked = ", ".join(str(Path(folder, fill.path)) for folder in folders)
    raise InputError(f"The {what}, hash {wanted}, is not there (looked for {looked}); give the launch file beside it.")


def _decoded(text: str, wanted: str, what: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"The {what} is not base64; give the launch file itself.") from error
    if sha256(content).hexdigest() != wanted:
        raise InputError(f"The {what} has another hash than is written beside it; give the launch file itself.")
    return content
