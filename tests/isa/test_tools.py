"""Finding LLVM, assembling in batches and decoding with a dictionary."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from asmevo.isa import Decoder, Toolchain, assemble
from asmevo.isa.encoding import BRANCHES, branch_target, branch_words, is_branch, length, with_branch_target
from asmevo.verdict import EnvironmentError_, InputError, UnsupportedError

OBJDUMP_LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ([0-9A-F ]*[0-9A-F])(.*)", re.MULTILINE)
NOP = 0xBF800000
VOP3P = 0b110100111


def sweep(code: bytes, target: str, folder: Path) -> list[tuple[int, bytes, str | None]]:
    """(address, words, text) of code as llvm-objdump sees it; no text where it has a remark on its own answer."""
    tools, file = Toolchain.find(), folder / "k.o"
    source = "\n".join(f".long 0x{int.from_bytes(code[i : i + 4], 'little'):x}" for i in range(0, len(code), 4))
    flags = ("-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj", "-o", str(file))
    assert tools.run("llvm-mc", *flags, stdin=source.encode()).returncode == 0
    answer = tools.run("llvm-objdump", "-d", "-z", f"--mcpu={target}", str(file)).stdout.decode()
    return [
        (
            int(address, 16),
            b"".join(int(w, 16).to_bytes(4, "little") for w in words.split()),
            None if "Warning" in rest or "/*" in text else text,
        )
        for text, address, words, rest in OBJDUMP_LINE.findall(answer)
    ]


def fake_tools(folder: Path, script: str) -> Path:
    for tool in ("llvm-mc", "llvm-objdump"):
        (folder / tool).write_text(f"#!/bin/sh\n{script}\n")
        (folder / tool).chmod(0o755)
    return folder


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "asmevo" / "llvm.json"


class TestToolchain:
    def test_found_and_remembered(self, own_cache, monkeypatch):
        found = Toolchain.find()
        monkeypatch.setenv("ASMEVO_LLVM", str(found.bin))  # another key of the process's own cache
        assert int(Toolchain.find().version.split(".")[0]) >= 22
        assert str(found.bin) in own_cache.read_text()

    def test_prefix_is_as_good_as_bin(self, monkeypatch):
        found = Toolchain.find()
        monkeypatch.setenv("ASMEVO_LLVM", str(found.bin.parent))
        assert Toolchain.find() == found

    def test_old_version_is_named(self, tmp_path, own_cache, monkeypatch):
        monkeypatch.setenv("ASMEVO_LLVM", str(fake_tools(tmp_path, "echo Debian LLVM version 14.0.6")))
        with pytest.raises(EnvironmentError_, match=r"has LLVM 14\.0\.6\).*install the packages llvm-22"):
            Toolchain.find()

    def test_wrong_encodings_are_found_out(self, tmp_path, own_cache, monkeypatch):
        monkeypatch.setenv("ASMEVO_LLVM", str(fake_tools(tmp_path, "echo LLVM version 22.9.9; echo amdgcn")))
        with pytest.raises(EnvironmentError_, match="encodes gfx942 wrongly"):
            Toolchain.find()
        assert not own_cache.exists()

    def test_an_objdump_of_another_version_is_found_out(self, tmp_path, own_cache, monkeypatch):
        found = Toolchain.find()
        fake_tools(tmp_path, "echo LLVM version 14.0.6; echo amdgcn")
        (tmp_path / "llvm-mc").unlink()
        (tmp_path / "llvm-mc").symlink_to(found.bin / "llvm-mc")
        monkeypatch.setenv("ASMEVO_LLVM", str(tmp_path))
        with pytest.raises(EnvironmentError_, match=r"has an llvm-objdump 14\.0\.6 that does not go with"):
            Toolchain.find()

    def test_nothing_there(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ASMEVO_LLVM", str(tmp_path))
        with pytest.raises(EnvironmentError_, match="No LLVM 22"):
            Toolchain.find()

    def test_a_tool_that_cannot_run(self, tmp_path):
        with pytest.raises(EnvironmentError_, match="cannot be run"):
            Toolchain(tmp_path, "22").run("ld.lld")


class TestAssemble:
    def test_order_and_repetition(self):
        nop, end = bytes.fromhex("000080bf"), bytes.fromhex("000081bf")
        assert assemble(["s_nop 0", "s_endpgm", "s_nop 0"], "gfx942") == [nop, end, nop]
        assert assemble([], "gfx942") == []

    def test_literal_form_is_kept(self):
        (short, long) = assemble(["s_addc_u32 s1, s1, -1", "s_addc_u32 s1, s1, lit(0xffffffff)"], "gfx942")
        assert (len(short), len(long)) == (4, 8)

    def test_target_matters(self):
        (code,) = assemble(["v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]"], "gfx950")
        assert len(code) == 8
        with pytest.raises(InputError, match="does not assemble for gfx942"):
            assemble(["v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]"], "gfx942")

    @pytest.mark.parametrize("bad", ["v_nonsense v0", "v_add_u32 v0, v1", "v_mov_b32 v256, v0"])
    def test_the_bad_text_is_named(self, bad):
        with pytest.raises(InputError, match=re.escape(f"`{bad}`")):
            assemble(["s_nop 1", bad, "s_nop 2"], "gfx942")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "s_nop 0; s_nop 1",
            "s_nop 0\ns_nop 1",
            "l: s_nop 0",
            ".long 4",
            "x = 5",
            "s_nop\x000",
            "s_nop \xb9",
            "s_nop 0\x07",
            "s_mov_b32 s0, " + "+".join("1" * 1000),
        ],
    )
    @pytest.mark.parametrize("suffix", ["", " // 1"])
    def test_what_is_not_one_instruction(self, text, suffix):
        with pytest.raises(InputError, match="is not the text of one instruction"):
            assemble([text + suffix], "gfx942")

    def test_a_symbol(self):
        with pytest.raises(InputError, match="uses a symbol"):
            assemble(["s_branch somewhere"], "gfx942")


class TestDecoder:
    def test_known_encodings_need_no_process(self, monkeypatch):
        code = b"".join(assemble(["v_mov_b32_e32 v7, 0x4d2", "s_branch 9"], "gfx942"))
        first = Decoder("gfx942").decode(code, 0x100)
        assert [(d.address, d.text) for d in first] == [(0x100, "v_mov_b32_e32 v7, 0x4d2"), (0x108, "s_branch 9")]

        def no_process(*_: object, **__: object) -> None:
            raise AssertionError("a process was started")

        monkeypatch.setattr(subprocess, "run", no_process)
        assert Decoder("gfx942").decode(code * 2)[2:] == Decoder("gfx942").decode(code, 12)
        moved = code[:8] + with_branch_target(code[8:], 8, 0)
        assert Decoder("gfx942").decode(moved)[1].text == "s_branch 65533"

    def test_unknown_target(self):
        with pytest.raises(UnsupportedError, match="gfx906"):
            Decoder("gfx906")

    @pytest.mark.parametrize("target", ["gfx942", "gfx950"])
    @settings(max_examples=8, deadline=None)
    @given(st.randoms(use_true_random=False))
    def test_any_dwords_decode_as_llvm_sweeps_them(self, tmp_path_factory, target, random):
        """Random dwords hold what is undecodable or of odd length, so that losing the step would show."""
        seeds = (0x00000000, 0xD1000000, 0xBF800000, 0xBE8000FF, 0xBA000000, 0x2E0000F9, 0xDC000000, 0xC0000000)
        dwords = [random.choice(seeds) | random.getrandbits(random.choice((9, 16, 25, 32))) for _ in range(200)]
        dwords = [NOP if d >> 23 == VOP3P else d for d in dwords]  # on some of them llvm-objdump crashes
        code = b"".join(d.to_bytes(4, "little") for d in (*dwords, *[NOP] * 4))
        decoded = Decoder(target).decode(code)
        assert b"".join(d.words for d in decoded) == code
        swept = sweep(code, target, tmp_path_factory.mktemp("sweep"))
        assume(sum(len(w) for _, w, _ in swept) == len(code))  # else llvm-objdump crashed on the way
        # LLVM reads a third dword where VOP3 and VOP3P name the literal that they do not have on gfx9
        assume(not any(len(w) == 12 and w[3] >> 2 == 0b110100 for _, w, _ in swept))
        assert [(d.address, d.words) for d in decoded] == [(address, words) for address, words, _ in swept]
        for d, (_, words, text) in zip(decoded, swept, strict=True):
            if not is_branch(words):  # which are printed with a symbol when they go into the section
                assert d.text == text or (text is None and d.text.startswith(".long"))

    def test_what_llvm_crashes_on_is_data(self):
        bad = bytes.fromhex("0000eed3ff0080be")
        decoded = Decoder("gfx942").decode(bad + NOP.to_bytes(4, "little"))
        assert (decoded[0].text, decoded[0].words) == (".long 0xd3ee0000, 0xbe8000ff", bad)
        assert decoded[1].text == "s_nop 0"

    def test_sixteen_byte_instructions(self):
        (code,) = assemble(["v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21"], "gfx950")
        (decoded,) = Decoder("gfx950").decode(code)
        assert len(code) == 16 and decoded.text.startswith("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3]")

    def test_code_that_ends_inside_an_instruction(self):
        (literal,) = assemble(["s_mov_b32 s1, 0x12345678"], "gfx942")
        decoded = Decoder("gfx942").decode(literal + literal[:4])
        assert [d.text for d in decoded] == ["s_mov_b32 s1, 0x12345678", ".long 0xbe8100ff"]


class TestBranches:
    @given(st.sampled_from(sorted(BRANCHES)), st.integers(0, 1 << 30), st.integers(-32768, 32767))
    def test_target_round_trip(self, mnemonic, dword, offset):
        address, words = 4 * dword, branch_words(mnemonic)
        target = address + 4 + 4 * offset
        moved = with_branch_target(words, address, target)
        assert is_branch(moved) and length(int.from_bytes(moved, "little")) == 4
        assert branch_target(moved, address) == target
        assert moved[2:] == words[2:]

    def test_words_are_llvm_s(self):
        texts = [f"{m} 0" for m in BRANCHES]
        assert assemble(texts, "gfx942") == [branch_words(m) for m in BRANCHES]

    @pytest.mark.parametrize("offset", [-32769, 32768])
    def test_too_far(self, offset):
        with pytest.raises(InputError, match="simm16"):
            with_branch_target(branch_words("s_branch"), 1 << 20, (1 << 20) + 4 + 4 * offset)

    def test_only_branches_are_branches(self):
        texts = ["s_endpgm", "s_nop 4", "s_waitcnt vmcnt(0)", "s_barrier", "s_cmpk_eq_u32 s1, 0x4"]
        assert not any(map(is_branch, assemble(texts, "gfx942")))
