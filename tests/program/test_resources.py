"""What a kernel asks for: descriptor and metadata in step, within the limits, wherever the note has to go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject, Resources
from asmevo.edit import Insert, Replace, SetResources, apply_all, from_json
from asmevo.program import (
    InPlaceError,
    ResourceError,
    UnmovableError,
    check_rebuild,
    listing,
    parse_listing,
    patch_in_place,
    rebuild,
    recover,
    refuse_overflow,
    with_resources,
)
from asmevo.verdict import InputError, UnsupportedError, Verdict
from rebuilt import checked, quad, symbol
from small_objects import DATA, FUNCTION, LOOP, build, loop_object

READS_TABLE = "s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, table@rel32@lo+4\n s_addc_u32 s5, s5, table@rel32@hi+12\n" + LOOP


def entry_of(obj: CodeObject, name: str = "k0") -> dict:
    return next(e for e in obj.metadata["amdhsa.kernels"] if e[".name"] == name)


def test_all_fields_change_together():
    program = SetResources(vgprs=100, agprs=60, sgprs=90, lds=60000, scratch=48).apply(recover(loop_object()))[0]
    new = CodeObject.parse(checked(program))
    d = new.kernel().descriptor
    assert (d.accum_offset, d.vgpr_alloc, d.sgpr_alloc) == (100, 160, 96)
    assert (d.lds_size, d.private_size, d.private_segment) == (60000, 48, True)
    changed = {k: v for k, v in entry_of(new).items() if entry_of(loop_object()).get(k) != v}
    assert changed == {
        ".agpr_count": 60,
        ".vgpr_count": 160,
        ".sgpr_count": 90,
        ".group_segment_fixed_size": 60000,
        ".private_segment_fixed_size": 48,
    }
    assert list(entry_of(new)) == sorted(entry_of(new))
    assert program.kernel.lds_size == 60000
    assert new.text_bytes == loop_object().text_bytes


@given(
    vgprs=st.integers(0, 256),
    agprs=st.integers(0, 256),
    sgprs=st.integers(0, 112),
    lds=st.integers(0, 65536),
    scratch=st.integers(0, 131056),
)
def test_any_legal_resources(vgprs, agprs, sgprs, lds, scratch):
    edit = SetResources(vgprs, agprs, sgprs, lds, scratch)
    program = edit.apply(recover(loop_object()))[0]
    new = CodeObject.parse(checked(program))
    d = new.kernel().descriptor
    assert vgprs <= d.accum_offset < vgprs + 4 or vgprs == 0
    assert d.vgpr_alloc >= (d.accum_offset + agprs if agprs else vgprs)
    assert sgprs <= d.sgpr_alloc < max(sgprs, 1) + 16
    assert (d.lds_size, d.private_size, d.private_segment) == (lds, scratch, scratch > 0)
    assert from_json(edit.to_json()) == edit
    again = parse_listing(listing(program), loop_object())
    assert again.kernel.descriptor == program.kernel.descriptor


def test_the_rest_of_a_granule_is_no_agprs():
    """12 VGPRs and no AGPRs are granted as 16; the 4 that no kind of register has do not follow the VGPRs."""
    twelve = CodeObject.parse(checked(SetResources(vgprs=12, agprs=0).apply(recover(loop_object()))[0]))
    d = twelve.kernel().descriptor
    assert (d.vgpr_alloc, d.accum_offset, entry_of(twelve)[".agpr_count"]) == (16, 12, 0)
    assert "vgprs 12, agprs 0," in listing(recover(twelve))
    new = CodeObject.parse(checked(SetResources(vgprs=200).apply(recover(twelve))[0]))
    d, entry = new.kernel().descriptor, entry_of(new)
    assert (d.vgpr_alloc, d.accum_offset, entry[".vgpr_count"], entry[".agpr_count"]) == (200, 200, 200, 0)
    six = CodeObject.parse(checked(SetResources(vgprs=12, agprs=6).apply(recover(loop_object()))[0]))
    new = CodeObject.parse(checked(SetResources(vgprs=40).apply(recover(six))[0]))
    assert (new.kernel().descriptor.vgpr_alloc, entry_of(new)[".vgpr_count"], entry_of(new)[".agpr_count"]) == (
        48,
        46,
        6,
    )


def test_only_what_is_set_changes():
    old = loop_object().kernel().descriptor
    for name, fields in (
        ("vgprs", {"vgpr_blocks", "accum_blocks"}),
        ("agprs", {"vgpr_blocks"}),
        ("sgprs", {"sgpr_blocks"}),
        ("lds", {"lds_size"}),
        ("scratch", {"private_size", "private_segment"}),
    ):
        program = with_resources(recover(loop_object()), Resources(**{name: 64}))
        new = CodeObject.parse(checked(program)).kernel().descriptor
        assert new.with_(**{f: old.field(f) for f in fields}) == old


@pytest.mark.parametrize(
    "edit, message",
    [
        (SetResources(vgprs=257), "gfx942 has 0 to 256 VGPRs a wave, and 257 are asked for; use less."),
        (SetResources(agprs=-1), "gfx942 has 0 to 256 AGPRs a wave, and -1 are asked for; use less."),
        (SetResources(sgprs=113), "gfx942 has 0 to 112 scalar registers a wave, and 113 are asked for; use less."),
        (SetResources(lds=65537), "gfx942 has 0 to 65536 bytes of LDS a workgroup, and 65537 are asked for; use less."),
        (SetResources(scratch=1 << 17), "131072 are asked for"),
    ],
)
def test_overflow_is_a_named_error(edit, message):
    with pytest.raises(ResourceError, match=message.replace("(", r"\(")):
        edit.apply(recover(loop_object()))


def test_gfx950_has_more_lds():
    obj = CodeObject.parse(build(LOOP, target="gfx950"))
    assert CodeObject.parse(checked(SetResources(lds=163840).apply(recover(obj))[0])).kernel().lds_size == 163840
    with pytest.raises(ResourceError):
        SetResources(lds=163841).apply(recover(obj))


def test_a_workgroup_must_still_fit():
    """1024 work-items are 16 waves, 4 on each SIMD, with 128 registers at most."""
    raw = build(LOOP).replace(b".max_flat_workgroup_size\xcd\x01\x00", b".max_flat_workgroup_size\xcd\x04\x00")
    obj = CodeObject.parse(raw)
    assert obj.kernel().max_workgroup == 1024
    SetResources(vgprs=128).apply(recover(obj))
    with pytest.raises(ResourceError, match="1024 work-items has 16 waves"):
        SetResources(vgprs=129).apply(recover(obj))


def test_limits_of_other_targets_are_not_guessed():
    with pytest.raises(UnsupportedError, match="limits of gfx90a"):
        SetResources(vgprs=8).apply(recover(CodeObject.parse(build(LOOP, target="gfx90a"))))


class TestNote:
    """The note grows, and everything behind it may move by a page."""

    @pytest.mark.parametrize("edits", [[], [Insert(5, ("s_nop 5",) * 1500)]], ids=["alone", "with code"])
    def test_everything_behind_follows(self, edits):
        extra = FUNCTION.format(name="f") + DATA
        old = CodeObject.parse(build(READS_TABLE, LOOP, extra=extra, link=("-Bsymbolic",)))
        program = apply_all(recover(old, "k0"), [*edits, SetResources(agprs=200, lds=65536)])
        new = CodeObject.parse(checked(program))
        note = next(s for s in new.sections if s.name == ".note")
        assert note.size > next(s for s in old.sections if s.name == ".note").size
        assert symbol(new, "table") - symbol(old, "table") == new.text.address - old.text.address == 0x1000
        assert quad(new, symbol(new, "table")) == 1 << 32 | 3
        assert [k.descriptor.lds_size for k in new.kernels] == [65536, 512]
        assert entry_of(new, "k1") == entry_of(old, "k1")

    def test_the_same_length_moves_nothing(self):
        old = loop_object()
        data = checked(SetResources(vgprs=24).apply(recover(old))[0])
        assert len(data) == len(old.data) and CodeObject.parse(data).text == old.text

    def test_code_with_unknown_addresses_stays_where_it_is(self):
        obj = CodeObject.parse(build("s_getpc_b64 s[2:3]\n s_load_dword s4, s[2:3], 0x10\n" + LOOP))
        program = recover(obj)
        checked(SetResources(vgprs=24).apply(program)[0])
        with pytest.raises(UnmovableError):
            rebuild(SetResources(agprs=200, lds=65536).apply(program)[0])


def test_pages_larger_than_code_is_moved_by_are_named():
    program = recover(CodeObject.parse(build(LOOP, link=("-z", "max-page-size=0x200000"))))
    checked(program)
    with pytest.raises(UnmovableError, match=r"pages of 2097152 bytes, .* 65536 at most"):
        rebuild(Insert(5, ("s_nop 5",) * 100).apply(program)[0])


class TestText:
    def test_numbers_of_the_listing_may_be_edited(self):
        obj = loop_object()
        text = listing(recover(obj))
        assert "// resources: vgprs 16, agprs 0, sgprs 48, lds 512, scratch 0" in text
        edited = parse_listing(text.replace("lds 512", "lds 1024"), obj)
        assert edited.resources == Resources(lds=1024)
        assert CodeObject.parse(checked(edited)).kernel().lds_size == 1024

    def test_bad_numbers(self):
        obj = loop_object()
        for wrong in ("lds many", "speed 3", "lds -1"):
            with pytest.raises(InputError, match="resources"):
                parse_listing(listing(recover(obj)).replace("lds 512", wrong), obj)
        with pytest.raises(ResourceError):
            parse_listing(listing(recover(obj)).replace("lds 512", "lds 99999"), obj)

    def test_json(self):
        edit = SetResources(lds=1024, vgprs=32)
        assert edit.to_json() == {"kind": "resources", "vgprs": 32, "lds": 1024}
        assert from_json(edit.to_json()) == edit
        for bad in ({"lds": "much"}, {"speed": 3}, {"lds": None}):
            with pytest.raises(InputError):
                from_json({"kind": "resources", **bad})
        with pytest.raises(InputError, match="needs one of vgprs"):
            SetResources().apply(recover(loop_object()))


def test_declared_resources_are_checked():
    program = SetResources(lds=1024).apply(recover(loop_object()))[0]
    data = rebuild(program)
    assert check_rebuild(recover(loop_object()), data).verdict is Verdict.REFUTED
    assert check_rebuild(program, loop_object().data).verdict is Verdict.REFUTED
    other = SetResources(lds=2048).apply(recover(loop_object()))[0]
    assert check_rebuild(other, data).verdict is Verdict.REFUTED


def test_a_patch_in_place_changes_none():
    with pytest.raises(InPlaceError, match="changes no resources"):
        patch_in_place(SetResources(lds=1024).apply(recover(loop_object()))[0])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Insert(5, "v_mov_b32 v16, 0"), r"Line \d+, `v_mov_b32 v16, 0` uses v16; the descriptor grants 16"),
        (Replace(4, "v_mov_b32_e32 v255, 0"), "Line 4, .* uses v255"),
        (Insert(5, "v_accvgpr_write_b32 a0, v0"), "uses a0; the descriptor grants 0"),
        (Insert(5, "s_mov_b32 s42, 0"), "uses s42; the descriptor grants 42"),
        (Insert(5, "s_mov_b64 s[100:101], 0"), "uses s101"),
    ],
)
def test_registers_beyond_the_granted_are_a_named_error(edit, message):
    program = recover(loop_object())
    refuse_overflow(program)
    with pytest.raises(ResourceError, match=message):
        refuse_overflow(edit.apply(program)[0])


def test_fewer_registers_than_the_code_uses_are_a_named_error():
    program = recover(CodeObject.parse(build("v_mov_b32 v15, 0\n s_mov_b32 s31, 0\n s_endpgm")))
    refuse_overflow(SetResources(vgprs=16, sgprs=38).apply(program)[0])
    for fewer, message in ((SetResources(vgprs=12), "uses v15"), (SetResources(sgprs=16), "uses s31")):
        with pytest.raises(ResourceError, match=message):
            refuse_overflow(fewer.apply(program)[0])


def test_what_k0_uses_beyond_its_grant_it_may_go_on_to_use():
    program = recover(CodeObject.parse(build("v_mov_b32 v20, 0\n s_endpgm")))
    refuse_overflow(Replace(0, "v_mov_b32 v20, 1").apply(program)[0])
    with pytest.raises(ResourceError, match="uses v21"):
        refuse_overflow(Replace(0, "v_mov_b32 v21, 1").apply(program)[0])
