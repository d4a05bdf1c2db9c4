"""The meaning of an opcode as text: the row's own function, run over an algebra that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, cast

from asmevo.isa import ControlRow, CrossLaneRow, LaneRow, MatrixRow, MemoryRow, Row, ScalarRow
from asmevo.isa.algebra import Algebra

STEPS = 24
"""Operations of a meaning that are shown."""


class Writer:
    """An algebra whose values are names and whose operations are lines of text (see `asmevo.isa.algebra`)."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def const(self, value: int, bits: int = 32) -> str:
        return f"{value}" if abs(value) < 1024 else f"0x{value:x}"

    def fconst(self, value: float, bits: int = 32) -> str:
        return f"{value}"

    def __getattr__(self, name: str) -> Callable[..., str]:
        def operation(*arguments: Any) -> str:
            self.lines.append(f"{name.rstrip('_')}({', '.join(map(str, arguments))})")
            return f"t{len(self.lines)}"

        return operation


def meaning_of(row: Row) -> str:
    """What an opcode computes, in a few lines. One lane, or the wave for scalar opcodes."""
    match row:
        case LaneRow() | ScalarRow():
            return "\n".join(_computed(row))
        case MatrixRow():
            product = f"A[{row.m},{row.k}] B[{row.k},{row.n}]"
            types = f"A {row.a_type}, B {row.b_type}, C and D {row.c_type}"
            sparse = ", A holds two of every four along k" if row.sparse else ""
            return f"D[{row.m},{row.n}] = {product} + C, blocks {row.blocks}, {types}{sparse}, {row.passes} passes"
        case MemoryRow():
            extend = f", {row.extend}" if row.extend else ""
            return f"{row.kind} of {row.elements} x {row.size} bytes a lane, {row.space} memory{extend}"
        case CrossLaneRow() | ControlRow():
            return row.kind
        case _:
            raise TypeError(f"no text for {type(row).__name__}")


def _computed(row: LaneRow | ScalarRow) -> Iterator[str]:
    uses = [slot for slot in row.slots if slot.is_use]
    names = [slot.hidden or f"src{n}" for n, slot in enumerate(uses)]
    writer = Writer()
    result = row.meaning(cast("Algebra", writer), *names)
    results = cast("tuple[str, ...]", result) if isinstance(result, tuple) else (str(result),)
    for number, line in enumerate(writer.lines[:STEPS], 1):
        yield f"t{number} = {line}"
    if len(writer.lines) > STEPS:
        yield f"... and {len(writer.lines) - STEPS} more operations"
    defs = [slot.hidden or f"dst{n}" for n, slot in enumerate(s for s in row.slots if s.is_def)]
    yield ", ".join(f"{name} = {value}" for name, value in zip(defs, results, strict=False))


def row_facts(row: Row) -> dict[str, Any]:
    """The fields of a row that are values."""
    plain = (str, int, bool)
    facts = {f.name: getattr(row, f.name) for f in fields(row)}
    return {name: value for name, value in facts.items() if isinstance(value, plain) and value not in ("", False)} | {
        "slots": [{"type": s.type, "def": s.is_def, "use": s.is_use, "hidden": s.hidden} for s in row.slots],
        "counters": [counter.value for counter in row.counters],
        "tags": sorted(row.tags),
    }
