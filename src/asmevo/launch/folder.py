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

A file with a list has `[[launch]]` tables. A folder is read in the order of its file names; it may also be a captured
dispatch, or hold folders that are.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.launch.fills import File, fill_from_json
from asmevo.launch.recipes import recipe_from_json
from asmevo.launch.table import Table
from asmevo.launch.values import RED_ZONE, Buffer, Field, Launch
from asmevo.verdict import InputError

_HEAD = {"name", "kernel", "objective", "weight", "sample"}
_SPELLED = {"grid", "block", "dynamic_lds", "kernarg", "buffer"}
_BUFFER = {"name", "role", "dtype", "shape", "size", "fill", "align", "red_zone", "address"}


def load_launches(path: Path | str, obj: CodeObject | None = None) -> tuple[Launch, ...]:
    """The launches of a file, of every `.toml` and `.json` file of a folder, or of the captures in it.

    `obj` is the object to be launched; captures of other kernels are left out. Raises `InputError` when nothing is
    there, a file does not parse, a key is unknown or of another type, or two launches share a name.
    """
    path = Path(path)
    launches = _load_folder(path, obj) if path.is_dir() else _load_file(path)
    names = [launch.name for launch in launches]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path} has two launches named {name!r}; give each its own name.")
    return launches


def _load_folder(path: Path, obj: CodeObject | None) -> tuple[Launch, ...]:
    from asmevo.launch.capture import captured_launches, is_capture  # it builds on launches itself

    if is_capture(path):
        return captured_launches(path, obj)
    files = sorted(p for p in path.iterdir() if p.suffix in (".toml", ".json"))
    launches = tuple(launch for file in files for launch in _load_file(file))
    found = (*launches, *captured_launches(path, obj))
    if not found:
        raise InputError(f"The folder {path} holds no launch file and no capture; put a .toml or .json file there.")
    return found


def save_launch(launch: Launch, folder: Path | str) -> Path:
    """Write `<name>.json` into the folder, made when missing. `load_launches` reads it back to an equal launch.

    Data files are not copied; `load_launches` looks for them in the folder.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{launch.name}.json"
    path.write_text(json.dumps(launch.to_json(), indent=1) + "\n", encoding="utf-8")
    return path


def launch_from_json(data: Mapping[str, Any], folder: Path, where: str) -> Launch:
    """A launch from plain values; data files are relative to `folder`."""
    name = Table(data, where).text("name", "launch")
    where = f"launch {name!r} of {where}"
    is_recipe = "recipe" in data
    table = Table(data, where, _HEAD | ({"recipe", "arguments"} if is_recipe else _SPELLED))
    head: dict[str, Any] = {
        "kernel": table.text("kernel", None),
        "objective": table.flag("objective", False),
        "weight": table.number("weight", 1.0),
        "sample": table.integer("sample", 0),
    }
    if is_recipe:
        recipe = recipe_from_json(table.text("recipe"), data.get("arguments") or {}, where)
        return replace(recipe.launch(name), **head)
    return Launch(
        name=name,
        grid=_triple(table, "grid"),
        block=_triple(table, "block"),
        dynamic_lds=table.integer("dynamic_lds", 0),
        kernarg=tuple(_field(one, f"kernarg {n} of {where}") for n, one in enumerate(table.tables("kernarg"))),
        buffers=tuple(_buffer(one, folder, where) for one in table.tables("buffer")),
        **head,
    )


def _load_file(path: Path) -> tuple[Launch, ...]:
    try:
        raw = path.read_bytes()
        data: object = json.loads(raw) if path.suffix == ".json" else tomllib.loads(raw.decode())
    except OSError as error:
        raise InputError(f"The launch file {path} cannot be read ({error.strerror}); check its path.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"The launch file {path} is not valid {path.suffix[1:].upper() or 'TOML'}: {error}."
        ) from error
    table = Table(data, f"launch file {path}")
    many = table.tables("launch") if "launch" in table.data else [{"name": path.stem, **table.data}]
    return tuple(launch_from_json(one, path.parent.resolve(), str(path)) for one in many)


def _triple(table: Table, key: str) -> tuple[int, int, int]:
    value = table.integers(key)
    if not 1 <= len(value) <= 3:
        raise InputError(f"The key {key!r} in {table.where} must be a list of one to three numbers.")
    x, y, z = (*value, 1, 1)[:3]
    return x, y, z


def _field(data: Mapping[str, Any], where: str) -> Field:
    table = Table(data, where, Field.__dataclass_fields__)
    return Field(
        name=table.text("name", ""),
        offset=table.integer("offset", None),
        value=table.number("value", None),
        buffer=table.text("buffer", None),
        byte_offset=table.integer("byte_offset", 0),
        type=table.text("type", ""),
    )


def _buffer(data: Mapping[str, Any], folder: Path, where: str) -> Buffer:
    table = Table(data, f"buffer {data.get('name', '')!r} of {where}", _BUFFER)
    name, role, dtype = (table.text(key) for key in ("name", "role", "dtype"))
    if ("shape" in table) == ("size" in table):
        raise InputError(f"The {table.where} needs either a shape or a size (elements).")
    fill = fill_from_json(data["fill"], table.where) if "fill" in table else None
    if isinstance(fill, File):
        fill = replace(fill, folder=str(folder))
    address = table.integer("address", None)
    return Buffer(
        name=name,
        role=role,
        dtype=dtype,
        shape=table.integers("shape") if "shape" in table else (table.integer("size"),),
        fill=fill,
        align=table.integer("align", 256),
        red_zone=table.integer("red_zone", RED_ZONE if address is None else 0),
        address=address,
    )
