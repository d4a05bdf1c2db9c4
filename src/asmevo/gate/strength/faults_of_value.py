"""Faults of values: wrong registers, constants, operations, flags, lanes, modes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo.edit import Delete, Insert, Replace
from asmevo.gate.strength.code import (
    Code,
    is_numbered,
    joined,
    operand_text,
    operands,
    reads_from,
    register_name,
    registers,
    with_operand,
    with_register,
)
from asmevo.gate.strength.kind import Edits, Kind
from asmevo.isa import Reg
from asmevo.isa.registers import AGPR_BASE, VGPR_BASE
from asmevo.program import Line

_SECOND_SWAPPED = {
    "v_sub_u32": 2, "v_sub_f32": 2, "s_sub_u32": 2, "s_sub_i32": 2, "v_lshlrev_b32": 2, "v_lshrrev_b32": 2,
    "s_lshl_b32": 2, "s_lshr_b32": 2, "v_cndmask_b32": 2, "s_cselect_b32": 2, "v_cvt_pk_fp8_f32": 2,
    "v_cvt_pkrtz_f16_f32": 2, "v_perm_b32": 2, "v_pk_sub_f16": 2,
}  # fmt: skip
"""Opcodes that are another thing with their first two sources exchanged."""
_OTHER_OPCODE = (
    ("v_add_u32", "v_sub_u32"), ("v_mul_f32", "v_add_f32"), ("v_add_f32", "v_sub_f32"), ("v_max_f32", "v_min_f32"),
    ("v_pk_mul_f32", "v_pk_add_f32"), ("v_pk_add_f32", "v_pk_mul_f32"), ("v_and_b32", "v_or_b32"),
    ("v_or_b32", "v_xor_b32"), ("v_xor_b32", "v_or_b32"), ("v_lshrrev_b32", "v_ashrrev_i32"),
    ("s_add_u32", "s_sub_u32"), ("s_add_i32", "s_sub_i32"), ("s_and_b32", "s_or_b32"), ("s_lshl_b32", "s_lshr_b32"),
    ("s_min_u32", "s_max_u32"), ("s_min_i32", "s_max_i32"), ("s_mul_i32", "s_add_i32"),
    ("v_lshl_add_u32", "v_add_lshl_u32"), ("v_and_or_b32", "v_or3_b32"), ("v_fma_f32", "v_mul_f32"),
)  # fmt: skip
_COMPARISONS = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "lg", "lg": "eq", "ne": "eq"}
_BRANCHES = {"scc0": "scc1", "scc1": "scc0", "execz": "execnz", "execnz": "execz", "vccz": "vccnz", "vccnz": "vccz"}
_INPUTS = "one whose inputs differ from element to element, with large and small values"


def _wrong_register(code: Code) -> Iterator[Edits]:
    """A source is the register beside the right one."""
    for line in code.lines("[sv]_|ds_|buffer_|global_"):
        text = line.instruction.text
        for index in range(reads_from(line), len(line.instruction.operands)):
            operand = line.instruction.operands[index]
            if isinstance(operand, Reg) and is_numbered(operand) and (other := _beside(code, operand)):
                yield (Replace(line.id, with_operand(text, index, with_register(operand_text(text, index), other))),)
                break


def _beside(code: Code, operand: Reg) -> str | None:
    file, base = ("a", AGPR_BASE) if operand.is_agpr else ("s", 0) if operand.is_scalar else ("v", VGPR_BASE)
    step = operand.count if file == "s" else max(operand.count, 1) if operand.count < 2 else operand.count
    for first in (operand.first + step, operand.first - step):
        whole = set(range(first, first + operand.count))
        if first >= base and first + operand.count - base <= code.granted[file] and whole <= code.alive_reads:
            return register_name(first, operand.count)
    return None


def _wrong_immediate(code: Code) -> Iterator[Edits]:
    """A constant is one more."""
    for line in code.lines(r"[sv]_(?!waitcnt|nop|sleep|setprio|set|getreg|cbranch|branch|cmp)"):
        mnemonic, parts, tail = operands(line.instruction.text)
        for index in range(len(parts) - 1, reads_from(line) - 1, -1):
            if re.fullmatch(r"-?\d+|0x[0-9a-f]+", parts[index]):
                value = str(int(parts[index], 0) + 1)
                yield (Replace(line.id, joined(mnemonic, [*parts[:index], value, *parts[index + 1 :]], tail)),)
                break


def _wrong_bound(code: Code) -> Iterator[Edits]:
    """A comparison counts the border in, or does not; equal is unequal."""
    for line in code.lines(r"(s_cmpk?|v_cmpx?)_(lt|le|gt|ge|eq|lg|ne)_"):
        mnemonic, _, rest = line.instruction.text.partition(" ")
        head, relation, kind = re.split(r"_(lt|le|gt|ge|eq|lg|ne)_", mnemonic, maxsplit=1)
        other = _COMPARISONS[relation]
        if other == "lg" and "cmp_" in head + "_" and head.startswith("v") and "f" not in kind[:1]:
            other = "ne"
        yield (Replace(line.id, f"{head}_{other}_{kind} {rest}"),)


def _wrong_opcode(code: Code) -> Iterator[Edits]:
    others = dict(_OTHER_OPCODE)
    for line in code.lines("[sv]_"):
        if (other := others.get(line.instruction.base)) is not None:
            text = line.instruction.text
            if line.instruction.base == "v_fma_f32":
                text = ", ".join(text.split(", ")[:3])
                other = "v_mul_f32"
                text = text.replace("v_fma_f32", "v_mul_f32_e64")
                yield (Replace(line.id, text),)
                continue
            yield (Replace(line.id, text.replace(line.instruction.base, other, 1)),)


def _swapped_sources(code: Code) -> Iterator[Edits]:
    for line in code.lines("[sv]_"):
        if line.instruction.base in _SECOND_SWAPPED and line.instruction.encoding in ("", "e64"):
            mnemonic, parts, tail = operands(line.instruction.text)
            first = reads_from(line)
            if len(parts) > first + 1 and parts[first] != parts[first + 1]:
                parts[first], parts[first + 1] = parts[first + 1], parts[first]
                yield (Replace(line.id, joined(mnemonic, parts, tail)),)


def _inverted_branch(code: Code) -> Iterator[Edits]:
    for line in code.lines("s_cbranch"):
        condition = line.instruction.mnemonic.removeprefix("s_cbranch_")
        if condition in _BRANCHES:
            yield (Replace(line.id, f"s_cbranch_{_BRANCHES[condition]} L{line.target}"),)


def _exec_mask(code: Code) -> Iterator[Edits]:
    """The wrong lanes are on."""
    for line in code.lines(r"s_mov_b64 exec|s_\w+_saveexec|s_(and|or|xor|andn2)_b64 exec"):
        text = line.instruction.text
        yield (Replace(line.id, text.replace("s_and", "s_or", 1)) if "s_and_" in text else Delete((line.id,)),)
    for line in code.lines("buffer_store|global_store|v_mfma|v_cvt|v_pk_fma"):
        yield (Insert(line.id, "s_mov_b64 exec, 1"),)


def _dropped_carry(code: Code) -> Iterator[Edits]:
    for line in code.lines(r"s_(addc|subb)_u32"):
        text = line.instruction.text
        yield (Replace(line.id, text.replace("s_addc", "s_add").replace("s_subb", "s_sub")),)
    for line in code.lines(r"v_(addc|subb)_co_u32"):
        _, parts, _ = operands(line.instruction.text)
        name = "v_add_u32_e64" if "addc" in line.instruction.base else "v_sub_u32_e64"
        yield (Replace(line.id, f"{name} {parts[0]}, {parts[2]}, {parts[3]}"),)


def _clobbered_flag(code: Code) -> Iterator[Edits]:
    """SCC or VCC changes in front of the line that takes it as its carry or its condition."""
    for line in code.lines("s_addc|s_subb|s_cbranch_scc|s_cselect"):
        yield (Insert(line.id, "s_cmp_lg_u32 0, 0"),)
    for line in code.lines(r"v_(addc|subb|cndmask).*\bvcc"):
        yield (Insert(line.id, "v_cmp_lt_u32_e32 vcc, v0, v0"),)


def _clobbered_register(code: Code) -> Iterator[Edits]:
    """A register is overwritten in front of the line that reads it."""
    for line in code.lines("v_|buffer_store|global_store|ds_write"):
        for operand in line.instruction.operands[reads_from(line) :]:
            if isinstance(operand, Reg) and VGPR_BASE <= operand.first < AGPR_BASE:
                yield (Insert(line.id, f"v_mov_b32_e32 v{operand.first - VGPR_BASE}, 0x3f9d70a4"),)
                break


def _mode(code: Code) -> Iterator[Edits]:
    """Rounding toward zero and no denormals."""
    for line in code.lines(r"v_(pk_)?(mul|add|fma|fmac|sub)_f|v_cvt"):
        yield (Insert(line.id, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0x0c"),)


def _wrong_lane(code: Code) -> Iterator[Edits]:
    for line in code.lines(r"v_readlane_b32|v_writelane_b32|v_\w+_dpp|ds_swizzle|ds_bpermute"):
        text = line.instruction.text
        if m := re.match(r"(v_(?:read|write)lane_b32 .*), (\d+)$", text):
            yield (Replace(line.id, f"{m[1]}, {int(m[2]) ^ 1}"),)
        elif m := re.search(r"(?:row_newbcast|row_shr|row_ror|row_shl|row_bcast):(\d+)", text):
            other = int(m[1]) ^ 1 or 3
            yield (Replace(line.id, text[: m.start(1)] + str(other) + text[m.end(1) :]),)
        elif m := re.search(r"quad_perm:\[(\d),(\d),", text):
            yield (Replace(line.id, text[: m.start(1)] + f"{m[2]},{m[1]}," + text[m.end() :]),)
        elif m := re.search(r"ds_bpermute_b32 .* offset:(\d+)", text):
            yield (Replace(line.id, text[: m.start(1)] + str(int(m[1]) ^ 4) + text[m.end(1) :]),)


def _removed_arithmetic(code: Code) -> Iterator[Edits]:
    for line in code.lines(r"v_mfma|v_(pk_)?(mul|add|sub|fma|fmac|max|min)_f|v_(exp|rcp|rsq|log)_f32|v_dot"):
        yield (Delete((line.id,)),)


def _repeated_arithmetic(code: Code) -> Iterator[Edits]:
    for line in code.lines("v_mfma|v_pk_fma|v_fmac|v_fma_f32"):
        found = line.instruction.operands
        if (len(found) == 4 and found[0] == found[3]) or "fmac" in line.instruction.base:
            yield (Insert(line.id, line.instruction.text),)


def _removed_initialiser(code: Code) -> Iterator[Edits]:
    """A register that no line before names is not set to 0, which it may hold by luck."""
    named: set[int] = set()
    for position, line in enumerate(code.program.lines):
        if position in code.alive and re.match(r"[sv]_mov_b(32|64)(_e32)? \S+ 0$", line.instruction.text):
            units = registers(line, 0, 1) - named
            if units & code.alive_reads and all(_read_first(code, position, unit) for unit in units):
                yield (Delete((line.id,)),)
        named |= registers(line)


def _read_first(code: Code, position: int, unit: int) -> bool:
    """Whether the next line in the text that names the register reads it."""
    for line in code.program.lines[position + 1 :]:
        if unit in registers(line, reads_from(line)):
            return True
        if unit in registers(line):
            return False
    return False


def _ended_early(code: Code) -> Iterator[Edits]:
    for line in code.lines("v_mfma|buffer_store|global_store"):
        yield (Insert(line.id, "s_endpgm"),)


def _register_too_high(code: Code) -> Iterator[Edits]:
    if code.granted["v"] < 256:
        for line in code.lines("v_"):
            yield (Insert(line.id, f"v_mov_b32_e32 v{code.granted['v']}, 0"),)


def _unseen_value(code: Code) -> Iterator[Edits]:
    """A value changes that only lines read which no launch executes."""
    unseen: set[int] = set()
    for position, line in enumerate(code.program.lines):
        if position not in code.alive and line.id in code.program.block_of:
            unseen |= registers(line, reads_from(line))
    unseen -= code.alive_reads
    for line in code.lines("v_|s_(mov|add|mul|lsh|and|or)"):
        result = registers(line, 0, reads_from(line))
        at = code.program.position[line.id]
        if result and result <= unseen and any(_read_first(code, at, unit) for unit in result):
            yield (Delete((line.id,)),)


def _unreached(code: Code) -> Iterator[Edits]:
    """A register is overwritten where nothing executes it."""
    for position, line in enumerate(code.program.lines):
        if line.id not in code.program.block_of or {position - 1, position} & code.alive:
            continue
        operand = _first_numbered(line)
        if operand is not None and code.alive:
            vector = not operand.is_scalar
            text = f"{'v_mov_b32_e32' if vector else 's_mov_b32'} {register_name(operand.first, 1)}, 0x3f9d70a4"
            yield (Insert(line.id, text),)


def _first_numbered(line: Line) -> Reg | None:
    sources = line.instruction.operands[reads_from(line) :]
    return next((o for o in sources if isinstance(o, Reg) and is_numbered(o) and not o.is_agpr), None)


FAULTS_OF_VALUE = (
    Kind("wrong register", "A source is the register beside the right one.", _wrong_register, _INPUTS),
    Kind("wrong immediate", "A constant is one more.", _wrong_immediate, _INPUTS),
    Kind(
        "wrong bound", "A comparison counts its border in, or not.", _wrong_bound,
        "one at each border: sizes just below, at and just above what a tile or a workgroup covers",
    ),
    Kind("wrong opcode", "Another operation on the same operands.", _wrong_opcode, _INPUTS),
    Kind("swapped sources", "The sources of an operation are exchanged.", _swapped_sources, _INPUTS),
    Kind("inverted branch", "A branch is taken when it was not.", _inverted_branch, "one that takes the other way"),
    Kind("EXEC mask", "The wrong lanes are on.", _exec_mask, "one of a ragged size, where some lanes have no work"),
    Kind("dropped carry", "The high half of a sum ignores the carry.", _dropped_carry),
    Kind("clobbered flag", "SCC or VCC changes before it is used.", _clobbered_flag, "one that takes both ways"),
    Kind("clobbered register", "A register is overwritten before it is read.", _clobbered_register, _INPUTS),
    Kind("rounding", "Rounding and denormals are switched.", _mode, "one with denormals and sums that must round"),
    Kind("wrong lane", "A value is taken from another lane.", _wrong_lane, _INPUTS),
    Kind("removed arithmetic", "A step of the computation is gone.", _removed_arithmetic, _INPUTS),
    Kind("repeated arithmetic", "An accumulation happens twice.", _repeated_arithmetic, _INPUTS),
    Kind("removed initialiser", "A register is not set to 0 at first.", _removed_initialiser),
    Kind("early end", "The kernel stops before it stores.", _ended_early),
    Kind("register too high", "A register that is not granted.", _register_too_high),
    Kind("unseen value", "A value changes that only unexecuted lines read.", _unseen_value),
    Kind("unreached code", "A register changes where nothing executes it.", _unreached),
)  # fmt: skip
