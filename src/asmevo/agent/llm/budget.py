"""What models may cost: one budget for a run, shared by all its conversations."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum

from asmevo.agent.llm.config import Limits, LlmConfig, Price
from asmevo.agent.llm.message import Usage

LEAST_OUTPUT = 64
"""Tokens of a reply below which it is not worth asking."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used so far."""

    requests: int = 0
    input: int = 0
    output: int = 0
    money: float | None = 0.0
    """US dollars; None once a model without a price was asked."""
    seconds: float = 0.0
    attempts: int = 0

    @property
    def tokens(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for one request; what all its tries may cost is set aside until it is settled."""

    model: str
    input: int
    """Tokens of all tries."""
    output: int
    """Most tokens the reply may have."""
    money: float | None
    """Most that it can cost; None where the price is not known, which no limit in money allows."""
    tries: int
    """How often the request may be sent: a try without an answer may be charged all the same."""


class Budget:
    """Counts tokens, money, seconds and attempts against limits. Threads may share it.

    `grant` sets aside the most that a request can cost and `settle` replaces that by what it did cost, so conversations
    that ask at the same time cannot go beyond a limit together; only a server that exceeds `Grant.output`, or counts
    more tokens of input than expected, can.
    """

    def __init__(self, limits: Limits, prices: Mapping[str, Price]) -> None:
        self._limits, self._prices = limits, dict(prices)
        self._spent = Spent()
        self._charged: dict[str, Usage] = {}
        """Tokens by model, with those that may have been charged for."""
        self._aside: list[Grant] = []
        self._lock = threading.Lock()

    @classmethod
    def of(cls, config: LlmConfig) -> Budget:
        """The budget of a configuration, nothing spent."""
        return cls(config.limits, {m.name: m.price for m in config.models if m.price})

    @property
    def spent(self) -> Spent:
        return self._spent

    def grant(self, model: str, size: int, output: int, tries: int = 1) -> Grant | str:
        """Leave to send a request of about `size` tokens with at most `output` in reply; or why there is none.

        Of the `tries` wanted it has those that the limits have room for, one at least.
        """
        with self._lock:
            if reason := self._used():
                return reason
            price = self._prices.get(model)
            granted, room, least = output, float("inf"), min(LEAST_OUTPUT, output)
            if self._limits.tokens is not None:
                left = self._limits.tokens - self._spent.tokens - sum(g.input + g.output for g in self._aside)
                granted = min(granted, left - size)
                if granted < least:
                    return _not_enough(f"{self._limits.tokens} tokens")
                room = (left - granted) / max(1, size)
            if self._limits.money is not None:
                if price is None or self._spent.money is None:
                    return f"the price of {model} is not known, so no limit in money holds it"
                left = self._limits.money - self._spent.money - sum(g.money or 0.0 for g in self._aside)
                left -= size * price.input / 1e6
                if price.output > 0:
                    granted = min(granted, int(left * 1e6 / price.output))
                elif left < 0:
                    granted = 0
                if granted < least:
                    return _not_enough(f"{self._limits.money:g} USD")
                if size * price.input > 0:
                    again = left - granted * price.output / 1e6  # the first try is taken off already
                    room = min(room, 1 + again * 1e6 / (size * price.input))
            tries = max(1, int(min(tries, room)))
            grant = Grant(model, tries * size, granted, self._money(model, Usage(tries * size, granted)), tries)
            self._aside.append(grant)
            return grant

    def settle(self, grant: Grant, usage: Usage, seconds: float) -> None:
        """Replace what was set aside by what the request cost."""
        with self._lock:
            self._aside.remove(grant)
            self._add(grant.model, usage, seconds)

    def release(self, grant: Grant) -> None:
        """Give back what was set aside for a request that was not sent."""
        with self._lock:
            self._aside.remove(grant)

    def recall(self, model: str, usage: Usage, seconds: float) -> None:
        """Count a request of an earlier process of the run."""
        with self._lock:
            self._add(model, usage, seconds)

    def forfeit(self, grant: Grant) -> None:
        """Count what was set aside for a request as spent: it may have been sent, and nobody will know what it cost."""
        with self._lock:
            self._aside.remove(grant)
            self._charge(grant.model, Usage(grant.input, grant.output))

    def charge(self, model: str, most: Usage) -> None:
        """The same for a request of an earlier process of the run."""
        with self._lock:
            self._charge(model, most)

    def count_attempts(self, attempts: int) -> None:
        """Say how many candidates of models were put through the gate in this run so far."""
        with self._lock:
            self._spent = replace(self._spent, attempts=attempts)

    @property
    def attempts_left(self) -> int | None:
        """Candidates that may still be put through the gate; None for no limit."""
        return None if self._limits.attempts is None else self._limits.attempts - self._spent.attempts

    def refusal(self) -> str:
        """Which limit is used, as the end of a sentence; empty when none is."""
        with self._lock:
            return self._used()

    def _add(self, model: str, usage: Usage, seconds: float) -> None:
        s = self._spent
        self._spent = replace(
            s,
            requests=s.requests + 1,
            input=s.input + usage.input,
            output=s.output + usage.output,
            seconds=s.seconds + seconds,
        )
        self._charge(model, usage)

    def _charge(self, model: str, usage: Usage) -> None:
        """Add to what the model has cost; the sum does not depend on the order."""
        before = self._charged.get(model, Usage())
        self._charged[model] = Usage(before.input + usage.input, before.output + usage.output)
        parts = [money for one, used in self._charged.items() if (money := self._money(one, used)) is not None]
        self._spent = replace(self._spent, money=fsum(parts) if len(parts) == len(self._charged) else None)

    def _money(self, model: str, usage: Usage) -> float | None:
        price = self._prices.get(model)
        return (usage.input * price.input + usage.output * price.output) / 1e6 if price else None

    def _used(self) -> str:
        limits, spent = self._limits, self._spent
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            return f"the limit of {limits.tokens} tokens is used"
        if limits.money is not None and spent.money is not None and spent.money >= limits.money:
            return f"the limit of {limits.money:g} USD is used"
        if limits.seconds is not None and spent.seconds >= limits.seconds:
            return f"the limit of {limits.seconds:g} seconds of waiting is used"
        if limits.attempts is not None and spent.attempts >= limits.attempts:
            return f"the limit of {limits.attempts} attempts of models is used"
        return ""


def _not_enough(limit: str) -> str:
    return f"what is left of the limit of {limit} is not enough for another request"
