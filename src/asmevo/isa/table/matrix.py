"""MFMA and SMFMAC opcodes.

Sources: CDNA3 ISA, matrix arithmetic; AMD's matrix instruction calculator; LLVM `SISchedule.td` and hazard recogniser
for passes.

XDL are all but the f32- and f64-input ones. fp8 and bf8 are the fnuz formats.
"""

from __future__ import annotations

from asmevo.isa.row import MatrixRow, Row, signature

_CLASS = {"f32": "sgemm", "f64": "dgemm"}
_BITS = {"f32": 32, "f16": 16, "bf16": 16, "xf32": 32, "fp8": 8, "bf8": 8, "i8": 8, "f64": 64}


def _mfma(shape: str, a_type: str, b_type: str, passes: int, *, sparse: bool = False) -> MatrixRow:
    """A row from its shape `MxNxK` or `MxNxK_<blocks>b`; register counts follow from 64 lanes holding each operand.

    With `sparse` A holds two of every four elements along k, and the operand behind B which ones.
    """
    size, _, blocks_text = shape.partition("_")
    m, n, k = (int(x) for x in size.split("x"))
    blocks = int(blocks_text[:-1]) if blocks_text else 1
    c_type = {"i8": "i32", "f64": "f64"}.get(a_type, "f32")

    def operand(elements: int, bits: int) -> str:
        return f"b{max(32, elements * blocks * bits // 64)}"

    a, b = operand(m * k // (2 if sparse else 1), _BITS[a_type]), operand(n * k, _BITS[b_type])
    c = operand(m * n, 64 if c_type == "f64" else 32)
    return MatrixRow(
        name=f"v_{'smfmac' if sparse else 'mfma'}_{c_type}_{shape}_{_types(a_type, b_type)}",
        slots=signature(f"{c} = {a}, {b}, {'b32, @0' if sparse else c}"),
        m=m,
        n=n,
        k=k,
        blocks=blocks,
        a_type=a_type,
        b_type=b_type,
        c_type=c_type,
        passes=passes,
        sparse=sparse,
        tags=frozenset({_CLASS.get(a_type, "xdl")}),
    )


def _types(a_type: str, b_type: str) -> str:
    return f"{a_type}_{b_type}" if a_type in ("fp8", "bf8") else a_type


ROWS: tuple[Row, ...] = (
    *(
        _mfma(shape, kind, kind, passes)
        for kind in ("f16", "bf16")
        for shape, passes in (
            ("4x4x4_16b", 2),
            ("16x16x16", 4),
            ("16x16x4_4b", 8),
            ("32x32x8", 8),
            ("32x32x4_2b", 16),
        )
    ),
    *(
        _mfma(shape, "i8", "i8", passes)
        for shape, passes in (
            ("4x4x4_16b", 2),
            ("16x16x32", 4),
            ("16x16x4_4b", 8),
            ("32x32x16", 8),
            ("32x32x4_2b", 16),
        )
    ),
    *(
        _mfma(shape, a, b, passes)
        for shape, passes in (("16x16x32", 4), ("32x32x16", 8))
        for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")
    ),
    *(_mfma(shape, "xf32", "xf32", passes) for shape, passes in (("16x16x8", 4), ("32x32x4", 8))),
    *(
        _mfma(shape, "f32", "f32", passes)
        for shape, passes in (
            ("4x4x1_16b", 2),
            ("16x16x4", 8),
            ("16x16x1_4b", 8),
            ("32x32x2", 16),
            ("32x32x1_2b", 16),
        )
    ),
    _mfma("4x4x4_4b", "f64", "f64", 4),
    _mfma("16x16x4", "f64", "f64", 8),
    *(
        _mfma(shape, kind, kind, passes, sparse=True)
        for kind in ("f16", "bf16")
        for shape, passes in (("16x16x32", 4), ("32x32x16", 8))
    ),
    *(
        _mfma(shape, a, b, passes, sparse=True)
        for shape, passes in (("16x16x64", 4), ("32x32x32", 8))
        for a, b in (("i8", "i8"), ("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8"))
    ),
)
