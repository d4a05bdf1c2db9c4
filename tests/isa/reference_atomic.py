"""What atomics leave in memory, written apart from the opcode table.

Entries take (old, *data) and give the new value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from reference_float import f, quietly, raw
from reference_integer import s

REFERENCES: dict[str, Callable[..., int]] = {}


def _add(names: list[str], function: Callable[..., int]) -> None:
    for name in names:
        assert name not in REFERENCES, name
        REFERENCES[name] = function


def _packed_sum(kind: Any) -> Callable[[int, int], int]:
    def both(old: int, x: int) -> int:
        a, b = (np.asarray([v], np.uint32).view(kind) for v in (old, x))
        total = (a.astype(np.float32) + b.astype(np.float32)).astype(kind) if kind is ml_dtypes.bfloat16 else a + b
        return int(total.view(np.uint32)[0])

    return quietly(both)


for _bits in (32, 64):
    _mask = (1 << _bits) - 1
    _suffix = "" if _bits == 32 else "_x2"
    _functions: dict[str, tuple[str, str, Callable[..., int]]] = {
        "swap": ("wrxchg", "b", lambda old, x: x),
        "add": ("add", "u", lambda old, x, m=_mask: (old + x) & m),
        "sub": ("sub", "u", lambda old, x, m=_mask: (old - x) & m),
        "smin": ("min", "i", lambda old, x, w=_bits: sorted((old, x), key=lambda v: s(v, w))[0]),
        "smax": ("max", "i", lambda old, x, w=_bits: sorted((old, x), key=lambda v: s(v, w))[1]),
        "umin": ("min", "u", lambda old, x: sorted((old, x))[0]),
        "umax": ("max", "u", lambda old, x: sorted((old, x))[1]),
        "and": ("and", "b", lambda old, x, m=_mask: m - ((m - old) | (m - x))),
        "or": ("or", "b", lambda old, x, m=_mask: m - ((m - old) & (m - x))),
        "xor": ("xor", "b", lambda old, x: (old | x) - (old & x)),
        "inc": ("inc", "u", lambda old, x: 0 if old >= x else old + 1),
        "dec": ("dec", "u", lambda old, x: x if old == 0 or old > x else old - 1),
    }
    for _name, (_ds, _type, _function) in _functions.items():
        _add([f"{p}_atomic_{_name}{_suffix}" for p in ("buffer", "global", "flat", "s", "s_buffer")], _function)
        _names = [f"ds_{_ds}_rtn_{_type}{_bits}", f"ds_{_ds}_{_type}{_bits}"]
        _add(_names[:1] if _name == "swap" else _names, _function)
    _add([f"ds_rsub_u{_bits}", f"ds_rsub_rtn_u{_bits}"], lambda old, x, m=_mask: (x - old) & m)
    _add([f"ds_mskor_b{_bits}", f"ds_mskor_rtn_b{_bits}"], lambda old, a, b, m=_mask: old & (m ^ a) | b)
    _add([f"ds_cmpst_b{_bits}", f"ds_cmpst_rtn_b{_bits}"], lambda old, wanted, new: new if old == wanted else old)
    _add(
        [f"ds_cmpst_f{_bits}", f"ds_cmpst_rtn_f{_bits}"],
        lambda old, wanted, new, w=_bits: new if f(old, w) == f(wanted, w) else old,
    )
    _add(
        [f"{p}_atomic_cmpswap{_suffix}" for p in ("buffer", "global", "flat", "s", "s_buffer")],
        lambda old, new, wanted: new if old == wanted else old,
    )
    for _name, _g in (
        ("add", lambda a, b: a + b),
        ("min", lambda a, b: b if b < a else a),
        ("max", lambda a, b: b if b > a else a),
    ):
        _names = [f"ds_{_name}_f{_bits}", f"ds_{_name}_rtn_f{_bits}"]
        if _bits == 64 or _name == "add":
            _names += [f"{p}_atomic_{_name}_f{_bits}" for p in ("buffer", "global", "flat")]
        _add(_names, quietly(lambda old, x, g=_g, w=_bits: raw(g(f(old, w), f(x, w)), w)))
_add(
    ["ds_pk_add_f16", "ds_pk_add_rtn_f16", *(f"{p}_atomic_pk_add_f16" for p in ("buffer", "global", "flat"))],
    _packed_sum(np.float16),
)
_add(
    ["ds_pk_add_bf16", "ds_pk_add_rtn_bf16", *(f"{p}_atomic_pk_add_bf16" for p in ("global", "flat"))],
    _packed_sum(ml_dtypes.bfloat16),
)
_add([f"ds_wrxchg2{st}_rtn_b{bits}" for st in ("", "st64") for bits in (32, 64)], lambda old, x: x)
_add(["ds_append"], lambda old, active: (old + active) % 2**32)
_add(["ds_consume"], lambda old, active: (old - active) % 2**32)
_add(["ds_wrap_rtn_b32"], lambda old, limit, rest: (old - limit if old >= limit else old + rest) % 2**32)


def _conditional(old: int, x: int) -> int:
    """Word by word: one with its top bit set goes to memory without it."""
    before, given = (v.to_bytes(8, "little") for v in (old, x))
    words = [
        given[i : i + 3] + bytes([given[i + 3] - 128]) if given[i + 3] >= 128 else before[i : i + 4] for i in (0, 4)
    ]
    return int.from_bytes(b"".join(words), "little")


_add(["ds_condxchg32_rtn_b64"], _conditional)
