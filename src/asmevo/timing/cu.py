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
)
from asmevo.timing.lds import lds_late


@compiled
def _start(m: Any, work: Any, group: int, ordinal: int, now: int) -> None:
    """Put the waves of a workgroup on the SIMDs that have the fewest."""
    _, waves, schedule = work
    first, last = schedule[ordinal, 0], schedule[ordinal, 1]
    m.ordinal[group], m.alive[group], m.at_barrier[group] = ordinal, last - first, 0
    for i in range(last - first):
        w = group * m.group_width + i
        simd = 0
        for other in range(1, 4):
            if m.population[other] < m.population[simd]:
                simd = other
        m.run[w], m.run_end[w] = waves[first + i, 0], waves[first + i, 1]
        m.position[w] = m.previous[w] = work[0][m.run[w], 0]
        m.last[w] = work[0][m.run[w], 1]
        m.base[w], m.base_cause[w] = align(now, simd), LAUNCH
        m.priority[w], m.simd[w], m.group[w], m.arrived[w], m.packed[w] = 0, simd, group, -1, 0
        m.slack[w] = 0
        m.vm_count[w] = 0
        m.lgkm_count[w] = 0
        m.resident[simd, m.population[simd]] = w
        m.population[simd] += 1
        prepare(m, w, False)
        turn = max(m.ready[w], align(m.last_turn[simd] + m.issue_clk, simd))
        m.next_turn[simd] = min(m.next_turn[simd], turn)


@compiled
def _release(m: Any, group: int, now: int) -> None:
    """Let the waves at a barrier go on when all that are alive have arrived."""
    if m.at_barrier[group] < m.alive[group] or m.alive[group] == 0:
        return
    m.at_barrier[group] = 0
    for w in range(group * m.group_width, (group + 1) * m.group_width):
        if m.group[w] != group or m.arrived[w] < 0:
            continue
        simd = m.simd[w]
        base = align(max(now + m.barrier_clk, m.arrived[w] + m.issue_clk), simd)
        m.stall[m.previous[w], BARRIER_WAIT] += base - m.arrived[w] - m.issue_clk
        m.base[w], m.base_cause[w], m.arrived[w] = base, BARRIER_WAIT, -1
        prepare(m, w, False)
        m.next_turn[simd] = min(m.next_turn[simd], m.ready[w])


@compiled
def _charge(m: Any, w: int, now: int, first: bool) -> None:
    """Count an issue: the waiting of its wave, and the idle time of its SIMD if it is the first of the turn."""
    position, simd = m.position[w], m.simd[w]
    base, ready = m.base[w], m.ready[w]
    m.count[position] += 1
    note_wait(m, w, position, now)
    where, cause, late = position, m.ready_cause[w], 0
    if ready > base:
        late = _wait(m, position, cause, ready - base, m.ready_late[w])
    else:
        where, cause = m.previous[w], m.base_cause[w]
    if now > ready:
        where, cause = position, m.blocked[w]
        if cause < 0:
            cause = ARBITRATION
        late = _wait(m, position, cause, now - ready, lds_late(m, simd) if cause == LDS_BUSY else 0)
    if m.event_count < m.event_limit:
        event = m.events[m.event_count]
        event[0], event[1], event[2], event[3] = w, simd, m.ordinal[m.group[w]], position
        event[4], event[5], event[6] = base, now, LDS_CONFLICT if 2 * late > now - base else cause
        m.event_count += 1
    if not first:
        return
    m.turns[position] += 1
    begin = m.last_turn[simd] + m.issue_clk
    m.last_turn[simd] = now
    if now > begin:
        busy = min(max(m.matrix_free[simd] - begin, 0), now - begin)
        m.idle[position, MFMA_BUSY] += busy
        late = min(late, now - begin - busy)
        m.idle[where, LDS_CONFLICT] += late
        m.idle[where, cause] += now - begin - busy - late


@compiled
def _wait(m: Any, position: int, cause: int, clocks: int, late: int) -> int:
    """Count the waiting of a wave, of which bank conflicts cause up to `late` clocks; returns how many."""
    late = min(late, clocks)
    m.stall[position, LDS_CONFLICT] += late
    m.stall[position, cause] += clocks - late
    return late


@compiled
def _issue(m: Any, work: Any, w: int, now: int) -> None:
    """Issue the next instruction of a wave and get the one after it ready."""
    position, group = m.position[w], m.group[w]
    kind, extra = m.kind[position], m.extra[position]
    execute(m, w, position, now)
    step = advance(m, work[0], w, now, 0 if kind == SETPRIO else extra)
    if step == 2 or kind == END:
        m.ready[w], m.position[w], m.group[w] = NEVER, -1, -1
        m.alive[group] -= 1
        _release(m, group, now)
    elif kind == BARRIER:
        m.ready[w], m.arrived[w] = NEVER, now
        m.at_barrier[group] += 1
        _release(m, group, now)
    else:
        if kind == SETPRIO:
            m.priority[w] = extra
        else:
            m.stall[position, NOP] += extra
        prepare(m, w, step == 1)


@compiled
def _turn(m: Any, work: Any, simd: int, now: int) -> bool:
    """One turn of a SIMD. Returns whether a wave ended."""
    used, first, ended = 0, True, False
    population = m.population[simd]
    top = 0
    for i in range(population):
        top = max(top, m.priority[m.resident[simd, i]])
    for level in range(top, -1, -1):
        for i in range(population):
            w = m.resident[simd, i]
            if m.ready[w] > now or m.priority[w] != level:
                continue
            position = m.position[w]
            category = m.category[position]
            if category != INTERNAL and (used >> category) & 1:
                continue
            free, cause = admits(m, position, simd)
            if free > now:
                m.blocked[w] = cause
                continue
            used |= 1 << category
            _charge(m, w, now, first)
            first = False
            _issue(m, work, w, now)
            ended = ended or m.position[w] < 0
    return ended


@compiled
def _retire(m: Any, work: Any, simd: int, now: int) -> None:
    """Take ended waves off a SIMD and start workgroups in the room that finished ones leave."""
    kept = 0
    for i in range(m.population[simd]):
        w = m.resident[simd, i]
        if m.position[w] >= 0:
            m.resident[simd, kept] = w
            kept += 1
    m.population[simd] = kept
    schedule = work[2]
    for group in range(m.groups):
        if m.alive[group] == 0 and m.ordinal[group] >= 0:
            schedule[m.ordinal[group], 3] = now + m.issue_clk
            m.ordinal[group] = -1
            if m.waiting < len(schedule):
                _start(m, work, group, m.waiting, max(now + m.issue_clk, schedule[m.waiting, 2]))
                m.waiting += 1


@compiled
def _plan(m: Any, simd: int, now: int) -> int:
    """The next turn in which a wave of the SIMD could issue."""
    soonest = NEVER
    for i in range(m.population[simd]):
        w = m.resident[simd, i]
        if m.ready[w] < soonest:
            free, _ = admits(m, m.position[w], simd)
            soonest = min(soonest, max(m.ready[w], free))
    return NEVER if soonest == NEVER else align(max(soonest, now + m.issue_clk), simd)


@compiled
def _run(machine: Any, runs: Any, waves: Any, schedule: Any) -> None:
    m = machine[0]
    work = (runs, waves, schedule)
    m.waiting = min(m.groups, len(schedule))
    for group in range(m.waiting):
        _start(m, work, group, group, schedule[group, 2])
    while True:
        simd = 0
        for other in range(1, 4):
            if m.next_turn[other] < m.next_turn[simd]:
                simd = other
        now = m.next_turn[simd]
        if now == NEVER:
            break
        m.next_turn[simd] = NEVER
        if _turn(m, work, simd, now):
            _retire(m, work, simd, now)
        m.next_turn[simd] = min(m.next_turn[simd], _plan(m, simd, now))


def replay(machine: Any, runs: Any, waves: Any, schedule: Any) -> None:
    """Run a schedule to its end on a machine made by `new_machine` with a program loaded.

    `runs` int32 [n, 2]: (first, last) positions, the traces of all sampled waves one after the other. `waves` int64
    [k, 2]: (first, last) row in `runs` for each sampled wave. `schedule` int64 [q, 4]: for each workgroup of this
    compute unit its (first, last) row in `waves`, its earliest start, and its finish, which is written. It always ends:
    a wave that ends no longer counts at barriers.
    """
    _run(machine, np.ascontiguousarray(runs), waves, schedule)
