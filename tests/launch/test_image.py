"""Placement of buffers, poison, hidden arguments, and launches that do not fit."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import Argument, CodeObject, Kernel
from asmevo.launch import (
    BASE,
    POISONS,
    Bits,
    Buffer,
    Constant,
    Data,
    Field,
    File,
    Fill,
    Launch,
    Random,
    Zeros,
    build_image,
    hidden_value,
    image_key,
)
from asmevo.verdict import EnvironmentError_, InputError, UnsupportedError


@pytest.fixture(scope="module")
def gemm(fp8_gemm_bytes) -> CodeObject:
    return CodeObject.parse(fp8_gemm_bytes)


def bare(kernel: Kernel, args: tuple[Argument, ...] = (), size: int = 64) -> Kernel:
    """A kernel with other arguments."""
    return replace(kernel, args=args, kernarg_size=size)


def argument(offset: int, size: int, kind: str, name: str = "") -> Argument:
    given = {"name": name, "offset": offset, "size": size, "kind": kind}
    names = {f.name for f in dataclasses.fields(Argument)}
    return Argument(**given, **dict.fromkeys(names - set(given), ""))


def launch(buffers=(), kernarg=(), **more) -> Launch:
    return Launch("test", (2, 1, 1), (64, 1, 1), tuple(kernarg), tuple(buffers), **more)


buffers = st.lists(
    st.builds(
        lambda n, align, zone, filled, dtype: Buffer(
            "", "in" if filled else "out", dtype, (n,), Constant(3.0) if filled else None, 1 << align, zone
        ),
        st.integers(0, 5000),
        st.integers(0, 13),
        st.sampled_from([0, 1, 7, 4096]),
        st.booleans(),
        st.sampled_from(["u8", "bf16", "float32", "fp8_e4m3fnuz"]),
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(buffers, st.sampled_from(POISONS))
def test_placement(gemm, several, poison):
    """Buffers are aligned, zones included they do not overlap, and every byte is data or poison."""
    several = [replace(b, name=f"b{i}") for i, b in enumerate(several)]
    image = build_image(launch(several), gemm, bare(gemm.kernel()), poison)
    taken = image.kernarg_address + image.kernarg_size
    assert image.base == BASE and image.kernarg_address >= BASE + image.code_space
    for want, got in zip(several, image.placements, strict=True):
        assert got.address % want.align == 0
        assert got.address - want.red_zone >= taken
        taken = got.address + got.size + want.red_zone
        codes = image.buffer(got.name)
        expected = codes.dtype.type(want.format.encode(np.array([3.0]))[0])
        assert codes.shape == want.shape
        assert np.all(codes == expected) if want.fill else np.all(codes.view(np.uint8) == poison)
    assert taken <= image.end
    for name, zone in image.red_zones():
        assert np.all(zone == poison), name
    covered = sum(size for _, size in image.poisoned) + sum(b.size for b in several if b.fill)
    assert covered == len(image.data) - image.code_space - image.kernarg_size


@settings(max_examples=40, deadline=None)
@given(buffers.filter(bool), st.data())
def test_straddling(gemm, several, data):
    """The chosen buffer lies across a multiple of 4 GiB, alignments hold, and contents do not change."""
    several = [replace(b, name=f"b{i}") for i, b in enumerate(several)]
    spec, chosen = launch(several), data.draw(st.sampled_from(several))
    plain = build_image(spec, gemm, bare(gemm.kernel()))
    image = build_image(spec, gemm, bare(gemm.kernel()), straddle=chosen.name)
    assert np.array_equal(image.data, plain.data)
    assert all(p.address % b.align == 0 for p, b in zip(image.placements, several, strict=True))
    place, coarsest = image.placement(chosen.name), max(256, *(b.align for b in several))
    if place.size >= 2 * coarsest:
        assert place.address >> 32 < (place.address + place.size - 1) >> 32


def test_code_is_loaded_and_does_not_move_data(gemm, fmoe_stage1_bytes):
    spec = launch([Buffer("x", "in", "u8", (100,), Bits(1))])
    image = build_image(spec, gemm, bare(gemm.kernel()))
    low, code = gemm.load_image()
    assert image.bytes_at(image.code_address + low, len(code)).tobytes() == code
    address = image.placement("x").address
    other = CodeObject.parse(fmoe_stage1_bytes)
    image.load(other)
    low, code = other.load_image()
    assert image.bytes_at(image.code_address + low, len(code)).tobytes() == code
    assert image.placement("x").address == address


def test_copies_are_independent_and_poison_changes_poison_only(gemm):
    spec = launch([Buffer("x", "in", "u8", (1000,), Bits(1)), Buffer("y", "out", "u8", (10,))])
    first = build_image(spec, gemm, bare(gemm.kernel()), 0xA5)
    second = first.with_poison(0x5A)
    fresh = build_image(spec, gemm, bare(gemm.kernel()), 0x5A)
    assert np.array_equal(second.data, fresh.data)
    second.buffer("x")[:] = 0
    assert not np.array_equal(first.buffer("x"), second.buffer("x"))
    assert np.array_equal(first.copy().data, first.data)


def test_locate_names_every_kind_of_place(gemm):
    image = build_image(launch([Buffer("x", "out", "f32", (4, 5), red_zone=64)]), gemm, bare(gemm.kernel()))
    at = image.placement("x").address
    assert image.locate(at + 4 * 7 + 1) == "x[1, 2]"
    assert image.locate(at - 1) == "red zone 1 bytes before x"
    assert image.locate(at + 80) == "red zone 0 bytes after x"
    assert image.locate(image.kernarg_address + 8) == "kernarg+8"
    assert image.locate(image.base + 16) == "code+0x10"
    assert image.locate(at + 80 + 64).startswith("gap")


def test_arguments_are_placed(gemm):
    kernel = bare(gemm.kernel(), (argument(0, 8, "global_buffer", "x"), argument(8, 4, "by_value", "n")), 32)
    fields = (
        Field("x", buffer="x", byte_offset=16),
        Field("n", value=-2),
        Field(offset=12, value=1.5),
        Field(offset=16, value=2**63, type="u64"),
        Field(offset=24, value=1.0, type="bf16"),
    )
    image = build_image(launch([Buffer("x", "in", "u8", (64,), Zeros())], fields), gemm, kernel)
    raw = image.bytes_at(image.kernarg_address, 32).tobytes()
    want = (image.placement("x").address + 16).to_bytes(8, "little") + b"\xfe\xff\xff\xff" + b"\0\0\xc0\x3f"
    assert raw == want + (2**63).to_bytes(8, "little") + b"\x80\x3f" + b"\0" * 6


def test_hidden_arguments(gemm):
    kinds = [("block_count_x", 4), ("block_count_y", 4), ("block_count_z", 4), ("group_size_x", 2), ("group_size_z", 2)]
    kinds += [("remainder_x", 2), ("grid_dims", 2), ("dynamic_lds_size", 4), ("global_offset_x", 8), ("heap_v1", 8)]
    args, at = [], 0
    for kind, size in kinds:
        args.append(argument(at, size, f"hidden_{kind}"))
        at += size
    spec = Launch("h", (7, 5, 1), (64, 2, 1), (), (), dynamic_lds=1234)
    image = build_image(spec, gemm, bare(gemm.kernel(), tuple(args), at))
    raw = image.bytes_at(image.kernarg_address, at).tobytes()
    got = [int.from_bytes(raw[a.offset : a.offset + a.size], "little") for a in args]
    assert got == [7, 5, 1, 64, 1, 0, 2, 1234, 0, 0]
    assert [hidden_value(f"hidden_group_size_{axis}", spec) for axis in "xyz"] == [64, 2, 1]


def test_same_addresses_and_bytes_in_every_run(gemm):
    spec = launch([Buffer("x", "in", "float32", (999,), Random(7, "normal"))])
    one, two = (build_image(spec, gemm, bare(gemm.kernel())) for _ in range(2))
    assert one.placements == two.placements and np.array_equal(one.data, two.data)


X = Buffer("x", "in", "u8", (8,), Zeros())
MISFITS = {
    "overlap": (lambda: launch([X], [Field("x", 0, buffer="x"), Field("n", 4, 1)]), "overlaps"),
    "past the segment": (lambda: launch([X], [Field("x", 60, buffer="x")]), "takes bytes 60 to 68"),
    "negative offset": (lambda: launch([], [Field("n", -4, 1)]), "takes bytes -4"),
    "unknown argument": (lambda: launch([], [Field("nope", value=1)]), "no argument named 'nope'"),
    "value too large": (lambda: launch([], [Field("n", 0, 1 << 40)]), "cannot hold"),
    "no integer": (lambda: launch([], [Field("n", 0, math.nan, type="i32")]), "cannot hold"),
    "an endless integer": (lambda: launch([], [Field("n", 0, math.inf, type="i32")]), "cannot hold"),
    "half an integer": (lambda: launch([], [Field("n", 0, 1.5, type="i32")]), "cannot hold"),
    "workgroup too large": (lambda: Launch("t", (1, 1, 1), (512, 1, 1), (), ()), "allows 256"),
    "too much LDS": (lambda: launch([], [], dynamic_lds=65537), "65537 bytes of LDS"),
    "more data than room": (lambda: launch([replace(X, fill=Data(tuple(range(9))))]), "9 values for 8"),
    "file missing": (lambda: launch([replace(X, fill=File("/nonexistent/x.bin"))]), "cannot be read"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_launch_that_does_not_fit(gemm, case):
    make, words = MISFITS[case]
    with pytest.raises(InputError, match=words):
        build_image(make(), gemm, bare(gemm.kernel()))


@pytest.mark.parametrize(
    "buffer", [replace(X, shape=(1 << 50,)), replace(X, shape=(1 << 70,)), replace(X, align=1 << 60)]
)
def test_more_memory_than_there_is(gemm, buffer):
    with pytest.raises(EnvironmentError_, match="bytes of this machine; use smaller buffers"):
        build_image(launch([buffer]), gemm, bare(gemm.kernel()))


class Greedy(Fill):
    def codes(self, fmt, count):
        raise MemoryError


def test_data_that_cannot_be_made_in_memory(gemm):
    with pytest.raises(EnvironmentError_, match="data of buffer 'x', 8 bytes, cannot be made"):
        build_image(launch([replace(X, fill=Greedy())]), gemm, bare(gemm.kernel()))


def test_local_memory_is_that_of_the_target(gemm):
    larger = replace(gemm, target="gfx950")
    spec = launch([], [], dynamic_lds=160 << 10)
    assert build_image(spec, larger, bare(gemm.kernel())).kernarg_size == 64
    with pytest.raises(InputError, match="has 65536"):
        build_image(spec, gemm, bare(gemm.kernel()))
    with pytest.raises(InputError, match="has 163840"):
        build_image(replace(spec, dynamic_lds=(160 << 10) + 1), larger, bare(gemm.kernel()))
    with pytest.raises(UnsupportedError, match="gfx90a"):
        build_image(spec, replace(gemm, target="gfx90a"), bare(gemm.kernel()))


def test_what_an_image_depends_on_is_in_its_key(gemm, tmp_path):
    file = tmp_path / "x.bin"
    file.write_bytes(bytes(8))
    kernel = bare(gemm.kernel())
    spec = launch([replace(X, fill=File(str(file)))])

    def key(launch=spec, obj=gemm, kernel=kernel):
        return image_key(launch, obj, kernel)

    first = key()
    assert key() == first
    others = [
        key(replace(spec, dynamic_lds=8)),
        key(obj=replace(gemm, target="gfx950")),
        key(kernel=replace(kernel, kernarg_size=72)),
        key(kernel=replace(kernel, args=(argument(0, 4, "hidden_block_count_x"),))),
    ]
    file.write_bytes(bytes(7) + b"1")
    assert len({first, *others, key()}) == 6


def test_a_pointer_argument_must_be_given(gemm):
    with pytest.raises(InputError, match=r"pointer argument at offset 0"):
        build_image(launch(), gemm)


def test_a_short_file_is_refused(gemm, tmp_path):
    (tmp_path / "x.bin").write_bytes(b"1234567")
    with pytest.raises(InputError, match="holds 7 bytes"):
        build_image(launch([replace(X, fill=File(str(tmp_path / "x.bin")))]), gemm, bare(gemm.kernel()))


def test_the_block_a_kernel_is_made_for(fmoe_stage1_bytes):
    obj = CodeObject.parse(fmoe_stage1_bytes)
    with pytest.raises(InputError, match="made for"):
        build_image(launch(), obj)


INVALID = {
    "grid of zero": (lambda: Launch("t", (0, 1, 1), (64, 1, 1), (), ()), "grid"),
    "block of zero": (lambda: Launch("t", (1, 1, 1), (64, 0, 1), (), ()), "block"),
    "two buffers of one name": (lambda: launch([X, X]), "two buffers"),
    "pointer to nowhere": (lambda: launch([], [Field("x", 0, buffer="x")]), "does not exist"),
    "pointer outside": (lambda: launch([X], [Field("x", 0, buffer="x", byte_offset=9)]), "outside"),
    "neither value nor buffer": (lambda: Field("x", 0), "either a value or a buffer"),
    "no place": (lambda: Field(value=1), "name or an offset"),
    "type": (lambda: Field("x", 0, 1, type="i33"), "i33"),
    "role": (lambda: replace(X, role="input"), "role"),
    "dtype": (lambda: replace(X, dtype="q8"), "q8"),
    "alignment": (lambda: replace(X, align=24), "power of two"),
    "input without data": (lambda: replace(X, fill=None), "without a fill"),
    "distribution": (lambda: Random(1, "cauchy"), "cauchy"),
    "weight": (lambda: launch(weight=0.0), "weight"),
    "endless weight": (lambda: launch(weight=math.inf), "weight"),
    "more work-items than a dispatch": (lambda: Launch("t", (1 << 26, 1, 1), (64, 1, 1), (), ()), r"2\*\*32"),
}


@pytest.mark.parametrize("case", INVALID)
def test_values_that_make_no_sense(case):
    make, words = INVALID[case]
    with pytest.raises(InputError, match=words):
        make()


@given(st.integers(1, 500), st.integers(0, 40))
def test_sampled_workgroups(count, sample):
    spec = Launch("s", (count, 1, 1), (64, 1, 1), (), (), sample=sample)
    chosen = spec.sampled()
    if sample == 0 or sample >= count:
        assert chosen is None
    else:
        assert len(chosen) == sample and sorted(set(chosen)) == list(chosen)
        assert chosen[0] == 0 and chosen[-1] < count
