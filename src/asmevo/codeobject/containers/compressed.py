"""`CCOB`: a compressed offload bundle, versions 1 to 3, zlib or zstd.

Rule for putting an object back: the bundle inside is edited as a plain one, with room to grow, and compressed anew, at
the usual level first and harder ones when that does not fit. The result stays in place and may take zero bytes behind
it; the sizes and the hash in the header change, and what is left of the old bytes becomes zero. When the hardest
level does not fit either, it is refused.

Source: LLVM documentation "Clang Offload Bundler", "Compression and Decompression"; `OffloadBundler.cpp` of clang.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import zstandard

from asmevo.codeobject.containers.bundle import Bundle
from asmevo.codeobject.containers.part import Budget, Slot, too_large
from asmevo.verdict import InputError

MAGIC = b"CCOB"
_ZLIB, _ZSTD = 0, 1
_HEADERS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
_CHUNK = 1 << 20
_FLOOR, _RATIO, _CEILING = 1 << 26, 256, 1 << 31
_LONGEST_FRAME_HEADER = 18
_WORK_OF_A_BLOCK = 64
"""To read the header of one is counted as so many bytes."""
_SKIPPABLE = struct.Struct("<II")
_SKIPPABLE_MAGIC = 0x184D2A50


def output_limit(payload: int) -> int:
    """Most bytes that a payload of this size may decompress to; bundles of real libraries reach a ratio of 25."""
    return min(max(_FLOOR, _RATIO * payload), _CEILING)


@dataclass(frozen=True)
class CompressedBundle:
    """A compressed bundle; what is inside is checked once, and decompressed anew when it is wanted."""

    version: int
    method: int
    size: int
    slots: tuple[Slot, ...]
    payload: bytes
    expected: int
    """Decompressed bytes."""
    name: str
    """Of the file."""
    format = "compressed bundle"
    packed = True

    @classmethod
    def parse(cls, data: memoryview, budget: Budget) -> CompressedBundle:
        """Read a compressed bundle at the start of `data`.

        Raises `InputError` when it is cut off, of another version or method, does not decompress to the size and hash
        its header states, or to more than `output_limit` or `budget` have.
        """
        name = budget.name
        version, method = _version(data, name)
        layout = _HEADERS[version]
        if len(data) < layout.size:
            raise _damaged(name, "is cut off")
        fields = layout.unpack_from(data)
        expected, digest = fields[-2:]
        size = fields[3] if version > 1 else layout.size + _stream_end(data[layout.size :], method, expected, budget)
        if not layout.size <= size <= len(data):
            raise _damaged(name, "is cut off")
        payload = data[layout.size : size]
        if expected > output_limit(len(payload)):
            raise _damaged(name, f"claims {expected} bytes from {len(payload)}, more than is believed")
        content = _decompress(payload, method, expected, budget)
        if len(content) != expected or _hash(content) != digest:
            raise _damaged(name, "does not decompress to what its header states")
        return cls(version, method, size, Bundle.parse(content, budget).slots, bytes(payload), expected, name)

    def content(self, index: int) -> bytes:
        slot = self.slots[index]
        return _inside(self)[slot.offset : slot.offset + slot.size]

    def replaced(self, index: int, data: bytes, room: int | None) -> bytes:
        inside = _inside(self)
        inner = Bundle.parse(inside, Budget(len(inside), self.name))
        content = inner.replaced(index, data, None) + inside[inner.size :]
        least = 0
        for payload in _compressions(content, self.method):
            made = self._assembled(content, payload, room)
            if made is not None:
                return made
            least = _HEADERS[self.version].size + len(payload)
        raise too_large("the compressed bundle", least, room or 0)

    def _assembled(self, content: bytes, payload: bytes, room: int | None) -> bytes | None:
        """Header and payload, filled to the old size; None when there is no room."""
        layout = _HEADERS[self.version]
        size = layout.size + len(payload)
        if room is not None and size > room:
            return None
        if self.version == 1:
            rest = self.size - size
            if self.method == _ZSTD and rest > 0:  # readers take the payload to be all that follows
                if rest < _SKIPPABLE.size:
                    return None
                payload += _SKIPPABLE.pack(_SKIPPABLE_MAGIC, rest - _SKIPPABLE.size)
            head = layout.pack(MAGIC, self.version, self.method, len(content), _hash(content))
        elif self.version == 2 and max(size, len(content)) >> 32:
            raise InputError("The bundle becomes larger than 4 GiB, which its version cannot state; use version 3.")
        else:
            head = layout.pack(MAGIC, self.version, self.method, size, len(content), _hash(content))
        return (head + payload).ljust(self.size, b"\0")


@lru_cache(maxsize=1)
def _inside(part: CompressedBundle) -> bytes:
    """The decompressed bytes; those of one bundle are kept, since entries are asked for in order."""
    return _decompress(part.payload, part.method, part.expected, Budget(part.expected + part.size, part.name))


def _version(data: memoryview, name: str) -> tuple[int, int]:
    if bytes(data[: len(MAGIC)]) != MAGIC or len(data) < 8:
        raise _damaged(name, "is cut off")
    version, method = struct.unpack_from("<HH", data, 4)
    if version not in _HEADERS or method not in (_ZLIB, _ZSTD):
        raise InputError(
            f"{name} has a compressed bundle of version {version} with method {method}; "
            "versions 1 to 3 with zlib (0) or zstd (1) can be read."
        )
    return version, method


def _damaged(name: str, how: str) -> InputError:
    return InputError(f"{name} has a compressed bundle that {how}; get an undamaged file.")


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.md5(content, usedforsecurity=False).digest()[:8], "little")


def _decompress(payload: bytes | memoryview, method: int, expected: int, budget: Budget) -> bytes:
    """The decompressed bytes, at most one chunk more than `expected`, which has been checked."""
    out = bytearray()
    budget.spend(len(payload))
    try:
        for piece in _pieces(payload, method):
            budget.spend(len(piece))
            out += piece
            if len(out) > expected:
                raise _damaged(budget.name, "decompresses to more than its header states")
    except (zlib.error, zstandard.ZstdError) as error:
        raise _damaged(budget.name, f"does not decompress ({error})") from None
    return bytes(out)


def _pieces(payload: bytes | memoryview, method: int) -> Iterator[bytes]:
    """Decompressed pieces of bounded size."""
    if method == _ZLIB:
        yield from (piece for piece, _ in _inflated(payload))
        return
    window = output_limit(len(payload))
    with zstandard.ZstdDecompressor(max_window_size=window).stream_reader(payload) as reader:
        while piece := reader.read(_CHUNK):
            yield piece


def _inflated(payload: bytes | memoryview) -> Iterator[tuple[bytes, int]]:
    """(piece, bytes of the payload used up so far) of a zlib stream; the last number is that of all its bytes.

    The payload goes in by pieces, since what one call leaves is copied.
    """
    stream, at = zlib.decompressobj(), 0
    while not stream.eof and at < len(payload):
        given = bytes(payload[at : at + _CHUNK])
        piece = stream.decompress(given, _CHUNK)
        at += len(given) - len(stream.unconsumed_tail) - len(stream.unused_data)
        yield piece, at
    while not stream.eof and (piece := stream.decompress(b"", _CHUNK)):
        yield piece, at
    if not stream.eof:
        raise zlib.error("the stream is cut off")


def _stream_end(payload: memoryview, method: int, expected: int, budget: Budget) -> int:
    """Bytes that the first stream of a payload takes: version 1 does not state it."""
    name = budget.name
    if method == _ZSTD:
        return _frame_end(payload, budget)
    if expected > output_limit(len(payload)):
        raise _damaged(name, f"claims {expected} bytes from {len(payload)}, more than is believed")
    made, end = 0, 0
    try:
        for piece, end in _inflated(payload):  # noqa: B007 - the last one counts
            budget.spend(len(piece))
            made += len(piece)
            if made > expected:
                raise _damaged(name, "decompresses to more than its header states")
    except zlib.error as error:
        raise _damaged(name, f"does not decompress ({error})") from None
    return end


def _frame_end(payload: memoryview, budget: Budget) -> int:
    """Bytes of the first zstd frame, from its block headers. Source: RFC 8878, section 3.1.1."""
    name = budget.name
    try:
        head = bytes(payload[:_LONGEST_FRAME_HEADER])
        at = zstandard.frame_header_size(head)
        checksum = zstandard.get_frame_parameters(head).has_checksum
    except zstandard.ZstdError as error:
        raise _damaged(name, f"does not decompress ({error})") from None
    last = False
    while not last:
        budget.spend(_WORK_OF_A_BLOCK)
        if at + 3 > len(payload):
            raise _damaged(name, "is cut off")
        block = int.from_bytes(payload[at : at + 3], "little")
        last = bool(block & 1)
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
    return at + 4 * checksum


def _compressions(content: bytes, method: int) -> Iterator[bytes]:
    """The content compressed at the usual level, then harder."""
    if method == _ZLIB:
        yield from (zlib.compress(content, level) for level in (6, 9))
        return
    for level in (3, 9, 19, 22):
        parameters = zstandard.ZstdCompressionParameters(compression_level=level, enable_ldm=True)
        yield zstandard.ZstdCompressor(compression_params=parameters).compress(content)
