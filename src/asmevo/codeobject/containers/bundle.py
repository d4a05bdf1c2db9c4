"""`__CLANG_OFFLOAD_BUNDLE__`: a table of named entries, then their contents.

Rule for putting an object back: it stays at its offset and may take the zero bytes up to the next entry; its size in
the table changes, and nothing else. A larger one moves the entries behind it by whole alignments where the bundle may
grow: as the end of a file of its own, or inside a compressed bundle. Elsewhere it is refused.

Source: LLVM documentation "Clang Offload Bundler", "Bundled Binary File Layout".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from asmevo.codeobject.containers.part import Budget, Slot, padding, too_large
from asmevo.verdict import InputError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_COUNT_AT, _ENTRIES_AT = 24, 32
_ENTRY = struct.Struct("<QQQ")
_MAX_ALIGN = 1 << 16
_MOST_ENTRIES, _LONGEST_NAME = 1 << 10, 1 << 12
"""Far more than there are targets; without limits, every place that looks like a bundle costs all of the file."""


@dataclass(frozen=True)
class Bundle:
    """A plain bundle."""

    data: bytes
    """From its magic to the end of its last entry."""
    slots: tuple[Slot, ...]
    places: tuple[int, ...]
    """Where the table has each entry."""
    format = "bundle"
    packed = False

    @classmethod
    def parse(cls, data: bytes | memoryview, budget: Budget) -> Bundle:
        """Read a bundle at the start of `data`; what lies behind its last entry is not part of it.

        Raises `InputError` when the table or an entry does not fit into `data`.
        """
        damaged = InputError(f"{budget.name} has an offload bundle that is damaged or cut off; get the complete file.")
        if bytes(data[:_COUNT_AT]) != MAGIC or len(data) < _ENTRIES_AT:
            raise damaged
        count = int.from_bytes(data[_COUNT_AT:_ENTRIES_AT], "little")
        if count > min((len(data) - _ENTRIES_AT) // _ENTRY.size, _MOST_ENTRIES):
            raise damaged
        at, slots, places = _ENTRIES_AT, list[Slot](), list[int]()
        for _ in range(count):
            if at + _ENTRY.size > len(data):
                raise damaged
            offset, size, length = _ENTRY.unpack_from(data, at)
            places.append(at)
            at += _ENTRY.size + length
            budget.spend(_ENTRY.size + min(length, _LONGEST_NAME))
            if at > len(data) or length > _LONGEST_NAME or offset + size > len(data):
                raise damaged
            try:
                slots.append(Slot(bytes(data[at - length : at]).decode(), offset, size))
            except UnicodeDecodeError:
                raise damaged from None
        if any(s.size and s.offset < at for s in slots):
            raise damaged
        end = max([at, *(s.offset + s.size for s in slots)])
        return cls(bytes(data[:end]), tuple(slots), tuple(places))

    @property
    def size(self) -> int:
        return len(self.data)

    def content(self, index: int) -> bytes:
        slot = self.slots[index]
        return self.data[slot.offset : slot.offset + slot.size]

    def replaced(self, index: int, data: bytes, room: int | None) -> bytes:
        slot = self.slots[index]
        behind = [s for i, s in enumerate(self.slots) if i != index and s.size and s.offset + s.size > slot.offset]
        if any(s.offset < slot.offset + slot.size for s in behind):
            raise InputError(f"The entry {slot.name} shares bytes with another one; it cannot be replaced alone.")
        next_at = min((s.offset for s in behind), default=None)
        old_end = slot.offset + slot.size
        if next_at is None:
            limit = slot.offset + len(data) if room is None else room
        else:
            limit = old_end + padding(self.data, old_end, next_at)
        out = bytearray(self.data)
        shift = 0
        if slot.offset + len(data) > limit:
            if room is not None or next_at is None:
                raise too_large(f"the entry {slot.name}", len(data), limit - slot.offset)
            align = min([_align(s.offset) for s in self.slots if s.size])
            shift = -(-(slot.offset + len(data) - limit) // align) * align
            out[limit:limit] = bytes(shift)
        stop = max(old_end, slot.offset + len(data))
        out[slot.offset : stop] = data.ljust(stop - slot.offset, b"\0")
        for at, s in zip(self.places, self.slots, strict=True):
            moved = s.offset + shift if s is not slot and s.offset >= limit else s.offset
            struct.pack_into("<QQ", out, at, moved, len(data) if s is slot else s.size)
        return bytes(out)


def _align(offset: int) -> int:
    """The largest power of two that divides an offset, as far as it could be meant."""
    return min(offset & -offset, _MAX_ALIGN) if offset else _MAX_ALIGN
