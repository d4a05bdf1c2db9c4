"""Every code object the round trip is shown on, by source."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator

from asmevo.codeobject.containers import Container
from asmevo.targets import HANDLED
from asmevo.verdict import InputError
from benchmarks.generated import clang_objects, triton_objects
from benchmarks.wheels import AITER, BITSANDBYTES, MOJOLEARN, Wheel, fetch_wheel

Objects = Iterator[tuple[str, bytes]]


def aiter_objects() -> Objects:
    """AMD's kernels as files: hand-written assembly, and Triton's."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        for name in archive.namelist():
            if name.endswith((".co", ".hsaco")):
                yield name, archive.read(name)


def mojolearn_objects() -> Objects:
    """Images in host libraries."""
    yield from _contained(MOJOLEARN)


def bitsandbytes_objects() -> Objects:
    """Entries of compressed bundles, for the targets that are handled."""
    yield from _contained(BITSANDBYTES)


def _contained(wheel: Wheel) -> Objects:
    with zipfile.ZipFile(fetch_wheel(wheel)) as archive:
        for name in archive.namelist():
            if not name.endswith(".so"):
                continue
            try:
                container = Container.open(archive.read(name), name)
            except InputError:  # a library without code for AMD GPUs
                continue
            for entry in container.entries:
                if entry.size and entry.target in HANDLED:
                    yield f"{name} {entry.number} {entry.name}", container.extract(entry)


SOURCES: dict[str, Callable[[], Objects]] = {
    "amd-aiter": aiter_objects,
    "mojolearn-amd": mojolearn_objects,
    "bitsandbytes": bitsandbytes_objects,
    "triton": triton_objects,
    "clang": clang_objects,
}
MADE_HERE = ("triton", "clang")
"""Sources that are compiled first."""
