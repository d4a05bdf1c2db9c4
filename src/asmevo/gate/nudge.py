"""Approximations as wrong as hardware may be: their results moved toward zero, or away from it.

Of hardware nothing is promised but a unit in the last place, and the simulator has errors of its own
(`asmevo.sim.APPROXIMATIONS`), so results here and there are apart by as much as `NUDGED` says. What leans on one must
stand both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import MappingProxyType

from asmevo.isa import effects, units
from asmevo.isa.registers import unit_name
from asmevo.program import Line, Program, rebuild
from asmevo.program.text import make_line
from asmevo.sim import APPROXIMATIONS
from asmevo.verdict import Finding, Severity

NUDGES: Mapping[str, str] = MappingProxyType(
    {"down": "v_mul_f32_e32 {0}, 0x3f7fffff, {0}", "up": "v_fmamk_f32 {0}, {0}, 0x33800000, {0}"}
)
"""What moves a register: x * (1 - 2**-24) and x + x * 2**-24, rounded once. Normal numbers become the next one toward
zero, or away from it, where the largest becomes an infinity. Powers of two stay when they go up, as does the smallest
one when it goes down; denormals, zeros, infinities and NaN stay."""
VARIANTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"down": ("down",), "up": ("up",), "down and up": ("down", "up"), "up and down": ("up", "down")}
)
"""Which of `NUDGES` move the approximations of a program, one line after the other and from the first again. Those that
go different ways show where the errors of two, moved alike, would cancel."""
NUDGED: Mapping[str, int] = MappingProxyType(
    {opcode: known.apart for known in APPROXIMATIONS for opcode in known.opcodes if opcode.endswith("_f32")}
)
"""How many times results are moved: `NUDGES` move floats of 32 bits."""


def is_approximation(line: Line) -> bool:
    """Whether hardware may give something else than the simulator does."""
    return "trans" in effects(line.instruction).row.tags


def is_nudged(line: Line) -> bool:
    """Whether `nudged` makes its result as wrong as may be. Forms that write a part of a register, or of the lanes, are
    not moved."""
    return line.instruction.encoding in ("e32", "e64") and effects(line.instruction).row.name in NUDGED


def approximations(program: Program) -> tuple[Line, ...]:
    """All that can be reached."""
    return tuple(line for line in program.lines if line.id in program.block_of and is_approximation(line))


def unknown_error(line: Line) -> Finding:
    """What is to be said of an approximation that is not moved."""
    message = f"How far `{line.instruction}` is off on hardware is not known, so no launch shows its error."
    return Finding("inexact.approximation", message, Severity.WARNING, line.id)


def nudged(program: Program, variant: str, k0: Program) -> bytes:
    """The object in which results of such opcodes are moved as one of `VARIANTS` says.

    Lines of K0 are counted in its order, so each goes the way that it goes in K0; lines that are not K0's are counted
    by themselves.
    """
    moves = [NUDGES[name] for name in VARIANTS[variant]]
    known = {line.id: number for number, line in enumerate(_moved(k0))}
    added = count()
    way = {line.id: known[line.id] if line.id in known else next(added) for line in _moved(program)}
    lines: list[Line] = []
    fresh = program.next_id
    for line in program.lines:
        lines.append(line)
        if line.id not in way:
            continue
        found = effects(line.instruction)
        (unit,) = units(found.writes)
        move = moves[way[line.id] % len(moves)].format(unit_name(unit))
        for text in ("s_nop 1", *[move] * NUDGED[found.row.name]):
            lines.append(make_line(fresh, text))
            fresh += 1
    return rebuild(program.with_lines(tuple(lines)))


def _moved(program: Program) -> Iterator[Line]:
    return filter(is_nudged, approximations(program))
