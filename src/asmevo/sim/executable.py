"""A program ready to run: its blocks, and their native code as far as it has been needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Instruction
from asmevo.program.program import Program, control_kind
from asmevo.sim.block import refusal
from asmevo.sim.cache import BlockCache, Code
from asmevo.sim.chunks import Chunk, chunks_of
from asmevo.sim.layout import VARIANTS
from asmevo.sim.options import Options
from asmevo.verdict import UnsupportedError

TARGET = "gfx942"
"""The only target: others have other matrix formats, LDS sizes and opcodes."""


@dataclass(frozen=True)
class Executable:
    """A program with its blocks. Make one with `Executable.build`; running it compiles what is missing."""

    program: Program
    cache: BlockCache
    options: Options
    chunks: tuple[Chunk, ...]
    entry: int
    """Number of the first block."""
    offsets: tuple[int, ...]
    """Byte offset of each block in `.text`, where every line has been encoded; else empty."""
    functions: NDArray[np.uint64]
    """[VARIANTS, blocks] addresses of native code, 0 where it has not been compiled."""
    _code: dict[tuple[int, int], Code] = field(default_factory=dict[tuple[int, int], Code])
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def build(cls, program: Program, cache: BlockCache, *, checked: bool = False) -> Executable:
        """Prepare a program, with `checked` for checked execution.

        Raises `UnsupportedError` that names everything that cannot be executed.
        """
        if program.source.target != TARGET:
            raise UnsupportedError(
                f"The simulator executes {TARGET} code and this is {program.source.target}; give an object of {TARGET}."
            )
        options = replace(Options.of(program.kernel.descriptor), checked=checked)
        _refuse_unknown(program, options)
        chunks = chunks_of(program)
        entry = next(n for n, c in enumerate(chunks) if c.first == program.position[program.entry])
        functions = np.zeros((VARIANTS, len(chunks)), np.uint64)
        return cls(program, cache, options, chunks, entry, _offsets(program, chunks), functions)

    @cached_property
    def checked(self) -> Executable:
        """The same program with checks in its code; made when first asked for."""
        return self if self.options.checked else Executable.build(self.program, self.cache, checked=True)

    def instructions(self, chunk: int) -> Sequence[Instruction]:
        """The instructions of a block."""
        c = self.chunks[chunk]
        return [line.instruction for line in self.program.lines[c.first : c.last]]

    def compile(self, chunk: int, variant: int) -> None:
        """Make sure that the native code of a block is there."""
        with self._lock:
            if self.functions[variant, chunk]:
                return
            c = self.chunks[chunk]
            instructions = self.instructions(chunk)
            sizes = self._sizes(c) if any(control_kind(i) == "getpc" for i in instructions) else ()
            code = self.cache.block(instructions, sizes, variant, self.options)
            self._code[chunk, variant] = code
            self.functions[variant, chunk] = code.address

    def _sizes(self, chunk: Chunk) -> tuple[int, ...]:
        return tuple(len(line.words or b"") for line in self.program.lines[chunk.first : chunk.last])


def _refuse_unknown(program: Program, options: Options) -> None:
    reasons: dict[str, str] = {}
    for block in program.blocks:
        for line in program.lines[block.first : block.last]:
            text = line.instruction.text
            if reason := refusal(text, options):
                reasons[text] = reason
    if reasons:
        listed = " ".join(sorted(set(reasons.values())))
        raise UnsupportedError(f"The simulator cannot execute {len(reasons)} kinds of instructions. {listed}")


def _offsets(program: Program, chunks: tuple[Chunk, ...]) -> tuple[int, ...]:
    """Byte offsets of blocks from the start of the code; empty where lines lack their encoding.

    Raises `UnsupportedError` when such code asks for its own address.
    """
    words = [line.words for line in program.lines]
    if None in words:
        asks = any(
            control_kind(line.instruction) == "getpc"
            for b in program.blocks
            for line in program.lines[b.first : b.last]
        )
        if asks:
            raise UnsupportedError(
                "The code reads its own address and has lines without encoding; rebuild the program first."
            )
        return ()
    starts = np.concatenate([[0], np.cumsum([len(w or b"") for w in words])])
    return tuple(int(starts[c.first]) for c in chunks)
