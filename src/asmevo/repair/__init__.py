"""Repair of races through LDS: barriers that take interleavings away and add none."""

from asmevo.repair.places import Place
from asmevo.repair.repair import Repair, repair

__all__ = ["Place", "Repair", "repair"]
