"""What a candidate is like, apart from how fast it is: the axes of the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmevo.isa import Instruction, MatrixRow, MemoryRow, Space, effects
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
    lines = _hottest(program, heat)
    known = [line.instruction for line in lines]
    matrix = sum(_is(MatrixRow, i) for i in known)
    target = program.source.target
    waves = (
        limits_of(target).waves_by_registers(program.kernel.descriptor.vgpr_alloc)
        if has_limits(target)
        else _WAVES_WITHOUT_LIMITS
    )
    return {
        "occupancy": waves,
        "load_distance": _log(_load_distance(known)),
        "mfma_density": 16 * matrix // max(1, len(known)),
        "code_size": round(64 * len(program.block_of) / max(1, len(program.source.text_bytes) // 4)),
    }


def _hottest(program: Program, heat: Mapping[int, float]) -> Sequence[Line]:
    shares: dict[int, float] = {}
    for line_id, share in heat.items():
        block = program.block_of.get(line_id)
        if block is not None:
            shares[block] = shares.get(block, 0.0) + share
    if not shares:
        return ()
    block = program.blocks[max(sorted(shares), key=shares.__getitem__)]
    return program.lines[block.first : block.last]


def _load_distance(instructions: Sequence[Instruction]) -> float:
    """Mean over global loads; a load that nobody reads before the block ends counts to its end."""
    distances: list[int] = []
    for at, instruction in enumerate(instructions):
        row = _row(instruction)
        if not isinstance(row, MemoryRow) or row.kind != "load" or row.space in (Space.LDS, Space.SCALAR):
            continue
        made = effects(instruction).writes
        readers = (
            n
            for n, other in enumerate(instructions[at + 1 :], 1)
            if _row(other) is not None and effects(other).reads & made
        )
        distances.append(next(readers, len(instructions) - at))
    return sum(distances) / len(distances) if distances else 0.0


def _row(instruction: Instruction) -> object | None:
    try:
        return effects(instruction).row
    except UnsupportedError:
        return None


def _is(kind: type, instruction: Instruction) -> bool:
    return isinstance(_row(instruction), kind)


def _log(distance: float) -> int:
    """Half steps of powers of two: 0, 1, 2 for 1, 1.4, 2."""
    step, at = 0, 1.0
    while at * 2**0.5 <= distance:
        at *= 2**0.5
        step += 1
    return step
