"""Launch files: TOML or JSON, one launch in each or a list, alone or in a folder with their data files.

A launch spelled out:

    name = "small"
    grid = [3, 1, 1]            # workgroups
    block = [256, 1, 1]         # work-items of a workgroup
    dynamic_lds = 0             # bytes; optional, as are all keys below
    kernel = "name"             # needed when the object has several kernels
    objective = false           # true: also timed, with `weight`, as the goal of a search
    weight = 1.0
    sample = 0                  # most workgroups that the gate executes; 0 for all

    [[kernarg]]
    offset = 0                  # or `name`, looked up in the object's metadata
    buffer = "x"                # its address, plus `byte_offset`
    [[kernarg]]
    offset = 8
    value = 1000
    type = "i32"

    [[buffer]]
    name = "x"
    role = "in"                 # in, out, inout, workspace
    dtype = "f32"               # numpy's names, bf16, fp8_e4m3fnuz
    shape = [1000]
    fill = {kind = "random", seed = 1, distribution = "normal", high = 1.0}
    align = 256
    red_zone = 4096

A launch of a known kernel family names its recipe instead of geometry, arguments and buffers:

    name = "small"
    recipe = "triton.block_scaled_gemm"
    [arguments]
    m = 64

A file with a list has `[[launch]]` tables. A folder is read in the order of its file names.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from asmevo.launch.fills import File, fill_from_json
from asmevo.launch.recipes import recipe_from_json
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError

_HEAD = {"name", "kernel", "objective", "weight", "sample"}
_SPELLED = {"grid", "block", "dynamic_lds", "kernarg", "buffer"}
_FIELD = {"name", "offset", "value", "buffer", "byte_offset", "type"}
_BUFFER = {"name", "role", "dtype", "shape", "size", "fill", "align", "red_zone"}

Table = dict[str, Any]


def load_launches(path: Path | str) -> tuple[Launch, ...]:
    """The launches of a file, or of every `.toml` and `.json` file of a folder.

    Raises `InputError` when nothing is there, a file does not parse, a key is unknown, or two launches share a name.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".toml", ".json"))
        if not files:
            raise InputError(f"The folder {path} holds no launch file; put a .toml or .json file there.")
    else:
        files = [path]
    launches = tuple(launch for file in files for launch in _load_file(file))
    names = [launch.name for launch in launches]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path} has two launches named {name!r}; give each its own name.")
    return launches


def save_launch(launch: Launch, folder: Path | str) -> Path:
    """Write `<name>.json` into the folder, made when missing. `load_launches` reads it back to an equal launch."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{launch.name}.json"
    path.write_text(json.dumps(launch.to_json(), indent=1) + "\n", encoding="utf-8")
    return path


def launch_from_json(table: Mapping[str, Any], folder: Path, where: str) -> Launch:
    """A launch from plain values; data files are relative to `folder`."""
    name = str(table.get("name", "launch"))
    where = f"launch {name!r} of {where}"
    recipe = "recipe" in table
    _known(table, _HEAD | ({"recipe", "arguments"} if recipe else _SPELLED), where)
    head = {key: table[key] for key in _HEAD - {"name"} if key in table}
    try:
        if recipe:
            launch = recipe_from_json(table["recipe"], table.get("arguments", {}), where).launch(name)
            return replace(launch, **head)
        return Launch(
            name=name,
            grid=_triple(table, "grid", where),
            block=_triple(table, "block", where),
            dynamic_lds=int(table.get("dynamic_lds", 0)),
            kernarg=tuple(_field(t, where) for t in _tables(table, "kernarg", where)),
            buffers=tuple(_buffer(t, folder, where) for t in _tables(table, "buffer", where)),
            **head,
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"In {where} a value has the wrong type ({error}); see the format in asmevo.launch.folder."
        ) from error


def _load_file(path: Path) -> tuple[Launch, ...]:
    try:
        raw = path.read_bytes()
        table: Table = json.loads(raw) if path.suffix == ".json" else tomllib.loads(raw.decode())
    except OSError as error:
        raise InputError(f"The launch file {path} cannot be read ({error.strerror}); check its path.") from error
    except ValueError as error:
        raise InputError(
            f"The launch file {path} is not valid {path.suffix[1:].upper() or 'TOML'}: {error}."
        ) from error
    if not isinstance(table, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON may hold anything
        raise InputError(f"The launch file {path} holds no table; it needs keys such as name, grid and block.")
    many = _tables(table, "launch", str(path)) if "launch" in table else [{"name": path.stem, **table}]
    return tuple(launch_from_json(one, path.parent, str(path)) for one in many)


def _known(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"The key {key!r} in {where} is unknown; use {', '.join(sorted(known))}.")


def _tables(table: Mapping[str, Any], key: str, where: str) -> list[Table]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(t, dict) for t in cast(list[Any], value)):
        raise InputError(f"The key {key!r} in {where} must be a list of tables, e.g. [[{key}]].")
    return cast(list[Table], value)


def _triple(table: Mapping[str, Any], key: str, where: str) -> tuple[int, int, int]:
    value = table.get(key)
    if not isinstance(value, list) or not 1 <= len(cast(list[Any], value)) <= 3:
        raise InputError(f"The key {key!r} in {where} must be a list of one to three numbers.")
    x, y, z = (*map(int, cast(list[Any], value)), 1, 1)[:3]
    return x, y, z


def _field(table: Table, where: str) -> Field:
    _known(table, _FIELD, f"a kernarg of {where}")
    return Field(**table)


def _buffer(table: Table, folder: Path, where: str) -> Buffer:
    name = str(table.get("name", ""))
    where = f"buffer {name!r} of {where}"
    _known(table, _BUFFER, where)
    rest = dict(table)
    for key in ("name", "role", "dtype"):
        if key not in rest:
            raise InputError(f"The {where} lacks the key {key!r}.")
    if ("shape" in rest) == ("size" in rest):
        raise InputError(f"The {where} needs either a shape or a size (elements).")
    shape = tuple(int(n) for n in rest.pop("shape", None) or [rest.pop("size", 0)])
    fill = fill_from_json(rest.pop("fill"), where) if "fill" in rest else None
    if isinstance(fill, File):
        fill = replace(fill, path=str(folder / fill.path))
    return Buffer(shape=shape, fill=fill, **rest)
