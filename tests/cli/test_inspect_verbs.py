"""`inspect` and `replace`: containers, entries, oddities, and what is refused."""

from __future__ import annotations

import json

import pytest

from asmevo import __version__
from asmevo.codeobject import CodeObject
from asmevo.edit import Replace
from asmevo.program import rebuild, recover
from asmevo.report import oddities
from containers import HOST, bundle, compress, host_file, triple
from small_objects import LOOP, build

FOREIGN = b"\x7fELF\x02\x01\x01\x40".ljust(64, b"\0")
PLAIN = bundle(
    {HOST: b"", triple("gfx942"): build(LOOP), triple("gfx1100"): b"\x7fELF\x02\x01\x01\x40".ljust(64, b"\0")}
)


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "library.so"
    path.write_bytes(
        host_file(compress(bundle({HOST: b"", triple("gfx942"): build(LOOP, LOOP)}, align=64)).ljust(9000, b"\0"))
    )
    return path


class TestInspect:
    def test_container_as_text(self, runs, tmp_path):
        (tmp_path / "k.hipfb").write_bytes(PLAIN)
        out = runs("inspect", tmp_path / "k.hipfb")
        assert out.startswith(f"bundle of {len(PLAIN)} bytes with 3 entries\n")
        rows = [line.split() for line in out.splitlines()[5:]]
        assert rows[0][:2] == ["0", "host"]
        assert rows[1][:5] == ["1", "gfx942", "4096", str(len(build(LOOP))), "k0"]
        assert "is an object for" in out  # the damaged entry is listed with what is wrong

    def test_container_as_json(self, runs, library):
        facts = json.loads(runs("inspect", library, "--json"))
        assert (facts["kind"], [e["target"] for e in facts["entries"]]) == ("host file", ["", "gfx942"])
        assert facts["entries"][1]["kernels"] == ["k0", "k1"]
        assert facts["entries"][1]["handled"] and not facts["entries"][0]["handled"]

    def test_one_entry(self, runs, library):
        facts = json.loads(runs("inspect", library, "--entry", "gfx942", "--json"))
        assert [k["name"] for k in facts["kernels"]] == ["k0", "k1"]
        assert facts["target"] == "gfx942" and ".text" in [s["name"] for s in facts["sections"]]

    @pytest.mark.parametrize(
        ("target", "vector", "scalar"), [("gfx908", 16, 48), ("gfx90a", 16, 48), ("gfx1250", 16, None)]
    )
    def test_registers_of_other_targets(self, runs, tmp_path, target, vector, scalar):
        (tmp_path / "k.co").write_bytes(build("s_endpgm", target=target))
        (kernel,) = json.loads(runs("inspect", tmp_path / "k.co", "--json"))["kernels"]
        assert (kernel["vector_registers"], kernel["scalar_registers"], kernel["user_scalar_registers"]) == (
            vector,
            scalar,
            2,
        )

    def test_extract_edit_and_replace(self, runs, library, tmp_path):
        runs("inspect", library, "--extract", "1", "-o", tmp_path / "k.co")
        assert (tmp_path / "k.co").read_bytes() == build(LOOP, LOOP)
        program = recover(CodeObject.parse(build(LOOP, LOOP)), "k1")
        edited = rebuild(
            Replace(program.lines[program.position[program.entry] + 1].id, "s_mov_b32 s4, 1").apply(program)[0]
        )
        (tmp_path / "new.co").write_bytes(edited)
        runs("replace", library, "gfx942", tmp_path / "new.co", "-o", tmp_path / "new.so")
        runs("inspect", tmp_path / "new.so", "-x", "gfx942", "-o", tmp_path / "again.co")
        assert (tmp_path / "again.co").read_bytes() == edited
        assert len((tmp_path / "new.so").read_bytes()) == len(library.read_bytes())

    def test_what_is_refused(self, fails, library, tmp_path):
        assert "go together" in fails(2, "inspect", library, "--extract", "1")
        assert "no entry 'gfx950'" in fails(4, "inspect", library, "--extract", "gfx950", "-o", tmp_path / "x")
        (tmp_path / "k.co").write_bytes(build(LOOP, target="gfx950"))
        assert "same target" in fails(4, "replace", library, "1", tmp_path / "k.co", "-o", tmp_path / "x")
        assert "--extract" in fails(4, "recover", library)
        (tmp_path / "k.co").write_bytes(build(LOOP))
        lost = fails(4, "replace", library, "1", tmp_path / "k.co", "-o", tmp_path / "x")
        assert "lacks kernels of the entry 1, which hosts would ask for: k1;" in lost and not (tmp_path / "x").exists()


class TestOddities:
    def found(self, data: bytes) -> dict[str, str]:
        return {o["what"]: o["text"] for o in oddities(CodeObject.parse(data))}

    def test_of_a_compiled_object(self):
        """What llvm-mc makes of the test's directives: metadata that says less than a compiler's."""
        assert self.found(build(LOOP)) == {
            "target_missing": "The metadata does not name the target.",
            "sgpr_count": "The metadata counts 32 SGPRs, the descriptor grants 48.",
            "agpr_count_missing": "The metadata does not count AGPRs.",
            "kernarg_size": "The descriptor says 0 bytes of arguments, the metadata 16.",
        }

    def test_of_amd_s_assembly(self, fmoe_stage1_bytes):
        assert self.found(fmoe_stage1_bytes) == {
            "metadata_version": "Metadata version 1.0 where ABI version 3 goes with 1.2.",
            "target_missing": "The metadata does not name the target.",
            "sgpr_count": "The metadata counts 96 SGPRs, the descriptor grants 112.",
            "agpr_count_missing": "The metadata does not count AGPRs.",
            "kernarg_size": "The descriptor says 0 bytes of arguments, the metadata 368.",
            "argument_names": "Several arguments are called 'pad'.",
            "function_size": "The kernel's symbol states no size.",
        }

    def test_damage_by_damage(self):
        clean, raw = self.found(build(LOOP)), bytearray(build(LOOP))
        obj = CodeObject.parse(bytes(raw))
        at = obj.section(".rodata").offset
        changes = {
            "lds_size": (0, 4),
            "private_size": (4, 16),
            "kernarg_size": (8, 99),
            "reserved": (12, 1),
            "vgpr_count": (48, 0xC5),
        }
        for what, (offset, value) in changes.items():
            damaged = bytearray(raw)
            damaged[at + offset] = value
            assert set(self.found(bytes(damaged))) - set(clean) <= {what} and what in self.found(bytes(damaged))
        damaged = bytearray(raw)
        damaged[8] = 9
        assert "ABI version 9" in self.found(bytes(damaged))["abi_version"]

    def test_preload(self):
        code = "s_nop 0\n .fill 63, 4, 0xbf800000\n s_endpgm"
        assert "second entry at +256" in self.found(build(code, preload=2))["preload"]


def test_the_version(runs):
    assert runs("--version") == f"asmevo {__version__}\n"
