"""Ctrl-C as a wish: the first asks for a clean stop, the second stops at once (and the run still resumes)."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupt:
    """While active, SIGINT and SIGTERM set `wanted`; a second one raises `KeyboardInterrupt`.

    Outside the main thread, where Python allows no signal handlers, it never becomes wanted by itself.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
