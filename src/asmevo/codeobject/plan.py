"""Where everything in a code object goes when some of its sections change their size.

A section that shrinks or keeps its size leaves the rest where it is. One that grows first uses the gap behind it;
beyond that, what follows moves by whole pages, in the file, in memory, or both, so that every segment keeps its
alignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from asmevo.codeobject.codeobject import CodeObject
from asmevo.codeobject.elf import HEADER, PT_LOAD, Section, Segment
from asmevo.verdict import InputError

_MAX_ALIGN = 1 << 16
_PAGE = 0x1000
_NOWHERE = 1 << 40
"""More than any object spans: the room behind its last section."""


class UnmovableError(InputError):
    """Something in an object keeps its code from being moved: an address that nothing can follow."""


@dataclass(frozen=True, slots=True)
class Step:
    """One section that changes its size, and how far what lies behind it moves."""

    home: Section
    size: int
    """New size in bytes."""
    first_behind: int
    """Old file offset of the first thing behind the section."""
    file_shift: int
    address_shift: int

    @property
    def file_end(self) -> int:
        return self.home.offset + self.home.size

    @property
    def address_end(self) -> int:
        """First address behind it; beyond all for a section that is not loaded."""
        return self.home.address + self.home.size if self.home.allocated else 1 << 64

    @property
    def growth(self) -> int:
        return self.size - self.home.size


class Plan:
    """The new place of everything, as a function of its old place.

    Raises `InputError` for an object whose sections overlap or whose alignments are absurd.
    """

    def __init__(self, obj: CodeObject, sizes: Mapping[int, int]) -> None:
        self.obj = obj
        """The object as it was."""
        homes = sorted((obj.sections[index].offset, index) for index in sizes)
        self.steps = tuple(self._step(obj.sections[index], sizes[index]) for _, index in homes)
        """In file order."""

    @property
    def rigid(self) -> bool:
        """Whether everything keeps its place and size."""
        return all(step.growth == 0 for step in self.steps)

    def offset(self, offset: int) -> int:
        """New file offset of what begins at this one."""
        return offset + sum(s.file_shift for s in self.steps if offset >= s.file_end)

    def address(self, address: int) -> int:
        """New address of what begins at this one; inside of a section that changes, its begin decides."""
        return address + sum(s.address_shift for s in self.steps if address >= s.address_end)

    def section(self, section: Section) -> Section:
        """The new section header."""
        size = next((s.size for s in self.steps if s.home is section), section.size)
        address = self.address(section.address) if section.allocated else section.address
        return replace(section, offset=self.offset(section.offset), address=address, size=size)

    def segment(self, segment: Segment) -> Segment:
        """The new program header."""
        more = sum(self._growth(step, segment) for step in self.steps)
        address = self.address(segment.address)
        return replace(
            segment,
            offset=self.offset(segment.offset),
            address=address,
            physical=segment.physical + address - segment.address,
            file_size=segment.file_size + more,
            memory_size=segment.memory_size + more,
        )

    def _growth(self, step: Step, segment: Segment) -> int:
        if not _holds(segment, step.home):
            return 0
        return step.growth if _ends_with(segment, step.home) else step.file_shift

    def _step(self, home: Section, size: int) -> Step:
        obj, growth = self.obj, size - home.size
        if not growth:  # nothing moves, whatever overlaps
            return Step(home, size, home.offset + home.size, 0, 0)
        _refuse_overlaps(obj, home)
        page = _page(obj)
        file_end = home.offset + home.size
        first_behind = min(_behind_in_file(obj, file_end), default=len(obj.data))
        file_shift = _pages(growth - (first_behind - file_end), page)
        address_shift = _pages(growth - _address_gap(obj, home), page) if home.allocated else 0
        if any(s.type == PT_LOAD and _holds(s, home) and not _ends_with(s, home) for s in obj.segments):
            file_shift = address_shift = max(file_shift, address_shift)
        return Step(home, size, first_behind, file_shift, address_shift)


def _page(obj: CodeObject) -> int:
    aligns = [s.align for s in obj.segments if s.type == PT_LOAD] + [s.align for s in obj.sections]
    page = max((*aligns, _PAGE))
    if page & (page - 1):
        raise InputError(
            f"The code object asks for an alignment of {page} bytes, no power of two; get an undamaged file."
        )
    if page > _MAX_ALIGN:
        raise UnmovableError(
            f"The code object is aligned to pages of {page} bytes, and code is moved by pages of {_MAX_ALIGN} at most; "
            "link it with a smaller `-z max-page-size`, or keep to edits that leave every instruction at its place."
        )
    return page


def _refuse_overlaps(obj: CodeObject, home: Section) -> None:
    for section in obj.sections:
        overlaps = section.offset < home.offset + home.size and section.offset + section.file_size > home.offset
        if section is not home and section.file_size and overlaps:
            raise InputError(f"The section {section.name} overlaps {home.name} in the file; get an undamaged file.")
    for segment in obj.segments:
        if _holds(segment, home) and _ends_with(segment, home) and segment.memory_size != segment.file_size:
            raise UnmovableError(
                f"The segment of {home.name} ends in zero-filled memory, so nothing in it can be moved; keep to edits "
                "that leave every instruction at its place."
            )


def _behind_in_file(obj: CodeObject, end: int) -> Iterator[int]:
    """File offsets of everything that lies behind a section that ends here."""
    header = HEADER.unpack_from(obj.data)
    yield from (s.offset for s in obj.sections if s.file_size and s.offset >= end)
    yield from (s.offset for s in obj.segments if s.file_size and s.offset >= end)
    yield from (at for at in (header[5], header[6]) if at >= end)


def _address_gap(obj: CodeObject, home: Section) -> int:
    """Bytes of memory a section may grow by: up to the next section of its segment, or the next page in use."""
    end = home.address + home.size
    starts = [s.address for s in obj.sections if s.allocated and s.size and s.address >= end]
    for segment in obj.segments:
        if segment.type == PT_LOAD and segment.address >= end:
            starts.append(segment.address // _PAGE * _PAGE)
    return max(min(starts, default=end + _NOWHERE) - end, 0)


def _holds(segment: Segment, home: Section) -> bool:
    end = segment.offset + segment.file_size
    return segment.offset <= home.offset and end >= home.offset + home.size and segment.file_size > 0


def _ends_with(segment: Segment, home: Section) -> bool:
    return segment.offset + segment.file_size == home.offset + home.size


def _pages(missing: int, page: int) -> int:
    """Bytes to shift by when `missing` bytes do not fit."""
    return -(-missing // page) * page if missing > 0 else 0
