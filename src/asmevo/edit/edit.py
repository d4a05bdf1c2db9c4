"""What an edit is, and the edits as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar, cast

from asmevo.edit.forward import Forward
from asmevo.program import Program
from asmevo.verdict import InputError


class Edit(Protocol):
    """A change of a program as a value: frozen, comparable, JSON in and out.

    `apply` checks its preconditions and raises `InputError` that says what does not hold; it never changes its input.
    Whether a program still computes the same is not the edit's question but the gate's.
    """

    kind: ClassVar[str]

    def apply(self, program: Program) -> tuple[Program, Forward]:
        """The edited program, and where the lines of `program` are in it."""
        ...

    def to_json(self) -> dict[str, Any]:
        """A JSON object with `kind`; `from_json` gives the edit back."""
        ...


class _Loadable(Edit, Protocol):
    @classmethod
    def from_fields(cls, fields: Fields) -> Edit: ...


_E = TypeVar("_E", bound=type[_Loadable])
_kinds: dict[str, Callable[[Fields], Edit]] = {}


def register(kind: _E) -> _E:
    """Class decorator: makes the class known to `from_json` by its `kind`."""
    _kinds[kind.kind] = kind.from_fields
    return kind


def from_json(data: object) -> Edit:
    """The edit of a JSON object. Raises `InputError` for an unknown kind or fields that do not fit."""
    if not isinstance(data, Mapping):
        raise InputError("An edit must be a JSON object with a `kind`.")
    fields = Fields(cast("Mapping[str, object]", data))
    kind = fields.text("kind")
    if kind not in _kinds:
        raise InputError(f"There is no edit of kind {kind!r}; known are {', '.join(sorted(_kinds))}.")
    edit = _kinds[kind](fields)
    fields.done()
    return edit


def apply_all(program: Program, edits: Iterable[Edit]) -> Program:
    """The program after all edits, one after the other."""
    for edit in edits:
        program, _ = edit.apply(program)
    return program


class Fields:
    """Typed access to the members of a JSON object, with errors that name the member."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data, self._seen = data, set[str]()

    def _get(self, key: str) -> object:
        self._seen.add(key)
        if key not in self._data:
            raise InputError(f"The edit lacks {key!r}; see `to_json` of its kind.")
        return self._data[key]

    def has(self, key: str) -> bool:
        """Whether the object has this member."""
        return key in self._data

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str):
            raise InputError(f"{key!r} of the edit must be a string, not {value!r}.")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings, or one string."""
        value = self._get(key)
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        if not all(isinstance(v, str) for v in values):
            raise InputError(f"{key!r} of the edit must be a string or a list of strings, not {value!r}.")
        return tuple(cast("list[str]", values))

    def integer(self, key: str) -> int:
        value = self._get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(f"{key!r} of the edit must be an integer, not {value!r}.")
        return value

    def integers(self, key: str) -> tuple[int, ...]:
        value = self._get(key)
        values = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise InputError(f"{key!r} of the edit must be a list of integers, not {value!r}.")
        return tuple(cast("list[int]", values))

    def flag(self, key: str) -> bool:
        """A boolean that is false when absent."""
        self._seen.add(key)
        value = self._data.get(key, False)
        if not isinstance(value, bool):
            raise InputError(f"{key!r} of the edit must be true or false, not {value!r}.")
        return value

    def done(self) -> None:
        """Raise `InputError` when the object has members that nobody asked for."""
        if unknown := sorted(set(self._data) - self._seen):
            raise InputError(f"The edit has unknown members: {', '.join(unknown)}.")
