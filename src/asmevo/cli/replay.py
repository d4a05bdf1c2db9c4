"""`asmevo replay`: make a recorded run again and compare."""

from __future__ import annotations

from dataclasses import asdict

from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, RunFolder
from asmevo.device import simulator
from asmevo.search import replay as again
from asmevo.search import run_settings
from asmevo.verdict import Verdict


def replay(run: RunFolder, json: Json = False) -> int:
    """Make a recorded run again, offline: every object from its edits, and every proposal from what was known then.

    Exit code 1 at a difference.
    """
    with simulator(run_settings(run)[0]) as device:
        done = again(run, device)
    facts = asdict(done) | {"same": not done.difference}
    text = (
        f"{done.rebuilt} objects built again, {done.attempts} attempts drawn again, {done.left_out} left out: "
        f"{done.difference or 'all the same'}"
    )
    emit(facts, lambda: text, json)
    return Verdict.REFUTED.exit_code if done.difference else 0
