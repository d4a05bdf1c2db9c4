"""Files that hold code objects: told by content, listed, and one object taken out or put back."""

from asmevo.codeobject.containers.container import Container, Entry

__all__ = ["Container", "Entry"]
