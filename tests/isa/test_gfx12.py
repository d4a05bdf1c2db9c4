"""gfx1250: lengths, branches, bits that LLVM insists on, and bits that an edit keeps. Words are AMD's own."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.edit import Insert, Replace, apply_all
from asmevo.isa import Decoder, Toolchain, assemble, effects, parse_instruction
from asmevo.isa.encoding import BRANCHES_GFX12, branch_words, is_branch
from asmevo.isa.encoding12 import length
from asmevo.isa.unread import with_unread_bits
from asmevo.program import check_rebuild, listing, parse_listing, rebuild, recover
from asmevo.program.liveness import liveness
from asmevo.verdict import InputError, UnsupportedError, Verdict
from small_objects import build

TARGET = "gfx1250"
SCALE = "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], v1, v2"
TEXTS = (
    "v_mov_b32_e32 v252, v3",
    "v_mov_b16_e32 v16.h, 0",
    "v_add_f32_e32 v1, 0x12345678, v3",
    "v_add_f64_e32 v[2:3], 0x1234567812345678, v[4:5]",
    "v_fmamk_f32 v1, v2, 0x12345678, v3",
    "v_fmamk_f64 v[2:3], v[4:5], 0x1234567812345678, v[6:7]",
    "v_add_f32_dpp v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_add_f32_e64_dpp v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_add3_u32 v1, v2, 0x12345678, v3",
    "v_pk_mul_f32 v[226:227], v[4:5], v[226:227]",
    "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v4, 0x12345678",
    "s_mov_b64 s[2:3], 0x1234567812345678",
    "s_fmaak_f32 s1, s2, s3, 0x12345678",
    "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE), 0x123456",
    "s_cmp_lt_u32 s1, 0x12345678",
    "s_prefetch_inst_pc_rel 0x100, s2, 4",
    "s_wait_loadcnt 0x0",
    "global_load_b32 v1, v2, s[2:3]",
    "buffer_load_b32 v1, v2, s[4:7], null offen",
    "ds_load_b32 v1, v2",
    "tensor_load_to_lds s[0:3], s[4:11]",
    "tensor_store_from_lds s[0:3], s[4:11]",
    SCALE,
    "v_wmma_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], v[40:55]",
    "s_endpgm",
)
"""An instruction of each format and length."""


def words(*dwords: int) -> bytes:
    return b"".join(d.to_bytes(4, "little") for d in dwords)


def cleared(text: str, *masks: int) -> bytes:
    """The encoding of a text with bits of its dwords cleared, as AMD's assembler leaves them."""
    (code,) = assemble([text], TARGET)
    dwords = [int.from_bytes(code[i : i + 4], "little") for i in range(0, len(code), 4)]
    return words(*(d & ~m for d, m in zip(dwords, (*masks, 0, 0, 0)[: len(dwords)], strict=True)))


INSISTED = {
    "tensor_load_to_lds s[0:3], s[4:11]": (0x00400001, 0x7C000000),
    "tensor_store_from_lds s[0:3], s[4:11]": (0x00400001, 0x7C000000),
    SCALE: (0, 0x04000000),
    "v_wmma_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], v[40:55]": (0x4000,),
}
"""Text to the bits that LLVM wants set."""


class TestDecode:
    @pytest.mark.parametrize("text", TEXTS)
    def test_formats_and_lengths(self, text):
        (code,) = assemble([text], TARGET)
        assert length(code[:8]) == len(code)
        assert [(d.text, d.words) for d in Decoder(TARGET).decode(code)] == [(text, code)]

    def test_a_whole_sequence_stays_in_step(self):
        code = assemble(TEXTS, TARGET)
        assert [d.words for d in Decoder(TARGET).decode(b"".join(code))] == code

    @pytest.mark.parametrize("text", INSISTED)
    def test_bits_that_llvm_insists_on(self, text):
        code = cleared(text, *INSISTED[text])
        assert code != assemble([text], TARGET)[0]
        following = words(0xBF800000)
        decoded = Decoder(TARGET).decode(code + following)
        assert [(d.text, d.words) for d in decoded] == [(text, code), ("s_nop 0", following)]

    def test_golden_words_of_amd_objects(self):
        patterns = {
            words(0xCC880064, 0x1A021108): "v_wmma_f32_32x16x128_f4 v[100:115], v[8:23], v[8:15], 0",
            words(0xCC2800E2, 0x1803C504): "v_pk_mul_f32 v[226:227], v[4:5], v[226:227]",
            words(0xCC1F441C, 0x9C08CD1C): (
                "v_pk_fma_f32 v[28:29], v[28:29], s[102:103], v[2:3] neg_lo:[0,0,1] neg_hi:[0,0,1]"
            ),
            words(0xCC290054, 0x18020902): "v_pk_add_f32 v[84:85], v[2:3], v[4:5]",
            words(0xCC290002, 0x1C023D1C): "v_pk_add_f32 v[2:3], v[28:29], v[30:31]",
            words(0xD76D001C, 0x04023B1C): "v_cvt_pk_bf16_f32 v28, v28, v29",
            words(0x7E000100): "v_nop",
        }
        decoded = Decoder(TARGET).decode(b"".join(patterns))
        assert {d.words: d.text for d in decoded} == patterns

    @pytest.mark.parametrize("code", [words(0), words(0xCCFF0000, 0), words(0xD0FF0000, 0, 0)])
    def test_what_is_no_instruction_is_data_and_has_no_effects(self, code):
        decoded = Decoder(TARGET).decode(code + words(0xBF800000))
        assert decoded[0].text.startswith(".long ") and decoded[0].words == code
        assert decoded[1].text == "s_nop 0"
        with pytest.raises(UnsupportedError, match=r"\.long"):
            effects(parse_instruction(decoded[0].text))

    @settings(max_examples=15, deadline=None)
    @given(st.randoms(use_true_random=False))
    def test_any_dwords_are_kept(self, random):
        tops = (
            0x7E,
            0x46,
            0x80,
            0xA2,
            0xB9,
            0xBE,
            0xBF,
            0xC4,
            0xCA,
            0xCC,
            0xCD,
            0xCF,
            0xD0,
            0xD5,
            0xD8,
            0xE4,
            0xEE,
            0xF4,
        )
        code = words(*(random.choice(tops) << 24 | random.getrandbits(24) for _ in range(100)))
        decoded = Decoder(TARGET).decode(code, 0x40)
        assert b"".join(d.words for d in decoded) == code
        assert all(a.address + len(a.words) == b.address for a, b in pairwise(decoded))

    def test_the_register_state_changes_no_text(self):
        code = b"".join(assemble(["s_set_vgpr_msb 5", "v_mov_b32_e32 v17, v18", "v_mov_b32_e32 v19, v20"], TARGET))
        assert [d.text for d in Decoder(TARGET).decode(code)][1:] == [
            "v_mov_b32_e32 v17, v18",
            "v_mov_b32_e32 v19, v20",
        ]

    def test_branches_are_llvm_s(self):
        assert assemble([f"{m} 0" for m in BRANCHES_GFX12], TARGET) == [branch_words(m, TARGET) for m in BRANCHES_GFX12]
        assert all(is_branch(branch_words(m, TARGET), TARGET) for m in BRANCHES_GFX12)
        assert not is_branch(words(0xBF840003), TARGET)
        with pytest.raises(InputError, match="has no s_cbranch_cdbgsys"):
            branch_words("s_cbranch_cdbgsys", TARGET)


class TestUnreadBits:
    @pytest.mark.parametrize(
        ("target", "original", "old", "new", "kept"),
        [
            (
                "gfx950",
                words(0xD3AC6000, 0x0003118C, 0xD3AD8C00, 0x84021148),
                "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[72:75], v[8:11], a[0:3], v140, v136 op_sel_hi:[0,0,0] "
                "cbsz:4 blgp:4",
                "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[72:75], v[8:11], a[0:3], v141, v136 op_sel_hi:[0,0,0] "
                "cbsz:4 blgp:4",
                words(0xD3AC6000, 0x0003118D, 0xD3AD8C00, 0x84021148),
            ),
            (
                TARGET,
                words(0xCC2800E2, 0x1803C504),
                "v_pk_mul_f32 v[226:227], v[4:5], v[226:227]",
                "v_pk_mul_f32 v[226:227], v[6:7], v[226:227]",
                words(0xCC2800E2, 0x1803C506),
            ),
            (
                TARGET,
                words(0xD76D001C, 0x04023B1C),
                "v_cvt_pk_bf16_f32 v28, v28, v29",
                "v_cvt_pk_bf16_f32 v27, v28, v29",
                words(0xD76D001B, 0x04023B1C),
            ),
            (
                TARGET,
                words(0xCC880064, 0x1A021108),
                "v_wmma_f32_32x16x128_f4 v[100:115], v[8:23], v[8:15], 0",
                "v_wmma_f32_32x16x128_f4 v[100:115], v[8:23], v[24:31], 0",
                words(0xCC880064, 0x1A023108),
            ),
            # another opcode keeps nothing, and so does one whose old text LLVM does not read back
            (TARGET, words(0xCC2800E2, 0x1803C504), "v_pk_mul_f32 v[226:227], v[4:5], v[226:227]", "v_nop", None),
            (
                TARGET,
                words(0xCC280074, 0x18002974),
                "v_pk_mul_f32 v[116:117], v[116:117], s[20:21]",
                "v_pk_mul_f32 v[116:117], v[116:117], v[20:21]",
                None,
            ),
        ],
    )
    def test_an_edited_instruction_keeps_them(self, target, original, old, new, kept):
        assert [d.text for d in Decoder(target).decode(original)] == [old]
        (made,) = assemble([new], target)
        assert with_unread_bits([(old, original)], [new], [made], target) == [made if kept is None else kept]


class TestProgram:
    CODE = f"""
    .long 0xcc2800e2, 0x1803c504
    .long 0xcc1f441c, 0x9c08cd1c
    s_branch 1f
    .long 0xccff0000, 0
1:
    {SCALE}
    s_cbranch_scc0 1b
    s_endpgm
"""

    @pytest.fixture
    def obj(self) -> CodeObject:
        return CodeObject.parse(build(self.CODE, target=TARGET))

    def test_round_trip_and_listing(self, obj):
        program = recover(obj)
        assert rebuild(program) == obj.data
        assert check_rebuild(program, obj.data).verdict is Verdict.TESTED
        assert [line.target for line in program.lines] == [None, None, 4, None, None, 4, None]
        assert program.lines[3].instruction.text == ".long 0xccff0000, 0x00000000"
        assert rebuild(parse_listing(listing(program), obj)) == obj.data

    def test_an_edited_line_keeps_its_unread_bits(self, obj):
        program = Replace(0, "v_pk_mul_f32 v[226:227], v[6:7], v[226:227]").apply(recover(obj))[0]
        new = CodeObject.parse(rebuild(program))
        assert new.text_bytes == words(0xCC2800E2, 0x1803C506) + obj.text_bytes[8:]

    def test_insertion_moves_branches(self, obj):
        program = apply_all(recover(obj), [Insert(4, "s_nop 3", fallthrough=True)])
        data = rebuild(program)
        assert check_rebuild(program, data).verdict is Verdict.TESTED
        found = Toolchain.find().run("llvm-objdump", "-d", "-", stdin=data).stdout.decode()
        assert "s_branch 3 " in found and "s_cbranch_scc0 65531 " in found

    def test_analyses_refuse_the_target(self, obj):
        with pytest.raises(UnsupportedError, match="gfx1250"):
            liveness(recover(obj))


@pytest.mark.parametrize("target", ["gfx908", "gfx90a"])
def test_older_targets_are_rebuilt_but_not_analysed(target):
    code = "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]\n s_branch 1f\n s_nop 0\n1:\n s_endpgm"
    obj = CodeObject.parse(build(code, target=target))
    program = recover(obj)
    assert (obj.target, rebuild(program) == obj.data) == (target, True)
    with pytest.raises(UnsupportedError, match=target):
        liveness(program)
