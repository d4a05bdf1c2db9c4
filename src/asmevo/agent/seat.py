"""A seat for clients: one session in a thread of its own, for servers whose clients come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from asmevo.agent.answer import Answer
from asmevo.agent.session import AgentSession
from asmevo.agent.tools import Toolbox

OPENING = "putting the original through the gate"
WAITING = "waiting for its turn, or thinking about the program"


class Seat:
    """Runs the calls of all clients one after the other, in the thread that opened the session.

    A call whose client has gone is carried out all the same, so its result is in the run. Opening takes as long as the
    gate takes on K0; calls wait for it, and give its error if it failed.
    """

    def __init__(self, open_session: Callable[[], AgentSession]) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session")
        self._session: AgentSession | None = None
        self._opened: Future[Toolbox] = self._thread.submit(self._open, open_session)

    def _open(self, open_session: Callable[[], AgentSession]) -> Toolbox:
        self._session = open_session()
        return Toolbox(self._session)

    def submit(self, name: str, arguments: Mapping[str, Any]) -> Future[Answer]:
        """Call a tool. The future raises `EnvironmentError_`, and what opening the session raised."""
        return self._thread.submit(lambda: self._opened.result().call(name, arguments))

    @property
    def doing(self) -> str:
        """What goes on now, in a few words."""
        session = self._session
        return OPENING if session is None else session.busy.what or WAITING

    def close(self) -> None:
        """Wait for what is under way, write the result where it is not written yet, and give up the run."""
        closing = self._thread.submit(self._close)
        self._thread.shutdown()
        closing.result()

    def _close(self) -> None:
        if self._session is None:
            return
        try:
            if not self._session.is_written:
                self._session.finish("the server was stopped")
        finally:
            self._session.close()
