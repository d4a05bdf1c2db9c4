"""Access to the structures of checked execution from IR builders."""

from __future__ import annotations

from asmevo.sim.checked.layout import PLACE_BITS, Struct
from asmevo.sim.ir import Builder
from asmevo.sim.layout import WAVE


def place_of(b: Builder, base: str, struct: Struct, name: str, index: str | int = 0) -> str:
    """Address of a field, or of an element of an array field."""
    field = struct[name]
    size = 4 if field.type == "i32" else 8
    return b.at(b.at(base, field.offset), index, size)


def get(b: Builder, base: str, struct: Struct, name: str, index: str | int = 0) -> str:
    """Load a field or an element of one."""
    kind = struct[name].type
    return b.load(kind, place_of(b, base, struct, name, index), 4)


def put(b: Builder, base: str, struct: Struct, name: str, value: str | int, index: str | int = 0) -> None:
    """Store a field or an element of one."""
    b.store(struct[name].type, str(value), place_of(b, base, struct, name, index), 4)


def shadow_of(b: Builder, state: str = "%state") -> str:
    """What is known of a wave, from its state."""
    return b.load("ptr", b.at(state, WAVE["shadow"].offset), 8)


def here(b: Builder, at: str, state: str = "%state") -> str:
    """The place of instruction `at` of the block that runs."""
    chunk = b.load("i32", b.at(state, WAVE["chunk"].offset), 4)
    return b.i32("or", b.i32("shl", chunk, PLACE_BITS), at)


def wide(b: Builder, value: str) -> str:
    """An i32 that is not negative as i64."""
    return b.cast("zext", value, "i32", "i64")


def both(b: Builder, *conditions: str) -> str:
    """Whether all conditions (i1) hold."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = b.op("and", "i1", result, condition)
    return result


def either(b: Builder, one: str, other: str) -> str:
    return b.op("or", "i1", one, other)


def negated(b: Builder, condition: str) -> str:
    return b.op("xor", "i1", condition, "true")
