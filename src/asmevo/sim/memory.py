"""Emission of memory rows: a call that checks the addresses of the lanes, then one that moves the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from asmevo.isa import Imm, Instruction, MemoryRow, Off, Operand, Reg, Space, bind
from asmevo.isa.registers import M0, VGPR_BASE
from asmevo.sim.checked.blocks import BlockChecks
from asmevo.sim.ir import Builder, Value, constant
from asmevo.sim.lanes import LaneAlgebra
from asmevo.sim.layout import LANES, VECTORS, WAVE
from asmevo.sim.registers import GROUP, STATE, Registers
from asmevo.sim.runtime.accesses import load_name, store_name
from asmevo.sim.runtime.addresses import OFFSETS
from asmevo.verdict import UnsupportedError

_ACCESS = ("ptr", "ptr", "i64", "ptr")
_BUFFER_MODIFIERS = {"offen", "idxen", "offset", "lds", "sc0", "sc1", "nt", "glc", "slc", "scc", "dlc"}


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The checked lanes of an access: base address in the host, offsets, and which lanes take part."""

    base: str
    offsets: str
    mask: str


class MemoryEmitter:
    """Emits memory instructions as straight-line calls; ends the pending run first, since they work on memory."""

    def __init__(self, registers: Registers, checks: BlockChecks | None = None) -> None:
        self.r = registers
        self.checks = checks
        self.b = registers.b
        self._fields: dict[str, str] = {}
        self._atomics: dict[str, str] = {}

    def emit(self, instruction: Instruction, row: MemoryRow, at: int) -> None:
        """One memory instruction, number `at` of its block."""
        if row.space is Space.SCALAR:
            self._scalar(instruction, row, at)
            return
        operands = [operand for slot, operand in bind(instruction, row) if not slot.hidden and slot.tied < 0]
        self.r.flush()
        if row.space is Space.LDS:
            self._lds(instruction, row, at, operands)
        elif row.space is Space.BUFFER:
            self._buffer(instruction, row, at, operands)
        else:
            self._flat(instruction, row, at, operands)

    # --- small parts
    def _field(self, name: str) -> str:
        """A pointer field of the wave's state, loaded once for each block."""
        if name not in self._fields:
            self._fields[name] = self.b.load("ptr", self.b.at(STATE, WAVE[name].offset), 8)
        return self._fields[name]

    def _extern(self, name: str, result: str, *arguments: str) -> str:
        """Call a runtime function with arguments given as `type value`."""
        self.r.module.extern(name, result, *(a.split(" ")[0] for a in arguments))
        return self.b.call(result, name, *arguments)

    def _row(self, operand: Operand | None, instruction: Instruction) -> str:
        """Address of the vector register that holds an address or data."""
        if isinstance(operand, Reg) and not operand.is_scalar:
            return self.r.vector_pointer(operand.first)
        raise UnsupportedError(f"`{instruction}` needs a vector register where it has {operand}.")

    def _word(self, operand: Operand | None, instruction: Instruction) -> Value:
        """A scalar operand of 32 bits."""
        if isinstance(operand, Imm):
            return constant(operand.bits, 32)
        if isinstance(operand, Reg) and operand.is_scalar:
            return self.r.word(operand.first)
        if isinstance(operand, Off):
            return constant(0, 32)
        raise UnsupportedError(f"`{instruction}` has the scalar operand {operand}, which the simulator does not model.")

    # --- data
    def _move(self, row: MemoryRow, lanes: _Lanes, data: str) -> None:
        """Load or store one element of each lane."""
        name = load_name(row.size, row.extend) if row.kind == "load" else store_name(row.size, row.extend)
        self._access(name, lanes, data)

    def _access(self, name: str, lanes: _Lanes, data: str) -> None:
        self._extern(name, "void", f"ptr {lanes.base}", f"ptr {lanes.offsets}", f"i64 {lanes.mask}", f"ptr {data}")

    # --- LDS
    def _lds(self, instruction: Instruction, row: MemoryRow, at: int, operands: list[Operand | None]) -> None:
        if "gds" in instruction.modifiers:
            raise UnsupportedError(f"`{instruction}` uses the GDS, which gfx942 does not have.")
        if "wave_count" in row.tags:
            self._count_wave(instruction, row, at, operands[0])
            return
        defs = sum(slot.is_def and not slot.hidden for slot in row.slots_for(instruction))
        if "addtid" in row.tags:
            address, data = self._lane_addresses(0), operands
        else:
            address = self._row(operands[defs], instruction)
            data = operands[:1] if row.kind == "load" else operands[defs + 1 :]
        if row.elements == 1:
            starts = [instruction.number("offset")]
        else:
            unit = row.size * row.stride
            starts = [unit * instruction.number("offset0"), unit * instruction.number("offset1")]
        lanes = [self._lds_lanes(address, start, row.size, at, slot) for slot, start in enumerate(starts)]
        if self.checks is not None:
            for i, part in enumerate(lanes):
                stored = self._row(data[i], instruction) if row.kind == "store" else "null"
                self.checks.lds(row, part.offsets, part.mask, stored, at)
        if row.kind == "atomic":
            returned = operands[0] if defs else None
            given = [[d] for d in data] if row.elements == 2 else [data]
            for i, (part, own) in enumerate(zip(lanes, given, strict=True)):
                self._atomic(instruction, row, part, own, _element(returned, i, row), at)
            return
        for i, part in enumerate(lanes):
            operand = _element(data[0], i, row) if row.kind == "load" else data[i]
            self._move(row, part, self._row(operand, instruction))

    def _temporary(self, number: int) -> str:
        """Address of one of the engine's own vector registers."""
        return self.r.vector_pointer(VGPR_BASE + VECTORS + number)

    def _fill(self, row: str, value: str, step: int = 0) -> None:
        """Set all lanes of a vector register to an i32, plus `step` times the lane."""
        kind = f"<{GROUP} x i32>"
        first = self.b.splat(value, "i32", GROUP)
        for lane in range(0, LANES, GROUP):
            numbers = first
            if step:
                offsets = "<" + ", ".join(f"i32 {step * (lane + n)}" for n in range(GROUP)) + ">"
                numbers = self.b.op("add", kind, first, offsets)
            self.b.store(kind, numbers, self.b.at(row, 4 * lane), 64)

    def _lane_addresses(self, number: int) -> str:
        """A temporary with the LDS address of each lane's dword: M0[15:0] + 4 * lane."""
        o, row = self.r.scalar, self._temporary(number)
        self._fill(row, o.and_(self.r.word(M0), o.const(0xFFFF)).text, 4)
        return row

    def _count_wave(self, instruction: Instruction, row: MemoryRow, at: int, target: Operand | None) -> None:
        """One atomic at M0[15:0] for the wave, with its number of active lanes, all of which get the old value."""
        o = self.r.scalar
        place, count, old = (self._temporary(n) for n in range(3))
        active = Value(self.r.exec_bits(), "i", 64, 1)
        self._fill(place, o.and_(self.r.word(M0), o.const(0xFFFF)).text)
        self._fill(count, o.trunc(o.ctpop(active), 32).text)
        first = o.and_(active, o.sub(o.const(0, 64), active)).text
        start = instruction.number("offset")
        mask = self._extern(
            "sim_lds", "i64", f"ptr {STATE}", f"ptr {place}", f"i64 {start}", f"i64 {first}",
            f"i64 {row.size}", f"i32 {at}", "i64 0",
        )  # fmt: skip
        lanes = _Lanes(self._field("lds"), self._field("offsets"), mask)
        if self.checks is not None:
            self.checks.lds(row, lanes.offsets, lanes.mask, "null", at)
        self._apply(row, lanes, [count], old, at)
        result = self._row(target, instruction)
        with self.b.each_bit(first) as lane:
            value = self.b.load("i32", self.b.at(old, lane, 4), 4)
            with self.b.each_bit(self.r.exec_bits()) as other:
                self.b.store("i32", value, self.b.at(result, other, 4), 4)

    def _lds_lanes(self, address: str, start: int, size: int, at: int, slot: int) -> _Lanes:
        mask = self._extern(
            "sim_lds", "i64", f"ptr {STATE}", f"ptr {address}", f"i64 {start}", f"i64 {self.r.exec_bits()}",
            f"i64 {size}", f"i32 {at}", f"i64 {slot}",
        )  # fmt: skip
        return _Lanes(self._field("lds"), self.b.at(self._field("offsets"), slot * OFFSETS), mask)

    # --- global, flat and scratch
    def _flat(self, instruction: Instruction, row: MemoryRow, at: int, operands: list[Operand | None]) -> None:
        defs = sum(slot.is_def and not slot.hidden for slot in row.slots_for(instruction))
        to_lds = "lds_dma" in row.tags or "lds" in instruction.modifiers
        address = operands[defs]
        has_base = row.space is not Space.FLAT
        base = operands[-1] if has_base else None
        data = operands[:1] if row.kind == "load" else operands[defs + 1 : len(operands) - has_base]
        offset = instruction.number("offset")
        if row.space is Space.SCRATCH:
            lanes = self._private_lanes(instruction, address, base, offset, row.size, at)
        else:
            lanes = self._global_lanes(instruction, row.space, address, base, offset, row.size, at)
            self._check_global(instruction, row, lanes, data, at)
        if to_lds:
            self._to_lds(instruction, row, lanes, offset, at)
        elif row.kind == "atomic":
            self._atomic(instruction, row, lanes, data, operands[0] if defs else None, at)
        else:
            self._move(row, lanes, self._row(data[0], instruction))

    def _check_global(
        self, instruction: Instruction, row: MemoryRow, lanes: _Lanes, data: list[Operand | None], at: int
    ) -> None:
        if self.checks is not None:
            stored = self._row(data[0], instruction) if row.kind == "store" else "null"
            mask = lanes.mask
            if row.space is Space.FLAT:  # lanes that use LDS or scratch are none of global memory
                self.checks.flat(row, mask)
                mask = self._extern("sim_in_image", "i64", f"ptr {STATE}", f"i64 {mask}")
            self.checks.global_(instruction, row, mask, stored, at)

    def _global_lanes(
        self,
        instruction: Instruction,
        space: Space,
        address: Operand | None,
        base: Operand | None,
        offset: int,
        size: int,
        at: int,
    ) -> _Lanes:
        row = self._row(address, instruction)
        tail = (f"i64 {self.r.exec_bits()}", f"i64 {size}", f"i32 {at}")
        if isinstance(base, Reg):
            o = self.r.scalar
            start = o.add(self.r.pair(base.first), o.const(offset, 64))
            mask = self._extern("sim_global32", "i64", f"ptr {STATE}", f"ptr {row}", f"i64 {start.text}", *tail)
        else:
            name = "sim_global64" if space is Space.GLOBAL else "sim_flat"
            mask = self._extern(name, "i64", f"ptr {STATE}", f"ptr {row}", f"i64 {offset}", *tail)
        return _Lanes(self._field("image"), self._field("offsets"), mask)

    def _private_lanes(
        self, instruction: Instruction, address: Operand | None, base: Operand | None, offset: int, size: int, at: int
    ) -> _Lanes:
        o = self.r.scalar
        row = self._row(address, instruction) if isinstance(address, Reg) else "null"
        start = o.add(o.sext(self._word(base, instruction), 64), o.const(offset, 64))
        mask = self._extern(
            "sim_private", "i64", f"ptr {STATE}", f"ptr {row}", f"i64 {start.text}", f"i64 {self.r.exec_bits()}",
            f"i64 {size}", f"i32 {at}",
        )  # fmt: skip
        return _Lanes(self._field("private"), self._field("offsets"), mask)

    # --- buffers
    def _buffer(self, instruction: Instruction, row: MemoryRow, at: int, operands: list[Operand | None]) -> None:
        modifiers = instruction.modifiers
        if "format" in row.tags:
            raise UnsupportedError(f"`{instruction}` converts formats of memory, which the simulator does not model.")
        unknown = modifiers.keys() - _BUFFER_MODIFIERS
        if unknown:
            raise UnsupportedError(
                f"`{instruction}` has the modifier {unknown.pop()}, which the simulator does not model."
            )
        to_lds = "lds" in modifiers
        *data, address, words, soffset = operands
        if not isinstance(words, Reg):
            raise UnsupportedError(f"`{instruction}` has no buffer descriptor.")
        index_row = offset_row = "null"
        if isinstance(address, Reg):
            first = self._row(address, instruction)
            if "idxen" in modifiers:
                index_row = first
                offset_row = self.r.vector_pointer(address.first + 1) if "offen" in modifiers else "null"
            elif "offen" in modifiers:
                offset_row = first
        exec_bits = self.r.exec_bits()
        offset = instruction.number("offset")
        mask = self._extern(
            "sim_buffer", "i64", f"ptr {STATE}", f"ptr {self.r.scalar_pointer(words.first)}",
            f"i32 {self._word(soffset, instruction).text}", f"ptr {offset_row}", f"ptr {index_row}", f"i64 {offset}",
            f"i64 {exec_bits}", f"i64 {row.size}", f"i32 {at}",
        )  # fmt: skip
        lanes = _Lanes(self._field("image"), self._field("offsets"), mask)
        self._check_global(instruction, row, lanes, data, at)
        if self.checks is not None:
            rest = self.b.i64("and", self.b.i64("xor", lanes.mask, -1), exec_bits)
            self.checks.rest(instruction, row, rest, "null", at)
        if to_lds:
            self._to_lds(instruction, row, lanes, offset, at)
        elif row.kind == "atomic":
            self._atomic(instruction, row, lanes, data, data[0] if "sc0" in modifiers else None, at)
        else:
            pointer = self._row(data[0], instruction)
            self._move(row, lanes, pointer)
            self._out_of_range(row, lanes, exec_bits, pointer)

    def _out_of_range(self, row: MemoryRow, lanes: _Lanes, exec_bits: str, data: str) -> None:
        """Lanes that are not in range as a whole: dwords out of range load 0 and are not stored."""
        rest = self.b.i64("and", self.b.i64("xor", lanes.mask, -1), exec_bits)
        if row.size >= 4:
            words = row.size // 4
            name = f"sim_rest_{row.kind}"
            arguments = (f"ptr {lanes.base}", f"ptr {lanes.offsets}", f"i64 {rest}", f"ptr {data}", f"i64 {words}")
            arguments += (f"ptr {STATE}",)
            self._extern(name, "void", *arguments)
        elif row.kind == "load":
            self.r.module.declarations.setdefault("sim_zeros", "@sim_zeros = external constant i8")
            self.r.module.imports.add("sim_zeros")
            self._move(row, _Lanes("@sim_zeros", "@sim_zeros", rest), data)

    def _to_lds(self, instruction: Instruction, row: MemoryRow, lanes: _Lanes, offset: int, at: int) -> None:
        """LDS-DMA: lane n goes to LDS at M0 + offset + 4 n, bytes and words extended to a dword."""
        o = self.r.scalar
        target = o.add(o.zext(self.r.word(M0), 64), o.const(offset, 64))
        if self.checks is not None:
            self.checks.lds_dma(self.r.exec_bits(), target.text, at)
        if row.size < 4:
            data = self._temporary(0)
            self._fill(data, "0")
            self._move(row, lanes, data)
            address = self._temporary(1)
            self._fill(address, self.r.word(M0).text, 4)
            self._access(store_name(4, ""), self._lds_lanes(address, offset, 4, at, 0), data)
            return
        self._extern(
            "sim_lds_dma", "void", f"ptr {STATE}", f"i64 {lanes.mask}", f"i64 {self.r.exec_bits()}",
            f"i64 {target.text}", f"i32 {at}",
        )  # fmt: skip

    # --- atomics
    def _atomic(
        self,
        instruction: Instruction,
        row: MemoryRow,
        lanes: _Lanes,
        data: list[Operand | None],
        result: Operand | None,
        at: int,
    ) -> None:
        target = self._row(result, instruction) if result is not None else "null"
        self._apply(row, lanes, [self._row(d, instruction) for d in data], target, at)

    def _apply(self, row: MemoryRow, lanes: _Lanes, rows: list[str], target: str, at: int) -> None:
        """An atomic of lanes in turn with the data in `rows`; old values go to the register `target`.

        Atomics must be aligned, on memory and on LDS.
        """
        base = self.b.load("i64", self.b.at(STATE, WAVE["image_base"].offset), 8) if row.space is not Space.LDS else "0"
        bytes_ = 8 if row.atomic_type.endswith("64") else 4
        aligned = self._extern(
            "sim_aligned", "i64", f"ptr {STATE}", f"ptr {lanes.offsets}", f"i64 {base}", f"i64 {lanes.mask}",
            f"i64 {bytes_}", f"i32 {at}",
        )  # fmt: skip
        lanes = replace(lanes, mask=aligned)
        function = self._atomic_function(row, len(rows))
        arguments = (f"ptr {lanes.base}", f"ptr {lanes.offsets}", f"i64 {lanes.mask}", f"ptr {target}")
        changed = self.b.call("i64", function, *arguments, *(f"ptr {r}" for r in rows))
        self._note(changed)

    def _note(self, changed: str) -> None:
        """Tell the scheduler whether an atomic changed memory: a wave that polls with atomics does not."""
        self._extern("sim_note_change", "void", f"ptr {STATE}", f"i64 {changed}")

    def _atomic_function(self, row: MemoryRow, operands: int) -> str:
        """A function of this module that applies the row's meaning to each lane in turn, by compare and exchange."""
        name = f"atomic_{row.name}"
        if name in self._atomics:
            return name
        assert row.atomic is not None
        bits = 64 if row.atomic_type.endswith("64") else 32
        kind = f"i{bits}"
        parameters = {"base": "ptr", "offsets": "ptr", "lanes": "i64", "result": "ptr"}
        parameters |= {f"data{i}": "ptr" for i in range(operands)}
        with self.r.module.function(name, "i64", parameters, "nounwind ") as f:
            o = LaneAlgebra(f, 1)
            changed = f.variable("i64", "0")
            with f.each_bit("%lanes") as lane:
                place = f.at("%base", f.load("i64", f.at("%offsets", lane, 8), 8))
                wide = _data_bits(row) == 2 * bits
                values = [_lane_value(f, f"%data{i}", lane, bits, 0) for i in range(operands)]
                if wide:
                    values.append(_lane_value(f, "%data0", lane, bits, bits // 32))
                typed = [o.as_float(v) if row.atomic_type.startswith("f") else v for v in values]
                old, new = _exchange(f, o, row, place, kind, typed)
                changed.update("or", _difference(f, kind, old, new))
                with f.when(f.let("icmp ne ptr %result, null")):
                    target = f.at("%result", lane, 4)
                    f.store("i32", old if bits == 32 else f.cast("trunc", old, kind, "i32"), target, 4)
                    if bits == 64:
                        high = f.cast("trunc", f.i64("lshr", old, 32), "i64", "i32")
                        f.store("i32", high, f.at(target, 256), 4)
            f.do(f"ret i64 {changed.get()}")
        self._atomics[name] = name
        return name

    # --- scalar memory
    def _scalar(self, instruction: Instruction, row: MemoryRow, at: int) -> None:
        operands = [operand for slot, operand in bind(instruction, row) if not slot.hidden and slot.tied < 0]
        data, base, offset = operands
        if not isinstance(data, Reg) or not isinstance(base, Reg):
            raise UnsupportedError(f"`{instruction}` has an operand that is not a scalar register.")
        o = self.r.scalar
        distance = o.add(o.zext(self._word(offset, instruction), 64), o.const(instruction.number("offset"), 64))
        if isinstance(offset, Imm):
            distance = o.const(offset.signed + instruction.number("offset"), 64)
        if "scratch_units" in row.tags:
            distance = o.shl(distance, o.const(6, 64))
        tail = (f"i64 {row.size}", f"i32 {at}")
        pointer = self.r.scalar_pointer(base.first)
        if "scalar_buffer" in row.tags:
            if self.checks is not None:
                self.checks.scoped(instruction, row)
            place = self._scalar_buffer_place(row, pointer, distance, at)
        else:
            address = o.add(self.r.pair(base.first), distance)
            if self.checks is not None:
                self.checks.scalar(instruction, row, address.text, at)
            place = self._extern("sim_scalar", "ptr", f"ptr {STATE}", f"i64 {address.text}", *tail)
        if row.kind == "atomic":
            self._scalar_atomic(instruction, row, place, data)
            return
        for i in range(row.size // 4):
            word = self.b.at(place, 4 * i)
            if row.kind == "load":
                self.r.set_word(data.first + i, Value(self.b.load("i32", word, 4), "i", 32, 1))
                continue
            if "scalar_buffer" in row.tags and i:  # each dword is in range or not
                word = self._scalar_buffer_place(row, pointer, o.add(distance, o.const(4 * i, 64)), at)
            self.b.store("i32", self.r.word(data.first + i).text, word, 4)

    def _scalar_buffer_place(self, row: MemoryRow, pointer: str, distance: Value, at: int) -> str:
        """Address of loaded dwords, of the first one to store, or of the number of an atomic."""
        name = "sim_scalar_buffer" if row.kind == "load" else "sim_scalar_place"
        size = 4 if row.kind == "store" else row.size
        arguments = (f"ptr {STATE}", f"ptr {pointer}", f"i64 {distance.text}", f"i64 {size}", f"i32 {at}")
        return self._extern(name, "ptr", *arguments)

    def _scalar_atomic(self, instruction: Instruction, row: MemoryRow, place: str, data: Reg) -> None:
        """One exchange for the wave; with glc the data registers take the old value."""
        bits = 8 * row.size
        values = [
            self.r.pair(data.first + i) if bits == 64 else self.r.word(data.first + i)
            for i in range(0, data.count, bits // 32)
        ]
        before, after = _exchange(self.b, self.r.scalar, row, place, f"i{bits}", values)
        self._note(_difference(self.b, f"i{bits}", before, after))
        old = Value(before, "i", bits, 1)
        if "glc" in instruction.modifiers:
            (self.r.set_pair if bits == 64 else self.r.set_word)(data.first, old)


def _element(operand: Operand | None, number: int, row: MemoryRow) -> Operand | None:
    """The registers of element `number` in those of both."""
    if row.elements == 1 or not isinstance(operand, Reg):
        return operand
    words = row.size // 4
    return replace(operand, first=operand.first + number * words, count=words)


def _data_bits(row: MemoryRow) -> int:
    """Bits of the first data operand of an atomic: printed first by buffer forms, after the address by others."""
    if "wave_count" in row.tags:
        return 32
    uses = [s for s in row.slots if s.is_use and not s.hidden]
    data = uses[0 if row.space is Space.BUFFER else 1]
    return int(data.type.lstrip("buif"))


def _lane_value(f: Builder, row: str, lane: str, bits: int, skip: int) -> Value:
    """An integer of 32 or 64 bits from one lane of consecutive registers, `skip` registers after the first."""
    place = f.at(f.at(row, lane, 4), 256 * skip)
    low = f.load("i32", place, 4)
    if bits == 32:
        return Value(low, "i", 32, 1)
    high = f.cast("zext", f.load("i32", f.at(place, 256), 4), "i32", "i64")
    whole = f.i64("or", f.cast("zext", low, "i32", "i64"), f.i64("shl", high, 32))
    return Value(whole, "i", 64, 1)


def _difference(f: Builder, kind: str, old: str, new: str) -> str:
    """Bits in which two values differ, as i64."""
    bits = f.op("xor", kind, old, new)
    return bits if kind == "i64" else f.cast("zext", bits, kind, "i64")


def _exchange(f: Builder, o: LaneAlgebra, row: MemoryRow, place: str, kind: str, data: list[Value]) -> tuple[str, str]:
    """Read, compute, compare and exchange until nobody came in between; gives the old and the new value."""
    assert row.atomic is not None
    bits = int(kind[1:])
    first = f.load(kind, place, 1)
    before, head, done = f.label, f.fresh("try"), f.fresh("done")
    old, seen = f.name(), f.name()
    f.jump(head)
    f.start(head)
    f.do(f"{old} = phi {kind} [{first}, %{before}], [{seen}, %{head}]")
    value = Value(old, "i", bits, 1)
    new = o.as_int(row.atomic(o, o.as_float(value) if row.atomic_type.startswith("f") else value, *data))
    pair = f.let(f"cmpxchg ptr {place}, {kind} {old}, {new.typed} monotonic monotonic")
    f.do(f"{seen} = extractvalue {{ {kind}, i1 }} {pair}, 0")
    ok = f.let(f"extractvalue {{ {kind}, i1 }} {pair}, 1")
    f.do(f"br i1 {ok}, label %{done}, label %{head}")
    f.start(done)
    return old, new.text
