"""What a GPU is: results measured on one hold for chips of the same identity and no others."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self, cast

from asmevo.device.hip.binding import Runtime
from asmevo.launch.table import Table
from asmevo.timing import chips
from asmevo.verdict import EnvironmentError_, UsageError

_PROPERTIES = "hipGetDevicePropertiesR0600"


class _Properties(ctypes.Structure):
    """`hipDeviceProp_tR0600`, as far as it is looked at. 1472 bytes in ROCm 6; room for more that later ones append."""

    name: bytes
    compute_units: int
    arch: bytes
    _fields_ = (
        ("name", ctypes.c_char * 256),
        ("_to_compute_units", ctypes.c_char * 132),
        ("compute_units", ctypes.c_int),  # multiProcessorCount
        ("_to_arch", ctypes.c_char * 768),
        ("arch", ctypes.c_char * 256),  # gcnArchName
        ("_rest", ctypes.c_char * 2680),
    )


@dataclass(frozen=True, slots=True)
class ChipIdentity:
    """One kind of chip."""

    target: str
    """`gfx942`, without its features."""
    compute_units: int
    """That can be used: a partition of a chip has fewer, and is another chip as far as times go."""
    sku: str
    """The runtime's name of the product."""

    def __str__(self) -> str:
        return f"{self.sku} ({self.target}, {self.compute_units} compute units)"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises `InputError` for what `to_json` does not give."""
        table = Table(value, "chip of the device")
        return cls(table.text("target"), table.integer("compute_units"), table.text("sku"))

    @property
    def table(self) -> str:
        """Name of the chip table whose model is nearest: of the target, with the most similar number of compute units.

        Raises `UsageError` where there is no table for the target.
        """
        known = [c for c in chips().values() if c.target == self.target]
        if not known:
            raise UsageError(f"There is no chip table for {self.target}, so nothing can be modelled for {self.sku}.")
        return min(known, key=lambda c: abs(c.cus - self.compute_units)).name


def identity_of(found: Runtime, gpu: int) -> ChipIdentity:
    """The identity of GPU number `gpu`. Raises `EnvironmentError_` for a runtime that is too old to tell."""
    if not found.has(_PROPERTIES):
        raise EnvironmentError_(f"The HIP runtime {found.path} is older than ROCm 6; update ROCm.")
    properties = _Properties()
    found.call(_PROPERTIES, ctypes.byref(properties), gpu)
    target = properties.arch.decode(errors="replace").partition(":")[0]
    return ChipIdentity(target, properties.compute_units, properties.name.decode(errors="replace") or "unnamed")


def recorded_chip(facts: Mapping[str, Any]) -> ChipIdentity | None:
    """The chip in the device facts of a certificate or a run; None where nothing was run on one.

    Raises `InputError` where it is described in part only."""
    chip: object = facts.get("chip")
    return ChipIdentity.from_json(cast("Mapping[str, Any]", chip)) if isinstance(chip, Mapping) else None


def same_chip(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    """Words for why results of one device say nothing of the times on another; empty where they do.

    Both are what `Device.describe` gives.
    """
    was, now = recorded_chip(recorded), recorded_chip(present)
    if was == now:
        return ""
    return f"It was measured on {was or 'a model'}, and this is {now or 'a model'}"
