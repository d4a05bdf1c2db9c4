"""Emission of VALU rows: operand fetch with every modifier, the row's meaning, and the write-back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asmevo.isa import Imm, Instruction, LaneRow, Operand, PackedRow, Reg, Slot, bind
from asmevo.isa.registers import EXEC_LO, SCC, VCC_LO
from asmevo.isa.row import HIDDEN, TYPE_UNITS
from asmevo.sim.forms import SDWA_SELECTS, Dpp, dpp, half_bits, immediate_bits, type_bits
from asmevo.sim.ir import Value, constant, index_text, mask_text, results_of
from asmevo.sim.lanes import float_constant
from asmevo.sim.registers import GROUP, Registers
from asmevo.verdict import UnsupportedError

_OMOD = {("mul", "2"): 2.0, ("mul", "4"): 4.0, ("div", "2"): 0.5}
_FLOAT = ("f16", "f32", "f64")


def hidden_unit(slot: Slot) -> int:
    """First unit of a hidden slot."""
    return HIDDEN[slot.hidden][0]


def _refuse(instruction: Instruction, what: str) -> UnsupportedError:
    return UnsupportedError(f"`{instruction}` uses {what}, which the simulator does not model.")


class VectorEmitter:
    """Adds one VALU instruction at a time to the pending run of `registers`."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self.rules = registers.rules
        self.instruction: Instruction
        self.dpp: Dpp | None = None
        self.dpp_mask: Value | None = None

    # --- rows
    def lane(self, instruction: Instruction, row: LaneRow) -> None:
        """An ordinary VALU instruction in any encoding."""
        bound = list(bind(instruction, row))
        self._begin(instruction, bound)
        values: list[Value] = []
        printed = 0
        for slot, operand in bound:
            if not slot.is_use:
                continue
            if slot.hidden:
                values.append(self._hidden(slot))
            elif slot.tied >= 0:
                values.append(self._typed(self._raw(operand, slot.type, -1), slot.type))
            else:
                values.append(self._source(operand, slot.type, printed))
                printed += 1
        results = results_of(self._meaning(row)(self.r.vector, *values))
        defs = [(slot, operand) for slot, operand in bound if slot.is_def]
        for (slot, operand), value in zip(defs, results, strict=True):
            self._result(slot, operand, value, row)

    def _begin(self, instruction: Instruction, bound: list[tuple[Slot, Operand | None]]) -> None:
        self.instruction = instruction
        self.dpp = dpp(instruction) if instruction.encoding.endswith("dpp") else None
        self.dpp_mask = None
        numbers: list[int] = []
        masks: list[int] = []
        for slot, operand in bound:
            first, count = HIDDEN[slot.hidden] if slot.hidden else (0, 0)
            if isinstance(operand, Reg) and operand.is_scalar:
                first, count = operand.first, operand.count
            if slot.type == "mask":
                masks.append(first)
            elif count:
                numbers.extend(range(first, first + count))
        self.r.prepare(numbers, masks)
        if self.dpp and self.dpp.wave:
            self.r.flush()  # the source is read from memory, across groups

    # --- sources
    def _hidden(self, slot: Slot) -> Value:
        unit = hidden_unit(slot)
        if slot.type == "mask":
            return self.r.mask(unit)
        if unit == SCC:
            return self.r.splat(self.r.scc())
        return self.r.splat(self.r.word(unit))

    def _source(self, operand: Operand | None, kind: str, k: int) -> Value:
        """Printed source `k` as a value of its type, with its modifiers."""
        if kind == "mask":
            if isinstance(operand, Imm):
                return self.r.slice_mask(constant(immediate_bits(operand, "i64"), 64))
            if not isinstance(operand, Reg):
                raise _refuse(self.instruction, "a lane mask that is not a register")
            return self.r.mask(operand.first)
        raw = self._raw(operand, kind, k)
        if self.instruction.encoding == "sdwa":
            raw = self._sdwa_source(raw, operand, k)
        value = self._typed(raw, kind, high=self._op_sel(k))
        return self._modified(value, operand)

    def _op_sel(self, k: int) -> bool:
        """Whether op_sel takes the high half of source `k`."""
        op_sel = self.instruction.bits("op_sel", ())
        return 0 <= k < len(op_sel) and bool(op_sel[k])

    def _raw(self, operand: Operand | None, kind: str, k: int) -> Value:
        """The register or constant as an integer as wide as its type, of 32 bits at least; as f32 where it is one."""
        r = self.r
        wide = TYPE_UNITS[kind] >= 2
        if isinstance(operand, Imm):
            bits = immediate_bits(operand, kind)
            return constant(bits, max(32, 32 * TYPE_UNITS[kind]), GROUP)
        if not isinstance(operand, Reg):
            raise _refuse(self.instruction, f"the operand {operand}")
        if operand.is_scalar and operand.count <= 2:
            return r.splat(r.pair(operand.first) if wide else r.word(operand.first))
        if operand.is_scalar:
            raise _refuse(self.instruction, f"{operand.count} SGPRs as one operand")
        if kind == "f32" and not (self.dpp is not None and k == 0) and self.instruction.encoding != "sdwa":
            return r.read_float(operand.first)
        if self.dpp is not None and k == 0:
            low, *high = (self._moved(u) for u in range(operand.first, operand.first + operand.count))
        else:
            low, *high = (r.read(u) for u in range(operand.first, operand.first + operand.count))
        if not wide:
            return low
        o, bits = r.vector, 32 * operand.count
        whole = o.zext(low, bits)
        for i, part in enumerate(high, 1):
            whole = o.or_(whole, o.shl(o.zext(part, bits), o.const(32 * i, bits)))
        return whole

    def _typed(self, raw: Value, kind: str, *, high: bool = False) -> Value:
        """Raw bits as a value of an operand type."""
        o, bits = self.r.vector, type_bits(kind)
        if bits < raw.bits:
            raw = o.trunc(o.lshr(raw, o.const(16)) if high else raw, bits)
        return self._float_operand(raw, bits) if kind in _FLOAT else raw

    def _float_operand(self, raw: Value, bits: int) -> Value:
        """Bits as a float; f16 denormals are flushed here, since the host does not."""
        o = self.r.vector
        if bits == 16 and self.rules.denorm_f64 in (0, 2):
            raw = self._without_denormals(raw)
        return o.as_float(raw)

    def _without_denormals(self, raw: Value) -> Value:
        """f16 bits with denormals as zeros of their sign."""
        o = self.r.vector
        tiny = o.icmp("ult", o.and_(raw, o.const(0x7FFF, 16)), o.const(0x0400, 16))
        return o.select(tiny, o.and_(raw, o.const(0x8000, 16)), raw)

    def _modified(self, value: Value, operand: Operand | None) -> Value:
        """neg and abs. On a value that is not a float they act on the sign bit."""
        if not isinstance(operand, (Reg, Imm)) or not (operand.neg or operand.absolute):
            return value
        o = self.r.vector
        if value.kind == "f":
            value = o.fabs(value) if operand.absolute else value
            return o.fneg(value) if operand.neg else value
        sign = o.const(1 << (value.bits - 1), value.bits)
        value = o.and_(value, o.not_(sign)) if operand.absolute else value
        return o.xor(value, sign) if operand.neg else value

    def _sdwa_source(self, raw: Value, operand: Operand | None, k: int) -> Value:
        """The byte or word of a source that SDWA selects, zero or sign extended."""
        o = self.r.vector
        first, bits = SDWA_SELECTS[self.instruction.modifiers.get(f"src{k}_sel", "DWORD")]
        if bits == 32:
            return raw
        part = o.trunc(o.lshr(raw, o.const(first)), bits)
        signed = isinstance(operand, Reg) and operand.sext
        return o.sext(part, 32) if signed else o.zext(part, 32)

    # --- DPP
    def _moved(self, unit: int) -> Value:
        """A register as source 0 of a DPP instruction; sets `dpp_mask` to the lanes that are written."""
        assert self.dpp is not None
        source, valid = self._wave_move(unit) if self.dpp.wave else self._row_move(unit)
        o, r = self.r.vector, self.r
        masks: list[Value] = []
        if valid is not None:
            source = o.select(valid, source, o.const(0))
            if not self.dpp.zero_fill:
                masks.append(valid)
        if self.dpp.bank_mask != 15:
            lanes = [bool(self.dpp.bank_mask >> (n >> 2) & 1) for n in range(GROUP)]
            masks.append(Value(mask_text(lanes), "i", 1, GROUP))
        if self.dpp.row_mask != 15:
            bit = r.body.let(f"trunc i64 {r.body.let(f'lshr i64 {self.dpp.row_mask}, {r.group()}')} to i1")
            masks.append(Value(r.body.splat(bit, "i1", GROUP), "i", 1, GROUP))
        self.dpp_mask = None
        for mask in masks:
            self.dpp_mask = mask if self.dpp_mask is None else o.and_(self.dpp_mask, mask)
        return source

    def _row_move(self, unit: int) -> tuple[Value, Value | None]:
        """Source and its valid lanes for a movement within a row: one shuffle."""
        assert self.dpp is not None
        lanes = list(self.dpp.source)
        index = index_text([n if n >= 0 else 0 for n in lanes])
        value = self.r.read(unit)
        moved = self.r.body.let(f"shufflevector {value.typed}, {value.type} poison, {index}")
        source = Value(moved, "i", 32, GROUP)
        inside = Value(mask_text([n >= 0 for n in lanes]), "i", 1, GROUP)
        if not self.r.partial:
            return source, inside if -1 in lanes else None
        active = self.r.exec_mask()
        moved = self.r.body.let(f"shufflevector {active.typed}, {active.type} poison, {index}")
        valid = Value(moved, "i", 1, GROUP)
        return source, self.r.vector.and_(valid, inside) if -1 in lanes else valid

    def _wave_move(self, unit: int) -> tuple[Value, Value | None]:
        """Source and its valid lanes for a movement between rows: read from the register in memory."""
        assert self.dpp is not None
        r, o = self.r, self.r.vector
        kind, _, number = self.dpp.wave.partition(":")
        lane = o.lane_id()
        if kind == "row_bcast":  # row n reads lane 15 of row n - 1; with 31, the upper half reads lane 31
            inside = o.icmp("ugt", lane, o.const(int(number)))
            from_lane = o.sub(o.and_(lane, o.const(~15)), o.const(1)) if number == "15" else o.const(31)
        else:
            from_lane = o.add(lane, o.const(1 if kind in ("wave_shl", "wave_rol") else -1))
            inside = o.icmp("ult", from_lane, o.const(64)) if kind in ("wave_shl", "wave_shr") else None
        from_lane = o.and_(from_lane, o.const(63))
        source = self._gather(unit, from_lane)
        if r.partial:
            active = o.trunc(o.lshr(r.splat(r.pair(EXEC_LO)), o.zext(from_lane, 64)), 1)
            inside = active if inside is None else o.and_(inside, active)
        return source, inside

    def _gather(self, unit: int, lane: Value) -> Value:
        """Lanes of a register by number. The run may overwrite the register, so a copy is read."""
        body = self.r.body
        pointer = self.r.snapshot(unit, 0)
        result = "poison"
        for n in range(GROUP):
            index = body.let(f"extractelement {lane.typed}, i32 {n}")
            place = body.let(f"getelementptr i32, ptr {pointer}, i32 {index}")
            word = body.load("i32", place, 4)
            result = body.let(f"insertelement {lane.type} {result}, i32 {word}, i32 {n}")
        return Value(result, "i", 32, GROUP)

    # --- results
    def _result(self, slot: Slot, operand: Operand | None, value: Value, row: LaneRow) -> None:
        if slot.type == "mask":
            unit = hidden_unit(slot) if slot.hidden else operand.first if isinstance(operand, Reg) else VCC_LO
            if self.dpp_mask is not None:
                raise _refuse(self.instruction, "DPP with a lane mask as result")
            self.r.set_mask(unit, value)
            return
        if not isinstance(operand, Reg) or operand.is_scalar:
            raise _refuse(self.instruction, "a result that is not a vector register")
        self._write(operand.first, slot.type, self._output(value, row), row)

    def _output(self, value: Value, row: LaneRow) -> Value:
        """omod and clamp."""
        modifiers = self.instruction.modifiers
        o = self.r.vector
        if value.kind == "f":
            if not self._output_denormals(value.bits) and not self.rules.ieee:
                for name in ("mul", "div"):
                    if name in modifiers:
                        scaled = o.fmul(value, o.fconst(_OMOD[name, modifiers[name]], value.bits))
                        value = o.fadd(scaled, o.fconst(0.0, value.bits))  # -0 becomes +0
            value = self._clamped(value) if "clamp" in modifiers else value
            if value.bits == 16 and not self._output_denormals(16):
                return o.as_float(self._without_denormals(o.as_int(value)))
            return value
        if {"mul", "div"} & modifiers.keys() or ("clamp" in modifiers and row.saturated is None):
            raise _refuse(self.instruction, "clamp or omod on an integer result")
        return value

    def _output_denormals(self, bits: int) -> bool:
        """Whether denormal results are kept. Only without them, and without IEEE, output modifiers have an effect."""
        return bool((self.rules.denorm_f32 if bits == 32 else self.rules.denorm_f64) & 2)

    def _meaning(self, row: LaneRow) -> Callable[..., Any]:
        """What the row computes; with clamp its saturating form, where it has one."""
        return row.saturated if "clamp" in self.instruction.modifiers and row.saturated else row.meaning

    def _clamped(self, value: Value) -> Value:
        """Between 0 and 1; NaN gives 0 with DX10_CLAMP, else stays NaN."""
        o = self.r.vector
        zero, one = o.fconst(0.0, value.bits), o.fconst(1.0, value.bits)
        below = "ogt" if self.rules.dx10_clamp else "ugt"
        value = o.select(o.fcmp(below, value, zero), value, zero)
        return o.select(o.fcmp("olt" if self.rules.dx10_clamp else "ult", value, one), value, one)

    def _write(self, unit: int, kind: str, value: Value, row: LaneRow) -> None:
        o, r = self.r.vector, self.r
        if value.kind == "f" and value.bits == 32 and self.instruction.encoding != "sdwa":
            r.write(unit, value, self.dpp_mask)
            return
        value = o.canonical_bits(value)
        if value.bits > 32:
            for i in range(value.bits // 32):
                r.write(unit + i, o.trunc(o.lshr(value, o.const(32 * i, value.bits)), 32), self.dpp_mask)
            return
        if self.instruction.encoding == "sdwa":
            value = self._sdwa_result(unit, o.zext(value, 32), value.bits)
        elif value.bits < 32:
            value = self._narrow_result(unit, value, row)
        r.write(unit, value, self.dpp_mask)

    def _narrow_result(self, unit: int, value: Value, row: LaneRow) -> Value:
        """An 8 or 16-bit result: zero extended, or put into the part of the register that op_sel names."""
        o = self.r.vector
        op_sel = self.instruction.bits("op_sel", ())
        has_destination = len(op_sel) == len(self.instruction.operands)
        if value.bits == 16:
            first = 16 if has_destination and op_sel[-1] else 0
            keeps = first > 0 or "keeps_half" in row.tags
        else:
            first = 8 * (2 * op_sel[3] + op_sel[2]) if len(op_sel) == 4 else 0
            keeps = "keeps_byte" in row.tags
        if not keeps:
            return o.zext(value, 32)
        return self._insert(self.r.read(unit), o.zext(value, 32), first, value.bits)

    def _insert(self, old: Value, value: Value, first: int, bits: int) -> Value:
        o = self.r.vector
        kept = o.and_(old, o.const(~(((1 << bits) - 1) << first)))
        return o.or_(kept, o.shl(value, o.const(first)))

    def _sdwa_result(self, unit: int, value: Value, bits: int) -> Value:
        """Result bits in the place that dst_sel names; the rest is 0, the sign, or kept."""
        o = self.r.vector
        first, width = SDWA_SELECTS[self.instruction.modifiers.get("dst_sel", "DWORD")]
        if width == 32:
            return value
        unused = self.instruction.modifiers.get("dst_unused", "UNUSED_PAD")
        part = o.and_(value, o.const((1 << width) - 1))
        if unused == "UNUSED_PRESERVE":
            return self._insert(self.r.read(unit), part, first, width)
        if unused == "UNUSED_SEXT":
            part = o.sext(o.trunc(value, width), 32)
        return o.shl(part, o.const(first))

    # --- packed rows
    def packed(self, instruction: Instruction, row: PackedRow) -> None:
        """A VOP3P instruction: the meaning on each of two elements, or on one for the mixed precision rows."""
        bound = list(bind(instruction, row))
        self._begin(instruction, bound)
        sources = [(slot, operand) for slot, operand in bound if slot.is_use and not slot.hidden]
        destination = next(operand for slot, operand in bound if slot.is_def)
        if not isinstance(destination, Reg):
            raise _refuse(instruction, "a result that is not a register")
        selects = (instruction.bits("op_sel", (0,) * len(sources)), instruction.bits("op_sel_hi", ()))
        if row.kind == "mix":
            self._mixed(row, sources, destination, selects)
            return
        if row.kind == "mov":
            moved = [self._element(o, row.element, selects[0][i], negated=False) for i, (_, o) in enumerate(sources)]
            self._write_elements(destination.first, moved)
            return
        high = selects[1] or (1,) * len(sources)
        results: list[Value] = []
        for half, select in enumerate((selects[0], high)):
            negate = instruction.bits("neg_hi" if half else "neg_lo", (0,) * len(sources))
            values = [
                self._element(operand, row.element, select[i], negated=bool(negate[i]))
                for i, (_, operand) in enumerate(sources)
            ]
            results.append(self._output(self._meaning(row)(self.r.vector, *values), row))
        self._write_elements(destination.first, results)

    def _element(self, operand: Operand | None, element: str, high: int, *, negated: bool) -> Value:
        """One element of a packed source."""
        r, o = self.r, self.r.vector
        if TYPE_UNITS[element] == 1 and type_bits(element) == 32:  # a pair of registers
            if isinstance(operand, Imm):
                raw = constant(immediate_bits(operand, element), 32, GROUP)
            elif isinstance(operand, Reg):
                unit = operand.first + (high if operand.count > 1 else 0)
                raw = r.splat(r.word(unit)) if operand.is_scalar else self._packed_register(unit, element)
            else:
                raise _refuse(self.instruction, f"the operand {operand}")
        else:
            if isinstance(operand, Imm):
                whole = constant(half_bits(operand) if operand.is_float else operand.bits, 32, GROUP)
            else:
                whole = self._raw(operand, "b32", -1)
            raw = o.trunc(o.lshr(whole, o.const(16)) if high else whole, type_bits(element))
        value = self._float_operand(raw, raw.bits) if element in _FLOAT else raw
        return o.fneg(value) if negated and value.kind == "f" else value

    def _packed_register(self, unit: int, element: str) -> Value:
        return self.r.read_float(unit) if element == "f32" else self.r.read(unit)

    def _write_elements(self, unit: int, results: list[Value]) -> None:
        o, r = self.r.vector, self.r
        low, high = results
        if low.bits == 32:
            r.write(unit, low)
            r.write(unit + 1, high)
        else:
            low, high = o.canonical_bits(low), o.canonical_bits(high)
            r.write(unit, o.or_(o.zext(low, 32), o.shl(o.zext(high, 32), o.const(16))))

    def _mixed(
        self,
        row: PackedRow,
        sources: list[tuple[Slot, Operand | None]],
        destination: Reg,
        selects: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> None:
        """v_fma_mix: each source is f32, or an f16 half widened; neg_lo negates and neg_hi takes the absolute value."""
        o = self.r.vector
        count = len(sources)
        half = selects[1] or (0,) * count
        negate = self.instruction.bits("neg_lo", (0,) * count)
        absolute = self.instruction.bits("neg_hi", (0,) * count)
        values: list[Value] = []
        for i, (_, operand) in enumerate(sources):
            kind = "f16" if half[i] else "f32"
            value = self._typed(self._raw(operand, "b32", -1), kind, high=bool(half[i] and selects[0][i]))
            if isinstance(operand, Imm):
                value = float_constant(immediate_bits(operand, kind), type_bits(kind), GROUP)
            value = o.fpcast(value, 32)
            value = o.fabs(value) if absolute[i] else value
            value = o.fneg(value) if negate[i] else value
            values.append(self._modified(value, operand))
        result = row.meaning(o, *values)
        kind = next(slot.type for slot in row.slots if slot.is_def)
        result = self._output(result, row)
        if result.bits == 32 or kind == "f32":
            self.r.write(destination.first, result)
            return
        first = 16 if "hi" in row.name else 0
        old = self.r.read(destination.first)
        self.r.write(destination.first, self._insert(old, o.zext(o.canonical_bits(result), 32), first, 16))
