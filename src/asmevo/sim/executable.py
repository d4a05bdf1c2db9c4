"""A program ready to run: its blocks, and their native code as far as it has been needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Instruction
from asmevo.program.program import Program, control_kind
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
    _code: dict[tuple[int, int, int], Code] = field(default_factory=dict[tuple[int, int, int], Code])
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
        return cls(program, cache, options, chunks, entry, offsets, functions, modes, landings)

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
            if self.functions[mode, variant, chunk]:
                return
            c = self.chunks[chunk]
            instructions = self.instructions(chunk)
            sizes = self._sizes(c) if any(control_kind(i) in ADDRESS_KINDS for i in instructions) else ()
            code = self.cache.block(instructions, sizes, variant, self.options[mode])
            self._code[chunk, variant, mode] = code
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
    reasons: dict[str, str] = {}
    for first, last in basic_blocks(program):
        for line in program.lines[first:last]:
            text = line.instruction.text
            if reason := refusal(text):
                reasons[text] = reason
    return reasons


def _refuse_unknown(program: Program) -> None:
    reasons = refusals(program)
    if reasons:
        listed = " ".join(sorted(set(reasons.values())))
        raise UnsupportedError(f"The simulator cannot execute {len(reasons)} kinds of instructions. {listed}")


def _offsets(program: Program, chunks: tuple[Chunk, ...]) -> tuple[int, ...]:
    """Byte offsets of blocks from the start of the code; empty where lines lack their encoding.

    Raises `UnsupportedError` when such code asks for its own address.
    """
    asks = any(
        control_kind(line.instruction) in ADDRESS_KINDS for c in chunks for line in program.lines[c.first : c.last]
    )
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
