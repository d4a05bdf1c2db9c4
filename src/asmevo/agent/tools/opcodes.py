"""The reference of opcodes: what the opcode table says, which is what all of the project goes by."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import Field

from asmevo.agent.answer import Answer
from asmevo.agent.meaning import meaning_of, row_facts
from asmevo.agent.session import AgentSession
from asmevo.agent.tools.tool import Parameters, Tool, tool
from asmevo.isa import Row, assemble, effects, names, parse_instruction, rows
from asmevo.isa.roles import roles
from asmevo.isa.spacing import rules_between
from asmevo.verdict import AsmEvoError, EnvironmentError_, UnsupportedError, UsageError

RULES = 12
"""Spacing rules that are shown on each side."""


class Name(Parameters):
    text: str = Field(
        description="An opcode, such as v_add_u32, or a whole instruction, which also tells registers and spacing.",
        min_length=2,
        max_length=200,
    )


@tool(Name)
def opcode(session: AgentSession, values: Name) -> Answer:
    """What an opcode reads, writes, costs and means, and for a whole instruction its registers and the wait states
    that must stand between it and others. An opcode that is not in the table is UNKNOWN to the gate."""
    text = " ".join(values.text.split())
    instruction = parse_instruction(text)
    row = rows().get(instruction.base)
    if row is None:
        close = get_close_matches(instruction.base, rows(), n=8, cutoff=0.5)
        raise UsageError(
            f"The opcode table has no {instruction.base!r}, so the gate would say UNKNOWN; "
            f"similar ones are {', '.join(close) or 'none'}."
        )
    out = list(_about(session, row))
    data: dict[str, Any] = row_facts(row)
    if " " in text:
        target = session.program.source.target
        known = effects(instruction)
        data |= {"reads": names(known.reads), "writes": names(known.writes), "bytes": _size(text, target)}
        out += [
            f"reads {data['reads'] or 'nothing'}; writes {data['writes'] or 'nothing'}; {data['bytes']} bytes",
            *_spacing(text, target),
        ]
    return Answer("\n".join(out), data)


def _about(session: AgentSession, row: Row) -> Iterator[str]:
    defs = [s for s in row.slots if s.is_def]
    uses = [s for s in row.slots if s.is_use]

    def listed(slots: list[Any]) -> str:
        return ", ".join(f"{s.hidden} (not printed)" if s.hidden else str(s.type) for s in slots) or "nothing"

    yield f"{row.name}: gives {listed(defs)} from {listed(uses)}; issue category {row.pipe.value}"
    counters = ", ".join(counter.value for counter in row.counters)
    yield f"{_cost(session, row)}{f'; counts in {counters}' if counters else ''}"
    if row.tags:
        yield f"tags: {', '.join(sorted(row.tags))}"
    yield meaning_of(row)


def _cost(session: AgentSession, row: Row) -> str:
    try:
        cost = session.chip.cost(row.latency)
    except UnsupportedError:
        return f"latency class {row.latency}"
    return (
        f"latency class {row.latency} on {session.chip.name} (modelled): {cost.port or 'no'} clocks on the vector "
        f"port, result after {cost.result or 'as many clocks as its unit takes'}"
    )


def _size(text: str, target: str) -> int:
    try:
        (words,) = assemble([text], target)
    except EnvironmentError_:
        raise
    except AsmEvoError as error:
        raise UsageError(f"`{text}` does not assemble for {target}: {error}") from error
    return len(words)


def _spacing(text: str, target: str) -> list[str]:
    """Wait states that the rules of the target ask for, behind the instruction and in front of it."""
    found = roles(parse_instruction(text))
    produces, consumes = {name for name, _ in found.produces}, {name for name, _ in found.consumes}
    out: list[str] = []
    for words, mine, side in (("behind it", produces, 0), ("in front of it", consumes, 1)):
        rules = [(pair[1 - side], rule) for pair, all_ in rules_between(target).items() for rule in all_]
        picked = sorted(
            {f"{rule.states} against {other} ({rule.name})" for other, rule in rules if _class(rule, side) in mine}
        )
        if picked:
            more = f", and {len(picked) - RULES} more" if len(picked) > RULES else ""
            out.append(f"wait states {words}: {', '.join(picked[:RULES])}{more}")
    return out


def _class(rule: Any, side: int) -> str:
    return str((rule.producer, rule.consumer)[side])


OPCODE_TOOLS: tuple[Tool, ...] = (opcode,)
