"""A worker of a search: its own gate, device and strategies over one K0 and its launches.

Target of `asmevo.device.process.Worker`: `asmevo.search.worker:serve:FOLDER`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from asmevo.device import ObjectiveTimer, simulator
from asmevo.launch import Launch
from asmevo.search.draft import Drafter
from asmevo.search.examination import Examination
from asmevo.search.executor import Station
from asmevo.search.gating import gate_for
from asmevo.search.launches import kernel_of, run_launches
from asmevo.search.settings import Settings
from asmevo.store import Run, Store
from asmevo.strategies import strategies_named
from asmevo.timing import chip
from asmevo.verdict import AsmEvoError

TARGET = "asmevo.search.worker:serve"
MakeStation: TypeAlias = Callable[[], AbstractContextManager[Station]]
"""Makes a station, which has its device until it is left."""


@contextmanager
def station(run: Run, k0: bytes, launches: Sequence[Launch]) -> Generator[Station]:
    """A station for a run, on a simulator of its own."""
    with simulator(run.chip) as device:
        gate = gate_for(run, k0, launches, device)
        timer = ObjectiveTimer(device, launches, kernel=kernel_of(launches))
        examination = Examination(gate.program, gate, timer, time.monotonic)
        strategies = strategies_named(Settings.from_json(run.settings).strategies)
        yield Station(examination, Drafter(gate.program, chip(run.chip), examination.time, strategies))


@contextmanager
def _station_in(folder: Path) -> Generator[Station]:
    """The station of the run in a folder."""
    with Store.open(folder, time.time) as store:
        run, k0, launches = store.run, store.blobs.get(store.run.k0), run_launches(store)
    with station(run, k0, launches) as made:
        yield made


class Desk:
    """Answers requests `(verb, *arguments)` with `("ok", value)` or `("error", class, message)`.

    The station is made for the first of them.
    """

    def __init__(self, make: MakeStation) -> None:
        self._make = make
        self._station: Station | None = None
        self._left = ExitStack()

    def answer(self, verb: str, *arguments: Any) -> tuple[Any, ...]:
        try:
            self._station = self._station or self._left.enter_context(self._make())
            return "ok", getattr(self._station, verb)(*arguments)
        except AsmEvoError as error:
            return "error", type(error), str(error)

    def close(self) -> None:
        """Give up the station and its device."""
        self._left.close()


def serve(connection: Connection, *folder: str) -> None:
    """Answer requests for the run in a folder until the other end closes."""
    desk = Desk(lambda: _station_in(Path(":".join(folder))))
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return desk.close()
        connection.send(desk.answer(*request))
