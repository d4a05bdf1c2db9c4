"""Files that hold code objects: told by content, listed, taken out and put back; and damaged ones."""

from __future__ import annotations

import struct
import time
import zlib

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.codeobject.containers import Container
from asmevo.codeobject.containers.compressed import output_limit
from asmevo.edit import Insert, Replace
from asmevo.program import rebuild, recover
from asmevo.verdict import InputError
from containers import HOST, bundle, compress, header, host_file, triple
from small_objects import LOOP, build

OBJECTS = {HOST: b"", triple("gfx942"): build(LOOP), triple("gfx950"): build(LOOP, target="gfx950")}
GFX942, GFX950 = OBJECTS[triple("gfx942")], OBJECTS[triple("gfx950")]
OTHER = {HOST: b"", triple("gfx942"): build(LOOP, LOOP)}
PACKED = [(v, m) for v in (1, 2, 3) for m in ("zlib", "zstd")]
TWO = compress(bundle(OBJECTS)).ljust(8192, b"\0") + compress(bundle(OTHER), 2, "zlib")
IMAGES = b"text".ljust(32, b"\0") + GFX942 + bytes(24) + GFX950 + b"\x7fELF\x02\x01\x01\x40 no image"
FILES = {
    "object": (GFX942, "code object", ["gfx942"]),
    "bundle": (bundle(OBJECTS), "bundle", ["", "gfx942", "gfx950"]),
    "two in one section": (host_file(TWO), "host file", ["", "gfx942", "gfx950", "", "gfx942"]),
    "plain in a section": (host_file(bundle(OBJECTS) + bytes(100)), "host file", ["", "gfx942", "gfx950"]),
    "images": (host_file(rodata=IMAGES), "host file", ["gfx942", "gfx950"]),
    "images and bundle": (host_file(bundle(OTHER), IMAGES), "host file", ["gfx942", "gfx950", "", "gfx942"]),
    "bundle elsewhere": (host_file(rodata=b"CCOB" + bytes(12) + bundle(OTHER)), "host file", ["", "gfx942"]),
    **{
        f"{m} version {v}": (compress(bundle(OBJECTS), v, m), "compressed bundle", ["", "gfx942", "gfx950"])
        for v, m in PACKED
    },
}


@pytest.fixture(params=FILES)
def case(request):
    return FILES[request.param]


def edited(data: bytes, count: int = 0) -> bytes:
    """The object with an instruction changed, or with some inserted."""
    obj = CodeObject.parse(data)
    program = recover(obj, obj.kernels[-1].name)
    line = program.lines[program.position[program.entry] + 1]
    edit = Insert(line.id, ("s_nop 3",) * count) if count else Replace(line.id, "s_mov_b32 s5, 0")
    return rebuild(edit.apply(program)[0])


def unpackable(data: bytes) -> bytes:
    """The object with many instructions inserted that do not compress."""
    texts = tuple(f"s_mov_b32 s5, 0x{zlib.crc32(i.to_bytes(4)) | 1 << 31:08x}" for i in range(6000))
    obj = CodeObject.parse(data)
    program = recover(obj, obj.kernels[0].name)
    return rebuild(Insert(program.entry, texts).apply(program)[0])


class TestList:
    def test_kind_and_targets(self, case):
        data, kind, targets = case
        container = Container.open(data, "f")
        assert (container.kind, [e.target for e in container.entries]) == (kind, targets)
        assert [e.number for e in container.entries] == list(range(len(targets)))

    def test_extracts_what_was_put_in(self, case):
        container = Container.open(case[0])
        for entry in container.entries:
            content = container.extract(entry)
            assert len(content) == entry.size
            if entry.size:
                assert CodeObject.parse(content).target == entry.target
                if entry.format != "compressed bundle":
                    assert case[0][entry.offset : entry.offset + entry.size] == content

    def test_by_key(self):
        container = Container.open(bundle(OBJECTS), "f.hipfb")
        assert container.entry("gfx950") == container.entry("2") == container.entry(triple("gfx950"))
        with pytest.raises(InputError, match=r"no entry 'gfx90a'; name one by its number: 1 \(gfx942\), 2 \(gfx950\)"):
            container.entry("gfx90a")
        with pytest.raises(InputError, match="several entries 'gfx942'"):
            Container.open(host_file(TWO)).entry("gfx942")

    def test_features_name_an_image(self):
        raw = bytearray(GFX942)
        raw[49] = 0x0E  # xnack off, sramecc on
        assert Container.open(bytes(raw)).entries[0].name == "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"


class TestReplace:
    def test_itself_changes_nothing_of_plain_formats(self, case):
        container = Container.open(case[0])
        for entry in container.entries:
            if entry.size and entry.format != "compressed bundle":
                assert container.replace(entry, container.extract(entry)) == case[0]

    def test_an_edited_object_comes_back_and_the_rest_stays(self, case):
        container = Container.open(case[0])
        for entry in container.entries:
            if not entry.size:
                continue
            new = edited(container.extract(entry))
            assert new != container.extract(entry)
            out = container.replace(entry, new)
            again = Container.open(out)
            assert again.extract(again.entries[entry.number]) == new
            for other in container.entries:
                if other != entry:
                    assert again.extract(again.entries[other.number]) == container.extract(other)
            part, place = container.parts[entry.part], container.places[entry.part]
            assert out[:place] == case[0][:place]
            if container.kind == "host file":
                assert len(out) == len(case[0])
                end = container.places[entry.part + 1] if entry.part + 1 < len(container.parts) else place + part.size
                assert out[end:] == case[0][end:]

    def test_growth_moves_what_follows_in_a_bundle_of_its_own(self):
        container = Container.open(bundle(OBJECTS))
        new = edited(GFX942, count=3000)
        out = Container.open(container.replace(container.entry("gfx942"), new))
        assert [out.extract(e) for e in out.entries] == [b"", new, GFX950]
        assert out.entries[2].offset % 4096 == 0 and out.entries[2].offset > container.entries[2].offset

    @pytest.mark.parametrize(("version", "method"), PACKED)
    def test_growth_inside_of_compressed_ones(self, version, method):
        container = Container.open(compress(bundle(OBJECTS), version, method))
        new = edited(GFX942, count=3000)
        out = Container.open(container.replace(container.entry("gfx942"), new))
        assert [out.extract(e) for e in out.entries] == [b"", new, GFX950]

    def test_smaller_ones_leave_zeros(self):
        container = Container.open(bundle({triple("gfx942"): edited(GFX942, count=3000), triple("gfx950"): GFX950}))
        out = container.replace(container.entry("gfx942"), GFX942)
        assert len(out) == len(container.data)
        again = Container.open(out)
        assert [again.extract(e) for e in again.entries] == [GFX942, GFX950]

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (
                host_file(bundle(OTHER | {triple("gfx950"): GFX950})),
                "the entry hipv4-amdgcn-amd-amdhsa--gfx942 has room",
            ),
            (host_file(compress(bundle({triple("gfx942"): GFX942}))), "the compressed bundle has room"),
            (host_file(rodata=IMAGES), "the image has room"),
        ],
    )
    def test_no_room_is_named(self, data, what):
        container = Container.open(data)
        entry = container.entry("gfx942")
        with pytest.raises(InputError, match=f"does not fit: {what}"):
            container.replace(entry, unpackable(container.extract(entry)))

    @pytest.mark.parametrize("made", [bundle(OTHER), compress(bundle(OTHER)), compress(bundle(OTHER), 2, "zlib")])
    def test_zeros_behind_are_not_taken_from_a_neighbour(self, made):
        """Outside of .hip_fatbin they may be a variable; behind its end they are another section."""
        new = unpackable(OTHER[triple("gfx942")])
        for name in (".rodata1", ".hip_fatbin"):
            data = bytearray(host_file(made + bytes(8192), name=name))
            table = int.from_bytes(data[40:48], "little")
            if name == ".hip_fatbin":  # the section ends with the bundle, and the zeros are another one's
                struct.pack_into("<Q", data, table + 2 * 64 + 32, len(made))
            container = Container.open(bytes(data))
            with pytest.raises(InputError, match="does not fit"):
                container.replace(container.entry("gfx942"), new)
        container = Container.open(host_file(made + bytes(1 << 16)))
        again = Container.open(container.replace(container.entry("gfx942"), new))
        assert again.extract(again.entry("gfx942")) == new

    def test_another_target_or_no_object_is_refused(self):
        container = Container.open(bundle(OBJECTS))
        with pytest.raises(InputError, match="is for gfx950, the entry 1 of the file holds gfx942"):
            container.replace(container.entry("gfx942"), GFX950)
        with pytest.raises(InputError, match="holds no GPU code"):
            container.replace(container.entries[0], GFX950)
        with pytest.raises(InputError, match="not an ELF file"):
            container.replace(container.entry("gfx942"), b"something")


class TestDamaged:
    def test_nothing_for_a_gpu(self):
        with pytest.raises(InputError, match="holds no code for AMD GPUs"):
            Container.open(host_file())
        with pytest.raises(InputError, match="is not an ELF file"):
            Container.open(b"PK\x03\x04")

    @pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
    def test_truncated(self, share):
        for data in (bundle(OBJECTS), *(compress(bundle(OBJECTS), v, m) for v, m in PACKED)):
            with pytest.raises(InputError, match=r"cut off|does not decompress"):
                Container.open(data[: int(len(data) * share)])

    def test_a_damaged_bundle_in_its_section(self):
        with pytest.raises(InputError, match="compressed bundle of version 9"):
            Container.open(host_file(b"CCOB\x09\0\x01\0".ljust(64, b"\0")))

    @pytest.mark.parametrize("version", [1, 2, 3])
    @pytest.mark.parametrize("method", ["zlib", "zstd"])
    def test_a_bomb_is_not_unpacked(self, version, method):
        """64 MiB of zeros in a few kilobytes: neither when the header owns up to it nor when it does not."""
        bomb = bytes(output_limit(0) + 1)
        payload = zlib.compress(bomb, 9) if method == "zlib" else zstandard.ZstdCompressor(19).compress(bomb)
        for claimed in (len(bomb), 4096, 0xFFFFFFFF):
            head = header(bomb, len(payload), version, method, claimed)
            if len(payload) * 256 > len(bomb):
                continue
            with pytest.raises(InputError, match=r"more than is believed|more than its header states"):
                Container.open(head + payload)

    def test_many_bombs_are_not_unpacked(self):
        """Each is within its own limit; together they are 640 MiB from 40 kilobytes."""
        many = compress(bundle({HOST: bytes(output_limit(0) - 8192)})) * 10
        with pytest.raises(InputError, match=r"parts that decompress to more than \d+ bytes together"):
            Container.open(host_file(many))

    @pytest.mark.parametrize(
        "piece",
        [
            b"CCOB\x02\0\1\0",
            b"CCOB\x01\0\1\0".ljust(20, b"\0") + zstandard.ZstdCompressor().compress(b"")[:6],
            b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1000, 0, 0, 0),
            GFX942[:64],
        ],
    )
    def test_what_looks_like_a_container_costs_no_more_than_its_size(self, piece):
        """Half a megabyte of it; if every hit cost what follows it, this would take minutes."""
        begin = time.process_time()
        with pytest.raises(InputError, match=r"holds no code|more than is believed"):
            Container.open(host_file(rodata=piece * ((1 << 19) // len(piece)) + b"end"))
        assert time.process_time() - begin < 20

    def test_a_wrong_hash(self):
        raw = bytearray(compress(bundle(OBJECTS)))
        raw[24] ^= 1
        with pytest.raises(InputError, match="does not decompress to what its header states"):
            Container.open(bytes(raw))

    @pytest.mark.parametrize("at", [24, 32, 40, 48])
    def test_huge_numbers_in_a_table(self, at):
        raw = bytearray(bundle(OBJECTS))
        struct.pack_into("<Q", raw, at, 1 << 62)
        with pytest.raises(InputError, match="damaged or cut off"):
            Container.open(bytes(raw))

    @settings(max_examples=150, deadline=None)
    @given(
        st.sampled_from(sorted(FILES)), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=8)
    )
    def test_any_damage_is_named(self, name, changes):
        raw = bytearray(FILES[name][0])
        for at, value in changes:
            raw[at % min(len(raw), 512 if at % 2 else len(raw))] = value
        try:
            container = Container.open(bytes(raw))
            for entry in container.entries:
                container.extract(entry)
        except InputError as error:
            assert str(error).endswith(".")
