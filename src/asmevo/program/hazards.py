"""Software hazards: producers and consumers that are closer than a spacing rule asks, over all paths.

A forward dataflow carries every producer that is still within the reach of a rule, with the fewest wait states since it
issued on any path and the registers nobody has written since. Loops are followed until nothing changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa import Instruction, RegSet, names
from asmevo.isa.registers import UNIT_COUNT, span
from asmevo.isa.roles import Roles, roles
from asmevo.isa.spacing import Relation, SpacingRule, reach, rules_between
from asmevo.program.memo import BlockMemo
from asmevo.program.program import Line, Program
from asmevo.program.skipping import may_skip

_REGISTERS = span(0, UNIT_COUNT)
_State: TypeAlias = frozenset[tuple[int, Instruction, int, RegSet]]
"""(line id of a producer, what it is, wait states since it issued, registers not written since)."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """One pair of instructions closer than a rule asks."""

    rule: SpacingRule
    producer: int
    """Line ids."""
    consumer: int
    distance: int
    """Wait states between the two on the shortest path."""
    registers: RegSet

    def __str__(self) -> str:
        what = f" over {names(self.registers & _REGISTERS)}" if self.registers & _REGISTERS else ""
        return (
            f"line {self.consumer} follows line {self.producer} after {self.distance} wait states{what}, "
            f"{self.rule.states} are required ({self.rule.name}; {self.rule.source})"
        )


@lru_cache(maxsize=1 << 18)
def _horizon(instruction: Instruction, target: str) -> int:
    """How many wait states after it a rule may still apply."""
    far = reach(target)
    return max((far.get(name, 0) for name, _ in roles(instruction).produces), default=0)


def applying(producer: Roles, consumer: Roles, registers: RegSet, target: str) -> Iterator[tuple[SpacingRule, RegSet]]:
    """Rules between two instructions over those `registers` that the producer's values are still in."""
    table = rules_between(target)
    for produced, given in producer.produces:
        common = given & registers
        if not common & consumer.consume_mask:
            continue
        for consumed, taken in consumer.consumes:
            if not common & taken:
                continue
            for rule in table.get((produced, consumed), ()):
                if _related(rule.relation, given, taken, producer.base == consumer.base):
                    yield rule, common & taken


def _related(relation: Relation, given: RegSet, taken: RegSet, same_opcode: bool) -> bool:
    match relation:
        case Relation.OVERLAP:
            return True
        case Relation.SAME:
            return given == taken
        case Relation.PARTIAL:
            return given != taken
        case Relation.SAME_OTHER_OPCODE:
            return given == taken and not same_opcode
        case Relation.OTHER_OPCODE:
            return not same_opcode
        case Relation.SAME_OPCODE:
            return same_opcode


def required_states(producer: Instruction, consumer: Instruction, target: str) -> int:
    """Wait states that must stand between two instructions when nothing between them writes their registers."""
    first, second = roles(producer), roles(consumer)
    if not first.produce_mask & second.consume_mask:
        return 0
    return max((rule.states for rule, _ in applying(first, second, first.produce_mask, target)), default=0)


@dataclass(slots=True)
class _Active:
    """A producer within reach, while a block is scanned."""

    line: int
    instruction: Instruction
    roles: Roles
    issued: int
    """Clock of wait states right after it."""
    expires: int
    registers: RegSet


class HazardAnalysis:
    """Finds hazards of programs for one target; blocks it has seen before cost nothing.

    Instructions that may be skipped are taken to take no time, or, with `nothing_skipped`, as long as others.
    """

    def __init__(self, target: str, *, nothing_skipped: bool = False) -> None:
        self.target = target
        self._nothing_skipped = nothing_skipped
        self._memo: BlockMemo[tuple[tuple[Hazard, ...], _State]] = BlockMemo()

    def hazards(self, program: Program) -> list[Hazard]:
        """All hazards, in the order of their consumers. Raises `UnsupportedError` for an opcode without a row."""
        blocks = program.blocks
        content = [program.lines[b.first : b.last] for b in blocks]
        states: list[dict[int, tuple[Instruction, int, RegSet]]] = [{} for _ in blocks]
        found: list[tuple[Hazard, ...]] = [()] * len(blocks)
        work = deque(range(len(blocks)))
        queued = [True] * len(blocks)
        while work:
            n = work.popleft()
            queued[n] = False
            state: _State = frozenset((line, *rest) for line, rest in states[n].items())
            found[n], out = self._block(content[n], state)
            for s in blocks[n].successors:
                if _merge(states[s], out) and not queued[s]:
                    queued[s] = True
                    work.append(s)
        return [hazard for block in found for hazard in block]

    def _block(self, lines: tuple[Line, ...], state: _State) -> tuple[tuple[Hazard, ...], _State]:
        return self._memo.get(lines, state, lambda: self._scan(lines, state))

    def _scan(self, lines: tuple[Line, ...], state: _State) -> tuple[tuple[Hazard, ...], _State]:
        target, clock = self.target, 0
        found: list[Hazard] = []
        active: list[_Active] = []
        for line_id, instruction, since, registers in sorted(state, key=lambda entry: entry[0]):
            expires = _horizon(instruction, target) - since
            active.append(_Active(line_id, instruction, roles(instruction), -since, expires, registers))
        skipped = (None if self._nothing_skipped else may_skip(lines)) or [False] * len(lines)
        for line, may_be_skipped in zip(lines, skipped, strict=True):
            instruction = line.instruction
            current = roles(instruction)
            if active:
                active = [a for a in active if a.expires > clock and a.registers]
                wanted = current.consume_mask
                for a in active:
                    if a.registers & wanted:
                        found += self._pairs(a, line.id, current, clock)
                if current.writes:
                    for a in active:
                        a.registers &= ~current.writes
            clock += 0 if may_be_skipped else current.states
            horizon = _horizon(instruction, target)
            if horizon:
                active.append(_Active(line.id, instruction, current, clock, clock + horizon, current.produce_mask))
        left = [a for a in active if a.expires > clock and a.registers]
        return tuple(found), frozenset((a.line, a.instruction, clock - a.issued, a.registers) for a in left)

    def _pairs(self, a: _Active, consumer: int, current: Roles, clock: int) -> Iterator[Hazard]:
        distance = clock - a.issued
        for rule, registers in applying(a.roles, current, a.registers, self.target):
            if distance < rule.states:
                yield Hazard(rule, a.line, consumer, distance, registers)


def _merge(into: dict[int, tuple[Instruction, int, RegSet]], new: _State) -> bool:
    """Join by the fewest wait states and all registers; whether anything changed."""
    changed = False
    for line, instruction, since, registers in new:
        old = into.get(line)
        near = since if old is None else min(since, old[1])
        merged = (instruction, near, registers if old is None else registers | old[2])
        if merged != old:
            into[line] = merged
            changed = True
    return changed


def smallest_distances(found: list[Hazard]) -> Mapping[str, int]:
    """By pair of classes (`SpacingRule.key`), the smallest distance that occurs, where it is under the rule."""
    smallest: dict[str, int] = {}
    for hazard in found:
        key = hazard.rule.key
        smallest[key] = min(smallest.get(key, hazard.distance), hazard.distance)
    return smallest
