"""The gate of a run: as strict as its settings say, whoever goes on with it."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.device import Device
from asmevo.gate import Gate
from asmevo.launch import Launch
from asmevo.search.launches import kernel_of
from asmevo.search.settings import Settings
from asmevo.store import Run, Store


def gate_of(store: Store, launches: Sequence[Launch], device: Device) -> Gate:
    """The gate for candidates of a run. Raises `UsageError` where its launches do not give what its settings need."""
    return gate_for(store.run, store.blobs.get(store.run.k0), launches, device)


def gate_for(run: Run, k0: bytes, launches: Sequence[Launch], device: Device) -> Gate:
    """The same from the object itself, where the folder of the run may not be at hand."""
    inexact = Settings.from_json(run.settings).inexact
    return Gate(k0, launches, device, kernel=kernel_of(launches), inexact=inexact)
