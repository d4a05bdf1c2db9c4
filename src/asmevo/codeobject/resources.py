"""What a kernel asks the hardware for: the same facts in its descriptor and in its metadata, changed together.

Source: LLVM `AMDGPUUsage`, "Kernel Descriptor" and "Code Object Metadata"; `AMDGPUAsmPrinter.cpp` for what the counts
include.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from asmevo.codeobject.descriptor import Descriptor

_ACCUM_GRANULE = 4
_PLAIN = {"sgprs": ".sgpr_count", "lds": ".group_segment_fixed_size", "scratch": ".private_segment_fixed_size"}
"""Resources to the metadata keys that hold them as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Resources that differ from those of the code object; None where they do not."""

    vgprs: int | None = None
    """Architectural VGPRs of a wave."""
    agprs: int | None = None
    """AGPRs of a wave."""
    sgprs: int | None = None
    """Scalar registers of a wave, VCC and other specials included."""
    lds: int | None = None
    """Static LDS of a workgroup in bytes."""
    scratch: int | None = None
    """Private memory of a work-item in bytes."""

    def given(self) -> dict[str, int]:
        """The resources that are set."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def then(self, later: Resources) -> Resources:
        """These resources, and those of `later` where it has them."""
        return replace(self, **later.given())

    def vector_registers(self, descriptor: Descriptor) -> tuple[int, int]:
        """(VGPRs, AGPRs), from the descriptor where they are not set."""
        granted = min(descriptor.accum_offset, descriptor.vgpr_alloc)
        vgprs = granted if self.vgprs is None else self.vgprs
        agprs = descriptor.vgpr_alloc - granted if self.agprs is None else self.agprs
        return vgprs, agprs

    def total_registers(self, descriptor: Descriptor) -> int:
        """Vector registers of a wave: AGPRs begin at a multiple of 4 behind the VGPRs."""
        vgprs, agprs = self.vector_registers(descriptor)
        return -(-max(vgprs, 1) // _ACCUM_GRANULE) * _ACCUM_GRANULE + agprs if agprs else vgprs

    def descriptor(self, descriptor: Descriptor) -> Descriptor:
        """The descriptor with these resources; fields of those not set stay bit for bit."""
        changed: dict[str, int] = {}
        if self.vgprs is not None or self.agprs is not None:
            vgprs, _ = self.vector_registers(descriptor)
            changed["accum_offset"] = max(vgprs, 1)
            changed["vgpr_alloc"] = max(self.total_registers(descriptor), 1)
        if self.sgprs is not None:
            changed["sgpr_alloc"] = max(self.sgprs, 1)
        if self.lds is not None:
            changed["lds_size"] = self.lds
        if self.scratch is not None:
            changed["private_size"] = self.scratch
            changed["private_segment"] = int(self.scratch > 0 or bool(descriptor.field("dynamic_stack")))
        return descriptor.with_(**changed)

    def metadata(self, entry: Mapping[str, Any], descriptor: Descriptor) -> dict[str, Any]:
        """A kernel's map of the metadata with these resources; `descriptor` is the one before."""
        changed: dict[str, Any] = {}
        if self.vgprs is not None or self.agprs is not None:
            changed[".vgpr_count"] = self.total_registers(descriptor)
        if self.agprs is not None:
            changed[".agpr_count"] = self.agprs
        for name, key in _PLAIN.items():
            if (value := getattr(self, name)) is not None:
                changed[key] = value
        in_order = list(entry) == sorted(entry)
        merged = {**entry, **changed}
        return dict(sorted(merged.items())) if in_order else merged


def metadata_with(
    metadata: Mapping[str, Any], symbol: str, resources: Resources, descriptor: Descriptor
) -> dict[str, Any]:
    """The metadata with other resources for the kernel whose descriptor has this symbol."""
    entries = [
        resources.metadata(entry, descriptor) if entry.get(".symbol") == symbol else entry
        for entry in metadata["amdhsa.kernels"]
    ]
    return {**metadata, "amdhsa.kernels": entries}
