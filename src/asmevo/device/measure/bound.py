"""The least time that a launch can take: what is faster was not measured rightly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SLACK = 0.98
"""Clocks of devices and of data sheets are this exact."""


@dataclass(frozen=True, slots=True)
class LeastTime:
    """Work that certainly has to be done, over the most that the chip can do.

    Bytes are those that the launch is known to change, so a kernel cannot go around them; the bandwidth is that of the
    fastest memory that could hold them.
    """

    bytes_written: float = 0.0
    flops: float = 0.0
    """Of matrix instructions that were executed."""
    peak_bytes: float = float("inf")
    """A second."""
    peak_flops: float = float("inf")
    """A second."""

    @property
    def microseconds(self) -> float:
        return 1e6 * max(self.bytes_written / self.peak_bytes, self.flops / self.peak_flops)

    def objection(self, microseconds: float, floor: float) -> str:
        """Words for why this time cannot be; empty where it can.

        `floor` is the time of the same launches of a kernel that does nothing.
        """
        if not microseconds > 0:
            return f"a time of {microseconds:g} us is none"
        if microseconds < SLACK * self.microseconds:
            return f"{microseconds:.2f} us is less than the {self.microseconds:.2f} us that the chip needs at its peak"
        if microseconds < SLACK * floor:
            return f"{microseconds:.2f} us is less than the {floor:.2f} us of a kernel that does nothing"
        return ""

    def to_json(self) -> dict[str, Any]:
        return {"bytes_written": self.bytes_written, "flops": self.flops, "microseconds": self.microseconds}
