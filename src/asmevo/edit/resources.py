"""The edit that changes what a kernel asks for: registers, LDS, scratch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from asmevo.codeobject import Resources
from asmevo.edit.edit import Fields, register
from asmevo.edit.forward import Forward
from asmevo.program import Program, with_resources
from asmevo.verdict import InputError

_NAMES = ("vgprs", "agprs", "sgprs", "lds", "scratch")


@register
@dataclass(frozen=True)
class SetResources:
    """Set what the kernel asks for; descriptor and metadata change together, everything not given stays.

    Registers are those of a wave, `lds` the static bytes of a workgroup, `scratch` the bytes of a work-item. `apply`
    raises `ResourceError` when the target does not have them.
    """

    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds: int | None = None
    scratch: int | None = None
    kind: ClassVar[str] = "resources"

    @property
    def resources(self) -> Resources:
        return Resources(**self._given())

    def apply(self, program: Program) -> tuple[Program, Forward]:
        if not self._given():
            raise InputError(f"An edit of resources needs one of {', '.join(_NAMES)}.")
        return with_resources(program, self.resources), Forward()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._given()}

    @classmethod
    def from_fields(cls, fields: Fields) -> SetResources:
        return cls(**{name: fields.integer(name) for name in _NAMES if fields.has(name)})

    def _given(self) -> dict[str, int]:
        values = {name: getattr(self, name) for name in _NAMES}
        return {name: value for name, value in values.items() if value is not None}
