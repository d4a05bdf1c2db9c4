"""The stand-in for the HIP runtime, built and served: a `ROCM_PATH` under which a GPU seems to be there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "device" / "standin"
SOURCE = Path(__file__).parents[1] / "src"


@dataclass
class StandIn:
    """Environment variables under which the stand-in is found, and what goes wrong in it."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self):
        rocm = {"ROCM_PATH": str(self.folder), "STANDIN_SOCKET": str(self.folder / "s")}
        return rocm | {"STANDIN_FAULTS": str(self.folder / "faults")} | self.settings

    def inject(self, *lines):
        """From now on these functions fail, as `function error` says; without any, none does."""
        (self.folder / "faults").write_text("\n".join(lines) + "\n")


def build(folder: Path) -> None:
    """Compile the library into `folder`/lib. Skips the test where there is no compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc, which builds the stand-in for the HIP runtime")
    (folder / "lib").mkdir()
    command = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(folder / "lib" / "libamdhip64.so")]
    subprocess.run([*command, str(HERE / "libamdhip64.c")], check=True)


def serve(folder: Path) -> subprocess.Popen:
    """Start the simulator behind it, and wait until it can be asked."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(HERE / "simulator.py"), str(folder / "s")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert process.stdout.readline() == b"ready\n"
    return process


@contextmanager
def running() -> Iterator[Path]:
    """A `ROCM_PATH` with the stand-in, built and served; its path is short, because that of a socket has to be."""
    folder = Path(tempfile.mkdtemp(prefix="hip"))
    try:
        build(folder)
        server = serve(folder)
        try:
            yield folder
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    finally:
        shutil.rmtree(folder)
