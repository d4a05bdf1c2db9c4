"""The account of what ran on the simulated chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asmevo.sim import Execution


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals since the driver was installed, or between two moments."""

    launches: int = 0
    """Launches that ran whole and wrote their results."""
    instructions: int = 0
    """Wave instructions of these launches."""
    estimates: int = 0
    """Launches of which only a few workgroups ran, for a modelled time."""
    kernels: Mapping[str, int] = field(default_factory=dict[str, int])
    """Launches by kernel name."""

    def since(self, earlier: Statistics) -> Statistics:
        """What happened after an earlier moment."""
        kernels = {name: count - earlier.kernels.get(name, 0) for name, count in self.kernels.items()}
        return Statistics(
            self.launches - earlier.launches,
            self.instructions - earlier.instructions,
            self.estimates - earlier.estimates,
            {name: count for name, count in kernels.items() if count},
        )

    def launched(self, kernel: str, done: Execution) -> Statistics:
        return replace(
            self,
            launches=self.launches + 1,
            instructions=self.instructions + done.instructions,
            kernels={**self.kernels, kernel: self.kernels.get(kernel, 0) + 1},
        )

    def timed(self) -> Statistics:
        return replace(self, estimates=self.estimates + 1)
