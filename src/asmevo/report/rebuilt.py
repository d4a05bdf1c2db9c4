"""What a rebuild made."""

from __future__ import annotations

import hashlib
from typing import Any

from asmevo.program import Program
from asmevo.report.checks import checks_text
from asmevo.verdict import Check


def rebuild_facts(program: Program, data: bytes, check: Check) -> dict[str, Any]:
    """Hashes, whether the file is K0's byte for byte, and the check of the rebuilt object."""
    return {
        "kernel": program.kernel.name,
        "k0_sha256": program.source.sha256,
        "sha256": hashlib.sha256(data).hexdigest(),
        "identical": data == program.source.data,
        "instructions": len(program.lines),
        "bytes": len(data),
        "check": check.to_json(),
    }


def rebuild_text(facts: dict[str, Any], check: Check) -> str:
    """One line when all is well, the findings otherwise."""
    if not check.verdict.admitted:
        return checks_text([check])
    if facts["identical"]:
        return f"identical to K0, byte for byte (sha256 {facts['sha256']})"
    counts = check.facts
    parts = [f"{counts['branches']} branches"]
    parts += [f"{counts['references']} addresses"] if counts["references"] else []
    added = f", {counts['islands']} branches added to reach far targets" if counts["islands"] else ""
    return (
        f"{counts['method']}: {facts['instructions']} instructions, {counts['untouched']} of them with K0's words and "
        f"{' and '.join(parts)} checked{added} (sha256 {facts['sha256']})"
    )
