"""Running a Python program with its Triton kernels recorded: the child's side of `asmevo capture triton`.

Run as `python -m asmevo.triton.capture OPTIONS SCRIPT [ARGUMENTS]`, where OPTIONS is a JSON object with `out`,
`kernels`, `limit`, `rocm` and `summary`, the file in which the parent finds what happened.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmevo.triton import upstream
from asmevo.triton.installation import uninstall
from asmevo.triton.recorder import Recorder


def main(arguments: Sequence[str]) -> None:
    """Run the program as `python SCRIPT ARGUMENTS` would. What it raises goes on, after the counts are written."""
    options: dict[str, Any] = json.loads(arguments[0])
    script = arguments[1]
    if options["rocm"]:
        uninstall()
    Path(options["out"]).mkdir(parents=True, exist_ok=True)
    recorder = Recorder(Path(options["out"]), frozenset(options["kernels"]), options["limit"])
    recorder.attach(upstream.driver.active)
    sys.argv = list(arguments[1:])
    sys.path[0] = str(Path(script).resolve().parent)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        recorder.finish()
        Path(options["summary"]).write_text(json.dumps(summary(recorder)))


def summary(recorder: Recorder) -> dict[str, Any]:
    """What was recorded, as plain values."""
    kinds = [
        {"kernel": k.kernel, "folder": None if k.folder is None else str(k.folder), "occurrences": k.count}
        for k in recorder.kinds
    ]
    return {"dispatches": kinds, "launches": recorder.seen}


if __name__ == "__main__":
    main(sys.argv[1:])
