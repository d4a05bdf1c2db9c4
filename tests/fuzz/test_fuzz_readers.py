"""Damaged files, notes, descriptors, bundles and listings end in named errors; the fuzzer itself works."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.report import object_facts
from asmevo.verdict import InputError
from fuzz import readers
from fuzz.cases import LISTING, examine, seeds
from fuzz.readers import mutated
from small_objects import LOOP, build


@pytest.mark.parametrize("number", range(len(seeds())))
def test_seeds_are_good(number):
    assert examine(seeds()[number]) == ""


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([n for n, s in enumerate(seeds()) if s[0] != LISTING]), st.integers(0, 1 << 32))
def test_damaged_files(number, seed):
    assert examine(mutated(seeds()[number], random.Random(seed))) in ("", "InputError", "UnmovableError", "EntryError")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 32))
def test_damaged_listings(seed):
    (text,) = [s for s in seeds() if s[0] == LISTING]
    assert examine(mutated(text, random.Random(seed))) in ("", "InputError", "UnsupportedError")


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=64, max_size=64))
def test_any_descriptor(raw):
    data = bytearray(build(LOOP))
    obj = CodeObject.parse(bytes(data))
    at = obj.section(".rodata").offset
    data[at : at + 64] = raw
    try:
        facts = object_facts(CodeObject.parse(bytes(data)))
    except InputError as error:
        assert "begins outside of .text" in str(error)
    else:
        assert facts["kernels"][0]["vector_registers"] % 8 == 0


def test_the_own_loop_repeats_itself(capsys):
    results = []
    for _ in range(2):
        assert readers.own_loop(120, 3) == 0
        results.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert results[0]["errors"] == results[1]["errors"] and results[0]["runs"] == 120
    assert results[0]["errors"]["InputError"] > 10


def test_what_escapes_is_kept(monkeypatch, tmp_path, capsys):
    def broken(data: bytes) -> str:
        raise KeyError(len(data))

    monkeypatch.setattr("fuzz.cases.examine", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyError):
        readers.own_loop(1, 0)
    assert "its input is" in capsys.readouterr().out and len(list(tmp_path.iterdir())) == 1
