"""Text to encodings through llvm-mc: one process for a batch, one answer kept for each text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmevo.isa.llvm import TRIPLE, Toolchain, cpu_flags
from asmevo.verdict import EnvironmentError_, InputError

_ONE_INSTRUCTION = re.compile(r"[a-z]\w*([ \t][ \t!-:<>-~]{0,400})?", re.ASCII)
"""Printable, without `;` and `=`: llvm-mc takes more than an instruction behind those, and may hang on a NUL
or end its stack on a long expression."""
_ENCODING = re.compile(rb"; encoding: \[([^\]]*)\]")
_ERROR = re.compile(rb"<stdin>:(\d+):\d+: error: (.*)")
_HEADER_LINES = 1

_known: dict[tuple[str, str], bytes] = {}


def assemble(texts: Sequence[str], target: str) -> list[bytes]:
    """The encoding of each text for a target such as `gfx942`.

    Each text is one instruction; a branch takes its simm16 as a number. Raises `InputError` that names the text which
    the assembler refuses.
    """
    missing = [t for t in dict.fromkeys(texts) if (target, t) not in _known]
    if missing:
        _known.update(zip(((target, t) for t in missing), _assemble(missing, target), strict=True))
    return [_known[target, t] for t in texts]


def _assemble(texts: list[str], target: str) -> list[bytes]:
    for text in texts:
        if not _ONE_INSTRUCTION.fullmatch(text) or "//" in text or "/*" in text:
            raise InputError(f"`{text}` is not the text of one instruction; give mnemonic and operands only.")
    source = "\n".join((f'.amdgcn_target "{TRIPLE}--{target}"', *texts, ""))
    answer = Toolchain.find().run(
        "llvm-mc", f"-triple={TRIPLE}", *cpu_flags(target), "-show-encoding", stdin=source.encode()
    )
    if m := _ERROR.search(answer.stderr):
        text = texts[max(int(m[1]) - 1 - _HEADER_LINES, 0)]
        raise InputError(f"`{text}` does not assemble for {target}: {m[2].decode(errors='replace')}; correct it.")
    if answer.returncode:
        raise EnvironmentError_(f"llvm-mc ended with {answer.returncode}; check the installation of llvm-22.")
    encodings = _ENCODING.findall(answer.stdout)
    if len(encodings) != len(texts):
        raise EnvironmentError_(f"llvm-mc gave {len(encodings)} encodings for {len(texts)} lines; report the input.")
    return [_bytes(e, t) for e, t in zip(encodings, texts, strict=True)]


def _bytes(encoding: bytes, text: str) -> bytes:
    if any(not b.startswith(b"0x") for b in encoding.split(b",")):  # a letter stands for a fixup
        raise InputError(f"`{text}` uses a symbol; give the number instead.")
    return bytes(int(b, 16) for b in encoding.split(b","))
