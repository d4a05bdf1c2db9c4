"""The opcode table is whole: every opcode that LLVM decodes for gfx942 has a row, and every row is tested by value."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from test_rows import ATOMICS, LANE_DEPENDENT, MEANINGS, REFERENCES

from asmevo.isa import ControlRow, CrossLaneRow, Decoder, MatrixRow, MemoryRow, PackedRow, parse_instruction, rows

V = 256
"""First VGPR in a 9-bit source field."""
TESTED_IN_SIMULATOR = (MatrixRow, CrossLaneRow)
"""Rows whose values `tests/sim` compares with numpy: all products; moves between lanes."""
WITHOUT_VALUES = {
    "branch", "cbranch", "endpgm", "getpc", "setpc", "swappc", "call", "fork", "rfe", "waitcnt", "nop", "sleep",
    "setprio", "wakeup", "barrier", "message", "trap", "halt", "kill", "perflevel", "trace", "setreg", "getreg",
    "setvskip", "gpr_idx_on", "gpr_idx_off", "gpr_idx_idx", "gpr_idx_mode", "movrels", "movreld", "cache", "discard",
    "clock", "gws",
}  # fmt: skip
"""Kinds of control rows: they move or order, and compute nothing."""


def test_every_row_has_a_reference_or_computes_nothing() -> None:
    for name, row in rows().items():
        if isinstance(row, ControlRow):
            assert row.kind in WITHOUT_VALUES, name
        elif isinstance(row, MemoryRow) and row.kind != "atomic":
            assert row.atomic is None and row.size in (1, 2, 4, 8, 12, 16, 32, 64), name  # moves bytes as they are
        elif isinstance(row, PackedRow) and row.kind == "mov":
            assert name == "v_pk_mov_b32"
        elif not isinstance(row, TESTED_IN_SIMULATOR):
            assert name in REFERENCES or name in ATOMICS or name in LANE_DEPENDENT, name
    assert MEANINGS.keys() | ATOMICS.keys() <= rows().keys()


def words(*given: int) -> bytes:
    return b"".join(struct.pack("<I", w & 0xFFFFFFFF) for w in given)


def encodings() -> Iterator[bytes]:
    """Every opcode of every gfx9 format, with plausible operands in the fields that some opcodes want to be 0."""
    for op in range(256):
        yield words(0x7E000000 | 4 << 17 | op << 9 | V + 2)  # VOP1
        yield words(0x7E000000 | op << 9)
        yield words(0x7C000000 | op << 17 | 6 << 9 | V + 2)  # VOPC
        for first in (0xBE800000 | 4 << 16 | op << 8 | 8, 0xBE800000 | op << 8 | 8, 0xBE800000 | 4 << 16 | op << 8):
            yield words(first)  # SOP1
        for sdst, base, imm in ((16, 4, 1), (16, 0, 0), (0, 0, 0)):  # SMEM
            yield words(0xC0000000 | op << 18 | imm << 17 | sdst << 6 | base, 16 * imm)
        for gds in (0, 1):  # DS
            for fields in range(16):
                address, data, more, target = (v * (fields >> i & 1) for i, v in enumerate((2, 4, 10, 20)))
                yield words(0xD8000000 | op << 17 | gds << 16, address | data << 8 | more << 16 | target << 24)
    for op in range(64):
        yield words(op << 25 | 4 << 17 | 6 << 9 | V + 2)  # VOP2
    for op in (23, 24, 36, 37):  # with a literal
        yield words(op << 25 | 4 << 17 | 6 << 9 | V + 2, 0x42280000)
    for op in range(1024):  # VOP3
        for target, first, second, third in (
            (4, V + 2, V + 6, V + 10), (4, V + 2, V + 6, 0), (4, V + 2, 0, 0), (4, V + 2, 10, 0), (4, 8, 4, 0),
            (0, 0, 0, 0), (4 | 20 << 8, V + 2, V + 6, 10), (4 | 20 << 8, V + 2, V + 6, V + 10), (4, V + 2, V + 6, 10),
        ):  # fmt: skip
            yield words(0xD0000000 | op << 16 | target, first | second << 9 | third << 18)
    for op in range(128):
        for third in (V + 40, 0):  # VOP3P
            for low, high in ((0x4000, 3), (0, 0), (0x4000, 0), (0, 3)):
                yield words(0xD3800000 | op << 16 | low | 20, V + 4 | (V + 12) << 9 | third << 18 | high << 27)
        yield words(0xBF000000 | op << 16 | 8 | 12 << 8)  # SOPC
        yield words(0xBF800000 | op << 16)  # SOPP
        yield words(0x80000000 | op << 23 | 4 << 16 | 8 | 12 << 8)  # SOP2, and others
        for segment in range(3):  # FLAT
            for saddr, data, target in (
                (0x7F, 4, 0),
                (0x7F, 0, 20),
                (0x7F, 4, 20),
                (4, 4, 0),
                (0x7F, 0, 0),
                (0, 4, 20),
            ):
                for lds in (0, 1):
                    first = 0xDC000000 | op << 18 | segment << 14 | lds << 13
                    for sc0 in (0, 1):
                        yield words(first | sc0 << 16, 2 | data << 8 | saddr << 16 | target << 24)
        for address, data, base, offset in ((2, 4, 2, 128), (0, 0, 0, 0)):  # MUBUF
            yield words(
                0xE0000000 | op << 18 | (1 << 12 if data else 0), address | data << 8 | base << 16 | offset << 24
            )
    for op in range(32):
        yield words(0xB0000000 | op << 23 | 4 << 16 | 1)  # SOPK
        yield words(0xB0000000 | op << 23 | 4 << 16 | 0x1801)
    yield words(0xBA001801, 5)
    for op in range(16):
        yield words(0xE8000000 | op << 15 | 20 << 19 | 1 << 12, 2 | 4 << 8 | 2 << 16 | 128 << 24)  # MTBUF


@pytest.mark.slow
def test_llvm_decodes_no_opcode_without_a_row() -> None:
    code = b"".join(dict.fromkeys(encodings()))
    texts = {d.text for d in Decoder("gfx942").decode(code)}
    names = {parse_instruction(text).base for text in texts if not text.startswith(".long")}
    assert len(names) > 1100
    assert names - rows().keys() == set()
