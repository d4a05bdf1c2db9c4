"""What a launch did on a device, and how it agrees with its reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from asmevo.device import LaunchTime, Outcome, Status
from asmevo.launch import Comparison, Launch, MemoryImage
from asmevo.verdict import InputError, UnsupportedError, Verdict

_FAILED = (Status.FAULT, Status.LIMIT, Status.DEADLOCK)
"""Endings that are the kernel's doing; the others are the device's."""


def execution_facts(
    launch: Launch, outcome: Outcome, image: MemoryImage, comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """One launch: how it ended, what it cost, and the comparisons with numpy where the launch has a recipe."""
    overrun = image.overrun() if outcome.done else ""
    return {
        "launch": launch.name,
        "verdict": Verdict.REFUTED.value if overrun or outcome.findings else _verdict(outcome, comparisons),
        "overrun": overrun,
        "status": outcome.status.value,
        "fault": None if outcome.fault is None else asdict(outcome.fault) | {"facts": dict(outcome.fault.facts)},
        "findings": None
        if outcome.findings is None
        else [asdict(f) | {"facts": dict(f.facts)} for f in outcome.findings],
        "workgroups": launch.workgroups,
        "instructions": outcome.instructions,
        "cpu_seconds": outcome.seconds,
        "references": [asdict(comparison) for comparison in comparisons],
    }


def _verdict(outcome: Outcome, comparisons: Sequence[Comparison]) -> str | None:
    """None where nothing was compared: that a launch ended is no evidence of what it computed."""
    if not outcome.done:
        return (Verdict.REFUTED if outcome.status in _FAILED else Verdict.UNKNOWN).value
    if not comparisons:
        return None
    return (Verdict.TESTED if all(c.within for c in comparisons) else Verdict.REFUTED).value


def execution_text(facts: dict[str, Any]) -> str:
    """Two lines or more for a person; one of them for each thing that a checked run found."""
    head = (
        f"{facts['launch']}: {facts['status']}; {facts['workgroups']} workgroups, {facts['instructions']} wave "
        f"instructions in {facts['cpu_seconds']:.2f} CPU seconds"
    )
    found = [f"  {f['rule']}: {f['message']}" for f in facts["findings"] or ()]
    if facts["findings"] == []:
        found = ["  checked: nothing late, racy, unwritten or out of bounds"]
    if facts["fault"] is not None:
        found.append(f"  {facts['fault']['rule']}: {facts['fault']['message']}")
    elif not facts["references"]:
        found.append("  not compared: the launch has no recipe, so no reference")
    else:
        found += [f"  {Comparison(**reference)}" for reference in facts["references"]]
    return "\n".join([head, *found])


def require_done(facts: dict[str, Any]) -> None:
    """Raises `InputError` when the kernel did not end as it should, `UnsupportedError` when the device was lost."""
    if facts["overrun"]:
        raise InputError(
            f"The launch {facts['launch']!r} has a buffer that is too small: the kernel wrote in the "
            f"{facts['overrun']}; enlarge its shape."
        )
    if facts["status"] == Status.DONE:
        return
    why = "" if facts["fault"] is None else f": {facts['fault']['message'].rstrip('.')}"
    ended = f"The launch {facts['launch']!r} ended with {facts['status']}{why}"
    if facts["verdict"] == Verdict.REFUTED:
        raise InputError(f"{ended}; compare its arguments and buffer sizes with what the kernel expects.")
    raise UnsupportedError(f"{ended}; try a smaller launch or a higher --limit.")


def measured_text(time: LaunchTime) -> str:
    """One line on a measured time."""
    f = time.facts
    spread = f"90 % of {f['samples']} samples within {f['low_us']:.2f} to {f['high_us']:.2f} us"
    return (
        f"measured {time.microseconds:.2f} us on {f['chip']} ({spread}; an empty kernel takes {f['floor_us']:.2f} us)"
    )
