"""The text of a program: `.s` that llvm-mc accepts, with the id and the original words of each line in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo.isa.llvm import TRIPLE
from asmevo.program.layout import kernel_entries
from asmevo.program.program import Line, Program

_PLAIN_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_COLUMN = 72


def listing(program: Program) -> str:
    """The listing of a program. `parse_listing` reads it back, edited or not.

    Lines look like `<tab>text // id: words`; a line that the assembler has not seen yet has no words. Branches go to
    labels `L<id>`. Descriptor and arguments are comments: they are kept as bytes, not assembled.
    """
    return "\n".join([*_head(program), *_body(program), ""])


def _head(program: Program) -> Iterator[str]:
    source, kernel = program.source, program.kernel
    d = kernel.descriptor
    yield f"// kernel: {kernel.name}"
    yield f"// source: sha256 {source.sha256}, ELF flags 0x{source.e_flags:x}, ABI version {source.abi_version}"
    yield (
        f"// descriptor: {d.vgpr_alloc} vector registers (AGPRs from {d.accum_offset}), {d.sgpr_alloc} SGPRs, "
        f"{d.user_sgpr_count} user SGPRs, LDS {d.lds_size}, scratch {d.private_size}"
    )
    yield f"// descriptor bytes: {d.raw.hex()}"
    yield f"// kernarg: {kernel.kernarg_size} bytes, at most {kernel.max_workgroup} work-items in a workgroup"
    for argument in kernel.args:
        yield f"//   {argument.offset:4} {argument.size:3} {argument.kind} {argument.name}".rstrip()
    yield f'\t.amdgcn_target "{TRIPLE}--{source.target}"'
    yield "\t.text"
    yield "\t.p2align 8"


def _body(program: Program) -> Iterator[str]:
    targets = {line.target for line in program.lines}
    names: dict[int, list[str]] = {}
    for name, line_id in kernel_entries(program).items():
        names.setdefault(line_id, []).append(name)
    for line in program.lines:
        for name in names.get(line.id, ()):
            yield f"\t.globl {quoted(name)}"
            yield f"\t.type {quoted(name)},@function"
            yield f"{quoted(name)}:"
        if line.id in targets:
            yield f"L{line.id}:"
        yield _instruction(line)


def _instruction(line: Line) -> str:
    words = "" if line.words is None else " ".join(_dwords(line.words))
    return f"\t{line.instruction.text.ljust(_COLUMN)} // {line.id}: {words}".rstrip()


def _dwords(words: bytes) -> Iterator[str]:
    for i in range(0, len(words), 4):
        yield f"{int.from_bytes(words[i : i + 4], 'little'):08X}"


def quoted(name: str) -> str:
    """A symbol name as the assembler reads it."""
    return name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
