"""What a candidate is like, apart from how fast it is: the axes of the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from asmevo.isa import Effects, Instruction, MatrixRow, MemoryRow, Space, effects
from asmevo.isa.limits import has_limits, limits_of
from asmevo.program import Line, Program
from asmevo.verdict import UnsupportedError

AXES = ("occupancy", "load_distance", "mfma_density", "code_size")
"""Names of the axes, in the order of a cell."""
_WAVES_WITHOUT_LIMITS = 0


def behaviour(program: Program, heat: Mapping[int, float]) -> dict[str, int]:
    """The cell of a candidate, axis by axis.

    `occupancy`: waves a SIMD holds by vector registers. `load_distance`: instructions from a global load to the first
    reader of its result in the hottest block, mean over its loads, as a power of two (half steps). `mfma_density`:
    share of matrix instructions in that block, in sixteenths. `code_size`: reachable instructions against K0, in
    sixty-fourths.
    """
    known = [_effects(line.instruction) for line in _hottest(program, heat)]
    matrix = sum(one is not None and isinstance(one.row, MatrixRow) for one in known)
    target = program.source.target
    waves = (
        limits_of(target).waves_by_registers(program.kernel.descriptor.vgpr_alloc)
        if has_limits(target)
        else _WAVES_WITHOUT_LIMITS
    )
    reachable = sum(block.last - block.first for block in program.blocks)
    return {
        "occupancy": waves,
        "load_distance": _log(_load_distance(known)),
        "mfma_density": 16 * matrix // max(1, len(known)),
        "code_size": round(64 * reachable / max(1, len(program.source.text_bytes) // 4)),
    }


def _hottest(program: Program, heat: Mapping[int, float]) -> Sequence[Line]:
    """The lines of the block with the largest share; none where no block has one. Runs for every candidate, so it
    looks up no line by itself."""
    shares = list(map(heat.get, program.position, repeat(0.0)))  # in the order of the lines
    spent = [sum(shares[block.first : block.last]) for block in program.blocks]
    if not any(spent):
        return ()
    block = program.blocks[spent.index(max(spent))]
    return program.lines[block.first : block.last]


def _load_distance(known: Sequence[Effects | None]) -> float:
    """Mean over global loads; a load that nobody reads before the block ends counts to its end."""
    reads = [0 if one is None else one.reads for one in known]
    distances: list[int] = []
    for at, one in enumerate(known):
        if one is None or not isinstance(row := one.row, MemoryRow) or row.kind != "load":
            continue
        if row.space in (Space.LDS, Space.SCALAR):
            continue
        readers = (n for n in range(at + 1, len(known)) if reads[n] & one.writes)
        distances.append(next(readers, len(known)) - at)
    return sum(distances) / len(distances) if distances else 0.0


def _effects(instruction: Instruction) -> Effects | None:
    """None for an opcode without a row."""
    try:
        return effects(instruction)
    except UnsupportedError:
        return None


def _log(distance: float) -> int:
    """Half steps of powers of two: 0, 1, 2 for 1, 1.4, 2."""
    step, at = 0, 1.0
    while at * 2**0.5 <= distance:
        at *= 2**0.5
        step += 1
    return step
