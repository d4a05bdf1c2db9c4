"""A run is bound to what its times come from: a model, or one chip, and the best object that was found there."""

from __future__ import annotations

from asmevo.device import Device, ObjectiveTimer
from asmevo.device.hip import same_chip
from asmevo.store import Store
from asmevo.verdict import UsageError

DEVICE = "device"
"""Kind of the event that says what a run is measured on."""
CONFIRMATIONS = "confirmations"
"""Kind of the event that says how many gains the run has put to a confirmation; the last one holds."""


def bind_to_chip(store: Store, device: Device) -> None:
    """Write down the device of a new measured run.

    Raises `UsageError` when a run was measured on another chip, or has times of another source than the device's.
    """
    recorded = next((event.facts for event in store.events() if event.kind == DEVICE), None)
    facts = device.describe() if recorded is not None or device.source == "measured" else {}
    if recorded is not None and (words := same_chip(recorded, facts)):
        raise UsageError(f"{words}; go on with the run on that chip (`--device hip`), or start a new one.")
    sources = {attempt.source for attempt in store.attempts() if attempt.source}
    if others := sources - {device.source}:
        raise UsageError(
            f"The times of the run are {others.pop()} and those of this device {device.source}, which cannot be "
            "compared; go on with the run on its own device, or start a new one."
        )
    if recorded is None and facts:
        store.event(DEVICE, 0, facts)


def anchor(timer: ObjectiveTimer, store: Store) -> None:
    """Let a timer go on from the best of the stored attempts, if there is one yet, and after their confirmations.

    Raises `UnsupportedError` when the device cannot be believed now.
    """
    spent = [int(event.facts["used"]) for event in store.events() if event.kind == CONFIRMATIONS]
    timer.remember(spent[-1] if spent else 0, lambda used: store.event(CONFIRMATIONS, 0, {"used": used}))
    commits = store.commits()
    if commits:
        best = store.attempt(commits[-1].attempt)
    elif first := store.attempts()[:1]:
        (best,) = first
    else:
        return
    if best.microseconds is not None:
        timer.anchor(store.blobs.get(best.candidate), best.microseconds)
