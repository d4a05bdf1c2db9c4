"""What the `e_flags` of a code object and the names of bundle entries say of their target.

Source: LLVM `AMDGPUUsage`, "AMDGPU e_flags" (`EF_AMDGPU_MACH` and the feature selection of code object version 4 and
later).
"""

from __future__ import annotations

from asmevo.targets import MACHINES

_FEATURES = (("xnack", 8), ("sramecc", 10))
_SETTINGS = ("unsupported", "any", "off", "on")


def target_of(e_flags: int) -> str:
    """The target that `e_flags` name: `gfx942`, `gfx9-4-generic`, or `machine 0x..` for an unknown number."""
    machine = e_flags & 0xFF
    return MACHINES.get(machine, f"machine 0x{machine:x}")


def features_of(e_flags: int) -> dict[str, str]:
    """Feature to `unsupported`, `any`, `off` or `on`."""
    return {name: _SETTINGS[e_flags >> shift & 3] for name, shift in _FEATURES}


def target_id(e_flags: int) -> str:
    """The target with the features it is fixed to, as offload bundles spell it: `gfx90a:sramecc+:xnack-`."""
    features = features_of(e_flags)
    signs = {"on": "+", "off": "-"}
    fixed = [f":{name}{signs[features[name]]}" for name in ("sramecc", "xnack") if features[name] in signs]
    return target_of(e_flags) + "".join(fixed)


def triple_target(triple: str) -> str:
    """The target in a bundle entry's name such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`; empty for the host's."""
    processor = triple.rpartition("-amdhsa-")[2] if "-amdhsa-" in triple else ""
    return processor.lstrip("-").partition(":")[0]
