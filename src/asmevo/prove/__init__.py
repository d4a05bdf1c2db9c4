"""Equivalence of code windows for every input."""

from asmevo.prove.blocks import BlockProof, Prover
from asmevo.prove.control import control_registers
from asmevo.prove.taint import tainted_lines

__all__ = ["BlockProof", "Prover", "control_registers", "tainted_lines"]
