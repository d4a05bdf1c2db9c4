"""Branches that an edit brings out of reach."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Insert, apply_all
from asmevo.program import BranchRangeError, check_rebuild, recover
from asmevo.program.islands import with_islands
from asmevo.program.layout import lay_out
from asmevo.verdict import Verdict
from rebuilt import checked
from small_objects import build, loop_object

REACH = 1 << 15
STRAIGHT = "1:\n s_nop 0\n s_nop 1\n s_cbranch_scc1 2f\n s_nop 2\n s_nop 3\n s_cbranch_scc0 1b\n 2:\n s_endpgm"
ROOM = "1:\n s_cbranch_scc1 3f\n s_nop 2\n s_branch 2f\n s_nop 3\n 2:\n s_cbranch_scc0 1b\n 3:\n s_endpgm"


def executed(data: bytes, taken: frozenset[int]) -> list[str]:
    """Texts of the straight-line instructions met from the entry on; each conditional branch is taken once if named.

    `taken` holds ordinals of conditional branches in the order they are met.
    """
    program = recover(CodeObject.parse(data))
    position, met, out = program.position[program.entry], 0, list[str]()
    while len(out) < 500_000:
        line = program.lines[position]
        base = line.instruction.base
        if base == "s_endpgm":
            return out
        goes = base == "s_branch"
        if base.startswith("s_cbranch"):
            goes, met = met in taken, met + 1
            out.append(base)
        elif not goes:
            out.append(line.instruction.text)
        position = program.position[line.target] if goes and line.target is not None else position + 1
    raise AssertionError("no end")


@pytest.mark.parametrize("code", [STRAIGHT, ROOM], ids=["straight", "room"])
@pytest.mark.parametrize("count", [REACH, 2 * REACH])
def test_control_goes_as_before(code, count):
    k0 = recover(CodeObject.parse(build(code)))
    at = next(line.id for line in k0.lines if line.instruction.text == "s_nop 2")
    program = Insert(at, ("s_nop 5",) * count).apply(k0)[0]
    data = checked(program)
    assert check_rebuild(program, data).facts["islands"] > 0
    for taken in (frozenset(), frozenset({0}), frozenset({1})):
        before, after = executed(k0.source.data, taken), executed(data, taken)
        assert [text for text in after if text != "s_nop 5"] == before


def test_nothing_is_added_within_reach():
    program = Insert(9, ("s_nop 0",) * (REACH - 10)).apply(recover(loop_object()))[0]
    assert len(lay_out(program).program.lines) == len(program.lines)


def test_islands_stand_where_control_does_not_pass():
    """Behind the unconditional branch in the middle, although a later place would do."""
    k0 = recover(CodeObject.parse(build(ROOM)))
    branch = next(line.id for line in k0.lines if line.instruction.base == "s_branch")
    nops = ("s_nop 5",) * 20_000
    program = apply_all(k0, [Insert(branch, nops), Insert(branch + 1, nops, fallthrough=True)])
    lines = lay_out(program).program.lines
    islands = [i for i, line in enumerate(lines) if line.id not in program.position]
    assert islands
    for i in islands:
        before = next(line for line in reversed(lines[:i]) if line.id in program.position)
        assert before.instruction.base == "s_branch"


def test_branches_to_one_place_share_their_islands():
    code = "\n".join("s_cbranch_scc1 9f" for _ in range(50)) + "\n s_nop 1\n9:\n s_endpgm"
    k0 = recover(CodeObject.parse(build(code)))
    program = Insert(50, ("s_nop 5",) * REACH).apply(k0)[0]
    assert check_rebuild(program, checked(program)).facts["islands"] <= 3


def test_without_a_place_the_error_is_named():
    """The far branch stands in a kernarg preload header, and nothing but that header is in reach."""
    program = recover(loop_object())
    far = Insert(9, ("s_nop 5",) * (2 * REACH)).apply(program)[0]
    everything = range(len(far.lines))
    branch = far.position[10]
    with pytest.raises(BranchRangeError, match="nothing can be put between them"):
        with_islands(far, [4 * i for i in everything], [branch], [everything])


def test_damage_to_an_island_is_found():
    program = Insert(9, ("s_nop 0",) * REACH).apply(recover(loop_object()))[0]
    data = checked(program)
    layout = lay_out(program)
    new = CodeObject.parse(data)
    for i, line in enumerate(layout.program.lines):
        if line.id not in program.position:
            at = new.text.offset + layout.addresses[i] - new.text.address
            raw = bytearray(data)
            raw[at] ^= 4
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED
