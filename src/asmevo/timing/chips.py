"""Chips: what the timing model needs to know of one accelerator, each number with its unit, source and doubt.

The numbers live in `asmevo.timing.chip_table`, as rows that cite their source. A new chip is a copy with overrides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Final

from asmevo.verdict import UnsupportedError, UsageError

GIVEN: Final = "given by the user"
"""Source of a number that no table cites (`asmevo.timing.overrides`)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a chip table."""

    name: str
    """Field of `Chip`."""
    value: float
    unit: str
    source: str
    """Document, measurement or derivation; `assumed` where nothing citable was found."""
    low: float | None = None
    """Lower end of the plausible range; None where the value is not in doubt."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class ClassCost:
    """Cost of one latency class on its issue port."""

    port: int
    """Clocks for which the vector ALU takes no other instruction; 0 for other pipes."""
    result: int
    """Clocks from issue until a dependent instruction may issue; 0 where a wait counter or a queue decides."""
    source: str
    port_range: tuple[int, int] | None = None
    """Plausible range of `port` where it is in doubt."""


@dataclass(frozen=True)
class Chip:
    """One accelerator. Times in engine clocks unless the name says otherwise; bandwidths in bytes."""

    name: str
    target: str
    """Its instruction set; register, LDS and wave limits are in `asmevo.isa.limits`."""
    # the chip
    xcds: int
    """Accelerator dies; workgroup i goes to die i modulo this."""
    cus_per_xcd: int
    clock_ghz: float
    """Engine clock at which cycles become time, for kernels without matrix instructions of a type with its own clock.
    Power and performance limits are in these clocks and nowhere else."""
    clock_ghz_8: float
    """The same for kernels whose matrix instructions are mostly of 8-bit types."""
    clock_ghz_16: float
    """The same for 16-bit types."""
    hbm_bytes_per_s: float
    """Bandwidth a well-made copy reaches, not the data sheet's."""
    fabric_bytes_per_clk: float
    """Bandwidth between the L2 of one die and what lies behind it."""
    l2_bytes_per_clk: float
    """Read bandwidth of the L2 of one die."""
    mall_bytes: float
    l2_bytes: float
    hbm_latency_ns: float
    """Unloaded load-to-use latency."""
    mall_latency_ns: float
    l2_latency: int
    """Load-to-use, in clocks."""
    l1_latency: int
    scalar_latency: int
    """Scalar load that hits the scalar cache."""
    store_latency: int
    """From issue of a store until its acknowledgement lets vmcnt fall."""
    launch_us: float
    """Device time of a kernel that does nothing."""
    dispatch_clk: float
    """Clocks between two workgroups started on one die."""
    # the compute unit
    workgroups_per_cu: int
    """Workgroups of more than one wave that a compute unit can hold."""
    issue_clk: int
    """Each SIMD has an issue turn once in this many clocks. The replay is built for 4."""
    sgpr_result_clk: int
    """From a vector instruction that writes a scalar register until a scalar instruction may read it."""
    mfma_read_passes: int
    """Passes after its last until an MFMA result can be read by anything but the C operand of the next MFMA."""
    packed_f32_mfma_clk: int
    """A packed f32 instruction waits for the matrix pipe to be idle and holds it for this long."""
    lds_read_bytes_per_clk: int
    """Of one of the two LDS ports; SIMD 0 and 1 share one, SIMD 2 and 3 the other."""
    lds_write_clk_1: int
    """Port clocks of an LDS write of 1 dword a lane."""
    lds_write_clk_2: int
    lds_write_clk_3: int
    lds_write_clk_4: int
    lds_latency: int
    """LDS access, beyond its clocks on the port."""
    lds_queue_clk: int
    """LDS issue stalls while the port has more than this much work waiting."""
    l1_bytes_per_clk: int
    """The one path of a compute unit between vector memory instructions and its L1."""
    l1_line_clk: float
    """A load keeps that path at least this long for each line that it touches."""
    l2_line_clk: float
    """An access that goes past L1 keeps it at least this long for each line of which it asks for a part."""
    lds_dma_clk: int
    """A load from memory into LDS keeps that path at least this long."""
    vmem_queue_clk: int
    """Load issue stalls while that path has more than this much work waiting; stores queue nothing."""
    vmem_inflight_bytes: int
    """Bytes a compute unit keeps in flight to memory before load issue stalls."""
    barrier_clk: int
    """From the last arrival until the waves of the workgroup go on."""
    branch_clk: int
    """From issue of a taken branch to that of its target."""
    fetch_bytes: int
    """An instruction that crosses a multiple of this misses one issue turn of its wave."""
    icache_bytes: int
    classes: Mapping[str, ClassCost] = field(repr=False, hash=False)
    """Cost by latency class of the opcode rows; MFMA costs follow from the passes in the row."""
    parameters: Mapping[str, Parameter] = field(repr=False, hash=False)
    """The cited rows behind the fields."""

    @property
    def cus(self) -> int:
        return self.xcds * self.cus_per_xcd

    @property
    def lds_write_clk(self) -> tuple[int, int, int, int]:
        """Port clocks of an LDS write of 1, 2, 3, 4 dwords a lane."""
        return self.lds_write_clk_1, self.lds_write_clk_2, self.lds_write_clk_3, self.lds_write_clk_4

    @property
    def clock_status(self) -> str:
        """What is known of the clock, for reports."""
        low, high = self.range("clock_ghz")
        if self.parameters["clock_ghz"].source == GIVEN:
            return GIVEN if low == high else f"{GIVEN}; {low:g} to {high:g} GHz are plausible"
        return f"assumed, not measured; {low:g} to {high:g} GHz are plausible under load"

    def at(self, bits: int) -> Chip:
        """The chip at its clock for a width of matrix elements in bits; 0 for no matrix instructions."""
        name = f"clock_ghz_{bits}" if bits in (8, 16) else "clock_ghz"
        row = replace(self.parameters[name], name="clock_ghz")
        return replace(
            self, clock_ghz=getattr(self, name), parameters=MappingProxyType({**self.parameters, "clock_ghz": row})
        )

    def require(self, target: str) -> None:
        """Raises `UnsupportedError` unless the chip executes code of this target."""
        if target != self.target:
            raise UnsupportedError(
                f"The chip {self.name} executes {self.target} code and the object is made for {target}; give an object "
                f"for {self.target}, or a chip of {target}."
            )

    def cost(self, latency: str) -> ClassCost:
        """Cost of a latency class. Raises `UnsupportedError` for a class the chip's table does not know."""
        try:
            return self.classes[latency]
        except KeyError:
            raise UnsupportedError(
                f"The timing table of {self.name} has no latency class {latency!r}, so the kernel cannot be timed; "
                "add the class to asmevo/timing/chip_table.py."
            ) from None

    def range(self, name: str) -> tuple[float, float]:
        """Plausible range of a parameter; the value twice where it is not in doubt."""
        parameter = self.parameters[name]
        value = float(getattr(self, name))
        low = value if parameter.low is None else parameter.low
        high = value if parameter.high is None else parameter.high
        return low, high

    def with_(self, **changes: Any) -> Chip:
        """A copy with other values, for ensembles and what-if questions; the cited ranges stay."""
        unknown = sorted(set(changes) - {f.name for f in fields(self)})
        if unknown:
            raise UsageError(f"A chip has no parameter {unknown[0]!r}; the names are in asmevo/timing/chip_table.py.")
        return replace(self, **changes)


def build_chip(name: str, target: str, rows: Iterable[Parameter], classes: Mapping[str, ClassCost]) -> Chip:
    """A chip from table rows; later rows override earlier ones of the same name."""
    table = {row.name: row for row in rows}
    kinds = {f.name: str(f.type) for f in fields(Chip)}
    values: dict[str, Any] = {
        key: int(row.value) if kinds.get(key) == "int" else float(row.value) for key, row in table.items()
    }
    return Chip(
        name=name,
        target=target,
        classes=MappingProxyType(dict(classes)),
        parameters=MappingProxyType(table),
        **values,
    )
