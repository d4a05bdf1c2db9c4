"""Approximations as wrong as hardware may be: their results a unit in the last place down, or up.

The simulator rounds `v_rcp_f32` and its like nearly correctly; of hardware nothing is promised but one unit in the last
place (`asmevo.sim.fidelity`). A result that leans on one must stand both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from asmevo.isa import effects, units
from asmevo.isa.registers import unit_name
from asmevo.program import Line, Program, rebuild
from asmevo.program.text import make_line

NUDGES: Mapping[str, str] = MappingProxyType({"down": "0xb3800000", "up": "0x33800000"})
"""-2**-24 and 2**-24: x + x * 2**-24, rounded once, is the next float (or, up from a power of two, x itself);
infinities, NaN and zero stay."""
NUDGED = frozenset({"v_rcp_f32", "v_rsq_f32", "v_sqrt_f32", "v_exp_f32", "v_log_f32"})
"""Opcodes with results within one unit in the last place."""


def is_approximation(line: Line) -> bool:
    """Whether hardware may give something else than the simulator does."""
    return "trans" in effects(line.instruction).row.tags


def is_nudged(line: Line) -> bool:
    """Whether `nudged` makes its result as wrong as may be."""
    return effects(line.instruction).row.name in NUDGED


def nudged(program: Program, constant: str) -> bytes:
    """The object in which all results of such opcodes are moved; `constant` is one of `NUDGES`."""
    lines: list[Line] = []
    number = program.next_id
    for line in program.lines:
        lines.append(line)
        if line.id not in program.block_of or not is_nudged(line):
            continue
        (unit,) = units(effects(line.instruction).writes)
        name = unit_name(unit)
        for text in ("s_nop 1", f"v_fmamk_f32 {name}, {name}, {constant}, {name}"):
            lines.append(make_line(number, text))
            number += 1
    return rebuild(program.with_lines(tuple(lines)))
