"""Constants of address sums in offset fields: what goes, what stays, and that it is proved."""

from __future__ import annotations

import pytest
from strategy_kit import context, lines, outcomes, results

from asmevo.isa import parse_instruction
from asmevo.prove import Prover
from asmevo.strategies.offsets import Offsets, readdressed

BOUNDED = "v_and_b32_e32 v1, 0xffc, v0"
STORE = "s_waitcnt lgkmcnt(0)\nglobal_store_dwordx4 v[40:41], v[20:23], off\ns_endpgm"


def first(text: str) -> list[str]:
    """The lines of the first proposal."""
    found = results(Offsets(), text)
    return next(iter(found.values())) if found else []


def all_proved(text: str) -> bool:
    where = context(text)
    found = list(outcomes(Offsets(), where))
    return bool(found) and all(proof.proved for _, program in found for proof in Prover(where.program).blocks(program))


def test_a_sum_goes_where_the_field_reaches() -> None:
    text = f"""
        {BOUNDED}
        v_add_u32_e32 v3, 0x2000, v1
        ds_read_b32 v20, v3 offset:16
        ds_read_b32 v21, v3
        {STORE}
    """
    changed = first(text)
    assert "ds_read_b32 v20, v1 offset:8208" in changed
    assert "ds_read_b32 v21, v1 offset:8192" in changed
    assert not any(line.startswith("v_add") for line in changed)
    assert all_proved(text)


def test_one_sum_serves_the_accesses_around_it() -> None:
    text = f"""
        {BOUNDED}
        v_add_u32_e32 v3, 0x2108, v1
        ds_read2_b32 v[20:21], v3 offset1:1
        v_add_u32_e32 v3, 0x2100, v1
        ds_read2_b32 v[22:23], v3 offset1:1
        {STORE}
    """
    changed = first(text)
    assert changed[1:4] == lines(
        """
        v_add_u32_e32 v3, 0x2100, v1
        ds_read2_b32 v[20:21], v3 offset0:2 offset1:3
        ds_read2_b32 v[22:23], v3 offset1:1
        """
    )
    assert all_proved(text)


def test_it_gets_a_register_of_its_own_where_its_own_is_used_again() -> None:
    text = f"""
        {BOUNDED}
        v_add_u32_e32 v3, 0x2100, v1
        ds_read2_b32 v[20:21], v3 offset1:1
        v_mov_b32_e32 v3, v9
        global_store_dword v[40:41], v3, off
        v_add_u32_e32 v3, 0x2108, v1
        ds_read2_b32 v[22:23], v3 offset1:1
        {STORE}
    """
    changed = first(text)
    assert "v_add_u32_e32 v0, 0x2100, v1" in changed
    assert "ds_read2_b32 v[22:23], v0 offset0:2 offset1:3" in changed
    assert all_proved(text)


@pytest.mark.parametrize(
    "between",
    [
        "v_mov_b32_e32 v1, v9",  # another base
        "s_mov_b64 exec, s[4:5]",  # other lanes
        "v_mov_b32_e32 v9, v3\n global_store_dword v[40:41], v9, off",  # another reader
        "ds_write_b32 v3, v3",  # the address is data, too
    ],
)
def test_nothing_where_the_sum_is_needed(between: str) -> None:
    assert not first(f"{BOUNDED}\n v_add_u32_e32 v3, 16, v1\n {between}\n ds_read_b32 v20, v3\n {STORE}")


@pytest.mark.parametrize(
    ("text", "distance", "expected"),
    [
        ("ds_read_b32 v20, v3 offset:16", 8, "ds_read_b32 v20, v5 offset:24"),
        ("ds_read_b32 v20, v3 offset:16", -16, "ds_read_b32 v20, v5"),
        ("ds_read_b32 v20, v3 offset:16", 65536, None),
        ("ds_read_b32 v20, v3 offset:16", -17, None),
        ("ds_write2_b64 v3, v[6:7], v[8:9] offset1:2", 8, "ds_write2_b64 v5, v[6:7], v[8:9] offset0:1 offset1:3"),
        ("ds_write2_b64 v3, v[6:7], v[8:9] offset1:2", 4, None),
        ("ds_read2st64_b32 v[20:21], v3 offset1:1", 256, "ds_read2st64_b32 v[20:21], v5 offset0:1 offset1:2"),
        ("ds_read2st64_b32 v[20:21], v3 offset1:255", 256, None),
        ("buffer_load_dword v20, v3, s[4:7], 0 offen nt", 8, "buffer_load_dword v20, v5, s[4:7], 0 offen offset:8 nt"),
        ("buffer_load_dword v20, v3, s[4:7], 0 offen", 4096, None),
        ("buffer_load_dword v20, v3, s[4:7], 0 idxen", 16, None),
        ("global_load_dword v20, v3, s[4:5] offset:-8", 16, "global_load_dword v20, v5, s[4:5] offset:8"),
        ("global_load_dword v20, v[2:3], off", 16, None),
    ],
)  # fmt: skip
def test_offsets_of_accesses(text: str, distance: int, expected: str | None) -> None:
    found = readdressed(parse_instruction(text), "v5", distance)
    assert found == expected
