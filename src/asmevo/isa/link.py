"""From the assembly of a whole object, descriptors and metadata included, to a linked code object."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from asmevo.isa.llvm import TRIPLE, Toolchain, cpu_flags
from asmevo.verdict import EnvironmentError_


def linked(source: str, target: str, what: str, *, assembler: Sequence[str] = (), linker: Sequence[str] = ()) -> bytes:
    """The shared object of an assembly source for a target, with more flags for either tool.

    Raises `EnvironmentError_` that names `what` when a tool refuses it: the source is the program's own.
    """
    tools = Toolchain.find()
    with tempfile.TemporaryDirectory() as folder:
        part, whole = str(Path(folder, "part.o")), str(Path(folder, "whole.co"))
        flags = (f"-triple={TRIPLE}", *cpu_flags(target), "-filetype=obj", *assembler)
        done = tools.run("llvm-mc", *flags, "-o", part, stdin=source.encode())
        if done.returncode == 0:
            done = tools.run("ld.lld", "-shared", *linker, "-o", whole, part)
        if done.returncode:
            raise EnvironmentError_(
                f"{what} cannot be made for {target} ({done.stderr.decode(errors='replace').strip()}); check the "
                "installation of LLVM."
            )
        return Path(whole).read_bytes()
