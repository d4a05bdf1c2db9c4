"""The registers of a wave as the emitter of a block sees them: cached scalars, and a pending run of vector code.

Vector instructions collect in a *run*: a loop over four groups of sixteen lanes in which register values are SSA and
are written back once. Scalar code in between goes before the loop, which is right because a run takes its scalar
operands by value. Whatever needs a vector result in memory, or a lane mask as a number, ends the run first.
"""

from __future__ import annotations

from collections.abc import Iterable

from asmevo.isa.registers import EXEC_LO, SCC, VGPR_BASE
from asmevo.sim.ir import Builder, Module, Value, constant
from asmevo.sim.lanes import LaneAlgebra
from asmevo.sim.layout import FULL, ROW, VECTORS, register_offset, scalar_offset
from asmevo.sim.options import FloatRules

GROUP = 16
"""Lanes that vector code works on at a time; also the length of a DPP row."""
STATE = "%state"
_LANE_BITS = "<" + ", ".join(f"i32 {1 << n}" for n in range(GROUP)) + ">"


class Registers:
    """Reads and writes registers; `b` receives straight-line code, `body` the vector code of the pending run."""

    def __init__(self, module: Module, builder: Builder, variant: int, rules: FloatRules | None = None) -> None:
        self.module = module
        self.b = builder
        self.partial = variant != FULL
        self.rules = rules or FloatRules()
        self.scalar = LaneAlgebra(builder, 1, rules=self.rules)
        self._words: dict[int, Value] = {}
        self._pairs: dict[int, Value] = {}
        self._scc: Value | None = None
        self._scc_dirty = False
        self._runs = 0
        self._new_run()

    def _new_run(self) -> None:
        self._runs += 1
        self.body = Builder(self.module, f"r{self._runs}")
        self._group = self.body.name()
        self.vector = LaneAlgebra(self.body, GROUP, self._group, self.rules)
        self._base = self.body.name()
        self._values: dict[int, Value] = {}
        self._dirty: set[int] = set()
        self._active: Value | None = None
        """EXEC as the run found it; code behind the run may have changed it by the time the run is emitted."""
        self._masks: dict[int, Value] = {}
        self._dirty_masks: set[int] = set()
        self._splats: dict[tuple[str, str], Value] = {}

    # --- scalars
    def word(self, unit: int) -> Value:
        """A scalar unit as i32."""
        self._need_number(unit, 1)
        if unit not in self._words:
            pair = self._pairs.get(unit & ~1)
            if pair is not None:
                part = pair if unit & 1 == 0 else self.scalar.lshr(pair, self.scalar.const(32, 64))
                self._words[unit] = self.scalar.trunc(part, 32)
            elif unit == SCC:
                self._words[unit] = self.scalar.zext(self.scc(), 32)
            else:
                text = self.b.load("i32", self.scalar_pointer(unit), 4)
                self._words[unit] = Value(text, "i", 32, 1)
        return self._words[unit]

    def pair(self, unit: int) -> Value:
        """Two scalar units as i64."""
        self._need_number(unit, 2)
        if unit in self._pairs:
            return self._pairs[unit]
        if unit in self._words or unit + 1 in self._words or unit & 1:
            o = self.scalar
            high = o.shl(o.zext(self.word(unit + 1), 64), o.const(32, 64))
            value = o.or_(o.zext(self.word(unit), 64), high)
        else:
            value = Value(self.b.load("i64", self.scalar_pointer(unit), 4), "i", 64, 1)
        if not unit & 1:
            self._pairs[unit] = value
        return value

    def set_word(self, unit: int, value: Value) -> None:
        self._need_number(unit, 1)
        self.b.store("i32", value.text, self.scalar_pointer(unit), 4)
        self.forget_scalars(unit, 1)
        self._words[unit] = value

    def set_pair(self, unit: int, value: Value) -> None:
        self._need_number(unit, 2)
        self.b.store("i64", value.text, self.scalar_pointer(unit), 4)
        self.forget_scalars(unit, 2)
        if not unit & 1:
            self._pairs[unit] = value

    def forget_scalars(self, unit: int, count: int) -> None:
        """These scalar units changed in memory."""
        for u in range(unit, unit + count):
            self._words.pop(u, None)
            self._pairs.pop(u & ~1, None)
            self._masks.pop(u & ~1, None)

    def scc(self) -> Value:
        """SCC as i1."""
        if self._scc is None:
            word = self.b.load("i32", self.scalar_pointer(SCC), 4)
            self._scc = self.scalar.icmp("ne", Value(word, "i", 32, 1), constant(0, 32))
        return self._scc

    def set_scc(self, value: Value) -> None:
        self._scc = value
        self._scc_dirty = True
        self._words.pop(SCC, None)

    def scalar_pointer(self, unit: int) -> str:
        return self.b.at(STATE, scalar_offset(unit))

    def _need_number(self, unit: int, count: int) -> None:
        """End the run if it computes a lane mask that overlaps these units."""
        if any(u - 1 in self._dirty_masks or u in self._dirty_masks for u in range(unit, unit + count)):
            self.flush()

    # --- vectors
    def read(self, unit: int) -> Value:
        """A vector register in the current run, as i32 lanes."""
        value = self._values.get(unit)
        if value is not None and value.kind == "f":
            value = self._values[unit] = self.vector.canonical_bits(value)
        if value is None:
            text = self.body.load(f"<{GROUP} x i32>", self._row(unit), 64)
            value = self._values[unit] = Value(text, "i", 32, GROUP)
        return value

    def read_float(self, unit: int) -> Value:
        """A vector register in the current run, as f32 lanes."""
        value = self._values.get(unit)
        return value if value is not None and value.kind == "f" else self.vector.as_float(self.read(unit))

    def write(self, unit: int, value: Value, mask: Value | None = None) -> None:
        """Set the active lanes of a vector register, of these the ones in `mask`, to integers or f32.

        Within a run the value of inactive lanes is of no account; they are put back when it ends.
        """
        if self.partial and self._active is None:
            self._active = self.exec_mask()
        if mask is not None:
            value = self.vector.select(mask, self.vector.canonical_bits(value), self.read(unit))
        self._values[unit] = value
        self._dirty.add(unit)

    def is_pending(self, unit: int, count: int = 1) -> bool:
        """Whether the run holds newer values of these vector registers than memory."""
        return any(u in self._dirty for u in range(unit, unit + count))

    def group(self) -> str:
        """Number of the group of lanes, an i64 in `body`."""
        return self._group

    def _row(self, unit: int) -> str:
        return self.body.at(self._base, register_offset(unit))

    def splat(self, value: Value) -> Value:
        """A scalar value in all lanes of the run."""
        if value.const is not None:
            return constant(value.const, value.bits, GROUP)
        key = (value.text, value.type)
        if key not in self._splats:
            text = self.b.splat(value.text, value.type, GROUP)
            self._splats[key] = Value(text, value.kind, value.bits, GROUP)
        return self._splats[key]

    # --- lane masks in pairs of scalar units
    def mask(self, unit: int) -> Value:
        """The lanes of the current group in a mask that starts at scalar `unit`."""
        value = self._masks.get(unit)
        if value is None:
            value = self._masks[unit] = self.slice_mask(self.pair(unit))
        return value

    def slice_mask(self, bits: Value) -> Value:
        """The lanes of the current group of a mask given as i64."""
        shift = self.body.let(f"shl nuw nsw i64 {self._group}, 4")
        part = self.body.let(f"lshr i64 {bits.text}, {shift}")
        lanes = self.body.splat(self.body.let(f"trunc i64 {part} to i32"), "i32", GROUP)
        picked = self.body.let(f"and <{GROUP} x i32> {lanes}, {_LANE_BITS}")
        return Value(self.body.let(f"icmp ne <{GROUP} x i32> {picked}, zeroinitializer"), "i", 1, GROUP)

    def exec_mask(self) -> Value:
        return self.mask(EXEC_LO)

    def set_mask(self, unit: int, value: Value) -> None:
        """Set a mask to `value` in active lanes and to 0 in the others."""
        if self.partial:
            value = Value(self.body.let(f"and {value.typed}, {self.exec_mask().text}"), "i", 1, GROUP)
        self._masks[unit] = value
        self._dirty_masks.add(unit)

    def prepare(self, numbers: Iterable[int], masks: Iterable[int]) -> None:
        """Before a vector instruction: end the run if it computes a mask that this one needs otherwise than lane by
        lane.

        `numbers` are the scalar units it reads as numbers, `masks` the first units of masks that it reads or writes.
        """
        for unit in self._dirty_masks:
            if any(n in (unit, unit + 1) for n in numbers) or any(m in (unit - 1, unit + 1) for m in masks):
                self.flush()
                return

    # --- the run
    def flush(self) -> None:
        """End the run: emit its loop. Afterwards memory holds every register."""
        if self._dirty or self._dirty_masks:
            for unit in sorted(self._dirty):
                self._write_back(unit)
            for unit in sorted(self._dirty_masks):
                word = self.body.let(f"bitcast {self._masks[unit].typed} to i16")
                base = self.body.at(STATE, scalar_offset(unit))
                self.body.store("i16", word, self.body.at(base, self._group, 2), 2)
                self.forget_scalars(unit, 2)
            with self.b.loop(ROW // (4 * GROUP)) as index:
                self.b.do(f"{self._group} = add i64 {index}, 0")
                self.b.do(f"{self._base} = getelementptr [{4 * GROUP} x i8], ptr {STATE}, i64 {index}")
                self.b.lines.extend(self.body.lines)
        self._new_run()

    def _write_back(self, unit: int) -> None:
        value, row = self.read(unit), self._row(unit)
        if self._active is not None:
            # volatile: the value at the start of the run must not stay in a register all along, and LLVM must not make
            # this a masked store, which is very slow on some hosts
            before = self.body.let(f"load volatile {value.type}, ptr {row}, align 64")
            value = self.vector.select(self._active, value, Value(before, "i", 32, GROUP))
        self.body.store(value.type, value.text, row, 64)

    def vector_pointer(self, unit: int) -> str:
        """Address of a vector register; end the run first where memory must be up to date."""
        return self.b.at(STATE, register_offset(unit))

    def snapshot(self, unit: int, slot: int, count: int = 1) -> str:
        """Address of a copy of vector registers in the engine's temporaries, made before the run."""
        source = self.vector_pointer(unit)
        copy = self.vector_pointer(VGPR_BASE + VECTORS + slot)
        kind = f"<{GROUP} x i32>"
        for offset in range(0, count * ROW, 4 * GROUP):
            self.b.store(kind, self.b.load(kind, self.b.at(source, offset), 64), self.b.at(copy, offset), 64)
        return copy

    def exec_bits(self) -> str:
        """EXEC as an i64 literal or name."""
        return self.pair(EXEC_LO).text if self.partial else "-1"

    def finish(self) -> None:
        """Write back what is still cached, at the end of a block."""
        self.flush()
        if self._scc_dirty and self._scc is not None:
            self.b.store("i32", self.scalar.zext(self._scc, 32).text, self.scalar_pointer(SCC), 4)
            self._scc_dirty = False
