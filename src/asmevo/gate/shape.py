"""Shape of a candidate: LDS, branch ranges, entry, ends of blocks, and instructions that nothing here can decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from asmevo.isa import Instruction, effects
from asmevo.isa.encoding import BRANCH_RANGE
from asmevo.isa.limits import limits_of
from asmevo.program import Line, Program, control_kind
from asmevo.program.skipping import is_contained
from asmevo.verdict import Finding

_LONGEST = 8
"""Bytes of an instruction that was not assembled yet, at most."""
_INDEXING, _SKIPPING = "s_set_gpr_idx", "s_setvskip"
_MODE = re.compile(r"hwreg\(\s*HW_REG_MODE\s*(?:,\s*(\d+)\s*,\s*(\d+)\s*)?\)")
_SWITCHES = 27, 28
"""Bits of the mode register that switch indexing and skipping on (Vega ISA, MODE: GPR_IDX_EN and VSKIP)."""


@lru_cache(maxsize=1 << 18)
def is_mode_switch(instruction: Instruction) -> bool:
    """Whether it changes what the vector instructions behind it do or name. Asks for the opcode's row on the way.

    Raises `UnsupportedError` for an opcode without a row.
    """
    return effects(instruction).row.name.startswith((_INDEXING, _SKIPPING)) or _sets_switches(instruction)


def _sets_switches(instruction: Instruction) -> bool:
    """Whether it may write the bits of the mode register that do so."""
    if not effects(instruction).row.name.startswith("s_setreg"):
        return False
    found = _MODE.search(instruction.text)
    first, count = int(found[1] or 0) if found else 0, int(found[2] or 32) if found else 0
    return any(first <= bit < first + count for bit in _SWITCHES)


def undecided(lines: Sequence[Line]) -> Iterator[Finding]:
    """Lines behind which no static rule holds, wherever in a program they are: indexed registers, and vector
    instructions that may be skipped and write registers or lie in other blocks than the switch.

    Raises `UnsupportedError` for an opcode without a row.
    """
    contained = is_contained(lines)
    for line in lines:
        row = effects(line.instruction).row
        if (
            row.name.startswith(_INDEXING)
            or _sets_switches(line.instruction)
            or (row.name.startswith(_SKIPPING) and not contained)
        ):
            yield _not_decided(line)


def switches(lines: Iterable[Line]) -> Iterator[Finding]:
    """All lines of a changed block that change what vector instructions do: no rule says what may pass them."""
    return (_not_decided(line) for line in lines if is_mode_switch(line.instruction))


def _not_decided(line: Line) -> Finding:
    message = f"Line {line.id}, `{line.instruction}`, changes what vector instructions mean; not decided."
    return Finding("static.undecided", message, line=line.id)


def shape_findings(k0: Program, candidate: Program) -> Iterator[Finding]:
    """Errors in what the descriptor asks for and in where control can go."""
    limits = limits_of(candidate.source.target)
    descriptor = candidate.kernel.descriptor
    if descriptor.lds_size > limits.lds:
        message = f"The descriptor asks for {descriptor.lds_size} bytes of LDS; {limits.target} has {limits.lds}."
        yield Finding("shape.lds", message)
    if descriptor.vgpr_alloc > limits.registers:
        message = f"The descriptor grants {descriptor.vgpr_alloc} vector registers; a wave can have {limits.registers}."
        yield Finding("shape.registers", message)
    if candidate.block_of[candidate.entry] != k0.block_of[k0.entry]:
        yield Finding("shape.entry", "The kernel begins in another block than K0.", line=candidate.entry)
    yield from _ends(candidate)
    yield from _ranges(candidate)


def _ends(candidate: Program) -> Iterator[Finding]:
    """Blocks that run off the end of the code."""
    for block in candidate.blocks:
        last = candidate.lines[block.last - 1]
        kind = control_kind(last.instruction)
        expected = {"endpgm": 0, "branch": 1, "cbranch": 2}.get(kind, 1)
        if len(block.successors) != expected:
            message = f"Behind line {last.id}, `{last.instruction}`, the code runs on into what is no code."
            yield Finding("shape.end", message, line=last.id)


def _ranges(candidate: Program) -> Iterator[Finding]:
    """Branches whose target is out of reach, with unassembled instructions counted as long ones."""
    sizes = [_LONGEST if line.words is None else len(line.words) for line in candidate.lines]
    starts = list(accumulate(sizes, initial=0))
    low, high = BRANCH_RANGE[0], BRANCH_RANGE[-1]
    if starts[-1] <= 4 * high:
        return
    for position, line in enumerate(candidate.lines):
        if line.target is None:
            continue
        distance = (starts[candidate.position[line.target]] - starts[position + 1]) // 4
        if distance not in BRANCH_RANGE:
            message = f"Line {line.id}, `{line.instruction}`, goes {distance} dwords; a branch reaches {low} to {high}."
            yield Finding("shape.branch", message, line=line.id)
