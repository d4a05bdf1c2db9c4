"""From arguments to an exit code: the one place where errors become a sentence on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from typer import Exit
from typer.exceptions import TyperException

from asmevo.cli.app import app_for
from asmevo.cli.output import INTERRUPTED
from asmevo.store import disk
from asmevo.verdict import AsmEvoError, EnvironmentError_, UsageError, readable


def main() -> NoReturn:
    """Entry point of the installed command."""
    code = run()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, 1 refuted, 2 usage, 3 unknown, 4 the input cannot be handled, 5 environment, 130 interrupted. What went
    wrong is one sentence on stderr. Only a defect of AsmEvo itself leaves as an exception.
    """
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        code = app_for(words[0] if words else "")(args=words, prog_name="asmevo", standalone_mode=False)
        sys.stdout.flush()  # a full disk shows here, not after the last chance to say so
    except AsmEvoError as error:
        return _fail(str(error), error.exit_code)
    except TyperException as error:
        return _usage(error.format_message())
    except (BrokenPipeError, SystemExit):  # typer exits itself when the reader of a pipe has gone
        _silence_stdout()
        return EnvironmentError_.exit_code
    except OSError as error:
        _silence_stdout()
        return _fail(_sentence(error), EnvironmentError_.exit_code)
    except (KeyboardInterrupt, Exit):
        return INTERRUPTED
    return code or 0


def _usage(message: str) -> int:
    """What typer says of a command line, as one sentence; it has nothing to say when it printed the help already."""
    if message:
        end = " See" if message.endswith("?") else "; see"
        return _fail(f"{message.rstrip('.')}{end} `asmevo --help`.", UsageError.exit_code)
    return UsageError.exit_code


def _sentence(error: OSError) -> str:
    try:
        with disk(Path(str(error.filename or "the output"))):
            raise error
    except EnvironmentError_ as named:
        return str(named)


def _fail(sentence: str, code: int) -> int:
    print(f"asmevo: {readable(sentence)}", file=sys.stderr)
    return code


def _silence_stdout() -> None:
    """Nothing more can be written there; without this the interpreter would complain on its way out."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout without a descriptor, as tests have
        return
