"""From events to findings: which instruction, which registers, and what came before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Instruction, RegSet, effects, names, span
from asmevo.program.asynchronous import operation
from asmevo.program.outstanding import facts, written_in_order
from asmevo.program.program import Line, Program
from asmevo.sim.checked.layout import PLACE_BITS
from asmevo.sim.checked.shadow import Event
from asmevo.sim.checked.sinks import needed
from asmevo.sim.chunks import Chunk
from asmevo.verdict import Finding

_MESSAGES = {
    "lds.undefined": "`{it}` reads LDS at {address}, which nobody has written ({where}).",
    "lds.read": "`{it}` reads LDS at {address} while {earlier} of wave {other} may not have written it yet ({where}).",
    "lds.write": "`{it}` writes LDS at {address} while {earlier} of wave {other} may still access it ({where}).",
    "lds.dma": "`{it}` accesses LDS at {address} before {earlier} of the same wave has been waited for ({where}).",
    "bounds.read": "`{it}` reads {address}, which is in none of the buffers of the launch ({where}).",
    "bounds.write": "`{it}` writes {address}, which is in none of the buffers of the launch ({where}).",
    "global.read": "`{it}` reads {address}, which workgroup {other} wrote, and nothing orders the two ({where}).",
    "global.write": "`{it}` writes {address}, where workgroup {other} wrote something else, and nothing orders the two "
    "({where}).",
}  # fmt: skip
_RULES = {
    "lds.undefined": "check.lds_undefined",
    "lds.read": "check.lds_race",
    "lds.write": "check.lds_race",
    "lds.dma": "check.lds_pending",
    "bounds.read": "check.bounds",
    "bounds.write": "check.bounds",
    "global.read": "check.global_race",
    "global.write": "check.global_race",
}


def findings(program: Program, chunks: Sequence[Chunk], events: Iterable[Event]) -> Iterator[Finding]:
    """Findings of a run, each rule once for a line and an earlier line, in the order in which they happened."""
    known: set[tuple[str, int | None, int | None, str]] = set()
    for _, together in groupby(events, _block_run):
        for finding in _findings(program, chunks, list(together)):
            key = (finding.rule, finding.line, finding.facts.get("earlier"), finding.facts.get("registers", ""))
            if key not in known:
                known.add(key)
                yield finding


def _block_run(event: Event) -> tuple[object, ...]:
    """Equal for neighbours that are told of together: registers that one run of a block found undefined."""
    return (event.kind, event.place, event.wave, event.workgroup, None if event.kind == "undefined" else event)


def _findings(program: Program, chunks: Sequence[Chunk], together: list[Event]) -> Iterator[Finding]:
    event = together[0]
    if event.kind == "pending":
        yield from _pending(program, chunks, event)
    elif event.kind == "undefined":
        registers = 0
        for one in together:
            registers |= span(one.first, one.units)
        yield from _undefined(program, chunks, event, registers)
    else:
        yield _access(program, chunks, event)


def _access(program: Program, chunks: Sequence[Chunk], event: Event) -> Finding:
    """A finding on one access of memory."""
    line = _line(program, chunks, event.place)
    earlier = _line(program, chunks, event.earlier) if event.earlier >= 0 else None
    message = _MESSAGES[event.kind].format(
        it=line.instruction, address=f"0x{event.address:x}", where=_where(event), other=event.other,
        earlier="" if earlier is None else f"line {earlier.id}, `{earlier.instruction}`,",
    )  # fmt: skip
    facts_ = _facts(event) | {"address": event.address}
    facts_ |= {"other": event.other} if event.other >= 0 else {}
    facts_ |= {} if earlier is None else {"earlier": earlier.id}
    return Finding(_RULES[event.kind], message, line=line.id, facts=facts_)


def _line(program: Program, chunks: Sequence[Chunk], place: int, at: int | None = None) -> Line:
    inside = place & ((1 << PLACE_BITS) - 1) if at is None else at
    return program.lines[chunks[place >> PLACE_BITS].first + inside]


def line_ids(program: Program, chunks: Sequence[Chunk], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """Line ids of places."""
    firsts = np.array([c.first for c in chunks], np.int32)
    ids = np.array([line.id for line in program.lines], np.int32)
    return ids[firsts[places >> PLACE_BITS] + (places & ((1 << PLACE_BITS) - 1))]


def _stretch(program: Program, chunks: Sequence[Chunk], event: Event) -> Iterator[Line]:
    """The instructions that an event may be about."""
    for at in range(event.place & ((1 << PLACE_BITS) - 1), event.last + 1):
        yield _line(program, chunks, event.place, at)


def _facts(event: Event) -> dict[str, object]:
    return {
        "workgroup": event.workgroup,
        "wave": event.wave,
        "lane": event.lane if event.lane >= 0 else None,
    }


def _where(event: Event) -> str:
    lane = f", lane {event.lane}" if event.lane >= 0 else ""
    return f"workgroup {event.workgroup}, wave {event.wave}{lane}"


def _pending(program: Program, chunks: Sequence[Chunk], event: Event) -> Iterator[Finding]:
    """The first instruction of the stretch that reads or overwrites what is still to arrive."""
    earlier = _line(program, chunks, event.earlier)
    started = operation(earlier.instruction)
    assert started is not None, "only operations are pending"
    registers = span(event.first, event.units)
    for line in _stretch(program, chunks, event):
        now = facts(line.instruction)
        read, written = registers & now.reads, registers & now.writes
        in_order = all(written_in_order(started.queue, now.operation, counter) for counter in started.queue.counters)
        if read or (written and not in_order):
            kind, which = ("raw", read) if read else ("waw", written)
            yield _pending_finding(event, line, earlier, kind, which)
            return


def _pending_finding(event: Event, line: Line, earlier: Line, kind: str, registers: RegSet) -> Finding:
    verb = "reads" if kind == "raw" else "overwrites"
    message = (
        f"Line {line.id}, `{line.instruction}`, {verb} {names(registers)} before line {earlier.id}, "
        f"`{earlier.instruction}`, has arrived ({_where(event)})."
    )
    facts_ = _facts(event) | {"earlier": earlier.id, "registers": names(registers)}
    return Finding(f"check.{kind}", message, line=line.id, facts=facts_)


def _undefined(program: Program, chunks: Sequence[Chunk], event: Event, registers: RegSet) -> Iterator[Finding]:
    """The instructions of a block that need registers nobody wrote."""
    for line in _stretch(program, chunks, event):
        if used := needed(line.instruction) & registers:
            message = (
                f"Line {line.id}, `{line.instruction}`, uses {names(used)}, which nothing has written "
                f"({_where(event)})."
            )
            yield Finding("check.undefined", message, line=line.id, facts=_facts(event) | {"registers": names(used)})
        registers &= ~(used | _writes(line.instruction))


def _writes(instruction: Instruction) -> RegSet:
    return effects(instruction).writes
