"""Counter files of rocprofv3 in its three formats, good and bad."""

import json
import math
import sqlite3

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device.conformance import ADD_ONE, launch_of
from asmevo.device.counters import KernelCounters, Pair, beside, of_kernel, read_counters, read_rows, render_beside
from asmevo.device.simulated import SimDevice
from asmevo.program import recover
from asmevo.verdict import InputError
from small_objects import build

HEAD = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
    '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
)
READINGS = [
    (1, "k0", "SQ_WAVES", 8.0, 1000, 11000),
    (1, "k0", "SQ_INSTS_VALU", 24.0, 1000, 11000),
    (2, "k0", "SQ_WAVES", 8.0, 20000, 34000),
    (3, "void other<float>(float*, int)", "SQ_WAVES", 4.0, 50000, 51000),
]
"""Dispatch, kernel, counter, value, begin, end."""


def as_csv(path, readings=READINGS):
    rows = (f'{d},{d},"Agent 1",2,7,7,512,5,"{k}",64,0,0,8,0,16,"{c}",{v:f},{b},{e}\n' for d, k, c, v, b, e in readings)
    path.write_text(HEAD + "".join(rows))
    return path


def as_database(path, readings=READINGS):
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE raw (dispatch_id INT, kernel_name TEXT, counter_name TEXT, value REAL, start INT, end INT)"
        )
        connection.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?)", readings)
        connection.execute("CREATE VIEW counters_collection AS SELECT * FROM raw")
    connection.close()
    return path


def as_json(path, readings=READINGS):
    counters = sorted({c for _, _, c, *_ in readings})
    kernels = sorted({k for _, k, *_ in readings})
    records = [
        {
            "dispatch_data": {
                "start_timestamp": b,
                "end_timestamp": e,
                "dispatch_info": {"dispatch_id": d, "kernel_id": kernels.index(k)},
            },
            # two parts of the device, as the JSON gives them
            "records": [{"counter_id": {"handle": counters.index(c)}, "value": v / 2}] * 2,
        }
        for d, k, c, v, b, e in readings
    ]
    tool = {
        "counters": [{"id": {"handle": i}, "name": name} for i, name in enumerate(counters)],
        "kernel_symbols": [{"kernel_id": i, "kernel_name": f"{k}.kd"} for i, k in enumerate(kernels)],
        "callback_records": {"counter_collection": records},
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


@pytest.mark.parametrize("write", [as_csv, as_database, as_json])
def test_all_formats_say_the_same(tmp_path, write):
    found = of_kernel(read_counters(write(tmp_path / "counters")), "k0", "the file")
    assert found.dispatches == 2 and found.microseconds == 12.0
    assert found.means == {"SQ_INSTS_VALU": 24.0, "SQ_WAVES": 8.0}
    other = of_kernel(read_counters(tmp_path / "counters"), "other<float>", "the file")
    assert other.means == {"SQ_WAVES": 4.0}


def test_a_kernel_that_was_not_seen(tmp_path):
    with pytest.raises(InputError, match=r"no dispatch of the kernel gemm; it has k0, void other"):
        of_kernel(read_counters(as_csv(tmp_path / "c.csv")), "gemm", "c.csv")


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "is no counter file"),
        (b"\xff\xfe\x00", "is no counter file"),
        (b"Name,Value\nx,1\n", "the column Dispatch_Id is missing"),
        (HEAD.encode(), "has no counter of any kernel"),
        ((HEAD + '1,1,"Agent 1",2,7,7,512,5,"k0",64,0,0,8,0,16,"SQ_WAVES",many,1,2\n').encode(), "damaged in line 2"),
        ((HEAD + '1,1,"Agent 1",2,7\n').encode(), "damaged in line 2"),
        ((HEAD + '1,1,"A",2,7,7,512,5,"k0",64,0,0,8,0,16,"SQ_WAVES",nan,1,2\n').encode(), "damaged in line 2"),
        (b"{}", "KeyError"),
        (b'{"rocprofiler-sdk-tool": 5}', "is no counter file"),
        (b'{"rocprofiler-sdk-tool": [{"counters": [{}]}]}', "is no counter file"),
        (b"{", "is no counter file"),
        (b'{"a":' * 100_000, "is no counter file"),
        (b"x" * 200_000, "is no counter file"),
        (HEAD.encode() + b"x" * 200_000, "is no counter file"),
        (b"SQLite format 3\0 and then nothing", "is no database of rocprofv3"),
    ],
)
def test_bad_files_are_named(tmp_path, content, words):
    (tmp_path / "counters").write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_counters(tmp_path / "counters")
    assert str(tmp_path) in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize("write", [as_csv, as_database, as_json])
@pytest.mark.parametrize("value", [1e308, 1e300, 2.0**65, -1.0])
def test_values_that_no_counter_holds_are_refused_with_their_row(tmp_path, write, value):
    rows = [(n, "k0", "GRBM_GUI_ACTIVE", value, 1000, 11_000) for n in (1, 2)]
    with pytest.raises(InputError, match=r"of GRBM_GUI_ACTIVE in dispatch 1 of k0(\.kd)?, which is no count"):
        read_counters(write(tmp_path / "x", rows))
    with pytest.raises(InputError, match="which is no count"):
        read_rows(tmp_path / "x")


@pytest.mark.parametrize("value", ["1_0", "\u0663", "0x10", "inf", " 1", ""])
def test_a_number_of_a_file_is_plain(tmp_path, value):
    good = '1,1,"A",2,7,7,512,5,"k0",64,0,0,8,0,16,"SQ_WAVES",4.5e1,10,25\n'
    path = tmp_path / "x"
    path.write_text(HEAD + good)
    assert [(row.value, row.nanoseconds) for row in read_rows(path)] == [(45.0, 15)]
    for before, after in ((",4.5e1,", f",{value},"), (",10,", f",{value or 'x'},"), ("512", value or "x")):
        path.write_text(HEAD + good.replace(before, after), encoding="utf-8")
        with pytest.raises(InputError, match="damaged in line 2"):
            read_rows(path)


@pytest.mark.parametrize("time", [True, 1.5, -1, 1 << 64, "1_0", "\u0663"])
def test_a_time_in_json_is_a_whole_number(tmp_path, time):
    path = as_json(tmp_path / "x", READINGS[:1])
    path.write_text(path.read_text().replace("11000", json.dumps(time)))
    with pytest.raises(InputError, match="is no counter file"):
        read_counters(path)


def test_names_are_printed_readable_and_cut(tmp_path):
    name = "A" * 5000 + "\x1b[31m"
    path = as_csv(tmp_path / "x", [(1, f"k\x1b[2J{name}", "SQ_WAVES", 1.0, 1, 2)])
    with pytest.raises(InputError, match=r"it has k\?\[2JA+\.\.\.\.$") as caught:
        of_kernel(read_counters(path), "k0", "x")
    assert len(str(caught.value)) < 200
    found = KernelCounters("k\x1bernel", 1, {}, None)
    text = render_beside(found, (Pair(name, "", 1.0, None),))
    assert "\x1b" not in text and max(map(len, text.splitlines())) < 140


def test_a_database_of_something_else_and_a_file_that_is_not_there(tmp_path):
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (a INT)")
    connection.close()
    with pytest.raises(InputError, match="no such table: counters_collection"):
        read_counters(tmp_path / "x.db")
    with pytest.raises(InputError, match="cannot be read"):
        read_counters(tmp_path / "none.csv")


def test_counters_stand_beside_the_model(tmp_path):
    """What was counted of 8 workgroups of one wave is exactly what the model says of them."""
    launch, data = launch_of(8), build(ADD_ONE, vgprs=24, private=64)
    program = recover(CodeObject.parse(data))
    with SimDevice() as device:
        profile = device.profile(device.load(data), launch)
    more = [*READINGS, (1, "k0", "SQ_INSTS_VMEM", 16.0, 1000, 11000), (1, "k0", "TCC_HIT_sum", 3.0, 1000, 11000)]
    found = of_kernel(read_counters(as_csv(tmp_path / "c.csv", more)), "k0", "c.csv")
    pairs = {pair.name: pair for pair in beside(found, launch, program, profile)}
    assert pairs["SQ_WAVES"].ratio == 1.0 and pairs["SQ_INSTS_VALU"].ratio == 1.0
    assert pairs["SQ_INSTS_VMEM"].ratio == 1.0
    assert pairs["TCC_HIT_sum"].modelled is None and pairs["TCC_HIT_sum"].ratio is None
    assert math.isclose(pairs["time while counting"].modelled, profile.estimate.microseconds)
    text = render_beside(found, tuple(pairs.values()))
    assert "counters of 2 dispatches of k0" in text
    assert "SQ_WAVES" in text and "1.00  waves" in text
