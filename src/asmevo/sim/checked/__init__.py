"""Checked execution: what is late, racy, unwritten or out of bounds is found where it happens."""

from asmevo.sim.checked.checking import Checking, Span
from asmevo.sim.checked.reads import first_difference

__all__ = ["Checking", "Span", "first_difference"]
