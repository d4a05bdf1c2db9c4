"""The record of everything models answered, and answering from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asmevo.agent.llm.answers import Answers, Asked, Outcome
from asmevo.agent.llm.message import Failure, Usage, failure_json, failure_of, reply_json, reply_of
from asmevo.store import write_atomic
from asmevo.store.files import disk
from asmevo.verdict import InputError

_REPLIES = "replies"
_ASKED = "asked"


class Record:
    """Outcomes of requests in a folder: `replies/<key of the request>-<number>.json`.

    The same request may be sent several times; its outcomes are numbered from 0. A file holds the reply or why there
    was none, with tokens and seconds; no address, header or key. While a request is under way, `asked/` holds the most
    tokens that it may be charged for, under the name that its outcome will have. It does so for ever when nobody will
    know the outcome, as when the process ends before: under a name of its own once that of the outcome is used again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._asked = folder / _REPLIES, folder / _ASKED
        self._numbers = Counter(path.stem.rpartition("-")[0] for path in self._folder.glob("*.json"))

    @property
    def keys(self) -> frozenset[str]:
        """The requests that were made."""
        return frozenset(self._numbers)

    def count(self, key: str) -> int:
        """How many outcomes of this request there are."""
        return self._numbers[key]

    def begin(self, asked: Sequence[Asked]) -> list[Path]:
        """Note that requests are about to be sent; their outcomes are to be added in this order.

        Remove each note once the outcome is recorded.
        """
        numbers, notes = self._numbers.copy(), list[Path]()
        for one in asked:
            key = one.request.key
            note = self._asked / f"{key}-{numbers[key]}.json"
            if note.exists():
                lost = sum(1 for _ in self._asked.glob(f"{key}-lost*.json"))
                with disk(note):
                    note.rename(self._asked / f"{key}-lost{lost}.json")
            said = {"model": one.request.model, "input": one.most.input, "output": one.most.output}
            write_atomic(note, json.dumps(said).encode())
            numbers[key] += 1
            notes.append(note)
        return notes

    def unanswered(self) -> list[tuple[str, Usage]]:
        """Model and most tokens of requests whose outcome nobody knows. Raises `InputError` for a damaged file."""
        return [
            _load_asked(path)
            for path in sorted(self._asked.glob("*.json"))
            if not (self._folder / path.name).exists()  # a kill can leave the note of a recorded outcome
        ]

    def add(self, model: str, key: str, outcome: Outcome) -> None:
        """Record an outcome. Raises `EnvironmentError_` from the disk."""
        said = {"failure": failure_json(outcome)} if isinstance(outcome, Failure) else {"reply": reply_json(outcome)}
        data = json.dumps({"model": model, **said}, ensure_ascii=False, sort_keys=True)
        write_atomic(self._path(key, self._numbers[key]), data.encode())
        self._numbers[key] += 1

    def read(self, key: str, number: int) -> Outcome | None:
        """One outcome, None when there is none. Raises `InputError` for a damaged file."""
        path = self._path(key, number)
        return _load(path)[1] if path.is_file() else None

    def all(self) -> Iterator[tuple[str, Outcome]]:
        """Model and outcome of everything recorded."""
        for path in sorted(self._folder.glob("*.json")):
            yield _load(path)

    def _path(self, key: str, number: int) -> Path:
        return self._folder / f"{key}-{number}.json"


class Recording:
    """Answers from servers, recorded before anyone sees them."""

    def __init__(self, inner: Answers, record: Record) -> None:
        self._inner, self._record = inner, record

    def ask(self, asked: Sequence[Asked]) -> list[Outcome]:
        notes = self._record.begin(asked)
        outcomes = self._inner.ask(asked)
        for one, note, outcome in zip(asked, notes, outcomes, strict=True):
            self._record.add(one.request.model, one.request.key, outcome)
            note.unlink()
        return outcomes

    def close(self) -> None:
        self._inner.close()


class Replay:
    """Answers from the record of another run: no network, no key and no library is needed.

    A request that was not made in that run has no answer: `ask` raises `InputError` that says so. What the run that
    replays has had answered already, in earlier processes, is in its own record, `done`.
    """

    def __init__(self, source: Record, done: Record) -> None:
        self._source = source
        self._numbers = Counter({key: done.count(key) for key in done.keys})

    def ask(self, asked: Sequence[Asked]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for one in asked:
            key = one.request.key
            number = self._numbers[key]
            self._numbers[key] += 1
            outcome = self._source.read(key, number)
            if outcome is None:
                raise InputError(
                    f"The run that is replayed holds no reply {number} to the request {key[:16]} of model "
                    f"{one.request.model}; replay with the object, launches, options and version of that run."
                )
            outcomes.append(outcome)
        return outcomes

    def close(self) -> None:
        """There is nothing to close."""


def _load_asked(path: Path) -> tuple[str, Usage]:
    try:
        value: dict[str, Any] = json.loads(path.read_text())
        return str(value["model"]), Usage(int(value["input"]), int(value["output"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} is not the note of a request ({reason}); the run folder is damaged.") from error


def _load(path: Path) -> tuple[str, Outcome]:
    """Model and outcome of a file."""
    try:
        value: dict[str, Any] = json.loads(path.read_text())
        outcome = failure_of(value["failure"]) if "failure" in value else reply_of(value["reply"])
        return str(value["model"]), outcome
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path} is not the record of a reply ({reason}); the run folder is damaged.") from error
