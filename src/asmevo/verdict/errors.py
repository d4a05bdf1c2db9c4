"""Errors a user meets. Each message is one sentence that names the cause and what to do."""

from __future__ import annotations


class AsmEvoError(Exception):
    """Base of all errors that end a command with a sentence instead of a traceback."""

    exit_code = 4


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
