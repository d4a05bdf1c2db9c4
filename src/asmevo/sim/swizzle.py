"""The lane patterns of `ds_swizzle_b32`."""

from __future__ import annotations

import re

from asmevo.isa import Instruction
from asmevo.sim.layout import LANES
from asmevo.verdict import UnsupportedError

_CALL = re.compile(r"swizzle\((\w+),?(.*)\)$")


def swizzle_source(instruction: Instruction) -> list[int]:
    """For each lane, the lane it reads. The pattern is printed as a number or as `swizzle(...)`.

    Raises `UnsupportedError` for a pattern that LLVM does not name on gfx9.
    """
    text = instruction.modifiers.get("offset", "0")
    m = _CALL.match(text)
    if m is None:
        return _by_code(int(text, 0))
    kind, arguments = m[1], [a.strip() for a in m[2].split(",") if a.strip()]
    lanes = range(LANES)
    if kind == "QUAD_PERM":
        quad = [int(a, 0) for a in arguments]
        return [(n & ~3) | quad[n & 3] for n in lanes]
    if kind == "BITMASK_PERM":
        return _by_code(_bitmask(arguments[0].strip('"')))
    if kind == "BROADCAST":
        size, lane = (int(a, 0) for a in arguments)
        return [(n & ~(size - 1)) | lane for n in lanes]
    if kind == "SWAP":
        return [n ^ int(arguments[0], 0) for n in lanes]
    if kind == "REVERSE":
        return [n ^ (int(arguments[0], 0) - 1) for n in lanes]
    raise UnsupportedError(f"`{instruction}` has a swizzle pattern that the simulator does not model.")


def _by_code(code: int) -> list[int]:
    """The 16-bit pattern: quad permutation with bit 15, else and, or and xor masks within 32 lanes."""
    if code >> 15 & 1:
        return [(n & ~3) | (code >> (2 * (n & 3)) & 3) for n in range(LANES)]
    and_, or_, xor = code & 31, code >> 5 & 31, code >> 10 & 31
    return [(n & 32) | ((((n & 31) & and_) | or_) ^ xor) for n in range(LANES)]


def _bitmask(mask: str) -> int:
    """`"00pi1"`-like text, highest bit first: 0, 1, p keeps and i inverts the bit."""
    and_ = or_ = xor = 0
    for letter in mask:
        and_, or_, xor = and_ << 1 | (letter in "pi"), or_ << 1 | (letter == "1"), xor << 1 | (letter == "i")
    return and_ | or_ << 5 | xor << 10
