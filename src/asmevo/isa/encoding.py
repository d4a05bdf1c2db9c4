"""What can be told from the encoding of an instruction alone: its length, and where a branch goes.

Source: AMD "Instinct MI300" ISA document, chapter 13 (microcode formats); LLVM `AMDGPU/SOPInstructions.td`.
"""

from __future__ import annotations

from asmevo.verdict import InputError

_SOPP = 0b101111111
BRANCHES = {
    "s_branch": 2,
    "s_cbranch_scc0": 4,
    "s_cbranch_scc1": 5,
    "s_cbranch_vccz": 6,
    "s_cbranch_vccnz": 7,
    "s_cbranch_execz": 8,
    "s_cbranch_execnz": 9,
    "s_cbranch_cdbgsys": 23,
    "s_cbranch_cdbguser": 24,
    "s_cbranch_cdbgsys_or_user": 25,
    "s_cbranch_cdbgsys_and_user": 26,
}
"""SOPP opcodes of the branches relative to the program counter."""
BRANCHES_GFX12 = {
    "s_branch": 32,
    "s_cbranch_scc0": 33,
    "s_cbranch_scc1": 34,
    "s_cbranch_vccz": 35,
    "s_cbranch_vccnz": 36,
    "s_cbranch_execz": 37,
    "s_cbranch_execnz": 38,
}
"""The same for gfx1250."""
_BRANCH_OPCODES, _BRANCH_OPCODES_GFX12 = frozenset(BRANCHES.values()), frozenset(BRANCHES_GFX12.values())
_LITERAL, _SDWA, _DPP = 255, 249, 250
_VOP2_WITH_LITERAL = frozenset({23, 24, 36, 37})  # v_fmamk, v_fmaak and their f16 forms
_MFMA_LD_SCALE = 0xD3AC0000
BRANCH_RANGE = range(-(1 << 15), 1 << 15)
"""What the dword offset of a branch can be."""


def length(first: int) -> int:
    """Bytes of the gfx9 instruction that begins with this dword; LLVM has the last word for what it cannot decode."""
    top = first >> 28
    if top < 8:  # VOP1, VOP2, VOPC
        is_vop2 = first >> 25 < 0b0111110
        extra = first & 0x1FF in (_LITERAL, _SDWA, _DPP) or (is_vop2 and first >> 25 in _VOP2_WITH_LITERAL)
        return 8 if extra else 4
    if top >= 0b1100:
        return 16 if first & 0xFFFF0000 == _MFMA_LD_SCALE else 8
    if first >> 23 == _SOPP:
        return 4
    if first >> 23 == 0b101111101:  # SOP1
        return 8 if first & 0xFF == _LITERAL else 4
    if top == 0b1011 and first >> 23 != 0b101111110:  # SOPK; only s_setreg_imm32_b32 has a literal
        return 8 if first >> 23 & 31 == 20 else 4
    return 8 if _LITERAL in (first & 0xFF, first >> 8 & 0xFF) else 4  # SOP2, SOPC


def is_branch(words: bytes, target: str = "gfx942") -> bool:
    """Whether these words are a branch relative to the program counter (SOPP)."""
    first = int.from_bytes(words[:4], "little")
    if first >> 23 != _SOPP:
        return False
    return (first >> 16 & 0x7F) in (_BRANCH_OPCODES_GFX12 if target == "gfx1250" else _BRANCH_OPCODES)


def branch_words(mnemonic: str, target: str = "gfx942") -> bytes:
    """The words of a branch to the next instruction. Raises `InputError` for a branch that the target lacks."""
    opcodes = BRANCHES_GFX12 if target == "gfx1250" else BRANCHES
    if mnemonic not in opcodes:
        raise InputError(f"{target} has no {mnemonic}; use one of {', '.join(opcodes)}.")
    return (_SOPP << 23 | opcodes[mnemonic] << 16).to_bytes(4, "little")


def branch_target(words: bytes, address: int) -> int:
    """Where the branch at this address goes: its simm16 counts dwords from the next instruction."""
    return address + 4 + 4 * int.from_bytes(words[:2], "little", signed=True)


def with_branch_target(words: bytes, address: int, target: int) -> bytes:
    """The branch's words with another target. Raises `InputError` when simm16 cannot reach it."""
    offset = (target - address - 4) // 4
    if offset not in BRANCH_RANGE:
        raise InputError(
            f"The branch at 0x{address:x} is {offset} dwords from its target, more than simm16 holds; insert less code."
        )
    return offset.to_bytes(2, "little", signed=True) + words[2:]
