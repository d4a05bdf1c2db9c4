"""Whole memory images compared as bytes, with results kept as what they changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import MemoryImage

PAGE = 4096
_CHUNK = 1 << 22

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Memory behind the code space, as the difference to a template image."""

    spans: tuple[tuple[int, Bytes], ...]
    """(offset into the image, bytes) of each run of changed pages, ascending."""

    @classmethod
    def take(cls, template: MemoryImage, work: MemoryImage) -> Snapshot:
        """What `work` holds, where it differs from `template`."""
        return cls(tuple((a, work.data[a:b].copy()) for a, b in changed_spans(template, work)))

    @property
    def sha256(self) -> str:
        """Hash of the changed pages and where they are."""
        digest = hashlib.sha256()
        for offset, data in self.spans:
            digest.update(f"{offset}:{len(data)}:".encode())
            digest.update(data.tobytes())
        return digest.hexdigest()

    def pieces(self, template: MemoryImage) -> Iterator[tuple[int, Bytes]]:
        """(offset, bytes) that make up the whole memory behind the code space."""
        at = template.code_space
        for offset, data in self.spans:
            yield at, template.data[at:offset]
            yield offset, data
            at = offset + len(data)
        yield at, template.data[at:]

    def materialise(self, template: MemoryImage) -> Bytes:
        """A copy of the whole image with this in it."""
        whole = template.data.copy()
        for offset, data in self.spans:
            whole[offset : offset + len(data)] = data
        return whole

    def equals(self, template: MemoryImage, work: MemoryImage) -> bool:
        """Whether `work` holds exactly this."""
        return all(_same(piece, work.data[at : at + len(piece)]) for at, piece in self.pieces(template))

    def differences(self, template: MemoryImage, work: MemoryImage) -> NDArray[np.int64]:
        """Offsets of all bytes in which `work` differs from this."""
        found: list[NDArray[np.int64]] = []
        for at, piece in self.pieces(template):
            for low in range(0, len(piece), _CHUNK):
                part = piece[low : low + _CHUNK]
                found.append(np.flatnonzero(part != work.data[at + low :][: len(part)]) + (at + low))
        return np.concatenate(found)

    def restore(self, template: MemoryImage, work: MemoryImage) -> None:
        """Make `work`, which holds exactly this, equal to the template again."""
        for offset, data in self.spans:
            work.data[offset : offset + len(data)] = template.data[offset : offset + len(data)]


def changed_spans(one: MemoryImage, other: MemoryImage) -> Iterator[tuple[int, int]]:
    """(first, last) offsets of the runs of pages behind the code space in which two images of one layout differ."""
    start = one.code_space
    pages: list[NDArray[np.int64]] = []
    for low in range(start, len(one.data), _CHUNK):
        a, b = (image.data[low : low + _CHUNK].view(np.uint64).reshape(-1, PAGE // 8) for image in (one, other))
        pages.append(np.flatnonzero((a != b).any(axis=1)) + low // PAGE)
    changed = np.concatenate(pages) if pages else np.zeros(0, np.int64)
    for run in np.split(changed, np.flatnonzero(np.diff(changed) != 1) + 1):
        if len(run):
            yield int(run[0]) * PAGE, (int(run[-1]) + 1) * PAGE


def describe_difference(
    expected: Snapshot, template: MemoryImage, work: MemoryImage, offsets: NDArray[np.int64]
) -> tuple[str, dict[str, Any]]:
    """A sentence on the first of the differing bytes, and facts: place, both values, bytes differing in each buffer."""
    address = work.base + int(offsets[0])
    place = work.locate(address)
    facts: dict[str, Any] = {"place": place, "address": address, "differing_bytes": len(offsets)}
    holder = next((p for p in work.placements if 0 <= address - p.address < p.size), None)
    size = holder.format.size if holder else 1
    first = int(offsets[0]) - ((address - holder.address) % size if holder else 0)
    raw = {"expected": _read(expected, template, first, size), "got": work.data[first : first + size]}
    for key, data in raw.items():
        facts[key] = _value(data, holder.format.decode(data.view(holder.format.storage)) if holder else data)
    facts["buffers"] = {
        p.name: int(np.count_nonzero((offsets >= p.address - work.base) & (offsets < p.address - work.base + p.size)))
        for p in work.placements
    }
    sentence = f"{place} is {facts['got']} where K0 leaves {facts['expected']}"
    return f"{sentence}; {len(offsets)} bytes of memory differ.", facts


def _value(raw: Bytes, values: NDArray[Any]) -> str:
    return f"{values[0]} (0x{raw.tobytes()[::-1].hex()})"


def _read(expected: Snapshot, template: MemoryImage, first: int, size: int) -> Bytes:
    result = template.data[first : first + size].copy()
    for offset, data in expected.spans:
        low, high = max(offset, first), min(offset + len(data), first + size)
        if low < high:
            result[low - first : high - first] = data[low - offset : high - offset]
    return result


def _same(a: Bytes, b: Bytes) -> bool:
    """Equality of page-aligned pieces without a temporary of their size."""
    return all(
        np.array_equal(a[low : low + _CHUNK].view(np.uint64), b[low : low + _CHUNK].view(np.uint64))
        for low in range(0, len(a), _CHUNK)
    )
