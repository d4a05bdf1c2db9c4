"""A worker process of a search: its own gate, device and strategies over the K0 and the launches of a run.

Target of `asmevo.device.process.Worker`: `asmevo.search.worker:serve:FOLDER`.
"""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from asmevo.device import Device, ObjectiveTimer, simulator
from asmevo.search.draft import Drafter
from asmevo.search.examination import Examination
from asmevo.search.executor import Station
from asmevo.search.gating import gate_of
from asmevo.search.launches import kernel_of, run_launches
from asmevo.search.settings import Settings
from asmevo.store import Store
from asmevo.strategies import strategies_named
from asmevo.timing import chip
from asmevo.verdict import AsmEvoError

TARGET = "asmevo.search.worker:serve"


def station_of(store: Store, device: Device) -> Station:
    """A station for the run of a store, on a device."""
    launches = run_launches(store)
    kernel = kernel_of(launches)
    gate = gate_of(store, launches, device)
    examination = Examination(gate.program, gate, ObjectiveTimer(device, launches, kernel=kernel), time.monotonic)
    strategies = strategies_named(Settings.from_json(store.run.settings).strategies)
    return Station(examination, Drafter(gate.program, chip(store.run.chip), examination.time, strategies))


def serve(connection: Connection, *folder: str) -> None:
    """Answer requests `(verb, *arguments)` with `("ok", value)` or `("error", class, message)` until the end closes."""
    with Store.open(Path(":".join(folder)), time.time) as store, simulator(store.run.chip) as device:
        station: Station | None = None
        while True:
            try:
                verb, *arguments = connection.recv()
            except EOFError:
                return
            try:
                station = station or station_of(store, device)
                connection.send(("ok", _answer(station, verb, arguments)))
            except AsmEvoError as error:
                connection.send(("error", type(error), str(error)))


def _answer(station: Station, verb: str, arguments: list[Any]) -> Any:
    return station.draft(*arguments) if verb == "draft" else station.examine(*arguments)
