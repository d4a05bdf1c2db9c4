"""The editable program of a code object: recovered from bytes, listed as text, rebuilt to bytes."""

from asmevo.program.check import check_rebuild
from asmevo.program.layout import encode
from asmevo.program.listing import listing
from asmevo.program.parse import parse_listing
from asmevo.program.program import Block, Line, Program, control_kind
from asmevo.program.rebuild import rebuild
from asmevo.program.recover import recover
from asmevo.program.text import make_line, retargeted

__all__ = [
    "Block",
    "Line",
    "Program",
    "check_rebuild",
    "control_kind",
    "encode",
    "listing",
    "make_line",
    "parse_listing",
    "rebuild",
    "recover",
    "retargeted",
]
