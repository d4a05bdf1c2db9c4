"""Chips that differ from a table in some numbers: of one machine after `asmevo calibrate`, or of a new product.

Such a chip has all its numbers in its name, as in `mi300x[clock_ghz=1.7(1.6..1.8), xcds=4]`, so that a run folder or a
certificate that records the name needs no file. A file in TOML says the same for people; see `to_toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from asmevo.timing.chips import GIVEN, Chip, Parameter
from asmevo.verdict import InputError, number, shown

FACTOR: Final = 16.0
"""A value further than this from the table's is taken for a mistake of its unit."""
FIXED: Final = frozenset({"issue_clk"})
"""Numbers that the replay is built for."""
_ITEM: Final = re.compile(r"(\w+)=([^(),=]+)(?:\(([^(),=]+)\.\.([^(),=]+)\))?")


def with_overrides(chip: Chip, rows: Iterable[Parameter]) -> Chip:
    """A copy with other rows, named by its table and all rows that differ from it."""
    changed = {row.name: row for row in rows}
    given = {name: row for name, row in chip.parameters.items() if row.source == GIVEN} | changed
    listed = ", ".join(_written(given[name]) for name in sorted(given))
    values: dict[str, Any] = {name: _kept(chip, name, row.value) for name, row in changed.items()}
    return replace(
        chip,
        name=f"{table_of(chip)}[{listed}]" if given else chip.name,
        parameters=MappingProxyType({**chip.parameters, **changed}),
        **values,
    )


def table_of(chip: Chip) -> str:
    """Name of the table behind a chip."""
    return chip.name.partition("[")[0]


def override(chip: Chip, name: str, value: object, where: str, low: object = None, high: object = None) -> Parameter:
    """A checked row. Without a range the value is not in doubt.

    Raises `InputError` for an unknown name, another type, a value far from the table's, or a range without the value.
    """
    if name not in chip.parameters or name in FIXED:
        names = ", ".join(sorted(set(chip.parameters) - FIXED))
        raise InputError(f"The parameter {name!r} in {where} cannot be set; use {names}.")
    usual = getattr(chip, name)
    for given in (value, low, high):
        if given is None and given is not value:
            continue
        whole = isinstance(usual, int)
        if isinstance(given, bool) or not isinstance(given, int if whole else int | float):
            words = repr(given) if isinstance(given, float) else _said(given)
            raise InputError(
                f"The parameter {name} in {where} must be a {'whole ' * whole}number, not {words}; its unit is "
                f"{chip.parameters[name].unit}."
            )
        if not usual / FACTOR <= given <= usual * FACTOR:
            raise InputError(
                f"The parameter {name} in {where} is {_said(given)} and {table_of(chip)} has {usual:g}; give a number "
                f"in {chip.parameters[name].unit} that is at most {FACTOR:g} times apart."
            )
    found, ends = float(cast("float", value)), (low is None, high is None)
    if ends[0] != ends[1]:
        raise InputError(f"The parameter {name} in {where} has one end of a range; give low and high, or neither.")
    if not ends[0] and not cast("float", low) <= found <= cast("float", high):
        raise InputError(
            f"The parameter {name} in {where} is {found:g}, outside of its range {low} to {high}; mend it."
        )
    return replace(
        chip.parameters[name],
        value=found,
        source=GIVEN,
        low=None if low is None else float(cast("float", low)),
        high=None if high is None else float(cast("float", high)),
    )


def chip_in_brackets(text: str, table: Chip) -> Chip:
    """The chip of a name: what stands between the brackets, over the table. Raises what `override` raises."""
    where = f"the chip name {table.name}[{text}"
    body, end, rest = text.rpartition("]")
    if not end or rest:
        raise InputError(f"{where[0].upper()}{where[1:]} does not end with a bracket; copy it whole.")
    rows: list[Parameter] = []
    for item in filter(None, body.split(", ")):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise InputError(f"The part {item!r} of {where} is no parameter; write it as clock_ghz=1.7(1.6..1.8).")
        numbers = [None if part is None else _number(part, where) for part in match.groups()[1:]]
        rows.append(override(table, match[1], numbers[0], where, *numbers[1:]))
    if len({row.name for row in rows}) < len(rows):
        raise InputError(f"A parameter is twice in {where}; give it once.")
    return with_overrides(table, rows)


def chip_of_file(path: Path, table: Callable[[str], Chip]) -> Chip:
    """The chip of a TOML file; `table` finds the one named by its key `base`. Raises `InputError` for what is wrong."""
    try:
        data: dict[str, object] = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path."
        ) from error
    except (ValueError, RecursionError) as error:  # of the syntax, of UTF-8, of a number with thousands of digits
        raise InputError(f"{path} is not TOML ({error}); write it as docs/calibrate.md shows.") from error
    base = data.pop("base", None)
    if not isinstance(base, str) or "[" in base:
        raise InputError(f'{path} does not say which table it differs from; add a line such as base = "mi300x".')
    found = table(base)
    return with_overrides(found, [_row(found, name, given, str(path)) for name, given in data.items()])


def to_toml(chip: Chip, remark: str = "") -> str:
    """The file of a chip; `remark` becomes its first lines."""
    lines = [f"# {line}".rstrip() for line in remark.splitlines()]
    lines.append(f'base = "{table_of(chip)}"')
    for name, row in sorted(chip.parameters.items()):
        if row.source == GIVEN:
            lines += ["", f"[{name}]", f"value = {_text(chip, name, row.value)}"]
            if row.low is not None and row.high is not None:
                lines += [f"low = {_text(chip, name, row.low)}", f"high = {_text(chip, name, row.high)}"]
    return "\n".join(lines) + "\n"


def _row(chip: Chip, name: str, given: object, where: str) -> Parameter:
    """A number, or a table of value, low and high."""
    if not isinstance(given, Mapping):
        return override(chip, name, given, where)
    entry = cast("Mapping[str, object]", given)
    if unknown := sorted(set(entry) - {"value", "low", "high"}):
        raise InputError(f"The key {unknown[0]!r} of {name} in {where} is unknown; use value, low, high.")
    if "value" not in entry:
        raise InputError(f"The parameter {name} in {where} has no value; add the key value.")
    return override(chip, name, entry["value"], where, entry.get("low"), entry.get("high"))


def _written(row: Parameter) -> str:
    span = "" if row.low is None or row.high is None else f"({row.low!r}..{row.high!r})"
    return f"{row.name}={row.value!r}{span}"


def _number(text: str, where: str) -> int | float:
    try:
        found = number(text)
    except ValueError as error:
        raise InputError(f"{shown(text)!r} in {where} is no number; write it as 1.7.") from error
    return int(found) if isfinite(found) and found.is_integer() else found


def _said(value: object) -> str:
    """A value for a sentence, however long it is."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{number(value):g}"
    return shown(repr(value)) if isinstance(value, str | bool) else f"a {type(value).__name__}"


def _kept(chip: Chip, name: str, value: float) -> int | float:
    return int(value) if isinstance(getattr(chip, name), int) else value


def _text(chip: Chip, name: str, value: float) -> str:
    return repr(_kept(chip, name, value))
