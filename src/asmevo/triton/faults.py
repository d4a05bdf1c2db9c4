"""What a launch raises when it does not end well."""

from __future__ import annotations

from asmevo.verdict import AsmEvoError, Finding


class LaunchFault(AsmEvoError):
    """A kernel did what hardware would stop at, did not end, or wrote where nothing belongs to it."""

    exit_code = 1

    def __init__(self, kernel: str, what: str, finding: Finding | None = None, source: str = "") -> None:
        at = f" (at {source})" if source else ""
        super().__init__(f"The kernel {kernel} failed{at}: {what}")
        self.kernel = kernel
        self.finding = finding
        """Instruction, workgroup, wave, lane and address, where one access is to blame."""
        self.source = source
        """File and line of the kernel's source, where the object says so."""
