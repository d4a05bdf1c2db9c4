"""Who answers requests: live servers, or the record of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from asmevo.agent.llm.message import Failure, Reply, Request, Usage

Outcome: TypeAlias = Reply | Failure


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with what it may cost."""

    request: Request
    output: int
    """Most tokens of the reply. No part of the request's identity: how much is left of a budget must not matter."""
    tries: int = 1
    """How often it may be sent at most, the first time included."""

    @property
    def most(self) -> Usage:
        """The most tokens that it may be charged for, all tries together."""
        return Usage(self.tries * self.request.size, self.output)


class Answers(Protocol):
    """Answers requests.

    Contract: one outcome for each request, in their order, whatever order they were answered in; a request that fails
    is a `Failure`, never an exception. Raises `Stopped` when the run is to stop meanwhile.
    """

    def ask(self, asked: Sequence[Asked]) -> list[Outcome]: ...

    def close(self) -> None:
        """Give up connections."""
        ...


class Stopped(Exception):
    """The run is to stop while a model is waited for."""
