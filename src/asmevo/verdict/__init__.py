"""Verdicts, findings and errors: the values that every other package may use."""

from asmevo.verdict.errors import (
    AsmEvoError,
    EnvironmentError_,
    InputError,
    UnsupportedError,
    UsageError,
    names_text,
)
from asmevo.verdict.evidence import Check, Finding, Severity
from asmevo.verdict.text import number, readable, shown, whole
from asmevo.verdict.verdict import Verdict, weakest

__all__ = [
    "AsmEvoError",
    "Check",
    "EnvironmentError_",
    "Finding",
    "InputError",
    "Severity",
    "UnsupportedError",
    "UsageError",
    "Verdict",
    "names_text",
    "number",
    "readable",
    "shown",
    "weakest",
    "whole",
]
