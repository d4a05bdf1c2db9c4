"""Limits of the targets, against LLVM's occupancy tables."""

from __future__ import annotations

import pytest

from asmevo.isa.limits import limits_of
from asmevo.verdict import UnsupportedError

WAVES = [(0, 8), (64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (96, 5), (97, 4), (128, 4), (129, 3), (168, 3), (169, 2),
         (256, 2), (257, 1), (512, 1), (513, 0)]  # fmt: skip


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("registers", "waves"), WAVES)
def test_waves_by_registers(target: str, registers: int, waves: int):
    assert limits_of(target).waves_by_registers(registers) == waves


@pytest.mark.parametrize(
    ("target", "size", "workgroups"),
    [("gfx942", 65536, 1), ("gfx942", 65537, 0), ("gfx942", 32768, 2), ("gfx942", 32769, 1), ("gfx942", 1, 128),
     ("gfx942", 0, 32), ("gfx950", 163840, 1), ("gfx950", 81920, 2), ("gfx950", 1281, 64)],
)  # fmt: skip
def test_workgroups_by_lds(target: str, size: int, workgroups: int):
    assert limits_of(target).workgroups_by_lds(size) == workgroups


def test_another_target_is_refused():
    with pytest.raises(UnsupportedError, match="gfx90a"):
        limits_of("gfx90a")
