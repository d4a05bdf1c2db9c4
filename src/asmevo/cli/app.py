"""The list of verbs."""

from __future__ import annotations

import typer

from asmevo.cli import capture
from asmevo.cli.compare import compare
from asmevo.cli.coverage import coverage
from asmevo.cli.debug import debug
from asmevo.cli.fork import fork
from asmevo.cli.inspect import inspect
from asmevo.cli.install import install
from asmevo.cli.launches import launches
from asmevo.cli.mcp import mcp
from asmevo.cli.optimize import optimize
from asmevo.cli.profile import profile
from asmevo.cli.rebuild import rebuild
from asmevo.cli.recover import recover
from asmevo.cli.replace import replace
from asmevo.cli.replay import replay
from asmevo.cli.resume import resume
from asmevo.cli.rollback import rollback
from asmevo.cli.run import run
from asmevo.cli.show import show
from asmevo.cli.status import status
from asmevo.cli.strength import strength
from asmevo.cli.transfer import transfer
from asmevo.cli.verify import verify

app = typer.Typer(
    name="asmevo",
    help="Makes AMD GPU kernels that are already compiled faster. Correctness admits an edit, speed only ranks it.",
    epilog="Exit codes: 0 done (verify: PROVED or TESTED), 1 REFUTED, 2 usage, 3 UNKNOWN, "
    "4 input cannot be handled, 5 environment, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for verb in (
    inspect,
    replace,
    coverage,
    recover,
    rebuild,
    launches,
    run,
    debug,
    compare,
    profile,
    verify,
    strength,
    optimize,
    resume,
    fork,
    replay,
    transfer,
    show,
    install,
    status,
    rollback,
    mcp,
):
    app.command()(verb)
app.add_typer(capture.app, name="capture")
