"""Native matrix functions: operands unpacked to one number for each lane and element, and the products of each shape.

An operand is first unpacked into a *panel*: for element j of a lane, 64 numbers, one for each lane. Unpacking depends
on the element type, the products only on the shape, and operands that several instructions share are unpacked once.

Layouts (AMD matrix instruction calculator, gfx942). A: lane = row + M * block + M * blocks * g holds the k of group
g, k = e * g + j for its e elements j; B alike with columns. C and D in 32 bits: lane = g * N + column, and of the R
registers of a block, register r holds row 4 * (64 / N) * (r / 4) + 4 * g + r % 4; of 4x4 blocks, lane = 4 * block +
column, row r. In f64: lane = 16 * g + column, register pair r holds row 4 * r + g; of 4x4 blocks, lane = 16 * row + 4
* block + column.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.isa import MatrixRow
from asmevo.sim.ir import Builder, Module, constant, index_text
from asmevo.sim.lanes import LaneAlgebra
from asmevo.sim.layout import LANES, ROW
from asmevo.sim.runtime.unpack import ELEMENT_BITS

_LINE = "<16 x float>"
_WIDE = "<16 x double>"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the products depend on."""

    m: int
    n: int
    k: int
    blocks: int
    c_type: str

    @property
    def name(self) -> str:
        """The function's name."""
        return f"sim_mma_{self.c_type}_{self.m}x{self.n}x{self.k}x{self.blocks}"

    @property
    def sparse_name(self) -> str:
        """The function's name for SMFMAC."""
        return f"sim_smma_{self.c_type}_{self.m}x{self.n}x{self.k}"

    @property
    def elements(self) -> int:
        """Elements of B in a lane, and of A, of which SMFMAC has half as many."""
        return self.m * self.k * self.blocks // LANES

    @property
    def groups(self) -> int:
        """Groups of lanes that share the k of a block."""
        return LANES // (self.m * self.blocks)

    @property
    def registers(self) -> int:
        """Numbers of C in a lane."""
        return self.m * self.n * self.blocks // LANES

    @classmethod
    def of(cls, row: MatrixRow) -> Shape:
        return cls(row.m, row.n, row.k, row.blocks, row.c_type)


def operand_registers(row: MatrixRow, element: str) -> int:
    """Registers of operand A or B."""
    return Shape.of(row).elements * ELEMENT_BITS[element] // 32


PRODUCT_PARAMETERS = {"d": "ptr", "c": "ptr", "step": "i64", "a": "ptr", "b": "ptr"}
"""Registers of C are `step` bytes apart (0: one row serves all); a and b are panels."""


def product_module(shape: Shape) -> Module:
    """void sim_mma_...(d, c, step, a, b): D = A B + C, k in ascending order, each step a fused multiply-add.

    Each part of C is read before the same part of D is written; where D overlaps C otherwise, the caller copies C.
    """
    module = Module()
    with module.function(shape.name, "void", PRODUCT_PARAMETERS) as f:
        if shape.c_type == "f64":
            _double(f, shape)
        elif shape.m == 4:
            _small(f, shape)
        else:
            _tiles(f, shape)
        f.do("ret void")
    return module


SPARSE_PARAMETERS = {"d": "ptr", "a": "ptr", "b": "ptr", "places": "ptr"}
"""`places` is what `sim_select_sparse` makes of the indices."""


def sparse_module(shape: Shape) -> Module:
    """void sim_smma_...(d, a, b, places): D = A B + D for a sparse A, element after element of A.

    Numbers of B that no element of A stands for do not take part, whatever they are.
    """
    module = Module()
    with module.function(shape.sparse_name, "void", SPARSE_PARAMETERS) as f:
        lane_groups, quads = LANES // shape.n, shape.registers // 4
        with f.loop(quads) as quad, f.loop(lane_groups) as group:
            row = f.i64("add", f.i64("mul", quad, 4 * lane_groups), f.i64("shl", group, 2))
            d, lanes = f.at("%d", f.i64("shl", quad, 2), ROW), f.i64("mul", group, shape.n)
            with f.loop(shape.n // 16) as half, f.loop(4) as r:
                column = f.i64("shl", half, 4)
                place = f.at(f.at(d, r, ROW), f.i64("add", lanes, column), 4)
                own = f.i64("add", row, r)
                total = _load_c(f, shape, place)
                for k in range(shape.groups):
                    for e in range(shape.elements // 2):
                        at = 4 * (e * LANES + k * shape.m)
                        left = f.splat(f.load("float", f.at(f.at("%a", at), own, 4), 4), "float", 16)
                        distance = f.cast("zext", f.load("i32", f.at(f.at("%places", at), own, 4), 4), "i32", "i64")
                        line = f.at(f.at(f.at("%b", 4 * k * shape.n), column, 4), distance)
                        total = _fma(f, _LINE, "f32", left, f.load(_LINE, line, 64), total)
                _store_d(f, shape, total, place, place)
        f.do("ret void")
    return module


def _fma(f: Builder, kind: str, suffix: str, a: str, b: str, c: str) -> str:
    name = f.module.intrinsic(f"llvm.fma.v16{suffix}", kind, kind, kind, kind)
    return f.call(kind, name, f"{kind} {a}", f"{kind} {b}", f"{kind} {c}")


def _load_c(f: Builder, shape: Shape, place: str) -> str:
    """The accumulator's start: for integers 0, since C is added at the end."""
    return f.load(_LINE, place, 64) if shape.c_type == "f32" else "zeroinitializer"


def _store_d(f: Builder, shape: Shape, total: str, c_place: str, d_place: str) -> None:
    """Write the result; integer products are exact in f32 (below 2**24), and are added to C modulo 2**32."""
    if shape.c_type == "f32":
        f.store(_LINE, total, d_place, 64)
        return
    vector = "<16 x i32>"
    whole = f.cast("fptosi", total, _LINE, vector)
    f.store(vector, f.op("add", vector, whole, f.load(vector, c_place, 64)), d_place, 64)


def _tiles(f: Builder, shape: Shape) -> None:
    """M = N = 16 or 32: tiles of four rows (four registers of one group of lanes) by sixteen columns."""
    lane_groups = LANES // shape.n
    quads = shape.registers // 4 // shape.blocks
    for block in range(shape.blocks):
        first_lane = block * shape.groups * shape.m
        with f.loop(quads) as quad, f.loop(lane_groups) as group:
            register = f.i64("shl", quad, 2)
            if block:
                register = f.i64("add", register, block * quads * 4)
            row = f.i64("add", f.i64("mul", quad, 4 * lane_groups), f.i64("shl", group, 2))
            a = f.at("%a", f.i64("add", row, first_lane), 4)
            c = f.at("%c", f.i64("mul", register, "%step"))
            d = f.at("%d", register, ROW)
            lanes = f.i64("mul", group, shape.n)
            with f.loop(shape.n // 16) as half:
                column = f.i64("shl", half, 4)
                b = f.at("%b", f.i64("add", column, first_lane), 4)
                lane = f.i64("add", lanes, column)
                _tile(f, shape, a, b, f.at(c, lane, 4), f.at(d, lane, 4))


def _tile(f: Builder, shape: Shape, a: str, b: str, c: str, d: str) -> None:
    places = [c]
    for _ in range(3):
        places.append(f.at(places[-1], "%step"))
    totals = [_load_c(f, shape, p) for p in places]
    for group in range(shape.groups):
        for j in range(shape.elements):
            at = 4 * (j * LANES + group * shape.m)
            line = f.load(_LINE, f.at(b, at), 64)
            for r in range(4):
                scalar = f.splat(f.load("float", f.at(a, at + 4 * r), 4), "float", 16)
                totals[r] = _fma(f, _LINE, "f32", scalar, line, totals[r])
    for r, total in enumerate(totals):
        _store_d(f, shape, total, places[r], f.at(d, r * ROW))


def _small(f: Builder, shape: Shape) -> None:
    """M = N = 4: sixteen lanes hold four blocks; row r of each is spread over its four lanes by a shuffle."""
    with f.loop(LANES // 16) as part:
        lane = f.i64("shl", part, 4)
        a, b = f.at("%a", lane, 4), f.at("%b", lane, 4)
        for r in range(4):
            c = f.at(f.at("%c", f.i64("mul", "%step", r)), lane, 4)
            total = _load_c(f, shape, c)
            spread = index_text([4 * (n // 4) + r for n in range(16)])
            for j in range(shape.elements):
                left, right = (f.load(_LINE, f.at(p, 4 * j * LANES), 64) for p in (a, b))
                left = f.let(f"shufflevector {_LINE} {left}, {_LINE} poison, {spread}")
                total = _fma(f, _LINE, "f32", left, right, total)
            _store_d(f, shape, total, c, f.at(f.at("%d", r * ROW), lane, 4))


def _double(f: Builder, shape: Shape) -> None:
    """f64: panels and C hold doubles, C as pairs of registers (low words, high words).

    Group g of sixteen lanes holds row 4 r + g of pair r; with 4x4 blocks, row g of the four blocks next to each other.
    """
    for r in range(shape.registers):
        for group in range(LANES // 16):
            c = f.at(f.at("%c", f.i64("mul", "%step", 2 * r)), 64 * group)
            total = _join(f, c, f.at(c, "%step"))
            for k in range(shape.k):
                columns = f.load(_WIDE, f.at("%b", 8 * 16 * k), 64)
                if shape.m == 4:
                    rows = f.load(_WIDE, f.at("%a", 8 * 16 * k), 64)
                    spread = index_text([4 * (n // 4) + group for n in range(16)])
                    rows = f.let(f"shufflevector {_WIDE} {rows}, {_WIDE} poison, {spread}")
                else:
                    place = f.at("%a", 8 * (16 * k + 4 * r + group))
                    rows = f.splat(f.load("double", place, 8), "double", 16)
                total = _fma(f, _WIDE, "f64", rows, columns, total)
            _split(f, total, f.at("%d", 2 * r * ROW + 64 * group))


def _join(f: Builder, low: str, high: str) -> str:
    o = LaneAlgebra(f, 16)
    words = [f.cast("zext", f.load("<16 x i32>", p, 64), "<16 x i32>", "<16 x i64>") for p in (low, high)]
    whole = f.op("or", "<16 x i64>", words[0], f.op("shl", "<16 x i64>", words[1], constant(32, 64, o.lanes).text))
    return f.cast("bitcast", whole, "<16 x i64>", _WIDE)


def _split(f: Builder, value: str, place: str) -> None:
    whole = f.cast("bitcast", value, _WIDE, "<16 x i64>")
    high = f.op("lshr", "<16 x i64>", whole, constant(32, 64, 16).text)
    for word, target in ((whole, place), (high, f.at(place, ROW))):
        f.store("<16 x i32>", f.cast("trunc", word, "<16 x i64>", "<16 x i32>"), target, 64)
