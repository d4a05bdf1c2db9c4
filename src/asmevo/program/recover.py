"""From a code object to its editable program."""

from __future__ import annotations

from functools import lru_cache

from asmevo.codeobject import CodeObject
from asmevo.isa import Decoded, Decoder, parse_instruction
from asmevo.isa.encoding import branch_target, is_branch
from asmevo.program.program import Line, Program
from asmevo.verdict import InputError


def recover(obj: CodeObject, kernel: str | None = None) -> Program:
    """The program over the whole `.text`, padding and preload header included, with `kernel` as its kernel.

    Branch targets come from the encodings, never from symbols. Raises `InputError` when a branch does not go to an
    instruction of `.text`, or when the object has no such kernel.
    """
    chosen = obj.kernel(kernel)
    decoded = decode_text(obj)
    index = {d.address: i for i, d in enumerate(decoded)}
    if chosen.entry not in index:
        raise InputError(f"The kernel {chosen.name} begins inside an instruction; get an undamaged code object.")
    lines = tuple(_line(i, d, index, obj.target) for i, d in enumerate(decoded))
    return Program(obj, chosen, lines, index[chosen.entry])


@lru_cache(maxsize=16)
def decode_text(obj: CodeObject) -> tuple[Decoded, ...]:
    """The linear sweep over `.text`."""
    return tuple(Decoder(obj.target).decode(obj.text_bytes, obj.text.address))


def _line(number: int, decoded: Decoded, index: dict[int, int], arch: str) -> Line:
    if not is_branch(decoded.words, arch):
        return Line(number, parse_instruction(decoded.text), decoded.words)
    address = branch_target(decoded.words, decoded.address)
    target = index.get(address)
    if target is None:
        raise InputError(
            f"The branch at 0x{decoded.address:x} goes to 0x{address:x}, where no instruction begins; "
            "the code object has data in .text or is damaged."
        )
    mnemonic = decoded.text.split()[0]
    return Line(number, parse_instruction(f"{mnemonic} L{target}"), decoded.words, target)
