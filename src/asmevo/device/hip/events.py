"""Times by the GPU's own clock."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from asmevo.device.hip.binding import Runtime


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Two events around whatever is enqueued between them."""

    runtime: Runtime
    begin: ctypes.c_void_p
    end: ctypes.c_void_p

    @classmethod
    def make(cls, runtime: Runtime) -> Stopwatch:
        events = ctypes.c_void_p(), ctypes.c_void_p()
        for event in events:
            runtime.call("hipEventCreate", ctypes.byref(event))
        return cls(runtime, *events)

    def time(self, work: Callable[[], None]) -> float:
        """Microseconds until all that `work` enqueued is complete, with everything it wrote. Waits for it."""
        self.runtime.call("hipDeviceSynchronize")
        self.runtime.call("hipEventRecord", self.begin, None)
        work()
        self.runtime.call("hipEventRecord", self.end, None)
        self.runtime.call("hipEventSynchronize", self.end)
        milliseconds = ctypes.c_float()
        self.runtime.call("hipEventElapsedTime", ctypes.byref(milliseconds), self.begin, self.end)
        return 1e3 * milliseconds.value
