"""Recovering programs, rebuilding objects, and the independent check of what was rebuilt."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Insert, Reorder, Replace, apply_all
from asmevo.isa import Toolchain
from asmevo.program import EntryError, Program, check_rebuild, encode, rebuild, recover
from asmevo.verdict import InputError, UnsupportedError, Verdict
from small_objects import LOOP, build, loop_object

TWO_ENTRIES = "s_load_dword s8, s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_branch 1f\n .fill 60, 4, 0xbf800000\n1:\n" + (
    LOOP.replace("1:", "3:").replace("1b", "3b")
)
"""A kernel whose arguments are preloaded: 256 bytes that load them for firmware that does not, then the code."""
POINTER = "    .data\n    .globl table\ntable:\n    .quad k0\n"


def decoded_by_objdump(data: bytes, folder: Path) -> list[tuple[str, int]]:
    """(text, address) of each instruction as llvm-objdump sees the file; branches with their target address."""
    file = folder / "k.co"
    file.write_bytes(data)
    tools = Toolchain.find()
    answer = tools.run("llvm-objdump", "-d", "-z", "-j", ".text", "--symbolize-operands", str(file))
    assert answer.returncode == 0, answer.stderr
    assert not tools.run("llvm-readelf", "-aW", str(file)).stderr
    found: list[tuple[str, int]] = []
    labels: dict[str, int] = {}
    pending: list[str] = []
    for line in answer.stdout.decode().splitlines():
        if m := re.match(r"(?:[0-9a-f]{16} )?<(\S+)>:", line):
            pending.append(m[1])
        elif m := re.match(r"\t(\S.*?)\s*// ([0-9A-F]+):", line):
            found.append((m[1], int(m[2], 16)))
            labels.update(dict.fromkeys(pending, int(m[2], 16)))
            pending.clear()
    return [(re.sub(r"\S+$", lambda m: hex(labels[m[0]]) if m[0] in labels else m[0], text), at) for text, at in found]


def expected(program: Program, addresses: Sequence[int]) -> list[tuple[str, int]]:
    """What llvm-objdump should print of a program whose lines are at these addresses."""
    at = {line.id: address for line, address in zip(program.lines, addresses, strict=True)}
    return [
        (
            line.instruction.text if line.target is None else f"{line.instruction.mnemonic} {at[line.target]:#x}",
            at[line.id],
        )
        for line in program.lines
    ]


def checked(program: Program) -> bytes:
    """The rebuilt object, after `check_rebuild` found nothing."""
    data = rebuild(program)
    check = check_rebuild(program, data)
    assert check.verdict is Verdict.TESTED, check.findings
    assert check.facts["lines"] == len(program.lines)
    return data


@pytest.fixture(params=["small", "two kernels", "debug", "gfx950", "preload", "pointer", "fp8_gemm"])
def obj(request, fp8_gemm_bytes) -> CodeObject:
    return CodeObject.parse(
        {
            "small": lambda: build(LOOP),
            "two kernels": lambda: build(LOOP, LOOP),
            "debug": lambda: build(LOOP, debug=True),
            "gfx950": lambda: build(LOOP, target="gfx950"),
            "preload": lambda: build(TWO_ENTRIES, preload=2),
            "pointer": lambda: build(LOOP, extra=POINTER),
            "fp8_gemm": lambda: fp8_gemm_bytes,
        }[request.param]()
    )


class TestRecover:
    def test_every_byte_is_in_a_line(self, obj):
        program = recover(obj, obj.kernels[0].name)
        assert b"".join(line.words or b"" for line in program.lines) == obj.text_bytes
        assert [line.id for line in program.lines] == list(range(len(program.lines)))

    def test_targets_and_blocks(self):
        program = recover(loop_object())
        assert {x.id: x.target for x in program.lines if x.target is not None} == {10: 5, 12: 14}
        assert [(b.first, b.last, b.successors) for b in program.blocks] == [
            (0, 5, (1,)),
            (5, 11, (2, 1)),
            (11, 13, (3, 4)),
            (13, 14, (4,)),
            (14, 16, ()),
        ]
        assert program.block_of[9] == 1

    def test_code_behind_the_end_is_no_block(self):
        program = recover(CodeObject.parse(build("s_branch 1f\n s_nop 7\n1:\n s_endpgm\n s_nop 3\n s_nop 4")))
        assert [(b.first, b.last, b.successors) for b in program.blocks] == [(0, 1, (1,)), (2, 3, ())]

    def test_second_kernel(self):
        obj = CodeObject.parse(build(LOOP, LOOP))
        program = recover(obj, "k1")
        assert program.entry > 16 and program.blocks[0].first == program.position[program.entry]

    def test_branch_into_nowhere(self):
        for code in ("s_branch 100\n s_endpgm", "s_branch 1\n s_mov_b32 s0, 0x12345678\n s_endpgm"):
            with pytest.raises(InputError, match="where no instruction begins"):
                recover(CodeObject.parse(build(code)))

    def test_computed_jump_has_no_blocks(self):
        program = recover(CodeObject.parse(build("s_getpc_b64 s[2:3]\n s_setpc_b64 s[2:3]\n s_endpgm")))
        with pytest.raises(UnsupportedError, match="computed address"):
            _ = program.blocks


class TestRebuild:
    def test_no_edit_gives_the_file(self, obj):
        for kernel in obj.kernels:
            program = recover(obj, kernel.name)
            assert rebuild(program) == obj.data
            assert check_rebuild(program, obj.data).verdict is Verdict.TESTED

    @pytest.mark.parametrize("edit", [Insert(5, "s_nop 2"), Insert(8, "v_add_u32_e32 v2, 0x1234567, v2")])
    def test_insertion_in_a_loop(self, edit, tmp_path):
        program = apply_all(recover(loop_object()), [edit])
        data = checked(program)
        found = decoded_by_objdump(data, tmp_path)
        assert found == expected(program, [at for _, at in found])
        again = recover(CodeObject.parse(data))
        assert [x.instruction.base for x in again.lines] == [x.instruction.base for x in program.lines]

    @pytest.mark.parametrize("count", [1, 2, 3, 500, 900, 1000, 1024, 1025, 5000])
    def test_growth(self, count, tmp_path):
        """From what fits behind .text to several pages; nothing but .text may change its content."""
        obj = loop_object()
        program = Insert(13, ("s_nop 5",) * count).apply(recover(obj))[0]
        data = checked(program)
        found = decoded_by_objdump(data, tmp_path)
        assert found == expected(program, [at for _, at in found])
        new = CodeObject.parse(data)
        assert new.text.size == obj.text.size + 4 * count
        loads = sorted((s.address, s.address + s.memory_size) for s in new.segments if s.type == 1)
        assert all(a[1] <= b[0] for a, b in pairwise(loads))
        assert all(s.offset % s.align == s.address % s.align for s in new.segments if s.type == 1)
        low, image = new.load_image()
        assert image[new.text.address - low :][: new.text.size] == new.text_bytes
        assert {s.name: s.size for s in new.symbols}["k0"] == new.text.size

    @pytest.mark.parametrize("count", [1, 1100])
    @pytest.mark.parametrize(
        "flags",
        [
            ("--no-rosegment",),
            ("-z", "separate-code"),
            ("-z", "max-page-size=65536"),
            ("-z", "norelro"),
            ("--omagic",),
            ("--strip-all",),
        ],
    )
    def test_growth_in_other_layouts(self, count, flags):
        extra = "    .data\n    .globl d\nd:\n    .quad 5\n    .bss\n    .globl b\nb:\n    .zero 5000\n"
        obj = CodeObject.parse(build(LOOP, extra=extra, link=flags))
        assert rebuild(recover(obj)) == obj.data
        new = CodeObject.parse(checked(Insert(13, ("s_nop 5",) * count).apply(recover(obj))[0]))
        data = next(s for s in new.symbols if s.name == "d")
        low, image = new.load_image()
        assert image[data.value - low :][:8] == (5).to_bytes(8, "little")

    def test_shrinking(self, tmp_path):
        program = Delete((4, 13)).apply(recover(loop_object()))[0]
        data = checked(program)
        assert len(data) == len(loop_object().data)
        found = decoded_by_objdump(data, tmp_path)
        assert found == expected(program, [at for _, at in found])

    def test_permutation_keeps_the_size(self):
        obj = loop_object()
        program = Reorder((2, 0, 1)).apply(recover(obj))[0]
        data = checked(program)
        assert len(data) == len(obj.data)
        assert CodeObject.parse(data).kernel().entry == obj.kernel().entry

    def test_edits_of_the_gemm(self, fp8_gemm_bytes, tmp_path):
        program = recover(CodeObject.parse(fp8_gemm_bytes))
        loop = next(x for x in program.lines if x.target is not None and x.target < x.id)
        edits: list[Edit] = [Insert(loop.target or 0, ("s_nop 0",) * 3000), Replace(loop.id - 1, "s_nop 0")]
        program = apply_all(program, edits)
        found = decoded_by_objdump(checked(program), tmp_path)
        assert found == expected(program, [at for _, at in found])

    def test_other_kernels_keep_their_alignment(self, tmp_path):
        program = Insert(5, "s_nop 3").apply(recover(CodeObject.parse(build(LOOP, LOOP)), "k0"))[0]
        new = CodeObject.parse(checked(program))
        assert [k.entry % 256 for k in new.kernels] == [0, 0]
        assert (
            recover(new, "k1").line(recover(new, "k1").entry).instruction.text == "s_load_dwordx2 s[2:3], s[0:1], 0x0"
        )

    def test_debug_sections_are_emptied_when_lines_move(self):
        obj = CodeObject.parse(build(LOOP, debug=True))
        program = Insert(5, "s_nop 3").apply(recover(obj))[0]
        data = rebuild(program)
        check = check_rebuild(program, data)
        assert check.verdict is Verdict.TESTED
        assert {f.rule for f in check.findings} == {"rebuild.debug"}
        assert all(s.size == 0 for s in CodeObject.parse(data).sections if s.name.startswith(".debug"))
        same_place = Replace(3, "s_waitcnt vmcnt(3)").apply(recover(obj))[0]
        assert check_rebuild(same_place, rebuild(same_place)).findings == ()

    def test_encode_fills_words(self):
        program = apply_all(recover(loop_object()), [Insert(5, "s_nop 2"), Insert(5, "s_branch L9")])
        full = encode(program)
        assert all(x.words is not None for x in full.lines)
        assert encode(full) is full
        assert rebuild(full) == rebuild(program)


class TestRefusals:
    def test_code_that_computes_addresses(self):
        code = "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 8\n s_nop 0\n s_nop 1\n s_endpgm"
        program = recover(CodeObject.parse(build(code)))
        with pytest.raises(InputError, match="computes with code addresses"):
            rebuild(Insert(3, "s_nop 0").apply(program)[0])
        checked(Replace(2, "s_nop 3").apply(program)[0])

    def test_preload_without_a_second_entry(self):
        """Nothing is where firmware would enter: the object is kept, and nothing in it moves."""
        program = recover(CodeObject.parse(build("s_nop 1\n s_endpgm", preload=2)))
        assert checked(program) == program.source.data
        assert checked(Replace(0, "s_nop 2").apply(program)[0])
        with pytest.raises(EntryError, match="kernarg preload"):
            rebuild(Insert(1, "s_nop 0").apply(program)[0])

    def test_preload_header_keeps_its_size(self):
        program = recover(CodeObject.parse(build(TWO_ENTRIES, preload=2)))
        assert program.line(2).target == 63
        for edit in (Insert(63, "s_nop 0"), Insert(70, "s_nop 0"), Reorder((64, 63)), Delete((63,))):
            checked(edit.apply(program)[0])
        for edit in (Insert(1, "s_nop 0"), Delete((5,)), Insert(63, "s_nop 0", fallthrough=True)):
            with pytest.raises(InputError, match="second entry"):
                rebuild(edit.apply(program)[0])

    def test_first_line_of_another_kernel(self):
        """The next line is its first then; with none behind it, the kernel has no place."""
        program = recover(CodeObject.parse(build(LOOP, LOOP)), "k0")
        other = recover(program.source, "k1").entry
        new = CodeObject.parse(checked(Delete((other,)).apply(program)[0]))
        assert recover(new, "k1").line(recover(new, "k1").entry).instruction == program.line(other + 1).instruction
        program = recover(CodeObject.parse(build(LOOP, "s_nop 1\n s_endpgm")), "k0")
        other = recover(program.source, "k1").entry
        with pytest.raises(EntryError, match="first line of the kernel k1"):
            rebuild(Delete((other, other + 1)).apply(program)[0])

    def test_text_that_does_not_assemble(self):
        with pytest.raises(InputError, match="`v_frobnicate v1` does not assemble for gfx942"):
            rebuild(Insert(5, "v_frobnicate v1").apply(recover(loop_object()))[0])


class TestCheck:
    """Every kind of damage to a rebuilt object is found."""

    @pytest.fixture
    def edited(self) -> tuple[Program, bytes]:
        program = Insert(5, ("s_nop 5",) * 1500).apply(recover(loop_object()))[0]
        return program, rebuild(program)

    @pytest.mark.parametrize(
        "section",
        [".text", ".note", ".rodata", ".dynsym", ".dynstr", ".hash", ".gnu.hash", ".dynamic", ".symtab", ".strtab"],
    )
    def test_any_byte_of_a_section(self, edited, section):
        program, data = edited
        home = CodeObject.parse(data).section(section)
        for at in range(home.offset, home.offset + home.size, max(home.size // 40, 1)):
            raw = bytearray(data)
            raw[at] ^= 0x41
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED, (
                f"byte {at - home.offset} of {section}"
            )

    @pytest.mark.parametrize("behind", [b"\0", b"\1", bytes(4096)])
    def test_bytes_behind_the_end(self, edited, behind):
        program, data = edited
        check = check_rebuild(program, data + behind)
        assert (check.verdict, check.findings[-1].rule) == (Verdict.REFUTED, "rebuild.gap")

    @pytest.mark.parametrize("field", ["sh_addr", "sh_offset", "sh_size", "p_offset", "p_vaddr", "p_filesz", "e_flags"])
    def test_header_fields(self, edited, field):
        program, data = edited
        new = CodeObject.parse(data)
        table = int.from_bytes(data[40:48], "little")
        text = new.sections.index(new.text)
        code = next(i for i, s in enumerate(new.segments) if s.type == 1 and s.flags & 1)
        at = {
            "sh_addr": table + 64 * text + 16,
            "sh_offset": table + 64 * text + 24,
            "sh_size": table + 64 * text + 32,
            "p_offset": 64 + 56 * code + 8,
            "p_vaddr": 64 + 56 * code + 16,
            "p_filesz": 64 + 56 * code + 32,
            "e_flags": 48,
        }[field]
        for change in (4, 0x10):
            raw = bytearray(data)
            raw[at + 1 if field == "e_flags" else at] ^= change
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED

    def test_another_program(self, edited):
        program, data = edited
        for edit in (Insert(9, "s_nop 1"), Delete((9,)), Reorder((7, 6)), Replace(8, "s_waitcnt vmcnt(1)")):
            assert check_rebuild(edit.apply(program)[0], data).verdict is Verdict.REFUTED
        other = Replace(12, "s_cbranch_vccz L15").apply(program)[0]
        assert [f.rule for f in check_rebuild(other, data).findings] == ["rebuild.branch"]

    def test_what_is_no_object(self, edited):
        program, data = edited
        check = check_rebuild(program, data[:-1])
        assert (check.verdict, check.findings[0].rule) == (Verdict.REFUTED, "rebuild.parse")


@pytest.mark.parametrize("moved", [4, 32])
def test_an_entry_where_no_wave_can_begin(moved: int) -> None:
    data = bytearray(build(LOOP))
    obj = CodeObject.parse(bytes(data))
    rodata = obj.section(".rodata")
    assert rodata is not None
    at = obj.kernels[0].descriptor_address - rodata.address + rodata.offset + 16  # kernel_code_entry_byte_offset
    struct.pack_into("<q", data, at, struct.unpack_from("<q", data, at)[0] + moved)
    with pytest.raises(InputError, match="is no multiple of 256, so no GPU can launch it"):
        recover(CodeObject.parse(bytes(data)))


def test_two_kernels_of_one_name() -> None:
    data = build(LOOP, LOOP)
    named = CodeObject.parse(data.replace(b"\xa5.name\xa2k1", b"\xa5.name\xa2k0"))
    assert [k.name for k in named.kernels] == ["k0", "k0"]
    with pytest.raises(InputError, match="have one name"):
        recover(named, "k0")
