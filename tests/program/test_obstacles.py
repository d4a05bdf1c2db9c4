"""What breaks round trips of real objects, each with a small object made for it: the file, and the text it gives."""

from __future__ import annotations

import re

import pytest

from asmevo.codeobject import CodeObject
from asmevo.isa import Toolchain
from asmevo.program import check_rebuild, listing, parse_listing, rebuild, recover
from asmevo.verdict import Verdict
from benchmarks.independent import disassemble
from small_objects import LOOP, build

ALIAS = "    .text\n    .globl other\n    .type other,@function\n    .set other, k0\n"
DATA = """
    .data
    .globl pointers
pointers:
    .quad k0, table
    .section .rodata
    .globl table
table:
    .long 3, 1, 4, 1
    .bss
    .globl zeros
zeros:
    .zero 64
"""
CASES: dict[str, tuple[bytes, str]] = {
    "a literal that fits inline": (
        build("s_addc_u32 s1, s1, lit(0xffffffff)\n s_endpgm"),
        """\
k0:
	s_addc_u32 s1, s1, lit(0xffffffff) // 0: 8201FF01 FFFFFFFF
	s_endpgm // 1: BF810000
""",
    ),
    "two symbols at one address": (
        build("s_branch 1f\n1:\n s_endpgm", extra=ALIAS),
        """\
k0:
	s_branch L1 // 0: BF820000
L1:
	s_endpgm // 1: BF810000
""",
    ),
    "a branch without a symbol, to itself and backwards": (
        build("s_nop 1\n s_branch 0xffff\n s_cbranch_scc0 0xfffd\n s_endpgm"),
        """\
k0:
L0:
	s_nop 1 // 0: BF800001
L1:
	s_branch L1 // 1: BF82FFFF
	s_cbranch_scc0 L0 // 2: BF84FFFD
	s_endpgm // 3: BF810000
""",
    ),
    "code behind the last s_endpgm": (
        build("s_branch 1f\n2:\n s_endpgm\n1:\n s_branch 2b\n s_nop 0\n s_nop 0"),
        """\
k0:
	s_branch L2 // 0: BF820001
L1:
	s_endpgm // 1: BF810000
L2:
	s_branch L1 // 2: BF82FFFE
	s_nop 0 // 3: BF800000
	s_nop 0 // 4: BF800000
""",
    ),
    "an address computed from the program counter": (
        build("s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 0x10\n s_addc_u32 s3, s3, 0\n s_setpc_b64 s[2:3]\n s_endpgm"),
        """\
k0:
	s_getpc_b64 s[2:3] // 0: BE821C00
	s_add_u32 s2, s2, 16 // 1: 80029002
	s_addc_u32 s3, s3, 0 // 2: 82038003
	s_setpc_b64 s[2:3] // 3: BE801D02
	s_endpgm // 4: BF810000
""",
    ),
    "words that are no instruction": (
        build("s_branch 1f\n .long 0xd1ff0000, 0xffffffff\n1:\n s_endpgm"),
        """\
k0:
	s_branch L3 // 0: BF820002
	.long 0xd1ff0000 // 1: D1FF0000
	.long 0xffffffff // 2: FFFFFFFF
L3:
	s_endpgm // 3: BF810000
""",
    ),
    "bits that no text shows (gfx950)": (
        build(".long 0xd3ac6000, 0x0003118c, 0xd3ad8c00, 0x84021148\n s_endpgm", target="gfx950"),
        """\
k0:
	v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[72:75], v[8:11], a[0:3], v140, v136 op_sel_hi:[0,0,0] cbsz:4 blgp:4 \
// 0: D3AC6000 0003118C D3AD8C00 84021148
	s_endpgm // 1: BF810000
""",
    ),
    "bits that LLVM insists on (gfx1250)": (
        build(
            ".long 0xd0310000, 0x00000000, 0x7c7c0400\n .long 0xcc350000, 0x00020501, 0xcc330000, 0x04a23108\n"
            ".long 0xcc880064, 0x1a021108\n .long 0x7e000100\n s_endpgm",
            target="gfx1250",
        ),
        """\
k0:
	tensor_load_to_lds s[0:3], s[4:11] // 0: D0310000 00000000 7C7C0400
	v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], v1, v2 \
// 1: CC350000 00020501 CC330000 04A23108
	v_wmma_f32_32x16x128_f4 v[100:115], v[8:23], v[8:15], 0 // 2: CC880064 1A021108
	v_nop // 3: 7E000100
	s_endpgm // 4: BFB00000
""",
    ),
    "each place where bits are lost (gfx950)": (
        build(
            ".long 0xd3ac5000, 0x0003118c, 0xd3ad8c04, 0x84121948\n"
            ".long 0xd3ac3000, 0x1803118d, 0xd3ad8c04, 0x84122960\n s_endpgm",
            target="gfx950",
        ),
        """\
k0:
	v_mfma_scale_f32_16x16x128_f8f6f4 a[4:7], v[72:75], v[12:15], a[4:7], v140, v136 op_sel:[0,1,0] op_sel_hi:[0,0,0] \
cbsz:4 blgp:4 // 0: D3AC5000 0003118C D3AD8C04 84121948
	v_mfma_scale_f32_16x16x128_f8f6f4 a[4:7], v[96:99], v[20:23], a[4:7], v141, v136 op_sel:[0,1,0] op_sel_hi:[1,1,0] \
cbsz:4 blgp:4 // 1: D3AC3000 1803118D D3AD8C04 84122960
	s_endpgm // 2: BF810000
""",
    ),
    "bits of operands that are not there (gfx1250)": (
        build(
            ".long 0xcc2800e2, 0x1803c504\n .long 0xcc290054, 0x18020902\n .long 0xcc290002, 0x1c023d1c\n"
            " .long 0xd76d001c, 0x04023b1c\n s_endpgm",
            target="gfx1250",
        ),
        """\
k0:
	v_pk_mul_f32 v[226:227], v[4:5], v[226:227] // 0: CC2800E2 1803C504
	v_pk_add_f32 v[84:85], v[2:3], v[4:5] // 1: CC290054 18020902
	v_pk_add_f32 v[2:3], v[28:29], v[30:31] // 2: CC290002 1C023D1C
	v_cvt_pk_bf16_f32 v28, v28, v29 // 3: D76D001C 04023B1C
	s_endpgm // 4: BFB00000
""",
    ),
    "what the assembler refuses to read again (gfx1250)": (
        build(".long 0xcc1f441c, 0x9c08cd1c\n .long 0xcc280074, 0x18002974\n s_endpgm", target="gfx1250"),
        """\
k0:
	v_pk_fma_f32 v[28:29], v[28:29], s[102:103], v[2:3] neg_lo:[0,0,1] neg_hi:[0,0,1] // 0: CC1F441C 9C08CD1C
	v_pk_mul_f32 v[116:117], v[116:117], s[20:21] // 1: CC280074 18002974
	s_endpgm // 2: BFB00000
""",
    ),
    "padding behind the end (gfx1250)": (
        build("s_prefetch_inst_pc_rel 0x100, s2, 7\n s_endpgm\n s_code_end\n s_code_end", target="gfx1250"),
        """\
k0:
	s_prefetch_inst_pc_rel 0x100, s2, 7 // 0: F404A1C0 04000100
	s_endpgm // 1: BFB00000
	s_code_end // 2: BF9F0000
	s_code_end // 3: BF9F0000
""",
    ),
    "hidden states of the encoding": (
        build(
            "s_setvskip s2, 1\n s_set_gpr_idx_on s2, gpr_idx(SRC0)\n v_mov_b32 v1, v2\n s_set_gpr_idx_off\n s_endpgm"
        ),
        """\
k0:
	s_setvskip s2, 1 // 0: BF108102
	s_set_gpr_idx_on s2, gpr_idx(SRC0) // 1: BF110102
	v_mov_b32_e32 v1, v2 // 2: 7E020302
	s_set_gpr_idx_off // 3: BF9C0000
	s_endpgm // 4: BF810000
""",
    ),
    "registers beyond 255 by state (gfx1250)": (
        build("s_set_vgpr_msb 5\n v_mov_b32 v252, v3\n s_endpgm", target="gfx1250"),
        """\
k0:
	s_set_vgpr_msb 5 // 0: BF860005
	v_mov_b32_e32 v252, v3 // 1: 7FF80303
	s_endpgm // 2: BFB00000
""",
    ),
}


def squeezed(text: str) -> str:
    """The code of a listing from its first label to its last instruction, without padding in front of comments."""
    lines = text.splitlines()
    body = lines[lines.index("k0:") : lines.index("// end of listing")]
    return "".join(" //".join(part.rstrip() for part in line.split(" //")) + "\n" for line in body)


@pytest.mark.parametrize("name", CASES)
def test_round_trip_and_text(name):
    data, golden = CASES[name]
    obj = CodeObject.parse(data)
    program = recover(obj)
    assert squeezed(listing(program)) == golden
    assert rebuild(program) == data
    assert check_rebuild(program, data).verdict is Verdict.TESTED
    assert rebuild(parse_listing(listing(program), obj)) == data


BEYOND_LLVM = {"bits that LLVM insists on (gfx1250)"}
"""Cases whose bytes llvm-objdump takes for other instructions."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in BEYOND_LLVM])
def test_golden_is_what_llvm_objdump_prints(name):
    """Words of all lines, and texts but for the targets of branches, which objdump does not print as labels."""
    data, golden = CASES[name]
    lines = re.findall(r"\t(.*?) // \d+: (.*)", golden)
    assert len(lines) >= 2
    printed = [(seen.text, seen.words) for seen in disassemble(data, Toolchain.find().bin / "llvm-objdump")]
    assert [words for _, words in printed] == [words for _, words in lines]
    for (text, _), (wanted, _) in zip(printed, lines, strict=True):
        assert text.split()[0] == wanted.split()[0]
        assert " L" in wanted or re.sub(r" ?/\*v\d+\*/", "", text) == wanted


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250"])
@pytest.mark.parametrize("link", [(), ("-z", "norelro"), ("--no-rosegment",), ("--strip-all",)])
@pytest.mark.parametrize("debug", [False, True])
def test_tables_pointers_and_layouts(target, link, debug):
    code = "s_nop 3\n s_endpgm" if target == "gfx1250" else LOOP
    data = build(code, code, target=target, extra=DATA, link=link, debug=debug)
    obj = CodeObject.parse(data)
    assert obj.section(".rela.dyn") is not None and obj.section(".bss") is not None
    for kernel in obj.kernels:
        program = recover(obj, kernel.name)
        assert rebuild(program) == data
