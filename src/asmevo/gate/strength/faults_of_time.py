"""Faults of order and time: waits, barriers, wait states. Most of them show in no run of a simulator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo.edit import Delete, Insert, Reorder, Replace
from asmevo.gate.strength.code import Code, is_access, reads_from, registers
from asmevo.gate.strength.kind import Edits, Kind
from asmevo.program import Line

_ALL = "s_waitcnt vmcnt(0) lgkmcnt(0)"


def _waits(code: Code) -> Iterator[Line]:
    """Waits, without one in front of the end: a wave may end with stores under way."""
    lines = code.program.lines
    for line in code.lines("s_waitcnt"):
        if lines[code.program.position[line.id] + 1].instruction.base != "s_endpgm":
            yield line


def _dropped_wait(code: Code) -> Iterator[Edits]:
    for line in _waits(code):
        yield (Delete((line.id,)),)


def _weakened_wait(code: Code) -> Iterator[Edits]:
    for line in _waits(code):
        text = line.instruction.text
        for counter, most in (("vmcnt", 62), ("lgkmcnt", 14)):
            if (m := re.search(rf"{counter}\((\d+)\)", text)) and int(m[1]) < most:
                yield (Replace(line.id, f"{text[: m.start(1)]}{int(m[1]) + 1}{text[m.end(1) :]}"),)


def _late_wait(code: Code) -> Iterator[Edits]:
    """Where the next line reads something that one of the lines in front loads."""
    for a, b in code.neighbours():
        if a.instruction.base != "s_waitcnt" or b.instruction.base.startswith("s_waitcnt"):
            continue
        position = code.program.position[a.id]
        first = code.program.blocks[code.program.block_of[a.id]].first
        loaded: set[int] = set()
        for line in code.program.lines[max(first, position - 8) : position]:
            if is_access(line, "load"):
                loaded |= registers(line, 0, 1)
        if loaded & registers(b, reads_from(b)):
            yield (Reorder((b.id, a.id)),)


def _removed_barrier(code: Code) -> Iterator[Edits]:
    for line in code.lines("s_barrier"):
        yield (Delete((line.id,)),)


def _crossed_barrier(code: Code) -> Iterator[Edits]:
    for a, b in code.neighbours():
        for one, other in ((a, b), (b, a)):
            beside = is_access(other, space="lds") or (other is a and other.instruction.base == "s_waitcnt")
            if one.instruction.base == "s_barrier" and beside:
                yield (Reorder((b.id, a.id)),)


def _smuggled_over_barrier(code: Code) -> Iterator[Edits]:
    for barrier in code.lines("s_barrier"):
        for line in code.behind(barrier):
            if line.instruction.base == "s_barrier":
                break
            if is_access(line, space="lds"):
                text = line.instruction.text
                yield (Insert(barrier.id, (text, _ALL)), Delete((line.id,)))
                break


def _nops(code: Code) -> Iterator[tuple[Line, int]]:
    for line in code.lines("s_nop"):
        yield line, int(line.instruction.text.split()[1], 0)


def _removed_nop(code: Code) -> Iterator[Edits]:
    for line, _ in _nops(code):
        yield (Delete((line.id,)),)


def _shrunk_nop(code: Code) -> Iterator[Edits]:
    for line, states in _nops(code):
        if states:
            yield (Replace(line.id, f"s_nop {states - 1}"),)


def _early_reader(code: Code) -> Iterator[Edits]:
    """Another result of the last matrix instruction of a run is read, right behind it."""
    for line in code.lines("v_mfma"):
        behind = code.behind(line)
        if not behind or behind[0].instruction.base.startswith("v_mfma") or not code.unused["v"]:
            continue
        result = min(registers(line, 0, 1))
        name = f"v{result - 256}" if result < 512 else f"a{result - 512}"
        mnemonic = "v_mov_b32_e32" if result < 512 else "v_accvgpr_read_b32"
        yield (Insert(behind[0].id, f"{mnemonic} v{code.unused['v'][0]}, {name}"),)


def _swapped_dependent(code: Code) -> Iterator[Edits]:
    for a, b in code.neighbours():
        if re.match(r"[sv]_(?!waitcnt|nop|barrier|setprio|cmp|cbranch)", a.instruction.text):
            first = reads_from(a)
            result = registers(a, 0, first) if first else set[int]()
            if result & registers(b, reads_from(b)) and not b.instruction.base.startswith("s_waitcnt"):
                yield (Reorder((b.id, a.id)),)


FAULTS_OF_TIME = (
    Kind("dropped wait", "A wait is gone.", _dropped_wait),
    Kind("weakened wait", "A wait leaves one operation more outstanding.", _weakened_wait),
    Kind("late wait", "A wait stands behind the line that reads what was loaded.", _late_wait),
    Kind("removed barrier", "Waves no longer meet.", _removed_barrier),
    Kind("crossed barrier", "An LDS access or a wait changes places with a barrier beside it.", _crossed_barrier),
    Kind("access over a barrier", "An LDS access is deleted and inserted before a barrier.", _smuggled_over_barrier),
    Kind("removed nop", "Wait states are gone.", _removed_nop),
    Kind("shrunk nop", "A wait state is missing.", _shrunk_nop),
    Kind("early reader", "A result of the matrix unit is read right behind the instruction.", _early_reader),
    Kind(
        "swapped dependent lines", "A line comes before the one whose result it reads.", _swapped_dependent,
        "one whose inputs make every intermediate result differ from the one before",
    ),
)  # fmt: skip
