"""What holds a window up, from its profile, and the playbooks that are about just that."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from asmevo.timing import Cause


class Bottleneck(StrEnum):
    """Classes of bottleneck; each has a prompt `playbook_<class>`."""

    MEMORY_LATENCY = "memory_latency"
    MFMA_ISSUE = "mfma_issue"
    LDS_CONFLICTS = "lds_conflicts"
    BARRIER = "barrier"
    VALU_ISSUE = "valu_issue"
    OCCUPANCY = "occupancy"


SHOWS = 0.10
"""Share of a window's time from which a class shows."""
MOST = 2
"""Playbooks that are fed at most: the rest would only be read past."""
FEW_WAVES = 2.0
"""Waves of a SIMD up to which there is nobody to hide a latency behind."""

_CAUSES: Mapping[Bottleneck, tuple[Cause, ...]] = {
    Bottleneck.MEMORY_LATENCY: (Cause.VMCNT, Cause.VMEM),
    Bottleneck.MFMA_ISSUE: (Cause.MFMA, Cause.MFMA_DEPENDENCY),
    Bottleneck.LDS_CONFLICTS: (Cause.LDS_CONFLICT, Cause.LDS, Cause.LGKMCNT),
    Bottleneck.BARRIER: (Cause.BARRIER,),
    Bottleneck.VALU_ISSUE: (Cause.VALU, Cause.VALU_DEPENDENCY, Cause.NOP),
}
_BOUNDS: Mapping[str, Bottleneck] = {
    "mfma": Bottleneck.MFMA_ISSUE,
    "valu": Bottleneck.VALU_ISSUE,
    "issue": Bottleneck.VALU_ISSUE,
    "lds": Bottleneck.LDS_CONFLICTS,
    "l1": Bottleneck.MEMORY_LATENCY,
    "memory": Bottleneck.MEMORY_LATENCY,
}
_LATENCIES = (Bottleneck.MEMORY_LATENCY, Bottleneck.LDS_CONFLICTS)


def bottlenecks(window: Mapping[str, Any], waves_per_simd: float | None) -> tuple[Bottleneck, ...]:
    """The classes that a window shows, the heaviest first, at most `MOST`.

    `window` is what the tool `windows` says of it: `idle`, shares of its time by cause, and `bound`, what limits an
    ideal order. Where nothing stalls it, the unit it is bound by decides.
    """
    idle: Mapping[str, float] = window["idle"]
    weight = {kind: sum(idle.get(cause.value, 0.0) for cause in causes) for kind, causes in _CAUSES.items()}
    shown = sorted((kind for kind in weight if weight[kind] >= SHOWS), key=lambda kind: (-weight[kind], kind))
    if not shown and window["bound"] in _BOUNDS:
        shown = [_BOUNDS[window["bound"]]]
    if waves_per_simd is not None and waves_per_simd <= FEW_WAVES and shown and shown[0] in _LATENCIES:
        shown.insert(1, Bottleneck.OCCUPANCY)
    return tuple(shown[:MOST])
