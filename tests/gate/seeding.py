"""Edits of known effect, made from a program by rules that share nothing with the gate's own analyses.

Each function gives edits of one kind in program order. `alive` holds the positions that the launches execute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from asmevo.edit import Delete, Edit, Insert, Reorder, Replace
from asmevo.isa import Reg
from asmevo.program import Line, Program

SPECIAL = range(102, 256)
"""Units of the scalar registers that have names."""
Edits = tuple[Edit, ...]
Kind = Callable[[Program, frozenset[int]], Iterator[Edits]]


def spread(found: Sequence[Edits], count: int) -> list[Edits]:
    """At most `count` of them, evenly spread, the first and the last included."""
    if len(found) <= count:
        return list(found)
    return [found[round(i * (len(found) - 1) / max(count - 1, 1))] for i in range(count)]


def header(program: Program) -> int:
    """Lines of the header of fixed size that a kernel with preloaded arguments begins with."""
    return program.blocks[1].first if program.kernel.descriptor.kernarg_preload_length else 0


def editable(program: Program, executed: frozenset[int]) -> frozenset[int]:
    """Executed positions behind the header."""
    return executed - set(range(header(program)))


def lines(program: Program, alive: frozenset[int], pattern: str) -> Iterator[Line]:
    """Executed lines whose text begins with a match of the pattern."""
    for position, line in enumerate(program.lines):
        if position in alive and re.match(pattern, line.instruction.text):
            yield line


def adjacent(program: Program, alive: frozenset[int]) -> Iterator[tuple[Line, Line]]:
    """Executed neighbours inside a block, of which the second is not entered by a branch."""
    targets = {line.target for line in program.lines}
    for (i, a), (j, b) in pairwise(enumerate(program.lines)):
        same = program.block_of.get(a.id) == program.block_of.get(b.id)
        if i in alive and j in alive and same and not {a.id, b.id} & targets and a.target is b.target is None:
            yield a, b


def registers(line: Line, first: int = 0, last: int | None = None) -> set[int]:
    """Units of the printed register operands [first:last]."""
    units: set[int] = set()
    for operand in line.instruction.operands[first:last]:
        if isinstance(operand, Reg):
            units |= set(range(operand.first, operand.first + operand.count))
    return units


# wrong


def waits(program: Program, alive: frozenset[int]) -> Iterator[Line]:
    """Executed waits, without one in front of the end: a wave may end with stores under way."""
    for line in lines(program, alive, "s_waitcnt"):
        if program.lines[program.position[line.id] + 1].instruction.base != "s_endpgm":
            yield line


def dropped_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait is gone."""
    for line in waits(program, alive):
        yield (Delete((line.id,)),)


def weakened_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait for all but n becomes one for all but n + 1."""
    for line in waits(program, alive):
        if "vmcnt" not in line.instruction.text:
            continue
        text = re.sub(r"vmcnt\((\d+)\)", lambda m: f"vmcnt({int(m[1]) + 1})", line.instruction.text)
        yield (Replace(line.id, text),)


def late_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait changes places with what it waits for: the next line, which reads what was loaded."""
    for a, b in adjacent(program, alive):
        if a.instruction.base == "s_waitcnt" and re.match("v_mfma|ds_write", b.instruction.text):
            yield (Reorder((b.id, a.id)),)


def swapped_dependent(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Neighbours of which the second reads what the first computes."""
    for a, b in adjacent(program, alive):
        if re.match("[sv]_(add|mul|lsh|and|or|xor|mov|mfma|pk)", a.instruction.text):
            result = registers(a, 0, 1)
            if result & registers(b, 1) and not b.instruction.base.startswith("s_waitcnt"):
                yield (Reorder((b.id, a.id)),)


def wrong_offset(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A memory access is one element off."""
    for line in lines(program, alive, "ds_|buffer_"):
        text = line.instruction.text
        if m := re.search(r"offset[01]?:(\d+)", text):
            step = 1 if "2st64" in text else 16
            yield (Replace(line.id, text[: m.start(1)] + str(int(m[1]) + step) + text[m.end(1) :]),)
        elif re.match(r"ds_(read|write)_b|buffer_(load|store)", text):
            dma = text.endswith(" lds")
            yield (Replace(line.id, text.removesuffix(" lds") + " offset:16" + " lds" * dma),)


def removed_store(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Results are not stored, or not handed on in LDS."""
    for line in lines(program, alive, "buffer_store|ds_write"):
        yield (Delete((line.id,)),)


def removed_load(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A load is gone."""
    for line in lines(program, alive, "buffer_load|ds_read"):
        yield (Delete((line.id,)),)


def removed_barrier(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Waves no longer meet. No run of the simulator shows this."""
    for line in lines(program, alive, "s_barrier"):
        yield (Delete((line.id,)),)


def removed_arithmetic(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A step of the computation is gone."""
    for line in lines(program, alive, "v_mfma|v_pk_(mul|fma)|v_mul_f32|v_fma_f32"):
        yield (Delete((line.id,)),)


def repeated_arithmetic(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """An accumulation happens twice."""
    for line in lines(program, alive, "v_mfma|v_pk_fma"):
        operands = line.instruction.operands
        if operands[0] == operands[3]:
            yield (Insert(line.id, line.instruction.text),)


def exec_changed(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """The wrong lanes are on."""
    for line in lines(program, alive, "s_mov_b64 exec|s_and_saveexec"):
        if "saveexec" in line.instruction.text:
            yield (Replace(line.id, line.instruction.text.replace("s_and", "s_or")),)
        else:
            yield (Delete((line.id,)),)
    for line in lines(program, alive, "buffer_store|v_mfma|v_cvt"):
        yield (Insert(line.id, "s_mov_b64 exec, 1"),)


def clobbered(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A register is overwritten in front of the line that reads it."""
    for line in lines(program, alive, "v_pk|v_mul|v_add|buffer_store|ds_write"):
        sources = [o for o in line.instruction.operands[1:] if isinstance(o, Reg) and not o.is_scalar and not o.is_agpr]
        if sources:
            yield (Insert(line.id, f"v_mov_b32_e32 v{sources[0].first - 256}, 0x3f9d70a4"),)


def wrong_constant(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """An inline constant or literal is one more."""
    for line in lines(program, alive, r"(s_cmp|s_lshl|v_lshl|v_cmp)\S* "):
        if m := re.search(r", (0x[0-9a-f]+|\d+)(?=,|$)", line.instruction.text):
            text = line.instruction.text
            yield (Replace(line.id, f"{text[: m.start(1)]}{int(m[1], 0) + 1}{text[m.end(1) :]}"),)


def inverted_branch(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A branch is taken when it was not."""
    pairs = {"scc0": "scc1", "scc1": "scc0", "execz": "execnz", "execnz": "execz", "vccz": "vccnz", "vccnz": "vccz"}
    for line in lines(program, alive, "s_cbranch"):
        if program.lines[program.position[line.id] - 1].instruction.text == "s_cmp_lt_i32 s7, 2":
            continue  # AMD's kernel holds the same work twice, in another order, for the halves of a workgroup
        condition = line.instruction.mnemonic.removeprefix("s_cbranch_")
        yield (Replace(line.id, f"s_cbranch_{pairs[condition]} L{line.target}"),)


def dropped_carry(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """The carry of a 64-bit address is ignored."""
    for line in lines(program, alive, "s_addc_u32|v_addc_co_u32"):
        text = line.instruction.text
        if text.startswith("s_addc"):
            yield (Replace(line.id, text.replace("s_addc", "s_add")),)


def shifted_lane(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A value is taken from another lane."""
    for line in lines(program, alive, r"v_readlane_b32|v_\w+_dpp"):
        text = line.instruction.text
        if m := re.match(r"(v_readlane_b32 .*), (\d+)$", text):
            yield (Replace(line.id, f"{m[1]}, {int(m[2]) ^ 1}"),)
        elif m := re.search(r"row_newbcast:(\d+)", text):
            yield (Replace(line.id, text[: m.start(1)] + str(int(m[1]) ^ 1) + text[m.end(1) :]),)


def shrunk_distance(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """The result of a matrix instruction is read too soon. Program order is unchanged in meaning: no run shows this."""
    for line in lines(program, alive, "s_nop"):
        if int(line.instruction.text.split()[1]) >= 2:
            yield (Replace(line.id, "s_nop 0"),)
    for position, line in enumerate(program.lines):
        block = program.block_of.get(line.id)
        if position not in alive or block is None or not line.instruction.text.startswith("v_mul_f32_dpp"):
            continue
        first = program.blocks[block].first
        run = [x.id for x in program.lines[first:position]]
        reads = {x.instruction.text.split()[0] for x in program.lines[first:position]}
        if run and reads == {"v_mul_f32_dpp"} and position - first >= 28:
            yield (Reorder((line.id, *run)),)


def bound_off_by_one(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """One row too many counts as valid."""
    for line in lines(program, alive, "s_cmp_lt_u32 s82, s66"):
        yield (Replace(line.id, line.instruction.text.replace("_lt_", "_le_")),)
    for line in lines(program, alive, r"v_cmp_gt_i32_e64 s\[\d+:\d+\], s"):
        yield (Replace(line.id, line.instruction.text.replace("_gt_", "_ge_")),)


def unreached(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Another constant where nothing executes it, or new code that gives the line behind it another value."""
    for position, line in enumerate(program.lines):
        reached = line.id in program.block_of and not {position - 1, position} & alive
        sources = [o for o in line.instruction.operands[1:] if isinstance(o, Reg) and not o.is_agpr]
        if position > header(program) and reached and sources and sources[0].first not in SPECIAL:
            vector = not sources[0].is_scalar
            name = f"v{sources[0].first - 256}" if vector else f"s{sources[0].first}"
            yield (Insert(line.id, f"{'v_mov_b32_e32' if vector else 's_mov_b32'} {name}, 0x3f9d70a4"),)
        elif reached and re.match(r"v_mov_b32_e32 v\d+, 0$", line.instruction.text):
            yield (Replace(line.id, f"{line.instruction.text}x3f9d70a4"),)


def register_too_high(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A register that the descriptor does not grant."""
    for line in lines(program, alive, "v_mfma"):
        yield (Insert(line.id, "v_mov_b32_e32 v251, 0"),)


def mode_changed(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Rounding or denormals are switched."""
    for line in lines(program, alive, "v_pk_mul|v_mul_f32"):
        yield (Insert(line.id, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0x0c"),)


def ended_early(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """The kernel stops before it stores."""
    for line in lines(program, alive, "v_mfma|buffer_store"):
        yield (Insert(line.id, "s_endpgm"),)


def crossed_barrier(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """An LDS access changes places with a barrier beside it. No run of the simulator need show this."""
    for a, b in adjacent(program, alive):
        texts = a.instruction.text, b.instruction.text
        if (texts[0] == "s_barrier" and texts[1].startswith("ds_")) or (
            texts[1] == "s_barrier" and texts[0].startswith("s_waitcnt")
        ):
            yield (Reorder((b.id, a.id)),)


def next_use(program: Program, position: int, unit: int) -> Line | None:
    """The first line behind, in the order of the text, that names a unit, if it reads it: not as its first operand."""
    for line in program.lines[position + 1 :]:
        first = 0 if re.match("s_cmp|v_cmpx?_.*_e32|buffer_store|ds_write|global_store", line.instruction.text) else 1
        if unit in registers(line, first):
            return line
        if unit in registers(line):
            return None
    return None


def removed_initialiser(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A scalar that no line before names is not set to 0, which it may hold by luck."""
    named = set[int]()
    for position, line in enumerate(program.lines):
        if position in alive and re.match(r"s_mov_b(32|64) s\S+ 0$", line.instruction.text):
            units = registers(line, 0, 1) - named
            if any(next_use(program, position, unit) for unit in units):
                yield (Delete((line.id,)),)
        named |= registers(line)


def clobbered_flag(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """SCC or VCC changes between the line that sets it and the one that takes it as its carry or its condition."""
    for line in lines(program, alive, "s_addc|s_subb|s_cbranch_scc"):
        yield (Insert(line.id, "s_cmp_lg_u32 0, 0"),)
    for line in lines(program, alive, r"v_(addc|subb).*\bvcc"):
        yield (Insert(line.id, "v_cmp_lt_u32_e32 vcc, v0, v0"),)


def unseen_reader(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A value changes that only lines read which no launch executes."""
    read = [set[int](), set[int]()]
    for position, line in enumerate(program.lines):
        if line.id in program.block_of:
            stores = re.match("s_cmp|v_cmp|buffer_store|ds_write|global_store", line.instruction.text)
            read[position in alive] |= registers(line, 0 if stores else 1)
    unseen = read[False] - read[True]
    for line in lines(program, alive, "v_|s_(mov|add|mul|lsh|and|or)"):
        result = registers(line, 0, 1)
        at = program.position[line.id]
        if result and result <= unseen and any(next_use(program, at, unit) for unit in result):
            yield (Delete((line.id,)),)


def smuggled_over_barrier(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """An LDS access crosses a barrier, written as a deletion and an insertion: no run of the simulator need show it."""
    for barrier in lines(program, alive, "s_barrier"):
        at = program.position[barrier.id]
        block = program.blocks[program.block_of[barrier.id]]
        for line in program.lines[at + 1 : block.last]:
            if re.match("s_barrier", line.instruction.text):
                break
            if re.match("ds_(read|write)", line.instruction.text):
                text = line.instruction.text
                yield (Insert(barrier.id, (text, "s_waitcnt vmcnt(0) lgkmcnt(0)")), Delete((line.id,)))
                yield (Delete((line.id,)), Insert(barrier.id, (text, "s_waitcnt vmcnt(0) lgkmcnt(0)")))
                break


WRONG: tuple[Kind, ...] = (
    dropped_wait, weakened_wait, late_wait, swapped_dependent, wrong_offset, removed_store, removed_load,
    removed_barrier, removed_arithmetic, repeated_arithmetic, exec_changed, clobbered, wrong_constant, inverted_branch,
    dropped_carry, shifted_lane, shrunk_distance, bound_off_by_one, unreached, register_too_high, mode_changed,
    ended_early, crossed_barrier, removed_initialiser, clobbered_flag, unseen_reader, smuggled_over_barrier,
)  # fmt: skip

# legal


def stronger_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait waits for everything."""
    for line in lines(program, alive, r"s_waitcnt .*\([1-9]"):
        yield (Replace(line.id, "s_waitcnt vmcnt(0) lgkmcnt(0)"),)


def additional_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait where none is needed."""
    for line in lines(program, alive, "v_add|v_mfma|v_pk_mul"):
        yield (Insert(line.id, "s_waitcnt vmcnt(0) lgkmcnt(0)"),)


def repeated_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait twice."""
    for line in waits(program, alive):
        yield (Insert(line.id, line.instruction.text),)


def earlier_wait(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A wait passes the arithmetic in front of it."""
    for a, b in adjacent(program, alive):
        if b.instruction.base == "s_waitcnt" and re.match(r"v_(?!mfma)|s_(add|mul|lsh|mov_b32)", a.instruction.text):
            yield (Reorder((b.id, a.id)),)


def additional_nop(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Time passes."""
    for line in lines(program, alive, "v_mfma|v_add|s_add|buffer_load|ds_read"):
        yield (Insert(line.id, "s_nop 3"),)


def longer_nop(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """More time passes."""
    for line in lines(program, alive, "s_nop"):
        yield (Replace(line.id, "s_nop 15"),)


def swapped_independent(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """Integer neighbours that share no register, far from matrix instructions, loads and the scalar results of VALU."""
    simple = r"(v_(add|lshlrev|lshrrev|and|or|xor|mov)(_u32|_b32)_e32|s_(mul_i32|mov_b32)) "
    position = program.position
    for a, b in adjacent(program, alive):
        if not (re.match(simple, a.instruction.text) and re.match(simple, b.instruction.text)):
            continue
        if any(re.search(r"\b(vcc|exec|m0)", x.instruction.text) for x in (a, b)):
            continue
        if registers(a, 0, 1) & registers(b) or registers(b, 0, 1) & registers(a):
            continue
        at = position[a.id]
        near = program.lines[max(at - 20, 0) : at + 22]
        if not any(
            re.match("v_mfma|buffer_|ds_|global_|v_readlane|v_readfirst|v_cmp", x.instruction.text) for x in near
        ):
            yield (Reorder((b.id, a.id)),)


def swapped_operands(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """a + b becomes b + a, in integers."""
    for line in lines(program, alive, r"v_(add_u32|xor_b32|or_b32|and_b32)_e32 v\d+, v\d+, v\d+$"):
        head, one, other = line.instruction.text.rsplit(", ", 2)
        if one != other:
            yield (Replace(line.id, f"{head}, {other}, {one}"),)


def dead_write(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """A VGPR is written that the next line overwrites."""
    for line in lines(program, alive, r"v_(add_u32|lshlrev_b32|and_b32|xor_b32)_e32 v"):
        (unit,) = registers(line, 0, 1)
        if unit not in registers(line, 1):
            yield (Insert(line.id, f"v_mov_b32_e32 v{unit - 256}, 7"),)


def unused_scalar_register(program: Program, alive: frozenset[int]) -> Iterator[Edits]:
    """An SGPR that nothing reads is written."""
    used = set().union(*(registers(line) for line in program.lines))
    free = next(n for n in range(40, 96) if n not in used)
    for line in lines(program, alive, "v_mfma|s_add|ds_read"):
        yield (Insert(line.id, f"s_mov_b32 s{free}, 5"),)


LEGAL: tuple[Kind, ...] = (
    stronger_wait, additional_wait, repeated_wait, earlier_wait, additional_nop, longer_nop, swapped_independent,
    swapped_operands, dead_write, unused_scalar_register,
)  # fmt: skip
