"""Where computed jumps get their addresses from, and what else code does with addresses of code.

Instructions may move only where every such address is understood: a jump goes to an address that was tracked, loaded
whole from memory (where the loader wrote it) or handed in by a caller; and nothing computes with one, since a distance
between instructions is a constant that nothing tells apart from others. Data in `.text` may be loaded from, and stay
in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from asmevo.isa import Imm, Instruction, MemoryRow, Reg, effects
from asmevo.isa.registers import EXEC, VGPR_BASE, span
from asmevo.program.additions import addition
from asmevo.program.program import LEAVES, Line, Program, control_kind
from asmevo.verdict import UnsupportedError

_GOES = frozenset({"s_setpc_b64", "s_set_pc_i64"})
_CALLS = frozenset({"s_swappc_b64", "s_swap_pc_i64"})
COMPUTED = _GOES | _CALLS
_COPIES = frozenset(
    {
        *("s_mov_b32", "s_mov_b64", "s_cselect_b32", "s_cselect_b64", "v_mov_b32", "v_mov_b64", "v_cndmask_b32"),
        *("v_readfirstlane_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"),
    }
)
"""Opcodes that give one of their first two sources as it is."""
_COMPARES = ("s_cmp_eq_", "s_cmp_lg_", "v_cmp_eq_", "v_cmp_ne_", "v_cmpx_eq_", "v_cmpx_ne_")
_MEMORY = re.compile("(?:s|ds|global|flat|scratch|buffer)_(load|store|atomic)")
"""Memory instructions, those of targets that no row is made for among them."""
_LANES, _WAVE = 1024, 64
"""A register of this number and above is one lane of a vector register, which compilers spill scalars to."""


_VECTORS = span(VGPR_BASE, _LANES - VGPR_BASE)
"""Whole vector registers, which hold arguments and results of calls."""


def _lane(vector: int, lane: int) -> int:
    return _LANES + vector * _WAVE + lane % _WAVE


def _all_lanes(vectors: int) -> int:
    """The lanes of all vector registers of a set."""
    found, vectors = 0, vectors >> VGPR_BASE
    while vectors:
        low = vectors & -vectors
        found |= span(_lane(VGPR_BASE + low.bit_length() - 1, 0), _WAVE)
        vectors ^= low
    return found


def _used(instruction: Instruction) -> tuple[int, int]:
    """Registers read and written; an opcode without a row writes its first operand, unless it stores."""
    try:
        known = effects(instruction)
    except UnsupportedError:
        stores, used = _is_memory(instruction) == "store", [0, 0]
        for number, operand in enumerate(instruction.operands):
            used[number == 0 and not stores] |= operand.units if isinstance(operand, Reg) else 0
        return used[0], used[1]
    return known.reads & ~EXEC, known.writes


def _is_memory(instruction: Instruction) -> str:
    """`load`, `store`, `atomic`, or the empty string."""
    try:
        row = effects(instruction).row
    except UnsupportedError:
        found = _MEMORY.match(instruction.mnemonic)
        return found[1] if found else ""
    return row.kind if isinstance(row, MemoryRow) else ""


@dataclass
class Flow:
    """The ways through the code of a program, calls and tracked jumps among them."""

    program: Program
    entered: Collection[int]
    """Positions that are entered from outside, but for those of kernels."""
    kernels: Collection[int]
    reached: set[int] = field(default_factory=set[int])
    """Positions that control may come to."""
    before: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """By position, those that control may come from; a call comes back to the position behind it."""

    def __post_init__(self) -> None:
        self.named: dict[int, set[int]] = {}
        """First register of a pair to the positions whose address is computed into it somewhere."""
        lines, position = self.program.lines, self.program.position
        for i in self.program.referring:
            reference, add = lines[i].reference, addition(lines[i].words or b"")
            if reference is not None and reference.line in position and add is not None and add.part != "high":
                self.named.setdefault(add.destination, set()).add(position[reference.line or 0])
        work = [*self.entered, *self.kernels]
        while work:
            i = work.pop()
            if i in self.reached:
                continue
            self.reached.add(i)
            for following in self.behind(i):
                self.before.setdefault(following, []).append(i)
                work.append(following)

    def behind(self, i: int) -> Iterator[int]:
        """Positions that control may go to from this one."""
        line, base = self.program.lines[i], self.program.lines[i].instruction.base
        if base in COMPUTED:
            source = line.instruction.operands[-1]
            yield from self.named.get(source.first, ()) if isinstance(source, Reg) else ()
        elif line.target is not None:
            yield self.program.position[line.target]
        if base not in _GOES and control_kind(line.instruction) not in LEAVES:
            yield from (i + 1,) if i + 1 < len(self.program.lines) else ()

    # Backwards: where the address of a jump comes from.

    def strange_jump(self) -> Line | None:
        """The first computed jump whose address is not surely a tracked, a loaded or a given one."""
        for i in sorted(self.reached):
            line = self.program.lines[i]
            if line.instruction.base in COMPUTED:
                source = line.instruction.operands[-1]
                if not isinstance(source, Reg) or not self._is_known(i, range(source.first, source.first + 2)):
                    return line
        return None

    def _is_known(self, jump: int, registers: Collection[int]) -> bool:
        seen = set[tuple[int, int]]()
        work = [(jump, register) for register in registers]
        while work:
            here = work.pop()
            if here in seen:
                continue
            seen.add(here)
            i, register = here
            for p in self.before.get(i, ()):
                sources = self._sources(p, register, p + 1 == i)
                if sources is None:
                    return False
                work += ((p, source) for source in sources)
        return True

    def _sources(self, i: int, register: int, falls: bool) -> Sequence[int] | None:
        """What a register behind a line holds: the registers before it that it is a copy of; None: computed.

        Nothing for what is known to be an address, or to come from elsewhere.
        """
        line = self.program.lines[i]
        instruction, operands = line.instruction, line.instruction.operands
        bit = 1 << register
        if instruction.base in _CALLS:
            link = operands[0]
            if isinstance(link, Reg) and link.units & bit:
                return ()
            if not falls:  # in the function that is called
                return (register,)
            return () if VGPR_BASE <= register < _LANES else (register,)
        if line.reference is not None:
            add = addition(line.words or b"")
            wide = 2 if line.reference.part == "whole" else 1
            if add is not None and span(add.destination, wide) & bit:
                return () if line.reference.line is not None else None
            return (register,)
        if instruction.base == "v_writelane_b32":
            return _written_lane(instruction, register)
        _, written = _used(instruction)
        if register >= _LANES:
            vector, lane = divmod(register - _LANES, _WAVE)
            if not written >> vector & 1:
                return (register,)
            if _is_memory(instruction):
                return ()
            source = operands[1] if instruction.base in _COPIES and len(operands) == 2 else None
            return (_lane(source.first, lane),) if isinstance(source, Reg) and source.first >= VGPR_BASE else None
        if not written & bit:
            return (register,)
        if _is_memory(instruction):
            return ()
        if instruction.base == "v_readlane_b32":
            vector, lane = operands[1:3]
            if isinstance(vector, Reg) and isinstance(lane, Imm):
                return (_lane(vector.first, lane.bits),)
            return None
        first = operands[0] if operands else None
        if instruction.base not in _COPIES or not isinstance(first, Reg):
            return None
        return [x.first + register - first.first for x in operands[1:3] if isinstance(x, Reg)]

    # Forwards: what is done with an address.

    def misuse(self) -> Line | None:
        """The first line found that computes with an address of code, or loads from one that is not of data."""
        links = 0
        for i in self.reached:
            if self.program.lines[i].instruction.base in _CALLS:
                links |= self._link(i)
        return self._spread(links, data=False) or self._spread(0, data=True)

    def _link(self, i: int) -> int:
        link = self.program.lines[i].instruction.operands[0]
        return link.units if isinstance(link, Reg) else 0

    def _spread(self, links: int, data: bool) -> Line | None:
        """Follow the addresses of code, `links` of callers among them, or those of data in `.text`.

        A register counts where it holds one on all ways to a line: on some, compilers read what was never written.
        """
        lines, position = self.program.lines, self.program.position
        born = dict[int, int]()
        for i in self.program.referring:
            reference, add = lines[i].reference, addition(lines[i].words or b"")
            if reference is None or reference.line is None or add is None or i not in self.reached:
                continue
            if (position[reference.line] not in self.reached) == data:
                born[i] = span(add.destination, 2 if reference.part == "whole" else 1)
        if not (links or born):
            return None
        state = dict.fromkeys(self.kernels, 0) | dict.fromkeys(self.entered, links)
        work = list(state)
        while work:
            i = work.pop()
            base = lines[i].instruction.base
            after = (self._through(lines[i], state[i], data) or 0) | born.get(i, 0)
            for following in self.behind(i):
                kept = after
                if base in _CALLS:
                    link = 0 if data else self._link(i)
                    kept = after & ~_VECTORS | link if following == i + 1 else after | links
                new = state.get(following, kept) & kept
                if new != state.get(following):
                    state[following] = new
                    work.append(following)
        return next((lines[i] for i in sorted(state) if self._through(lines[i], state[i], data) is None), None)

    def _through(self, line: Line, held: int, data: bool) -> int | None:
        """Registers that hold such an address behind a line, given those before it; None when it is misused."""
        if not held:
            return 0
        instruction, operands, base = line.instruction, line.instruction.operands, line.instruction.base
        if line.reference is not None:
            add = addition(line.words or b"")
            wide = 2 if line.reference.part == "whole" else 1
            return held & ~span(add.destination, wide) if add is not None else None
        if base in _GOES:
            return held
        if base in _CALLS:
            link = operands[0]
            return held & ~link.units if isinstance(link, Reg) else None
        if base == "v_writelane_b32":
            vector, source, lane = operands
            if not isinstance(vector, Reg):
                return None
            moves = isinstance(source, Reg) and bool(held & source.units)
            if not isinstance(lane, Imm):
                return None if moves else held
            bit = 1 << _lane(vector.first, lane.bits)
            return held | bit if moves else held & ~bit
        reads, writes = _used(instruction)
        kept = held & ~writes & ~_all_lanes(writes)
        if base == "v_readlane_b32":
            vector, lane = operands[1:3]
            if not isinstance(vector, Reg):
                return kept
            wanted = 1 << _lane(vector.first, lane.bits) if isinstance(lane, Imm) else _all_lanes(vector.units)
            return kept | writes if held & (wanted | vector.units) else kept
        lanes = held & _all_lanes(reads)
        if not held & reads and not lanes:
            return kept
        if base in _COPIES:
            for x in operands[1:3]:
                if isinstance(x, Reg) and held & x.units:
                    kept |= writes
            source, first = operands[1], operands[0]
            if lanes and isinstance(source, Reg) and isinstance(first, Reg):
                kept |= (lanes & _all_lanes(source.units)) >> _WAVE * source.first << _WAVE * first.first
            return kept
        memory = _is_memory(instruction)
        if (
            memory in ("store", "atomic")
            or base.startswith(_COMPARES)
            or (memory == "load" and (data or not held & reads))
        ):
            return kept
        return None


def _written_lane(instruction: Instruction, register: int) -> Sequence[int] | None:
    """The sources of a register or lane behind a `v_writelane_b32`."""
    vector, source, lane = instruction.operands
    if not isinstance(vector, Reg):
        return None
    if register == vector.first:
        return None
    if register < _LANES or (register - _LANES) // _WAVE != vector.first:
        return (register,)
    if not isinstance(lane, Imm):
        return None
    if register != _lane(vector.first, lane.bits):
        return (register,)
    return (source.first,) if isinstance(source, Reg) else ()
