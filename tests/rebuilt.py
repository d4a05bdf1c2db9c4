"""What tests ask of a rebuilt object."""

from __future__ import annotations

from asmevo.codeobject import CodeObject
from asmevo.program import Program, check_rebuild, listing, rebuild, recover
from asmevo.verdict import Verdict


def checked(program: Program) -> bytes:
    """The rebuilt object, after `check_rebuild` found nothing."""
    data = rebuild(program)
    check = check_rebuild(program, data)
    assert check.verdict is Verdict.TESTED, check.findings
    assert check.facts["lines"] == len(program.lines)
    return data


def body(data: bytes, kernel: str | None = None) -> str:
    """The listing of an object from its first label on, single-spaced, without directives."""
    lines = listing(recover(CodeObject.parse(data), kernel)).splitlines()
    kept = [" ".join(line.split()) for line in lines if not line.startswith(("//", "\t."))]
    return "\n".join(kept) + "\n"


def quad(obj: CodeObject, address: int) -> int:
    """The 8 bytes at an address of the loaded object."""
    low, image = obj.load_image()
    return int.from_bytes(image[address - low :][:8], "little")


def symbol(obj: CodeObject, name: str) -> int:
    """The value of a symbol."""
    return next(s.value for s in obj.symbols if s.name == name)
