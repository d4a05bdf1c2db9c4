"""Addresses of the lines of a program, and the words that go there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter

from asmevo.codeobject.plan import Plan, UnmovableError
from asmevo.isa import assemble
from asmevo.isa.encoding import BRANCH_RANGE, branch_target, branch_words, is_branch
from asmevo.isa.unread import with_unread_bits
from asmevo.program.additions import addition, part_of, widened, with_constant
from asmevo.program.islands import with_islands
from asmevo.program.notes import new_note
from asmevo.program.program import Line, Program
from asmevo.program.recover import ENTRY_ALIGN, address_index, data_ranges, decode_text, line_addresses
from asmevo.program.references import references
from asmevo.verdict import InputError

PRELOAD_HEADER = 256
"""With kernarg preload, firmware that knows of it enters this many bytes behind the entry."""
_WORDS = attrgetter("words")
_READS_ALL = ("gfx942",)
"""Targets on which every text of AMD's objects encodes to its words again."""
S_NOP = bytes.fromhex("000080bf")


class EntryError(InputError):
    """An edit takes the place where a kernel begins, or moves its second entry."""


def encode(program: Program) -> Program:
    """The program with words in every line: texts without go to the assembler in one batch.

    Raises `InputError` that names the text which does not assemble.
    """
    known = list(map(_WORDS, program.lines))
    if None not in known:
        return program
    missing = [i for i, words in enumerate(known) if words is None]
    lines, target = list(program.lines), program.source.target
    plain = [lines[i] for i in missing if lines[i].target is None]
    words = dict(zip((x.id for x in plain), assemble([x.instruction.text for x in plain], target), strict=True))
    if target not in _READS_ALL:
        words |= _with_unread_bits(program, plain, words)
    for i in missing:
        lines[i] = _encoded(lines[i], words, target)
    return program.with_lines(tuple(lines))


def _encoded(line: Line, words: dict[int, bytes], target: str) -> Line:
    found = words[line.id] if line.target is None else branch_words(line.instruction.mnemonic, target)
    return Line(line.id, line.instruction, found, line.target, line.reference)


def _with_unread_bits(program: Program, lines: list[Line], words: dict[int, bytes]) -> dict[int, bytes]:
    """Line id to words for edited lines of K0, with the bits of K0 that no text shows."""
    original = decode_text(program.source)
    edited = [x for x in lines if x.id < len(original) and not original[x.id].text.startswith(".")]
    kept = with_unread_bits(
        [(original[x.id].text, original[x.id].words) for x in edited],
        [x.instruction.text for x in edited],
        [words[x.id] for x in edited],
        program.source.target,
    )
    return dict(zip((x.id for x in edited), kept, strict=True))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the lines of a program go."""

    program: Program
    """The program with words in every line, and with what was added so that every distance can be encoded."""
    addresses: Sequence[int]
    """By position in its lines."""
    text: bytes
    """The whole `.text`, with `s_nop` in front of an entry where its alignment asks for it."""
    plan: Plan
    """Where everything else goes."""


def lay_out(program: Program) -> Layout:
    """Addresses and bytes of a program. Branches that are out of reach go through islands (see `with_islands`).

    Raises `InputError` when a text does not assemble, or a kernel lost its entry or its preload header.
    """
    program = encode(program)
    note = new_note(program)
    home = program.source.sections.index(program.source.text)
    while True:
        addresses, end = _addresses(program)
        sizes = {home: end - program.source.text.address, **({note[0]: len(note[1])} if note else {})}
        plan = Plan(program.source, sizes)
        jumps, far = _jumps(program, addresses)
        constants = _constants(program, addresses, plan)
        narrow = [i for i, value in constants if _too_narrow(program.lines[i], value)]
        if not far and not narrow:
            break
        if narrow:
            lines = list(program.lines)
            for i in narrow:
                lines[i] = widened(lines[i])
            program = program.with_lines(tuple(lines))
        else:
            program = with_islands(program, addresses, far, protected_lines(program))
    shift = plan.address(program.source.text.address) - program.source.text.address
    layout = Layout(
        program,
        [a + shift for a in addresses] if shift else addresses,
        _text(program, addresses, jumps, constants),
        plan,
    )
    _check_preload(layout)
    return layout


def _addresses(program: Program) -> tuple[list[int], int]:
    """By position, the address of each line, as if `.text` stayed where it is; and the address behind the last."""
    sizes = list(map(len, map(_WORDS, program.lines)))
    aligned = {program.position[line_id]: _entry(program, name) for name, line_id in kernel_entries(program).items()}
    found: list[int] = []
    at, start = program.source.text.address, 0
    for cut in (*sorted(aligned), len(sizes)):
        found += accumulate(sizes[start : cut - 1], initial=at) if cut > start else ()
        at = found[-1] + sizes[cut - 1] if cut > start else at
        if cut < len(sizes):
            at += (aligned[cut] - at) % ENTRY_ALIGN
        start = cut
    return found, at


def _jumps(program: Program, addresses: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """(position, dwords to go) of each branch; positions of those that do not reach their target."""
    position, targets = program.position, ((i, program.lines[i].target) for i in program.jumps)
    jumps = [(i, (addresses[position[t]] - addresses[i]) // 4 - 1) for i, t in targets if t is not None]
    return jumps, [i for i, distance in jumps if distance not in BRANCH_RANGE]


def _constants(program: Program, addresses: list[int], plan: Plan) -> list[tuple[int, int]]:
    """(position, constant) of each part of an address relative to the program counter."""
    text, sections = program.source.text.address, program.source.sections
    shift = plan.address(text) - text
    found: list[tuple[int, int]] = []
    for i, reference in references(program):
        if reference.origin not in program.position:
            raise UnmovableError(
                f"Line {program.lines[i].id}, `{program.lines[i].instruction}`, adds to the program counter of line "
                f"{reference.origin}, which an edit removes; keep or remove all of them."
            )
        base = addresses[program.position[reference.origin]] + 4
        if reference.line is not None:
            if reference.line not in program.position:
                raise EntryError(f"An edit removes line {reference.line}, whose address the code uses; keep that line.")
            place = addresses[program.position[reference.line]]
        else:
            place = plan.address(sections[reference.section].address) - shift
        found.append((i, part_of(place + reference.offset - base, reference.part)))
    return found


def _too_narrow(line: Line, value: int) -> bool:
    found = addition(line.words or b"")
    return found is not None and not found.literal and found.value != value


def _text(
    program: Program, addresses: list[int], jumps: list[tuple[int, int]], constants: list[tuple[int, int]]
) -> bytes:
    pieces: list[bytes] = list(map(_WORDS, program.lines))
    for i, distance in jumps:
        pieces[i] = distance.to_bytes(2, "little", signed=True) + pieces[i][2:]
    for i, value in constants:
        pieces[i] = with_constant(pieces[i], value)
    out = bytearray()
    start, base = 0, program.source.text.address
    for cut in (*sorted(program.position[i] for i in kernel_entries(program).values()), len(pieces)):
        out += b"".join(pieces[start:cut])
        if cut < len(pieces):
            out += S_NOP * ((addresses[cut] - base - len(out)) // 4)
        start = cut
    return bytes(out)


def kernel_entries(program: Program) -> dict[str, int]:
    """Kernel name to the line id of its entry."""
    entries: dict[str, int] = {}
    for kernel in program.source.kernels:
        if kernel.name == program.kernel.name:
            line_id = program.entry
        else:
            line_id = program.anchor(address_index(program.source).get(kernel.entry, -1))
        if line_id not in program.position:
            raise EntryError(f"An edit removes the first line of the kernel {kernel.name}; keep that line.")
        entries[kernel.name] = line_id
    return entries


def _entry(program: Program, name: str) -> int:
    return next(k.entry for k in program.source.kernels if k.name == name)


def second_entries(program: Program) -> dict[str, int]:
    """Kernel name to the line id of its second entry, for kernels with kernarg preload; -1 where K0 has no line there.

    Where the header of K0 ends with a branch to it, it is where that branch goes now.
    """
    found: dict[str, int] = {}
    for kernel in program.source.kernels:
        if not kernel.descriptor.kernarg_preload_length:
            continue
        index, decoded = address_index(program.source), decode_text(program.source)
        original = index.get(kernel.entry + PRELOAD_HEADER, -1)
        found[kernel.name] = program.anchor(original) if original >= 0 else -1
        for line_id in range(index[kernel.entry], original):
            here = decoded[line_id]
            if is_branch(here.words, program.source.target) and line_id in program.position:
                goes_to = index.get(branch_target(here.words, here.address))
                if goes_to == original:
                    found[kernel.name] = program.line(line_id).target or original
    return found


def protected_lines(program: Program) -> Iterator[range]:
    """Positions in front of which nothing may be added: kernarg preload headers, additions to `s_getpc_b64`, data."""
    entries, position = kernel_entries(program), program.position
    for name, line_id in second_entries(program).items():
        if line_id in position:
            yield range(position[entries[name]], position[line_id] + 1)
    for i, reference in references(program):
        if reference.origin in position:
            yield range(position[reference.origin] + 1, i + 1)
            yield range(i + 1, i + 2)
    old = line_addresses(program.source)
    for data in data_ranges(program.source):
        kept = [position[i] for i in range(bisect_left(old, data.start), bisect_left(old, data.stop)) if i in position]
        if kept:
            yield range(min(kept), max(kept) + 1)


def _check_preload(layout: Layout) -> None:
    """Hold the second entry of kernels with kernarg preload at its distance."""
    program = layout.program
    for name, line_id in second_entries(program).items():
        if line_id < 0 and tuple(layout.addresses) == line_addresses(program.source):
            continue
        position = program.position.get(line_id)
        entry = layout.addresses[program.position[kernel_entries(program)[name]]]
        if position is None or layout.addresses[position] != entry + PRELOAD_HEADER:
            raise EntryError(
                f"The kernel {name} has a second entry {PRELOAD_HEADER} bytes behind its first (kernarg preload); edit "
                "only behind it, or keep the size of what is in front."
            )
