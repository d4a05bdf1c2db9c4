"""The model against published microbenchmarks of MI308X (tingqli/pyhip; see `asmevo.timing.chip_table`)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from timing_kit import ANYWHERE, L2, FakeTrace, bandwidth, filled, loop, replayed, runs_of, timed

from asmevo.timing import chip
from benchmarks.timing_micro import bandwidth_cells
from programs import program_from_text

MFMA = "v_mfma_f32_16x16x16_bf16 v[{a}:{a}+3], v[100:101], v[102:103], v[{a}:{a}+3]"
ADD = "v_add_f32_e32 v{b}, v60, v61"
FMA = "v_fma_f32 v{b}, v60, v61, v62"
EXP = "v_exp_f32_e32 v{b}, v60"
PACKED = "v_pk_mul_f32 v[{b}:{b}+1], v[60:61], v[62:63]"


def clocks_per_group(*group: str) -> float:
    """Steady-state clocks of a group of instructions in a long stream of one wave."""

    def run(groups: int) -> float:
        lines = [filled(op, a=4 * (i % 4), b=40 + i % 8 * 2) for i in range(groups) for op in group]
        on = chip("mi308x").with_(fetch_bytes=ANYWHERE)
        return timed("\n".join([*lines, "s_endpgm"]), waves=1, on=on).cycles

    return (run(300) - run(100)) / 200


@pytest.mark.parametrize(
    ("op", "alone", "behind_mfma"),
    [
        (ADD, 4.012, (16, 16, 16, 20)),
        (FMA, 4.016, (16, 16, 16, 20)),
        (EXP, 16.0, (20, 36, 52, 68)),
        (PACKED, 4.008, (28, 32, 36, 40)),
    ],
)
def test_vector_instructions_beside_mfma(op: str, alone: float, behind_mfma: tuple[int, ...]) -> None:
    assert clocks_per_group(op) == pytest.approx(alone, rel=0.01)
    for n, measured in enumerate(behind_mfma, 1):
        assert clocks_per_group(MFMA, *[op] * n) == pytest.approx(measured, rel=0.01)


def test_bundles_of_mfma_exp_and_plain_instructions() -> None:
    assert clocks_per_group(EXP, ADD) == pytest.approx(20.04, rel=0.01)
    assert clocks_per_group(MFMA, ADD, ADD, ADD, MFMA, EXP) == pytest.approx(36.05, rel=0.01)
    assert clocks_per_group(MFMA, MFMA, ADD, ADD, ADD, EXP) == pytest.approx(48.05, rel=0.01)


@pytest.mark.parametrize(("misaligned", "measured"), [(False, 4.016), (True, 5.012)])
def test_eight_byte_instructions_off_their_alignment(misaligned: bool, measured: float) -> None:
    text = "\n".join([*["s_nop 0"] * misaligned, *["v_fma_f32 v1, v60, v61, v62"] * 400, "s_endpgm"])
    cycles = timed(text, waves=1, on=chip("mi308x")).cycles
    assert cycles / 400 == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize(("load", "measured"), [("ds_read_b32 v1, v9", 52), ("ds_read_b128 v[1:4], v9", 64)])
def test_lds_latency(load: str, measured: int) -> None:
    with_load = timed(f"{load}\ns_waitcnt lgkmcnt(0)\ns_endpgm", waves=1)
    without = timed("s_nop 0\ns_endpgm", waves=1)
    assert with_load.cycles - without.cycles == pytest.approx(measured, abs=4)


def test_the_published_cells() -> None:
    """At least 80 % within 10 %, of all that `python -m benchmarks.timing` prints; here those with loops."""
    found = list(bandwidth_cells())
    known = [cell for cell in found if not cell.name.startswith("global_load_dwordx4 L2")]
    assert len(found) == 72
    assert sum(cell.within for cell in known) >= 0.8 * len(known)
    for cell in found:
        assert cell.modelled == pytest.approx(cell.measured, rel=1.1), cell


def test_l2_hits_are_limited_by_latency_until_the_path_is_full() -> None:
    """Measured 12, 24, 48 bytes a clock for 1, 2, 4 waves; the table's L2 latency gives more, in that proportion."""
    load = "global_load_dwordx4 v[{d}:{d}+3], v[200:201], off"
    one, two, four = (bandwidth(load, 1024, (n, 0, 0, 0), L2) for n in (1, 2, 4))
    assert two == pytest.approx(2 * one, rel=0.05)
    assert four == pytest.approx(48, rel=0.15)
    assert one > 12 * 1.15


def issue_gaps(instruction: str, count: int = 40) -> list[int]:
    """Clocks between the issues of consecutive instructions of one wave."""
    times: list[float] = []
    for n in (*range(1, count), count):
        program = program_from_text("\n".join([*[instruction] * n, "s_endpgm"]), lds_size=0)
        times.append(replayed(program, [FakeTrace(0, 0, runs_of(program))], chip("mi308x")).cycles)
    return [round(b - a) for a, b in pairwise(times)]


def test_loads_queue_and_stores_do_not() -> None:
    """ATT on hardware: about 16 loads issue fast, then one in 16 clk; stores take 16 clk from the second on."""
    loads = issue_gaps("buffer_load_dwordx4 v[0:3], v200, s[4:7], 0 offen")
    first = next(i for i, gap in enumerate(loads) if gap >= 16)
    assert 11 <= first <= 18 and set(loads[first + 1 :]) == {16}
    assert set(issue_gaps("buffer_store_dwordx4 v[0:3], v200, s[4:7], 0 offen")[1:]) == {16}


@pytest.mark.parametrize(
    ("mnemonic", "a", "d", "passes"),
    [
        ("v_mfma_f32_16x16x32_fp8_fp8", 2, 4, 4),
        ("v_mfma_f32_32x32x16_fp8_fp8", 2, 16, 8),
        ("v_mfma_f32_16x16x4_f32", 1, 4, 8),
    ],
)
def test_mfma_interval_and_dependent_latency(mnemonic: str, a: int, d: int, passes: int) -> None:
    """Passes of 4 clk (AMD matrix instruction calculator); a result is read 4 passes later (LLVM)."""

    def span(first: int, count: int) -> str:
        return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"

    operands = f"{span(200, a)}, {span(210, a)}"
    independent = [f"{mnemonic} {span(d * i, d)}, {operands}, {span(d * i, d)}" for i in range(8)]
    chained = [f"{mnemonic} {span(0, d)}, {operands}, {span(0, d)}"] * 8
    read = [*chained[:1], f"{mnemonic} {span(64, d)}, {span(0, a)}, {span(210, a)}, {span(64, d)}"]

    def issue_time(lines: list[str]) -> float:
        return timed("\n".join([*lines, "s_endpgm"]), waves=1).cycles

    assert issue_time(independent) - issue_time(independent[:1]) == 7 * 4 * passes
    assert issue_time(chained) - issue_time(chained[:1]) == 7 * 4 * passes
    assert issue_time(read) - issue_time(chained[:1]) == 4 * passes + 16


def test_a_loop_of_mfma_takes_its_passes() -> None:
    body = [
        f"v_mfma_f32_32x32x16_fp8_fp8 v[{16 * i}:{16 * i + 15}], v[200:201], v[202:203], v[{16 * i}:{16 * i + 15}]"
        for i in range(8)
    ]
    e = timed(loop(body * 4), 50)
    assert e.cycles == pytest.approx(50 * 32 * 8 * 4, rel=0.03)
    assert e.limiter == "mfma"
