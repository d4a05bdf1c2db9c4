"""What a verb prints: text for people, or one JSON object for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from asmevo.report import summary_text
from asmevo.search import RunSummary
from asmevo.store import write_atomic
from asmevo.verdict import UsageError, readable

INTERRUPTED = 130
"""Exit code of a search stopped with Ctrl-C."""


def emit(value: Mapping[str, Any], text: Callable[[], str], as_json: bool) -> None:
    """Print the JSON object on one line, or the text."""
    print(json.dumps(_plain(value), ensure_ascii=False) if as_json else readable(text()).rstrip("\n"))


def emit_summary(summary: RunSummary, as_json: bool) -> int:
    """Print what a search found; the exit code says whether it was interrupted."""
    emit(summary.to_json(), lambda: summary_text(summary), as_json)
    return INTERRUPTED if summary.interrupted else 0


def write(path: Path, data: bytes | str) -> None:
    """Write an output file whole, or not at all."""
    write_atomic(path, data.encode() if isinstance(data, str) else data)


def keep_inputs(output: Path, *inputs: Path | None) -> None:
    """Raise `UsageError` where an output would take the place of an input, which would be lost."""
    for path in inputs:
        if path is not None and output.exists() and path.exists() and output.samefile(path):
            raise UsageError(f"{output} is an input of this command, and would be lost; write to another file.")


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null, as an absent figure."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
