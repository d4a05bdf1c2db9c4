"""rocprofv3's database (rocpd) and its JSON.

Source: ROCprofiler-SDK documentation, "Using rocpd output format" (views `kernels` and `counters_collection`), and its
JSON writer (`rocprofiler-sdk-tool`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from asmevo.device.counters.values import Reading, unsigned
from asmevo.verdict import InputError, number

_VIEWS = ("counters_collection", "kernels")


def read_database(path: Path) -> Iterator[Reading]:
    """Rows of both views; of one where the other is not there. Raises `InputError` where there is neither."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            views = [name for name in _VIEWS if name in there]
            for view in views or _VIEWS[:1]:  # without any, the database's own words for that
                cursor = connection.execute(f"SELECT * FROM {view}")
                names = [column[0].lower() for column in cursor.description]
                for values in cursor:
                    yield _of_view(dict(zip(names, values, strict=True)), view)
    except (sqlite3.DatabaseError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path} is no database of rocprofv3 with counters ({error}); collect them again.") from error


def _of_view(row: Mapping[str, Any], view: str) -> Reading:
    index = row.get("agent_log_index")
    common: dict[str, Any] = {
        "dispatch": unsigned(row["dispatch_id"]),
        "begin": None if row["start"] is None else unsigned(row["start"]),
        "end": None if row["end"] is None else unsigned(row["end"]),
        "agent": "" if index is None else f"Agent {index}",
        "process": str(row.get("guid") or row.get("pid") or ""),
    }
    if view == "kernels":
        grid, block = (tuple(unsigned(row[f"{what}_{axis}"]) for axis in "xyz") for what in ("grid", "workgroup"))
        return Reading(kernel=str(row["name"]), grid=grid, block=block, **common)
    grid, block = (
        () if row.get(name) is None else (unsigned(row[name]),) for name in ("grid_size", "workgroup_size")
    )  # a product, as in the CSV
    return Reading(
        kernel=str(row["kernel_name"]),
        counter=str(row["counter_name"]),
        value=number(row["value"]),
        grid=grid,
        block=block,
        **common,
    )


def read_json(text: str, where: str, none_of: Callable[[str, str], str]) -> Iterator[Reading]:
    """Dispatches and counters of all processes. Raises `InputError`, with words from `none_of`, for another file."""
    try:
        tools: list[Any] = json.loads(text)["rocprofiler-sdk-tool"]
        for process, tool in enumerate(tools):
            yield from _process(cast("Mapping[str, Any]", tool), str(process))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(none_of(where, f"{type(error).__name__}: {error}")) from error


def _process(tool: Mapping[str, Any], process: str) -> Iterator[Reading]:
    """Readings of one process: names stand apart from records, under the handles that these use."""
    counters: dict[int, str] = {c["id"]["handle"]: c["name"] for c in tool.get("counters", ())}
    kernels: dict[int, str] = {k["kernel_id"]: k["kernel_name"] for k in tool["kernel_symbols"]}
    agents: dict[int, Any] = {a["id"]["handle"]: a.get("logical_node_id") for a in tool.get("agents", ())}
    for record in _records(tool, "callback_records", "counter_collection"):
        data: Mapping[str, Any] = record["dispatch_data"]
        for value in cast("list[Mapping[str, Any]]", record["records"]):
            name = counters[value["counter_id"]["handle"]]
            yield _dispatch(data, kernels, agents, process, str(name), number(value["value"]))
    for record in _records(tool, "buffer_records", "kernel_dispatch"):
        yield _dispatch(record, kernels, agents, process)


def _records(tool: Mapping[str, Any], kind: str, name: str) -> list[Mapping[str, Any]]:
    return tool.get(kind, {}).get(name, [])


def _dispatch(
    data: Mapping[str, Any],
    kernels: Mapping[int, str],
    agents: Mapping[int, Any],
    process: str,
    counter: str = "",
    value: float = 0.0,
) -> Reading:
    info: Mapping[str, Any] = data["dispatch_info"]
    begin, end = data.get("start_timestamp"), data.get("end_timestamp")
    handle = info.get("agent_id", {}).get("handle")
    grid, block = (
        tuple(unsigned(info[name][axis]) for axis in "xyz") if name in info else ()
        for name in ("grid_size", "workgroup_size")
    )
    return Reading(
        dispatch=unsigned(info["dispatch_id"]),
        kernel=str(kernels[info["kernel_id"]]),
        counter=counter,
        value=value,
        begin=unsigned(begin) if begin and end else None,
        end=unsigned(end) if begin and end else None,
        agent="" if handle is None else f"Agent {agents.get(handle, handle)}",
        process=process,
        grid=grid,
        block=block,
    )
