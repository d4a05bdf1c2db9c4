"""One instruction as printed: mnemonic, operands and modifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from asmevo.isa.operands import Operand, Word, parse_operand
from asmevo.verdict import InputError

_SUFFIX = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")
_SPLIT = re.compile(r",\s*(?![^\[(]*[\])])")
_FLAGS_ONLY = ("buffer_inv", "buffer_wbl2", "ds_gws_sema_p", "ds_gws_sema_v", "ds_gws_sema_release_all")
"""Opcodes that print flags and no operands."""
_TEXT_OPERANDS = ("s_waitcnt", "s_setreg", "s_getreg", "s_sendmsg")
_SCOPES = frozenset({"sc0", "sc1", "glc"})


@dataclass(frozen=True)
class Instruction:
    """A parsed instruction. Equal instructions compare equal; the text is the identity."""

    text: str
    """Normalised assembly text, without comment; a branch's target is in `operands`, as printed."""
    mnemonic: str
    """As printed, with the encoding suffix, e.g. `v_add_u32_e32`."""
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, str]
    """`offset:16` gives {"offset": "16"}; a flag such as `offen` gives {"offen": ""}."""

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def base(self) -> str:
        """Mnemonic without its encoding suffix: the key of the opcode table."""
        return _SUFFIX.sub("", self.mnemonic)

    @cached_property
    def encoding(self) -> str:
        """`e32`, `e64`, `sdwa`, `dpp`, `e64_dpp`, or the empty string."""
        m = _SUFFIX.search(self.mnemonic)
        return m[1] if m else ""

    @property
    def is_sdwa_or_dpp(self) -> bool:
        """Whether it takes parts of registers (SDWA) or what other lanes hold (DPP), which no row's meaning says."""
        return self.encoding in ("sdwa", "dpp", "e64_dpp")

    @property
    def is_scoped(self) -> bool:
        """Whether a load or store names a scope: other waves, other compute units or the host access the same meanwhile
        (LLVM AMDGPUUsage, memory model gfx942; `glc` is that of scalar loads)."""
        return not _SCOPES.isdisjoint(self.modifiers)

    def number(self, modifier: str, default: int = 0) -> int:
        """An integer modifier such as `offset:0x10`."""
        value = self.modifiers.get(modifier)
        return default if value is None else int(value, 0)

    def bits(self, modifier: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list modifier such as `op_sel:[0,1,0]`."""
        value = self.modifiers.get(modifier)
        return default if value is None else tuple(int(x, 0) for x in value.strip("[]").split(","))

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1 << 18)
def parse_instruction(text: str) -> Instruction:
    """Parse the text of one instruction as llvm-objdump prints it (no label, no comment).

    Raises `InputError` for an empty operand; whether the text is an instruction at all the assembler says.
    """
    text = " ".join(text.split())
    mnemonic, _, rest = text.partition(" ")
    if mnemonic.startswith(_TEXT_OPERANDS):
        parts = [p.strip() for p in _SPLIT.split(rest)] if not mnemonic.startswith("s_waitcnt") else [rest]
        operands = tuple(Word(p) if "(" in p else parse_operand(p) for p in parts if p)
        return Instruction(text, mnemonic, operands, MappingProxyType({}))
    parsed: list[Operand] = []
    modifiers: dict[str, str] = {}
    for position, part in enumerate(_SPLIT.split(rest) if rest else ()):
        if not part.strip():
            raise InputError(f"`{text}` has an empty operand; give mnemonic and operands with one comma between them.")
        first, *more = part.split()
        if (_is_modifier(first) and position) or mnemonic in _FLAGS_ONLY:
            more.insert(0, first)
        else:
            parsed.append(parse_operand(first))
        for token in more:
            key, _, value = token.partition(":")
            modifiers[key] = value
    return Instruction(text, mnemonic, tuple(parsed), MappingProxyType(modifiers))


def _is_modifier(token: str) -> bool:
    """`offset0:1` after a comma is still a modifier; `s[0:1]` and `a[0:3]` are operands."""
    key, colon, _ = token.partition(":")
    return bool(colon) and "[" not in key and "(" not in key
