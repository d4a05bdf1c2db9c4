from __future__ import annotations

import json

import pytest
from timing_kit import loop, timed

from asmevo.timing import Profile, profile, render

MFMA = [
    f"v_mfma_f32_16x16x32_fp8_fp8 v[{4 * i}:{4 * i + 3}], v[100:101], v[102:103], v[{4 * i}:{4 * i + 3}]"
    for i in range(8)
]
LATE = [*MFMA, "ds_read_b64 v[100:101], v110", "s_waitcnt lgkmcnt(0)"]
EARLY = ["ds_read_b64 v[104:105], v110", *MFMA, "s_waitcnt lgkmcnt(0)"]


def of(text: str, trips: int = 20, workgroups: int = 1) -> Profile:
    e = timed(text, trips, workgroups=workgroups)
    return profile(e.code.program, e)


def test_the_hot_loop_comes_first_and_its_time_adds_up() -> None:
    p = of(loop(LATE))
    hot = p.windows[0]
    assert (hot.kind, hot.window.first, hot.window.last, hot.depth) == ("block", 1, 13, 1)
    assert hot.trips == 20 * 4
    assert hot.share > 0.95
    assert sum(w.cycles for w in p.windows) + p.estimate.tail_cycles == pytest.approx(p.estimate.cycles)
    assert sum(line.cycles for line in p.lines) + p.estimate.tail_cycles == pytest.approx(p.estimate.cycles)


def test_what_an_ideal_schedule_could_save() -> None:
    """Late loads leave idle time that reordering can fill; early ones leave the loop at the pace of the matrix pipe."""
    late, early = of(loop(LATE)), of(loop(EARLY))
    assert late.estimate.cycles > early.estimate.cycles
    for p in (late, early):
        hot = p.windows[0]
        assert hot.limiter == "mfma"
        assert hot.ideal == hot.bounds.mfma == 20 * 8 * 16
        assert hot.cycles == pytest.approx(hot.ideal + hot.saving)
    assert late.windows[0].saving > 2 * early.windows[0].saving
    assert next(iter(late.windows[0].idle)) == "mfma" and "lgkmcnt" in late.windows[0].idle
    assert late.by_saving[0] is late.windows[0]


def test_a_chain_of_results_bounds_a_window() -> None:
    hot = of(loop(["v_exp_f32_e32 v1, v1", "v_readfirstlane_b32 s4, v1", "s_add_u32 s5, s4, 1"])).windows[0]
    assert hot.limiter == "dependence"
    assert hot.dependence_bound == 20 * (16 + 16 + 4)
    assert hot.saving == pytest.approx(hot.cycles - hot.dependence_bound)


def test_loops_of_several_blocks_are_windows_of_their_own() -> None:
    inner = loop("v_exp_f32_e32 v1, v2\ns_cbranch_execz skip\nv_exp_f32_e32 v3, v2\nskip:\nv_exp_f32_e32 v4, v2")
    p = of(inner)
    whole = next(w for w in p.windows if w.kind == "loop")
    parts = [w for w in p.windows if w.kind == "block" and set(w.blocks) <= set(whole.blocks)]
    assert len(parts) == 3
    assert whole.cycles == pytest.approx(sum(w.cycles for w in parts))
    assert (whole.window.first, whole.window.last) == (1, 7)


def test_the_roofline() -> None:
    p = of(loop(MFMA))
    roof = p.roofline
    assert roof.flops == 4 * 20 * 8 * 2 * 16 * 16 * 32
    assert roof.peak_flops == pytest.approx(2.6149e15, rel=0.001)  # AMD's dense fp8 peak of MI300X
    assert roof.roof == "compute"
    assert 0 < roof.fraction < 1


def test_json_has_everything_and_survives_a_round_trip() -> None:
    facts = json.loads(json.dumps(of(loop(LATE)).to_json()))
    assert facts["estimate"]["source"] == "modelled"
    assert {"cycles", "ideal", "saving", "limiter", "idle"} <= facts["windows"][0].keys()
    assert facts["lines"][10]["text"] == "s_waitcnt lgkmcnt(0)" and facts["lines"][10]["idle"]["lgkmcnt"] > 0


EXPECTED = """\
modelled 4.16 us on mi300x at 2.1 GHz (clock assumed, not measured; 0.93 to 2.1 GHz are plausible under load)
335 cycles on the busiest compute unit with 1 workgroups; 4 fit at once (4 waves a SIMD, limited by registers)
busy: issue 8 %, valu 7 %, mfma 29 %, lds 14 %, l1 0 %, memory 0 %
LDS bank conflicts not known: no addresses were recorded
limited by latency; 0 % of the compute roof

window                  share     cycles  could save  bound       idle
block 1..7              95.5%        320         224  mfma        lgkmcnt 42 %, mfma 19 %, fetch 12 %
block 0..0               1.6%          6           2  dependence  launch 27 %
block 8..8               1.2%          4           0  dependence
most to gain: block 1..7, at most 66.9 % of the time

  line    count   share    cycles  instruction
     0        4   1.64%         6  s_mov_b32 s1, 9                                            launch:2
     1       12  15.52%        52  v_mfma_f32_16x16x32_fp8_fp8 v[24:27], v[100:101], v[102:103], v[24:27]  fetch:40
     2       12  14.33%        48  v_mfma_f32_16x16x32_fp8_fp8 v[28:31], v[100:101], v[102:103], v[28:31]  mfma:36
     3       12   3.58%        12  ds_read_b64 v[100:101], v110
     4       12  51.34%       172  s_waitcnt lgkmcnt(0)                                       lgkmcnt:136 mfma:24
     5       12   3.58%        12  s_sub_u32 s1, s1, 1
     6       12   3.58%        12  s_cmp_lg_u32 s1, 0
     7       12   3.58%        12  s_cbranch_scc1 loop
     8        4   1.19%         4  s_endpgm
"""


def test_the_text_names_source_chip_clock_windows_and_lines() -> None:
    assert render(of(loop(LATE[-4:]), 3), listing=True) == EXPECTED
    assert "s_endpgm" not in render(of(loop(LATE), 3))


def test_a_sampled_launch_says_how_many_workgroups_were_traced_and_what_that_leaves_in_doubt() -> None:
    text = render(of(loop(LATE), workgroups=64))
    assert "1 of 64 workgroups traced" in text and "standard error of the instructions is not known" in text
