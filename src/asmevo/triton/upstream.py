"""What this package takes from Triton. Triton has no type stubs, so its modules are `Any` here and nowhere else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

testing: Any = import_module("triton.testing")
driver: Any = import_module("triton.runtime.driver").driver
"""Holds the active driver of the process."""
allocation: Any = import_module("triton.runtime._allocation")
"""Scratch memory that users provide with `triton.set_allocator`."""

_backends: Any = import_module("triton.backends.driver")
decompose_descriptor: Any = _backends.decompose_descriptor
expand_signature: Any = _backends.expand_signature
handle_descriptors: Any = _backends.wrap_handle_tensordesc_impl
GPUTarget: Any = import_module("triton.backends.compiler").GPUTarget
