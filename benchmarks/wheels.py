"""Wheels with compiled kernels, downloaded once by pip without dependencies and hash-checked, kept in the cache.

A source distribution is fetched the same way.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from asmevo.store import write_atomic
from asmevo.verdict import EnvironmentError_

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel on the Python package index, or one source distribution."""

    requirement: str
    """Name and version as pip takes them."""
    sha256: str
    source: bool = False

    @property
    def pattern(self) -> str:
        return "*.tar.gz" if self.source else "*.whl"

    @property
    def folder(self) -> Path:
        return cache_folder() / self.requirement.partition("==")[0]


AITER = Wheel("amd-aiter==0.1.7.post2.dev18", "fe139d74438217c35e87e3b961166bac8db2d381eadccb371da2e63615f05a31")
"""AMD's hand-written assembly for gfx942 and gfx950, and Triton kernels."""
MOJOLEARN = Wheel("mojolearn-amd==0.8.62", "bfd08ff89fa34b09006fd215b1c391585ae2ded73291c6607f1d16aaf3995f8f")
"""Compiler-made objects as raw images in host libraries."""
BITSANDBYTES = Wheel("bitsandbytes==0.50.2", "55348a9a4a21bfd99cf8c7b32fe67b4030ae5c2a05738e03c1747f65fa6ec283")
"""Host libraries with compressed bundles made by six versions of ROCm."""


def cache_folder() -> Path:
    """Where fetched files are kept: `$ASMEVO_CACHE`, else `.cache` in the clone."""
    return Path(os.environ.get("ASMEVO_CACHE") or ROOT / ".cache")


def fetch_wheel(wheel: Wheel) -> Path:
    """Path of the wheel in the cache. Raises `EnvironmentError_` when it cannot be had or is another one."""
    for path in wheel.folder.glob(wheel.pattern):
        if sha256_of(path) == wheel.sha256:
            return path
    with tempfile.TemporaryDirectory() as downloads:
        options = ["-q", "--no-deps", "--no-input", "-d", downloads]
        if wheel.source:
            options += ["--no-binary", wheel.requirement.partition("==")[0]]
        command = [sys.executable, "-m", "pip", "download", *options, wheel.requirement]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        wheels = list(Path(downloads).glob(wheel.pattern))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise EnvironmentError_(
                f"pip could not download {wheel.requirement} ({reason}); "
                f"check that a Python package index is reachable, or put that wheel into {wheel.folder}."
            )
        if sha256_of(wheels[0]) != wheel.sha256:
            raise EnvironmentError_(f"The downloaded {wheels[0].name} has another hash than expected; it was not used.")
        path = wheel.folder / wheels[0].name
        write_atomic(path, wheels[0].read_bytes())
    return path


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
