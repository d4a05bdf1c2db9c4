"""What a certificate is checked for before anything is run: its own hash, its objects, its form, and whether its
launches still have the memory it speaks of."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from gate_cases import K0_BYTES, LAUNCH

from asmevo.codeobject import CodeObject
from asmevo.edit import Insert
from asmevo.gate import Report, canonical, certificate, check_certificate, evidence
from asmevo.gate.certificate import digest
from asmevo.launch import File, Integers
from asmevo.verdict import InputError

OBJ = CodeObject.parse(K0_BYTES)
EDITS = (Insert(0, "s_nop 0"),)


def certified(*launches):
    """A certificate of these launches, as it is read from a file."""
    return json.loads(canonical(certificate(OBJ, OBJ, EDITS, launches, Report(()), {})))


def signed(value):
    return value | {"sha256": digest(value)}


def with_data(folder, bytes_):
    """The launch with its input in a file of `bytes_`, beside the launch file."""
    folder.mkdir(exist_ok=True)
    np.arange(bytes_ // 4, dtype=np.int32).tofile(folder / "p.bin")
    p, q = LAUNCH.buffers
    p = replace(p, shape=(bytes_ // 4,), fill=File("p.bin", folder=str(folder)))
    return replace(LAUNCH, name="data", buffers=(p, q))


def test_edits_and_launches_come_back():
    value = certified(LAUNCH)
    check_certificate(value, OBJ, OBJ)
    assert evidence(value, OBJ) == (EDITS, (LAUNCH,))


@pytest.mark.parametrize("size, recorded", [(256, True), (1 << 17, False)])
def test_data_files_are_no_matter_of_the_working_directory(tmp_path, monkeypatch, size, recorded):
    launch = with_data(tmp_path / "launches", size)
    value = certified(launch)
    assert str(tmp_path) not in json.dumps(value)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert evidence(value, OBJ, (tmp_path / "launches",)) == (EDITS, (launch,))
    assert evidence(value, OBJ, (), (launch,)) == (EDITS, (launch,))
    if recorded:
        assert evidence(value, OBJ) == (EDITS, (launch,))
    else:
        with pytest.raises(InputError, match=r"p\.bin.* is not there"):
            evidence(value, OBJ, (tmp_path / "elsewhere",))


@pytest.mark.parametrize("size", [256, 1 << 17])
def test_a_data_file_that_changed_is_noticed(tmp_path, size):
    launch = with_data(tmp_path, size)
    value = certified(launch)
    (tmp_path / "p.bin").write_bytes(bytes(size))
    with pytest.raises(InputError, match="'data' has other data than when the certificate was written"):
        evidence(value, OBJ, (tmp_path,), (launch,))


def test_a_recorded_hash_that_is_another(tmp_path):
    value = certified(LAUNCH)
    value["launches"][0]["memory_sha256"] = "0" * 64
    with pytest.raises(InputError, match="'small' has other data"):
        evidence(signed(value), OBJ)


def test_launches_that_are_given_as_well():
    value = certified(LAUNCH)
    more = replace(LAUNCH, name="more", grid=(2, 1, 1))
    assert evidence(value, OBJ, (), (more, LAUNCH))[1] == (LAUNCH, more)
    p, q = LAUNCH.buffers
    other = replace(LAUNCH, buffers=(replace(p, fill=Integers(2)), q))
    with pytest.raises(InputError, match="'small' is another one than that of the certificate"):
        evidence(value, OBJ, (), (other,))


def paths(value, prefix=()):
    """Every key on the way to what a check reads, as a path."""
    for key in ("format", "k0", "candidate", "kernel", "edits", "launches", "sha256"):
        yield (key,)
    for word in ("k0", "candidate"):
        yield word, "sha256"
    for key in value["launches"][0]:
        yield "launches", 0, key
    for key in value["edits"][0]:
        yield "edits", 0, key


OPTIONAL = {"kernel", "objective", "weight", "sample", "dynamic_lds"}
"""Keys of a launch that may be left out; then it is another launch, unless they say what holds anyway."""
PATHS = list(paths(certified(LAUNCH)))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: ".".join(map(str, p)))
@pytest.mark.parametrize("junk", [None, 3, "x", [3], {"x": 3}], ids=["missing", "3", "x", "list", "table"])
def test_a_member_that_is_missing_or_of_another_type(path, junk):
    """With a hash of its own that is right: one sentence, whatever is wrong."""
    value = certified(LAUNCH)
    *way, last = path
    holder = value
    for step in way:
        holder = holder[step]
    before = holder[last]
    if junk is None:
        del holder[last]
    else:
        holder[last] = junk
    value = signed(value) if path != ("sha256",) else value
    if (last, junk) in (("before", 3), ("text", "x")):
        return  # an edit of the right form; whether it fits the program is the gate's question
    if last in OPTIONAL and len(path) == 3 and (junk is None or junk == before):
        assert evidence(value, OBJ)[1] == (LAUNCH,)
        return
    with pytest.raises(InputError) as caught:
        check_certificate(value, OBJ, OBJ)
        evidence(value, OBJ)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
