"""`.eh_frame`: which function each unwind entry describes, and at which instruction each of its rules begins.

Source: Linux Standard Base, "Exception Frames"; DWARF 5, 6.4.2 "Call Frame Instructions". Only the form that LLVM
writes for AMD GPUs is read: augmentation `zR`, addresses relative to their place in 4 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from asmevo.codeobject.plan import UnmovableError

_PC_RELATIVE_4 = 0x1B
_ADVANCES = {0x02: 1, 0x03: 2, 0x04: 4}
"""DW_CFA_advance_loc1, 2 and 4: bytes of the operand."""
_OPERANDS = {
    0x00: 0, 0x06: 1, 0x07: 1, 0x08: 1, 0x09: 2, 0x0A: 0, 0x0B: 0, 0x0C: 2, 0x0D: 1, 0x0E: 1, 0x05: 2, 0x11: 2,
    0x12: 2, 0x13: 1,
}  # fmt: skip
"""Other instructions: number of LEB128 operands."""
_BLOCKS = {0x0F: 0, 0x10: 1, 0x16: 1}
"""Instructions with an expression: LEB128 operands in front of its length."""


@dataclass(frozen=True, slots=True)
class Advance:
    """An instruction that moves on to the next rule."""

    at: int
    """Offset of its operand in the section; of its opcode when the operand is a part of that."""
    size: int
    """Bytes of the operand, 0 for the 6 bits in the opcode."""
    address: int
    """Where the next rule begins."""
    scale: int
    """Bytes that the operand counts in."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One described function (FDE)."""

    at: int
    """Offset in the section of its start address; the length follows."""
    start: int
    size: int
    advances: tuple[Advance, ...]


def entries(raw: bytes, address: int) -> tuple[Entry, ...]:
    """The entries of a section at an address. Raises `UnmovableError` for a form that is not read."""
    found: list[Entry] = []
    scales: dict[int, int] = {}
    at = 0
    while at + 4 <= len(raw):
        length = int.from_bytes(raw[at : at + 4], "little")
        end = at + 4 + length
        if length == 0:
            break
        if length == 0xFFFFFFFF or end > len(raw) or length < 4:
            raise _unread()
        back = int.from_bytes(raw[at + 4 : at + 8], "little")
        if back == 0:
            scales[at] = _cie(raw, at + 8, end)
        elif at + 4 - back in scales and length >= 13:
            found.append(_fde(raw, at + 8, end, address, scales[at + 4 - back]))
        else:
            raise _unread()
        at = end
    return tuple(found)


def without_addresses(raw: bytes, address: int) -> bytes:
    """The section with everything zeroed that depends on where it and the code are."""
    out = bytearray(raw)
    for entry in entries(raw, address):
        out[entry.at : entry.at + 8] = bytes(8)
        for advance in entry.advances:
            out[advance.at : advance.at + max(advance.size, 1)] = bytes(max(advance.size, 1))
    return bytes(out)


def moved(raw: bytes, old: int, new: int, code: Callable[[int], int]) -> bytes:
    """The section when it went from address `old` to `new`, and instructions where `code` says.

    Raises `UnmovableError` when a distance no longer fits its form.
    """
    out = bytearray(raw)
    for entry in entries(raw, old):
        start = code(entry.start)
        out[entry.at : entry.at + 4] = _fitting(start - new - entry.at, 4, signed=True)
        out[entry.at + 4 : entry.at + 8] = _fitting(code(entry.start + entry.size) - start, 4)
        at = start
        for advance in entry.advances:
            distance, rest = divmod(code(advance.address) - at, advance.scale)
            at = code(advance.address)
            if rest or not (advance.size or 0 <= distance < 0x40):
                raise _unread()
            if advance.size:
                out[advance.at : advance.at + advance.size] = _fitting(distance, advance.size)
            else:
                out[advance.at] = 0x40 | distance
    return bytes(out)


def _fitting(value: int, size: int, *, signed: bool = False) -> bytes:
    try:
        return value.to_bytes(size, "little", signed=signed)
    except OverflowError:
        raise _unread() from None


def _cie(raw: bytes, at: int, end: int) -> int:
    """Code alignment of a common entry."""
    zero = raw.find(b"\0", at + 1, end)
    if zero < 0 or raw[at] not in (1, 3) or raw[at + 1 : zero] != b"zR":
        raise _unread()
    scale, following = _leb(raw, zero + 1, end)
    _, following = _leb(raw, following, end)  # data alignment
    following = following + 1 if raw[at] == 1 else _leb(raw, following, end)[1]  # return address register
    size, following = _leb(raw, following, end)
    if size != 1 or following >= end or raw[following] != _PC_RELATIVE_4 or not scale:
        raise _unread()
    return scale


def _fde(raw: bytes, at: int, end: int, address: int, scale: int) -> Entry:
    start = address + at + int.from_bytes(raw[at : at + 4], "little", signed=True)
    size = int.from_bytes(raw[at + 4 : at + 8], "little")
    more, program = _leb(raw, at + 8, end)
    return Entry(at, start, size, tuple(_advances(raw, program + more, end, start, scale)))


def _advances(raw: bytes, at: int, end: int, address: int, scale: int) -> Iterator[Advance]:
    while at < end:
        opcode, at = raw[at], at + 1
        operands = _OPERANDS.get(opcode)
        if opcode >> 6 == 1:
            address += (opcode & 0x3F) * scale
            yield Advance(at - 1, 0, address, scale)
        elif opcode in _ADVANCES:
            size = _ADVANCES[opcode]
            if at + size > end:
                raise _unread()
            address += int.from_bytes(raw[at : at + size], "little") * scale
            yield Advance(at, size, address, scale)
            at += size
        elif opcode in _BLOCKS:
            for _ in range(_BLOCKS[opcode]):
                _, at = _leb(raw, at, end)
            size, at = _leb(raw, at, end)
            at += size
        elif opcode >> 6 == 2:
            _, at = _leb(raw, at, end)
        elif opcode >> 6 == 3:
            continue
        elif operands is None:
            raise _unread()
        else:
            for _ in range(operands):
                _, at = _leb(raw, at, end)


def _leb(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """(value, offset behind) of an unsigned LEB128."""
    value = shift = 0
    while at < end and shift < 64:
        value |= (raw[at] & 0x7F) << shift
        if not raw[at] & 0x80:
            return value, at + 1
        shift, at = shift + 7, at + 1
    raise _unread()


def _unread() -> UnmovableError:
    return UnmovableError(
        "The section .eh_frame describes code in a form that is not read, so instructions cannot be moved; keep to "
        "edits that leave every instruction at its place."
    )
