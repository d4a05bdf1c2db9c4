"""Unwind tables byte by byte."""

from __future__ import annotations

import pytest

from asmevo.codeobject.plan import UnmovableError
from asmevo.codeobject.unwind import Advance, Entry, entries, moved

ADDRESS = 0x1000
CODE = 0x2000
"""Where the described function of 32 bytes is."""


def section(*program: int, scale: int = 4) -> bytes:
    """A common entry, one entry of a function with these instructions, and the end."""
    common = bytes((0, 0, 0, 0, 1, *b"zR\0", scale, 0x78, 0x10, 1, 0x1B, 0, 0, 0))
    begin = 4 + len(common) + 8
    start = (CODE - ADDRESS - begin).to_bytes(4, "little", signed=True)
    entry = (4 + len(common) + 4).to_bytes(4, "little") + start + (32).to_bytes(4, "little") + bytes((0, *program))
    return b"".join(len(x).to_bytes(4, "little") + x for x in (common, entry)) + bytes(4)


def shifted(address: int) -> int:
    """Two instructions of 4 bytes in front of what was at 16."""
    return address + (8 if address >= CODE + 16 else 0)


def test_entries():
    raw = section(0x42, 0x0E, 16, 0x02, 3, 0x0F, 1, 0x30)
    advances = (Advance(37, 0, CODE + 8, 4), Advance(41, 1, CODE + 20, 4))
    assert entries(raw, ADDRESS) == (Entry(28, CODE, 32, advances),)


def test_moved():
    raw = section(0x42, 0x0E, 16, 0x02, 3, 0x0F, 1, 0x30)
    wanted = bytearray(raw)
    wanted[28] += 0x10  # the section itself came 0x10 nearer
    wanted[32], wanted[41] = 40, 5
    assert moved(raw, ADDRESS, ADDRESS - 0x10, shifted) == bytes(wanted)


@pytest.mark.parametrize(
    "raw",
    [
        section(0x42, scale=0),
        section(0x3F),
        section(0x04, 1, 0),
        section(0x0E, 0x80),
    ],
    ids=["no scale", "unknown instruction", "half an operand", "endless number"],
)
def test_what_is_not_read(raw):
    with pytest.raises(UnmovableError, match="in a form that is not read"):
        entries(raw, ADDRESS)


@pytest.mark.parametrize("program", [(0x42, 0x42), (0x42, 0x02, 2), (0x42, 0x04, 2, 0, 0, 0)])
def test_rules_cannot_change_places(program):
    def swapped(address: int) -> int:
        return {CODE + 8: CODE + 16, CODE + 16: CODE + 8}.get(address, address)

    with pytest.raises(UnmovableError):
        moved(section(*program), ADDRESS, ADDRESS, swapped)


def test_a_distance_that_the_scale_does_not_divide():
    raw = section(0x41, scale=8)
    with pytest.raises(UnmovableError):
        moved(raw, ADDRESS, ADDRESS, lambda address: address + (4 if address == CODE + 8 else 0))
