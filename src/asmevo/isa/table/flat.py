"""Global, flat and scratch memory opcodes. Sources: CDNA3 ISA, FLAT.

Global prints `vaddr, saddr` (`off` without an SGPR base), flat only `vaddr`, scratch `vaddr, saddr` with `off` for
either.
"""

from __future__ import annotations

from asmevo.isa.row import MemoryRow, Row, Space
from asmevo.isa.table.atomics import FLOAT_ATOMICS, PACKED_ATOMICS, integer_atomics, swap_if_equal
from asmevo.isa.table.build import Meaning, memory
from asmevo.isa.table.vector_memory import LOADS, STORES, register, wide

_SPACES = ((Space.GLOBAL, "any", ", any"), (Space.FLAT, "u64", ""), (Space.SCRATCH, "any", ", any"))
"""Space, type of the VGPR address, what follows it."""


def _atomic(name: str, bits: int, type_: str, meaning: Meaning, data_bits: int) -> tuple[Row, ...]:
    """The global and the flat form of one atomic."""
    return tuple(
        memory(
            f"{space}_atomic_{name}",
            f"= {address}, b{data_bits}{base}",
            space,
            "atomic",
            bits // 8,
            *wide(data_bits // 8),
            atomic=meaning,
            atomic_type=type_,
        )
        for space, address, base in _SPACES[:2]
    )


def _to_lds(space: Space, name: str, size: int, extend: str) -> MemoryRow:
    """A load that goes to LDS at M0, without a register."""
    return memory(
        f"{space}_load_lds_{name}", "= any, any, {m0}", space, "load", size, "lds_dma", "m0_data", extend=extend
    )


ROWS: tuple[Row, ...] = (
    *(
        memory(f"{space}_load_{name}", f"{register(size)} = {address}{base}", space, "load", size, extend=extend)
        for space, address, base in _SPACES
        for name, size, extend in LOADS
    ),
    *(
        memory(
            f"{space}_store_{name}",
            f"= {address}, {register(size)}{base}",
            space,
            "store",
            size,
            *wide(size),
            extend=extend,
        )
        for space, address, base in _SPACES
        for name, size, extend in STORES
    ),
    *(
        _to_lds(space, name, size, extend)
        for space in (Space.GLOBAL, Space.SCRATCH)
        for name, size, extend in (
            ("ubyte", 1, "zero"),
            ("sbyte", 1, "sign"),
            ("ushort", 2, "zero"),
            ("sshort", 2, "sign"),
            ("dword", 4, ""),
        )
    ),
    *(
        row
        for bits, suffix in ((32, ""), (64, "_x2"))
        for name, meaning in integer_atomics(bits).items()
        for row in _atomic(f"{name}{suffix}", bits, f"u{bits}", meaning, bits)
    ),
    *(
        row
        for bits, suffix in ((32, ""), (64, "_x2"))
        for row in _atomic(f"cmpswap{suffix}", bits, f"u{bits}", swap_if_equal, 2 * bits)
    ),
    *_atomic("add_f32", 32, "f32", FLOAT_ATOMICS["add"], 32),
    *(row for name, meaning in FLOAT_ATOMICS.items() for row in _atomic(f"{name}_f64", 64, "f64", meaning, 64)),
    *(row for name, meaning in PACKED_ATOMICS.items() for row in _atomic(name, 32, "u32", meaning, 32)),
)
