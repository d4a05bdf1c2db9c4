"""Access to the fields of native structures from IR builders."""

from __future__ import annotations

from asmevo.sim.ir import Builder
from asmevo.sim.layout import SLOT, WAVE, WORKER


def wave_field(b: Builder, state: str, name: str) -> str:
    """Load a field of a wave's state."""
    field = WAVE[name]
    return b.load(field.type, b.at(state, field.offset), 4)


def set_wave_field(b: Builder, state: str, name: str, value: str) -> None:
    field = WAVE[name]
    b.store(field.type, value, b.at(state, field.offset), 4)


def worker_field(b: Builder, worker: str, name: str) -> str:
    """Load a field of a worker's context."""
    field = WORKER[name]
    return b.load(field.type, b.at(worker, field.offset), 4)


def set_worker_field(b: Builder, worker: str, name: str, value: str) -> None:
    field = WORKER[name]
    b.store(field.type, value, b.at(worker, field.offset), 4)


def slot_field(b: Builder, slot: str, name: str) -> str:
    """Load a field of a resident workgroup's slot."""
    field = SLOT[name]
    return b.load(field.type, b.at(slot, field.offset), 4)


def set_slot_field(b: Builder, slot: str, name: str, value: str) -> None:
    field = SLOT[name]
    b.store(field.type, value, b.at(slot, field.offset), 4)
