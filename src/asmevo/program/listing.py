"""The text of a program: `.s` that llvm-mc accepts, with the id and the original words of each line in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo.isa.llvm import TRIPLE
from asmevo.program.labels import entry_labels, kernel_label
from asmevo.program.program import Line, Program
from asmevo.program.resources import resource_values
from asmevo.program.symbolic import symbolic_text

_PLAIN_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
_COLUMN = 72
END = "// end of listing"
"""The last line: a text that was cut short would otherwise read as an edit that deletes the rest."""


def listing(program: Program) -> str:
    """The listing of a program. `parse_listing` reads it back, edited or not.

    Lines look like `<tab>text // id: words`; a line that the assembler has not seen yet has no words. Branches go to
    labels `L<id>`, additions to the program counter name their place (see `symbolic`). Descriptor and arguments are
    comments: they are kept as bytes, not assembled; a number in the comment `resources` may be edited.
    """
    return "\n".join([*_head(program), *_body(program), END, ""])


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
    if values := resource_values(program):
        yield f"// resources: {', '.join(f'{name} {value}' for name, value in values.items())}"
    yield f"// kernarg: {kernel.kernarg_size} bytes, at most {kernel.max_workgroup} work-items in a workgroup"
    for argument in kernel.args:
        yield f"//   {argument.offset:4} {argument.size:3} {argument.kind} {argument.name}".rstrip()
    yield f'\t.amdgcn_target "{TRIPLE}--{source.target}"'
    yield "\t.text"
    yield "\t.p2align 8"


def _body(program: Program) -> Iterator[str]:
    referred = [line.reference for line in program.lines if line.reference is not None]
    targets = {line.target for line in program.lines} | {r.line for r in referred}
    origins = {r.origin for r in referred}
    kernels = {kernel_label(kernel.name) for kernel in program.source.kernels}
    names: dict[int, list[str]] = {}
    for name, k0_line in entry_labels(program.source).items():
        line_id = program.entry if name == kernel_label(program.kernel.name) else program.anchor(k0_line)
        names.setdefault(line_id, []).append(name)
    for line in program.lines:
        for name in names.get(line.id, ()):
            if name in kernels:
                yield f"\t.globl {quoted(name)}"
            yield f"\t.type {quoted(name)},@function"
            yield f"{quoted(name)}:"
        if line.id in targets:
            yield f"L{line.id}:"
        yield _instruction(line, program)
        if line.id in origins:
            yield f"P{line.id}:"


def _instruction(line: Line, program: Program) -> str:
    words = "" if line.words is None else " ".join(_dwords(line.words))
    text = line.instruction.text if line.reference is None else symbolic_text(line, program.source.sections)
    return f"\t{text.ljust(_COLUMN)} // {line.id}: {words}".rstrip()


def _dwords(words: bytes) -> Iterator[str]:
    for i in range(0, len(words), 4):
        yield f"{int.from_bytes(words[i : i + 4], 'little'):08X}"


def quoted(name: str) -> str:
    """A symbol name as the assembler reads it."""
    return name if _PLAIN_NAME.fullmatch(name) else f'"{name}"'
