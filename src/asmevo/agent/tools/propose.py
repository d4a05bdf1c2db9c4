"""Proposing: edits of one window, as JSON or as text, or made by a built-in strategy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from pydantic import Field, field_validator

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.edits import applied, edits_of_text, parse_edits, require_inside
from asmevo.agent.proposals import Proposed
from asmevo.agent.session import AgentSession
from asmevo.agent.tools.examine import checked, evaluated
from asmevo.agent.tools.tool import Parameters, Tool, tool
from asmevo.agent.tools.windows import WINDOW
from asmevo.agent.windows import View, view_of
from asmevo.edit import Edit
from asmevo.program import Block, Program
from asmevo.report import diff
from asmevo.search import Built
from asmevo.search.randomness import stream
from asmevo.strategies import STRATEGIES, Context, Proposal
from asmevo.verdict import UsageError

DIFF = 3_000
"""Most characters of a diff that is shown."""
LOOK = 40
"""Proposals of a strategy that are looked at for one that is new."""
Then = Literal["nothing", "check", "evaluate"]
_CLAUSE = r"[,:.(]"
THEN = "What to do with it at once."


class Edits(Parameters):
    window: str = Field(description=WINDOW, max_length=16)
    edits: list[dict[str, Any]] = Field(
        description=(
            "Applied in turn; each one of: "
            '{"kind": "insert", "before": id, "text": ["...", ...]}, {"kind": "delete", "lines": [id, ...]}, '
            '{"kind": "replace", "line": id, "text": "..."}, {"kind": "reorder", "order": [id, ...]} (a '
            'whole run of lines), {"kind": "rewrite", "run": [first id, last id], "order": [id, -1, '
            '...], "new": ["text of -1", ...]}, {"kind": "resources", "vgprs": n, "agprs": n, "sgprs": n}.'
        )
    )
    note: str = Field(description="What it does and why.", max_length=400)
    then: Then = Field("nothing", description=THEN)


class NewText(Parameters):
    window: str = Field(description=WINDOW, max_length=16)
    first: int = Field(description="Id of the first line to replace.", ge=0)
    last: int = Field(description="Id of the last, in the same block.", ge=0)
    text: str = Field(
        description=(
            "One instruction a line. Lines that stay may keep their id in front; what is behind "
            "`;` is ignored. Old lines left out are deleted."
        ),
        max_length=40_000,
    )
    note: str = Field(description="What it does and why.", max_length=400)
    then: Then = Field("nothing", description=THEN)


def _purposes() -> str:
    """What each strategy does: the first clause of its own documentation."""
    said = ((name, " ".join((type(one).__doc__ or "").split())) for name, one in STRATEGIES.items())
    return "; ".join(f"`{name}`: {re.split(_CLAUSE, text)[0]}" for name, text in said)


class Strategy(Parameters):
    strategy: str = Field(description=_purposes(), json_schema_extra={"enum": list(STRATEGIES)})
    window: str = Field(description=WINDOW, max_length=16)
    then: Then = Field("nothing", description=THEN)

    @field_validator("strategy")
    @classmethod
    def _exists(cls, value: str) -> str:
        if value not in STRATEGIES:
            raise ValueError(f"there is no strategy {value!r}; the strategies are {', '.join(STRATEGIES)}")
        return value


@tool(Edits)
def propose_edits(session: AgentSession, values: Edits) -> Answer:
    """Propose edits of a window; the answer has a number for `check` and `evaluate`, and a diff."""
    view = view_of(session.program, values.window, session.loops)
    return _proposed(session, view, parse_edits(values.edits), values.note, values.then)


@tool(NewText)
def propose_text(session: AgentSession, values: NewText) -> Answer:
    """Propose a run of lines of a window written anew; answers as `propose_edits` does."""
    view = view_of(session.program, values.window, session.loops)
    edits = edits_of_text(session.program, view, values.first, values.last, values.text)
    return _proposed(session, view, edits, values.note, values.then)


@tool(Strategy)
def apply_strategy(session: AgentSession, values: Strategy) -> Answer:
    """A built-in strategy's next proposal for a window (of a loop: its hottest block); call again for another one."""
    program = session.program
    view = view_of(program, values.window, session.loops)
    block = _hottest(session, view)
    window = View(f"B{block.number}", (block,), view.depth)
    for proposal in _ideas(session, values.strategy, block):
        edits = tuple(edit.to_json() for edit in proposal.edits)
        proposed = Proposed(session.base.ordinal, edits, proposal.note, block.number, proposal.window, values.strategy)
        if proposed in session.proposals.values():
            continue
        built = session.built(proposed)
        if session.known(built.sha256):
            continue
        return _kept(session, window, proposed, program, built, values.then)
    text = f"{values.strategy} has nothing new for {window.id} on attempt {session.base.ordinal}."
    return Answer(text, {"strategy": values.strategy, "window": window.id}, Kind.REPEATED)


def _hottest(session: AgentSession, view: View) -> Block:
    heat = session.heat

    def share(block: Block) -> float:
        return sum(heat.get(session.program.lines[at].id, 0.0) for at in range(block.first, block.last))

    return max(view.blocks, key=share)


def _ideas(session: AgentSession, strategy: str, block: Block) -> Iterator[Proposal]:
    """Proposals of a strategy; what is drawn depends on the run's seed and on what was proposed so far."""
    context = Context(session.program, block, session.heat, session.analyses)
    rng = stream(session.state.settings.seed, "agent", strategy, block.number, len(session.proposals))
    return islice(STRATEGIES[strategy].propose(context, rng), LOOK)


def _proposed(session: AgentSession, view: View, edits: tuple[Edit, ...], note: str, then: Then) -> Answer:
    program = session.program
    first, behind = view.ends
    proposed = Proposed(
        base=session.base.ordinal,
        edits=tuple(edit.to_json() for edit in edits),
        note=note,
        block=view.blocks[0].number if len(view.blocks) == 1 else int(view.id[1:]),
        window=(program.lines[first].id, program.lines[behind - 1].id),
    )
    built = session.built(proposed)
    if built.failure:
        applied(program, view, edits)  # to say which of them does not apply
    else:
        require_inside(program, built.program, view)
    return _kept(session, view, proposed, program, built, then)


def _kept(session: AgentSession, view: View, proposed: Proposed, program: Program, built: Built, then: Then) -> Answer:
    """Keep a proposal that builds, and go on with it as asked."""
    if built.failure:
        raise UsageError(f"The proposal cannot be built: {built.failure.findings[0].message}")
    number = session.propose(proposed)
    change = diff(program, built.program)
    shown = change if len(change) <= DIFF else change[:DIFF] + "\n[cut]"
    if proposed.strategy:  # long, and nobody has to check it
        shown = proposed.note
    text = f"Proposal {number} for {view.id} on attempt {proposed.base}, {len(proposed.edits)} edits:\n{shown}"
    data = {"proposal": number, "base": proposed.base, "edits": list(proposed.edits), "diff": change}
    if then == "nothing":
        return Answer(text, data)
    answer = (checked if then == "check" else evaluated)(session, number, proposed, built)
    return Answer(f"{text}\n{answer.text}", {**data, **answer.data}, answer.kind)


PROPOSE_TOOLS: tuple[Tool, ...] = (propose_edits, propose_text, apply_strategy)
