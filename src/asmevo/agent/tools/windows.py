"""Where the time goes, and what the code there is bound by."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from asmevo.agent.annotate import Annotation, annotate, granted, ranges, window_registers
from asmevo.agent.answer import Answer
from asmevo.agent.session import AgentSession
from asmevo.agent.text import tokens
from asmevo.agent.tools.tool import Parameters, Tool, tool
from asmevo.agent.windows import View, view_of, views
from asmevo.isa import effects
from asmevo.program import Block, Program
from asmevo.report import table
from asmevo.timing import HotWindow, Profile
from asmevo.verdict import UnsupportedError

WINDOW = "Id of a window, such as B12 or L9."
WIDTH = 260
"""Most characters of one annotated line."""
HEAD = 700
"""Most characters of one line of the head."""
TOKENS = 3_000
"""Where a page would take more, less is said of each line; a prompt with a page is to stay under 8,000 tokens."""


class Top(Parameters):
    top: int = Field(10, description="How many windows to list.", ge=1, le=40)


class Page(Parameters):
    window: str = Field(description=WINDOW, max_length=16)
    page: int = Field(1, description="Page of a long window, from 1.", ge=1)


@tool(Top)
def windows(session: AgentSession, values: Top) -> Answer:
    """The hot windows: share of the time, clocks that an ideal schedule could save, what bounds and what stalls them,
    and how many attempts were made there. Ids stay the same through edits."""
    program = session.program
    profile = _profile(session)
    tried = Counter(attempt.block for attempt in session.store.attempts() if attempt.block is not None)
    found = [
        _facts(program, view, share, profile, tried)
        for view, share in views(program, session.heat, session.loops)[: values.top]
    ]
    rows = [
        [
            f["window"],
            f"{100 * f['share']:.1f}%",
            f"{f['first']}..{f['last']}",
            str(f["lines"]),
            "-" if f["could_save"] is None else f"{100 * f['could_save']:.1f}%",
            f["bound"] or "-",
            ", ".join(f"{cause} {100 * part:.0f}%" for cause, part in list(f["idle"].items())[:3]) or "-",
            str(f["attempts"]),
        ]
        for f in found
    ]
    header = ["window", "time", "lines", "count", "could save", "bound by", "idle by cause, of its time", "attempts"]
    note = "`could save` is a bound: of all time, what an ideal order of each block would win."
    return Answer(
        f"{table(header, rows)}\n{note}" if rows else "No window has a share of the time.", {"windows": found}
    )


def _profile(session: AgentSession) -> Profile | None:
    try:
        return session.profile
    except UnsupportedError:
        return None


def _facts(program: Program, view: View, share: float, profile: Profile | None, tried: Counter[int]) -> dict[str, Any]:
    hot = None if profile is None else _hot(view, profile)
    first, behind = view.ends
    return {
        "window": view.id,
        "share": share,
        "first": program.lines[first].id,
        "last": program.lines[behind - 1].id,
        "lines": view.count,
        "pages": view.pages,
        "depth": view.depth,
        "could_save": None if hot is None or profile is None else hot.saving / profile.estimate.cycles,
        "bound": None if hot is None else hot.limiter,
        "idle": {} if hot is None or not hot.cycles else {c: n / hot.cycles for c, n in hot.idle.items()},
        "attempts": sum(tried[block.number] for block in view.blocks),
    }


def _hot(view: View, profile: Profile) -> HotWindow | None:
    """The window in a profile; a loop there holds only its executed blocks."""
    kind, numbers = ("loop" if view.is_loop else "block"), {block.number for block in view.blocks}
    found = (w for w in profile.windows if w.kind == kind and set(w.blocks) <= numbers)
    return max(found, key=lambda w: len(w.blocks), default=None)


@tool(Page)
def listing(session: AgentSession, values: Page) -> Answer:
    """The instructions of a window with what stands behind each: modelled clocks and what they were lost to (`clk`),
    lines that must stay in front (`after`: raw, war, waw, memory, fence), the weakest wait that must have been made in
    front (`owes`), what a wait finishes, memory operations it relies on (`relies`), wait states that must stand between
    a line and this one (`gap line:states`), and live registers (`live`). Free registers are in the head."""
    program = session.program
    view = view_of(program, values.window, session.loops)
    positions = view.page(values.page)
    profile = _profile(session)
    found = annotate(session.analyses, view, positions, profile)
    registers = window_registers(session.analyses, view)
    heat = session.heat
    share = sum(heat.get(line.id, 0.0) for line in view.lines(program))
    what = f"loop of {len(view.blocks)} blocks" if view.is_loop else "block"
    head = [
        f"{view.id}: {what}, depth {view.depth}, {view.count} lines, {100 * share:.1f} % of the time; page "
        f"{values.page} of {view.pages}",
        f"free registers: {registers.free}",
    ]
    if values.page == 1:
        head += [f"live at its begin: {registers.live_in}", f"live behind it: {registers.live_out}"]
    shown = [found[at] for at in positions]
    begins = {program.lines[block.first].id: _begin(block) for block in view.blocks}
    data = {
        "window": view.id,
        "page": values.page,
        "pages": view.pages,
        "share": share,
        "first": program.lines[positions[0]].id,
        "last": program.lines[positions[-1]].id,
        "free": registers.free,
        "live_in": registers.live_in,
        "live_out": registers.live_out,
        "lines": [one.to_json() for one in shown],
    }
    head = [text[:HEAD] for text in head]
    return Answer("\n".join([*head, *_fitting(shown, begins, TOKENS - tokens("\n".join(head)))]), data)


def _begin(block: Block) -> str:
    successors = ", ".join(f"B{n}" for n in block.successors) or "the end"
    return f"-- block B{block.number}, goes on with {successors}"


def _fitting(shown: list[Annotation], begins: dict[int, str], room: int) -> list[str]:
    """The lines with as much behind them as fits so many tokens; the bare lines where nothing does."""
    out: list[str] = []
    for kinds in (("raw", "war", "waw", "memory", "fence"), ("raw", "memory", "fence"), ("memory", "fence"), ()):
        out = [text for a in shown for text in (begins.get(a.id, ""), _line(a, kinds)) if text]
        if tokens("\n".join(out)) <= room:
            return out
    return [text for a in shown for text in (begins.get(a.id, ""), f"{a.id} {a.text}"[:WIDTH]) if text]


def _line(a: Annotation, kinds: tuple[str, ...]) -> str:
    """One line of a listing: id, instruction, and behind the `;` what is known of it."""
    parts: list[str] = []
    if a.clocks:
        causes = " ".join(f"{cause}:{clocks:.0f}" for cause, clocks in a.idle.items() if clocks >= 1)
        parts.append(f"clk {a.clocks:.0f} {causes}".rstrip())
    named: set[int] = set()
    for kind in kinds:
        if lines := [i for i in a.after.get(kind, ()) if i not in named]:
            parts.append(f"after {kind} {_ids(lines)}")
            named.update(lines)
    if a.owes:
        parts.append(f"owes {', '.join(a.owes)}")
    if a.finishes:
        parts.append(f"finishes {_ids(a.finishes)}")
    if a.relies:
        parts.append(f"relies {_ids(a.relies)}")
    if a.spacing:
        parts.append(f"gap {' '.join(a.spacing)}")
    parts.append("live " + " ".join(f"{name}{count}" for name, count in a.live.items()))
    text = f"{a.id} {a.text} ; {', '.join(parts)}"
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _ids(lines: list[int]) -> str:
    return " ".join(map(str, lines[:8])) + (" ..." if len(lines) > 8 else "")


class At(Parameters):
    line: int = Field(description="Id of a line.", ge=0)


@tool(At)
def registers(session: AgentSession, values: At) -> Answer:
    """Which registers are live in front of a line, which it reads and writes, and which are free there."""
    program, live = session.program, session.analyses.liveness
    line = program.line(values.line)
    if line.id not in program.block_of:
        return Answer(f"Line {line.id} is never reached.", {"line": line.id, "reachable": False})
    at = program.position[line.id]
    known = effects(line.instruction)
    before, behind = live.live_in(at), live.live_out(at)
    sets = {
        "live in front": ranges(before),
        "read": ranges(known.reads),
        "written": ranges(known.writes),
        "free here": ranges(granted(program) & ~(before | behind | known.reads | known.writes)),
    }
    text = "\n".join(f"{name}: {value}" for name, value in sets.items())
    return Answer(f"line {line.id}, block B{program.block_of[line.id]}: {line.instruction.text}\n{text}", dict(sets))


WINDOW_TOOLS: tuple[Tool, ...] = (windows, listing, registers)
