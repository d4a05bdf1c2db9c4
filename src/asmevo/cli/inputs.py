"""Reading what a user names on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from asmevo.codeobject import CodeObject
from asmevo.launch import Launch, load_launches
from asmevo.program import Program, recover
from asmevo.verdict import InputError


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


def read_launches(paths: Sequence[Path]) -> tuple[Launch, ...]:
    """All launches of the named files and folders, in that order."""
    return tuple(launch for path in paths for launch in load_launches(path))
