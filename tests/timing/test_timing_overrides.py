"""Chips that differ from a table: in a name, in a file."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.timing import chip, chip_of_file, override, table_of, to_toml, with_overrides
from asmevo.verdict import InputError, UsageError

LAB = "mi308x[clock_ghz=1.7(1.6..1.8), xcds=2]"


def test_a_name_holds_the_whole_chip():
    lab, table = chip(LAB), chip("mi308x")
    assert (lab.clock_ghz, lab.xcds, lab.cus, lab.range("clock_ghz")) == (1.7, 2, 40, (1.6, 1.8))
    assert isinstance(lab.xcds, int) and lab.range("xcds") == (2, 2)
    assert lab.hbm_latency_ns == table.hbm_latency_ns and table_of(lab) == "mi308x" and table.xcds == 4
    assert chip(lab.name) == lab
    assert lab.clock_status == "given by the user; 1.6 to 1.8 GHz are plausible"
    assert "assumed" in lab.at(16).clock_status and lab.at(16).clock_ghz == table.clock_ghz_16


def test_a_file_and_its_chip_say_the_same(tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text(to_toml(chip(LAB), "Machine 7.\nCooled by water."))
    assert path.read_text().startswith("# Machine 7.\n# Cooled by water.\n")
    assert chip_of_file(path, chip) == chip(LAB)
    path.write_text('base = "mi300x"\nlaunch_us = 3\n')
    assert chip_of_file(path, chip).launch_us == 3.0
    path.write_text('base = "mi300x"\n')
    assert chip_of_file(path, chip) == chip("mi300x")


def test_the_example_of_the_documents_is_a_chip(tmp_path):
    text = (Path(__file__).resolve().parents[2] / "docs" / "calibrate.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "lab.toml").write_text(example)
    lab = chip_of_file(tmp_path / "lab.toml", chip)
    assert lab.name in text and chip(lab.name) == lab


def test_a_change_of_a_changed_chip_keeps_the_others():
    again = with_overrides(chip(LAB), [override(chip(LAB), "launch_us", 3.5, "here")])
    assert again.name == "mi308x[clock_ghz=1.7(1.6..1.8), launch_us=3.5, xcds=2.0]" and chip(again.name) == again


@given(value=st.floats(0.2, 20), apart=st.floats(0, 0.5))
def test_any_clock_survives_its_name(value, apart):
    table = chip("mi300x")
    ends = max(value - apart, 0.15), min(value + apart, 30.0)
    lab = with_overrides(table, [override(table, "clock_ghz_8", value, "here", *ends)])
    assert chip(lab.name) == lab and lab.clock_ghz_8 == value


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "does not say which table"),
        ("base = 3", "does not say which table"),
        ('base = "mi300x[xcds=4]"', "does not say which table"),
        ('base = "mi300x"\nclock = 1.7', "'clock' .* cannot be set; use barrier_clk"),
        ('base = "mi300x"\nissue_clk = 4', "'issue_clk' .* cannot be set"),
        ('base = "mi300x"\nname = "x"', "'name' .* cannot be set"),
        ('base = "mi300x"\nclock_ghz = "1.7"', "must be a number, not '1.7'; its unit is GHz"),
        ('base = "mi300x"\nclock_ghz = true', "must be a number, not True"),
        ('base = "mi300x"\nxcds = 4.5', "must be a whole number, not 4.5"),
        ('base = "mi300x"\nxcds = 2.0', "must be a whole number, not 2.0;"),
        ('base = "mi300x"\nclock_ghz = 1700', "is 1700 and mi300x has 2.1; give a number in GHz"),
        ('base = "mi300x"\nclock_ghz = 0', "is 0 and"),
        ('base = "mi300x"\nclock_ghz = -1.0', "is -1 and"),
        ('base = "mi300x"\nclock_ghz = nan', "is nan and"),
        ('base = "mi300x"\nclock_ghz = inf', "is inf and"),
        ('base = "mi300x"\n[clock_ghz]\nvalue = 1.7\nunit = "GHz"', "'unit' of clock_ghz .* use value, low, high"),
        ('base = "mi300x"\n[clock_ghz]\nlow = 1.7', "has no value"),
        ('base = "mi300x"\n[clock_ghz]\nvalue = 1.7\nlow = 1.6', "one end of a range"),
        ('base = "mi300x"\n[clock_ghz]\nvalue = 1.7\nlow = 1.8\nhigh = 1.9', "outside of its range 1.8 to 1.9"),
        ('base = "mi300x"\n[clock_ghz]\nvalue = 1.7\nlow = 1.9\nhigh = 1.5', "outside of its range"),
        ('base = "mi300x"\nxcds = 1' + "0" * 400, "is inf and mi300x has 8"),
        ('base = "mi300x"\nxcds = 0x' + "f" * 5000, "is inf and"),
        ('base = "mi300x"\nclock_ghz = -1' + "0" * 400, "is -inf and"),
        ('base = "mi300x"\nclock_ghz = [0x' + "f" * 5000 + "]", "not a list"),
        ('base = "mi300x"\nxcds = ' + "9" * 5000, "is not TOML"),
        ("base = ", "is not TOML"),
        ('base = "mi300x"\nbase = "mi300x"', "is not TOML"),
    ],
)  # fmt: skip
def test_bad_files_are_named(tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        chip_of_file(path, chip)
    assert str(path) in str(caught.value) and str(caught.value).endswith(".")


def test_a_file_that_is_none_and_a_base_that_is_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        chip_of_file(tmp_path / "none.toml", chip)
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not TOML"):
        chip_of_file(tmp_path / "x.toml", chip)
    (tmp_path / "x.toml").write_text('base = "mi999x"')
    with pytest.raises(UsageError, match="There is no chip 'mi999x'"):
        chip_of_file(tmp_path / "x.toml", chip)


@pytest.mark.parametrize(
    "name, words",
    [
        ("mi300x[clock_ghz=1.7", "does not end with a bracket"),
        ("mi300x[clock_ghz=1.7] ", "does not end with a bracket"),
        ("mi300x[clock_ghz]", "is no parameter"),
        ("mi300x[clock_ghz=1.7(1.6)]", "is no parameter"),
        ("mi300x[clock_ghz=fast]", "'fast' in the chip name"),
        ("mi300x[clock_ghz=1e999]", "is inf"),
        ("mi300x[clock_ghz=1_5]", "'1_5' in the chip name .* is no number"),
        ("mi300x[xcds=\u0662]", "is no number"),
        ("mi300x[clock_ghz=nan]", "is no number"),
        ("mi300x[clock_ghz=1.7, clock_ghz=1.8]", "is twice"),
        ("mi300x[xcds=1.5]", "must be a whole number"),
    ],
)
def test_bad_names_are_named(name, words):
    with pytest.raises(InputError, match=words):
        chip(name)
