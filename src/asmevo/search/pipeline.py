"""Proposals under way: drafted in slots, stored, examined side by side, and learned in the order of proposal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from asmevo.search.examination import Examined
from asmevo.search.executor import Executor, Ticket
from asmevo.search.request import Draft, Edits, Graft, Request, request_for
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, Commit

AGAIN = 3
"""Drafts of one slot that came out the same as something under way, after which the slot makes no attempt."""


@dataclass(slots=True)
class _Flight:
    """One slot under way."""

    slot: int
    request: Request | None = None
    draft: Ticket[Draft | None] | None = None
    attempt: Attempt | None = None
    """What it tries, stored already."""
    examination: Ticket[Examined] | None = None
    recorded: bool = False
    """It was finished by an earlier process."""
    settled: bool = False
    """It has its attempt, or has none."""

    @property
    def ready(self) -> bool:
        """It can be learned."""
        examined = self.examination is not None and self.examination.done()
        return self.settled and (self.attempt is None or self.recorded or examined)

    def pending(self) -> Ticket[Draft | None] | Ticket[Examined] | None:
        """What it waits for."""
        return self.examination if self.settled else self.draft


class Pipeline:
    """Keeps a fixed number of proposals under way.

    Contract: slot s is asked for with exactly what was learned of slots up to s - ahead; attempts are stored in the
    order of slots before they are examined, and learned in that order. So what is tried does not depend on how many
    workers there are, on how fast they are, and on what an earlier process had finished.
    """

    def __init__(
        self, bench: Workbench, executor: Executor, recorded: Iterable[Attempt], *, verify: bool = False
    ) -> None:
        """`recorded` are the attempts of earlier processes. With `verify` they are drawn again and compared."""
        self.verified, self.difference = 0, ""
        """How many came out the same, and the first that did not."""
        self._verify = verify
        self._bench, self._state, self._executor = bench, bench.state, executor
        self._recorded = deque(recorded)
        self._known = {a.slot: a for a in self._recorded if a.slot is not None}
        self._last = max(self._known, default=-1)
        self._flights: deque[_Flight] = deque()
        self._candidates: dict[int, str] = {slot: a.candidate for slot, a in self._known.items()}
        """By slot, what it tried; a slot is not asked for what those tried that it does not know the results of."""
        self._edits: dict[int, Edits] = {0: ()}
        self._next = 0
        self._ordinal = max(self._state.next_ordinal, *(a.ordinal + 1 for a in self._recorded), 1)

    @property
    def replaying(self) -> bool:
        """Attempts of an earlier process are left to learn."""
        return bool(self._recorded)

    @property
    def replaying_slots(self) -> bool:
        """Slots of an earlier process are left to learn."""
        return any(attempt.slot is not None for attempt in self._recorded)

    @property
    def empty(self) -> bool:
        """Nothing is under way, and nothing recorded is left to learn."""
        return not self._flights and not self._recorded

    @property
    def drained(self) -> bool:
        """No slot is open."""
        return not self._flights

    def learn_others(self, until: int | None) -> None:
        """Learn the recorded attempts that come next and are no slot's, up to an ordinal: a driver made them."""
        while self._recorded and self._recorded[0].slot is None:
            if until is not None and self._recorded[0].ordinal > until:
                return
            self._learn_recorded()

    def skip_ordinals(self) -> None:
        """Others have made attempts."""
        self._ordinal = self._state.next_ordinal

    def fill(self) -> None:
        """Open slots until as many are under way as shall be."""
        while len(self._flights) < self._state.settings.ahead:
            self._open()

    def _open(self) -> None:
        flight = _Flight(self._next)
        self._next += 1
        self._flights.append(flight)
        if self._verify and flight.slot <= self._last and not self.difference:
            self._compare(flight.slot)
        if flight.slot in self._known:
            flight.attempt, flight.recorded, flight.settled = self._known[flight.slot], True, True
        elif flight.slot <= self._last or self._state.island_of(flight.slot).dry:
            flight.settled = True
        else:
            flight.request = self._request(flight.slot, self._ordinal - 1)

    def _request(self, slot: int, last: int) -> Request:
        return request_for(self._state, slot, last, self.edits, self._graft)

    def _compare(self, slot: int) -> None:
        """Draw a recorded slot again."""
        then = self._known.get(slot)
        last = then.ordinal - 1 if then else max((a.ordinal for s, a in self._known.items() if s < slot), default=0)
        now: Draft | None = None
        if not self._state.island_of(slot).dry:
            request, again = self._request(slot, last), 0
            taken = self._taken(slot)
            now = self._executor.draft(request).result()
            while now is not None and now.candidate in taken and again + 1 < AGAIN:
                again += 1
                request = replace(request, again=again, candidates=request.candidates | taken)
                now = self._executor.draft(request).result()
            if now is not None and now.candidate in taken:
                now = None
        if then is None and now is None:
            return
        if then is None or now is None or _drawn(then) != _drawn(now):
            self.difference = f"slot {slot} is drawn as {now and now.note!r}, and was {then and then.note!r}"
        else:
            self.verified += 1

    def _taken(self, slot: int) -> frozenset[str]:
        """What was tried in slots whose results this one is drawn without."""
        since = range(slot - self._state.settings.ahead, slot)
        return frozenset(c for n in since if (c := self._candidates.get(n)))

    def step(self, interrupted: Callable[[], bool]) -> tuple[Attempt, Commit | None, bool] | None:
        """Go on until one attempt is finished and learned; None when the slots under way make none, or no longer may.

        Returns the attempt, the commit it is, and whether an earlier process had finished it.
        """
        if self._recorded and (self._recorded[0].slot is None or not self._flights):
            return self._learn_recorded()
        while self._flights:
            head = self._flights[0]
            if head.ready:
                self._flights.popleft()
                if head.attempt is None:
                    self._state.skip(head.slot + 1)
                    return None
                return self._learn(head)
            if interrupted():
                break
            self._advance()
            if head.ready:
                continue
            waiting = [t for f in self._flights if (t := f.pending()) is not None and not t.done()]
            if not waiting:
                break  # the budget lets nothing more begin
            self._executor.wait(waiting)
        self._flights.clear()
        return None

    def _learn_recorded(self) -> tuple[Attempt, Commit | None, bool]:
        attempt = self._recorded.popleft()
        commit = self._state.commit_of(attempt)
        self._bench.learn(attempt)
        return attempt, commit, True

    def _learn(self, flight: _Flight) -> tuple[Attempt, Commit | None, bool]:
        if flight.recorded:
            return self._learn_recorded()
        assert flight.attempt is not None and flight.examination is not None
        done, commit = self._bench.finish(flight.attempt, flight.examination.result())
        return done, commit, False

    def _advance(self) -> None:
        """Ask for drafts as far as the budget goes, and settle those that are there, in order."""
        budget = self._state.settings.attempts
        free = None if budget is None else budget - self._state.attempts
        for flight in self._flights:
            if free is not None and free <= 0:
                break
            if not flight.settled and flight.draft is None and flight.request is not None:
                flight.draft = self._executor.draft(flight.request)
            if flight.attempt is not None or not flight.settled:
                free = None if free is None else free - 1
        for flight in self._flights:
            if flight.settled:
                continue
            if flight.draft is None or not flight.draft.done() or not self._settle(flight, flight.draft):
                return

    def _settle(self, flight: _Flight, ticket: Ticket[Draft | None]) -> bool:
        """Store the attempt of a draft and have it examined; whether the slot is settled now."""
        draft, request = ticket.result(), flight.request
        assert request is not None
        taken = self._taken(flight.slot)
        same = draft is not None and draft.candidate in taken
        if same and request.again + 1 < AGAIN:
            flight.request = replace(request, again=request.again + 1, candidates=request.candidates | taken)
            flight.draft = self._executor.draft(flight.request)
            return False
        flight.settled, flight.request, flight.draft = True, None, None
        if draft is None or same:
            return True
        flight.attempt = self._attempt(flight.slot, draft)
        self._candidates[flight.slot] = draft.candidate
        self._bench.store.begin(flight.attempt)
        edits = (*self.edits(draft.parent), *draft.edits)
        flight.examination = self._executor.examine(edits, draft.candidate)
        return True

    def _attempt(self, slot: int, draft: Draft) -> Attempt:
        self._ordinal += 1
        return Attempt(
            ordinal=self._ordinal - 1,
            parent=draft.parent,
            strategy=draft.strategy,
            note=draft.note,
            edits=draft.edits,
            candidate=draft.candidate,
            island=self._state.island_of(slot).number,
            slot=slot,
            block=draft.block,
            window=draft.window,
            draws=draft.draws,
        )

    def edits(self, ordinal: int) -> Edits:
        """All edits from K0 to an attempt."""
        if ordinal not in self._edits:
            steps = self._bench.store.chain(ordinal)
            self._edits[ordinal] = tuple(edit for step in steps for edit in step.edits)
        return self._edits[ordinal]

    def _graft(self, ordinal: int) -> Graft:
        attempt = self._bench.store.attempt(ordinal)
        return Graft(ordinal, attempt.edits, attempt.note)


def _drawn(made: Attempt | Draft) -> tuple[object, ...]:
    """What a draft decides."""
    return (made.parent, made.strategy, made.note, made.edits, made.candidate, made.block, made.window, made.draws)
