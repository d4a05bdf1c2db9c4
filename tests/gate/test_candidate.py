"""The bytes of a candidate against K0 and its edits: words, bits that no text shows, symbols, ids."""

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, Reorder, Replace, SetResources, apply_all
from asmevo.gate import changes
from asmevo.gate.candidate import bind
from asmevo.program import rebuild, recover
from asmevo.verdict import Verdict
from small_objects import build

CODE = """
    s_load_dword s8, s[0:1], 0x0
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v3, v1
    v_add3_u32 v4, v2, v2, v2
    buffer_load_dword v6, off, s[4:7], 0
    s_waitcnt vmcnt(0)
    global_store_dword v1, v3, s[6:7]
    s_endpgm
"""
UNREAD = {"s_load": 60, "ds_write": 16, "s_waitcnt lgkmcnt": 12, "v_add3": 13, "buffer_load": 35, "global_store": 60}
"""Begin of a line to a bit of its words that no text shows (of which LLVM 22 does not say what it means)."""
BYTES = build(CODE)
K0 = recover(CodeObject.parse(BYTES))


def line(text):
    (found,) = [x for x in K0.lines if x.instruction.text.startswith(text)]
    return found


def flipped(program, line_id, bit):
    """The bytes of a program with one bit of a line's words turned round."""
    data = bytearray(rebuild(program))
    obj = CodeObject.parse(bytes(data))
    at = obj.text.offset + sum(len(x.words) for x in recover(obj).lines[: program.position[line_id]])
    data[at + bit // 8] ^= 1 << bit % 8
    return bytes(data)


@pytest.mark.parametrize("text", UNREAD)
def test_bits_that_are_not_printed_are_never_taken_for_untouched(text):
    found, bit = line(text), UNREAD[text]
    data = flipped(K0, found.id, bit)
    assert recover(CodeObject.parse(data)).line(found.id).instruction == found.instruction, "no text shows it"
    candidate, check = bind(K0, data, None)
    assert candidate is None and check.verdict is Verdict.UNKNOWN
    (finding,) = check.findings
    assert (finding.rule, finding.line) == ("rebuild.encoding", found.id)
    assert bind(K0, data, ())[1].verdict is Verdict.REFUTED


@pytest.mark.parametrize("text", UNREAD)
def test_bits_of_a_new_line_that_are_not_printed(text):
    new = line(text).instruction.text.replace("v1", "v9").replace("s8", "s9")
    new = new.replace("v4, v2", "v9, v2").replace("v6", "v9").replace("lgkmcnt(0)", "lgkmcnt(1)")
    edited = apply_all(K0, (Insert(line("v_add3").id, new),))
    assert bind(K0, rebuild(edited), None)[1].verdict is Verdict.TESTED
    inserted = edited.lines[edited.position[line("v_add3").id] - 1]
    check = bind(K0, flipped(edited, inserted.id, UNREAD[text]), None)[1]
    assert check.verdict is Verdict.UNKNOWN
    assert [f.rule for f in check.findings] == ["rebuild.encoding"]


def test_an_encoding_of_k0_that_no_assembler_gives_stays_and_may_move():
    found = line("v_add3")
    odd = recover(CodeObject.parse(flipped(K0, found.id, UNREAD["v_add3"])))
    for edits in (
        (),
        (Insert(found.id, "s_nop 0"),),
        (Reorder((found.id, line("ds_read").id)),),
        (Delete((found.id,)), Insert(line("s_endpgm").id, "v_mov_b32_e32 v4, v2")),
    ):
        data = rebuild(apply_all(odd, edits))
        assert bind(odd, data, edits)[1].verdict is Verdict.TESTED
        assert bind(odd, data, None)[1].verdict is Verdict.TESTED
    plain = bind(odd, rebuild(K0), None)[1]
    assert (plain.verdict, plain.findings[0].line) == (Verdict.UNKNOWN, found.id)


@pytest.mark.parametrize("listed", [True, False])
def test_later_stages_see_what_the_bytes_hold_however_the_edits_are_written(listed):
    read, barrier = line("ds_read").id, line("s_barrier").id
    moved = (Reorder((read, barrier)),)
    written = (Insert(barrier, line("ds_read").instruction.text), Delete((read,)))
    found = [bind(K0, rebuild(apply_all(K0, e)), e if listed else None)[0].program for e in (moved, written)]
    assert found[0].lines == found[1].lines
    assert [x.id for x in found[0].lines if x.id in (read, barrier)] == [read, barrier]


@pytest.mark.parametrize(
    "asked", [{"vgprs": 21}, {"vgprs": 130, "agprs": 9}, {"sgprs": 60}, {"lds": 1024, "scratch": 16}, {"agprs": 4}]
)
def test_resources_of_a_candidate_without_edits_are_those_that_it_declares(asked):
    edits = (SetResources(**asked),)
    data = rebuild(apply_all(K0, edits))
    for given in (edits, None):
        found, check = bind(K0, data, given)
        assert check.verdict is Verdict.TESTED and found.program.kernel.descriptor.raw != K0.kernel.descriptor.raw
    halves = K0.kernel.descriptor.raw, CodeObject.parse(data).kernel().descriptor.raw
    for new, old in (halves, halves[::-1]):  # descriptor and metadata that disagree
        assert bind(K0, (BYTES if old == halves[0] else data).replace(old, new), None)[1].verdict is Verdict.REFUTED


def test_untouched_lines_are_k0s_own_so_that_analyses_know_them():
    edits = (Insert(line("v_add3").id, "s_nop 0"), Replace(line("v_add3").id, "v_add3_u32 v4, v2, v2, v1"))
    found, _ = bind(K0, rebuild(apply_all(K0, edits)), None)
    assert [any(x is y for y in K0.lines) for x in found.program.lines].count(False) == 2


def test_a_label_at_an_edited_begin_of_a_block_needs_no_list_of_edits():
    k0 = recover(CodeObject.parse(build(CODE.replace("    v_add3", "label_0007:\n    v_add3"))))
    at = next(x.id for x in k0.lines if x.instruction.text.startswith("v_add3"))
    assert "label_0007" in {s.name for s in k0.source.symbols}
    for edits in ((Insert(at, "s_nop 0"),), (Reorder((at + 1, at)),), (Delete((at,)),)):
        data = rebuild(apply_all(k0, edits))
        assert bind(k0, data, edits)[1].verdict is Verdict.TESTED
        assert bind(k0, data, None)[1].verdict is Verdict.TESTED, edits


def test_words_that_the_edits_do_not_give():
    data = rebuild(apply_all(K0, (Insert(0, "s_nop 0"),)))
    assert bind(K0, data, (Insert(0, "s_nop 1"),))[1].verdict is Verdict.REFUTED
    assert bind(K0, data[:100], None)[1].verdict is Verdict.REFUTED


GETPC = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, table@rel32@lo+4
    s_addc_u32 s3, s3, table@rel32@hi+12
    s_load_dword s6, s[2:3], 0x0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v1, s6
    global_store_dword v1, v1, s[4:5]
    s_endpgm
"""
TABLE = "    .section .rodata\n    .p2align 6\ntable:\n    .long 1, 2, 3, 4\n    .text"


@pytest.mark.parametrize("listed", [True, False])
def test_distances_that_change_with_the_code_are_untouched(listed):
    k0 = recover(CodeObject.parse(build(GETPC, extra=TABLE)))
    assert sum(x.reference is not None for x in k0.lines) == 2
    at = next(x.id for x in k0.lines if x.instruction.text.startswith("v_mov"))
    for edits in ((Insert(0, "s_nop 0"),), (Insert(at, ("s_nop 0",) * 80),)):
        data = rebuild(apply_all(k0, edits))
        found, check = bind(k0, data, edits if listed else None)
        assert check.verdict is Verdict.TESTED
        assert changes(k0, found.program).edited == tuple(
            i for i, x in enumerate(found.program.lines) if x.instruction.text == "s_nop 0" and x.id >= k0.next_id
        )
