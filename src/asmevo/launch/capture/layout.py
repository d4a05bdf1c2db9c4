"""Names of the files of a capture, and the texts of its tables.

Source: kerncap of AMDResearch/intellikit, `kerncap.hip` (what is written) and `replay.cpp` (what is read back).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DISPATCH = "dispatch.json"
METADATA = "metadata.json"
REGIONS = "memory_regions.json"
VARIABLES = "module_variables.json"
KERNARG, KERNARG_RAW = "kernarg.bin", "kernarg_raw.bin"
CODE = "kernel.hsaco"
MEMORY = "memory"
OURS = "asmevo.json"
"""What AsmEvo adds: how often the dispatch occurred, hashes of the regions, Triton's name of the kernel."""
FORMAT = "asmevo.capture/1"
HASHED = 256 << 20
"""Regions of more bytes than this have no hash."""


def region_file(base: int) -> str:
    """The file of a region, relative to the capture."""
    return f"{MEMORY}/region_{base:x}.bin"


def table_text(value: Mapping[str, Any]) -> str:
    """A table as kerncap writes it: keys in order, two spaces, no end of line."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


def is_capture(folder: Path) -> bool:
    """Whether a folder holds one captured dispatch."""
    return (folder / DISPATCH).is_file()


def captures_in(folder: Path) -> tuple[Path, ...]:
    """The folder itself where it is a capture, else those of its folders that are one, by name."""
    if is_capture(folder):
        return (folder,)
    return tuple(sorted(p for p in folder.iterdir() if p.is_dir() and is_capture(p)))


def occurrences_of(folder: Path, count: int) -> None:
    """Write down how often the dispatch of a capture occurred."""
    path = folder / OURS
    table: dict[str, Any] = json.loads(path.read_text())
    partial = path.with_suffix(".part")
    partial.write_text(table_text(table | {"occurrences": count}))
    partial.replace(path)
