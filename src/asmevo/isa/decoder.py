"""Encodings to text through llvm-objdump, with a dictionary so that known encodings cost no process."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from asmevo.isa.encoding import is_branch, length
from asmevo.isa.encoding12 import HEAD
from asmevo.isa.encoding12 import length as length12
from asmevo.isa.llvm import TRIPLE, Toolchain, cpu_flags
from asmevo.targets import HANDLED, flags_of
from asmevo.verdict import EnvironmentError_, UnsupportedError

_CANONICAL = {
    "gfx1250": (
        (0xFFBF0000, 0xD0310000, 0x00400001, 0x7C000000),  # tensor_load_to_lds, tensor_store_from_lds
        (0xFFFF0000, 0xCC350000, 0, 0x04000000),  # v_wmma_scale_f32_16x16x128_f8f6f4
        (0xFFFF0000, 0xCC880000, 0x00004000, 0),  # v_wmma_f32_32x16x128_f4
    )
}
"""Mask and value of a first dword, and the bits of the first two dwords that LLVM insists on.

AMD's own assembler leaves them clear (6,662 sites in its gfx1250 objects), and LLVM then decodes nonsense.
"""
_STATE = 0xBF86
"""Upper half of gfx1250's `s_set_vgpr_msb`, after which LLVM adds remarks to what it prints."""
_LINE = re.compile(rb"^\t(\S.*?)\s*// ([0-9A-F]+): ([0-9A-F ]*[0-9A-F])(.*)", re.MULTILINE)
_PAD = bytes.fromhex("000080bf")  # s_nop 0
_ANYWHERE = bytes(2)
"""The simm16 under which the dictionary knows a branch: a new target is no new encoding."""
_STRINGS = b"\0.text\0.shstrtab\0"


class Decoded(NamedTuple):
    """One decoded instruction. `.long 0x...` stands for words that are no instruction of the target."""

    address: int
    text: str
    words: bytes


_dictionaries: dict[str, dict[bytes, tuple[str, int]]] = {}
"""For each target: the bytes that `length` expects, to text and the number of bytes that LLVM took."""


class Decoder:
    """Decodes the instructions of one target. All decoders of a target share one dictionary in the process.

    What LLVM cannot decode is data: its text is `.long` with the words, which has no row, so no analysis goes over it.
    """

    def __init__(self, target: str) -> None:
        if target not in HANDLED:
            raise UnsupportedError(f"Code for {target} cannot be decoded; known targets are {', '.join(HANDLED)}.")
        self.target = target
        self._known = _dictionaries.setdefault(target, {})
        self._gfx12 = target == "gfx1250"

    def decode(self, code: bytes, base: int = 0) -> list[Decoded]:
        """Linear sweep over whole dwords at address `base`. Branch operands are the numbers of the encoding."""
        while True:
            found, unknown = self._sweep(code, base)
            if not unknown:
                return found
            self._learn(list(unknown))

    def _sweep(self, code: bytes, base: int) -> tuple[list[Decoded], dict[bytes, None]]:
        """Decode by dictionary; also the encodings it lacks, in order (what follows them is a guess until then)."""
        found: list[Decoded] = []
        unknown: dict[bytes, None] = {}
        known, at, end, gfx12 = self._known, 0, len(code), self._gfx12
        while at < end:
            size = length12(code[at : at + HEAD]) if gfx12 else length(int.from_bytes(code[at : at + 4], "little"))
            piece = code[at : at + size]
            if len(piece) < size:  # cut off: llvm-objdump would read beyond the end
                found.append(Decoded(base + at, _data(piece[:4]), piece[:4]))
                at += 4
                continue
            jump = size == 4 and is_branch(piece, self.target)
            key = _ANYWHERE + piece[2:] if jump else piece
            hit = known.get(key)
            if hit is None:
                unknown[key] = None
            else:
                text, size = hit
                if jump:
                    text = f"{text.split()[0]} {int.from_bytes(piece[:2], 'little')}"
                found.append(Decoded(base + at, text, piece[:size]))
            at += size
        return found, unknown

    def _learn(self, pieces: list[bytes]) -> None:
        """Ask llvm-objdump for encodings. A pad after each keeps it from reading on when it fails to decode one."""
        starts: dict[int, bytes] = {}
        code = bytearray()
        if self._gfx12:
            pieces.sort(key=lambda p: int.from_bytes(p[2:4], "little") == _STATE)  # nothing is asked in that state
        for piece in pieces:
            starts[len(code)] = piece
            pads = len(piece) // 4 - 1
            code += self._canonical(piece) + _PAD * (4 if self._gfx12 and pads else pads)
        output = _disassemble(bytes(code + _PAD * 4), self.target)
        if output is None:
            self._learn_around_crash(pieces)
            return
        learned = 0
        for text, address, words, rest in _LINE.findall(output):
            piece = starts.get(int(address, 16))
            if piece is None:
                continue
            size = len(words.split()) * 4
            faithful = size <= len(piece) and b"Warning" not in rest and b"/*" not in text
            if self._gfx12 and (not faithful or text.startswith((b".long", b"v_illegal"))):
                faithful, size = False, len(piece)  # its format tells the length; what follows stays in step
            size = min(size, len(piece))
            self._known[piece] = (text.decode() if faithful else _data(piece[:size]), size)
            learned += 1
        if not learned:
            raise EnvironmentError_(f"llvm-objdump does not decode {pieces[0].hex()}; report these bytes.")

    def _canonical(self, piece: bytes) -> bytes:
        """The piece with the bits set that LLVM insists on and the hardware does not read."""
        first = int.from_bytes(piece[:4], "little")
        for mask, value, low, high in _CANONICAL.get(self.target, ()):
            if first & mask == value and len(piece) >= 8:
                word = int.from_bytes(piece[:8], "little") | high << 32 | low
                return word.to_bytes(8, "little") + piece[8:]
        return piece

    def _learn_around_crash(self, pieces: list[bytes]) -> None:
        """Find what llvm-objdump dies of (some invalid MFMA encodings) by halving, and take that as data."""
        if len(pieces) > 1:
            self._learn(pieces[: len(pieces) // 2])
            self._learn(pieces[len(pieces) // 2 :])
        elif _disassemble(_PAD, self.target) is None:
            raise EnvironmentError_("llvm-objdump does not run to its end; check the installation of llvm-22.")
        else:
            self._known[pieces[0]] = (_data(pieces[0]), len(pieces[0]))


def _data(words: bytes) -> str:
    """The text of words that are no valid instruction: llvm-objdump prints some of them with a remark or roundly."""
    return ".long " + ", ".join(f"0x{int.from_bytes(words[i : i + 4], 'little'):08x}" for i in range(0, len(words), 4))


def _disassemble(code: bytes, target: str) -> bytes | None:
    """The output of llvm-objdump for code at address 0 without symbols; None when it crashed."""
    answer = Toolchain.find().run(
        "llvm-objdump",
        *(f"--triple={TRIPLE}", *cpu_flags(target), "-d", "-z", "-j", ".text", "-"),
        stdin=_object(code, flags_of(target)),
    )
    if answer.returncode < 0:
        return None
    if answer.returncode:
        raise EnvironmentError_(f"llvm-objdump ended with {answer.returncode}; check the installation of llvm-22.")
    return answer.stdout


def _object(code: bytes, flags: int) -> bytes:
    """A minimal relocatable ELF that holds the code in .text."""
    names_at = 64 + len(code)
    table_at = -(-(names_at + len(_STRINGS)) // 8) * 8
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01\x40\x02", 1, 224, 1, 0, 0, table_at, flags, 64, 0, 0, 64, 3, 2
    )
    text = struct.pack("<IIQQQQIIQQ", 1, 1, 6, 0, 64, len(code), 0, 0, 4, 0)
    names = struct.pack("<IIQQQQIIQQ", 7, 3, 0, 0, names_at, len(_STRINGS), 0, 0, 1, 0)
    body = header + code + _STRINGS
    return body.ljust(table_at, b"\0") + bytes(64) + text + names
