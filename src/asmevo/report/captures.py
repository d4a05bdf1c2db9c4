"""Texts on captured dispatches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def captured_text(facts: Mapping[str, Any]) -> str:
    """Each kind of dispatch that was kept, how often it occurred, and how many were left out."""
    kept = [d for d in facts["dispatches"] if d["folder"]]
    rest = [d for d in facts["dispatches"] if not d["folder"]]
    lines = [f"{d['folder']}: {d['kernel']}, {d['occurrences']} dispatches" for d in kept]
    if rest:
        count = sum(d["occurrences"] for d in rest)
        lines.append(f"{len(rest)} more kinds, {count} dispatches, were not kept; raise --limit")
    return "\n".join(lines)
