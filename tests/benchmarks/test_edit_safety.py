"""The second opinion on edited objects: it agrees with what is right, and finds damage by itself."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, apply_all
from asmevo.isa import Toolchain
from asmevo.program import rebuild, recover
from benchmarks.edit_safety import examine, summarized
from benchmarks.independent import File, Model, problems
from small_objects import DATA, FUNCTION, LOOP, build

CALL = "s_getpc_b64 s[4:5]\n s_add_u32 s4, s4, f@rel32@lo+4\n s_addc_u32 s5, s5, f@rel32@hi+12\n" + LOOP
NOPS = ("s_nop 5",) * 1500


@pytest.fixture
def edited() -> tuple[bytes, bytes, Model]:
    data = build(CALL, LOOP, extra=FUNCTION.format(name="f") + DATA, link=("-Bsymbolic",))
    program = recover(CodeObject.parse(data), "k0")
    model = Model(len(program.lines))
    model.insert(8, ("s_nop 3",))
    model.delete(12)
    model.insert(13, NOPS)
    edits = [Insert(8, "s_nop 3"), Delete((12,)), Insert(13, NOPS)]
    return data, rebuild(apply_all(program, edits)), model


def found(before: bytes, after: bytes, model: Model) -> list[str]:
    objdump = Toolchain.find().bin / "llvm-objdump"
    return list(problems(File(before, objdump), File(after, objdump), model))


def test_a_right_object_has_no_problems(edited):
    assert found(*edited) == []


def test_another_edit_is_a_problem(edited):
    before, after, model = edited
    model.delete(10)
    assert found(before, after, model)


@pytest.mark.parametrize("section", [".text", ".rela.dyn", ".rodata", ".symtab", ".note"])
def test_damage_is_a_problem(edited, section):
    before, after, model = edited
    home = CodeObject.parse(after).section(section)
    assert home is not None
    at = {".text": 8, ".rela.dyn": 16, ".rodata": 16, ".symtab": 24 * 4 + 8, ".note": home.size - 20}[section]
    raw = bytearray(after)
    raw[home.offset + at] ^= 4
    assert found(before, bytes(raw), model)


def test_an_object_with_its_edits():
    data = build(CALL, LOOP, extra=FUNCTION.format(name="f") + DATA)
    result = examine(("small", "object", data, 10, 0))
    assert result.edits == 10 and not result.problems
    assert result.files == result.edits - sum(result.refused.values()) > 1
    summary = summarized([result])
    assert (summary["objects"], summary["edits"], summary["wrong"]) == (1, 10, 0)
    assert summary["refused"] == result.refused
