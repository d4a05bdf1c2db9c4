"""Where in an overlay K0 lies, and what has to be right about that place."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from asmevo.codeobject import CodeObject
from asmevo.overlay.journal import FOLDER, Home, Journal
from asmevo.overlay.transaction import hash_of
from asmevo.store.files import disk
from asmevo.verdict import InputError

_TARGET = re.compile(r"gfx[0-9a-f]{3,4}")
_CHIP = re.compile(r"MI[0-9]{2,3}[A-Z]?")
_KERNEL_COLUMN, _FILE_COLUMNS = "knl_name", ("co_name", "knl_file")


def places_of(home: Home, journal: Journal, k0: str, size: int) -> tuple[str, ...]:
    """The files that hold K0, and those that held it before something was installed there, relative and in order.

    Raises `InputError` when there is none, when one was changed by someone else since, or when K0 lies behind a link
    that leaves the overlay.
    """
    found = set(_files_like(home.overlay, k0, size))
    for path in journal.paths:
        if journal.original(path) != k0:
            continue
        last = journal.last(path)
        current = hash_of(home.overlay / path)
        if last is not None and current not in (last.after, k0):
            raise InputError(
                f"{home.overlay / path} held K0 and is neither K0 nor what was installed over it; it was changed by "
                "something else, so nothing is installed there."
            )
        found.add(path)
    if not found:
        raise InputError(
            f"No file in {home.overlay} is K0 (SHA-256 {k0}); it is another version of the kernel, or another folder."
        )
    return tuple(sorted(found))


def _files_like(root: Path, sha256: str, size: int) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f != FOLDER)
        for name in sorted(names):
            path = Path(folder, name)
            if not path.is_file() or path.stat().st_size != size or hash_of(path) != sha256:
                continue
            if path.is_symlink():
                if not path.resolve().is_relative_to(root.resolve()):
                    raise InputError(
                        f"{path} is K0 and a link to {path.resolve()}, outside of the folder; install there instead."
                    )
                continue  # what it points to is found by itself
            yield str(path.relative_to(root))


def model_of(chip: str) -> str:
    """The model in the name of a chip table or a product, `MI308X` of `mi308x` and of `AMD Instinct MI308X`; all of the
    name where it has none."""
    found = _CHIP.search(chip.upper())
    return found.group() if found else chip.upper()


def check_place(overlay: Path, path: str, candidate: CodeObject, k0: CodeObject, chip: str) -> None:
    """Raises `InputError` where a place is for another chip, or a manifest asks for a kernel that would be gone."""
    place = (overlay / path).resolve()
    for part in place.parts[:-1]:
        if _TARGET.fullmatch(part) and part != candidate.target:
            raise InputError(f"{place} is for {part} and the candidate for {candidate.target}; it is the wrong folder.")
        if _CHIP.fullmatch(part) and not model_of(chip).startswith(part):
            raise InputError(f"{place} is for {part} and the candidate was verified for {chip}; verify it there first.")
    _check_manifests(place, candidate, k0)
    _check_triton(place, candidate)


def _check_manifests(place: Path, candidate: CodeObject, k0: CodeObject) -> None:
    """AITer finds a kernel by the row of a CSV file that names the object and the kernel in it."""
    names = {k.name for k in candidate.kernels} | {k.symbol.removesuffix(".kd") for k in candidate.kernels}
    known = {k.name for k in k0.kernels} | {k.symbol.removesuffix(".kd") for k in k0.kernels}
    for manifest in sorted(place.parent.glob("*.csv")):
        for row in _rows(manifest):
            kernel = row.get(_KERNEL_COLUMN) or ""
            if place.name in (row.get(c) for c in _FILE_COLUMNS) and kernel in known - names:
                raise InputError(f"{manifest} asks for the kernel {kernel}, which the candidate has not.")


def _rows(manifest: Path) -> list[dict[str, str | None]]:
    try:
        with disk(manifest, "read"), manifest.open(newline="", encoding="utf-8", errors="replace") as file:
            return list(csv.DictReader(file))
    except csv.Error as error:
        raise InputError(
            f"{manifest} cannot be read as CSV ({error}), so it is not known which kernels it asks for; mend it, or "
            "take it out of the folder."
        ) from error


def _check_triton(place: Path, candidate: CodeObject) -> None:
    """A cached kernel of Triton comes with a table that says how it is launched."""
    table = place.with_suffix(".json")
    if place.suffix != ".hsaco" or not table.is_file():
        return
    try:
        facts: object = json.loads(table.read_bytes())
        target = facts["target"]["arch"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType] - any JSON
    except (ValueError, RecursionError, KeyError, TypeError):
        return  # not Triton's
    if target != candidate.target:
        raise InputError(f"{table} is for {target} and the candidate for {candidate.target}; it is the wrong folder.")
