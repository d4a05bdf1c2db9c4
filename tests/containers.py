"""Small containers for tests, written here from the formats' documentation."""

from __future__ import annotations

import hashlib
import struct
import zlib

import zstandard

HOST = "host-x86_64-unknown-linux-gnu-"


def triple(target: str) -> str:
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


def bundle(entries: dict[str, bytes], align: int = 4096) -> bytes:
    """A plain offload bundle of named contents."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    at = len(head) + sum(24 + len(name) for name in entries)
    body = b""
    first = -(-at // align) * align
    for name, content in entries.items():
        start = -(-(first + len(body)) // align) * align
        body = body.ljust(start - first, b"\0") + content
        head += struct.pack("<QQQ", start, len(content), len(name)) + name.encode()
    return head.ljust(first, b"\0") + body


def compress(content: bytes, version: int = 3, method: str = "zstd") -> bytes:
    """A compressed bundle around a plain one."""
    payload = zlib.compress(content) if method == "zlib" else zstandard.ZstdCompressor().compress(content)
    return header(content, len(payload), version, method) + payload


def header(content: bytes, payload: int, version: int, method: str, claimed: int | None = None) -> bytes:
    """The header of a compressed bundle, with another size than the content's if claimed."""
    digest = int.from_bytes(hashlib.md5(content).digest()[:8], "little")
    head = b"CCOB" + struct.pack("<HH", version, int(method == "zstd"))
    size = len(content) if claimed is None else claimed
    if version == 1:
        return head + struct.pack("<IQ", size, digest)
    if version == 2:
        return head + struct.pack("<IIQ", 24 + payload, size, digest)
    return head + struct.pack("<QQQ", 32 + payload, size, digest)


def host_file(
    fatbin: bytes = b"", rodata: bytes = b"some constants, CCOB among them", name: str = ".hip_fatbin"
) -> bytes:
    """A 64-bit x86 ELF file with a .rodata and, if there is something to put in, another section."""
    sections = [(".rodata", rodata, 16), (name, fatbin, 4096)] if fatbin else [(".rodata", rodata, 16)]
    names = b"\0" + b"".join(n.encode() + b"\0" for n, _, _ in sections) + b".shstrtab\0"
    out, rows, at_name = bytearray(64), [bytes(64)], 1
    for label, content, align in sections:
        out += bytes(-len(out) % align)
        rows.append(struct.pack("<IIQQQQIIQQ", at_name, 1, 2, len(out), len(out), len(content), 0, 0, align, 0))
        out += content
        at_name += len(label) + 1
    rows.append(struct.pack("<IIQQQQIIQQ", at_name, 3, 0, 0, len(out), len(names), 0, 0, 1, 0))
    out += names
    out += bytes(-len(out) % 8)
    struct.pack_into(
        "<16sHHIQQQIHHHHHH", out, 0,
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 0, len(out), 0, 64, 56, 0, 64, len(rows), len(rows) - 1,
    )  # fmt: skip
    return bytes(out) + b"".join(rows)
