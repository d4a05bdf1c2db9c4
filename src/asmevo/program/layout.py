"""Addresses of the lines of a program, and the words that go there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from asmevo.isa import assemble
from asmevo.isa.encoding import branch_target, branch_words, is_branch, with_branch_target
from asmevo.isa.unread import with_unread_bits
from asmevo.program.program import Line, Program
from asmevo.program.recover import decode_text
from asmevo.verdict import InputError

ENTRY_ALIGN = 256
"""The hardware takes the address of an entry in units of 256 bytes (LLVM `AMDGPUUsage`, kernel descriptor)."""
PRELOAD_HEADER = 256
"""With kernarg preload, firmware that knows of it enters this many bytes behind the entry."""
_READS_ALL = ("gfx942",)
"""Targets on which every text of AMD's objects encodes to its words again."""
S_NOP = bytes.fromhex("000080bf")


def encode(program: Program) -> Program:
    """The program with words in every line: texts without go to the assembler in one batch.

    Raises `InputError` that names the text which does not assemble.
    """
    missing = [line for line in program.lines if line.words is None]
    if not missing:
        return program
    target = program.source.target
    plain = [line for line in missing if line.target is None]
    words = dict(zip((x.id for x in plain), assemble([x.instruction.text for x in plain], target), strict=True))
    if target not in _READS_ALL:
        words |= _with_unread_bits(program, plain, words)
    return program.with_lines(tuple(_encoded(x, words, target) if x.words is None else x for x in program.lines))


def _encoded(line: Line, words: dict[int, bytes], target: str) -> Line:
    if line.target is not None:
        return replace(line, words=branch_words(line.instruction.mnemonic, target))
    return replace(line, words=words[line.id])


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
    """Where the lines of an encoded program go."""

    addresses: tuple[int, ...]
    """By position in `Program.lines`."""
    text: bytes
    """The whole `.text`, with `s_nop` in front of an entry where its alignment asks for it."""
    entries: dict[str, int]
    """Kernel name to entry address."""


def lay_out(program: Program) -> Layout:
    """Addresses and bytes of a program; every line must have words (see `encode`).

    Raises `InputError` when a branch is too far from its target, or a kernel lost its entry or its preload header.
    """
    start = program.source.text.address
    entries = kernel_entries(program)
    position = program.position
    aligned = {position[line_id]: _kernel_entry(program, name) for name, line_id in entries.items()}
    addresses: list[int] = []
    at = start
    for i, line in enumerate(program.lines):
        if i in aligned:
            at += (aligned[i] - at) % ENTRY_ALIGN
        addresses.append(at)
        assert line.words is not None
        at += len(line.words)
    text = bytearray()
    for line, address in zip(program.lines, addresses, strict=True):
        gap = address - start - len(text)
        if gap:
            text += S_NOP * (gap // 4)
        assert line.words is not None
        if line.target is None:
            text += line.words
        else:
            text += with_branch_target(line.words, address, addresses[position[line.target]])
    layout = Layout(tuple(addresses), bytes(text), {name: addresses[position[i]] for name, i in entries.items()})
    _check_preload(program, layout)
    return layout


def kernel_entries(program: Program) -> dict[str, int]:
    """Kernel name to the line id of its entry; other kernels than the program's begin at lines of K0."""
    index = {d.address: i for i, d in enumerate(decode_text(program.source))} if len(program.source.kernels) > 1 else {}
    entries: dict[str, int] = {}
    for kernel in program.source.kernels:
        line_id = program.entry if kernel.name == program.kernel.name else index.get(kernel.entry, -1)
        if line_id not in program.position:
            raise InputError(f"An edit removes the first line of the kernel {kernel.name}; keep that line.")
        entries[kernel.name] = line_id
    return entries


def _kernel_entry(program: Program, name: str) -> int:
    return next(k.entry for k in program.source.kernels if k.name == name)


def second_entries(program: Program) -> dict[str, int]:
    """Kernel name to the line id of its second entry, for kernels with kernarg preload.

    Where the header of K0 ends with a branch to it, it is where that branch goes now.
    """
    found: dict[str, int] = {}
    target = program.source.target
    for kernel in program.source.kernels:
        if not kernel.descriptor.kernarg_preload_length:
            continue
        index = {d.address: i for i, d in enumerate(decode_text(program.source))}
        original = index.get(kernel.entry + PRELOAD_HEADER, -1)
        found[kernel.name] = original
        for line_id in range(index[kernel.entry], original):
            words = decode_text(program.source)[line_id].words
            if is_branch(words, target) and line_id in program.position and _goes_to(program, line_id) == original:
                found[kernel.name] = program.line(line_id).target or original
    return found


def _goes_to(program: Program, line_id: int) -> int:
    """The line that a branch of K0 goes to in K0."""
    decoded = decode_text(program.source)
    address = branch_target(decoded[line_id].words, decoded[line_id].address)
    return next((i for i, d in enumerate(decoded) if d.address == address), -1)


def _check_preload(program: Program, layout: Layout) -> None:
    """Hold the second entry of kernels with kernarg preload at its distance."""
    for name, line_id in second_entries(program).items():
        position = program.position.get(line_id)
        if position is None or layout.addresses[position] != layout.entries[name] + PRELOAD_HEADER:
            raise InputError(
                f"The kernel {name} has a second entry {PRELOAD_HEADER} bytes behind its first (kernarg preload); edit "
                "only behind it, or keep the size of what is in front."
            )
