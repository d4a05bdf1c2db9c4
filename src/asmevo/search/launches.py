"""The launches and the kernel that a stored run is about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmevo.launch import Launch, restore
from asmevo.store import Store
from asmevo.verdict import UsageError


def run_launches(store: Store) -> tuple[Launch, ...]:
    """The launches a run was started with. Raises `InputError` when the data of one has changed or is gone."""
    tables: list[dict[str, Any]] = json.loads(store.blobs.get(store.run.launches))
    return tuple(restore(t["launch"], [Path(f) for f in t["folders"]], str(store.folder)) for t in tables)


def run_kernel(store: Store) -> str | None:
    """The kernel a run is about, None where its object has only one; the launches' data need not be there."""
    tables: list[dict[str, Any]] = json.loads(store.blobs.get(store.run.launches))
    return next((table["launch"].get("kernel") for table in tables), None)


def kernel_of(launches: Sequence[Launch]) -> str | None:
    """The kernel that all launches name. Raises `UsageError` when they name several."""
    names = {launch.kernel for launch in launches}
    if len(names) > 1:
        raise UsageError("The launches are for several kernels; optimize one kernel at a time.")
    return next(iter(names), None)
