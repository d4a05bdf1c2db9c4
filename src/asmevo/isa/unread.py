"""Encoding bits that the hardware does not read and LLVM does not print, or insists on.

LLVM drops them when it assembles what it printed (gfx950 `v_mfma_scale_*`: bits 13 and 14 of the first dword; gfx1250:
the absent third source of VOP3 and VOP3P), and refuses three gfx1250 instructions when they are not set as it sets
them. Both were found in AMD's own objects. An instruction that is not edited keeps its words whatever they are;
an edited one keeps these bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.isa.assembler import assemble
from asmevo.isa.decoder import Decoder
from asmevo.verdict import InputError


def with_unread_bits(
    originals: Sequence[tuple[str, bytes]], texts: Sequence[str], encoded: Sequence[bytes], target: str
) -> list[bytes]:
    """Encodings of edited instructions with the unread bits of the instructions they replace.

    For each, `originals` has text and words before the edit, `encoded` what the assembler makes of the new text. The
    unread bits are those in which the original differs from what the assembler makes of its text. They are taken
    over only when the opcode stays, and when the result still decodes to the new text.
    """
    again = _assembled([text for text, _ in originals], target)
    decoder = Decoder(target)
    result: list[bytes] = []
    for (old_text, words), text, new, made in zip(originals, texts, encoded, again, strict=True):
        same_opcode = old_text.split()[0] == text.split()[0] and len(words) == len(new)
        if made is None or made == words or len(made) != len(words) or not same_opcode:
            result.append(new)
            continue
        kept = bytes(n ^ w ^ m for n, w, m in zip(new, words, made, strict=True))
        decoded = decoder.decode(kept)
        result.append(kept if [d.text for d in decoded] == [d.text for d in decoder.decode(new)] else new)
    return result


def _assembled(texts: list[str], target: str) -> list[bytes | None]:
    """The encoding of each text; None for what LLVM prints and does not read back."""
    try:
        return list[bytes | None](assemble(texts, target))
    except InputError:
        if len(texts) == 1:
            return [None]
    half = len(texts) // 2
    return _assembled(texts[:half], target) + _assembled(texts[half:], target)
