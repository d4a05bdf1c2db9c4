"""Equivalence of code windows for every input."""

from asmevo.prove.addresses import address_slot
from asmevo.prove.ahead import guarding_descriptor
from asmevo.prove.blocks import BlockProof, Prover
from asmevo.prove.steering import selects, selects_by_data, steering_registers, steering_units
from asmevo.prove.taint import dependents, tainted_lines

__all__ = [
    "BlockProof",
    "Prover",
    "address_slot",
    "dependents",
    "guarding_descriptor",
    "selects",
    "selects_by_data",
    "steering_registers",
    "steering_units",
    "tainted_lines",
]
