"""Counter files of rocprofv3: CSV, its database (rocpd, SQLite), and JSON.

Source: ROCprofiler-SDK documentation, "Using rocprofv3" (`*_counter_collection.csv`) and "Using rocpd output format"
(view `counters_collection`); its JSON writer (`rocprofiler-sdk-tool`).
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from asmevo.device.counters.values import KernelCounters, Reading, by_kernel
from asmevo.verdict import InputError

_SQLITE = b"SQLite format 3\0"
_QUERY = "SELECT dispatch_id, kernel_name, counter_name, value, end - start FROM counters_collection"
_WANTED = ("Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value")


def read_counters(path: Path) -> dict[str, KernelCounters]:
    """The counters in a file, by kernel. Raises `InputError` for what is none of the three formats, or is damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path."
        ) from error
    where = str(path)
    if data.startswith(_SQLITE):
        return by_kernel(_database(path), where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(_none_of(where)) from error
    found = _json(text, where) if text.lstrip().startswith("{") else _csv(text, where)
    return by_kernel(found, where)


def _none_of(where: str) -> str:
    return f"{where} is no counter file of rocprofv3; give its *_counter_collection.csv, its .db or its .json."


def _csv(text: str, where: str) -> Iterator[Reading]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        yield from _rows(rows, where)
    except csv.Error as error:
        raise InputError(f"{_none_of(where)[:-1]} ({error}).") from error


def _rows(rows: csv.DictReader[str], where: str) -> Iterator[Reading]:
    if missing := [name for name in _WANTED if name not in (rows.fieldnames or ())]:
        raise InputError(f"{_none_of(where)[:-1]} (the column {missing[0]} is missing).")
    for number, row in enumerate(rows, start=2):
        try:
            begin, end = row.get("Start_Timestamp"), row.get("End_Timestamp")
            span = int(end) - int(begin) if begin and end else None
            value = float(row["Counter_Value"])
            yield Reading(int(row["Dispatch_Id"]), row["Kernel_Name"], row["Counter_Name"], value, span)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} is damaged in line {number}; collect the counters again.") from error


def _database(path: Path) -> Iterator[Reading]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            for dispatch, kernel, counter, value, span in connection.execute(_QUERY):
                nanoseconds = None if span is None else int(span)
                yield Reading(int(dispatch), str(kernel), str(counter), float(value), nanoseconds)
    except (sqlite3.DatabaseError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path} is no database of rocprofv3 with counters ({error}); collect them again.") from error


def _json(text: str, where: str) -> Iterator[Reading]:
    try:
        tools: list[Any] = json.loads(text)["rocprofiler-sdk-tool"]
        for tool in tools:
            yield from _process(cast("Mapping[str, Any]", tool))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{_none_of(where)[:-1]} ({type(error).__name__}: {error}).") from error


def _process(tool: Mapping[str, Any]) -> Iterator[Reading]:
    """Readings of one process: names stand apart from records, under the handles that these use."""
    counters: dict[int, str] = {c["id"]["handle"]: c["name"] for c in tool["counters"]}
    kernels: dict[int, str] = {k["kernel_id"]: k["kernel_name"] for k in tool["kernel_symbols"]}
    records: list[Mapping[str, Any]] = tool["callback_records"]["counter_collection"]
    for record in records:
        data: Mapping[str, Any] = record["dispatch_data"]
        info: Mapping[str, Any] = data["dispatch_info"]
        begin, end = data.get("start_timestamp"), data.get("end_timestamp")
        span = int(end) - int(begin) if begin and end else None
        for value in cast("list[Mapping[str, Any]]", record["records"]):
            name = counters[value["counter_id"]["handle"]]
            kernel = str(kernels[info["kernel_id"]])
            yield Reading(int(info["dispatch_id"]), kernel, str(name), float(value["value"]), span)
