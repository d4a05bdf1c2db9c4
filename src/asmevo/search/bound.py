"""A run whose times were measured is bound to the chip that they were measured on."""

from __future__ import annotations

from asmevo.device import Device
from asmevo.device.hip import same_chip
from asmevo.store import Store
from asmevo.verdict import UsageError

DEVICE = "device"
"""Kind of the event that says what a run is measured on."""


def bind_to_chip(store: Store, device: Device) -> None:
    """Write down the device of a new measured run. Raises `UsageError` when a run was measured on another chip."""
    recorded = next((event.facts for event in store.events() if event.kind == DEVICE), None)
    if recorded is None and device.source != "measured":
        return
    facts = device.describe()
    if recorded is None:
        store.event(DEVICE, 0, facts)
    elif words := same_chip(recorded, facts):
        raise UsageError(f"{words}; go on with the run on that chip (`--device hip`), or start a new one.")
