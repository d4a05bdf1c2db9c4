"""A replay as a timeline that Perfetto opens (https://ui.perfetto.dev): SIMDs as processes, waves as tracks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from asmevo.timing.layout import CAUSES
from asmevo.timing.prepared import Replayed


def timeline(replayed: Replayed) -> dict[str, Any]:
    """A trace in the Chrome JSON format of the issues that `Prepared.replay` was asked to keep.

    Times are microseconds of the modelled clock. A slice is an issue, named by its instruction, or the waiting before
    it, named by its cause.
    """
    code = replayed.code
    events: list[list[int]] = replayed.run.events.tolist()
    return {
        "displayTimeUnit": "ns",
        "otherData": {"source": "modelled", "chip": code.chip.name, "clock_ghz": code.chip.clock_ghz},
        "traceEvents": [*_names(events), *_slices(replayed, events)],
    }


def _names(events: list[list[int]]) -> Iterator[dict[str, Any]]:
    for simd in sorted({event[1] for event in events}):
        yield {"ph": "M", "name": "process_name", "pid": simd, "args": {"name": f"SIMD {simd}"}}
    for simd, wave in sorted({(event[1], event[0]) for event in events}):
        yield {"ph": "M", "name": "thread_name", "pid": simd, "tid": wave, "args": {"name": f"wave slot {wave}"}}


def _slices(replayed: Replayed, events: list[list[int]]) -> Iterator[dict[str, Any]]:
    chip, lines = replayed.code.chip, replayed.code.program.lines
    us = 1e-3 / chip.clock_ghz
    for wave, simd, workgroup, position, base, issue, cause in events:
        line = lines[position]
        place: dict[str, Any] = {"ph": "X", "pid": simd, "tid": wave}
        args = {"line": line.id, "workgroup": workgroup, "clock": issue}
        if issue > base:
            yield place | {"name": CAUSES[cause].value, "cat": "stall", "ts": base * us, "dur": (issue - base) * us}
        name, length = line.instruction.text, chip.issue_clk * us
        yield place | {"name": name, "cat": "issue", "ts": issue * us, "dur": length, "args": args}
