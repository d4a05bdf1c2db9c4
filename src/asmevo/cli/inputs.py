"""Reading what a user names on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from asmevo.cli.parameters import CHIP
from asmevo.codeobject import CodeObject
from asmevo.device import is_large, simulator, trimmed
from asmevo.edit import Edit
from asmevo.gate import check_certificate, evidence
from asmevo.launch import Launch, load_launches
from asmevo.program import Program, recover
from asmevo.verdict import InputError, UsageError


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises `InputError` with the reason when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path."
        ) from error


def read_text(path: Path) -> str:
    """The text of a file. Raises `InputError` when it is none."""
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file; give a listing made by `asmevo recover`.") from error


def read_object(path: Path) -> CodeObject:
    """The parsed code object of a file."""
    return CodeObject.parse(read_file(path), str(path))


def read_program(path: Path, kernel: str | None = None) -> Program:
    """The recovered program of one kernel of a file."""
    return recover(read_object(path), kernel)


def read_certificate(
    path: Path, k0: CodeObject, candidate: CodeObject, given: Sequence[Launch] = ()
) -> tuple[Sequence[Edit], Sequence[Launch]]:
    """Edits and launches of a certificate of these two objects; launches of `given` stand for those of the same name.

    Raises `InputError` when it is damaged, of other objects, or when a launch has other data now.
    """
    table = read_table(path)
    check_certificate(table, k0, candidate)
    return evidence(table, k0, (path.parent,), given)


def read_table(path: Path) -> dict[str, Any]:
    """The plain values of a certificate. Raises `InputError` for a file that holds none."""
    try:
        value = cast("object", json.loads(read_text(path)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); give a certificate of `optimize` or `verify`.") from error
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a certificate; give one that `optimize` or `verify` wrote.")
    return cast("dict[str, Any]", value)


def certificate_device(path: Path) -> Mapping[str, Any]:
    """What executed the launches of a certificate that `read_certificate` accepted."""
    found: object = json.loads(read_text(path)).get("device")
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def read_launches(paths: Sequence[Path], obj: CodeObject) -> tuple[Launch, ...]:
    """All launches of the named files and folders for a kernel of `obj`, in that order.

    Of captures with much memory only what `obj` touches is kept, which is found out by running it.
    """
    launches = tuple(launch for path in paths for launch in load_launches(path, obj))
    if not any(is_large(launch) for launch in launches):
        return launches
    with simulator(CHIP) as device:
        return tuple(trimmed(launch, obj, device) for launch in launches)


def the_launch(paths: Sequence[Path], name: str | None, obj: CodeObject) -> Launch:
    """The one launch of the named files and folders, or the one of this name. Raises `UsageError` unless it is one."""
    launches = read_launches(paths, obj)
    found = [launch for launch in launches if name in (None, launch.name)]
    if len(found) != 1:
        names = ", ".join(launch.name for launch in launches)
        raise UsageError(f"One launch is wanted and {len(found)} were found; choose one with --name out of {names}.")
    return found[0]
