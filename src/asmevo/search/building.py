"""From edits to an object: what a candidate is before anyone judged it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.edit import Edit, apply_all
from asmevo.program import Program, rebuild
from asmevo.program.layout import encode
from asmevo.search.flow import keep_flow
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, Finding, Verdict


@dataclass(frozen=True, slots=True)
class Built:
    """A candidate: the edited program and its object, or no `data` and why it cannot be built."""

    program: Program
    data: bytes
    failure: Check | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest() if self.data else ""


def build(program: Program, edits: Sequence[Edit]) -> Built:
    """Apply and rebuild. What a candidate does wrong is in the result; `EnvironmentError_` passes through."""
    try:
        edited = encode(apply_all(program, edits))  # so that its lines are placed once, here and by `rebuild`
        keep_flow(program, edited)
        return Built(edited, rebuild(edited))
    except EnvironmentError_:
        raise
    except AsmEvoError as error:
        finding = Finding("rebuild.failed", str(error))
        return Built(program, b"", Check("rebuild", Verdict.UNKNOWN, (finding,)))
