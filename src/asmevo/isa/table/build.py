"""Constructors that keep the rows of the opcode table to a line or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.row import (
    ControlRow,
    Counter,
    CrossLaneRow,
    LaneRow,
    MemoryRow,
    PackedRow,
    Pipe,
    ScalarRow,
    Space,
    signature,
)

Meaning: TypeAlias = (
    Callable[[Algebra, Value], Any]
    | Callable[[Algebra, Value, Value], Any]
    | Callable[[Algebra, Value, Value, Value], Any]
    | Callable[[Algebra, Value, Value, Value, Value], Any]
)
"""A meaning of one to four uses; spelt out so that type checkers know the parameters of a lambda."""


def lane(
    name: str, operands: str, meaning: Meaning, *tags: str, latency: str = "valu", saturated: Meaning | None = None
) -> LaneRow:
    """A VALU row."""
    return LaneRow(
        name=name,
        slots=signature(operands),
        meaning=meaning,
        saturated=saturated,
        tags=frozenset(tags),
        latency=latency,
    )


def trans(name: str, operands: str, meaning: Meaning, *tags: str, latency: str = "valu_trans") -> LaneRow:
    """A transcendental VALU row."""
    return lane(name, operands, meaning, "trans", *tags, latency=latency)


def packed(
    name: str,
    operands: str,
    meaning: Meaning,
    *tags: str,
    element: str,
    kind: str = "",
    latency: str = "valu",
    saturated: Meaning | None = None,
) -> PackedRow:
    """A VOP3P row."""
    return PackedRow(
        name=name,
        slots=signature(operands),
        meaning=meaning,
        saturated=saturated,
        tags=frozenset(tags),
        element=element,
        kind=kind,
        latency=latency,
    )


def scalar(name: str, operands: str, meaning: Meaning, *tags: str) -> ScalarRow:
    """A SALU row."""
    return ScalarRow(name=name, slots=signature(operands), meaning=meaning, tags=frozenset(tags))


def cross(name: str, operands: str, kind: str, *tags: str) -> CrossLaneRow:
    """A row that moves values between lanes or to SGPRs on the VALU."""
    return CrossLaneRow(name=name, slots=signature(operands), kind=kind, tags=frozenset(tags))


def control(
    name: str,
    operands: str,
    kind: str,
    *tags: str,
    pipe: Pipe = Pipe.INTERNAL,
    latency: str = "internal",
    counters: tuple[Counter, ...] = (),
) -> ControlRow:
    """A row for control, waits and the state of the wave."""
    return ControlRow(
        name=name,
        slots=signature(operands),
        kind=kind,
        tags=frozenset(tags),
        pipe=pipe,
        latency=latency,
        counters=counters,
    )


_PIPES = {Space.SCALAR: Pipe.SMEM, Space.LDS: Pipe.LDS}
_COUNTERS = {
    Space.SCALAR: (Counter.LGKM,),
    Space.LDS: (Counter.LGKM,),
    Space.FLAT: (Counter.VM, Counter.LGKM),
}
_LATENCY = {"load": "vmem_load", "store": "vmem_store", "atomic": "atomic"}


def memory(
    name: str,
    operands: str,
    space: Space,
    kind: str,
    size: int,
    *tags: str,
    elements: int = 1,
    stride: int = 1,
    extend: str = "",
    atomic: Meaning | None = None,
    atomic_type: str = "u32",
) -> MemoryRow:
    """A memory row; pipe, wait counters and latency class follow from the address space.

    Counters: LLVM `SIInsertWaitcnts.cpp`; flat counts in both queues, everything else of the vector memory in vmcnt.
    """
    return MemoryRow(
        name=name,
        slots=signature(operands),
        space=space,
        kind=kind,
        size=size,
        tags=frozenset(tags),
        elements=elements,
        stride=stride,
        extend=extend,
        atomic=atomic,
        atomic_type=atomic_type,
        pipe=_PIPES.get(space, Pipe.VMEM),
        counters=_COUNTERS.get(space, (Counter.VM,)),
        latency={Space.SCALAR: "smem", Space.LDS: "lds"}.get(space, _LATENCY[kind]),
    )
