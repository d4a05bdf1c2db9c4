"""Pairs that hold one value twice: packed instructions can read one register for both of their elements.

Hand-written kernels copy a scale to the next register, as in `v_mov_b32 v57, v56` in front of `v_pk_fma_f32` with
`v[56:57]`. With `op_sel` and `op_sel_hi` each element takes either half of a pair, so the copy is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmevo.isa import Instruction, PackedRow, Reg, RegSet, effects, parse_instruction, units
from asmevo.isa.registers import AGPR_BASE, VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.strategies.values import copy_of


def broadcasts(lines: Sequence[Line], live_out: Sequence[RegSet]) -> tuple[list[int], dict[int, str]]:
    """Copies that can go all at once, by line id, and new texts of the packed instructions that read them.

    `live_out` is by line.
    """
    texts: dict[int, str] = {}
    read: list[RegSet] = []
    origin: dict[int, int] = {}
    for line in lines:
        text = folded(line.instruction, origin)
        if text is not None:
            texts[line.id] = text
        read.append(selected_reads(parse_instruction(text) if text else line.instruction))
        _follow(line.instruction, origin)
    gone: list[int] = []
    targets: RegSet = 0
    for at in range(len(lines) - 1, -1, -1):
        target = _copied(lines[at].instruction)
        if target and live_out[at] & target and _is_unread(target, lines[at + 1 :], live_out[at + 1 :], read[at + 1 :]):
            gone.insert(0, lines[at].id)
            targets |= target
            read[at] = 0
    readers = {line.id for line in lines if effects(line.instruction).reads & targets}
    return gone, {i: text for i, text in texts.items() if i in readers}


def folded(instruction: Instruction, origin: Mapping[int, int]) -> str | None:
    """The text of a packed f32 instruction that reads, for units that are copies, the units that they are copies of.

    None where there is nothing to change, or where the two elements of an operand are in no common pair.
    """
    if not _is_packed(instruction):
        return None
    mnemonic, _, rest = instruction.text.partition(" ")
    parts = [part.partition(" ")[0] for part in rest.split(", ")]
    low, high = _selections(instruction)
    changed = False
    for n, source in enumerate(instruction.operands[1:]):
        if not isinstance(source, Reg) or source.count != 2 or not VGPR_BASE <= source.first < AGPR_BASE:
            continue
        if source.neg or source.absolute:
            continue
        now = (source.first + low[n], source.first + high[n])
        then = tuple(origin.get(unit, unit) for unit in now)
        if then == now or then[0] // 2 != then[1] // 2:
            continue
        low[n], high[n] = then[0] % 2, then[1] % 2
        first = then[0] - low[n] - VGPR_BASE
        parts[n + 1] = f"v[{first}:{first + 1}]"
        changed = True
    if not changed:
        return None
    words = [", ".join(parts)]
    words += [f"op_sel:[{','.join(map(str, low))}]"] if any(low) else []
    words += [f"op_sel_hi:[{','.join(map(str, high))}]"] if not all(high) else []
    words += [f"{key}:{value}" if value else key for key, value in instruction.modifiers.items() if key not in _SELECT]
    return f"{mnemonic} {' '.join(words)}"


def selected_reads(instruction: Instruction) -> RegSet:
    """Units that an instruction reads; of the pairs of a packed f32 one only the halves that it takes."""
    if not _is_packed(instruction):
        return effects(instruction).reads
    low, high = _selections(instruction)
    read: RegSet = 0
    for n, source in enumerate(instruction.operands[1:]):
        if isinstance(source, Reg):
            read |= 1 << source.first + low[n] | 1 << source.first + high[n] if source.count == 2 else source.units
    return read


_SELECT = ("op_sel", "op_sel_hi")


def _is_packed(instruction: Instruction) -> bool:
    row = effects(instruction).row
    return isinstance(row, PackedRow) and row.element == "f32" and not row.kind


def _selections(instruction: Instruction) -> tuple[list[int], list[int]]:
    """By source, which half the low and the high element take."""
    count = len(instruction.operands) - 1
    return list(instruction.bits("op_sel", (0,) * count)), list(instruction.bits("op_sel_hi", (1,) * count))


def _copied(instruction: Instruction) -> RegSet:
    """The VGPR that a copy of another one writes; nothing for other instructions."""
    target, source = copy_of(instruction) or (None, None)
    if target is None or source is None or target.count != 1 or target.units == source.units:
        return 0
    return target.units if min(target.first, source.first) >= VGPR_BASE else 0


def _follow(instruction: Instruction, origin: dict[int, int]) -> None:
    """Bring the copies (unit to what it is a copy of) up to date."""
    target = _copied(instruction)
    _, source = copy_of(instruction) or (None, None)
    root = origin.get(source.first, source.first) if target and source else None
    if writes_exec(instruction):
        origin.clear()
    written = set(units(effects(instruction).writes))
    for unit in [unit for unit, of in origin.items() if unit in written or of in written]:
        del origin[unit]
    if root is not None and root not in written:
        origin.update(dict.fromkeys(units(target), root))


def _is_unread(target: RegSet, lines: Sequence[Line], live_out: Sequence[RegSet], read: Sequence[RegSet]) -> bool:
    """Whether nobody reads a copy behind whose place these lines stand."""
    for line, live, reads in zip(lines, live_out, read, strict=True):
        if reads & target:
            return False
        if not live & target:
            return True
        known = effects(line.instruction)
        if known.writes & target:
            return known.masked
        if writes_exec(line.instruction):
            return False
    return False
