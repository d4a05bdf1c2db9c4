"""The editable program of a code object: recovered from bytes, listed as text, rebuilt to bytes."""

from asmevo.codeobject.plan import UnmovableError
from asmevo.program.check import check_in_place, check_rebuild
from asmevo.program.common import common_lines
from asmevo.program.in_place import InPlaceError, patch_in_place
from asmevo.program.islands import BranchRangeError
from asmevo.program.layout import EntryError, encode
from asmevo.program.listing import listing
from asmevo.program.parse import parse_listing
from asmevo.program.program import Block, Line, Program, Reference, control_kind
from asmevo.program.rebuild import rebuild
from asmevo.program.recover import recover
from asmevo.program.registers import refuse_overflow
from asmevo.program.resources import ResourceError, with_resources
from asmevo.program.text import make_line, redirected, retargeted

__all__ = [
    "Block",
    "BranchRangeError",
    "EntryError",
    "InPlaceError",
    "Line",
    "Program",
    "Reference",
    "ResourceError",
    "UnmovableError",
    "check_in_place",
    "check_rebuild",
    "common_lines",
    "control_kind",
    "encode",
    "listing",
    "make_line",
    "parse_listing",
    "patch_in_place",
    "rebuild",
    "recover",
    "redirected",
    "refuse_overflow",
    "retargeted",
    "with_resources",
]
