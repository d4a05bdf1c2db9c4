"""The round-trip benchmark on the objects that are made here, and its JSON."""

from __future__ import annotations

import json

import pytest

from benchmarks import corpus, roundtrip
from small_objects import LOOP, build


def test_counts_and_differences(capsys, monkeypatch):
    def objects():
        yield "good.co", build(LOOP)
        yield "other.co", build(LOOP, target="gfx950")
        yield "bad.co", build(LOOP)[:500]

    monkeypatch.setitem(roundtrip.SOURCES, "clang", objects)
    assert roundtrip.main(["--json", "--source", "clang"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert (result["files"], result["identical"]) == (3, 2) and result["files_per_s"] > 0
    assert result["by_source"]["clang"]["targets"] == {"gfx942": 1, "gfx950": 1, "": 1}
    assert result["by_source"]["clang"]["instructions"] == 32
    assert lines[0].startswith("bad.co: ") and "truncated" in lines[0]


def test_generated_objects_have_what_compilers_emit():
    from benchmarks.generated import clang, compiled

    compiler = clang()
    if compiler is None:
        pytest.skip("clang is not installed")
    for target, options in (("gfx942", ("-O2", "-g")), ("gfx950", ("-O0",)), ("gfx1250", ("-O2",))):
        data = compiled(compiler, target, options)
        result = roundtrip.round_trip(("clang", target, data))
        assert (result.error, result.target, result.data) == ("", target, 0)
        for section in (b".got\0", b".data\0", b".bss\0", b".rela.dyn\0"):
            assert section in data


@pytest.mark.slow
@pytest.mark.parametrize("source", ["bitsandbytes", "mojolearn-amd", "amd-aiter"])
def test_wheels(source):
    for number, (name, data) in enumerate(corpus.SOURCES[source]()):
        if number % 97 == 0:
            assert roundtrip.round_trip((source, name, data)).error == "", name
