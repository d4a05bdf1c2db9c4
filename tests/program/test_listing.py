"""The text of programs, in both directions."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, Reorder, Replace, apply_all
from asmevo.isa import Toolchain
from asmevo.program import encode, listing, parse_listing, rebuild, recover
from asmevo.verdict import InputError
from small_objects import LOOP, build, loop_object

GOLDEN = """\
k0:
	s_load_dwordx2 s[2:3], s[0:1], 0x0 // 0: C0060080 00000000
	s_mov_b32 s4, 0 // 1: BE840080
	v_lshlrev_b32_e32 v1, 2, v0 // 2: 24020082
	s_waitcnt lgkmcnt(0) // 3: BF8CC07F
	v_mov_b32_e32 v2, 0 // 4: 7E040280
L5:
	global_load_dword v3, v1, s[2:3] // 5: DC508000 03020001
	s_add_u32 s4, s4, 1 // 6: 80048104
	s_cmp_lt_u32 s4, 8 // 7: BF0A8804
	s_waitcnt vmcnt(0) // 8: BF8C0F70
	v_add_u32_e32 v2, v2, v3 // 9: 68040702
	s_cbranch_scc1 L5 // 10: BF85FFF9
	v_cmp_eq_u32_e32 vcc, 0, v0 // 11: 7D940080
	s_cbranch_vccz L14 // 12: BF860002
	v_add_u32_e32 v2, 0x12345678, v2 // 13: 680404FF 12345678
L14:
	global_store_dword v1, v2, s[2:3] // 14: DC708000 00020201
	s_endpgm // 15: BF810000
// end of listing
"""


def squeezed(text: str) -> str:
    """Without the padding in front of comments."""
    lines = (
        line if "//" not in line[1:] else f"{line.split('//')[0].rstrip()} //{line.split('//')[1]}"
        for line in text.splitlines()
    )
    return "\n".join(lines) + "\n"


class TestListing:
    def test_golden(self):
        text = squeezed(listing(recover(loop_object())))
        assert text.endswith(GOLDEN)
        head = text.removesuffix(GOLDEN)
        assert '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n' in head
        assert "16 vector registers (AGPRs from 16), 48 SGPRs, 2 user SGPRs, LDS 512" in head
        assert "8   4 by_value n" in head
        assert loop_object().kernel().descriptor.raw.hex() in head

    def test_the_assembler_takes_it(self, fp8_gemm_bytes, tmp_path):
        for data in (build(LOOP), build(LOOP, LOOP), build(LOOP, target="gfx950"), fp8_gemm_bytes):
            obj = CodeObject.parse(data)
            flags = ("-triple=amdgcn-amd-amdhsa", f"-mcpu={obj.target}", "-filetype=obj", "-o", str(tmp_path / "k.o"))
            answer = Toolchain.find().run("llvm-mc", *flags, stdin=listing(recover(obj, obj.kernels[0].name)).encode())
            assert answer.returncode == 0, answer.stderr.decode()
            assert obj.text_bytes in (tmp_path / "k.o").read_bytes()

    def test_edited_lines_have_no_words_until_they_are_encoded(self):
        program = Insert(9, "s_nop 3").apply(recover(loop_object()))[0]
        number = program.lines[9].id
        assert f"s_nop 3 // {number}:\n" in squeezed(listing(program))
        assert f"s_nop 3 // {number}: BF800003\n" in squeezed(listing(encode(program)))


class TestParse:
    def test_untouched_text_is_the_program(self, fp8_gemm_bytes):
        for data in (build(LOOP), build(LOOP, LOOP), fp8_gemm_bytes):
            obj = CodeObject.parse(data)
            program = recover(obj, obj.kernels[-1].name)
            parsed = parse_listing(listing(program), obj)
            assert parsed == program
            assert rebuild(parsed) == data

    def test_edited_programs_come_back(self):
        program = recover(loop_object())
        edits = [Insert(5, ("s_nop 3", "v_mov_b32_e32 v9, v2")), Delete((1,)), Reorder((7, 6)), Replace(13, "s_nop 7")]
        for count in range(len(edits) + 1):
            edited = apply_all(program, edits[:count])
            assert parse_listing(listing(edited), program.source) == edited
            assert parse_listing(listing(encode(edited)), program.source) == encode(edited)

    def test_edit_by_hand(self):
        obj = loop_object()
        text = listing(recover(obj))
        text = text.replace("s_add_u32 s4, s4, 1 ", "s_add_u32 s4, s4, 2 ")  # edited: the text wins over the words
        text = text.replace("L5:", "again:\n\ts_nop 1").replace("s_cbranch_scc1 L5", "s_cbranch_scc1 again")
        text = "\n".join(line for line in text.splitlines() if "// 4:" not in line)
        program = parse_listing(text, obj)
        new = program.next_id - 1
        assert [x.id for x in program.lines] == [0, 1, 2, 3, new, *range(5, 16)]
        assert program.line(10).target == new
        assert program.line(6).instruction.text == "s_add_u32 s4, s4, 2"
        assert [x.id for x in program.lines if x.words is None] == [new, 6]
        assert recover(CodeObject.parse(rebuild(program))).lines[5].instruction == program.line(5).instruction

    def test_a_copied_line_gets_an_id_of_its_own(self):
        obj = loop_object()
        text = listing(recover(obj))
        wait = next(line for line in text.splitlines() if "// 8:" in line)
        program = parse_listing(text.replace(wait, f"{wait}\n{wait}"), obj)
        assert len({x.id for x in program.lines}) == 17
        assert program.lines[9].words == program.lines[8].words

    @pytest.mark.parametrize(
        ("old", "new", "named"),
        [
            ("s_cbranch_scc1 L5", "s_cbranch_scc1 L6", "goes to 'L6', which is not defined"),
            ("L14:", "L5:", "defines the label 'L5' again"),
            ("k0:\n", "", "no label 'k0'"),
            ("gfx942", "gfx950", "for gfx950, the code object for gfx942"),
            ("BF0A8804", "BF0A8805", "words that are not those of line 7"),
            ("\t.p2align 8", "\t.fill 4", "directive"),
            ("v_mov_b32_e32 v2, 0", ".long 0x7e040280", "is data"),
            ("s_endpgm ", "s_endpgm ; s_nop 0 ", "not the text of one instruction"),
            ("// kernel: k0", "// kernel: k7", "no kernel 'k7'"),
            ("// end of listing", "", "cut short"),
        ],
    )
    def test_bad_text(self, old, new, named):
        obj = loop_object()
        with pytest.raises(InputError, match=named):
            parse_listing(listing(recover(obj)).replace(old, new), obj)

    def test_the_listing_of_another_object_is_refused(self):
        obj, other = loop_object(), CodeObject.parse(build(LOOP, LOOP))
        text = listing(recover(obj))
        with pytest.raises(InputError, match=f"sha256 {obj.sha256}, the code object has {other.sha256}"):
            parse_listing(text, other)
        with pytest.raises(InputError, match="has no comment"):
            parse_listing(text.replace("// source:", "// was:"), obj)

    def test_a_kernel_may_have_the_name_of_a_label(self):
        for name in ("P1", "L5", "E5"):
            obj = CodeObject.parse(build(LOOP).replace(b"k0", name.encode()))
            program = recover(obj)
            assert program.kernel.name == name
            assert parse_listing(listing(program), obj) == program
            edited = Insert(5, "s_nop 3").apply(program)[0]
            assert parse_listing(listing(edited), obj) == edited

    def test_words_of_data_survive(self):
        obj = CodeObject.parse(build("s_branch 1f\n .long 0xd3ee0000, 0xbe8000ff\n1:\n s_endpgm"))
        program = recover(obj)
        assert program.lines[1].instruction.text == ".long 0xd3ee0000, 0xbe8000ff"
        assert rebuild(parse_listing(listing(program), obj)) == obj.data
