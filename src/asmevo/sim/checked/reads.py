"""Reads of LDS that give other values than the same reads of another program: what a missing store leads to.

A store that is missing leaves what an earlier one wrote. Nothing of that is late, racy or unwritten; only the program
as it was before can tell.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from asmevo.program.program import Program
from asmevo.verdict import Finding

Reads = NDArray[np.int32]
"""[n, 4] line id, wave, workgroup and digest of the values of each read, in the order of execution."""


def first_difference(reference: Reads, reads: Reads, program: Program) -> Finding | None:
    """The first read of `program` that gives something else than the same line of the reference did at its turn.

    Reads are compared line by line for each wave, so their order within a wave does not matter.
    """
    expected: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for line, wave, workgroup, digest in reference.tolist():
        expected[line, wave, workgroup].append(digest)
    turn: dict[tuple[int, int, int], int] = defaultdict(int)
    for line, wave, workgroup, digest in reads.tolist():
        key = (line, wave, workgroup)
        known, at = expected.get(key, []), turn[key]
        turn[key] += 1
        if at < len(known) and known[at] != digest:
            return _finding(program, key, at)
    return None


def _finding(program: Program, key: tuple[int, int, int], turn: int) -> Finding:
    line, wave, workgroup = key
    message = (
        f"Line {line}, `{program.line(line).instruction}`, finds other values in LDS than before the edit, at its turn "
        f"{turn + 1} (workgroup {workgroup}, wave {wave})."
    )
    return Finding("check.lds_value", message, line=line, facts={"workgroup": workgroup, "wave": wave, "turn": turn})
