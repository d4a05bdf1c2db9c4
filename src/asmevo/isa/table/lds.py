"""LDS opcodes. Sources: CDNA3 ISA, DS. All count in lgkmcnt and return in issue order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asmevo.isa.row import Counter, CrossLaneRow, Pipe, Row, Space, signature
from asmevo.isa.table.atomics import (
    FLOAT_ATOMICS,
    PACKED_ATOMICS,
    exchanged_words,
    integer_atomics,
    masked_or,
    reverse_subtract,
    store_if_equal,
    store_if_equal_float,
    wrapped,
)
from asmevo.isa.table.build import Meaning, memory

_LDS = Space.LDS


def _through_lds(name: str, operands: str, kind: str) -> CrossLaneRow:
    """A move between lanes that uses the LDS crossbar but no LDS memory."""
    return CrossLaneRow(
        name=name,
        slots=signature(operands),
        kind=kind,
        pipe=Pipe.LDS,
        latency="lds",
        counters=(Counter.LGKM,),
        tags=frozenset({"cross_lane"}),
    )


def _atomic(name: str, bits: int, type_: str, meaning: Meaning, data: int = 1) -> tuple[Row, ...]:
    """The forms without and with a result; `name` has `{}` where `_rtn` goes, `data` is the number of operands."""
    uses = ", ".join(["u32", *[f"b{bits}"] * data])
    size = bits // 8
    plain = memory(name.format(""), f"= {uses}", _LDS, "atomic", size, atomic=meaning, atomic_type=type_)
    return plain, replace(plain, name=name.format("_rtn"), slots=signature(f"b{bits} = {uses}"))


def _atomics(bits: int) -> Iterator[Row]:
    """All LDS atomics on `bits` bits."""
    plain = integer_atomics(bits)
    unsigned = f"u{bits}"
    for name in ("add", "sub", "inc", "dec"):
        yield from _atomic(f"ds_{name}{{}}_u{bits}", bits, unsigned, plain[name])
    yield from _atomic(f"ds_rsub{{}}_u{bits}", bits, unsigned, reverse_subtract)
    for name in ("min", "max"):
        yield from _atomic(f"ds_{name}{{}}_i{bits}", bits, unsigned, plain[f"s{name}"])
        yield from _atomic(f"ds_{name}{{}}_u{bits}", bits, unsigned, plain[f"u{name}"])
        yield from _atomic(f"ds_{name}{{}}_f{bits}", bits, f"f{bits}", FLOAT_ATOMICS[name])
    for name in ("and", "or", "xor"):
        yield from _atomic(f"ds_{name}{{}}_b{bits}", bits, unsigned, plain[name])
    yield from _atomic(f"ds_mskor{{}}_b{bits}", bits, unsigned, masked_or, 2)
    yield _atomic(f"ds_wrxchg{{}}_b{bits}", bits, unsigned, plain["swap"])[1]
    yield from _atomic(f"ds_cmpst{{}}_b{bits}", bits, unsigned, store_if_equal, 2)
    yield from _atomic(f"ds_cmpst{{}}_f{bits}", bits, f"f{bits}", store_if_equal_float, 2)
    yield from _atomic(f"ds_add{{}}_f{bits}", bits, f"f{bits}", FLOAT_ATOMICS["add"])


ROWS: tuple[Row, ...] = (
    # loads
    *(
        memory(f"ds_read_{kind}", f"b{max(32, 8 * size)} = u32", _LDS, "load", size, extend=extend)
        for kind, size, extend in (
            ("u8", 1, "zero"),
            ("i8", 1, "sign"),
            ("u16", 2, "zero"),
            ("i16", 2, "sign"),
            ("u8_d16", 1, "d16_lo_zero"),
            ("u8_d16_hi", 1, "d16_hi_zero"),
            ("i8_d16", 1, "d16_lo_sign"),
            ("i8_d16_hi", 1, "d16_hi_sign"),
            ("u16_d16", 2, "d16_lo"),
            ("u16_d16_hi", 2, "d16_hi"),
            ("b32", 4, ""),
            ("b64", 8, ""),
            ("b96", 12, ""),
            ("b128", 16, ""),
        )
    ),
    *(
        memory(f"ds_read2{st}_b{bits}", f"b{2 * bits} = u32", _LDS, "load", bits // 8, elements=2, stride=stride)
        for st, stride in (("", 1), ("st64", 64))
        for bits in (32, 64)
    ),
    memory("ds_read_addtid_b32", "b32 = {m0}", _LDS, "load", 4, "m0_data", "addtid"),
    # stores
    *(
        memory(f"ds_write_{kind}", f"= u32, b{max(32, 8 * size)}", _LDS, "store", size, extend=extend)
        for kind, size, extend in (
            ("b8", 1, ""),
            ("b8_d16_hi", 1, "d16_hi"),
            ("b16", 2, ""),
            ("b16_d16_hi", 2, "d16_hi"),
            ("b32", 4, ""),
            ("b64", 8, ""),
            ("b96", 12, ""),
            ("b128", 16, ""),
        )
    ),
    *(
        memory(
            f"ds_write2{st}_b{bits}", f"= u32, b{bits}, b{bits}", _LDS, "store", bits // 8, elements=2, stride=stride
        )
        for st, stride in (("", 1), ("st64", 64))
        for bits in (32, 64)
    ),
    memory("ds_write_addtid_b32", "= b32, {m0}", _LDS, "store", 4, "m0_data", "addtid"),
    # atomics
    *_atomics(32),
    *_atomics(64),
    *(
        row
        for name, meaning in PACKED_ATOMICS.items()
        for row in _atomic(f"ds_{name[:6]}{{}}{name[6:]}", 32, "u32", meaning)
    ),
    *(
        memory(
            f"ds_wrxchg2{st}_rtn_b{bits}",
            f"b{2 * bits} = u32, b{bits}, b{bits}",
            _LDS,
            "atomic",
            bits // 8,
            elements=2,
            stride=stride,
            atomic=lambda o, old, x: x,
            atomic_type=f"u{bits}",
        )
        for st, stride in (("", 1), ("st64", 64))
        for bits in (32, 64)
    ),
    _atomic("ds_wrap{}_b32", 32, "u32", wrapped, 2)[1],
    _atomic("ds_condxchg32{}_b64", 64, "u64", exchanged_words)[1],
    # counters for the wave, at the address in M0
    *(
        memory(name, "b32 = {m0}", _LDS, "atomic", 4, "m0_data", "wave_count", atomic=meaning)
        for name, meaning in (("ds_append", integer_atomics(32)["add"]), ("ds_consume", integer_atomics(32)["sub"]))
    ),
    # moves between lanes
    _through_lds("ds_bpermute_b32", "b32 = u32, b32", "bpermute"),
    _through_lds("ds_permute_b32", "b32 = u32, b32", "permute"),
    _through_lds("ds_swizzle_b32", "b32 = b32", "swizzle"),
)
