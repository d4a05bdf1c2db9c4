"""What a launch did on a device, and how it agrees with its reference."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from asmevo.device import Outcome, Status
from asmevo.launch import Comparison, Launch
from asmevo.verdict import Verdict

_FAILED = (Status.FAULT, Status.LIMIT, Status.DEADLOCK)
"""Endings that are the kernel's doing; the others are the device's."""


def execution_facts(launch: Launch, outcome: Outcome, comparison: Comparison | None) -> dict[str, Any]:
    """One launch: how it ended, what it cost, and the comparison with numpy where the launch has a recipe."""
    return {
        "launch": launch.name,
        "verdict": _verdict(outcome, comparison).value,
        "status": outcome.status.value,
        "fault": None if outcome.fault is None else asdict(outcome.fault) | {"facts": dict(outcome.fault.facts)},
        "workgroups": launch.workgroups,
        "instructions": outcome.instructions,
        "cpu_seconds": outcome.seconds,
        "reference": None if comparison is None else asdict(comparison),
    }


def _verdict(outcome: Outcome, comparison: Comparison | None) -> Verdict:
    if not outcome.done:
        return Verdict.REFUTED if outcome.status in _FAILED else Verdict.UNKNOWN
    return Verdict.TESTED if comparison is None or comparison.within else Verdict.REFUTED


def execution_text(facts: dict[str, Any]) -> str:
    """Two lines for a person."""
    head = (
        f"{facts['launch']}: {facts['status']}; {facts['workgroups']} workgroups, {facts['instructions']} wave "
        f"instructions in {facts['cpu_seconds']:.2f} CPU seconds"
    )
    if facts["fault"] is not None:
        return f"{head}\n  {facts['fault']['rule']}: {facts['fault']['message']}"
    if facts["reference"] is None:
        return head
    return f"{head}\n  {Comparison(**facts['reference'])}"
