"""Equivalence of blocks: the same registers, memory accesses and branch condition for every input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from asmevo.isa import RegSet, units
from asmevo.isa.registers import IMPLIED
from asmevo.program import Block, Line, Program
from asmevo.program.liveness import liveness
from asmevo.prove.ahead import Sides, loads_ahead
from asmevo.prove.bounds import Bounds, entry_bounds
from asmevo.prove.entry import Facts, begin_state, entry_facts
from asmevo.prove.loads import memories, same_loads
from asmevo.prove.numbers import Numbers
from asmevo.prove.publishing import publishes, signals
from asmevo.prove.steering import steering_registers
from asmevo.prove.values import State, run
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class BlockProof:
    """What value numbering shows of one changed block."""

    block: int
    differing: RegSet
    """Registers read behind the block whose value may differ."""
    same_memory: bool
    """Memory is written with the same values, by the same operations in the same order."""
    same_loads: bool
    """The same loads are made, each as often as in K0, and none by another line behind a barrier that it was in front
    of."""
    same_branch: bool
    """The branch at the end is decided by the same values in the same way."""
    steers: RegSet
    """Those of `differing` whose value reaches a branch, an address, a selection, or whatever else steers."""
    steered: frozenset[int]
    """Lines of both sides that may be steered by another value than in K0, or that K0 does not have."""
    recomputed: frozenset[int]
    """Lines of K0 that are kept and may compute something else, from other operands or from other memory."""
    reason: str = ""
    """Why nothing is known, where an instruction is beyond value numbering."""
    ahead: frozenset[int] = frozenset()
    """Lines of the candidate that are proved to load what K0 loads on the next turn of a loop."""

    @property
    def proved(self) -> bool:
        same = self.same_memory and self.same_loads and self.same_branch
        return same and not self.differing and not self.reason

    @property
    def keeps_control(self) -> bool:
        """Whether all that steers the kernel is as it was, as far as this block decides it."""
        return self.same_branch and not (self.steers or self.steered or self.reason)


class Prover:
    """Proves changed blocks of candidates of one K0. Raises `UnsupportedError` for an opcode without a row in K0.

    By induction over blocks: wherever a block begins, registers that are live there in K0 hold the same in both
    programs. Of other registers of the candidate only what `entry_facts` says is used, and what `loads_ahead` finds.
    """

    def __init__(self, k0: Program) -> None:
        self.k0 = k0
        self._live = liveness(k0)
        self._steering, self._carried = steering_registers(k0)
        self._publishes = publishes(k0)

    @cached_property
    def _signals(self) -> bool:
        return signals(self.k0)

    @cached_property
    def _bounds(self) -> tuple[Bounds, ...]:
        """What is known of registers in the lanes that K0 switches on."""
        return entry_bounds(self.k0)

    def blocks(self, candidate: Program) -> tuple[BlockProof, ...]:
        """A proof, or what is missing of it, for each block that differs. The blocks must correspond one to one.

        Raises `UnsupportedError` for an opcode of the candidate without a row.
        """
        k0 = self.k0
        pairs = [
            (old, k0.lines[old.first : old.last], candidate.lines[new.first : new.last])
            for old, new in zip(k0.blocks, candidate.blocks, strict=True)
        ]
        changed = [pair for pair in pairs if not _same(*pair[1:])]
        if not changed:
            return ()
        facts, live = entry_facts(candidate), liveness(candidate)
        publishing = self._publishes or publishes(candidate)
        proofs: list[BlockProof] = []
        for block, before, after in changed:
            # What is dead in the candidate too cannot matter: there one name for the old value serves both.
            dead = ~live.live_in(candidate.blocks[block.number].first)
            runs = block, before, after, facts[block.number], dead, publishing
            proof = self._compare(*runs)
            if not proof.proved and not proof.reason:
                better = self._compare(*runs, adds_up=True)
                proof = better if better.proved else proof
            proofs.append(proof)
        if all(proof.proved for proof in proofs):
            return tuple(proofs)
        sides = Sides(k0, candidate, self._live, live, facts, self._steering, self._carried, publishing, self._signals)
        ahead = loads_ahead(sides, [proof.block for proof in proofs if not proof.proved])
        return tuple(_equal(p.block, ahead[p.block]) if p.block in ahead else p for p in proofs)

    def _compare(
        self,
        block: Block,
        before: tuple[Line, ...],
        after: tuple[Line, ...],
        facts: Facts,
        dead: RegSet,
        publishing: bool,
        *,
        adds_up: bool = False,
    ) -> BlockProof:
        """With `adds_up` sums and places count, however they are made, at some cost."""
        numbers = Numbers()
        begin = self._live.live_in(block.first) | IMPLIED
        end = self._live.live_out(block.last - 1) | IMPLIED
        steering = self._steering[block.number]
        try:
            if adds_up:
                known = self._bounds[block.number]
                numbers.tops |= {numbers.of("register", unit): top for unit, top in known.items()}
            old = State(numbers, publishes=publishing, carried=self._carried, adds_up=adds_up, signals=self._signals)
            run(before, old)
            state = begin_state(numbers, facts, begin, dead, publishing, adds_up=adds_up)
            state.carried, state.signals = self._carried, self._signals
            new = run(after, state)
        except UnsupportedError as error:
            everything = frozenset(line.id for line in before)
            return BlockProof(block.number, end, False, False, False, steering, everything, everything, str(error))
        in_bounds = not adds_up or new.execs <= old.execs
        differing = sum(1 << unit for unit in units(end | steering) if old.register(unit) != new.register(unit))
        return BlockProof(
            block.number,
            differing=differing,
            same_memory=memories(old) == memories(new),
            same_loads=same_loads(old.loads, new.loads) and in_bounds,
            same_branch=old.condition == new.condition,
            steers=differing & steering,
            steered=frozenset(i for i, by in new.steered.items() if old.steered.get(i) != by),
            recomputed=frozenset(i for i, value in old.results.items() if new.results.get(i, value) != value),
        )


def _equal(block: int, ahead: frozenset[int]) -> BlockProof:
    """The proof of a block of which nothing is missing."""
    return BlockProof(block, 0, True, True, True, 0, frozenset(), frozenset(), ahead=ahead)


def _same(before: tuple[Line, ...], after: tuple[Line, ...]) -> bool:
    return len(before) == len(after) and all(
        a.id == b.id and a.instruction == b.instruction and a.target == b.target
        for a, b in zip(before, after, strict=True)
    )
