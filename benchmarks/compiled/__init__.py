"""Kernels that the benchmark of the simulator runs, compiled by Triton; `build.py` makes them again."""
