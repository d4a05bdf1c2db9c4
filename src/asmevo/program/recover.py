"""From a code object to its editable program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from asmevo.codeobject import CodeObject
from asmevo.codeobject.elf import STT_FUNC, STT_OBJECT
from asmevo.isa import Decoded, Decoder, parse_instruction
from asmevo.isa.encoding import branch_target, is_branch
from asmevo.program.program import LEAVES, Line, Program, control_kind
from asmevo.program.references import entered_addresses, named_addresses, with_references
from asmevo.verdict import InputError

ENTRY_ALIGN = 256
"""The hardware takes the address of an entry in units of 256 bytes (LLVM `AMDGPUUsage`, kernel descriptor)."""
_BRANCHES = ("s_branch", "s_cbranch")


def recover(obj: CodeObject, kernel: str | None = None) -> Program:
    """The program over the whole `.text`, padding and preload header included, with `kernel` as its kernel.

    Branch targets come from the encodings, never from symbols. Raises `InputError` when a branch does not go to an
    instruction of `.text`, when a kernel begins inside of one or where no wave can begin, when two have one name, or
    when the object has no such kernel.
    """
    chosen = obj.kernel(kernel)
    index = address_index(obj)
    if len({k.name for k in obj.kernels}) != len(obj.kernels):
        raise InputError("Two kernels of the code object have one name; get an undamaged code object.")
    for each in obj.kernels:
        if each.entry % ENTRY_ALIGN:
            raise InputError(
                f"The kernel {each.name} begins at 0x{each.entry:x}, which is no multiple of {ENTRY_ALIGN}, so no GPU "
                "can launch it; get an undamaged code object."
            )
        if each.entry not in index:
            raise InputError(f"The kernel {each.name} begins inside an instruction; get an undamaged code object.")
    return Program(obj, chosen, _lines(obj), index[chosen.entry])


@lru_cache(maxsize=16)
def decode_text(obj: CodeObject) -> tuple[Decoded, ...]:
    """The linear sweep over `.text`, in which objects are data, dword by dword.

    Where it misses the begin of a function, data precede it: each function is swept alone.
    """
    decoder, text, objects = Decoder(obj.target), obj.text, data_ranges(obj)
    whole = () if objects else decoder.decode(obj.text_bytes, text.address)
    functions = {k.entry for k in obj.kernels}
    functions |= {s.value for s in obj.symbols if s.type == STT_FUNC and text.contains(s.value) and s.value % 4 == 0}
    if not objects and functions <= {d.address for d in whole}:
        return tuple(whole)
    inner = {*functions, *(r.start for r in objects), *(r.stop for r in objects)}
    cuts, found = sorted({text.address, *inner, text.address + text.size}), list[Decoded]()
    for start, end in pairwise(cuts):
        words = obj.text_bytes[start - text.address : end - text.address]
        if any(start in r for r in objects):
            dwords = ((start + at, words[at : at + 4]) for at in range(0, len(words), 4))
            found += (Decoded(at, f".long 0x{int.from_bytes(word, 'little'):08x}", word) for at, word in dwords)
        else:
            found += decoder.decode(words, start)
    return tuple(found)


def data_ranges(obj: CodeObject) -> tuple[range, ...]:
    """Addresses of the objects in `.text`: data, whatever they look like; without those in which code is entered."""
    text, home = obj.text, obj.sections.index(obj.text)
    entries = {k.entry for k in obj.kernels} | {s.value for s in obj.symbols if s.type == STT_FUNC}
    end = text.address + text.size // 4 * 4
    ranges = [
        range(s.value // 4 * 4, min(-(-(s.value + s.size) // 4) * 4, end))
        for s in obj.symbols
        if s.section == home and s.type == STT_OBJECT and s.size and text.contains(s.value)
    ]
    return tuple(r for r in ranges if not any(entry in r for entry in entries))


@lru_cache(maxsize=16)
def line_addresses(obj: CodeObject) -> tuple[int, ...]:
    """Address of each line of K0, by its id."""
    return tuple(d.address for d in decode_text(obj))


@lru_cache(maxsize=16)
def address_index(obj: CodeObject) -> Mapping[int, int]:
    """Address of each instruction of K0 to its line id."""
    return {address: i for i, address in enumerate(line_addresses(obj))}


def entered_lines(program: Program) -> frozenset[int]:
    """Ids of the lines that stand where kernels and functions begin, or pointers in data lead to."""
    index = address_index(program.source)
    return frozenset(program.anchor(index[a]) for a in entered_addresses(program.source) if a in index)


def forget() -> None:
    """Drop what is remembered of code objects: for measurements, and for long runs over many of them."""
    for known in (decode_text, line_addresses, address_index, entered_addresses, named_addresses):
        known.cache_clear()


def _lines(obj: CodeObject) -> tuple[Line, ...]:
    decoded, index = decode_text(obj), address_index(obj)
    lines = [Line(i, parse_instruction(d.text), d.words) for i, d in enumerate(decoded)]
    astray: list[int] = []
    jumps = [i for i, d in enumerate(decoded) if d.text.startswith(_BRANCHES)]
    for i in [i for i in jumps if is_branch(decoded[i].words, obj.target)]:
        target = index.get(branch_target(decoded[i].words, decoded[i].address))
        if target is None:
            astray.append(i)
            continue
        text = f"{lines[i].instruction.mnemonic} L{target}"
        lines[i] = Line(i, parse_instruction(text), decoded[i].words, target)
    if astray and (met := _reachable(lines, obj, index).intersection(astray)):
        here = decoded[min(met)]
        raise InputError(
            f"The branch at 0x{here.address:x} goes to 0x{branch_target(here.words, here.address):x}, where no "
            "instruction begins; the code object has data in .text or is damaged."
        )
    return with_references(lines, line_addresses(obj), obj)


def _reachable(lines: Sequence[Line], obj: CodeObject, index: Mapping[int, int]) -> set[int]:
    """Lines that control may come to from a kernel, a function or a pointer to code; the rest may be data."""
    seen = set[int]()
    work = [index[a] for a in entered_addresses(obj) if a in index]
    while work:
        i = work.pop()
        while i < len(lines) and i not in seen:
            seen.add(i)
            if lines[i].target is not None:
                work.append(lines[i].target or 0)
            if control_kind(lines[i].instruction) in LEAVES:
                break
            i += 1
    return seen
