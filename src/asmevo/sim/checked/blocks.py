"""Emission of checks into a block: of registers before each stretch of code, of operations where they start.

Which registers are still to be written changes only where an operation starts or a wait ends. Between two such places
one comparison of sets tells whether any instruction touches such a register; what happens then is rare and native code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.isa import Instruction, MemoryRow, Pipe, RegSet, effects, row_of, units
from asmevo.isa.wait import LGKM_MAX, VM_MAX
from asmevo.program.asynchronous import Kind, Operation, Queue
from asmevo.program.outstanding import facts
from asmevo.program.program import control_kind
from asmevo.sim.checked.bounds import ATOMIC, SCOPED, STORE
from asmevo.sim.checked.fields import get, place_of, shadow_of
from asmevo.sim.checked.layout import DMA, NEVER, NO_ACCESS, READ, SHADOW, WORDS, WRITE
from asmevo.sim.checked.lds import access_name
from asmevo.sim.checked.lds_frame import UPDATE
from asmevo.sim.checked.sinks import needed
from asmevo.sim.registers import STATE, Registers

_WORD = (1 << 64) - 1
_QUEUES = {queue: number for number, queue in enumerate((Queue.VM, Queue.LDS, Queue.SCALAR, Queue.FLAT))}


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Instructions up to one that starts an operation or waits."""

    last: int
    firm: RegSet
    """Registers that must not be pending at all."""
    over_vm: RegSet
    """Results of a vector memory operation, which may follow others of its queue."""
    over_lds: RegSet


class BlockChecks:
    """The checks of one block. `skipped` says which instructions it does not execute."""

    def __init__(self, registers: Registers, instructions: Sequence[Instruction], skipped: Sequence[bool]) -> None:
        self.r, self.b = registers, registers.b
        self._instructions = instructions
        self._executed = _executed(instructions, skipped)
        self._stretches = _stretches(instructions, self._executed)
        self._shadow = ""
        self._constants = 0
        self._uses, self._writes = _lifetimes(instructions, self._executed)

    # --- small parts
    def _shadow_pointer(self) -> str:
        if not self._shadow:
            self._shadow = shadow_of(self.b)
        return self._shadow

    def _call(self, name: str, *arguments: str) -> None:
        self.r.module.extern(name, "void", *(a.split(" ")[0] for a in arguments))
        self.b.call("void", name, *arguments)

    def _constant(self, registers: RegSet) -> str:
        """A set of registers in the block's constants."""
        name = f"@set{self._constants}"
        self._constants += 1
        words = ", ".join(f"i64 {registers >> 64 * n & _WORD}" for n in range(WORDS + 1))
        self.r.module.bodies.append(f"{name} = private constant [{WORDS + 1} x i64] [{words}]\n")
        return name

    def _meets(self, *pairs: tuple[str, RegSet]) -> str:
        """i64 that is not 0 when a set of the shadow has a register of the set given with it."""
        b, found = self.b, ""
        for name, registers in pairs:
            for word in range(WORDS):
                bits = registers >> 64 * word & _WORD
                if bits:
                    part = b.i64("and", get(b, self._shadow_pointer(), SHADOW, name, word), bits)
                    found = b.i64("or", found, part) if found else part
        return found

    # --- what a block calls
    def begin(self) -> None:
        """At the start: registers that the block needs and nobody wrote."""
        found = self._meets(("undefined", self._uses))
        if found:
            with self.b.when(self.b.i64("icmp ne", found, 0)):
                last = len(self._instructions) - 1
                self._call(
                    "check_undefined", f"ptr {STATE}", "i32 0", f"i32 {last}", f"ptr {self._constant(self._uses)}"
                )

    def before(self, instruction: Instruction, at: int) -> None:
        """Before an instruction is executed."""
        stretch = self._stretches.get(at)
        if stretch is not None:
            self._check(at, stretch)
        if self._executed[at]:
            self._start(instruction, at)

    def finish(self) -> None:
        """At the end: what the block wrote is defined."""
        b = self.b
        for word in range(WORDS):
            bits = self._writes >> 64 * word & _WORD
            if bits:
                cell = place_of(b, self._shadow_pointer(), SHADOW, "undefined", word)
                b.store("i64", b.i64("and", b.load("i64", cell, 8), ~bits & _WORD), cell, 8)

    def _check(self, at: int, stretch: _Stretch) -> None:
        pairs = [("pending", stretch.firm)]
        pairs += [(name, stretch.over_vm) for name in ("pending_lds", "pending_other")]
        pairs += [(name, stretch.over_lds) for name in ("pending_vm", "pending_other")]
        if not any(registers for _, registers in pairs):
            return
        self.r.flush()  # what is found missing becomes poison in memory
        b = self.b
        some = b.i32("icmp sgt", get(b, self._shadow_pointer(), SHADOW, "count"), 0)
        with b.when(some):
            found = self._meets(*pairs)
            with b.when(b.i64("icmp ne", found, 0)):
                touched = self._constant(stretch.firm | stretch.over_vm | stretch.over_lds)
                self._call("check_pending", f"ptr {STATE}", f"i32 {at}", f"i32 {stretch.last}", f"ptr {touched}")

    def _start(self, instruction: Instruction, at: int) -> None:
        """What an instruction does to the account."""
        now = facts(instruction)
        if now.wait is not None and not now.wait.is_noop:
            vm = now.wait.vm if now.wait.vm < VM_MAX else NEVER
            lgkm = now.wait.lgkm if now.wait.lgkm < LGKM_MAX else NEVER
            self._call("check_wait", f"ptr {STATE}", f"i32 {vm}", f"i32 {lgkm}")
        if now.operation is not None:
            self._issue(now.operation, at)
        kind = control_kind(instruction)
        if kind == "barrier":
            self._call("check_barrier", f"ptr {STATE}")
        elif kind == "endpgm":
            self._call("check_end", f"ptr {STATE}")

    def _issue(self, started: Operation, at: int) -> None:
        if started.kind is Kind.CACHE:
            self._call("check_sync", f"ptr {STATE}")
            return
        if started.kind is Kind.MESSAGE:
            return
        access = {Kind.LDS_READ: READ, Kind.LDS_WRITE: WRITE, Kind.DMA: DMA}.get(started.kind, NO_ACCESS)
        results = list(units(started.results))
        first, count = (results[0], len(results)) if results else (0, 0)
        numbers = (at, _QUEUES[started.queue], int(started.certain), first, count, access)
        self._call("check_issue", f"ptr {STATE}", *(f"i32 {n}" for n in numbers))

    # --- accesses
    def lds(self, row: MemoryRow, offsets: str, lanes: str, data: str, at: int) -> None:
        """One access of LDS by the lanes; `data` is the first register that is stored."""
        mode = {"load": READ, "store": WRITE, "atomic": UPDATE}[row.kind]
        if row.extend == "d16_hi" and mode == WRITE:
            data = self.b.at(data, 2)
        name = access_name(row.size, mode)
        self._call(name, f"ptr {STATE}", f"ptr {offsets}", f"i64 {lanes}", f"ptr {data}", f"i32 {at}")

    def lds_dma(self, active: str, target: str, at: int) -> None:
        """A move from memory to LDS."""
        self._call("check_lds_dma", f"ptr {STATE}", f"i64 {active}", f"i64 {target}", f"i32 {at}")

    def global_(self, instruction: Instruction, row: MemoryRow, lanes: str, data: str, at: int) -> None:
        """One access of global memory by lanes that are inside of the image."""
        if row.extend == "d16_hi" and row.kind == "store":
            data = self.b.at(data, 2)
        self._global("check_global", _mode(instruction, row), row, lanes, data, at)

    def flat(self, row: MemoryRow, lanes: str) -> None:
        """A flat access, some of whose lanes may be in LDS."""
        if row.kind != "load":
            self._call("check_lds_flat", f"ptr {STATE}", f"i64 {lanes}", f"i64 {row.size}")

    def rest(self, instruction: Instruction, row: MemoryRow, lanes: str, data: str, at: int) -> None:
        """Lanes of a buffer access that are not in range as a whole."""
        self._global("check_rest", _mode(instruction, row), row, lanes, data, at)

    def _global(self, name: str, mode: int, row: MemoryRow, lanes: str, data: str, at: int) -> None:
        arguments = (f"i64 {lanes}", f"i64 {row.size}", f"i32 {mode}", f"ptr {data}", f"i32 {at}")
        self._call(name, f"ptr {STATE}", *arguments)

    def scalar(self, instruction: Instruction, row: MemoryRow, address: str, at: int) -> None:
        """One access of scalar memory."""
        mode = _mode(instruction, row)
        self._call("check_scalar", f"ptr {STATE}", f"i64 {address}", f"i64 {row.size}", f"i32 {mode}", f"i32 {at}")

    def scoped(self, instruction: Instruction, row: MemoryRow) -> None:
        """A scalar access whose place is checked elsewhere: only its scope matters."""
        if _mode(instruction, row) & (ATOMIC | SCOPED):
            self._call("check_sync", f"ptr {STATE}")


def _mode(instruction: Instruction, row: MemoryRow) -> int:
    scoped = instruction.is_scoped and row.kind == "load"
    return {"load": 0, "store": STORE, "atomic": ATOMIC}[row.kind] | (SCOPED if scoped else 0)


def _executed(instructions: Sequence[Instruction], skipped: Sequence[bool]) -> list[bool]:
    """Which instructions take part in the account; registers that M0 chooses are not followed."""
    found: list[bool] = []
    indexing = False
    for instruction, skip in zip(instructions, skipped, strict=True):
        kind = control_kind(instruction)
        indexing = (indexing or kind == "gpr_idx_on") and kind != "gpr_idx_off"
        found.append(not skip and not (indexing and row_of(instruction).pipe is Pipe.VALU))
    return found


def _stretches(instructions: Sequence[Instruction], executed: Sequence[bool]) -> dict[int, _Stretch]:
    """Stretches by their first instruction."""
    found: dict[int, _Stretch] = {}
    first, firm = 0, 0
    for at, instruction in enumerate(instructions):
        if not executed[at]:
            continue
        now = facts(instruction)
        queue = None if now.operation is None else now.operation.queue
        over_vm = now.writes if queue is Queue.VM else 0
        over_lds = now.writes if queue is Queue.LDS else 0
        firm |= now.reads | now.writes & ~(over_vm | over_lds)
        if now.operation is not None or now.wait is not None or at + 1 == len(instructions):
            found[first] = _Stretch(at, firm, over_vm, over_lds)
            first, firm = at + 1, 0
    if firm:
        found[first] = _Stretch(len(instructions) - 1, firm, 0, 0)
    return found


def _lifetimes(instructions: Sequence[Instruction], executed: Sequence[bool]) -> tuple[RegSet, RegSet]:
    """Registers that a block needs from before it, and those it writes."""
    uses = written = 0
    for at, instruction in enumerate(instructions):
        if executed[at]:
            uses |= needed(instruction) & ~written
            written |= effects(instruction).writes
    return uses, written
