"""Copy propagation inside a block: readers of a copy read its source, and the copy goes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.isa import Instruction, Reg, RegSet, effects, parse_instruction, unit_name
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.strategies.values import copy_of


@dataclass(frozen=True, slots=True)
class Propagation:
    """One copy that can go."""

    copy: int
    """Line id."""
    replaced: Mapping[int, str]
    """New texts of its readers, by line id."""


def propagations(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[Propagation]:
    """The copies of single registers whose every reader can read the source instead; `live_out` is by line."""
    found: list[Propagation] = []
    for at, line in enumerate(lines):
        pair = copy_of(line.instruction)
        if pair is None or pair[0].count != 1 or (pair[0].first < VGPR_BASE) != (pair[1].first < VGPR_BASE):
            continue
        target, source = pair
        if target.units == source.units:
            continue
        replaced = _readers(lines[at + 1 :], live_out[at + 1 :], target, source)
        if replaced is not None and live_out[at] & target.units:
            found.append(Propagation(line.id, replaced))
    return found


def _readers(lines: Sequence[Line], live_out: Sequence[RegSet], target: Reg, source: Reg) -> dict[int, str] | None:
    """New texts of the readers of `target`; None when one of them cannot, or may be outside of these lines."""
    replaced: dict[int, str] = {}
    for line, live in zip(lines, live_out, strict=True):
        known = effects(line.instruction)
        if known.reads & target.units:
            text = renamed(line.instruction, target.first, source.first)
            if text is None:
                return None
            replaced[line.id] = text
        if not live & target.units:
            return replaced
        if known.writes & (target.units | source.units) or (
            target.first >= VGPR_BASE and writes_exec(line.instruction)
        ):
            return None  # live, and partly overwritten; or from here on the source is another value
    return None


def renamed(instruction: Instruction, old: int, new: int) -> str | None:
    """The text with the single register `old` read as `new`; None when it is named as part of a tuple, or written."""
    if effects(instruction).writes >> old & 1:
        return None
    for operand in instruction.operands:
        if isinstance(operand, Reg) and operand.units >> old & 1 and operand.count != 1:
            return None
    text = re.sub(rf"(?<![\w\[:]){unit_name(old)}(?![\w\]:])", unit_name(new), instruction.text)
    try_ = parse_instruction(text)
    return text if not effects(try_).reads >> old & 1 and text != instruction.text else None
