"""Reading code objects: facts against pyelftools, and files that cannot be read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.verdict import InputError
from small_objects import LOOP, build


@pytest.fixture(params=["small", "two kernels", "debug", "gfx950", "fp8_gemm"])
def data(request, fp8_gemm_bytes) -> bytes:
    return {
        "small": lambda: build(LOOP),
        "two kernels": lambda: build(LOOP, LOOP),
        "debug": lambda: build(LOOP, debug=True),
        "gfx950": lambda: build(LOOP, target="gfx950"),
        "fp8_gemm": lambda: fp8_gemm_bytes,
    }[request.param]()


def test_sections_segments_and_symbols_agree_with_pyelftools(data):
    obj, elf = CodeObject.parse(data), ELFFile(io.BytesIO(data))
    assert [(s.name, s.address, s.offset, s.size, s.align) for s in obj.sections] == [
        (s.name, s["sh_addr"], s["sh_offset"], s["sh_size"], s["sh_addralign"]) for s in elf.iter_sections()
    ]
    assert [(s.address, s.offset, s.file_size, s.memory_size) for s in obj.segments] == [
        (s["p_vaddr"], s["p_offset"], s["p_filesz"], s["p_memsz"]) for s in elf.iter_segments()
    ]
    assert [(s.name, s.value, s.size, s.section) for s in obj.symbols if s.section < 0xFF00] == [
        (s.name, s["st_value"], s["st_size"], 0 if s["st_shndx"] == "SHN_UNDEF" else s["st_shndx"])
        for s in elf.get_section_by_name(".symtab").iter_symbols()
        if s["st_shndx"] != "SHN_ABS"
    ]
    assert obj.text_bytes == elf.get_section_by_name(".text").data()


def test_kernel_facts():
    obj = CodeObject.parse(build(LOOP))
    kernel = obj.kernel()
    assert (kernel.name, kernel.symbol, kernel.entry) == ("k0", "k0.kd", obj.text.address)
    assert (kernel.lds_size, kernel.kernarg_size, kernel.max_workgroup) == (512, 16, 256)
    assert [(a.name, a.offset, a.size, a.kind) for a in kernel.args] == [
        ("p", 0, 8, "global_buffer"),
        ("n", 8, 4, "by_value"),
    ]
    assert (obj.target, obj.e_flags & 0xFF, len(obj.sha256)) == ("gfx942", 0x4C, 64)


def test_kernel_by_name_symbol_and_prefix():
    obj = CodeObject.parse(build(LOOP, LOOP))
    assert obj.kernel("k0") == obj.kernel("k0.kd") != obj.kernel("k1")
    assert obj.kernel("k1").entry > obj.kernel("k0").entry
    for name in (None, "k", "", "other"):
        with pytest.raises(InputError, match="k0, k1"):
            obj.kernel(name)
    assert CodeObject.parse(build(LOOP)).kernel("k").name == "k0"


def test_load_image_puts_sections_at_their_addresses(data):
    obj = CodeObject.parse(data)
    low, image = obj.load_image()
    for section in obj.sections:
        if section.allocated and section.file_size:
            at = section.address - low
            assert image[at : at + section.size] == data[section.offset : section.offset + section.size]


def test_equal_bytes_are_equal_objects(data):
    assert CodeObject.parse(data) == CodeObject.parse(bytes(bytearray(data)))
    assert hash(CodeObject.parse(data)) == hash(CodeObject.parse(bytes(bytearray(data))))


def test_every_truncation_is_an_input_error():
    data = build(LOOP)
    for size in (*range(0, len(data), 11), len(data) - 1):
        with pytest.raises(InputError):
            CodeObject.parse(data[:size], "k.co")


@given(st.data())
def test_damage_is_an_input_error_or_harmless(data):
    raw = bytearray(build(LOOP))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + 4] = data.draw(st.sampled_from([b"\xff" * 4, bytes(4), b"\0\0\0\x7f", bytes([raw[at] ^ 1])]))
    try:
        CodeObject.parse(bytes(raw)).load_image()
    except InputError as error:
        assert str(error).endswith(".")


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (b"", "is empty"),
        (b"v_nop", "not an ELF file"),
        (b"\x7fEL", "truncated"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(100), "offload bundle"),
    ],
)
def test_not_a_code_object(raw, named):
    with pytest.raises(InputError, match=named):
        CodeObject.parse(raw, "k.co")


def test_an_object_for_a_cpu_is_named():
    with pytest.raises(InputError, match=r"for x86-64|for AArch64"):
        CodeObject.parse(Path("/proc/self/exe").read_bytes(), "k.co")


@pytest.mark.parametrize(("machine", "named"), [(0x41, "gfx1100"), (0x5F, "gfx9-4-generic"), (0xEE, "machine 0xee")])
def test_another_target_is_named(machine, named):
    raw = bytearray(build(LOOP))
    raw[48] = machine
    with pytest.raises(InputError, match=named):
        CodeObject.parse(bytes(raw))


def test_a_missing_descriptor_is_named():
    with pytest.raises(InputError, match=r"no kernel descriptor 'k0\.kd'"):
        CodeObject.parse(build(LOOP).replace(b"k0.kd\0", b"k0.kx\0"))


def test_a_malformed_note_is_named():
    raw, obj = bytearray(build(LOOP)), CodeObject.parse(build(LOOP))
    note = obj.section(".note")
    raw[note.offset + 4] ^= 0x40
    with pytest.raises(InputError, match="note"):
        CodeObject.parse(bytes(raw))
    raw = bytearray(build(LOOP))
    raw[note.offset + 20] = 0xC1  # a byte that msgpack never uses
    with pytest.raises(InputError, match="malformed metadata"):
        CodeObject.parse(bytes(raw))


def test_a_huge_segment_is_refused():
    raw = bytearray(build(LOOP))
    obj = CodeObject.parse(bytes(raw))
    number = next(i for i, s in enumerate(obj.segments) if s.type == 1)
    raw[64 + 56 * number + 40 + 5] = 1  # p_memsz
    with pytest.raises(InputError, match="bytes of memory"):
        CodeObject.parse(bytes(raw)).load_image()


@pytest.mark.parametrize("table", [".symtab", ".dynsym"])
def test_a_symbol_in_a_section_that_does_not_exist(table):
    raw = bytearray(build(LOOP))
    section = CodeObject.parse(bytes(raw)).section(table)
    assert section is not None
    raw[section.offset + 24 + 6 : section.offset + 24 + 8] = (0x4000).to_bytes(2, "little")
    with pytest.raises(InputError, match="a symbol in a section that does not exist"):
        CodeObject.parse(bytes(raw))
