"""Spacing rules: how many wait states software must put between two instructions, as rows.

One wait state is one issued instruction of the wave, of any kind; `s_nop N` gives N+1. A rule asks for that many
*between* producer and consumer. Numbers are what LLVM 22 enforces (`GCNHazardRecognizer.cpp`), reproduced by running
it for both targets; AMD's own kernels sit closer in places, so a rule is not proof that hardware breaks without it.
That is why each has a severity, and why a gate compares with the original kernel. `asmevo.isa.roles` says which
registers of an instruction are in which class.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TypeAlias

from asmevo.verdict import Severity, UnsupportedError


class Relation(StrEnum):
    """How producer and consumer registers must relate for a rule to apply."""

    OVERLAP = "overlap"
    PARTIAL = "partial"
    """Overlap without being the same tuple: the accumulator is not forwarded."""
    SAME = "same"
    """The same tuple, first register and size."""
    SAME_OTHER_OPCODE = "same, other opcode"
    OTHER_OPCODE = "overlap, other opcode"
    SAME_OPCODE = "overlap, same opcode"


@dataclass(frozen=True, slots=True)
class SpacingRule:
    """One producer class against one consumer class on one target."""

    name: str
    """Stable name, e.g. `mfma_valu_read`."""
    producer: str
    consumer: str
    states: int
    """Required wait states between the two."""
    relation: Relation
    severity: Severity
    source: str

    @property
    def key(self) -> str:
        """What the smallest distance in the original kernel is an allowance for: this rule and both its classes."""
        return f"{self.name}:{self.producer}:{self.consumer}:{self.relation.name.lower()}"


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_MAI = "LLVM GCNHazardRecognizer checkMAIVALUHazards, checkMAIHazards90A"
_VALU = "LLVM GCNHazardRecognizer checkVALUHazards"

_ANY_MATRIX = {
    "xdl2": (5, 5), "xdl4": (7, 8), "xdl8": (11, 12), "xdl16": (19, 20),
    "sgemm2": (4, 4), "sgemm8": (10, 10), "sgemm16": (18, 18),
}  # fmt: skip
_C_OF_XDL = {"xdl2": (3, 4), "xdl4": (5, 6), "xdl8": (9, 10), "xdl16": (17, 18)}
_C_OF_OTHER = {
    "xdl2": (3, 3), "xdl4": (5, 6), "xdl8": (9, 10), "xdl16": (17, 18),
    "sgemm2": (2, 2), "sgemm8": (8, 8), "sgemm16": (16, 16), "dgemm4": (4, 4), "dgemm16": (9, 17),
}  # fmt: skip

_Matrix: TypeAlias = tuple[str, str, Relation, Severity, dict[str, tuple[int, int]]]
_MATRIX: tuple[_Matrix, ...] = (
    ("mfma_valu_read", "valu_read", Relation.OVERLAP, _W, _ANY_MATRIX | {"dgemm4": (6, 6), "dgemm16": (11, 19)}),
    ("mfma_mem_read", "mem_read", Relation.OVERLAP, _W, _ANY_MATRIX | {"dgemm4": (9, 9), "dgemm16": (18, 18)}),
    ("mfma_overwrite", "vgpr_write", Relation.OVERLAP, _W, _ANY_MATRIX | {"dgemm4": (6, 6), "dgemm16": (11, 11)}),
    ("mfma_mfma_ab", "mfma_ab", Relation.OVERLAP, _E, _ANY_MATRIX | {"dgemm4": (6, 6), "dgemm16": (11, 19)}),
    ("mfma_mfma_c_same", "mfma_c", Relation.SAME, _E, {"xdl2": (2, 2), "sgemm2": (2, 2)}),
    ("mfma_mfma_c_same", "dgemm4_c", Relation.SAME, _E, {"dgemm4": (4, 4)}),
    ("mfma_mfma_c_overlap", "xdl_c", Relation.PARTIAL, _E, _C_OF_XDL),
    ("mfma_mfma_c_overlap", "other_c", Relation.PARTIAL, _E, _C_OF_OTHER),
    # Forwarding of the accumulator between different opcodes is in doubt (LLVM PR 218363, open): read as an overlap.
    ("mfma_mfma_c_other", "xdl_c", Relation.SAME_OTHER_OPCODE, _W, _C_OF_XDL),
    ("mfma_mfma_c_other", "other_c", Relation.SAME_OTHER_OPCODE, _W, _C_OF_OTHER),
    # The matrix unit still reads C while it works: an early write is a write after read.
    ("mfma_c_overwrite", "vgpr_write", Relation.OVERLAP, _E,
     {"xdl2_c": (1, 1), "xdl4_c": (3, 3), "xdl8_c": (7, 7), "xdl16_c": (15, 15)}),
)  # fmt: skip
"""Name, consumer, relation, severity, and by producer class (named with its passes) states for (gfx942, gfx950)."""

_Plain: TypeAlias = tuple[str, str, str, int, int, Relation, Severity, str]
_O = Relation.OVERLAP
_PLAIN: tuple[_Plain, ...] = (
    ("valu_mfma", "valu_vgpr", "mfma_read", 2, 2, _O, _E, "LLVM checkMAIHazards90A"),
    ("exec_mfma", "valu_exec", "mfma_exec", 4, 4, _O, _E, "LLVM checkMAIHazards90A"),
    ("dgemm_fma64", "dgemm_any", "fma64", 2, 2, _O, _E, "LLVM checkMAIVALUHazards"),
    ("trans_valu", "trans", "plain_valu_read", 1, 1, _O, _E, f"{_VALU}, hasTransForwardingHazard"),
    ("partial_valu", "partial", "valu_touch", 1, 1, _O, _E, "LLVM getDstSelForwardingOperand"),
    ("valu_dpp", "valu_vgpr", "dpp_source", 2, 2, _O, _N, "LLVM checkDPPHazards"),
    ("valu_dpp_other", "valu_vgpr", "dpp_other", 2, 2, _O, _N, "LLVM checkDPPHazards, wider than the ISA hazard"),
    ("exec_dpp", "valu_exec", "dpp_exec", 5, 5, _O, _E, "LLVM checkDPPHazards"),
    ("sgpr_valu", "valu_sgpr", "valu_scalar", 2, 2, _O, _W, f"{_VALU}, hasVDecCoExecHazard"),
    ("exec_valu", "valu_exec", "valu_exec_operand", 2, 2, _O, _E, f"{_VALU}, hasVDecCoExecHazard"),
    ("sgpr_lane_select", "valu_sgpr", "lane_select", 4, 4, _O, _E, "LLVM checkRWLaneHazards"),
    ("exec_lane", "valu_exec", "lane_exec", 4, 4, _O, _E, _VALU),
    ("vgpr_readlane", "valu_vgpr", "lane_read", 1, 1, _O, _E, _VALU),
    ("vcc_div_fmas", "valu_sgpr", "div_fmas", 4, 4, _O, _E, "LLVM checkDivFMasHazards"),
    ("dot_read", "dot", "mem_read", 3, 3, _O, _E, "LLVM checkMAIVALUHazards"),
    ("dot_read", "dot", "valu_read", 3, 3, Relation.OTHER_OPCODE, _E, "LLVM checkMAIVALUHazards"),
    ("dot_read", "dot", "dot_ab", 3, 3, Relation.SAME_OPCODE, _E, "LLVM checkMAIVALUHazards"),
    ("dot_overwrite", "dot", "vgpr_write", 3, 3, Relation.OTHER_OPCODE, _E, "LLVM checkMAIVALUHazards"),
    ("permlane_swap", "valu_vgpr", "permlane_swap", 0, 2, _O, _N, "LLVM checkPermlaneHazards"),
    ("exec_permlane_swap", "valu_exec", "permlane_exec", 0, 4, _O, _N, "LLVM checkPermlaneHazards"),
    ("sgpr_vmem", "valu_sgpr", "vmem_scalar", 5, 5, _O, _E, "LLVM checkVMEMHazards"),
    ("exec_vmem", "valu_exec", "vmem_exec", 5, 5, _O, _N, "LLVM checkVMEMHazards; need of the hardware unverified"),
    ("wide_store", "wide_store", "vector_write", 2, 2, _O, _E, "LLVM createsVALUHazard"),
    ("wide_store_soffset", "wide_store_soffset", "vector_write", 1, 1, _O, _W, "LLVM PR 197267, unsettled"),
    ("m0_use", "salu_m0", "m0_use", 1, 1, _O, _N, "LLVM checkReadM0Hazards"),
    ("setreg", "setreg", "hwreg", 2, 2, _O, _E, "LLVM checkGetRegHazards, checkSetRegHazards"),
    ("vskip", "vskip", "skippable", 2, 2, _O, _N, "gfx9 ISA documents, manually inserted wait states; none in LLVM"),
)
"""Name, producer, consumer, states on gfx942, on gfx950, relation, severity, source."""

_COLUMN = {"gfx942": 0, "gfx950": 1}
PRODUCERS = frozenset(p for *_, by in _MATRIX for p in by) | {row[1] for row in _PLAIN}
"""All producer classes."""
CONSUMERS = frozenset(row[1] for row in _MATRIX) | {row[2] for row in _PLAIN}
"""All consumer classes."""


@cache
def spacing_rules(target: str) -> tuple[SpacingRule, ...]:
    """All rules of `gfx942` or `gfx950`. Raises `UnsupportedError` for another target."""
    if target not in _COLUMN:
        raise UnsupportedError(f"The spacing rules of {target} are not known; use an object for gfx942 or gfx950.")
    column = _COLUMN[target]
    matrix = (
        SpacingRule(name, producer, consumer, states[column], relation, severity, _MAI)
        for name, consumer, relation, severity, by_producer in _MATRIX
        for producer, states in by_producer.items()
    )
    plain = (
        SpacingRule(name, producer, consumer, (gfx942, gfx950)[column], relation, severity, source)
        for name, producer, consumer, gfx942, gfx950, relation, severity, source in _PLAIN
    )
    return tuple(rule for rule in (*matrix, *plain) if rule.states)


@cache
def rules_between(target: str) -> dict[tuple[str, str], tuple[SpacingRule, ...]]:
    """Rules by (producer class, consumer class)."""
    table: dict[tuple[str, str], tuple[SpacingRule, ...]] = {}
    for rule in spacing_rules(target):
        pair = (rule.producer, rule.consumer)
        table[pair] = (*table.get(pair, ()), rule)
    return table


@cache
def reach(target: str) -> dict[str, int]:
    """Largest required distance by producer class: how far back a checker must look."""
    table: dict[str, int] = {}
    for rule in spacing_rules(target):
        table[rule.producer] = max(table.get(rule.producer, 0), rule.states)
    return table
