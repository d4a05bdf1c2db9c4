"""The list of verbs. The module of a verb is imported when it is the one that is run: most need heavy packages."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from asmevo import __version__

VERBS = (
    "inspect",
    "replace",
    "coverage",
    "recover",
    "rebuild",
    "launches",
    "run",
    "debug",
    "compare",
    "repair",
    "profile",
    "calibrate",
    "verify",
    "strength",
    "optimize",
    "resume",
    "fork",
    "replay",
    "transfer",
    "show",
    "install",
    "status",
    "rollback",
    "mcp",
    "capture",
)
"""In the order of the help. Each is the function of that name in the module of that name; `capture` has verbs of its
own in an `app`."""


def app_for(verb: str) -> typer.Typer:
    """The application that a command line which begins with `verb` needs: that verb alone, or all where it is none."""
    app = typer.Typer(
        name="asmevo",
        help="Makes AMD GPU kernels that are already compiled faster. Correctness admits an edit, speed only ranks it.",
        epilog="Exit codes: 0 done (verify: PROVED or TESTED), 1 REFUTED, 2 usage, 3 UNKNOWN, "
        "4 input cannot be handled, 5 environment, 130 interrupted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_verbs)
    for name in (verb,) if verb in VERBS else VERBS:
        module = import_module(f"asmevo.cli.{name}")
        if name == "capture":
            app.add_typer(module.app, name=name)
        else:
            app.command()(getattr(module, name))
    return app


def _print_version(asked: bool) -> None:
    if asked:
        print(f"asmevo {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
]


def _verbs(version: _Version = False) -> None:
    """Without a callback, typer takes the only verb of an application for the application itself."""
