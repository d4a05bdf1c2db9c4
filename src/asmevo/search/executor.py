"""Where drafts are made and candidates examined: in this process, or by workers side by side."""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from asmevo.device.process import Lost, Worker
from asmevo.edit import from_json
from asmevo.search.building import build
from asmevo.search.draft import Drafter
from asmevo.search.examination import Examination, Examined
from asmevo.search.request import Draft, Edits, Request
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, Finding, Verdict

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SECONDS = 3600.0
"""Most wall time for one answer of a worker; runs inside it have limits of their own."""


TURN = 0.5
"""Seconds that a wait lasts at most, so that a signal is seen."""


class Ticket(Protocol[T_co]):
    """An answer that may not be there yet."""

    def done(self) -> bool:
        """Whether the answer is there."""
        ...

    def result(self) -> T_co:
        """The answer; waits for it. Raises `EnvironmentError_`."""
        ...


class Executor(ABC):
    """Makes drafts and examines candidates.

    Contract: answers are functions of what is asked, whoever gives them and in whatever order they are asked for, so
    that nothing of a search depends on the number of workers. A worker that dies is replaced and asked again; when it
    dies again, an examination answers UNKNOWN, and a draft raises `EnvironmentError_`. Used by one thread.
    """

    @abstractmethod
    def draft(self, request: Request) -> Ticket[Draft | None]:
        """Ask for a draft."""

    @abstractmethod
    def examine(self, edits: Edits, candidate: str) -> Ticket[Examined]:
        """Ask what gate and timer say of the candidate that `edits` make of K0."""

    @abstractmethod
    def wait(self, tickets: Sequence[Ticket[Any]]) -> None:
        """Wait until one of these is done, or for a moment; the first is the most urgent."""

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """End what was started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Station:
    """Does the work, wherever it is: one K0, its gate, its timer and the strategies."""

    def __init__(self, examination: Examination, drafter: Drafter) -> None:
        self.examination, self.drafter = examination, drafter

    def draft(self, request: Request) -> Draft | None:
        return self.drafter.draft(request)

    def examine(self, edits: Edits, candidate: str) -> Examined:
        made = [from_json(edit) for edit in edits]
        built = build(self.examination.k0, made)
        if built.sha256 != candidate:
            return _lost("Building the candidate again gave another object; report this as a defect.")
        return self.examination.examine(built, made)[0]


class _Later(Generic[T]):
    """Work that is done when its result is asked for."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []

    def done(self) -> bool:
        return bool(self._results)

    def result(self) -> T:
        if not self._results:
            self._results.append(self._work())
        return self._results[0]


class Inline(Executor):
    """Does everything in this process, one thing after the other."""

    def __init__(self, station: Station) -> None:
        self._station = station

    def draft(self, request: Request) -> Ticket[Draft | None]:
        return _Later(lambda: self._station.draft(request))

    def examine(self, edits: Edits, candidate: str) -> Ticket[Examined]:
        return _Later(lambda: self._station.examine(edits, candidate))

    def wait(self, tickets: Sequence[Ticket[Any]]) -> None:
        tickets[0].result()


class Pool(Executor):
    """Workers side by side, each with a gate and a device of its own; as many threads wait for what they answer.

    Strategies that live in this process only, such as one that asks a model, are given as `drafter`: then drafts are
    made here.
    """

    def __init__(self, count: int, drafter: Drafter | None) -> None:
        self._threads = ThreadPoolExecutor(count, "asmevo")
        self._drafter = drafter

    @abstractmethod
    def _answer(self, request: tuple[Any, ...]) -> Any:
        """What a worker that is free answers, in the form of `asmevo.search.worker.Desk`.

        Raises `Lost` when it dies over the request; the next call finds one that lives.
        """

    def draft(self, request: Request) -> Ticket[Draft | None]:
        drafter = self._drafter
        if drafter is not None:
            return _Later(lambda: drafter.draft(request))
        return cast("Future[Draft | None]", self._threads.submit(self._ask, "draft", request))

    def examine(self, edits: Edits, candidate: str) -> Ticket[Examined]:
        return self._threads.submit(self._examine, edits, candidate)

    def wait(self, tickets: Sequence[Ticket[Any]]) -> None:
        for ticket in tickets:
            if isinstance(ticket, _Later):
                ticket.result()
                return
        wait([cast("Future[Any]", ticket) for ticket in tickets], TURN, return_when=FIRST_COMPLETED)

    def _examine(self, edits: Edits, candidate: str) -> Examined:
        try:
            return self._ask("examine", edits, candidate)
        except _DiedTwice as died:
            return _lost(str(died))

    def _ask(self, *request: Any) -> Any:
        why = ""
        for _ in range(2):
            try:
                answer = self._answer(request)
            except Lost as lost:
                why = str(lost)
                continue
            match answer:
                case ("ok", value):
                    return value
                case ("error", type() as kind, str(message)) if issubclass(kind, AsmEvoError):
                    raise kind(message)
                case _:
                    why = "Its answer has no known form."
        raise _DiedTwice(f"A worker process of the search was lost twice over `{request[0]}`: {why}")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Processes(Pool):
    """Worker processes on this machine. `target` names their server (see `asmevo.search.worker`)."""

    def __init__(self, target: str, count: int, drafter: Drafter | None = None) -> None:
        super().__init__(count, drafter)
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._workers = [Worker(target) for _ in range(count)]
        for worker in self._workers:
            self._idle.put(worker)

    def _answer(self, request: tuple[Any, ...]) -> Any:
        worker = self._idle.get()
        try:
            worker.send(request)
            return worker.receive(SECONDS)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        super().close()
        for worker in self._workers:
            worker.end()


class _DiedTwice(EnvironmentError_):
    """A worker died over the same request again."""


def _lost(message: str) -> Examined:
    check = Check("device", Verdict.UNKNOWN, (Finding("device.lost", message),))
    return Examined(Verdict.UNKNOWN, (check.to_json(),))
