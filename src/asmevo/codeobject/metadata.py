"""The AMDGPU metadata note: names, arguments and sizes that the loader and its callers read.

Source: LLVM `AMDGPUUsage`, "Code Object V3 and above Metadata" (a msgpack map in an ELF note of type 32).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgpack  # pyright: ignore[reportMissingTypeStubs]: it ships none

from asmevo.verdict import InputError

_NOTE_NAME, _NOTE_TYPE = b"AMDGPU\0", 32
_LIMIT = 1 << 32


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument. Strings are empty where the metadata says nothing."""

    name: str
    offset: int
    """Byte offset in the kernarg segment."""
    size: int
    kind: str
    """`.value_kind`: `by_value`, `global_buffer`, `hidden_block_count_x`, ..."""
    type: str = ""
    access: str = ""
    address_space: str = ""


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """What the metadata says of one kernel."""

    name: str
    symbol: str
    """Name of the descriptor's symbol, with `.kd`."""
    args: tuple[Argument, ...]
    kernarg_size: int
    max_workgroup: int
    required_workgroup: tuple[int, int, int] | None


def notes(raw: bytes, name: str) -> Iterator[tuple[bytes, int, bytes]]:
    """(owner, type, content) of each note in a note section, 4-byte aligned."""
    at = 0
    while at < len(raw):
        header = raw[at : at + 12]
        owner_size, size, kind = (int.from_bytes(header[i : i + 4], "little") for i in (0, 4, 8))
        start = at + 12 + -(-owner_size // 4) * 4
        if len(header) < 12 or start + size > len(raw):
            raise InputError(f"{name} has a malformed note section; get an undamaged file.")
        yield raw[at + 12 : at + 12 + owner_size], kind, raw[start : start + size]
        at = start + -(-size // 4) * 4


def decode_metadata(raw_notes: bytes, name: str) -> Mapping[str, Any]:
    """The metadata map out of a note section. Raises `InputError` when it is missing or malformed."""
    owned = (_NOTE_NAME, _NOTE_TYPE)
    found = [content for owner, kind, content in notes(raw_notes, name) if (owner, kind) == owned]
    if not found:
        raise InputError(f"{name} has no AMDGPU metadata note; pass a code object with metadata (version 3 or later).")
    try:
        decoded = cast("object", msgpack.unpackb(found[0]))  # pyright: ignore[reportUnknownMemberType]: no stubs
    except (ValueError, msgpack.UnpackException) as error:
        raise InputError(f"{name} has malformed metadata: {error}; get an undamaged file.") from None
    if not isinstance(decoded, dict):
        raise InputError(f"{name} has metadata that is not a map; get an undamaged file.")
    return cast("dict[str, Any]", decoded)


def encode_metadata(metadata: Mapping[str, Any]) -> bytes:
    """The canonical msgpack of a metadata map: shortest forms, members in their order, as LLVM writes it."""
    return cast("bytes", msgpack.packb(metadata))  # pyright: ignore[reportUnknownMemberType]: no stubs


def with_metadata(raw_notes: bytes, metadata: bytes, name: str) -> bytes:
    """A note section with other encoded metadata in its AMDGPU note; other notes stay."""
    out = bytearray()
    for owner, kind, content in notes(raw_notes, name):
        ours = (owner, kind) == (_NOTE_NAME, _NOTE_TYPE)
        body = metadata if ours else content
        out += b"".join(v.to_bytes(4, "little") for v in (len(owner), len(body), kind))
        out += owner.ljust(-(-len(owner) // 4) * 4, b"\0") + body.ljust(-(-len(body) // 4) * 4, b"\0")
    return bytes(out)


def has_metadata(raw_notes: bytes, name: str) -> bool:
    """Whether a note section holds the AMDGPU metadata."""
    return any((owner, kind) == (_NOTE_NAME, _NOTE_TYPE) for owner, kind, _ in notes(raw_notes, name))


def kernel_entries(metadata: Mapping[str, Any], name: str) -> tuple[KernelEntry, ...]:
    """The kernels of a decoded metadata map."""
    return tuple(_entry(_Reader(raw, name)) for raw in _Reader(metadata, name).maps("amdhsa.kernels"))


def _entry(entry: _Reader) -> KernelEntry:
    required = entry.integers(".reqd_workgroup_size")
    return KernelEntry(
        name=entry.text(".name"),
        symbol=entry.text(".symbol"),
        args=tuple(_argument(_Reader(a, entry.file)) for a in entry.maps(".args")),
        kernarg_size=entry.integer(".kernarg_segment_size"),
        max_workgroup=entry.integer(".max_flat_workgroup_size", 1024),
        required_workgroup=(required[0], required[1], required[2]) if len(required) == 3 else None,
    )


def _argument(raw: _Reader) -> Argument:
    return Argument(
        name=raw.text(".name", ""),
        offset=raw.integer(".offset"),
        size=raw.integer(".size"),
        kind=raw.text(".value_kind"),
        type=raw.text(".value_type", "") or raw.text(".type_name", ""),
        access=raw.text(".actual_access", "") or raw.text(".access", ""),
        address_space=raw.text(".address_space", ""),
    )


class _Reader:
    """Typed access to one decoded map, with errors that name the key."""

    def __init__(self, raw: object, file: str) -> None:
        if not isinstance(raw, Mapping):
            raise InputError(f"{file} has a metadata entry that is not a map; get an undamaged file.")
        self._raw, self.file = cast("Mapping[str, object]", raw), file

    def _wrong(self, key: str) -> InputError:
        return InputError(f"{self.file} has no usable {key!r} in its metadata; get an undamaged file.")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._raw.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key)
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        value = self._raw.get(key, default)
        if not isinstance(value, int) or not 0 <= value < _LIMIT:
            raise self._wrong(key)
        return value

    def maps(self, key: str) -> list[object]:
        value = self._raw.get(key, [])
        if not isinstance(value, list):
            raise self._wrong(key)
        return cast("list[object]", value)

    def integers(self, key: str) -> list[int]:
        values = self.maps(key)
        if not all(isinstance(v, int) for v in values):
            raise self._wrong(key)
        return cast("list[int]", values)
