"""Approximations as wrong as hardware may be: their results moved toward zero, or away from it.

Of hardware nothing is promised but a unit in the last place, and the simulator has errors of its own
(`asmevo.sim.fidelity`), so results here and there are apart by as much as `NUDGED` says. What leans on one must stand
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asmevo.isa import effects, units
from asmevo.isa.registers import unit_name
from asmevo.program import Line, Program, rebuild
from asmevo.program.text import make_line

NUDGES: Mapping[str, str] = MappingProxyType(
    {"down": "v_mul_f32_e32 {0}, 0x3f7fffff, {0}", "up": "v_fmamk_f32 {0}, {0}, 0x33800000, {0}"}
)
"""What moves a register: x * (1 - 2**-24) and x + x * 2**-24, rounded once. Normal numbers become the next one toward
zero, or away from it, where the largest becomes an infinity. Powers of two stay when they go up, as does the smallest
one when it goes down; denormals, zeros, infinities and NaN stay."""
NUDGED: Mapping[str, int] = MappingProxyType({"v_rcp_f32": 1, "v_rsq_f32": 1, "v_sqrt_f32": 1, "v_exp_f32": 2})
"""How many times results are moved. The first three are rounded nearly correctly here and within a unit on hardware;
`v_exp_f32` is within a unit here and there. `v_log_f32` is not one of them: 3 units here and 1 there may be 4 apart."""


def is_approximation(line: Line) -> bool:
    """Whether hardware may give something else than the simulator does."""
    return "trans" in effects(line.instruction).row.tags


def is_nudged(line: Line) -> bool:
    """Whether `nudged` makes its result as wrong as may be. Forms that write a part of a register, or of the lanes, are
    not moved."""
    return line.instruction.encoding in ("e32", "e64") and effects(line.instruction).row.name in NUDGED


def nudged(program: Program, move: str) -> bytes:
    """The object in which all results of such opcodes are moved; `move` is one of `NUDGES`."""
    lines: list[Line] = []
    number = program.next_id
    for line in program.lines:
        lines.append(line)
        if line.id not in program.block_of or not is_nudged(line):
            continue
        known = effects(line.instruction)
        (unit,) = units(known.writes)
        for text in ("s_nop 1", *[move.format(unit_name(unit))] * NUDGED[known.row.name]):
            lines.append(make_line(number, text))
            number += 1
    return rebuild(program.with_lines(tuple(lines)))
