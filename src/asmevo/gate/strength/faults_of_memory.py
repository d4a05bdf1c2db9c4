"""Faults of memory: offsets, addresses, stores and loads, descriptors, LDS buffers, signals, cache bits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo.edit import Delete, Insert, Replace
from asmevo.gate.strength.code import Code, is_access, operands
from asmevo.gate.strength.kind import Edits, Kind
from asmevo.isa import Reg
from asmevo.isa.registers import AGPR_BASE, VGPR_BASE
from asmevo.program import Line

_DISTINCT = "one whose elements all differ, so that a neighbour's value shows"


def _wrong_offset(code: Code) -> Iterator[Edits]:
    """A memory access is some bytes off."""
    for line in code.lines("ds_|buffer_|global_|flat_|scratch_"):
        text = line.instruction.text
        if m := re.search(r"offset[01]?:(\d+)", text):
            step = 1 if "st64" in text or "offset0" in m[0] or "offset1" in m[0] else 16
            yield (Replace(line.id, text[: m.start(1)] + str(int(m[1]) + step) + text[m.end(1) :]),)
        elif is_access(line):
            dma = text.endswith(" lds")
            yield (Replace(line.id, text.removesuffix(" lds") + " offset:16" + " lds" * dma),)
    for line in code.lines(r"s_load_dword\S* |s_buffer_load_dword\S* "):
        text = line.instruction.text
        if m := re.search(r", (0x[0-9a-f]+)$", text):
            yield (Replace(line.id, f"{text[: m.start(1)]}{hex(int(m[1], 16) + 4)}"),)


def _lost(kind: str) -> Kind:
    def make(code: Code) -> Iterator[Edits]:
        for line in code.lines("ds_|buffer_|global_|flat_|s_load"):
            if is_access(line, kind):
                yield (Delete((line.id,)),)

    return Kind(f"lost {kind}", f"A {kind} is gone.", make, _DISTINCT)


def _truncated_address(code: Code) -> Iterator[Edits]:
    """The offset of an access keeps its low 16 or 20 bits: right on small buffers."""
    for line in code.lines("buffer_|global_"):
        if (register := _address(line)) is not None and is_access(line):
            for mask in ("0xffff", "0xfffff"):
                yield (Insert(line.id, f"v_and_b32_e32 v{register}, {mask}, v{register}"),)


def _address(line: Line) -> int | None:
    """The VGPR of an offset, or the low half of an address."""
    text = line.instruction.text
    index = 0 if " lds" in text or text.startswith("global_store") else 1
    found = line.instruction.operands
    operand = found[index] if index < len(found) else None
    vector = isinstance(operand, Reg) and VGPR_BASE <= operand.first < AGPR_BASE
    return operand.first - VGPR_BASE if vector and isinstance(operand, Reg) else None


def _descriptor(code: Code) -> Iterator[Edits]:
    """A descriptor covers more, or less, than its buffer; the stride is another."""
    for line in code.lines("buffer_"):
        for operand in line.instruction.operands:
            if isinstance(operand, Reg) and operand.is_scalar and operand.count == 4:
                yield (Insert(line.id, f"s_mov_b32 s{operand.first + 2}, -1"),)
                yield (Insert(line.id, f"s_mov_b32 s{operand.first + 2}, 64"),)
                yield (Insert(line.id, f"s_or_b32 s{operand.first + 1}, s{operand.first + 1}, 0x40000"),)


def _lds_buffer(code: Code) -> Iterator[Edits]:
    """An access goes to the other one of two LDS buffers: as far off as another access of its kind is."""
    offsets: dict[str, list[int]] = {}
    lines = [line for line in code.lines("ds_(read|write)") if is_access(line, space="lds")]
    for line in lines:
        offsets.setdefault(line.instruction.base, []).append(line.instruction.number("offset"))
    for line in lines:
        found, text = line.instruction.number("offset"), line.instruction.text
        others = [o for o in offsets[line.instruction.base] if o != found]
        if others and "offset0" not in text and "offset1" not in text:
            far = max(others, key=lambda o: abs(o - found))
            plain = re.sub(r" offset:\d+", "", text)
            yield (Replace(line.id, f"{plain} offset:{far}" if far else plain),)
    for line in code.lines(r"s_(mov|add_u32|add_i32|lshl)\S* m0"):
        yield (Delete((line.id,)),)


def _stale_signal(code: Code) -> Iterator[Edits]:
    """Cache control, atomics, scoped accesses: others no longer see what was written, or it is not counted."""
    for line in code.lines("buffer_inv|buffer_wbl2|s_dcache"):
        yield (Delete((line.id,)),)
    for line in code.lines(r"\w+_atomic_"):
        yield (Delete((line.id,)),)
    for line in code.lines(r"(global|buffer|flat)_(load|store).* sc[01]"):
        text = line.instruction.text
        yield (Insert(line.id, text),) if "store" in text else (Delete((line.id,)),)


def _cache_bits(code: Code) -> Iterator[Edits]:
    """Other bits of cache policy or scope: legal on data that no other wave writes."""
    for line in code.lines("(global|buffer|flat)_(load|store)"):
        if not is_access(line):
            continue
        mnemonic, parts, tail = operands(line.instruction.text)
        for bit in ("nt", "sc0", "sc1"):
            words = tail.split()
            others = [w for w in words if w != bit] if bit in words else [*_before_lds(words), bit, *_lds(words)]
            yield (Replace(line.id, " ".join((f"{mnemonic} {', '.join(parts)}", *others))),)


def _before_lds(words: list[str]) -> list[str]:
    return [w for w in words if w != "lds"]


def _lds(words: list[str]) -> list[str]:
    return [w for w in words if w == "lds"]


FAULTS_OF_MEMORY = (
    Kind("wrong offset", "A memory access is some bytes off.", _wrong_offset, _DISTINCT),
    _lost("store"),
    _lost("load"),
    Kind(
        "truncated address", "An address keeps its low bits.", _truncated_address,
        "one with buffers beyond 1 MiB, 2 GiB and 4 GiB",
    ),
    Kind(
        "descriptor", "A buffer descriptor covers more or less than its buffer.", _descriptor,
        "one of a ragged size, where some accesses must be out of bounds",
    ),
    Kind("LDS buffer", "An access goes to the other LDS buffer.", _lds_buffer, "one with several turns of its loop"),
    Kind("stale signal", "Cache control or an atomic is gone.", _stale_signal, "one with several workgroups to a tile"),
)  # fmt: skip
CACHE_BITS = Kind("cache bits", "Other bits of cache policy or scope.", _cache_bits)
"""Scored apart: most of these are legal where no other wave touches the data."""
