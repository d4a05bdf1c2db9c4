"""Replay of workgroups on one compute unit: waves of four SIMDs, in order, turn by turn.

Each SIMD has a turn every four clocks. In a turn each wave issues at most one instruction and each category takes at
most one; higher priority goes first, then age (rocprofiler-compute pipeline descriptions; oldest first is the arbiter
of gem5 and mgpusim). What a wave executes comes from the traces of sampled workgroups. All times are integers, so a
replay repeats exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asmevo.timing.compiled import compiled
from asmevo.timing.fetch import note_wait
from asmevo.timing.issue import admits, advance, align, execute, prepare
from asmevo.timing.layout import (
    ARBITRATION,
    BARRIER,
    BARRIER_WAIT,
    END,
    INTERNAL,
    LAUNCH,
    LDS_BUSY,
    LDS_CONFLICT,
    MFMA_BUSY,
    NEVER,
    NOP,
    SETPRIO,
    SIMDS,
)
from asmevo.timing.lds import lds_late


@compiled
def _start(m: Any, work: Any, number: int, ordinal: int, now: int) -> None:
    """Put the waves of a workgroup on the SIMDs that have the fewest."""
    runs, traces, schedule = work
    first, last = schedule[ordinal, 0], schedule[ordinal, 1]
    group = m.groups[number]
    group.ordinal, group.alive, group.at_barrier = ordinal, last - first, 0
    for i in range(last - first):
        slot = number * m.group_width + i
        wave = m.waves[slot]
        chosen = 0
        for other in range(1, SIMDS):
            if m.simds[other].population < m.simds[chosen].population:
                chosen = other
        simd = m.simds[chosen]
        wave.run, wave.run_end = traces[first + i, 0], traces[first + i, 1]
        wave.position = wave.previous = runs[wave.run, 0]
        wave.last = runs[wave.run, 1]
        wave.base, wave.base_cause = align(now, chosen), LAUNCH
        wave.priority, wave.simd, wave.group, wave.arrived, wave.packed = 0, chosen, number, -1, 0
        wave.slack = 0
        wave.vm_count = wave.vm_last = 0
        wave.lgkm_count = wave.lgkm_last = wave.clear_last = 0
        simd.resident[simd.population] = slot
        simd.population += 1
        prepare(m, wave, False)
        turn = max(wave.ready, align(simd.last_turn + m.issue_clk, chosen))
        simd.next_turn = min(simd.next_turn, turn)


@compiled
def _release(m: Any, number: int, now: int) -> None:
    """Let the waves at a barrier go on when all that are alive have arrived."""
    group = m.groups[number]
    if group.at_barrier < group.alive or group.alive == 0:
        return
    group.at_barrier = 0
    for slot in range(number * m.group_width, (number + 1) * m.group_width):
        wave = m.waves[slot]
        if wave.group != number or wave.arrived < 0:
            continue
        simd = m.simds[wave.simd]
        base = align(max(now + m.barrier_clk, wave.arrived + m.issue_clk), wave.simd)
        m.lines[wave.previous].stall[BARRIER_WAIT] += base - wave.arrived - m.issue_clk
        wave.base, wave.base_cause, wave.arrived = base, BARRIER_WAIT, -1
        prepare(m, wave, False)
        simd.next_turn = min(simd.next_turn, wave.ready)


@compiled
def _charge(m: Any, slot: int, now: int, first: bool) -> None:
    """Count an issue: the waiting of its wave, and the idle time of its SIMD if it is the first of the turn."""
    wave = m.waves[slot]
    line, simd = m.lines[wave.position], m.simds[wave.simd]
    base, ready = wave.base, wave.ready
    line.count += 1
    note_wait(m, wave, line, now)
    where, cause, late = wave.position, wave.ready_cause, 0
    if ready > base:
        late = _wait(line, cause, ready - base, wave.ready_late)
    else:
        where, cause = wave.previous, wave.base_cause
    if now > ready:
        where, cause = wave.position, wave.blocked
        if cause < 0:
            cause = ARBITRATION
        late = _wait(line, cause, now - ready, lds_late(m.ports[wave.simd >> 1]) if cause == LDS_BUSY else 0)
    if m.event_count < m.event_limit:
        event = m.events[m.event_count]
        event[0], event[1], event[2], event[3] = slot, wave.simd, m.groups[wave.group].ordinal, wave.position
        event[4], event[5], event[6] = base, now, LDS_CONFLICT if 2 * late > now - base else cause
        m.event_count += 1
    if not first:
        return
    line.turns += 1
    begin = simd.last_turn + m.issue_clk
    simd.last_turn = now
    if now > begin:
        busy = min(max(simd.matrix_free - begin, 0), now - begin)
        line.idle[MFMA_BUSY] += busy
        late = min(late, now - begin - busy)
        idle = m.lines[where].idle
        idle[LDS_CONFLICT] += late
        idle[cause] += now - begin - busy - late


@compiled
def _wait(line: Any, cause: int, clocks: int, late: int) -> int:
    """Count the waiting of a wave, of which bank conflicts cause up to `late` clocks; returns how many."""
    late = min(late, clocks)
    line.stall[LDS_CONFLICT] += late
    line.stall[cause] += clocks - late
    return late


@compiled
def _issue(m: Any, runs: Any, wave: Any, now: int) -> bool:
    """Issue the next instruction of a wave and get the one after it ready. Returns whether the wave ended."""
    line, number = m.lines[wave.position], wave.group
    kind, extra = line.costs.kind, line.costs.extra
    execute(m, wave, line, now)
    step = advance(m, runs, wave, now, 0 if kind == SETPRIO else extra)
    if step == 2 or kind == END:
        wave.ready, wave.group = NEVER, -1
        m.groups[number].alive -= 1
        _release(m, number, now)
        return True
    if kind == BARRIER:
        wave.ready, wave.arrived = NEVER, now
        m.groups[number].at_barrier += 1
        _release(m, number, now)
        return False
    if kind == SETPRIO:
        wave.priority = extra
    else:
        line.stall[NOP] += extra
    prepare(m, wave, step == 1)
    return False


@compiled
def _turn(m: Any, work: Any, number: int, now: int) -> bool:
    """One turn of a SIMD. Returns whether a wave ended."""
    used, first, ended = 0, True, False
    simd = m.simds[number]
    top = 0
    for i in range(simd.population):
        top = max(top, m.waves[simd.resident[i]].priority)
    for level in range(top, -1, -1):
        for i in range(simd.population):
            slot = simd.resident[i]
            wave = m.waves[slot]
            if wave.ready > now or wave.priority != level:
                continue
            line = m.lines[wave.position]
            category = line.costs.category
            if category != INTERNAL and (used >> category) & 1:
                continue
            free, cause = admits(m, line, number)
            if free > now:
                wave.blocked = cause
                continue
            used |= 1 << category
            _charge(m, slot, now, first)
            first = False
            if _issue(m, work[0], wave, now):
                ended = True
    return ended


@compiled
def _retire(m: Any, work: Any, simd: Any, now: int) -> None:
    """Take ended waves off a SIMD and start workgroups in the room that finished ones leave."""
    kept = 0
    for i in range(simd.population):
        slot = simd.resident[i]
        if m.waves[slot].group >= 0:
            simd.resident[kept] = slot
            kept += 1
    simd.population = kept
    schedule = work[2]
    for number in range(m.rooms):
        group = m.groups[number]
        if group.alive == 0 and group.ordinal >= 0:
            schedule[group.ordinal, 3] = now + m.issue_clk
            group.ordinal = -1
            if m.waiting < len(schedule):
                _start(m, work, number, m.waiting, max(now + m.issue_clk, schedule[m.waiting, 2]))
                m.waiting += 1


@compiled
def _plan(m: Any, number: int, now: int) -> int:
    """The next turn in which a wave of the SIMD could issue."""
    soonest, least = NEVER, now + m.issue_clk
    simd = m.simds[number]
    for i in range(simd.population):
        if soonest <= least:
            break
        wave = m.waves[simd.resident[i]]
        if wave.ready < soonest:
            free, _ = admits(m, m.lines[wave.position], number)
            soonest = min(soonest, max(wave.ready, free))
    return NEVER if soonest == NEVER else align(max(soonest, least), number)


@compiled
def _run(machine: Any, runs: Any, traces: Any, schedule: Any) -> None:
    m = machine[0]
    work = (runs, traces, schedule)
    m.waiting = min(m.rooms, len(schedule))
    for group in range(m.waiting):
        _start(m, work, group, group, schedule[group, 2])
    while True:
        number = 0
        for other in range(1, SIMDS):
            if m.simds[other].next_turn < m.simds[number].next_turn:
                number = other
        simd = m.simds[number]
        now = simd.next_turn
        if now == NEVER:
            break
        simd.next_turn = NEVER
        if _turn(m, work, number, now):
            _retire(m, work, simd, now)
        simd.next_turn = min(simd.next_turn, _plan(m, number, now))


def replay(machine: Any, runs: Any, waves: Any, schedule: Any) -> None:
    """Run a schedule to its end on a machine made by `new_machine` with a program loaded.

    `runs` int32 [n, 2]: (first, last) positions, the traces of all sampled waves one after the other. `waves` int64
    [k, 2]: (first, last) row in `runs` for each sampled wave. `schedule` int64 [q, 4]: for each workgroup of this
    compute unit its (first, last) row in `waves`, its earliest start, and its finish, which is written. It always ends:
    a wave that ends no longer counts at barriers.
    """
    _run(machine, np.ascontiguousarray(runs), waves, schedule)
