"""What a run tells a hook of its accesses to LDS and memory, and that it makes no difference."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from asmevo.sim import AccessHook
from sim_kernels import Grid, run

FULL = (1 << 64) - 1
CODE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 3, v0
    v_mov_b32_e32 v2, 1
    ds_write_b32 v1, v0 offset:12
    s_mov_b64 exec, 6
    ds_read2_b32 v[4:5], v1 offset0:1 offset1:3
    s_mov_b64 exec, 0
    ds_read_b32 v6, v1
    s_mov_b64 exec, -1
    s_mov_b32 s6, 0
1:
    ds_add_u32 v1, v2
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 3
    s_cbranch_scc1 1b
    ds_read_b32 v7, v1
    v_lshlrev_b32_e32 v1, 2, v0
    global_store_dword v1, v7, s[0:1] offset:1024
"""
WROTE, READ2, IDLE, ADDED, LAST, STORED = 3, 5, 7, 10, 14, 16
"""Positions of the accesses."""
_HOOK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint64,
)  # fmt: skip


@dataclass
class Told:
    notes: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(1))
    calls: list[tuple[int, int, int]] = field(default_factory=list)
    """Position, slot and lanes."""
    places: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """Of the lanes in the last call for a position and slot."""
    given: set[int] = field(default_factory=set)

    def function(self) -> Callable[..., None]:
        def hook(notes: int, position: int, slot: int, places: Any, lanes: int) -> None:
            self.given.add(notes)
            self.calls.append((position, slot, lanes))
            self.places[position, slot] = [places[n] for n in range(64) if lanes >> n & 1]

        return _HOOK(hook)


def told(grid: Grid, code: str = CODE, **options: Any) -> tuple[Told, Any, Any]:
    found = Told()
    function = found.function()
    hook = AccessHook(ctypes.cast(function, ctypes.c_void_p).value or 0, found.notes.ctypes.data)
    image, execution = run(code, grid=grid, lds=2048, access_hook=hook, **options)
    assert found.given == {found.notes.ctypes.data}
    return found, image, execution


def test_a_hook_is_told_of_every_access_with_places_and_lanes() -> None:
    found, _, execution = told(Grid())
    assert execution.status == "done"
    assert found.calls == [
        (WROTE, 0, FULL), (READ2, 0, 6), (READ2, 1, 6), (IDLE, 0, 0), *[(ADDED, 0, FULL)] * 3, (LAST, 0, FULL),
        (STORED, 0, FULL),
    ]  # fmt: skip
    assert found.places[WROTE, 0] == [8 * n + 12 for n in range(64)]
    assert found.places[READ2, 0] == [12, 20] and found.places[READ2, 1] == [20, 28]


@pytest.mark.parametrize("threads", [1, 4])
def test_a_run_with_a_hook_does_the_same(threads: int) -> None:
    grid = Grid((3, 1, 1), (128, 1, 1))
    image, execution = run(CODE, grid=grid, lds=2048, trace=True)
    found, other, with_hook = told(grid, trace=True, threads=threads)
    assert with_hook.line_counts == execution.line_counts and with_hook.instructions == execution.instructions
    assert [t.runs.tolist() for t in with_hook.traces] == [t.runs.tolist() for t in execution.traces]
    assert (other.data == image.data).all()
    assert len(found.calls) == 6 * 9


MEMORY = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v6, s0
    v_mov_b32_e32 v7, s1
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_movk_i32 s10, 0x40
    s_mov_b32 s11, 0x20000
    s_mov_b64 s[12:13], src_shared_base
    global_load_dword v2, v1, s[0:1] offset:16
    global_load_dword v2, v[6:7], off offset:8
    buffer_load_dword v2, v1, s[8:11], 0 offen
    flat_load_dword v2, v[6:7]
    v_mov_b32_e32 v6, 0
    v_mov_b32_e32 v7, s13
    flat_load_dword v2, v[6:7]
    scratch_load_dword v2, off, off
    s_load_dword s20, s[0:1], 0x0
"""
BASED, WIDE, BUFFER, FLAT, SHARED = 9, 10, 11, 12, 15


def test_a_hook_is_told_of_memory_by_places_in_the_image() -> None:
    found, _, execution = told(Grid(), MEMORY, private=16)
    assert execution.status == "done"
    assert [call[0] for call in found.calls] == [BASED, WIDE, BUFFER, FLAT, SHARED]
    start = found.places[FLAT, 0][0]
    assert found.places[FLAT, 0] == [start] * 64 and found.places[WIDE, 0] == [start + 8] * 64
    assert found.places[BASED, 0] == [start + 16 + 4 * n for n in range(64)]
    assert found.places[BUFFER, 0] == [start + 4 * n for n in range(16)], "the others are out of range"
    assert found.places[SHARED, 0] == [], "they use LDS"


def test_lanes_outside_of_memory_are_a_fault_and_not_told_of() -> None:
    found, _, execution = told(Grid(), "v_lshlrev_b32_e32 v1, 28, v0\nglobal_load_dword v2, v1, s[0:1]")
    assert execution.fault is not None and execution.fault.rule == "sim.global"
    assert found.calls == [(1, 0, sum(1 << n for n in range(0, 64, 16)))]
