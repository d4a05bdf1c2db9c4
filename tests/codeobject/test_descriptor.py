"""Kernel descriptors: decoding against what the assembler was told, and single-field changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject, Descriptor, FloatMode
from asmevo.verdict import InputError
from small_objects import LOOP, build

FIELDS = {
    "lds_size": 32, "private_size": 32, "kernarg_size": 32, "rsrc1": 32, "rsrc2": 32, "rsrc3": 32, "user_sgpr_count": 5,
    "workgroup_id_x": 1, "workgroup_id_z": 1, "workitem_id_mode": 2, "kernarg_preload_length": 7,
    "kernarg_preload_offset": 9, "kernarg_segment_ptr": 1, "dispatch_ptr": 1, "ieee": 1, "dx10_clamp": 1,
    "denorm_f32": 2,
}  # fmt: skip


def test_what_the_assembler_was_told():
    d = CodeObject.parse(build(LOOP)).kernel().descriptor
    assert (d.vgpr_alloc, d.accum_offset, d.sgpr_alloc, d.lds_size) == (16, 16, 48, 512)
    assert (d.user_sgpr_count, d.kernarg_segment_ptr, d.dispatch_ptr, d.queue_ptr) == (2, True, False, False)
    assert (d.workgroup_id_x, d.workgroup_id_y, d.workgroup_id_z, d.workitem_id_mode) == (True, False, False, 0)
    assert d.float_mode == FloatMode(0, 0, 0, 3)  # the assembler's defaults
    assert d.ieee and d.dx10_clamp
    assert CodeObject.parse(build(LOOP, preload=2)).kernel().descriptor.kernarg_preload_length == 2


@given(st.binary(min_size=64, max_size=64), st.data())
def test_a_changed_field_reads_back_and_no_other_bit_changes(raw, data):
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    value = data.draw(st.integers(0, (1 << FIELDS[name]) - 1))
    old = Descriptor(raw)
    new = old.with_(**{name: value})
    assert new.field(name) == value
    assert new.with_(**{name: old.field(name)}) == old
    changed = int.from_bytes(new.raw, "little") ^ int.from_bytes(raw, "little")
    assert changed.bit_count() <= FIELDS[name]


@given(st.integers(1, 64), st.integers(1, 64), st.integers(-(1 << 40), 1 << 40))
def test_register_counts_and_entry_offset(vgpr_blocks, accum_blocks, offset):
    d = Descriptor(bytes(64)).with_(vgpr_alloc=8 * vgpr_blocks, accum_offset=4 * accum_blocks, entry_offset=offset)
    assert (d.vgpr_alloc, d.accum_offset, d.entry_offset) == (8 * vgpr_blocks, 4 * accum_blocks, offset)


def test_bad_changes():
    d = Descriptor(bytes(64))
    with pytest.raises(InputError, match="no field 'vgprs'"):
        d.with_(vgprs=3)
    with pytest.raises(InputError, match="does not fit"):
        d.with_(vgpr_alloc=520)
    with pytest.raises(InputError, match="64 bytes"):
        Descriptor(bytes(63))


@pytest.mark.parametrize("blocks, granted", [(0, 16), (1, 16), (4, 48), (5, 48), (6, 64), (12, 112), (13, 112)])
def test_sgprs_are_granted_in_sixteens(blocks, granted):
    """LLVM counts blocks of 8, gfx9 grants 16 at a time (AMDGPUUsage, granulated_wavefront_sgpr_count)."""
    assert Descriptor(bytes(64)).with_(sgpr_blocks=blocks).sgpr_alloc == granted
    assert Descriptor(bytes(64)).with_(sgpr_alloc=granted - 7).sgpr_alloc == granted
