"""The gate of a run: as strict as its settings say, whoever goes on with it."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.device import Device
from asmevo.gate import Gate
from asmevo.launch import Launch
from asmevo.search.launches import kernel_of
from asmevo.search.settings import Settings
from asmevo.store import Store


def gate_of(store: Store, launches: Sequence[Launch], device: Device) -> Gate:
    """The gate for candidates of a run. Raises `UsageError` where its launches do not give what its settings need."""
    inexact = Settings.from_json(store.run.settings).inexact
    return Gate(store.blobs.get(store.run.k0), launches, device, kernel=kernel_of(launches), inexact=inexact)
