"""The editable program of a code object: recovered from bytes, listed as text, rebuilt to bytes."""

from asmevo.program.program import Block, Line, Program, control_kind
from asmevo.program.rebuild import rebuild
from asmevo.program.recover import recover

__all__ = ["Block", "Line", "Program", "control_kind", "rebuild", "recover"]
