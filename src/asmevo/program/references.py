"""Addresses relative to the program counter: which places of an object its code names, and how they are encoded.

Code learns an address by `s_getpc_b64` and the addition of a 64-bit distance, which `s_add_u32` and `s_addc_u32` hold
as constants (LLVM `SIInstrInfo.cpp`, SI_PC_ADD_REL_OFFSET; `insertIndirectBranch`), or on gfx1250 `s_add_nc_u64`.
Everything else that is done with the program counter is not understood, and nothing may move then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.codeobject.elf import STT_FUNC, STT_SECTION
from asmevo.codeobject.relocations import loaded_tables, relocations, target_of, targets
from asmevo.isa import Instruction, effects, span
from asmevo.isa.registers import SCC
from asmevo.program.additions import GETPC, GETPC_MASK, addition, getpc_register
from asmevo.program.program import Line, Program, Reference, control_kind
from asmevo.program.provenance import Flow
from asmevo.verdict import InputError, UnsupportedError

_ORIGINS = ("s_getpc_b64", "s_get_pc_i64")
_NEAR = frozenset(
    {"s_call_b64", "s_call_i64", "s_cbranch_i_fork", "s_add_pc_i64", "s_prefetch_inst_pc_rel", "s_rfe_b64", "s_rfe_i64"}
)
"""Opcodes that go to or hold a place in a way that is not tracked."""
_WORDS = attrgetter("words")
_USERS = _NEAR.union(_ORIGINS)
_USERS_GFX9 = ((GETPC_MASK & ~0x300, GETPC), (0xFF800000, 0xBA800000), (0xFF800000, 0xB8000000))
"""(mask, bits) before gfx12: `s_getpc_b64`, `s_setpc_b64`, `s_swappc_b64`, `s_rfe_b64`; `s_call_b64`;
`s_cbranch_i_fork`."""
_PAGE = 0x1000
_JUMPS = frozenset({"s_setpc_b64", "s_swappc_b64", "s_set_pc_i64", "s_swap_pc_i64"})


def additions_to(lines: Sequence[Line], position: int, labels: Collection[int]) -> list[tuple[int, ...]] | None:
    """Positions of the additions to the result of the `s_getpc_b64` at a position: of (lower, upper), or one of all.

    None when its result, or the carry between two additions, may go anywhere else: then its use is not understood.
    """
    register = getpc_register(lines[position])
    if register is None:
        return None
    low, high = register, register + 1
    raw, pending, found = span(low, 2), -1, list[tuple[int, ...]]()
    while raw or pending >= 0:
        position += 1
        line = lines[position] if position < len(lines) else None
        if line is None or line.words is None or line.id in labels or line.target is not None:
            return None
        add = addition(line.words)
        if add and add.part == "whole" and add.source == low and raw == span(low, 2):
            found.append((position,))
            written = span(add.destination, 2)
        elif add and add.part == "low" and add.source == low and raw >> low & 1 and pending < 0:
            pending, written = position, span(add.destination, 1)
        elif add and add.part == "high" and add.source == high and raw >> high & 1 and pending >= 0:
            found.append((pending, position))
            pending, written = -1, span(add.destination, 1)
        else:
            used = _effects(line.instruction)
            if used is None or used[0] & raw or (pending >= 0 and used[1] >> SCC & 1):
                return None
            written = used[1]
        raw &= ~written
    return found


@lru_cache(maxsize=1 << 12)
def _effects(instruction: Instruction) -> tuple[int, int] | None:
    """Registers read and written by an instruction that control passes through."""
    if control_kind(instruction) in ("branch", "cbranch", "endpgm", "setpc", "swappc", "call", "fork", "rfe"):
        return None
    try:
        known = effects(instruction)
    except UnsupportedError:
        return None
    return known.reads, known.writes


def with_references(lines: Sequence[Line], addresses: Sequence[int], obj: CodeObject) -> tuple[Line, ...]:
    """The lines of K0 with a reference at every addition to the program counter that is understood."""
    origins = [i for i, line in enumerate(lines) if line.instruction.mnemonic in _ORIGINS]
    if not origins:
        return tuple(lines)
    found, named = dict[int, Reference](), named_lines(obj, addresses)
    entered = _lines_at(entered_addresses(obj), addresses)
    labels = {line.target for line in lines if line.target is not None} | entered
    for origin in origins:
        for positions in additions_to(lines, origin, labels) or ():
            adds = [addition(lines[i].words or b"") for i in positions]
            distance = sum(a.value << (32 if a.part == "high" else 0) for a in adds if a is not None)
            address = addresses[origin] + 4 + distance & (1 << 64) - 1
            place = _place(obj, address, addresses)
            if place is None or (place.line is not None and not _is_code(lines, positions[-1], place, named)):
                continue
            for i, add in zip(positions, adds, strict=True):
                assert add is not None
                found[i] = replace(place, origin=lines[origin].id, part=add.part)
    # A place that they name may turn out to be between an `s_getpc_b64` and its additions: a second way to them.
    labels |= {r.line for r in found.values() if r.line is not None}
    understood = {o for o in origins if additions_to(lines, o, labels) is not None}
    return tuple(
        replace(line, reference=found[i]) if i in found and found[i].origin in understood else line
        for i, line in enumerate(lines)
    )


def _is_code(lines: Sequence[Line], position: int, place: Reference, named: Collection[int]) -> bool:
    """Whether a place in `.text` is surely meant: a symbol or pointer names it too, or the code goes there at once.

    A compiler folds constant indices into the distance to a table, and such a sum may end up in `.text` by accident.
    """
    following = lines[position + 1].instruction if position + 1 < len(lines) else None
    return place.offset == 0 and (place.line in named or (following is not None and following.base in _JUMPS))


def _place(obj: CodeObject, address: int, addresses: Sequence[int]) -> Reference | None:
    """The place at an address; None where no section tells how it would move."""
    text = obj.text
    if text.contains(address):
        line = bisect_right(addresses, address) - 1
        return Reference(-1, "low", line, 0, address - addresses[line])
    in_front = address < text.address
    side = [(i, s) for i, s in enumerate(obj.sections) if s.allocated and (s.address < text.address) == in_front]
    for index, section in side:
        if section.contains(address):
            return Reference(-1, "low", None, index, address - section.address)
    # Between two sections, or at the end of one: all on one side of `.text` move as one.
    before = [(s.address + s.size, i) for i, s in side if s.address + s.size <= address and s is not text]
    if not before or address - max(before)[0] >= _PAGE:
        return None
    index = max(before)[1]
    return Reference(-1, "low", None, index, address - obj.sections[index].address)


@lru_cache(maxsize=16)
def entered_addresses(obj: CodeObject) -> frozenset[int]:
    """Addresses in `.text` that the object names outside of its instructions: kernels, functions, pointers in data."""
    text = obj.text
    found = {kernel.entry for kernel in obj.kernels}
    found |= {s.value for s in obj.symbols if s.type == STT_FUNC and text.contains(s.value)}
    for table in loaded_tables(obj):
        try:
            symbols, entries = targets(obj, table), relocations(obj, table)
        except InputError:  # a form that is refused when something moves
            continue
        found |= {at for r in entries if (at := target_of(obj, r, symbols)) is not None and text.contains(at)}
    return frozenset(found)


@lru_cache(maxsize=16)
def named_addresses(obj: CodeObject) -> frozenset[int]:
    """Addresses in `.text` that anything outside of the instructions names, labels among them."""
    home = obj.sections.index(obj.text)
    return entered_addresses(obj) | {s.value for s in obj.symbols if s.section == home and s.type != STT_SECTION}


def named_lines(obj: CodeObject, addresses: Sequence[int]) -> frozenset[int]:
    """Ids of the lines of K0 that anything outside of the instructions names; `addresses` are those of the lines."""
    return _lines_at(named_addresses(obj), addresses)


def _lines_at(wanted: frozenset[int], addresses: Sequence[int]) -> frozenset[int]:
    places = ((bisect_left(addresses, a), a) for a in wanted)
    return frozenset(i for i, a in places if i < len(addresses) and addresses[i] == a)


def not_understood(program: Program, addresses: Sequence[int]) -> Line | None:
    """The first line that uses the program counter in a way that is not tracked; None when all may be moved.

    Every line must have words; `addresses` are those of K0's lines.
    """
    if not (program.referring or _may_use_counter(program)):
        return None
    users = [
        i for i, line in enumerate(program.lines) if line.instruction.mnemonic in _USERS or line.reference is not None
    ]
    labels = program.labels | {program.anchor(i) for i in _lines_at(entered_addresses(program.source), addresses)}
    for position in users:
        line = program.lines[position]
        tracked = line.instruction.mnemonic not in _ORIGINS or _tracked(program, position, labels)
        lost = line.reference is not None and line.reference.origin not in program.position
        if line.instruction.mnemonic in _NEAR or not tracked or lost:
            return line
    flow = flow_of(program, addresses)
    return flow.strange_jump() or flow.misuse()


def strange_jump(program: Program, addresses: Sequence[int]) -> Line | None:
    """The first jump to a computed address of which nothing is known; `addresses` are those of K0's lines."""
    return flow_of(program, addresses).strange_jump() if _may_use_counter(program) else None


def flow_of(program: Program, addresses: Sequence[int]) -> Flow:
    """The ways through a program whose K0 has its lines at `addresses`."""
    starts = {program.anchor(i) for i in _lines_at(frozenset(k.entry for k in program.source.kernels), addresses)}
    others = {program.anchor(i) for i in _lines_at(entered_addresses(program.source), addresses)} - starts
    position = program.position
    return Flow(
        program,
        [position[i] for i in others if i in position],
        [position[i] for i in {*starts, program.entry} if i in position],
    )


def _may_use_counter(program: Program) -> bool:
    """Whether any dword looks like an opcode of `_USERS`; literals may do so as well."""
    if program.source.target.startswith("gfx12"):
        return True
    words = np.frombuffer(b"".join(map(_WORDS, program.lines)), "<u4")
    return any(bool(np.any(words & mask == opcode)) for mask, opcode in _USERS_GFX9)


def _tracked(program: Program, position: int, labels: Collection[int]) -> bool:
    """Whether every addition to this result has its reference."""
    pairs = additions_to(program.lines, position, labels)
    origin = program.lines[position].id
    return pairs is not None and all(
        (half := program.lines[i].reference) is not None and half.origin == origin for pair in pairs for i in pair
    )


def references(program: Program) -> Iterator[tuple[int, Reference]]:
    """(position, reference) of the lines that have one."""
    return ((i, r) for i in program.referring if (r := program.lines[i].reference) is not None)
