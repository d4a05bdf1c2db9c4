"""Counter files of rocprofv3 in its three formats, good and bad."""

import json
import math
import sqlite3

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device.conformance import ADD_ONE, launch_of
from asmevo.device.counters import beside, of_kernel, read_counters, render_beside
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
        ((HEAD + '1,1,"A",2,7,7,512,5,"k0",64,0,0,8,0,16,"SQ_WAVES",nan,1,2\n').encode(), "which is no count"),
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
