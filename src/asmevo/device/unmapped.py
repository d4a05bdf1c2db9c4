"""Accesses of memory that a launch with fixed addresses does not hold."""

from __future__ import annotations

from asmevo.launch import DeviceMemory, MemoryImage
from asmevo.launch.window import Extent
from asmevo.sim import Execution
from asmevo.verdict import Finding

RULE = "device.unmapped"
_RANGES = "ranges"


def fault_of(memory: MemoryImage | DeviceMemory, done: Execution) -> tuple[str, Finding | None]:
    """How a run ended, and its fault: also one that only shows in pages that were used and that no buffer has.

    After such an access the run went on with zeros, so whatever else it ended with says nothing.
    """
    strays = memory.strays() if isinstance(memory, DeviceMemory) else ()
    if not strays:
        return done.status, done.fault
    first = strays[0].address
    more = f" and in {len(strays) - 1} other places" if len(strays) > 1 else ""
    message = f"The kernel accesses memory at or after 0x{first:x}{more}, which the launch does not hold."
    facts = {"address": first, _RANGES: [[e.address, e.size] for e in strays]}
    return "fault", Finding(RULE, message, facts=facts)


def missing(finding: Finding | None) -> tuple[Extent, ...]:
    """The pages that such a finding names; none for another finding."""
    if finding is None or finding.rule != RULE:
        return ()
    return tuple(Extent(address, size) for address, size in finding.facts[_RANGES])
