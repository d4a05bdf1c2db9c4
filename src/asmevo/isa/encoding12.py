"""The length of gfx1250 instructions, told from their first dwords.

Source: LLVM `AMDGPU/SIInstrFormats.td`, `VOPInstructions.td`, `SOPInstructions.td` (gfx11, gfx12 and gfx1250 forms).
"""

from __future__ import annotations

_LITERAL, _LITERAL_64, _DPP = 255, 254, frozenset({233, 234, 250})
_VOP2_LITERAL, _VOP2_LITERAL_64 = frozenset({44, 45, 55, 56}), frozenset({35, 36})  # v_fmamk, v_fmaak by type
_SOP2_LITERAL = frozenset({0x45, 0x46})  # s_fmaak_f32, s_fmamk_f32
_SETREG_IMM32 = 19
_VOPD_LITERAL = frozenset({1, 2})  # v_dual_fmaak_f32, v_dual_fmamk_f32 as either half
_SCALED_WMMA = frozenset({0xCC35, 0xCC3A})
_SIZES = {
    0b110001: 12,  # VBUFFER
    0b110100: 12,  # VIMAGE, with the tensor copies
    0b111001: 12,  # VSAMPLE
    0b111011: 12,  # FLAT, GLOBAL, SCRATCH
    0b110110: 8,  # DS
    0b111101: 8,  # SMEM
    0b111110: 8,  # EXP
}
_WHOLE_BYTE = {0xCD: 8, 0xCE: 4, 0xCF: 12}  # VINTERP, LDSDIR, VOPD3
HEAD = 8
"""Bytes that decide about the length."""


def length(head: bytes) -> int:
    """Bytes of the gfx1250 instruction that begins with these up to 8 bytes; LLVM has the last word."""
    first = int.from_bytes(head[:4], "little")
    if first >> 31 == 0:
        return _vector(first)
    if first >> 30 == 0b10:
        return _scalar(first)
    if first >> 24 in _WHOLE_BYTE:
        return _WHOLE_BYTE[first >> 24]
    format_ = first >> 26
    if format_ in _SIZES:
        return _SIZES[format_]
    second = int.from_bytes(head[4:8], "little")
    if format_ == 0b110010:
        return _dual(first, second)
    if first >> 16 in _SCALED_WMMA:
        return 16
    if format_ in (0b110011, 0b110101):  # VOP3P, VOP3
        sources = (second & 0x1FF, second >> 9 & 0x1FF, second >> 18 & 0x1FF)
        return 12 if _LITERAL in sources or sources[0] in _DPP else 8
    return 4


def _vector(first: int) -> int:
    """VOP1, VOP2, VOPC."""
    source, opcode = first & 0x1FF, first >> 25
    if source == _LITERAL_64 or opcode in _VOP2_LITERAL_64:
        return 12
    return 8 if source == _LITERAL or source in _DPP or opcode in _VOP2_LITERAL else 4


def _scalar(first: int) -> int:
    """SOP1, SOP2, SOPC, SOPK, SOPP."""
    top = first >> 23
    if top == 0b101111111:
        return 4
    if top not in (0b101111101, 0b101111110) and first >> 28 == 0b1011:
        return 8 if top & 31 == _SETREG_IMM32 else 4
    sources = (first & 0xFF,) if top == 0b101111101 else (first & 0xFF, first >> 8 & 0xFF)
    if _LITERAL_64 in sources:
        return 12
    is_sop2 = top >> 7 == 0b10 and top not in (0b101111101, 0b101111110)
    return 8 if _LITERAL in sources or (is_sop2 and top & 0x7F in _SOP2_LITERAL) else 4


def _dual(first: int, second: int) -> int:
    """VOPD: two operations that may share one literal."""
    opcodes = (first >> 22 & 15, first >> 17 & 31)
    sources = (first & 0x1FF, second & 0x1FF)
    return 12 if _LITERAL in sources or _VOPD_LITERAL & set(opcodes) else 8
