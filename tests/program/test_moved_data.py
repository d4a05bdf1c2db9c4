"""Data that code moves away from: relocations, tables, symbols, arrays of functions, notes of debuggers."""

from __future__ import annotations

import re

import pytest

from asmevo.codeobject import CodeObject
from asmevo.codeobject.relocations import loaded_tables, relocations, target_of, targets
from asmevo.codeobject.unwind import entries
from asmevo.edit import Delete, Insert
from asmevo.isa import Toolchain
from asmevo.program import UnmovableError, check_rebuild, rebuild, recover
from asmevo.verdict import InputError, Severity, Verdict
from rebuilt import checked, quad, symbol
from small_objects import DATA, FUNCTION, LOOP, build

GROWTH = pytest.mark.parametrize("count", [1, 900, 5000])
"""Of instructions: into the gap behind .text, and by one and more pages."""


def with_data(**options) -> CodeObject:
    return CodeObject.parse(build(LOOP, extra=FUNCTION.format(name="f") + DATA, **options))


def pointed_at(obj: CodeObject) -> list[tuple[int, int, int, int | None]]:
    """(place, type, symbol, address) of every relocation."""
    found: list[tuple[int, int, int, int | None]] = []
    for table in loaded_tables(obj):
        symbols = targets(obj, table)
        found += ((r.place, r.type, r.symbol, target_of(obj, r, symbols)) for r in relocations(obj, table))
    return found


@GROWTH
@pytest.mark.parametrize("link", [(), ("-Bsymbolic",), ("-z", "pack-relative-relocs", "-Bsymbolic"), ("--strip-all",)])
def test_pointers_follow_code_and_data(count, link):
    old = with_data(link=link)
    program = Insert(13, ("s_nop 5",) * count).apply(recover(old))[0]
    new = CodeObject.parse(checked(program))
    data = next(b.address - a.address for a, b in zip(old.sections, new.sections, strict=True) if a.name == ".data")
    text = new.text
    assert (data > 0) == (count >= 900)
    pairs = list(zip(pointed_at(old), pointed_at(new), strict=True))
    assert len(pairs) >= 6
    for before, after in pairs:
        assert after[:3] == (before[0] + data, *before[1:3])
        if before[3] is None or after[3] is None:
            assert before[3] is after[3]
        elif before[3] < old.text.address:
            assert after[3] == before[3]
        elif before[3] == old.text.address:  # the kernel, in front of the insertion
            assert after[3] == text.address
        elif before[3] < old.text.address + old.text.size:  # the function, behind it
            assert after[3] == before[3] + 4 * count
        else:
            assert after[3] == before[3] + data
    assert new.text.address == text.address
    if not link:
        assert symbol(new, "zeros") == symbol(old, "zeros") + data
        assert symbol(new, "table") == symbol(old, "table")
        assert symbol(new, "absolute") == 0x1234
        assert (quad(new, symbol(new, "numbers")), quad(new, symbol(new, "numbers") + 8)) == (7, 8)


def test_what_the_linker_wrote_at_a_place_follows():
    """With --apply-dynamic-relocs the addresses stand in the file as well."""
    old = with_data(link=("--apply-dynamic-relocs", "-Bsymbolic"))
    new = CodeObject.parse(checked(Insert(13, ("s_nop 5",) * 2000).apply(recover(old))[0]))
    assert quad(old, symbol(old, "pointers") + 8) == symbol(old, "f")
    assert quad(new, symbol(new, "pointers") + 8) == symbol(new, "f")
    assert quad(new, symbol(new, "pointers") + 24) == symbol(new, "numbers") + 8


@pytest.mark.parametrize("debug", [False, True])
def test_several_kernels_and_functions(debug):
    extra = FUNCTION.format(name="f") + FUNCTION.format(name="g") + DATA
    old = CodeObject.parse(build(LOOP, LOOP, LOOP, extra=extra, debug=debug))
    for kernel in old.kernels:
        program = recover(old, kernel.name)
        for edit in (Insert(program.entry, "s_nop 1"), Insert(program.entry + 5, ("s_nop 1",) * 70), Delete((4,))):
            new = CodeObject.parse(checked(edit.apply(program)[0]))
            assert all(k.entry % 256 == 0 for k in new.kernels)
            sizes = {s.name: s.size for s in new.symbols}
            assert sizes["f"] == sizes["g"] == 8


def test_what_comes_in_front_of_a_function_belongs_to_it():
    """Pointers and the symbol go to what was inserted, as branches do; not so for an insertion that is fallen into."""
    old = with_data(link=("-Bsymbolic",))
    function = next(i for i, line in enumerate(recover(old).lines) if line.instruction.text == "s_nop 7")
    for fallthrough, moved in ((False, 0), (True, 4)):
        edited = Insert(function, "s_nop 6", fallthrough).apply(recover(old))[0]
        new = CodeObject.parse(checked(edited))
        assert symbol(new, "f") == symbol(old, "f") + moved
        assert symbol(new, "f") in {target for *_, target in pointed_at(new)}
    gone = CodeObject.parse(checked(Delete((function,)).apply(recover(old))[0]))
    assert {s.name: s.size for s in gone.symbols}["f"] == 4


EDITED = """\
LOAD 0x000000 0x0000000000000000 0x0000000000000000 0x0006d0 0x0006d0 R 0x1000
LOAD 0x000700 0x0000000000001700 0x0000000000001700 0x00118c 0x00118c R E 0x1000
LOAD 0x002760 0x0000000000003760 0x0000000000003760 0x000100 0x0008a0 RW 0x1000
LOAD 0x002860 0x0000000000004860 0x0000000000004860 0x000038 0x0013c0 RW 0x1000
0000000000003760 000000000000000d R_AMDGPU_RELATIVE64 2880
0000000000003768 000000000000000d R_AMDGPU_RELATIVE64 2880
0000000000004860 000000000000000d R_AMDGPU_RELATIVE64 1700
0000000000004868 000000000000000d R_AMDGPU_RELATIVE64 2880
0000000000004870 000000000000000d R_AMDGPU_RELATIVE64 2884
0000000000004880 0000000100000003 R_AMDGPU_ABS64 0000000000000000 outside + 10
0000000000004878 0000000800000003 R_AMDGPU_ABS64 0000000000004888 numbers + 8
0000000000002880 8 FUNC LOCAL DEFAULT 8 f
0000000000003770 0 NOTYPE LOCAL HIDDEN 11 _DYNAMIC
0000000000001700 4480 FUNC GLOBAL PROTECTED 8 k0
0000000000000680 64 OBJECT GLOBAL DEFAULT 7 k0.kd
0000000000004860 0 NOTYPE GLOBAL DEFAULT 13 pointers
0000000000004888 0 NOTYPE GLOBAL DEFAULT 13 numbers
0000000000000000 0 NOTYPE GLOBAL DEFAULT UND outside
0000000000004898 0 NOTYPE GLOBAL DEFAULT 14 zeros
00000000000006c0 0 NOTYPE GLOBAL DEFAULT 7 table
0000000000001234 0 NOTYPE GLOBAL DEFAULT ABS absolute
0000000000002888 0 FUNC GLOBAL DEFAULT 8 empty
"""
"""4400 bytes inserted behind 0x1728: f (0x1750) and a symbol without a size behind it (0x1758) move by as many, what
lies behind the code by a page; the linker put f, the kernel and the data at 0x1750, 0x1700 and 0x2760."""


def test_what_llvm_readelf_prints_of_an_edited_object():
    """Visibility, symbols without a size, exported zeros, absolute and undefined symbols stay as they were."""
    extra = ".text\n .globl empty\n .type empty,@function\nempty:\n s_endpgm\n .protected k0\n"
    obj = CodeObject.parse(build(LOOP, extra=FUNCTION.format(name="f") + DATA + extra))
    data = checked(Insert(10, ("s_nop 5",) * 1100).apply(recover(obj))[0])
    printed = Toolchain.find().run("llvm-readelf", "-W", "-l", "-r", "--symbols", "-", stdin=data).stdout.decode()
    head, _, symbols = printed.partition("Symbol table '.symtab'")
    wanted = [line for line in head.splitlines() if re.match(r"\s*LOAD |0{8}", line)]
    wanted += [line.partition(":")[2] for line in symbols.splitlines()[3:] if line]
    assert "".join(" ".join(line.split()) + "\n" for line in wanted) == EDITED


class TestUnwind:
    EXTRA = """
    .text
    .cfi_sections .eh_frame
    .p2align 2
    .type f,@function
f:
    .cfi_startproc
    s_nop 7
    .cfi_def_cfa_offset 16
    s_nop 6
    .cfi_escape 0x0f, 0x04, 0x30, 0x36, 0xe9, 0x02
    s_setpc_b64 s[30:31]
    .cfi_endproc
    .size f, .-f
"""

    @pytest.fixture
    def obj(self) -> CodeObject:
        return CodeObject.parse(build(LOOP, extra=self.EXTRA))

    def found(self, obj: CodeObject) -> list[tuple[int, int, list[int]]]:
        """(start, size, begins of rules) of each entry, from the start of .text."""
        section = obj.section(".eh_frame")
        assert section is not None
        raw = obj.data[section.offset : section.offset + section.size]
        base = obj.text.address
        return [(e.start - base, e.size, [a.address - base for a in e.advances]) for e in entries(raw, section.address)]

    def test_entries_follow(self, obj):
        assert self.found(obj) == [(80, 12, [84, 88])]
        program = recover(obj)
        first = next(i for i, line in enumerate(program.lines) if line.instruction.text == "s_nop 7")
        for edit, wanted in (
            (Insert(5, ("s_nop 1",) * 3), (92, 12, [96, 100])),
            (Insert(first + 1, ("s_nop 1",) * 3), (80, 24, [84, 100])),
            (Delete((first + 1,)), (80, 8, [84, 84])),
        ):
            new = CodeObject.parse(checked(edit.apply(program)[0]))
            assert self.found(new) == [wanted]

    def test_a_rule_that_is_too_far(self, obj):
        program = recover(obj)
        first = next(i for i, line in enumerate(program.lines) if line.instruction.text == "s_nop 7")
        with pytest.raises(UnmovableError, match="eh_frame describes code in a form"):
            rebuild(Insert(first + 1, ("s_nop 1",) * 300).apply(program)[0])

    def test_damage_is_found(self, obj):
        program = Insert(5, "s_nop 1").apply(recover(obj))[0]
        data = rebuild(program)
        section = CodeObject.parse(data).section(".eh_frame")
        assert section is not None
        for at in range(section.offset, section.offset + section.size - 4):
            raw = bytearray(data)
            raw[at] ^= 0x11
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED, at - section.offset


@pytest.mark.parametrize("link", [(), ("--emit-relocs",)])
def test_what_describes_code_to_tools_is_emptied(link):
    old = CodeObject.parse(build(LOOP, debug=True, link=link))
    program = Insert(5, "s_nop 1").apply(recover(old))[0]
    data = rebuild(program)
    check = check_rebuild(program, data)
    assert check.verdict is Verdict.TESTED
    notes = {f.message.split()[0] for f in check.findings if f.severity is Severity.NOTE}
    assert ".debug_line" in notes and (not link or ".rela.debug_line" in notes)
    assert not Toolchain.find().run("llvm-dwarfdump", "-", stdin=data).returncode


class TestRefusals:
    def test_text_that_the_loader_writes_into(self):
        code = "s_mov_b32 s0, 0\n .quad elsewhere\n s_endpgm"
        obj = CodeObject.parse(build(code, link=("-z", "notext")))
        assert obj.section(".rela.dyn") is not None
        with pytest.raises(UnmovableError, match="loader writes into the instructions"):
            rebuild(Insert(0, "s_nop 0").apply(recover(obj))[0])

    @pytest.mark.parametrize("addend", [-8, -(1 << 63), (1 << 63) - 1, 1 << 60])
    def test_pointers_beyond_everything_are_kept(self, addend):
        raw = bytearray(with_data().data)
        table = with_data().section(".rela.dyn")
        assert table is not None
        raw[table.offset + 16 : table.offset + 24] = addend.to_bytes(8, "little", signed=True)
        program = recover(CodeObject.parse(bytes(raw)))
        assert checked(program) == raw
        assert checked(Insert(13, "s_nop 0").apply(program)[0])

    def test_an_address_that_would_leave_64_bits(self):
        raw = bytearray(with_data().data)
        segments = with_data().segments
        last = max(i for i, s in enumerate(segments) if s.type == 1)
        raw[64 + 56 * last + 24 : 64 + 56 * last + 32] = (0xFFFFFFFFFFFFFFF0).to_bytes(8, "little")  # p_paddr
        with pytest.raises(InputError, match="addresses leave what the code object can state"):
            rebuild(Insert(13, ("s_nop 0",) * 1500).apply(recover(CodeObject.parse(bytes(raw))))[0])

    def test_a_distance_into_code(self):
        extra = "    .data\n    .globl d\nd:\n    .long 5, k0 - .\n"
        obj = CodeObject.parse(build(LOOP, extra=extra))
        with pytest.raises(UnmovableError, match="distance to a function"):
            rebuild(Insert(13, "s_nop 0").apply(recover(obj))[0])


class TestCheck:
    """Damage to what points at code or data is found."""

    @pytest.mark.parametrize("section", [".rela.dyn", ".data", ".init_array", ".dynamic", ".symtab", ".rodata"])
    def test_any_byte_of_a_section(self, section):
        program = Insert(13, ("s_nop 5",) * 1500).apply(recover(with_data()))[0]
        data = rebuild(program)
        home = CodeObject.parse(data).section(section)
        assert home is not None
        for at in range(home.offset, home.offset + home.size, max(home.size // 60, 1)):
            raw = bytearray(data)
            raw[at] ^= 0x41
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED, f"byte {at - home.offset}"

    @pytest.mark.parametrize("edit", [Insert(13, "s_nop 5"), Insert(13, ("s_nop 5",) * 1500), Insert(13, ())])
    def test_any_byte_of_the_headers_and_between_sections(self, edit):
        obj = with_data()
        program = edit.apply(recover(obj))[0] if edit.texts else recover(obj)
        data = checked(program)
        new = CodeObject.parse(data)
        tables = {*range(64 + 56 * len(new.segments)), *range(len(data) - 64 * len(new.sections), len(data), 7)}
        held = {at for s in new.sections for at in range(s.offset, s.offset + s.file_size)} - {0}
        between = sorted(set(range(64, len(data) - 64 * len(new.sections))) - held - tables)
        for at in sorted({*tables, *between[:: max(len(between) // 60, 1)]}):
            raw = bytearray(data)
            raw[at] ^= 0x41
            assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED, f"byte {at} of {len(data)}"
