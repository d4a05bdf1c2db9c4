"""Hidden kernel arguments: what a runtime adds to the user's own (LLVM AMDGPUUsage, code object v5 metadata)."""

from __future__ import annotations

import struct

from asmevo.codeobject import Argument
from asmevo.launch.values import Launch

_AXES = {"x": 0, "y": 1, "z": 2}


def hidden_value(kind: str, launch: Launch) -> int:
    """The value of a hidden argument of this kind for a launch of whole workgroups.

    Pointers to services (print buffer, host calls, heap, queues) are null: a kernel that uses them cannot be run here.
    """
    name, axis = kind.removeprefix("hidden_"), _AXES.get(kind[-1], 0)
    match name.rstrip("xyz"):
        case "block_count_":
            return launch.grid[axis]
        case "group_size_":
            return launch.block[axis]
        case _:
            pass
    if name == "grid_dims":
        return max((i + 1 for i in range(3) if launch.grid[i] > 1 or launch.block[i] > 1), default=1)
    return launch.dynamic_lds if name == "dynamic_lds_size" else 0


def hidden_bytes(argument: Argument, launch: Launch) -> bytes:
    """The bytes of a hidden argument, little-endian in its declared size."""
    value = hidden_value(argument.kind, launch)
    return struct.pack("<Q", value)[: argument.size].ljust(argument.size, b"\0")
