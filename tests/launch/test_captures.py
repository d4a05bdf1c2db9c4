"""Captured dispatches: kerncap's layout, round trips, damage, and launches at the addresses of a program."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.launch import Buffer, Field, File, Launch, build_image, launch_from_json, load_launches
from asmevo.launch.capture import Extra, is_capture, launch_of, occurrences_of, read_capture, relocated, write_capture
from asmevo.verdict import AsmEvoError, InputError, UnsupportedError
from chasing import GROUPS, INPUTS, OUTPUTS, TABLE, chasing, fixed, follow


@pytest.fixture(scope="module")
def k0() -> CodeObject:
    return follow()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, k0: CodeObject) -> Path:
    """Two captures of one kernel; tests that change something copy them first."""
    folder = tmp_path_factory.mktemp("captures")
    write_capture(folder / "a", chasing(), k0, Extra(index=2))
    other = chasing(n=7, groups=5, inputs=INPUTS + 0x10000)
    write_capture(folder / "b", other, k0, Extra(index=9, occurrences=4))
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept / "a", tmp_path / "a"))


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def refused(folder: Path, *words: str, kind: type[AsmEvoError] = InputError) -> None:
    with pytest.raises(kind) as caught:
        launch_of(read_capture(folder))
    assert all(word in str(caught.value) for word in words), caught.value


# --- layout
def test_the_files_are_those_that_kerncap_writes_and_replays(kept, k0):
    folder = kept / "b"
    names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    regions = [f"memory/region_{base:x}.bin" for base in (TABLE, INPUTS + 0x10000, OUTPUTS)]
    tables = {"dispatch.json", "memory_regions.json", "metadata.json", "asmevo.json"}
    assert names == {*tables, "kernarg.bin", "kernarg_raw.bin", "kernel.hsaco", *regions}
    assert json.loads((folder / "dispatch.json").read_text()) == {
        "mangled_name": "k0.kd",
        "demangled_name": "k0",
        "agent_name": "gfx942",
        "isa_name": "amdgcn-amd-amdhsa--gfx942",
        "wavefront_size": 64,
        "grid": [320, 1, 1],  # work-items
        "block": [64, 1, 1],
        "group_segment_size": 512,
        "private_segment_size": 0,
        "kernarg_size": 16,
        "dispatch_index": 9,
    }
    rows = json.loads((folder / "memory_regions.json").read_text())["regions"]
    assert rows[0] == {
        "base": TABLE,
        "size": 80,
        "is_pool": True,
        "is_vmem": False,
        "contains_kernarg": False,
        "handle": 0,
        "access": 0,
    }
    meta = json.loads((folder / "metadata.json").read_text())
    assert meta["grid"] == {"x": 320, "y": 1, "z": 1} and meta["block"] == {"x": 64, "y": 1, "z": 1}
    assert meta["hsaco_sha256"] == hashlib.sha256(k0.data).hexdigest() and meta["gpu_arch"] == "gfx942"
    assert [slot["value_kind"] for slot in meta["kernarg_slots"]] == ["global_buffer", "by_value"]
    assert (folder / "kernarg.bin").read_bytes() == TABLE.to_bytes(8, "little") + (7).to_bytes(8, "little")
    assert (folder / "kernel.hsaco").read_bytes() == k0.data


def test_tables_have_the_form_of_nlohmann_dump(kept):
    text = (kept / "a" / "dispatch.json").read_text()
    assert text.startswith('{\n  "agent_name": "gfx942",\n  "block": [\n    64,\n    1,\n    1\n  ],\n')
    assert text.endswith("\n}")


# --- round trips
def test_a_capture_reads_back_to_the_launch_it_was_written_from(kept, k0):
    wanted, found = chasing(), launch_of(read_capture(kept / "a"))
    one, other = (build_image(launch, k0) for launch in (wanted, found))
    assert (found.grid, found.block, found.dynamic_lds) == (wanted.grid, wanted.block, wanted.dynamic_lds)
    assert np.array_equal(one.data, other.data)
    assert [p.address for p in one.on_device.placements] == [p.address for p in other.on_device.placements]
    assert launch_from_json(found.to_json(), kept / "a", "test") == found


def test_writing_what_was_read_gives_the_same_bytes(kept, tmp_path, k0):
    capture = read_capture(kept / "a")
    write_capture(tmp_path / "again", launch_of(capture), k0, Extra(index=capture.index))
    for path in (p for p in (kept / "a").rglob("*") if p.is_file()):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(kept / "a")).read_bytes(), path


def test_a_folder_of_captures_is_a_set_weighted_by_occurrences(kept):
    launches = load_launches(kept)
    assert [(one.name, one.weight, one.objective) for one in launches] == [("a", 1.0, True), ("b", 4.0, True)]
    assert launches == (*load_launches(kept / "a"), *load_launches(kept / "b"))


def test_captures_of_other_kernels_are_left_out(kept, tmp_path, k0, fp8_gemm_bytes):
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    changed(tmp_path / "a" / "dispatch.json", mangled_name="other.kd")
    assert [one.name for one in load_launches(tmp_path, k0)] == ["b"]
    with pytest.raises(InputError, match=r"are of k0, other"):
        load_launches(tmp_path, CodeObject.parse(fp8_gemm_bytes))


def test_occurrences_are_written_afterwards(folder):
    occurrences_of(folder, 12)
    assert read_capture(folder).occurrences == 12


def test_a_launch_without_addresses_gets_those_of_its_image(tmp_path, k0):
    launch = Launch(
        "free", (1, 1, 1), (64, 1, 1), (Field(offset=0, buffer="p"),), (Buffer("p", "inout", "i32", (8,), File("x")),)
    )
    launch = replace(launch, buffers=(replace(launch.buffers[0], fill=File("x", content=bytes(range(32)))),))
    write_capture(tmp_path / "c", launch, k0)
    capture = read_capture(tmp_path / "c")
    (region,) = capture.regions
    assert int.from_bytes(capture.kernarg[:8], "little") == region.base
    assert (tmp_path / "c" / region.file).read_bytes() == bytes(range(32))


def test_buffers_that_share_a_page_are_one_region(tmp_path, k0):
    launch = replace(chasing(), buffers=(fixed("x", 0x10000100, b"abc"), fixed("y", 0x10000200, b"de")))
    write_capture(tmp_path / "c", launch, k0)
    (region,) = read_capture(tmp_path / "c").regions
    assert (region.base, region.size) == (0x10000100, 0x102)
    data = (tmp_path / "c" / region.file).read_bytes()
    assert data[:3] == b"abc" and data[-2:] == b"de"


def test_an_existing_folder_is_not_written_over(kept, k0):
    with pytest.raises(InputError, match="exists already"):
        write_capture(kept / "a", chasing(), k0)


# --- damage
def test_a_region_cut_short_or_missing(folder):
    path = folder / "memory" / f"region_{INPUTS:x}.bin"
    path.write_bytes(path.read_bytes()[:-1])
    refused(folder, hex(INPUTS), "has 767 bytes instead of 768")
    path.unlink()
    refused(folder, hex(INPUTS), "is missing")


def test_a_missing_object_is_replaced_by_that_of_the_command_line(folder, k0):
    (folder / "kernel.hsaco").unlink()
    refused(folder, "has no kernel.hsaco")
    assert launch_of(read_capture(folder), k0).kernel == "k0"


def test_another_object_or_other_memory_than_was_captured(folder):
    data = bytearray((folder / "kernel.hsaco").read_bytes())
    (folder / "kernel.hsaco").write_bytes(data + b"\0")
    refused(folder, "kernel.hsaco", "its hash is not")
    (folder / "kernel.hsaco").write_bytes(data)
    (folder / "memory" / f"region_{OUTPUTS:x}.bin").write_bytes(b"x" * 768)
    refused(folder, "it was changed after the capture")


def test_another_version(folder):
    changed(folder / "asmevo.json", format="asmevo.capture/9")
    refused(folder, "asmevo.capture/9", "asmevo.capture/1")


def test_the_older_python_path_is_named(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps({"args": []}))
    refused(tmp_path, "older Python path", kind=UnsupportedError)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"grid": [100, 1, 1]}, ("ends within a workgroup",)),
        ({"grid": [64, 1]}, ("three positive numbers",)),
        ({"kernarg_size": 24}, ("16 bytes and dispatch.json says 24",)),
        ({"agent_name": "gfx950"}, ("captured on gfx950", "is for gfx942")),
        ({"group_segment_size": 0}, ("0 bytes of LDS", "declares 512")),
        ({"mangled_name": "other"}, ("no kernel 'other'",)),
        ({"mangled_name": 3}, ("must be a string",)),
    ],
)
def test_a_dispatch_that_does_not_fit(folder, values, words):
    changed(folder / "dispatch.json", **values)
    refused(folder, *words, kind=AsmEvoError)


def test_arguments_that_do_not_fit_the_kernel(folder, k0):
    (folder / "kernarg.bin").write_bytes(bytes(24))
    changed(folder / "dispatch.json", kernarg_size=24)
    with pytest.raises(InputError, match="the kernarg segment of k0 has 16"):
        build_image(launch_of(read_capture(folder)), k0)


def test_regions_that_overlap(folder):
    rows = json.loads((folder / "memory_regions.json").read_text())["regions"]
    changed(folder / "memory_regions.json", regions=[*rows, {"base": OUTPUTS + 8, "size": 8}])
    refused(folder, "two regions")


def test_globals_must_be_those_that_the_object_starts_with(folder):
    (folder / "module_variables").mkdir()
    (folder / "module_variables" / "v.bin").write_bytes(b"1234")
    variable = {"executable_sha256": "", "name": "k0.kd", "size": 4, "blob": "module_variables/v.bin"}
    (folder / "module_variables.json").write_text(json.dumps({"variables": [variable]}))
    refused(folder, "'k0.kd'", "was changed before the dispatch", kind=UnsupportedError)
    (folder / "module_variables.json").write_text(json.dumps({"variables": [variable | {"name": "elsewhere"}]}))
    assert launch_of(read_capture(folder))
    (folder / "module_variables.json").write_text(json.dumps({"variables": [variable | {"blob": "../x"}]}))
    refused(folder, "outside of the capture")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory, k0: CodeObject) -> Path:
    """A capture that one test damages again and again."""
    return write_capture(tmp_path_factory.mktemp("damage") / "a", chasing(), k0)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_table_gives_a_launch_or_a_named_error(data, damaged, k0):
    tables = ["dispatch.json", "memory_regions.json", "metadata.json", "asmevo.json", "kernarg.bin"]
    path = damaged / data.draw(st.sampled_from(tables))
    raw = path.read_bytes()
    if path.suffix == ".bin" or data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(raw) - 1))
        path.write_bytes(raw[:at] + data.draw(st.binary(max_size=4)) + raw[at + data.draw(st.integers(0, 5)) :])
    else:
        table = json.loads(raw)
        table[data.draw(st.sampled_from(sorted(table)))] = data.draw(JUNK)
        path.write_text(json.dumps(table))
    try:
        launch = launch_of(read_capture(damaged), k0)
    except (InputError, UnsupportedError) as error:
        assert str(error).endswith(".")
    else:
        assert launch.buffers and is_capture(damaged)
    finally:
        path.write_bytes(raw)


# --- relocation
def moved(tmp_path: Path, k0: CodeObject, content: bytes, argument: int = TABLE) -> Launch:
    launch = replace(
        chasing(),
        kernarg=(Field(offset=0, value=argument, type="u64"), Field(offset=8, value=1)),
        buffers=(fixed("x", TABLE, content), fixed("y", OUTPUTS, bytes(8))),
    )
    write_capture(tmp_path / "c", launch, k0)
    return relocated(read_capture(tmp_path / "c"))


def test_only_pointer_arguments_are_moved(tmp_path, k0):
    launch = moved(tmp_path, k0, b"12345678", TABLE + 4)
    assert launch.kernarg[0].buffer == f"region_{TABLE:x}" and launch.kernarg[0].byte_offset == 4
    assert [(b.name, b.address, b.red_zone) for b in launch.buffers] == [(f"region_{TABLE:x}", None, 4096)]
    assert not build_image(launch, k0).pieces


def test_memory_with_pointers_is_not_moved(tmp_path, k0):
    with pytest.raises(InputError, match="holds what looks like a pointer, at offset 8"):
        moved(tmp_path, k0, bytes(8) + (OUTPUTS + 4).to_bytes(8, "little"))


def test_a_pointer_into_nothing_is_not_moved(tmp_path, k0):
    with pytest.raises(InputError, match="which no region holds"):
        moved(tmp_path, k0, bytes(8), 0x123456789000)


# --- images
def test_an_image_is_one_array_here_and_scattered_on_a_device(k0):
    image = build_image(chasing(), k0)
    memory = image.on_device
    assert len(image.data) < 2 << 20 < 1 << 32 < len(memory.data)
    memory.data[INPUTS - memory.base] = 77
    assert image.buffer("inputs")[0] == 77
    image.buffer("outputs")[:] = 3
    assert (memory.data[OUTPUTS - memory.base :][: 256 * GROUPS] == 3).all()
    assert memory.strays() == ()
    copy = image.copy()
    copy.buffer("inputs")[0] = 1
    assert image.buffer("inputs")[0] == 77 and copy.on_device.data[INPUTS - memory.base] == 1


def test_what_lies_between_the_pieces_is_noticed_once(k0):
    memory = build_image(chasing(), k0).on_device
    assert memory.data[INPUTS + (9 << 12) + 5 - memory.base] == 0  # a read is enough
    memory.data[OUTPUTS - (1 << 12) - memory.base] = 1
    assert [(s.address, s.size) for s in memory.strays()] == [(INPUTS + (9 << 12), 4096), (OUTPUTS - 4096, 4096)]
    assert memory.strays() == ()
    assert memory.data[OUTPUTS - (1 << 12) - memory.base] == 0


@given(
    st.lists(
        st.tuples(st.integers(0x4000_0000, 0x4000_8000), st.integers(1, 9000)), min_size=1, max_size=4, unique=True
    )
)
@settings(max_examples=60, deadline=None)
def test_every_buffer_lies_where_it_must(spans):
    spans.sort()
    buffers = [fixed(f"b{n}", a, bytes([n + 1]) * size) for n, (a, size) in enumerate(spans)]
    launch = replace(chasing(), buffers=tuple(buffers))
    if any(a + size > b for (a, size), (b, _) in pairwise(spans)):
        with pytest.raises(InputError, match="begins inside of another one"):
            build_image(launch, follow())
        return
    memory = build_image(launch, follow()).on_device
    for n, (address, size) in enumerate(spans):
        assert (memory.data[address - memory.base :][:size] == n + 1).all()


@pytest.mark.parametrize("address", [0, -4096, 1 << 47])
def test_addresses_that_no_device_has(address):
    with pytest.raises(InputError, match="inside of 47 bits"):
        fixed("x", address, b"12345678")


def test_an_address_without_room_in_front_of_it(k0):
    with pytest.raises(InputError, match="in front of it"):
        build_image(replace(chasing(), buffers=(fixed("x", 4096, b"1"),)), k0)
