"""Operand shapes of all rows against LLVM: text made from slots must assemble and come back with the same registers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asmevo.isa import (
    ControlRow,
    Decoder,
    MatrixRow,
    MemoryRow,
    Pipe,
    Row,
    Space,
    assemble,
    effects,
    parse_instruction,
    rows,
    span,
)
from asmevo.isa.row import HIDDEN, LATENCIES, TYPE_UNITS

TARGET = "gfx942"
SYMBOLS = {
    "s_waitcnt": "vmcnt(0)",
    "s_sendmsg": "sendmsg(MSG_INTERRUPT)",
    "s_sendmsghalt": "sendmsg(MSG_INTERRUPT)",
    "s_setreg_b32": "hwreg(HW_REG_MODE, 0, 4)",
    "s_setreg_imm32_b32": "hwreg(HW_REG_MODE, 0, 4)",
    "s_getreg_b32": "hwreg(HW_REG_MODE)",
    "s_set_gpr_idx_on": "gpr_idx(SRC0)",
    "s_set_gpr_idx_mode": "gpr_idx(SRC0,DST)",
    "s_call_b64": "4",
    "s_cbranch_i_fork": "4",
    "s_dcache_discard": "0x10",
    "s_dcache_discard_x2": "0x10",
    "s_atc_probe": "0x10",
    "s_atc_probe_buffer": "0x10",
}
LITERAL = {
    "v_fmamk_f32": "0x42280000", "v_fmaak_f32": "0x42280000", "v_madmk_f16": "0x4228", "v_madak_f16": "0x4228",
}  # fmt: skip
"""A constant that is not inline, which these opcodes demand."""
ACCUMULATOR = {"v_accvgpr_read_b32": "va", "v_accvgpr_write_b32": "av", "v_accvgpr_mov_b32": "aa"}
"""Register files of result and source."""


class Writer:
    """Hands out registers no two operands share and remembers which are read and written."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.next = {"v": 8, "s": 8, "a": 8}
        self.reads = self.writes = 0

    def register(self, kind: str, count: int, *, is_def: bool) -> str:
        first = self.next[kind]
        first += -first % (4 if kind == "s" and count > 1 else 2)
        self.next[kind] = first + count
        mask = span({"s": 0, "v": 256, "a": 512}[kind] + first, count)
        if is_def:
            self.writes |= mask
        else:
            self.reads |= mask
        return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def in_sgprs(row: Row, position: int, kind: str, *, is_def: bool) -> bool:
    """Whether the operand must be in SGPRs."""
    if row.pipe in (Pipe.SALU, Pipe.SMEM, Pipe.BRANCH, Pipe.INTERNAL) or kind == "mask":
        return True
    if isinstance(row, MemoryRow) and row.space is Space.BUFFER:
        return position >= 2
    if row.name in ("v_readlane_b32", "v_readfirstlane_b32"):
        return is_def or position == 2
    return row.name == "v_writelane_b32" and position > 0


def written(row: Row) -> tuple[str, int, int]:
    """Assembly text for a row, and the registers it reads and writes."""
    w = Writer(row)
    parts: list[str] = []
    for position, slot in enumerate(s for s in row.slots if not s.hidden and s.tied < 0):
        if slot.type == "imm" or (row.name == "v_writelane_b32" and position == 2):
            parts.append("0x4")
        elif slot.type == "any":
            parts.append(any_operand(row, w, position, parts))
        elif row.name in ACCUMULATOR:
            parts.append(w.register(ACCUMULATOR[row.name][position], 1, is_def=slot.is_def))
        elif row.name in LITERAL and position == (2 if "mk" in row.name else 3):
            parts.append(LITERAL[row.name])
        else:
            scalar = in_sgprs(row, position, slot.type, is_def=slot.is_def)
            parts.append(w.register("s" if scalar else "v", TYPE_UNITS[slot.type], is_def=slot.is_def))
    for slot in row.slots:
        if slot.hidden:
            mask = span(*HIDDEN[slot.hidden])
            w.writes |= mask if slot.is_def else 0
            w.reads |= mask if slot.is_use else 0
    tail = " offen" if isinstance(row, MemoryRow) and row.space is Space.BUFFER else ""
    if row.name.startswith("tbuffer"):
        tail = " format:[BUF_DATA_FORMAT_32]" + tail
    if row.name.startswith("ds_gws"):
        tail = " gds"
    return f"{row.name} {', '.join(parts)}".strip() + tail, w.reads, w.writes


def any_operand(row: Row, w: Writer, position: int, parts: list[str]) -> str:
    if row.name in SYMBOLS:
        return SYMBOLS[row.name]
    if row.pipe is Pipe.BRANCH:
        return "4"
    assert isinstance(row, MemoryRow)
    if row.space is Space.SCALAR:
        return "0x10"
    if row.space is Space.BUFFER:
        return w.register("v", 1, is_def=False)
    has_address = any(p.startswith("v") for p in parts[(row.kind == "load" and "lds_dma" not in row.tags) :])
    if has_address:
        return "off"
    return w.register("v", 2 if row.space is Space.GLOBAL else 1, is_def=False)


def expected(row: Row, reads: int, writes: int) -> tuple[int, int]:
    """What `effects` must say: tied operands and kept parts are read too, vector rows read EXEC."""
    if any(s.tied >= 0 for s in row.slots) or row.tags & {"keeps_half", "keeps_byte", "high_half"}:
        reads |= writes & ~span(*HIDDEN["scc"])
    if "_d16" in row.name:
        reads |= writes
    if row.is_vector:
        reads |= span(*HIDDEN["exec"])
    return reads, writes


ROWS = sorted(rows().values(), key=lambda r: r.name)


@pytest.fixture(scope="module")
def returned() -> dict[str, str]:
    """Row name to the text LLVM prints for the words it made of ours."""
    words = assemble([written(row)[0] for row in ROWS], TARGET)
    texts = [d.text for d in Decoder(TARGET).decode(b"".join(words))]
    return dict(zip((row.name for row in ROWS), texts, strict=True))


def test_every_row_assembles_and_comes_back(returned: dict[str, str]) -> None:
    for row in ROWS:
        instruction = parse_instruction(returned[row.name])
        assert instruction.base == row.name
        text, reads, writes = written(row)
        known = effects(instruction)
        assert (known.reads, known.writes) == expected(row, reads, writes), (text, returned[row.name])


def returning() -> Iterator[tuple[str, str]]:
    """Atomics that return the old value: the mnemonic and a text with its def."""
    for row in ROWS:
        if not (isinstance(row, MemoryRow) and row.kind == "atomic" and row.space is not Space.LDS):
            continue
        text, _, _ = written(row)
        if row.space in (Space.GLOBAL, Space.FLAT):
            name, _, operands = text.partition(" ")
            text = f"{name} {'v200' if row.size == 4 else 'v[200:201]'}, {operands}"
        yield row.name, f"{text} {'glc' if row.space is Space.SCALAR else 'sc0'}"


def test_returning_atomics_write_their_result() -> None:
    names, texts = zip(*returning(), strict=True)
    decoded = Decoder(TARGET).decode(b"".join(assemble(texts, TARGET)))
    for name, text, found in zip(names, texts, decoded, strict=True):
        row = rows()[name]
        assert isinstance(row, MemoryRow)
        known = effects(parse_instruction(found.text))
        units = known.writes.bit_count()
        overwrites = row.space in (Space.BUFFER, Space.SCALAR)
        assert units == (TYPE_UNITS[row.slots[0].type] if overwrites else row.size // 4), (text, found.text)
        if overwrites:
            assert known.writes & known.reads == known.writes


def test_rows_state_classes_and_latencies_that_exist() -> None:
    for row in ROWS:
        assert row.latency in LATENCIES, row.name
        if isinstance(row, MatrixRow):
            assert row.passes in (2, 4, 8, 16) and row.tags & {"xdl", "sgemm", "dgemm"}
        if isinstance(row, MemoryRow):
            assert row.counters, row.name
        if isinstance(row, ControlRow) and row.kind in ("setreg", "setvskip", "barrier", "message"):
            assert "fence" in row.tags
