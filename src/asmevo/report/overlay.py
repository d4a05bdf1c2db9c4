"""Texts on what is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def installed_text(facts: Mapping[str, Any], folder: str) -> str:
    """What an installation did: each file, and how to undo it."""
    if not facts["fresh"]:
        return "nothing to do: the candidate is in place already"
    entry = facts["entry"]
    lines = [f"{change['path']}: {_what(change)} {entry['candidate'][:12]}" for change in entry["changes"]]
    lines.append(f"{_verdict(entry)} for {entry['kernel']} on {entry['chip']} ({entry['target']})")
    return "\n".join([*lines, f"`asmevo rollback {folder}` puts back what was there"])


def _verdict(entry: Mapping[str, Any]) -> str:
    """The verdict; of results that are not K0's with the bound on their error."""
    bound = entry.get("inexact")
    return entry["verdict"] if bound is None else f"{entry['verdict']} INEXACT (up to {bound:g} times K0's error)"


def _what(change: Mapping[str, Any]) -> str:
    return "new," if change["before"] is None else f"{change['before'][:12]} replaced by"


def overlay_text(facts: Mapping[str, Any], folder: str) -> str:
    """Every installation of a folder, oldest first, with the state of its files."""
    lines: list[str] = []
    if facts["interrupted"]:
        lines.append("an installation was interrupted; the next `install` or `rollback` undoes what it had begun")
    for entry in facts["entries"]:
        lines.append(
            f"{entry['kernel']}: {entry['candidate'][:12]} over {entry['k0'][:12]}, {_verdict(entry)} on "
            f"{entry['chip']} ({entry['target']})"
        )
        lines += [f"  {file['state']:9} {file['path']}" for file in entry["files"]]
    return "\n".join(lines or [f"nothing is installed in {folder}"])
