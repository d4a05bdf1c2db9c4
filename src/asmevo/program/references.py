"""Addresses relative to the program counter: which places of an object its code names, and how they are encoded.

Code learns an address by `s_getpc_b64` and the addition of a 64-bit distance, which `s_add_u32` and `s_addc_u32` hold
as constants (LLVM `SIInstrInfo.cpp`, SI_PC_ADD_REL_OFFSET; `insertIndirectBranch`). Everything else that is done with
the program counter is not understood, and nothing may move then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from asmevo.codeobject import CodeObject
from asmevo.codeobject.elf import STT_FUNC, STT_SECTION
from asmevo.codeobject.relocations import loaded_tables, relocations, target_of, targets
from asmevo.isa import Instruction, effects, span
from asmevo.isa.registers import SCC
from asmevo.program.program import Line, Program, Reference, control_kind
from asmevo.verdict import InputError, UnsupportedError

_GETPC = 0xBE801C00
_ADD, _ADDC = 0, 4
_LITERAL, _ZERO, _NEGATIVE, _AFTER_INTEGERS = 255, 128, 192, 209
_SGPRS = 108
_NEAR = frozenset(
    {"s_call_b64", "s_call_i64", "s_cbranch_i_fork", "s_get_pc_i64", "s_add_pc_i64", "s_prefetch_inst_pc_rel"}
)
"""Opcodes that hold or give a place relative to the program counter in a way that is not tracked."""
_PAGE = 0x1000
_JUMPS = frozenset({"s_setpc_b64", "s_swappc_b64"})


@dataclass(frozen=True, slots=True)
class Addition:
    """An `s_add_u32` or `s_addc_u32` of a register and a constant."""

    high: bool
    destination: int
    source: int
    value: int
    """The constant, modulo 2**32."""
    literal: bool
    """Whether it is a dword behind the instruction and not an inline constant."""


def addition(words: bytes) -> Addition | None:
    """The addition that these words are. Source: CDNA3 ISA, SOP2."""
    first = int.from_bytes(words[:4], "little")
    opcode = first >> 23 & 0x7F
    if first >> 30 != 2 or opcode not in (_ADD, _ADDC):
        return None
    left, right = first & 0xFF, first >> 8 & 0xFF
    if left >= _SGPRS:
        left, right = right, left
    if left >= _SGPRS or not (_ZERO <= right < _AFTER_INTEGERS or right == _LITERAL):
        return None
    if right == _LITERAL:
        value = int.from_bytes(words[4:8], "little")
    else:
        value = (right - _ZERO if right <= _NEGATIVE else _NEGATIVE - right) & 0xFFFFFFFF
    return Addition(opcode == _ADDC, first >> 16 & 0x7F, left, value, right == _LITERAL)


def with_constant(words: bytes, value: int) -> bytes:
    """The addition's words with another constant, in the form they have; None cannot happen: see `holds`."""
    found = addition(words)
    assert found is not None and (found.literal or found.value == value)
    return words[:4] + value.to_bytes(4, "little") if found.literal else words


def widened(line: Line) -> Line:
    """The line with its inline constant as a literal, which can hold every distance."""
    assert line.words is not None
    found, first = addition(line.words), int.from_bytes(line.words, "little")
    assert found is not None and not found.literal
    shift = 8 if first & 0xFF < _SGPRS else 0
    first = first & ~(0xFF << shift) | _LITERAL << shift
    return replace(line, words=first.to_bytes(4, "little") + found.value.to_bytes(4, "little"))


def half(distance: int, high: bool) -> int:
    """The constant that holds half of a signed distance."""
    return distance >> 32 & 0xFFFFFFFF if high else distance & 0xFFFFFFFF


def getpc_register(line: Line) -> int | None:
    """First register of the pair that an `s_getpc_b64` writes; None for another instruction."""
    if line.words is None or not line.instruction.mnemonic.startswith("s_getpc"):
        return None
    first = int.from_bytes(line.words[:4], "little")
    return first >> 16 & 0x7F if first & 0xFF80FF00 == _GETPC else None


def additions_to(lines: Sequence[Line], position: int, labels: Collection[int]) -> list[tuple[int, int]] | None:
    """Positions of the (lower, upper) additions to the result of the `s_getpc_b64` at a position.

    None when its result, or the carry between two additions, may go anywhere else: then its use is not understood.
    """
    register = getpc_register(lines[position])
    if register is None:
        return None
    low, high = register, register + 1
    raw, pending, found = span(low, 2), -1, list[tuple[int, int]]()
    while raw or pending >= 0:
        position += 1
        line = lines[position] if position < len(lines) else None
        if line is None or line.words is None or line.id in labels or line.target is not None:
            return None
        add = addition(line.words)
        if add and not add.high and add.source == low and raw >> low & 1 and pending < 0:
            pending, written = position, span(add.destination, 1)
        elif add and add.high and add.source == high and raw >> high & 1 and pending >= 0:
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
    if control_kind(instruction) in ("branch", "cbranch", "endpgm", "setpc", "swappc", "call"):
        return None
    try:
        known = effects(instruction)
    except UnsupportedError:
        return None
    return known.reads, known.writes


def with_references(lines: Sequence[Line], addresses: Sequence[int], obj: CodeObject) -> tuple[Line, ...]:
    """The lines of K0 with a reference at every addition to the program counter that is understood."""
    origins = [i for i, line in enumerate(lines) if line.instruction.mnemonic == "s_getpc_b64"]
    if not origins:
        return tuple(lines)
    found, named = dict[int, Reference](), named_lines(obj, addresses)
    entered = _lines_at(entered_addresses(obj), addresses)
    labels = {line.target for line in lines if line.target is not None} | entered
    for origin in origins:
        for low, high in additions_to(lines, origin, labels) or ():
            distance = _constant(lines[high]) << 32 | _constant(lines[low])
            address = addresses[origin] + 4 + distance & (1 << 64) - 1
            place = _place(obj, address, addresses)
            if place is None or (place.line is not None and not _is_code(lines, high, place, named)):
                continue
            found[low] = replace(place, origin=lines[origin].id)
            found[high] = replace(found[low], high=True)
    # A place that they name may turn out to be between an `s_getpc_b64` and its additions: a second way to them.
    labels |= {r.line for r in found.values() if r.line is not None}
    understood = {o for o in origins if additions_to(lines, o, labels) is not None}
    return tuple(
        replace(line, reference=found[i]) if i in found and found[i].origin in understood else line
        for i, line in enumerate(lines)
    )


def _constant(line: Line) -> int:
    add = addition(line.words or b"")
    assert add is not None
    return add.value


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
        return Reference(-1, False, line, 0, address - addresses[line])
    in_front = address < text.address
    side = [(i, s) for i, s in enumerate(obj.sections) if s.allocated and (s.address < text.address) == in_front]
    for index, section in side:
        if section.contains(address):
            return Reference(-1, False, None, index, address - section.address)
    # Between two sections, or at the end of one: all on one side of `.text` move as one.
    before = [(s.address + s.size, i) for i, s in side if s.address + s.size <= address and s is not text]
    if not before or address - max(before)[0] >= _PAGE:
        return None
    index = max(before)[1]
    return Reference(-1, False, None, index, address - obj.sections[index].address)


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
    entered = {program.anchor(i) for i in _lines_at(entered_addresses(program.source), addresses)}
    labels = program.labels | entered
    origins = dict[int, bool]()
    for position, line in enumerate(program.lines):
        base = line.instruction.mnemonic
        if base in _NEAR:
            return line
        if base == "s_getpc_b64" and not _tracked(program, position, labels):
            return line
        if line.reference is not None:
            origins.setdefault(line.reference.origin, line.reference.origin in program.position)
            if not origins[line.reference.origin]:
                return line
    return None


def _tracked(program: Program, position: int, labels: Collection[int]) -> bool:
    """Whether every addition to this result has its reference."""
    pairs = additions_to(program.lines, position, labels)
    origin = program.lines[position].id
    return pairs is not None and all(
        (half := program.lines[i].reference) is not None and half.origin == origin for pair in pairs for i in pair
    )


def references(program: Program) -> Iterator[tuple[int, Reference]]:
    """(position, reference) of the lines that have one."""
    return ((i, line.reference) for i, line in enumerate(program.lines) if line.reference is not None)
