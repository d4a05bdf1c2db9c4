"""Strategies: proposers of edits. They know the machine's rules, and nothing of the gate."""

from asmevo.strategies.bench import copies_of, headroom
from asmevo.strategies.catalogue import INEXACT, STRATEGIES, strategies_named
from asmevo.strategies.context import Analyses, Analyst, Context
from asmevo.strategies.proposal import Proposal, Strategy
from asmevo.strategies.transfer import Pattern, Transfer

__all__ = [
    "INEXACT",
    "STRATEGIES",
    "Analyses",
    "Analyst",
    "Context",
    "Pattern",
    "Proposal",
    "Strategy",
    "Transfer",
    "copies_of",
    "headroom",
    "strategies_named",
]
