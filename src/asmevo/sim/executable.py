"""A program ready to run: its blocks, and their native code as far as it has been needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import ControlRow, Instruction, rows
from asmevo.program.program import Program
from asmevo.sim.block import refusal
from asmevo.sim.cache import BlockCache, Code
from asmevo.sim.chunks import Chunk, chunks_of
from asmevo.sim.control import mode_field
from asmevo.sim.floats import usual_mode
from asmevo.sim.flow import basic_blocks, byte_offsets, jumps_anywhere
from asmevo.sim.layout import NEW_MODE, VARIANTS
from asmevo.sim.native import Host
from asmevo.sim.options import FloatRules, Options, mode_of
from asmevo.sim.runtime.floatmode import flushes_on_one_side
from asmevo.verdict import UnsupportedError

ADDRESS_KINDS = frozenset({"getpc", "swappc", "call"})
"""Kinds of control instructions whose result is an address of the code."""
_ADDRESSES = frozenset(r.name for r in rows().values() if isinstance(r, ControlRow) and r.kind in ADDRESS_KINDS)
_HOT = 1 << 20
"""Instructions that a block executes before it gets better code: about the time that making the code takes."""
_MOST_MODES = 16
TARGET = "gfx942"
"""The only target: others have other matrix formats, LDS sizes and opcodes."""


@dataclass(frozen=True)
class Executable:
    """A program with its blocks. Make one with `Executable.build`; running it compiles what is missing."""

    program: Program
    cache: BlockCache
    options: tuple[Options, ...]
    """For each mode."""
    chunks: tuple[Chunk, ...]
    entry: int
    """Number of the first block."""
    offsets: tuple[int, ...]
    """Byte offset of each block in `.text`, where every line has been encoded; else empty."""
    functions: NDArray[np.uint64]
    """[modes, VARIANTS, blocks] addresses of native code, 0 where it has not been compiled."""
    modes: tuple[int, ...]
    """Values of MODE that code is made for, that of the descriptor first."""
    landings: NDArray[np.int32]
    """For each dword of the code the block that begins there, or -1; empty when no jump is computed."""
    heat: NDArray[np.int64]
    """[VARIANTS, blocks] executions until a block is worth better code."""
    _code: list[Code] = field(default_factory=list[Code])
    """Everything that was made; what has been replaced may still run on another thread."""
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def build(cls, program: Program, cache: BlockCache, *, checked: bool = False, single: bool = False) -> Executable:
        """Prepare a program, with `checked` for checked execution, with `single` to stop after every instruction.

        Raises `UnsupportedError` that names everything that cannot be executed.
        """
        if program.source.target != TARGET:
            raise UnsupportedError(
                f"The simulator executes {TARGET} code and this is {program.source.target}; give an object of {TARGET}."
            )
        _refuse_unknown(program)
        chunks = chunks_of(program, single=single)
        modes = _modes(program, chunks)
        options = _options(modes, checked=checked)
        entry = next(n for n, c in enumerate(chunks) if c.first == program.position[program.entry])
        functions = np.zeros((len(modes), VARIANTS, len(chunks)), np.uint64)
        offsets = _offsets(program, chunks)
        landings = _landings(program, offsets)
        lengths = np.array([c.last - c.first for c in chunks], np.int64)
        heat = np.tile(np.maximum(_HOT // np.maximum(lengths, 1), 1), (VARIANTS, 1))
        return cls(program, cache, options, chunks, entry, offsets, functions, modes, landings, heat)

    @cached_property
    def checked(self) -> Executable:
        """The same program with checks in its code; made when first asked for."""
        return self if self.options[0].checked else Executable.build(self.program, self.cache, checked=True)

    def instructions(self, chunk: int) -> Sequence[Instruction]:
        """The instructions of a block."""
        c = self.chunks[chunk]
        return [line.instruction for line in self.program.lines[c.first : c.last]]

    def compile(self, chunk: int, variant: int, mode: int = 0) -> None:
        """Make sure that the native code of a block is there, for a mode by its number."""
        with self._lock:
            if not self.functions[mode, variant, chunk]:
                self._provide(chunk, variant, mode, hot=False)

    def quicken(self, chunk: int, variant: int, mode: int = 0) -> None:
        """Make better code for a block that runs often."""
        with self._lock:
            self._provide(chunk, variant, mode, hot=True)

    def _provide(self, chunk: int, variant: int, mode: int, *, hot: bool) -> None:
        c = self.chunks[chunk]
        instructions = self.instructions(chunk)
        sizes = () if _ADDRESSES.isdisjoint(i.base for i in instructions) else self._sizes(c)
        code = self.cache.block(instructions, sizes, variant, self.options[mode], hot=hot)
        self._code.append(code)
        self.functions[mode, variant, chunk] = code.address

    def _sizes(self, chunk: Chunk) -> tuple[int, ...]:
        return tuple(len(line.words or b"") for line in self.program.lines[chunk.first : chunk.last])


def _options(modes: tuple[int, ...], *, checked: bool) -> tuple[Options, ...]:
    """What code is compiled for in each mode. Raises `UnsupportedError` for float modes that are not modelled."""
    rules = [FloatRules.of(mode) for mode in modes]
    host = Host.this().architecture
    if not flushes_on_one_side(host) and any(r.denorm_f32 in (1, 2) or r.denorm_f64 in (1, 2) for r in rules):
        raise UnsupportedError(
            f"The kernel flushes denormals only in operands or only in results, which {host} hosts cannot do."
        )
    return tuple(Options(r, usual_mode(rules[0]), checked) for r in rules)


def _landings(program: Program, offsets: tuple[int, ...]) -> NDArray[np.int32]:
    if not jumps_anywhere(program):
        return np.zeros(0, np.int32)
    landings = np.full(byte_offsets(program)[-1] // 4, -1, np.int32)
    landings[np.array(offsets) // 4] = np.arange(len(offsets))
    return landings


def refusals(program: Program) -> dict[str, str]:
    """Instructions that the kernel may reach and the simulator cannot execute: text to reason."""
    lines = program.lines
    texts = {line.instruction.text for first, last in basic_blocks(program) for line in lines[first:last]}
    return {text: reason for text in sorted(texts) if (reason := refusal(text))}


def other_obstacle(program: Program) -> str:
    """Why the kernel cannot be executed although each of its instructions could, or the empty string."""
    try:
        chunks = chunks_of(program)
        _options(_modes(program, chunks), checked=False)
        _offsets(program, chunks)
    except UnsupportedError as error:
        return str(error)
    return ""


def _refuse_unknown(program: Program) -> None:
    reasons = refusals(program)
    if reasons:
        listed = " ".join(sorted(set(reasons.values())))
        raise UnsupportedError(f"The simulator cannot execute {len(reasons)} kinds of instructions. {listed}")


def _offsets(program: Program, chunks: tuple[Chunk, ...]) -> tuple[int, ...]:
    """Byte offsets of blocks from the start of the code; empty where lines lack their encoding.

    Raises `UnsupportedError` when such code asks for its own address.
    """
    lines = program.lines
    asks = not _ADDRESSES.isdisjoint([line.instruction.base for c in chunks for line in lines[c.first : c.last]])
    if not asks and any(line.words is None for line in program.lines):
        return ()
    starts = byte_offsets(program)
    return tuple(starts[c.first] for c in chunks)


def _modes(program: Program, chunks: tuple[Chunk, ...]) -> tuple[int, ...]:
    """Every value that MODE may have, the first one that of the descriptor.

    A write of a register is taken to restore fields of values seen before; another value ends the run with a finding.
    Raises `UnsupportedError` when there are too many.
    """
    writes = {
        field
        for c in chunks
        if c.kind == NEW_MODE and (field := mode_field(program.lines[c.last - 1].instruction)) is not None
    }
    found = [mode_of(program.kernel.descriptor)]
    for mode in found:  # grows meanwhile
        for offset, size, value in sorted(writes, key=repr):
            mask = ((1 << size) - 1) << offset
            fields = [value << offset] if value is not None else list(found)
            found.extend(new for f in fields if (new := mode & ~mask | f & mask) not in found)
        if len(found) > _MOST_MODES:
            raise UnsupportedError(
                f"The kernel sets MODE to more than {_MOST_MODES} values, and the simulator prepares no more."
            )
    return tuple(dict.fromkeys(found))
