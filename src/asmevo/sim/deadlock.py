"""Deadlock: every resident wave waits for something that none of them will do.

The workers come here when all their workgroups only poll and no other may start. It is a deadlock when nothing has
changed memory and the waves have come back to a state they were in before, so that they would go on like this for ever;
or, when a counter or a clock keeps their states apart, when they have polled for `Limits.patience` instructions.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from asmevo.isa import MemoryRow, effects, row_of
from asmevo.sim.executable import Executable
from asmevo.sim.layout import ENDED, ROW, SCALAR_BASE, TRACE_FULL, UNITS, WAITING
from asmevo.sim.traces import TraceCollector
from asmevo.sim.waves import WaveView
from asmevo.sim.worker import Entry, Worker
from asmevo.verdict import Finding

_COMPARED = 32
"""Stalls whose states are kept to compare; a loop of more states is left to patience."""
_PAUSE = 0.0005
"""Seconds that a worker with nothing to do leaves to the others."""
_NAMED = 8
"""Waves that the finding's sentence names; the facts have all."""


@dataclass
class _Quiet:
    """What one worker has seen since the last change of memory."""

    changes: int
    confirming: bool
    executed: int
    seen: set[bytes] = field(default_factory=set[bytes])
    proved: bool = False


class StallWatch:
    """Judges the stalls of all workers of one run; thread-safe.

    With several workers, each must have proved its stall after all others had: what one of them wrote last may have
    come too late for the first proof of another.
    """

    def __init__(self, workers: Sequence[Worker], patience: int) -> None:
        self._workers = list(workers)
        self._patience = patience
        self._quiet: dict[int, _Quiet] = {}
        self._confirming = -1
        self._lock = Lock()

    def ended(self, worker: Worker) -> None:
        """This worker has no workgroup any more."""
        with self._lock:
            self._workers.remove(worker)

    def is_deadlock(self, worker: Worker) -> bool:
        """Whether a worker that has stalled will never go on."""
        with self._lock:
            total = sum(w.get("changes") for w in self._workers)
            verdict = self._judge(worker, total)
        if not verdict and len(self._workers) > 1:
            time.sleep(_PAUSE)
        return verdict

    def _judge(self, worker: Worker, total: int) -> bool:
        quiet = self._quiet.get(id(worker))
        confirming = self._confirming == total
        views = _views(worker)
        executed = sum(view.field("count") for view in views)
        if quiet is None or quiet.changes != total or quiet.confirming != confirming:
            quiet = self._quiet[id(worker)] = _Quiet(total, confirming, executed)
        if len(quiet.seen) < _COMPARED:
            digest = _digest(worker, views)
            quiet.proved |= digest in quiet.seen
            quiet.seen.add(digest)
        quiet.proved |= executed - quiet.executed > self._patience * len(views)
        states = [self._quiet.get(id(w)) for w in self._workers]
        agreed = all(q is not None and q.proved and q.changes == total for q in states)
        if not agreed:
            return False
        if len(self._workers) == 1 or (confirming and all(q is not None and q.confirming for q in states)):
            return True
        self._confirming = total
        return False


def _slots(worker: Worker) -> list[int]:
    return [slot for slot in range(len(worker.slots)) if worker.slots.is_active(slot)]


def _views(worker: Worker) -> list[WaveView]:
    """The waves of all resident workgroups that have not ended."""
    waves = (WaveView(worker.slots.state(slot, wave)) for slot in _slots(worker) for wave in range(worker.slots.waves))
    return [view for view in waves if view.field("phase") != ENDED]


def _digest(worker: Worker, views: Sequence[WaveView]) -> bytes:
    """Hash of everything that decides what the waves do next, memory and LDS apart."""
    h = hashlib.blake2b(digest_size=16)
    for view in views:
        h.update(b"%d %d " % (view.field("chunk"), view.field("phase")))
        h.update(view.state[: worker.get("vgprs") * ROW].data)
        h.update(view.state[256 * ROW : (256 + worker.get("agprs")) * ROW].data)
        h.update(view.state[SCALAR_BASE : SCALAR_BASE + 4 * UNITS].data)
    return h.digest()


def explain(executable: Executable, worker: Worker, enter: Entry) -> Finding:
    """The finding of a deadlock: what each wave of this worker waits for. Lets the waves poll once more to see it."""
    paths = _polled_chunks(worker, enter)
    waves = [
        _wave(executable, worker, slot, wave, paths)
        for slot in _slots(worker)
        for wave in range(worker.slots.waves)
        if WaveView(worker.slots.state(slot, wave)).field("phase") != ENDED
    ]
    waiting = max(0, worker.get("list_size") - int(worker.shared.next[0]))
    named = "; ".join(w["sentence"] for w in waves[:_NAMED]) + ("; ..." if len(waves) > _NAMED else "")
    rest = f" {waiting} workgroups have not started, since no more fit on the chip at once." if waiting else ""
    facts = {
        "waves": [{key: value for key, value in w.items() if key != "sentence"} for w in waves],
        "resident_workgroups": len(_slots(worker)),
        "not_started": waiting,
    }
    line = next((w["lines"][0] for w in waves if w["lines"]), None)
    return Finding("sim.deadlock", f"No wave can go on: {named}.{rest}", line=line, facts=facts)


def _polled_chunks(worker: Worker, enter: Entry) -> dict[tuple[int, int], set[int]]:
    """(workgroup, wave) to the blocks it runs through until the next stall."""
    worker.take_trace()
    collector = TraceCollector()
    with worker.traced():
        reason = enter(worker.pointer)
        assert reason != TRACE_FULL or worker.get("trace_used")
        collector.add(worker.take_trace())
    return collector.blocks()


def _wave(
    executable: Executable, worker: Worker, slot: int, wave: int, paths: dict[tuple[int, int], set[int]]
) -> dict[str, Any]:
    view = WaveView(worker.slots.state(slot, wave))
    workgroup, chunk = view.field("workgroup"), view.field("chunk")
    lines = executable.program.lines
    who = f"wave {wave} of workgroup {workgroup}"
    facts: dict[str, Any] = {"workgroup": workgroup, "wave": wave}
    if view.field("phase") == WAITING:
        barrier = lines[executable.chunks[chunk].first - 1]
        others = [
            n
            for n in range(worker.slots.waves)
            if WaveView(worker.slots.state(slot, n)).field("phase") not in (WAITING, ENDED)
        ]
        facts |= {"waits": "barrier", "lines": [barrier.id], "for_waves": others}
        return facts | {
            "sentence": f"{who} is at the barrier of line {barrier.id}, to which wave {_listed(others)} does not come"
        }
    visited = sorted(paths.get((workgroup, wave), {chunk}))
    spans = [executable.chunks[n] for n in visited]
    loop = [line for c in spans for line in lines[c.first : c.last]]
    polls = [
        {"line": line.id, "instruction": str(line.instruction), "address": _steady_address(view, line.instruction)}
        for line in loop
        if isinstance(row_of(line.instruction), MemoryRow)
    ]
    facts |= {"waits": "memory", "lines": [line.id for line in loop], "polls": polls}
    if not polls:
        return facts | {"sentence": f"{who} goes round in lines {loop[0].id} to {loop[-1].id}"}
    first = polls[0]
    place = "" if first["address"] is None else f" at 0x{first['address']:x}"
    return facts | {"sentence": f"{who} polls memory{place} with `{first['instruction']}` of line {first['line']}"}


def _steady_address(view: WaveView, instruction: Any) -> int | None:
    """The address of a load in the loop, unless the load overwrites what it was made of."""
    known = effects(instruction)
    return None if known.reads & known.writes else view.address(instruction)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
