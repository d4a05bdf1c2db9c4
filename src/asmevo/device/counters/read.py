"""Files of rocprofv3: CSV, its database (rocpd, SQLite), and JSON, with counters or with times alone.

Source: ROCprofiler-SDK, `source/lib/output/generateCSV.cpp`, `source/lib/python/rocpd/csv.py` and "Using rocprofv3".
What differs between versions, and is taken as it comes:

* Kernel traces have no `Dispatch_Id` in ROCm 6.2, no `Stream_Id` before 7.0; sizes of LDS, scratch and registers have
  three spellings, and `rocpd` writes other capitals (`Lds_Block_Size`), a `Guid` and a `Duration`. Nothing uses these.
* `Agent_Id` is a bare number up to ROCm 6.4, later `Agent 4` or, by `--agent-index`, `GPU 0`.
* Grid sizes are work-items, not workgroups (as "Using rocprofv3" says since 2025; before, it said otherwise).
* A counter file has a row for each counter of a dispatch, with sizes as one product.
* Dispatches may overlap in time, and a time or a count may be wrong by a lot: use medians (ROCm/rocm-systems,
  "rocprofv3 reports incorrect `GRBM_GUI_ACTIVE` cycle counts and dispatch timestamps for some dispatches").
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from asmevo.device.counters.records import read_database, read_json
from asmevo.device.counters.values import KernelCounters, Reading, by_kernel, require_counts, unsigned
from asmevo.verdict import InputError, number

_SQLITE = b"SQLite format 3\0"
_COUNTERS = ("Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value")
_TIMES = (
    "Kernel_Name", "Start_Timestamp", "End_Timestamp", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z",
    "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z",
)  # fmt: skip


def read_counters(path: Path) -> dict[str, KernelCounters]:
    """The counters in a file, by kernel. Raises `InputError` for what is none of the three formats, or is damaged."""
    return by_kernel(require_counts(_rows(path, counters=True), str(path)), str(path))


def read_rows(path: Path) -> tuple[Reading, ...]:
    """All rows of a file: kernel traces and counters. Raises what `read_counters` raises."""
    return tuple(require_counts(_rows(path, counters=False), str(path)))


def _rows(path: Path, *, counters: bool) -> Iterator[Reading]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path."
        ) from error
    if data.startswith(_SQLITE):
        return read_database(path)
    where = str(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(_none_of(where, "it is no text")) from error
    if text.lstrip().startswith("{"):
        return read_json(text, where, _none_of)
    return _csv(text, where, counters)


def _none_of(where: str, why: str) -> str:
    return f"{where} is no counter file or kernel trace of rocprofv3 ({why}); give its .csv, its .db or its .json."


def _csv(text: str, where: str, counters: bool) -> Iterator[Reading]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = {name.lower(): name for name in rows.fieldnames or ()}
        counts = counters or "counter_name" in names
        wanted = _COUNTERS if counts else _TIMES
        if missing := [name for name in wanted if name.lower() not in names]:
            raise InputError(_none_of(where, f"the column {missing[0]} is missing"))
        for line, raw in enumerate(rows, start=2):
            row = {name.lower(): value for name, value in raw.items() if name is not None}
            try:
                yield _counted(row) if counts else _timed(row, line - 1)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{where} is damaged in line {line}; collect it again.") from error
    except csv.Error as error:
        raise InputError(_none_of(where, str(error))) from error


def _counted(row: Mapping[str, str]) -> Reading:
    begin, end = row.get("start_timestamp"), row.get("end_timestamp")
    both = bool(begin and end)
    return Reading(
        dispatch=unsigned(row["dispatch_id"]),
        kernel=_text(row["kernel_name"]),
        counter=_text(row["counter_name"]),
        value=number(row["counter_value"]),
        begin=unsigned(begin or "") if both else None,
        end=unsigned(end or "") if both else None,
        agent=_agent(row),
        process=row.get("guid") or row.get("process_id") or "",
        grid=_sizes(row, "grid_size"),
        block=_sizes(row, "workgroup_size"),
    )


def _timed(row: Mapping[str, str], number: int) -> Reading:
    return Reading(
        dispatch=unsigned(row["dispatch_id"]) if "dispatch_id" in row else number,
        kernel=_text(row["kernel_name"]),
        begin=unsigned(row["start_timestamp"]),
        end=unsigned(row["end_timestamp"]),
        agent=_agent(row),
        process=row.get("guid") or "",
        grid=tuple(unsigned(row[f"grid_size_{axis}"]) for axis in "xyz"),
        block=tuple(unsigned(row[f"workgroup_size_{axis}"]) for axis in "xyz"),
    )


def _agent(row: Mapping[str, str]) -> str:
    name = row.get("agent_id") or ""
    return f"Agent {name}" if name.isascii() and name.isdigit() else name


def _sizes(row: Mapping[str, str], name: str) -> tuple[int, ...]:
    return (unsigned(row[name]),) if row.get(name) else ()


def _text(value: str) -> str:
    if not value:
        raise ValueError(value)
    return value
