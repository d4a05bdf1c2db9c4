"""Waits and spacing of all kernels of one family as AMD ships them."""

from __future__ import annotations

import zipfile
from collections import Counter

import pytest

from asmevo.codeobject import CodeObject
from asmevo.program import recover
from asmevo.program.hazards import HazardAnalysis
from asmevo.program.waits import WaitAnalysis

FAMILY = "aiter_meta/hsa/gfx942/fmoe_2stages/"


@pytest.mark.slow
def test_186_kernels_lack_no_wait_and_are_close_in_four_ways_only():
    from benchmarks import wheels

    kernels = lines = 0
    close: Counter[tuple[str, int]] = Counter()
    with zipfile.ZipFile(wheels.fetch_wheel(wheels.AITER)) as archive:
        for name in sorted(n for n in archive.namelist() if n.startswith(FAMILY) and n.endswith(".co")):
            program = recover(CodeObject.parse(archive.read(name), name))
            assert WaitAnalysis().run(program).missing == (), name
            close.update((h.rule.key, h.distance) for h in HazardAnalysis("gfx942").hazards(program))
            kernels, lines = kernels + 1, lines + len(program.lines)
    assert (kernels, lines) == (186, 1_078_869)
    assert close == {
        ("m0_use:salu_m0:m0_use:overlap", 0): 3992,
        ("mfma_valu_read:xdl4:valu_read:overlap", 4): 520,
        ("mfma_valu_read:xdl4:valu_read:overlap", 5): 776,
        ("mfma_valu_read:xdl4:valu_read:overlap", 6): 868,
        ("sgpr_valu:valu_sgpr:valu_scalar:overlap", 1): 12120,
        ("valu_dpp_other:valu_vgpr:dpp_other:overlap", 0): 12,
        ("valu_dpp_other:valu_vgpr:dpp_other:overlap", 1): 12,
    }
