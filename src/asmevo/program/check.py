"""The check of a rebuilt object: parsed and decoded anew, then compared with K0 and with the program line by line."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.codeobject import CodeObject
from asmevo.isa import Decoded
from asmevo.isa.encoding import branch_target
from asmevo.program.additions import addition, part_of
from asmevo.program.check_container import container_findings
from asmevo.program.layout import PRELOAD_HEADER, S_NOP, kernel_entries, lay_out, second_entries
from asmevo.program.program import Line, Program
from asmevo.program.rebuild import is_moved
from asmevo.program.recover import ENTRY_ALIGN, address_index, decode_text
from asmevo.verdict import Check, Finding, InputError, Severity, Verdict

NAME = "rebuild"


def check_rebuild(program: Program, data: bytes) -> Check:
    """Whether `data` is the object of `program`.

    Compares every word, every branch target and every address relative to the program counter through the lines' ids,
    sections, segments, symbols, relocations, the dynamic table, descriptors, metadata and flags; only resources that
    the program declares may differ from K0. TESTED when all agree, REFUTED with findings otherwise.
    """
    return _check(program, data, "rebuilt")


def check_in_place(program: Program, data: bytes) -> Check:
    """The same for an object that was patched in place: besides, nothing but instructions may differ from K0."""
    return _check(program, data, "patched in place")


def _check(program: Program, data: bytes, method: str) -> Check:
    try:
        new = CodeObject.parse(data, "the rebuilt object")
        comparison = _Comparison(program, new)
        findings = [*comparison.code()]
        if comparison.complete and not comparison.nothing_to_follow:
            findings += container_findings(program, new, comparison.plan, comparison.goes_to)
        if method != "rebuilt":
            findings += _outside(program.source, new)
    except InputError as error:
        return Check(NAME, Verdict.REFUTED, (Finding("rebuild.parse", str(error)),))
    refuted = any(f.severity is Severity.ERROR for f in findings)
    facts = {"method": method, "sha256": new.sha256, "lines": len(program.lines)} | comparison.counts
    return Check(NAME, Verdict.REFUTED if refuted else Verdict.TESTED, tuple(findings), facts)


def _outside(old: CodeObject, new: CodeObject) -> Iterator[Finding]:
    """Bytes outside of the instructions, which a patch in place leaves alone."""
    start, end = old.text.offset, old.text.offset + old.text.size
    if len(old.data) != len(new.data) or old.data[:start] + old.data[end:] != new.data[:start] + new.data[end:]:
        yield Finding("rebuild.in_place", "The patched object differs from K0 outside of .text.")


class _Comparison:
    """The instructions of a rebuilt object against the lines of its program."""

    def __init__(self, program: Program, new: CodeObject) -> None:
        layout = lay_out(program)
        self.plan, self.program = layout.plan, layout.program
        """With the islands that a branch may go through."""
        self.nothing_to_follow = (
            new.data == program.source.data and not program.resources.given() and not is_moved(layout)
        )
        """Whether the file is K0's, and should be but for its instructions."""
        self.given, self.old, self.new = program, program.source, new
        self.counts: dict[str, int] = {}
        self.complete = False
        """Whether every line was found."""
        self.address: dict[int, int] = {}
        """Line id to its address in the new object."""
        self.entries, self.seconds = kernel_entries(program), second_entries(program)

    def code(self) -> Iterator[Finding]:
        """Words, branch targets, addresses relative to the program counter, and entries."""
        decoded = decode_text(self.new)
        pairs = self._align(decoded)
        if pairs is None:
            yield Finding(
                "rebuild.words", f"The {len(decoded)} instructions of the rebuilt .text are not the program's."
            )
            return
        self.complete = True
        original = decode_text(self.old)
        self.counts = dict.fromkeys(("untouched", "branches", "references", "islands"), 0)
        for line, found in zip(self.program.lines, pairs, strict=True):
            assert line.words is not None
            kept = slice(0 if line.target is None else 2, None if line.reference is None else 4)
            self.counts["untouched"] += line.id < len(original) and original[line.id].words[kept] == line.words[kept]
            if found.words[kept] != line.words[kept]:
                at = f"`{line.instruction}` at 0x{found.address:x}"
                message = f"{at} has the words {found.words.hex()}, not {line.words.hex()}."
                yield Finding("rebuild.words", message, line=line.id)
            elif line.target is not None:
                yield from self._branch(line, found)
            elif line.reference is not None:
                yield from self._reference(line, found)
        yield from self._kernels()

    def _branch(self, line: Line, found: Decoded) -> Iterator[Finding]:
        """The branch goes where its line says, and that of a line of the given program where it said there."""
        goes_to = branch_target(found.words, found.address)
        assert line.target is not None
        position = self.given.position.get(line.id)
        self.counts["islands" if position is None else "branches"] += 1
        wanted = line.target if position is None else self.given.lines[position].target
        target = line.target
        while target not in self.given.position:  # an island: nothing but a branch further on
            island = self.program.line(target)
            assert island.target is not None and island.instruction.mnemonic == "s_branch"
            target = island.target
        if goes_to != self.address[line.target] or (position is not None and target != wanted):
            message = (
                f"`{line.instruction}` at 0x{found.address:x} goes to 0x{goes_to:x}, not to "
                f"0x{self.address[wanted or 0]:x}."
            )
            yield Finding("rebuild.branch", message, line=line.id)

    def _reference(self, line: Line, found: Decoded) -> Iterator[Finding]:
        """A part of a distance from behind an `s_getpc_b64` to a line or a place in a section."""
        self.counts["references"] += 1
        reference, add = line.reference, addition(found.words)
        assert reference is not None
        origin = self.address.get(reference.origin)
        if reference.line is None:
            start = self.new.sections[reference.section].address
        else:
            start = self.address.get(reference.line, -1)
        distance = start + reference.offset - (origin or 0) - 4
        wanted = part_of(distance, reference.part)
        if add is None or origin is None or start < 0 or (add.value, add.part) != (wanted, reference.part):
            section = self.new.sections[reference.section].name
            place = section if reference.line is None else f"line {reference.line}"
            message = f"`{line.instruction}` at 0x{found.address:x} no longer leads to {place}."
            yield Finding("rebuild.reference", message, line=line.id)

    def _align(self, decoded: tuple[Decoded, ...]) -> list[Decoded] | None:
        """The instruction of each line; None when counts differ. Skips the `s_nop` that align an entry."""
        starts = set(self.entries.values())
        found: list[Decoded] = []
        at, count = 0, len(decoded)
        for line in self.program.lines:
            padded = line.id in starts
            while padded and at < count and decoded[at].address % ENTRY_ALIGN and decoded[at].words == S_NOP:
                at += 1
            if at == count:
                return None
            found.append(decoded[at])
            self.address[line.id] = decoded[at].address
            at += 1
        return found if at == count else None

    def goes_to(self, address: int) -> int | None:
        """Where an address of K0's text is in the new object; None when an edit removed its line."""
        old, new = self.old.text, self.new.text
        if address == old.address + old.size:
            return new.address + new.size
        for kernel in self.old.kernels:
            if kernel.entry == address:
                return self.address[self.entries[kernel.name]]
        line = address_index(self.old).get(address, -1)
        return self.address.get(self.given.anchor(line))

    def _kernels(self) -> Iterator[Finding]:
        for kernel in self.new.kernels:
            first = self.address.get(self.entries.get(kernel.name, -1), -1)
            if kernel.entry != first or kernel.entry % ENTRY_ALIGN:
                message = f"The kernel {kernel.name} begins at 0x{kernel.entry:x}, not at its first line."
                yield Finding("rebuild.entry", message)
            second = self.seconds.get(kernel.name, -1)
            if second >= 0 and self.address.get(second) != kernel.entry + PRELOAD_HEADER:
                yield Finding("rebuild.entry", f"The second entry of {kernel.name} (kernarg preload) moved.")
