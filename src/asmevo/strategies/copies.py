"""Copies that can go: their readers read the source, or what makes the source makes the copy's target instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from asmevo.isa import Instruction, MatrixRow, Reg, RegSet, effects, parse_instruction
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.strategies.values import copy_of, is_pure
from asmevo.strategies.webs import renamed


@dataclass(frozen=True, slots=True)
class Propagation:
    """One copy that can go."""

    copy: int
    """Line id."""
    replaced: Mapping[int, str]
    """New texts of other lines, by line id."""
    longer: tuple[int, int, RegSet]
    """From the first to before the last of these places the units hold a value that something reads then."""


Finder: TypeAlias = Callable[[Sequence[Line], Sequence[RegSet]], list[Propagation]]


def propagations(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[Propagation]:
    """The copies of single registers whose every reader can read the source instead; `live_out` is by line."""
    found: list[Propagation] = []
    for at, target, source in _copies(lines, live_out):
        replaced = _readers(lines[at + 1 :], live_out[at + 1 :], target, source)
        if replaced is not None:
            last = max((n for n, line in enumerate(lines) if line.id in replaced), default=at)
            found.append(Propagation(lines[at].id, replaced, (at, last, source.units)))
    return found


def _copies(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[tuple[int, Reg, Reg]]:
    """Place, target and source of each copy within a register file that somebody reads."""
    found: list[tuple[int, Reg, Reg]] = []
    for at, line in enumerate(lines):
        target, source = copy_of(line.instruction) or (None, None)
        if target is None or source is None or target.count != 1 or target.units == source.units:
            continue
        if (target.first < VGPR_BASE) == (source.first < VGPR_BASE) and live_out[at] & target.units:
            found.append((at, target, source))
    return found


def _readers(lines: Sequence[Line], live_out: Sequence[RegSet], target: Reg, source: Reg) -> dict[int, str] | None:
    """New texts of the readers of `target`; None when one of them cannot, or may be outside of these lines."""
    replaced: dict[int, str] = {}
    for line, live in zip(lines, live_out, strict=True):
        known = effects(line.instruction)
        if known.reads & target.units:
            text = _reading(line.instruction, target, source)
            if text is None:
                return None
            replaced[line.id] = text
        if not live & target.units:
            return replaced
        if target.first >= VGPR_BASE and writes_exec(line.instruction):
            return None
        if known.writes & target.units:  # another value, in all lanes that the copy wrote
            return replaced if known.masked or target.first < VGPR_BASE else None
        if known.writes & source.units:
            return None
    return None


def mergers(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[Propagation]:
    """The copies whose source is made in the block for nothing else in the end: its maker can write their target.

    Until the copy nothing else may read or write the target; readers of the source until then read the target.
    """
    found: list[Propagation] = []
    for at, target, source in _copies(lines, live_out):
        if live_out[at] & source.units:
            continue
        made = _made(lines[:at], target, source)
        if made is not None:
            first, replaced = made
            found.append(Propagation(lines[at].id, replaced, (first, at, target.units)))
    return found


def _made(lines: Sequence[Line], target: Reg, source: Reg) -> tuple[int, dict[int, str]] | None:
    """Place of what makes `source` last, and new texts for it and the readers behind it."""
    replaced: dict[int, str] = {}
    for at in range(len(lines) - 1, -1, -1):
        instruction = lines[at].instruction
        known = effects(instruction)
        if target.first >= VGPR_BASE and writes_exec(instruction):
            return None
        makes = known.writes & source.units
        if known.writes & target.units or (known.reads & target.units and not makes):
            return None
        if makes:
            plain = is_pure(instruction) and not isinstance(known.row, MatrixRow)
            text = renamed(instruction, 0, source.units, target.first - source.first)
            whole = known.masked or source.first < VGPR_BASE
            return (at, replaced | {lines[at].id: text}) if plain and whole and text is not None else None
        if known.reads & source.units:
            text = _reading(instruction, source, target)
            if text is None:
                return None
            replaced[lines[at].id] = text
    return None


def _reading(instruction: Instruction, old: Reg, new: Reg) -> str | None:
    """The text that reads `new` in place of `old`; None where it cannot, or where it may read lanes that are off."""
    known = effects(instruction)
    lanes = old.first >= VGPR_BASE
    if lanes and (not known.masked or "dpp" in instruction.encoding or "cross_lane" in known.row.tags):
        return None
    return renamed(instruction, old.units, 0, new.first - old.first)


def together(lines: Sequence[Line], live_out: Sequence[RegSet], find: Finder) -> tuple[list[int], dict[int, str]]:
    """Copies that can go all at once, by line id, and the new texts of other lines."""
    now, live = list(lines), list(live_out)
    gone: list[int] = []
    texts: dict[int, str] = {}
    while found := find(now, live):
        first, last, longer = found[0].longer
        for n in range(first, last):
            live[n] |= longer
        for n, line in enumerate(now):
            if line.id in found[0].replaced:
                texts[line.id] = found[0].replaced[line.id]
                now[n] = replace(line, instruction=parse_instruction(texts[line.id]))
        at = next(n for n, line in enumerate(now) if line.id == found[0].copy)
        gone.append(found[0].copy)
        del now[at]
        del live[at]
    return gone, {i: text for i, text in texts.items() if i not in gone}
