"""AsmEvo: makes AMD GPU kernels that are already compiled faster. Correctness admits, speed ranks."""

__version__ = "0.1.0"
