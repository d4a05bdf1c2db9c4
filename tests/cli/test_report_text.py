"""What people read: diffs, tables, summaries, checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asmevo.report import basis_text, checks_text, diff, gain_text, summary_text, table, time_text
from asmevo.search import RunSummary
from asmevo.verdict import Check, Finding, Verdict
from programs import program_from_text

BEFORE = """
    s_mov_b32 s0, 4
loop:
    v_add_u32_e32 v0, v1, v2
    v_mov_b32_e32 v3, v0
    s_nop 0
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 loop
    s_endpgm
"""
AFTER = """
    0@ s_mov_b32 s0, 4
loop:
    4@ s_sub_u32 s0, s0, 1
    1@ v_add_u32_e32 v0, v1, v2
    2@ v_mov_b32_e32 v3, v0
    5@ s_cmp_lg_u32 s0, 0
    8@ s_nop 1
    6@ s_cbranch_scc1 loop
    7@ s_endpgm
"""


def test_diff_shows_moved_deleted_and_inserted_lines_and_branches_that_go_elsewhere():
    got = diff(program_from_text(BEFORE), program_from_text(AFTER), context=1)
    assert got.splitlines() == [
        "@@ block 0, line 0 @@",
        "      0  s_mov_b32 s0, 4",
        "+     4  s_sub_u32 s0, s0, 1",
        "      1  v_add_u32_e32 v0, v1, v2",
        "      2  v_mov_b32_e32 v3, v0",
        "-     3  s_nop 0",
        "-     4  s_sub_u32 s0, s0, 1",
        "      5  s_cmp_lg_u32 s0, 0",
        "-     6  s_cbranch_scc1 loop  -> line 1",
        "+     8  s_nop 1",
        "+     6  s_cbranch_scc1 loop  -> line 4",
        "      7  s_endpgm",
    ]


def test_diff_of_equal_programs_is_empty():
    assert diff(program_from_text(BEFORE), program_from_text(BEFORE)) == ""


def test_table_sets_numbers_to_the_right():
    got = table(["name", "us"], [["a", "9.5"], ["long", "-"], ["b", "+10.25 %"]])
    assert got.splitlines() == [
        "name        us",
        "----  --------",
        "a          9.5",
        "long         -",
        "b     +10.25 %",
    ]


def test_a_modelled_time_says_so_with_chip_and_clock():
    assert time_text(12.345, "modelled") == "modelled 12.35 us" or time_text(12.345, "modelled") == "modelled 12.34 us"
    assert time_text(None, "modelled") == "-"
    assert "modelled for mi300x at 2.1 GHz" in basis_text("modelled", "mi300x")
    assert "assumed, not measured" in basis_text("modelled", "mi300x")
    assert gain_text(100.0, 97.5) == "-2.50 %"


@pytest.fixture
def summary() -> RunSummary:
    return RunSummary(
        folder=Path("runs/k"),
        chip="mi300x",
        source="modelled",
        k0_microseconds=100.0,
        best_microseconds=95.0,
        k0_sha256="0" * 64,
        best_sha256="1" * 64,
        best_ordinal=7,
        verdict=Verdict.TESTED,
        edits=2,
        attempts=20,
        trims=3,
        commits=2,
        verdicts={"TESTED": 12, "REFUTED": 8},
        reason="budget of 20 attempts used",
        interrupted=False,
        seconds=10.0,
        files={"object": Path("runs/k/best.co"), "certificate": Path("runs/k/certificate.json")},
    )


def test_summary_of_a_faster_candidate(summary):
    text = summary_text(summary)
    assert "best  modelled 95.00 us, -5.00 %, TESTED (attempt 7, 2 edits)" in text
    assert "12 TESTED, 8 REFUTED" in text
    assert "at 2.1 GHz" in text
    assert "runs/k/best.co" in text and "runs/k/certificate.json" in text


def test_summary_without_a_faster_candidate_is_not_padded(summary):
    text = summary_text(replace(summary, best_microseconds=100.0, best_ordinal=0, edits=0, files={}, interrupted=True))
    assert "no admitted candidate was faster than K0" in text
    assert "best.co" not in text
    assert "`asmevo resume runs/k` goes on" in text


def test_checks_name_the_line_once_and_shorten_long_lists():
    findings = tuple(Finding("wait.raw", f"finding {i}.", line=1) for i in range(9))
    findings = (Finding("wait.raw", "Line 1, `s_nop 0`, is wrong.", line=1), *findings)
    text = checks_text([Check("static", Verdict.REFUTED, findings)])
    lines = text.splitlines()
    assert lines[0] == "REFUTED  static"
    assert lines[1].strip() == "error wait.raw: Line 1, `s_nop 0`, is wrong."
    assert lines[2].strip() == "error wait.raw (line 1): finding 0."
    assert lines[-1].strip() == "and 2 more; `--json` prints all"
    assert len(lines) == 10


def test_clocks_of_matrix_types_are_told_where_they_differ():
    assert "at 2.1 GHz (clock assumed" in basis_text("modelled", "mi300x")
    assert ", 1.6 for 8-bit matrices (given by the user)" in basis_text("modelled", "mi300x[clock_ghz_8=1.6]")


def test_each_clock_is_told_with_what_is_known_of_it() -> None:
    text = basis_text("modelled", "mi308x[clock_ghz_8=1.42(1.38..1.47)]")
    assert "at 1.59 GHz (clock assumed, not measured; 1.13 to 1.85 GHz are plausible under load)" in text
    assert "1.42 for 8-bit matrices (given by the user; 1.38 to 1.47 GHz are plausible)" in text
