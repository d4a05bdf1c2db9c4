"""A file opened by what it contains: code object, bundle, compressed bundle, or host file with any of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from asmevo.codeobject.containers import bundle, compressed
from asmevo.codeobject.containers.host import bundles, host_parts, is_elf
from asmevo.codeobject.containers.image import Image, is_image
from asmevo.codeobject.containers.part import Budget, Part, padding
from asmevo.codeobject.elf import HEADER_SIZE, Elf
from asmevo.codeobject.targets import target_id, target_of, triple_target
from asmevo.verdict import InputError, names_text

_FLAGS_AT = 48


@dataclass(frozen=True, slots=True)
class Entry:
    """One code object, or empty place, in a container."""

    number: int
    """Its position in the list of the container."""
    part: int
    """Position of the bundle or image that holds it."""
    format: str
    """Format of that: `code object`, `bundle`, `compressed bundle` or `raw image`."""
    name: str
    """Its name there, such as `hipv4-amdgcn-amd-amdhsa--gfx942`; made from its flags where the format has none."""
    target: str
    """`gfx942`, ...; empty for host code."""
    offset: int
    """First byte in the file; in a compressed bundle, in what that decompresses to."""
    size: int


@dataclass(frozen=True)
class Container:
    """A file and the code objects in it."""

    data: bytes
    name: str
    kind: str
    """`code object`, `bundle`, `compressed bundle` or `host file`."""
    parts: tuple[Part, ...]
    places: tuple[int, ...]
    """Offset of each part in the file."""
    limits: tuple[int, ...]
    """For each part, the end of the stretch that is given to such parts."""

    @classmethod
    def open(cls, data: bytes, name: str = "the file") -> Container:
        """Open a file by its content; `name` is used in errors.

        Raises `InputError` for a file that holds no code for AMD GPUs, or a damaged bundle, or bundles that decompress
        to more than `Budget` allows. Code objects themselves are not parsed.
        """
        if is_image(data, 0):
            return cls(data, name, "code object", (Image(data, "code object"),), (0,), (len(data),))
        found: list[tuple[int, int, Part]] = []
        budget = Budget(len(data), name)
        if data.startswith((bundle.MAGIC, compressed.MAGIC)):
            found = [(o, len(data), p) for o, p in bundles(data, 0, len(data), budget, strict=True)]
            kind = found[0][2].format
        elif is_elf(data):
            found, kind = host_parts(data, budget), "host file"
        else:
            Elf(data, name)  # says what is wrong
            kind = ""
        if not found:
            raise InputError(f"{name} holds no code for AMD GPUs; pass a code object, a bundle or a library with them.")
        places, limits, parts = zip(*found, strict=True)
        return cls(data, name, kind, parts, places, limits)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Everything the container lists, empty host entries included."""
        found: list[Entry] = []
        for n, (part, place) in enumerate(zip(self.parts, self.places, strict=True)):
            for index, slot in enumerate(part.slots):
                flags = None if slot.name else _flags(part, index)
                name = slot.name or (f"amdgcn-amd-amdhsa--{target_id(flags)}" if flags is not None else "")
                target = triple_target(slot.name) if slot.name else ("" if flags is None else target_of(flags))
                offset = slot.offset + (0 if part.packed else place)
                found.append(Entry(len(found), n, part.format, name, target, offset, slot.size))
        return tuple(found)

    @cached_property
    def _firsts(self) -> dict[int, int]:
        """Part to the number of its first entry."""
        return {e.part: e.number for e in reversed(self.entries)}

    def entry(self, key: str) -> Entry:
        """The entry with a number, a name, or the only one for a target.

        Raises `InputError` that lists what there is.
        """
        filled = [e for e in self.entries if e.size]
        found = [e for e in filled if key in (str(e.number), e.name)] or [e for e in filled if e.target == key]
        if len(found) != 1:
            known = names_text([f"{e.number} ({e.target or e.name})" for e in filled])
            which = "several entries" if found else "no entry"
            raise InputError(f"{self.name} has {which} {key!r}; name one by its number: {known}.")
        return found[0]

    def extract(self, entry: Entry) -> bytes:
        """The bytes of an entry."""
        return self.parts[entry.part].content(self._index(entry))

    def replace(self, entry: Entry, data: bytes) -> bytes:
        """The file with another object in place of an entry; all other bytes stay where the format allows.

        What a format allows is said in its module. Raises `InputError` when the object is for another target or does
        not fit. The result is opened and compared before it is returned.
        """
        target = target_of(Elf(data, "the new object").header.flags)
        if not entry.size or target != entry.target:
            raise InputError(
                f"The new object is for {target}, the entry {entry.number} of {self.name} holds "
                f"{entry.target or 'no GPU code'}; replace an entry of the same target."
            )
        part, place = self.parts[entry.part], self.places[entry.part]
        end = place + part.size
        is_last = entry.part == len(self.parts) - 1
        if is_last and self.kind != "host file":
            out = self.data[:place] + part.replaced(self._index(entry), data, None) + self.data[end:]
        else:
            stop = min((*self.places[entry.part + 1 :][:1], self.limits[entry.part]))
            made = part.replaced(self._index(entry), data, part.size + padding(self.data, end, stop))
            out = self.data[:place] + made + self.data[place + len(made) :]
            if len(made) > max(end, stop) - place or len(out) != len(self.data):
                raise InputError(
                    f"The entry {entry.number} of {self.name} would leave its place; replace the whole file."
                )
        self._compare(out, entry, data)
        return out

    def _index(self, entry: Entry) -> int:
        return entry.number - self._firsts[entry.part]

    def _compare(self, out: bytes, entry: Entry, data: bytes) -> None:
        """Make sure that the entry is the new object and every other one is as before."""
        again = Container.open(out, self.name)
        for before, after in zip(self.entries, again.entries, strict=True):
            expected = data if before == entry else self.extract(before)
            if again.extract(after)[: len(expected)] != expected or before.name != after.name:
                raise InputError(f"The entry {before.number} of {self.name} would not survive; replace the whole file.")


def _flags(part: Part, index: int) -> int | None:
    """e_flags of a slot that is a code object."""
    head = part.content(index)[:HEADER_SIZE]
    return int.from_bytes(head[_FLAGS_AT : _FLAGS_AT + 4], "little") if is_image(head, 0) else None
