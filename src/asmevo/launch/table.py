"""Typed access to the tables of launch files. Nothing is converted: a value has the right type or gives a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast

from asmevo.verdict import InputError

_T = TypeVar("_T")


class Table:
    """A table read from a file; `where` names it in errors. Each method raises `InputError` for another type.

    A method with a `default` gives that for a key that is absent or null; without one the key must be there.
    """

    def __init__(self, data: object, where: str, known: Iterable[str] | None = None) -> None:
        """Raises `InputError` when `data` is no table, or has a key that is not `known`."""
        if not isinstance(data, Mapping):
            raise InputError(f"The {where} must be a table of keys and values, not {data!r}.")
        self.data = cast("Mapping[str, Any]", data)
        self.where = where
        names = sorted(self.data if known is None else known)
        for key in self.data:
            if key not in names:
                raise InputError(f"The key {key!r} in {where} is unknown; use {', '.join(names)}.")

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def _get(self, key: str, what: str, fits: Callable[[object], bool], default: _T) -> Any | _T:
        value = self.data.get(key)
        if value is None and default is not MISSING:
            return default
        if value is None:
            raise InputError(f"The {self.where} lacks the key {key!r}; give {what}.")
        if not fits(value):
            raise InputError(f"The key {key!r} in {self.where} must be {what}, not {value!r}.")
        return value

    def integer(self, key: str, default: Any = MISSING) -> Any:
        return self._get(key, "a whole number", _is_integer, default)

    def number(self, key: str, default: Any = MISSING) -> Any:
        """An integer or a float, as it was written."""
        return self._get(key, "a number", _is_number, default)

    def text(self, key: str, default: Any = MISSING) -> Any:
        return self._get(key, "a string", lambda v: isinstance(v, str), default)

    def flag(self, key: str, default: Any = MISSING) -> Any:
        return self._get(key, "true or false", lambda v: isinstance(v, bool), default)

    def integers(self, key: str, default: Any = MISSING) -> Any:
        """A tuple of integers."""
        return _tuple(self._get(key, "a list of whole numbers", lambda v: _all(v, _is_integer), default))

    def numbers(self, key: str, default: Any = MISSING) -> Any:
        """A tuple of numbers."""
        return _tuple(self._get(key, "a list of numbers", lambda v: _all(v, _is_number), default))

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """A list of tables; empty when the key is absent."""
        return self._get(key, f"a list of tables, e.g. [[{key}]]", lambda v: _all(v, _is_table), [])

    def arguments(self, cls: type, names: Iterable[str]) -> dict[str, Any]:
        """The keyword arguments of a dataclass: the fields of these names, each checked against its annotation.

        Raises `InputError` for a field without default that is absent.
        """
        wanted = set(names)
        readers: dict[str, Callable[[str], Any]] = {
            "int": self.integer,
            "float": self.number,
            "str": self.text,
            "bool": self.flag,
            "tuple[float | int, ...]": self.numbers,
        }
        found: dict[str, Any] = {}
        for field in fields(cls):
            if field.name in wanted and (field.name in self or field.default is MISSING):
                found[field.name] = readers[str(field.type)](field.name)
        return found


def _tuple(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_integer(value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _all(value: object, fits: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(fits(one) for one in cast("list[object]", value))
