"""Patterns on other code."""

from __future__ import annotations

from dataclasses import replace

from strategy_kit import context, outcomes, shown

from asmevo.strategies import Pattern, Transfer

BEFORE = """
    s_nop 3
    v_add_f32_e32 v0, v1, v2
    s_nop 5
    v_mul_f32_e32 v3, v4, v5
    s_endpgm
"""
PATTERN = Pattern(
    7,
    "simplify",
    "delete `s_nop 5`, paced 30 to 20 clocks",
    ("s_nop", "v_add_f32_e32", "s_nop", "v_mul_f32_e32", "s_endpgm"),
    (0, 1, 2, 3, 4),
    ({"kind": "delete", "lines": [2]},),
)


def tried(text: str, pattern: Pattern = PATTERN) -> list[tuple[str, list[str]]]:
    return [(note, shown(after)) for note, after in outcomes(Transfer([pattern]), context(text))]


def test_the_edit_lands_at_the_line_that_stands_in_its_place() -> None:
    sibling = BEFORE.replace("v_add_f32_e32", "v_mov_b32_e32 v9, v8\n    v_add_f32_e32", 1)
    note, after = tried(sibling)[0]
    assert note.startswith("as attempt 7: delete `s_nop 5`")
    assert after == [
        "s_nop 3",
        "v_mov_b32_e32 v9, v8",
        "v_add_f32_e32 v0, v1, v2",
        "v_mul_f32_e32 v3, v4, v5",
        "s_endpgm",
    ]


def test_other_code_is_left_alone() -> None:
    assert tried("v_exp_f32_e32 v0, v1\n v_log_f32_e32 v2, v3\n s_endpgm") == []


def test_where_the_edit_does_not_fit_its_strategy_is_asked() -> None:
    notes = [note for note, _ in tried(BEFORE, replace(PATTERN, edits=({"kind": "delete", "lines": [99]},)))]
    assert notes and not any(note.startswith("as attempt") for note in notes)


def test_a_pattern_goes_to_json_and_back() -> None:
    assert Pattern.from_json(7, PATTERN.to_json()) == replace(PATTERN, edits=tuple(PATTERN.to_json()["edits"]))
