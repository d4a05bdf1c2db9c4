"""What one access of a wave asks of LDS banks or of cache lines, by where the data of its lanes lie.

Of memory it asks for lines of 128 bytes, each of them once: how its lanes are grouped, and which lines the L1 can look
up together, is not published.

LDS has 32 banks of one dword. A wave's access is served group of lanes by group of lanes. Lanes of a group that want
different dwords of one bank need a pass each; lanes that want the same dword share one. The groups of `ds_read_b64` and
`ds_read_b128` were measured on MI300 (tingqli/pyhip, tests/bank-conflict; the latter also in AMD's article "Avoiding
LDS Bank Conflicts"), those of `ds_write_b128` are in the documentation of AMD's CK-Tile. Those of `ds_read_b96` and
`ds_write_b64` were measured on MI355X (HazyResearch/HipKittens, analysis of phases) and are taken to be the same on
CDNA3, whose `ds_read_b128` has them. One dword a lane takes half a wave, as on GCN; with that the strides that pyhip
measured come out right. Not published and assumed: that a write of three dwords goes like one of four, that an
instruction with two addresses makes two accesses, that atomics of several lanes on one dword take a pass each, and that
passes add to the clocks of a write, which even without them is slower than its banks.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any, Final

import numpy as np

from asmevo.isa import Instruction, MemoryRow, Space, row_of
from asmevo.timing.compiled import c_array, c_function, compiled
from asmevo.timing.shape import LANES

BANKS: Final = 32
NO_ACCESS: Final = -1

_IN_TURN: Final = tuple(range(LANES))
_CROSSED: Final = tuple(
    chain.from_iterable(
        range(half + first, half + first + 4)
        for half in (0, 32)
        for pair in ((0, 20), (4, 16), (8, 28), (12, 24))
        for first in pair
    )
)
"""Groups of eight lanes: {0-3, 20-23}, {4-7, 16-19}, {8-11, 28-31}, {12-15, 24-27}, and the same 32 lanes further."""

ORDERS: Final = np.array([_IN_TURN, _CROSSED], np.int64)
"""[order, 64] Lanes, those of a group side by side."""
ACCESSES: Final = np.array(
    [
        # row of ORDERS, lanes of a group, dwords of a lane, whether lanes share a pass for the same dword
        (0, 32, 1, 1),
        (0, 16, 2, 1),
        (1, 8, 3, 1),
        (1, 8, 4, 1),
        (0, 32, 1, 1),
        (0, 16, 2, 1),
        (0, 8, 3, 1),
        (0, 8, 4, 1),
        (0, 32, 1, 0),
        (0, 16, 2, 0),
    ],
    np.int64,
)
"""Kinds of accesses: reads of 1 to 4 dwords a lane, writes of 1 to 4, atomics of 1 and 2."""
_FIRST: Final = {"load": 0, "store": 4, "atomic": 8}
LINE_BYTES: Final = 128
"""Of a line of the L1 and of the L2 (ROCm, GPU architecture specifications)."""
DWORDS: Final = LINE_BYTES // 4
MEMORY_ACCESS: Final = len(ACCESSES)
"""The kind of an access to memory, less the bytes of a lane."""
LINES: Final = 2 * LANES
"""Most lines of an access: the data of a lane lie in two at most."""
SCRATCH: Final = 2 * LINES
"""Words of room: a group asks for at most one dword of each bank, and for lines there are their numbers and masks."""
COLUMNS: Final = 4
"""Of notes: kind, passes or lines, executions, lines as a whole."""


def kind_of(instruction: Instruction) -> int:
    """Row of `ACCESSES` for an LDS instruction, `MEMORY_ACCESS` and bytes for a vector instruction that uses memory,
    `NO_ACCESS` for any other."""
    row = row_of(instruction)
    if isinstance(row, MemoryRow) and row.space in (Space.BUFFER, Space.GLOBAL, Space.FLAT):
        return MEMORY_ACCESS + row.size
    if not isinstance(row, MemoryRow) or row.space is not Space.LDS:
        return NO_ACCESS
    return _FIRST[row.kind] + max(1, row.size // 4) - 1


@compiled
def extra_passes(kind: int, places: Any, active: int, room: Any) -> int:
    """Passes of an access beyond the one that each group of lanes takes anyhow.

    `kind` is a row of `ACCESSES`; the data of lane i begin at byte `places[i]`; bit i of `active` says whether it takes
    part; `room` is `SCRATCH` words to work in.
    """
    order, lanes, dwords, shares = ACCESSES[kind]
    extra = 0
    for first in range(0, LANES, lanes):
        used, words, passes = 0, 0, 0
        for i in range(first, first + lanes):
            lane = ORDERS[order, i]
            if (active >> lane) & 1 == 0:
                continue
            start = places[lane] >> 2
            for word in range(start, start + dwords):
                bank = 1 << (word & (BANKS - 1))
                wanted = 1
                if used & bank:
                    for j in range(words):
                        if shares and room[j] == word:
                            wanted = 0
                            break
                        if (room[j] ^ word) & (BANKS - 1) == 0:
                            wanted += 1
                if wanted:
                    used |= bank
                    room[words] = word
                    words += 1
                    passes = max(passes, wanted)
        extra += max(passes - 1, 0)
    return extra


@compiled
def touched_lines(size: int, places: Any, active: int, room: Any) -> tuple[int, int]:
    """Different lines in which the active lanes have any of the `size` bytes from their place on, and how many of them
    they have as a whole. Operands as in `extra_passes`."""
    lines = 0
    for lane in range(LANES):
        if (active >> lane) & 1 == 0:
            continue
        first, last = places[lane] >> 2, (places[lane] + size - 1) >> 2
        for word in range(first, last + 1):
            line = word // DWORDS
            at = lines - 1
            while at >= 0 and room[at] != line:
                at -= 1
            if at < 0:
                at = lines
                room[at], room[LINES + at] = line, 0
                lines += 1
            room[LINES + at] |= 1 << (word % DWORDS)
    whole = 0
    for at in range(lines):
        if room[LINES + at] == (1 << DWORDS) - 1:
            whole += 1
    return lines, whole


def _note(notes: Any, position: int, slot: int, places: Any, active: int) -> None:
    """Count an access; an `asmevo.sim.AccessHook`. Notes are `SCRATCH` words and `COLUMNS` for each position."""
    row = c_array(notes, SCRATCH + COLUMNS * (position + 1))[SCRATCH + COLUMNS * position :]
    if row[0] == NO_ACCESS:
        return
    lanes, room = c_array(places, LANES), c_array(notes, SCRATCH)
    if row[0] >= MEMORY_ACCESS:
        lines, whole = touched_lines(row[0] - MEMORY_ACCESS, lanes, active, room)
        row[1] += lines
        row[3] += whole
    else:
        row[1] += extra_passes(row[0], lanes, active, room)
    if slot == 0:
        row[2] += 1


@cache
def hook_function() -> int:
    """Host address of `_note` in C."""
    return c_function(_note, "void(CPointer(int64), int64, int64, CPointer(int64), int64)")
