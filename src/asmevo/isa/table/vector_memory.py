"""Buffer and scalar memory opcodes. Sources: CDNA3 ISA, MUBUF and SMEM.

Buffer forms print `data, voffset, rsrc, soffset`; with `lds` the data goes to LDS instead of a register.
"""

from __future__ import annotations

from asmevo.isa.row import MemoryRow, Row, Space
from asmevo.isa.table.atomics import FLOAT_ATOMICS, integer_atomics, packed_add_f16, swap_if_equal
from asmevo.isa.table.build import memory

_BUFFER, _SCALAR = Space.BUFFER, Space.SCALAR

LOADS: tuple[tuple[str, int, str], ...] = (
    ("ubyte", 1, "zero"), ("sbyte", 1, "sign"), ("ushort", 2, "zero"), ("sshort", 2, "sign"),
    ("ubyte_d16", 1, "d16_lo_zero"), ("ubyte_d16_hi", 1, "d16_hi_zero"),
    ("sbyte_d16", 1, "d16_lo_sign"), ("sbyte_d16_hi", 1, "d16_hi_sign"),
    ("short_d16", 2, "d16_lo"), ("short_d16_hi", 2, "d16_hi"),
    ("dword", 4, ""), ("dwordx2", 8, ""), ("dwordx3", 12, ""), ("dwordx4", 16, ""),
)  # fmt: skip
"""Vector loads of buffer, global, flat and scratch: name, bytes, extension."""

STORES: tuple[tuple[str, int, str], ...] = (
    ("byte", 1, ""), ("byte_d16_hi", 1, "d16_hi"), ("short", 2, ""), ("short_d16_hi", 2, "d16_hi"),
    ("dword", 4, ""), ("dwordx2", 8, ""), ("dwordx3", 12, ""), ("dwordx4", 16, ""),
)  # fmt: skip


def register(size: int) -> str:
    """Register type of `size` bytes of data."""
    return f"b{max(32, 8 * size)}"


def wide(size: int) -> tuple[str, ...]:
    """The tag of stores over 64 bits."""
    return ("wide_store",) if size > 8 else ()


_ADDRESS = "any, b128, u32"

_SCALAR_FORMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "b64", ()),
    ("buffer_", "b128", ("scalar_buffer",)),
    ("scratch_", "b64", ("scratch_units",)),
)
"""Part of the mnemonic, type of the base and tags of scalar stores and atomics; scratch has no atomics."""

_CHANNELS = (("x", 1), ("xy", 2), ("xyz", 3), ("xyzw", 4))


def _formatted(name: str, channels: int, kind: str, *, half: bool) -> MemoryRow:
    """A load or store that converts between registers and the format that descriptor or instruction names.

    `size` is that of the registers: the bytes in memory depend on the format.
    """
    size = 4 * (-(-channels // 2) if half else channels)
    data, tags = f"b{8 * size}", wide(size) if kind == "store" else ()
    operands = f"{data} = {_ADDRESS}" if kind == "load" else f"= {data}, {_ADDRESS}"
    extend = "d16_hi" if "d16_hi" in name else ""
    return memory(name, operands, _BUFFER, kind, size, *tags, "format", extend=extend)


ROWS: tuple[Row, ...] = (
    *(
        _formatted(f"{prefix}_{kind}_format_{d16}{channels}", count, kind, half=bool(d16))
        for prefix in ("buffer", "tbuffer")
        for kind in ("load", "store")
        for d16 in ("", "d16_")
        for channels, count in _CHANNELS
    ),
    *(_formatted(f"buffer_{kind}_format_d16_hi_x", 1, kind, half=True) for kind in ("load", "store")),
    # buffers
    *(
        memory(f"buffer_load_{name}", f"{register(size)} = {_ADDRESS}", _BUFFER, "load", size, extend=extend)
        for name, size, extend in LOADS
    ),
    *(
        memory(
            f"buffer_store_{name}",
            f"= {register(size)}, {_ADDRESS}",
            _BUFFER,
            "store",
            size,
            *wide(size),
            extend=extend,
        )
        for name, size, extend in STORES
    ),
    *(
        memory(
            f"buffer_atomic_{name}{suffix}",
            f"= b{bits}, {_ADDRESS}",
            _BUFFER,
            "atomic",
            bits // 8,
            atomic=meaning,
            atomic_type=f"u{bits}",
        )
        for bits, suffix in ((32, ""), (64, "_x2"))
        for name, meaning in integer_atomics(bits).items()
    ),
    *(
        memory(
            f"buffer_atomic_cmpswap{suffix}",
            f"= b{2 * bits}, {_ADDRESS}",
            _BUFFER,
            "atomic",
            bits // 8,
            *wide(bits // 4),
            atomic=swap_if_equal,
            atomic_type=f"u{bits}",
        )
        for bits, suffix in ((32, ""), (64, "_x2"))
    ),
    memory(
        "buffer_atomic_add_f32",
        f"= b32, {_ADDRESS}",
        _BUFFER,
        "atomic",
        4,
        atomic=FLOAT_ATOMICS["add"],
        atomic_type="f32",
    ),
    memory("buffer_atomic_pk_add_f16", f"= b32, {_ADDRESS}", _BUFFER, "atomic", 4, atomic=packed_add_f16),
    *(
        memory(
            f"buffer_atomic_{name}_f64", f"= b64, {_ADDRESS}", _BUFFER, "atomic", 8, atomic=meaning, atomic_type="f64"
        )
        for name, meaning in FLOAT_ATOMICS.items()
    ),
    # scalar memory
    *(
        memory(f"s_load_dword{suffix}", f"b{32 * n} = b64, any", _SCALAR, "load", 4 * n)
        for n, suffix in ((1, ""), (2, "x2"), (4, "x4"), (8, "x8"), (16, "x16"))
    ),
    *(
        memory(f"s_buffer_load_dword{suffix}", f"b{32 * n} = b128, any", _SCALAR, "load", 4 * n, "scalar_buffer")
        for n, suffix in ((1, ""), (2, "x2"), (4, "x4"), (8, "x8"), (16, "x16"))
    ),
    *(
        memory(f"s_{prefix}store_dword{suffix}", f"= b{32 * n}, {base}, any", _SCALAR, "store", 4 * n, *tags)
        for prefix, base, tags in _SCALAR_FORMS
        for n, suffix in ((1, ""), (2, "x2"), (4, "x4"))
    ),
    *(
        memory(f"s_scratch_load_dword{suffix}", f"b{32 * n} = b64, any", _SCALAR, "load", 4 * n, "scratch_units")
        for n, suffix in ((1, ""), (2, "x2"), (4, "x4"))
    ),
    *(
        memory(
            f"s_{prefix}atomic_{name}{suffix}",
            f"= b{bits}, {base}, any",
            _SCALAR,
            "atomic",
            bits // 8,
            *tags,
            atomic=meaning,
            atomic_type=f"u{bits}",
        )
        for prefix, base, tags in _SCALAR_FORMS[:2]
        for bits, suffix in ((32, ""), (64, "_x2"))
        for name, meaning in integer_atomics(bits).items()
    ),
    *(
        memory(
            f"s_{prefix}atomic_cmpswap{suffix}",
            f"= b{2 * bits}, {base}, any",
            _SCALAR,
            "atomic",
            bits // 8,
            *tags,
            atomic=swap_if_equal,
            atomic_type=f"u{bits}",
        )
        for prefix, base, tags in _SCALAR_FORMS[:2]
        for bits, suffix in ((32, ""), (64, "_x2"))
    ),
)
