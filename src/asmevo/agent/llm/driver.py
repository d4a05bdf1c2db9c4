"""The driver: conversations of models on the windows where the strategies have stalled, on the run's own lineage."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asmevo.agent.answer import Answer
from asmevo.agent.llm.answers import Answers, Asked, Stopped
from asmevo.agent.llm.budget import Budget, Grant
from asmevo.agent.llm.compaction import compacted
from asmevo.agent.llm.config import LlmConfig
from asmevo.agent.llm.conversation import Brief, Conversation, conversations
from asmevo.agent.llm.evolution import evolve
from asmevo.agent.llm.message import Failure, Reply, Request, ToolSpec, Trouble, size, tools_size
from asmevo.agent.llm.recording import Record, Recording
from asmevo.agent.llm.task import Stage, chosen_windows, first_messages, summary_of, tool_specs
from asmevo.agent.llm.variants import Population, Score
from asmevo.agent.prompts import prompt
from asmevo.agent.session import AgentSession
from asmevo.agent.tools import Toolbox
from asmevo.launch import Launch
from asmevo.search import Expense, Hand, stream
from asmevo.store import write_atomic
from asmevo.verdict import EnvironmentError_

NAME = "llm"
"""Strategy name of a model's own attempts, and of the folder in a run's folder."""
SUMMARY = "summary.json"
_HALF = 2
"""A request that was too long for the model is made this many times shorter."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the models did in a run so far."""

    conversations: int
    commits: int
    requests: int
    input_tokens: int
    output_tokens: int
    money: float | None
    """US dollars, at the prices of the configuration; None when a model without a price was asked."""
    seconds: float
    attempts: int
    last: str
    """Why the last conversation ended, or why none was begun."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class LlmDriver:
    """Models as a driver of a search; see `asmevo.search.Driver`.

    Contract: every reply is in the run folder before it is used, and every conversation after each of its steps. All
    choices (window, model, variant) are functions of the run's seed and of what is in the folder. `answers` is given a
    function that says whether to stop waiting.
    """

    def __init__(
        self,
        folder: Path,
        config: LlmConfig,
        launches: Sequence[Launch],
        seed: int,
        answers: Callable[[Callable[[], bool]], Answers],
    ) -> None:
        self._folder, self._config, self._launches, self._seed = folder / NAME, config, launches, seed
        self._record = Record(self._folder)
        self._budget = Budget.of(config)
        for model, outcome in self._record.all():
            self._budget.recall(model, outcome.usage, outcome.seconds)
        for model, most in self._record.unanswered():
            self._budget.charge(model, most)
        self._answered = any(not isinstance(outcome, Failure) for _, outcome in self._record.all())
        self._all = conversations(self._folder)
        self._population = Population.of(self._folder)
        self._hand: Hand | None = None
        self._session: AgentSession | None = None
        self._answers = Recording(answers(self._stop), self._record)
        self._refusal = ""

    @property
    def patience(self) -> int:
        """See `asmevo.search.Driver`."""
        return self._config.habits.patience if self._config.habits.rules else 0

    @property
    def alone(self) -> bool:
        """See `asmevo.search.Driver`."""
        return not self._config.habits.rules

    @property
    def under_way(self) -> bool:
        """See `asmevo.search.Driver`."""
        return any(not c.ended for c in self._all)

    @property
    def expense(self) -> Expense:
        """See `asmevo.search.Driver`. A replay costs what its replies did when they were given."""
        return Expense(self._budget.spent.money, self._config.limits.money, self._refusal)

    def close(self) -> None:
        self._answers.close()

    def turn(self, hand: Hand) -> bool:
        """One round of conversations, to their ends; those that were under way when the run stopped come first."""
        self._hand = hand
        self._count()
        active = [c for c in self._all if not c.ended] or self._begin(hand)
        if active:
            with contextlib.suppress(Stopped):
                self._converse(hand, active)
        write_atomic(self._folder / SUMMARY, json.dumps(self.report().to_json(), indent=1).encode() + b"\n")
        return bool(active)

    def report(self) -> Report:
        spent = self._budget.spent
        last = self._refusal or (self._all[-1].ended if self._all else "no conversation was begun")
        gained = sum(c.gain > 0 for c in self._all)
        return Report(
            len(self._all), gained, spent.requests, spent.input, spent.output, spent.money, spent.seconds,
            spent.attempts, last,
        )  # fmt: skip

    def _stop(self) -> bool:
        return self._hand is not None and self._hand.stop()

    def _toolbox(self, hand: Hand) -> Toolbox:
        if self._session is None:
            self._session = AgentSession(hand.bench, hand.gate, self._launches, driver=NAME)
        return Toolbox(self._session)

    def _count(self) -> None:
        self._budget.count_attempts(sum(c.judged for c in self._all))

    # beginning

    def _begin(self, hand: Hand) -> list[Conversation]:
        """New conversations, one for each island, as far as there are windows; none when there is no more to be had."""
        self._refusal = self._budget.refusal() or self._fruitless(hand)
        if self._refusal:
            return []
        self._evolve(hand)
        toolbox, habits = self._toolbox(hand), self._config.habits
        assert hand.bench.state.best
        toolbox.session.work_on(hand.bench.state.best.ordinal)
        stage = Stage.of(toolbox)
        begun: list[Conversation] = []
        for island, window in enumerate(chosen_windows(stage, self._all, habits.islands, habits.rules)):
            number = len(self._all) + 1
            rng = stream(self._seed, NAME, number)
            models = self._config.models
            model = rng.choices(models, [m.weight for m in models])[0]
            variant = self._population.choose(self._scores(), rng)
            messages, used = first_messages(stage, window, variant.text, habits.attempts)
            request = Request(model.name, messages, tool_specs(Toolbox.tools))
            grant = self._grant(request)
            if isinstance(grant, str):
                self._refusal = grant
                return begun
            self._budget.release(grant)
            ordinal = hand.bench.state.next_ordinal
            brief = Brief(number, island, window["window"], model.name, variant.id, used, ordinal)
            base = toolbox.session.base.ordinal
            conversation = Conversation(self._folder, brief, list(messages), base, base)
            conversation.save()
            self._all.append(conversation)
            begun.append(conversation)
        self._refusal = "" if begun else "no window has a share of the time"
        return begun

    def _fruitless(self, hand: Hand) -> str:
        """Why models are not asked again, when so many conversations since the last commit gave none."""
        habits, commits = self._config.habits, hand.bench.state.commits
        last = commits[-1].attempt if commits else 0
        vain = sum(c.brief.began > last for c in self._all)
        if vain < habits.conversations * habits.islands:
            return ""
        return f"{vain} conversations since the last commit gave none; the last: {self._all[-1].ended}"

    def _scores(self) -> list[Score]:
        return [Score(c.brief.variant, c.gain) for c in self._all if c.ended]

    def _evolve(self, hand: Hand) -> None:
        """A new variant of the advice, when it is time for one."""
        born = max((v.born for v in self._population.made), default=0)
        if len(self._all) - born < self._config.habits.evolve:
            return
        attempts = hand.bench.store.attempts()
        evolve(self._population, self._scores(), len(self._all), attempts, self._ask_alone, self._seed)

    def _ask_alone(self, request: Callable[[str], Request]) -> str:
        """The text of a reply outside of any conversation; empty when there is none."""
        model = stream(self._seed, NAME, "meta", len(self._all)).choice(self._config.models)
        asked = request(model.name)
        grant = self._grant(asked)
        if isinstance(grant, str):
            return ""
        (outcome,) = self._ask([(grant, asked)])
        return "" if isinstance(outcome, Failure) else outcome.text

    # going on

    def _converse(self, hand: Hand, active: list[Conversation]) -> None:
        """Let conversations go on until all have ended: they are asked at the same time and worked on in order."""
        toolbox = _Told(self._toolbox(hand), hand)
        left = _left(hand, self._budget, self._all)
        specs = tool_specs(Toolbox.tools)
        while True:
            for conversation in active:
                self._work(conversation, toolbox, hand, left)
            if hand.stop():
                raise Stopped
            waiting: list[tuple[Conversation, Grant, Request]] = []
            for conversation in active:
                if conversation.ended:
                    continue
                self._catch_up(conversation, hand)
                request = self._request(conversation, toolbox, specs)
                grant = self._grant(request)
                if isinstance(grant, str):
                    conversation.end(grant)
                else:
                    waiting.append((conversation, grant, request))
            if not waiting:
                return
            outcomes = self._ask([(grant, request) for _, grant, request in waiting])
            for (conversation, _, _), outcome in zip(waiting, outcomes, strict=True):
                conversation.hear(outcome, self._config.habits)
            active = [conversation for conversation, _, _ in waiting]

    def _grant(self, request: Request) -> Grant | str:
        """Leave to send a request, and to send it again where that may help."""
        most = self._config.model(request.model).max_output
        return self._budget.grant(request.model, request.size, most, 1 + self._config.habits.retries)

    def _ask(self, wanted: Sequence[tuple[Grant, Request]]) -> list[Reply | Failure]:
        """Ask, and settle what it cost."""
        try:
            outcomes = self._answers.ask([Asked(request, grant.output, grant.tries) for grant, request in wanted])
        except BaseException:
            for grant, _ in wanted:
                self._budget.forfeit(grant)
            raise
        for (grant, request), outcome in zip(wanted, outcomes, strict=True):
            self._budget.settle(grant, outcome.usage, outcome.seconds)
            if isinstance(outcome, Failure):
                self._require_setup(request.model, outcome)
            else:
                self._answered = True
        return outcomes

    def _require_setup(self, model: str, failure: Failure) -> None:
        """Raise for a server that cannot be used at all, when there is nothing else to do."""
        if self.alone and not self._answered and failure.trouble in (Trouble.SETUP, Trouble.CONNECTION):
            raise EnvironmentError_(
                f"Model {model} does not answer ({failure.message}); check that its server runs and that base_url, "
                "name and key are right, then run `asmevo resume`."
            )

    def _work(self, conversation: Conversation, toolbox: _Told, hand: Hand, left: Callable[[], int | None]) -> None:
        """Run the calls that a conversation asked for, on its own base."""
        if conversation.ended or not conversation.pending:
            return
        state, session = hand.bench.state, toolbox.session
        assert state.best
        session.work_on(conversation.base)
        before = state.best.microseconds
        try:
            conversation.work(toolbox, self._config.habits, hand.stop, left)
        finally:
            best = state.best
            conversation.base, conversation.best = session.base.ordinal, best.ordinal
            conversation.gain = 1.0 - (1.0 - conversation.gain) * best.microseconds / before
            conversation.save()
        self._count()
        allowed = left()
        if allowed is not None and allowed <= 0 and not conversation.ended:
            conversation.end("the attempts of the run or of its models are used")

    def _catch_up(self, conversation: Conversation, hand: Hand) -> None:
        """Put a conversation on the best candidate when another one found it."""
        state = hand.bench.state
        assert state.best and state.k0
        if conversation.best != state.best.ordinal:
            conversation.best = conversation.base = state.best.ordinal
            gain = f"{100 * (1 - state.best.microseconds / state.k0.microseconds):.2f} %"
            conversation.tell(prompt("rebase").fill(ordinal=state.best.ordinal, gain=gain))

    def _request(self, conversation: Conversation, toolbox: _Told, specs: tuple[ToolSpec, ...]) -> Request:
        """The next request, its history made short enough for the model."""
        model = self._config.model(conversation.brief.model)
        room = model.context - model.max_output - tools_size(specs)
        if conversation.squeezed:  # the model's context is smaller than was said, or tokens are counted otherwise
            room = min(room, sum(map(size, conversation.messages))) // _HALF
        messages = compacted(conversation.messages, room, lambda: summary_of(conversation, toolbox))
        if messages != tuple(conversation.messages):
            conversation.shorten(messages)
        return Request(model.name, messages, specs)


class _Told:
    """A toolbox that tells the display of every attempt made with it."""

    def __init__(self, toolbox: Toolbox, hand: Hand) -> None:
        self._toolbox, self._hand = toolbox, hand
        self.session = toolbox.session

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        bench = self._hand.bench
        first = bench.state.next_ordinal
        answer = self._toolbox.call(name, arguments)
        commits = {commit.attempt: commit for commit in bench.state.commits}
        for ordinal in range(first, bench.state.next_ordinal):
            self._hand.tell(bench.store.attempt(ordinal), commits.get(ordinal))
        return answer


def _left(hand: Hand, budget: Budget, everything: Sequence[Conversation]) -> Callable[[], int | None]:
    """How many candidates the budgets of the run and of the models still allow, whenever it is asked."""
    began = hand.bench.state.attempts
    judged = sum(c.judged for c in everything)

    def left() -> int | None:
        run = None if hand.attempts is None else hand.attempts - (hand.bench.state.attempts - began)
        models = budget.attempts_left
        models = None if models is None else models - (sum(c.judged for c in everything) - judged)
        return min((limit for limit in (run, models) if limit is not None), default=None)

    return left
