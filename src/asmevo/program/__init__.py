"""The editable program of a code object: recovered from bytes, listed as text, rebuilt to bytes."""

from asmevo.program.program import Block, Line, Program, control_kind
from asmevo.program.rebuild import rebuild
from asmevo.program.recover import recover
from asmevo.program.text import make_line, retargeted

__all__ = ["Block", "Line", "Program", "control_kind", "make_line", "rebuild", "recover", "retargeted"]
