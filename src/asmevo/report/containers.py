"""What a container holds, as JSON-able facts and as text."""

from __future__ import annotations

from typing import Any

from asmevo.codeobject.containers import Container, Entry
from asmevo.codeobject.elf import SHT_NOTE, Elf
from asmevo.codeobject.metadata import decode_metadata, kernel_entries
from asmevo.report.table import table
from asmevo.targets import HANDLED
from asmevo.verdict import InputError

_FEW, _WIDE = 20, 48
"""Parts that are listed one by one, and characters of a kernel's name."""


def container_facts(container: Container) -> dict[str, Any]:
    """Kind and size of the file, its parts, and every entry with its kernels.

    An entry whose object is damaged has `error` instead of kernels; the others are listed all the same.
    """
    return {
        "file": container.name,
        "kind": container.kind,
        "bytes": len(container.data),
        "parts": [
            {"format": part.format, "offset": place, "bytes": part.size}
            for part, place in zip(container.parts, container.places, strict=True)
        ],
        "entries": [_entry_facts(container, entry) for entry in container.entries],
    }


def _entry_facts(container: Container, entry: Entry) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "number": entry.number,
        "part": entry.part,
        "format": entry.format,
        "name": entry.name,
        "target": entry.target,
        "handled": entry.target in HANDLED,
        "offset": entry.offset,
        "bytes": entry.size,
        "kernels": [],
        "error": None,
    }
    if entry.size and entry.target:
        try:
            facts["kernels"] = _kernels(container.extract(entry), f"entry {entry.number}")
        except InputError as error:
            facts["error"] = str(error)
    return facts


def _kernels(data: bytes, name: str) -> list[str]:
    """Kernel names of a code object for any target."""
    elf = Elf(data, name)
    notes = b"".join(elf.content(s) for s in elf.sections if s.type == SHT_NOTE)
    return [k.name for k in kernel_entries(decode_metadata(notes, name), name)]


def container_text(facts: dict[str, Any]) -> str:
    """The facts for a person to read."""
    parts, entries = facts["parts"], facts["entries"]
    head = [f"{facts['kind']} of {facts['bytes']} bytes with {len(entries)} entries"]
    if len(parts) <= _FEW:
        head += [f"  {p['format']} of {p['bytes']} bytes at {p['offset']}" for p in parts]
    rows = [_row(e) for e in entries]
    return "\n".join([*head, "", table(("entry", "target", "offset", "bytes", "kernels", "name"), rows)])


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    names = entry["kernels"]
    kernels = f"{len(names)}: {names[0]}" if len(names) > 1 else (names[0] if names else "-")
    name = entry["error"] or entry["name"]
    return (
        str(entry["number"]), entry["target"] or "host", str(entry["offset"]), str(entry["bytes"]),
        kernels if len(kernels) <= _WIDE else kernels[: _WIDE - 3] + "...", name,
    )  # fmt: skip
