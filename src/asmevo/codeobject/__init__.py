"""Code objects: ELF, metadata notes and kernel descriptors, bytes in and values out."""

from asmevo.codeobject.codeobject import CodeObject, Kernel
from asmevo.codeobject.descriptor import Descriptor, FloatMode
from asmevo.codeobject.elf import Section, Segment, Symbol
from asmevo.codeobject.metadata import Argument
from asmevo.codeobject.resources import Resources

__all__ = ["Argument", "CodeObject", "Descriptor", "FloatMode", "Kernel", "Resources", "Section", "Segment", "Symbol"]
