"""Legal edits, correct by construction: what each keeps is said at its function. The gate must admit all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from asmevo.edit import Insert, Reorder, Replace, apply_all
from asmevo.gate.strength.code import Code, is_access, operand_text, reads_from, registers, with_operand, with_register
from asmevo.gate.strength.kind import Edits, Kind
from asmevo.isa import Reg, effects
from asmevo.isa.registers import AGPR_BASE, EXEC, MODE, VGPR_BASE, RegSet, span
from asmevo.program import Line, control_kind
from asmevo.program.hazards import smallest_distances
from asmevo.program.liveness import Liveness, liveness
from asmevo.verdict import UnsupportedError

_ALL = "s_waitcnt vmcnt(0) lgkmcnt(0)"
_TIME = re.compile(r"s_(nop|waitcnt|barrier|setprio|sleep|endpgm|branch|cbranch)")


def _stronger_wait(code: Code) -> Iterator[Edits]:
    """A wait for more: whatever was finished still is."""
    for line in code.lines(r"s_waitcnt .*\([1-9]"):
        yield (Replace(line.id, _ALL),)


def _additional_wait(code: Code) -> Iterator[Edits]:
    """Waiting changes no value."""
    for line in code.lines("v_|s_add|ds_read"):
        yield (Insert(line.id, _ALL),)


def _repeated_wait(code: Code) -> Iterator[Edits]:
    """A wait twice in a row is a wait."""
    for line in code.lines("s_waitcnt"):
        yield (Insert(line.id, line.instruction.text),)


def _additional_nop(code: Code) -> Iterator[Edits]:
    """Time passes."""
    for line in code.lines("v_|s_add|buffer_|ds_|global_"):
        yield (Insert(line.id, "s_nop 3"),)


def _longer_nop(code: Code) -> Iterator[Edits]:
    """More time passes."""
    for line in code.lines(r"s_nop (?!15)"):
        yield (Replace(line.id, "s_nop 15"),)


def _independent_swap(code: Code) -> Iterator[Edits]:
    """Neighbours of which neither writes what the other reads or writes, at most one of which touches memory, and
    neither is a fence, with no pair of instructions brought closer than any of its classes is in K0."""
    for a, b in code.neighbours():
        if _independent(a, b):
            yield (Reorder((b.id, a.id)),)


def _independent(a: Line, b: Line) -> bool:
    if any(_TIME.match(x.instruction.text) or control_kind(x.instruction) for x in (a, b)):
        return False
    try:
        one, other = effects(a.instruction), effects(b.instruction)
    except UnsupportedError:
        return False
    if one.row.tags & {"fence", "barrier", "cache"} or other.row.tags & {"fence", "barrier", "cache"}:
        return False
    if is_access(a) or is_access(b) or any(x.instruction.base.startswith("ds_") for x in (a, b)):
        return False
    return not (one.writes & (other.reads | other.writes) or other.writes & one.reads)


def _spaced(code: Code, edits: Edits) -> bool:
    """Whether no pair of classes comes closer than in K0, where it is under its rule."""
    found = smallest_distances(code.hazards.hazards(apply_all(code.program, edits)))
    return all(distance >= code.distances.get(key, 1 << 20) for key, distance in found.items())


def _swapped_operands(code: Code) -> Iterator[Edits]:
    """a + b is b + a, in integers."""
    for line in code.lines(r"v_(add_u32|xor_b32|or_b32|and_b32)_e32 v\d+, v\d+, v\d+$"):
        head, one, other = line.instruction.text.rsplit(", ", 2)
        if one != other:
            yield (Replace(line.id, f"{head}, {other}, {one}"),)


def _dead_write(code: Code) -> Iterator[Edits]:
    """A VGPR is written that the next line overwrites under the same EXEC without reading it."""
    for line in code.lines(r"v_(add_u32|lshlrev_b32|and_b32|xor_b32|mov_b32)_e32 v"):
        (unit,) = registers(line, 0, 1)
        if unit not in registers(line, 1) and not _outstanding(code, line, unit):
            yield (Insert(line.id, f"v_mov_b32_e32 v{unit - VGPR_BASE}, 7"),)


def _outstanding(code: Code, line: Line, unit: int) -> bool:
    """Whether a load or a matrix instruction in front of the line writes the register, in the order of the text."""
    position = code.program.position[line.id]
    return any(
        unit in registers(x, 0, 1) and (is_access(x) or x.instruction.base.startswith("v_mfma"))
        for x in code.program.lines[max(0, position - 64) : position]
    )


def _unused_scalar(code: Code) -> Iterator[Edits]:
    """An SGPR that no line names is written."""
    if code.unused["s"]:
        for line in code.lines("v_mfma|s_add|ds_read|buffer_load|global_load|v_add"):
            yield (Insert(line.id, f"s_mov_b32 s{code.unused['s'][-1]}, 5"),)


def _renamed(code: Code) -> Iterator[Edits]:
    """A value lives in a register that no line names: its maker and all its readers, which stand in one block and under
    one EXEC, look at their own lanes only, and are the only ones."""
    if not code.unused["v"]:
        return
    live = liveness(code.program)
    for line in code.lines(r"v_(?!cmp|readlane|readfirstlane|mfma|accvgpr_read|swap)"):
        name = f"v{code.unused['v'][0]}"
        if (readers := _readers(code, live, line)) is None:
            continue
        (unit,) = registers(line, 0, 1)
        edits = [Replace(line.id, with_operand(line.instruction.text, 0, name))]
        edits += [Replace(x.id, _read_as(x, unit, name)) for x in readers]
        yield tuple(edits)


def _readers(code: Code, live: Liveness, maker: Line) -> Sequence[Line] | None:
    """All readers of a value of one register; None where they are not all known to be of the simple kind."""
    written = registers(maker, 0, 1)
    if len(written) != 1 or maker.instruction.encoding not in ("e32", "e64"):
        return None
    (unit,) = written
    mask: RegSet = span(unit, 1)
    known = effects(maker.instruction)
    if not VGPR_BASE <= unit < AGPR_BASE or known.reads & mask or known.writes != mask:
        return None
    if _outstanding(code, maker, unit):
        return None
    found: list[Line] = []
    for line in code.behind(maker):
        now = effects(line.instruction)
        if now.reads & mask:
            if not _is_simple(line) or any(_overlaps(o, unit) for o in line.instruction.operands[: reads_from(line)]):
                return None
            found.append(line)
        if now.writes & mask:
            return None
        position = code.program.position[line.id]
        if not live.live_out(position) & mask:
            return found or None
        if now.writes & (EXEC | span(MODE, 1)):
            return None
    return None


def _is_simple(line: Line) -> bool:
    """A vector instruction whose lanes do not look at each other; no matrix product, no access."""
    known = effects(line.instruction)
    plain = line.instruction.encoding in ("e32", "e64") and "cross_lane" not in known.row.tags and known.masked
    return plain and not is_access(line) and not line.instruction.base.startswith("v_read")


def _overlaps(operand: object, unit: int) -> bool:
    return isinstance(operand, Reg) and operand.first <= unit < operand.first + operand.count


def _read_as(line: Line, unit: int, name: str) -> str:
    """The line with another register where it reads this one; only operands of one register are renamed."""
    text = line.instruction.text
    for index, operand in enumerate(line.instruction.operands):
        if index >= reads_from(line) and isinstance(operand, Reg) and _overlaps(operand, unit):
            if operand.count != 1:
                raise ValueError(text)
            text = with_operand(text, index, with_register(operand_text(text, index), name))
    return text


def _moved_prio(code: Code) -> Iterator[Edits]:
    """Priorities decide when a wave issues, and nothing else."""
    for line in code.lines("v_mfma|v_add|ds_read|buffer_load"):
        yield (Insert(line.id, "s_setprio 1"),)


LEGAL = (
    Kind("stronger wait", "A wait waits for everything.", _stronger_wait),
    Kind("additional wait", "A wait where none is needed.", _additional_wait),
    Kind("repeated wait", "A wait twice.", _repeated_wait),
    Kind("additional nop", "Time passes.", _additional_nop),
    Kind("longer nop", "More time passes.", _longer_nop),
    Kind("independent swap", "Two neighbours that share nothing change places.", _independent_swap, holds=_spaced),
    Kind("swapped operands", "a + b becomes b + a, in integers.", _swapped_operands),
    Kind("dead write", "A register is written that the next line overwrites.", _dead_write, holds=_spaced),
    Kind("unused scalar", "A scalar register that nothing names is written.", _unused_scalar),
    Kind("renamed register", "A value lives in another, unused register.", _renamed, holds=_spaced),
    Kind("priority", "Another priority of the wave.", _moved_prio),
)
