"""The account of what ran on the simulated chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asmevo.sim import Execution


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals since the driver was installed. The difference of two is what happened between them."""

    launches: int = 0
    """Launches that ran whole and wrote their results."""
    instructions: int = 0
    """Wave instructions of these launches."""
    estimates: int = 0
    """Launches of which only a few workgroups ran, for a modelled time."""
    kernels: Mapping[str, int] = field(default_factory=dict[str, int])
    """Launches by kernel name."""

    def launched(self, kernel: str, done: Execution) -> Statistics:
        return replace(
            self,
            launches=self.launches + 1,
            instructions=self.instructions + done.instructions,
            kernels={**self.kernels, kernel: self.kernels.get(kernel, 0) + 1},
        )

    def timed(self) -> Statistics:
        return replace(self, estimates=self.estimates + 1)
