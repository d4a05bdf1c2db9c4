"""Errors a user meets. Each message is one sentence that names the cause and what to do."""

from __future__ import annotations

from collections.abc import Sequence


class AsmEvoError(Exception):
    """Base of all errors that end a command with a sentence instead of a traceback."""

    exit_code = 4


_NAMED = 8
"""Names that a sentence lists before it counts the others."""


def names_text(names: Sequence[str]) -> str:
    """Names for a sentence, comma-separated; of many the first ones, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more, which `asmevo inspect` lists" if more > 0 else "")


class UsageError(AsmEvoError):
    """The command line or an argument is wrong."""

    exit_code = 2


class UnsupportedError(AsmEvoError):
    """Evidence cannot be had: an opcode without a row, a form that is not modelled. Ends as UNKNOWN."""

    exit_code = 3


class InputError(AsmEvoError):
    """An input file cannot be handled: truncated, foreign, another target, a launch that does not fit."""

    exit_code = 4


class EnvironmentError_(AsmEvoError):
    """The machine lacks something: LLVM, a device, disk space."""

    exit_code = 5
