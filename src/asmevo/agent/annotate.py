"""What stands behind each line of a page: time, dependences, waits that are owed, spacing, pressure on registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from asmevo.agent.windows import View
from asmevo.codeobject.registers import granted_registers
from asmevo.isa import RegSet, effects, span, units
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, UNNUMBERED_SGPRS, VGPR_BASE, unit_name
from asmevo.isa.wait import Wait
from asmevo.program import Block, Program
from asmevo.program.dependence import Dependence, DependenceGraph, dependence_graph
from asmevo.program.outstanding import Outstanding, facts
from asmevo.strategies import Analyses
from asmevo.timing import LineProfile, Profile

_Relies: TypeAlias = Mapping[int, frozenset[int]]
SHOWN = 5
"""Dependences of one kind, owed waits and causes of one line that are shown; the nearest ones."""
_FILES = {"v": (VGPR_BASE, AGPR_BASE), "a": (AGPR_BASE, AGPR_BASE + 512), "s": (0, VGPR_BASE)}


@dataclass(frozen=True, slots=True)
class Annotation:
    """One line. Line ids name other lines of its block, or lines before it whose memory operations are under way."""

    id: int
    text: str
    clocks: float | None
    """Modelled clocks charged to it, over the launch; None where there is no profile."""
    share: float
    idle: dict[str, float] = field(default_factory=dict[str, float])
    """Clocks in which nothing was issued because of it, by cause."""
    after: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Kind of dependence to the lines that must stay in front."""
    owes: list[str] = field(default_factory=list[str])
    """Waits that some `s_waitcnt` in front must have made: `vmcnt(3) for 120`."""
    finishes: list[int] = field(default_factory=list[int])
    """For a wait, the operations that it finishes."""
    relies: list[int] = field(default_factory=list[int])
    """For a fence or an access of memory, operations that the code has finished here, so they must be."""
    spacing: list[str] = field(default_factory=list[str])
    """Wait states that must stand between an earlier line and this one: `118:5`."""
    live: dict[str, int] = field(default_factory=dict[str, int])
    """How many registers of each file are live in front of it."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers of a window, as printed ranges."""

    free: str
    """Granted, and neither live nor written anywhere in the window."""
    live_in: str
    live_out: str


def ranges(registers: RegSet) -> str:
    """A set of registers in few words: `v[0:15], s4, vcc_lo`."""
    runs: list[list[int]] = []
    for unit in units(registers):
        if runs and unit == runs[-1][1] + 1 and unit_name(unit)[1:].isdecimal() and unit not in (VGPR_BASE, AGPR_BASE):
            runs[-1][1] = unit
        else:
            runs.append([unit, unit])
    return ", ".join(_run(first, last) for first, last in runs) or "none"


def _run(first: int, last: int) -> str:
    name = unit_name(first)
    return name if first == last else f"{name[0]}[{name[1:]}:{unit_name(last)[1:]}]"


def granted(program: Program) -> RegSet:
    """Registers that the descriptor grants."""
    registers = granted_registers(program.kernel.descriptor, program.source.target)
    vector = registers.vector - registers.accumulation
    scalar = SGPR_COUNT if registers.scalar is None else min(SGPR_COUNT, registers.scalar - UNNUMBERED_SGPRS)
    return (
        span(VGPR_BASE, min(vector, 256)) | span(AGPR_BASE, min(registers.accumulation, 256)) | span(0, max(scalar, 0))
    )


def window_registers(analyses: Analyses, view: View) -> Registers:
    """Live and free registers of a window."""
    program, live = analyses.program, analyses.liveness
    used = 0
    for at in view.positions():
        known = effects(program.lines[at].instruction)
        used |= live.live_in(at) | live.live_out(at) | known.reads | known.writes
    first, last = view.positions()[0], view.positions()[-1]
    free = granted(program) & ~used
    return Registers(ranges(free), ranges(live.live_in(first)), ranges(live.live_out(last)))


def annotate(
    analyses: Analyses, view: View, positions: Sequence[int], profile: Profile | None
) -> dict[int, Annotation]:
    """Annotations of some lines of a window, by position."""
    program = analyses.program
    timed = {} if profile is None else {line.position: line for line in profile.lines}
    found: dict[int, Annotation] = {}
    for block in view.blocks:
        inside = [at for at in positions if block.first <= at < block.last]
        if not inside:
            continue
        graph = _graph(analyses, block)
        waits = analyses.remember(("agent waits", block.number), lambda block=block: _waits(analyses, block))
        relies = analyses.remember(("agent relies", block.number), lambda block=block: _relies(analyses, block))
        for at in inside:
            relied = sorted(relies.get(program.lines[at].id, ()))[-SHOWN:]
            found[at] = _annotation(analyses, at, graph, block, waits[at - block.first], relied, timed.get(at))
    return found


def _graph(analyses: Analyses, block: Block) -> DependenceGraph:
    def make() -> DependenceGraph:
        return dependence_graph(
            analyses.program,
            block.first,
            block.last,
            live_out=analyses.liveness.live_out(block.last - 1),
            barriers=analyses.barriers,
        )

    return analyses.remember(("agent graph", block.number), make)


def _relies(analyses: Analyses, block: Block) -> _Relies:
    return analyses.placer.finished(block.number)


def _annotation(
    analyses: Analyses,
    at: int,
    graph: DependenceGraph,
    block: Block,
    waits: tuple[list[str], list[int]],
    relies: list[int],
    time: LineProfile | None,
) -> Annotation:
    line = analyses.program.lines[at]
    after: dict[str, list[int]] = {}
    spacing: list[str] = []
    for edge in reversed(graph.predecessors[at - block.first]):
        if edge.kind is Dependence.CONTROL:
            continue
        source = graph.lines[edge.source].id
        sources = after.setdefault(edge.kind.value, [])
        if len(sources) < SHOWN and source not in sources:
            sources.append(source)
        if edge.states and len(spacing) < SHOWN and f"{source}:{edge.states}" not in spacing:
            spacing.append(f"{source}:{edge.states}")
    live = analyses.liveness.live_in(at)
    counts = {name: (live & span(low, high - low)).bit_count() for name, (low, high) in _FILES.items()}
    return Annotation(
        id=line.id,
        text=line.instruction.text,
        clocks=None if time is None else time.cycles,
        share=0.0 if time is None else time.share,
        idle={} if time is None else dict(list(time.idle.items())[:3]),
        after=after,
        owes=waits[0],
        finishes=waits[1],
        relies=relies,
        spacing=spacing,
        live={name: count for name, count in counts.items() if count},
    )


def _waits(analyses: Analyses, block: Block) -> list[tuple[list[str], list[int]]]:
    """For each line of a block, the waits that are owed in front of it, and what it finishes itself.

    What is owed is found as if no wait stood in the block: the first user of a result owes the weakest wait that
    proves the operation finished, and with it all that the same wait finishes.
    """
    state = analyses.waits.states[block.number]
    real, owing = Outstanding(state), Outstanding(state)
    found: list[tuple[list[str], list[int]]] = []
    for line in analyses.program.lines[block.first : block.last]:
        now = facts(line.instruction)
        owed: dict[str, tuple[int, int]] = {}
        for pending, _, _ in owing.blocking(now):
            counter = pending.counter.value
            if counter not in owed or pending.needed < owed[counter][0]:
                owed[counter] = (pending.needed, pending.line)
        for counter, (needed, _) in owed.items():
            none = Wait()
            owing.wait(Wait(needed, none.lgkm) if counter == "vmcnt" else Wait(none.vm, needed))
        finished: list[int] = []
        if now.wait is not None:
            before = {pending.line for pending in real.pending()}
            real.wait(now.wait)
            finished = sorted(before - {pending.line for pending in real.pending()})
        if now.operation is not None:
            real.issue(line.id, line.instruction, now.operation)
            owing.issue(line.id, line.instruction, now.operation)
        found.append(([f"{counter}({needed}) for {by}" for counter, (needed, by) in owed.items()], finished))
    return found
