"""The ledger of what the simulator does not do bit for bit as gfx942 does, or does not do at all.

Bits that this ledger does not mention are meant to be those of the hardware. Two programs that execute the same
instructions on the same values agree in every bit here, whatever stands in the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that may differ from hardware."""

    what: str
    """Opcodes or behaviour, in the words of the ISA."""
    here: str
    """What the simulator does."""
    hardware: str
    """What the hardware does, as far as it is known."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """Opcodes whose error is known here and on hardware, in units in the last place of the exact result."""

    opcodes: tuple[str, ...]
    how: str
    """How results come about here."""
    here: float
    """Largest error here; half a unit where results are correctly rounded."""
    hardware: float
    """Largest error on hardware, as documented."""
    note: str = ""
    """What else is known of hardware."""

    @property
    def apart(self) -> int:
        """How many floats a result here and one of hardware may be apart."""
        return floor(self.here + self.hardware)

    @property
    def difference(self) -> Difference:
        """What the ledger says."""
        there = f"within {self.hardware:.9g} units in the last place{self.note}"
        return Difference(", ".join(self.opcodes), f"{self.how}, within {self.here:g} units in the last place", there)


_SEED = ": a seed for Newton steps"
APPROXIMATIONS: tuple[Approximation, ...] = (
    Approximation(("v_exp_f32",), "Taylor polynomial of degree 7", 1, 1, "; denormal results may be flushed"),
    Approximation(("v_log_f32",), "series of artanh", 3, 1),
    Approximation(
        ("v_rcp_f32", "v_rcp_iflag_f32", "v_sqrt_f32", "v_rcp_f16", "v_sqrt_f16"), "correctly rounded", 0.5, 1
    ),
    Approximation(("v_rsq_f32", "v_rsq_f16"), "root and reciprocal correctly rounded", 1.5, 1),
    Approximation(("v_rcp_f64", "v_sqrt_f64"), "correctly rounded", 0.5, 2**29, _SEED),
    Approximation(("v_rsq_f64",), "root and reciprocal correctly rounded", 1.5, 2**29, _SEED),
)
"""Approximations of known relative error."""

LEDGER: tuple[Difference, ...] = (
    Difference(
        "MFMA and SMFMAC summation",
        "k ascending, one f32 fused multiply-add for each k on top of C; f64 alike; integers exact modulo 2**32",
        "groups of products are summed at once, with an order and rounding that AMD does not publish",
    ),
    Difference(
        "MFMA denormals",
        "kept in inputs and results, also in kernels whose mode flushes f32",
        "documented as kept on MI300",
    ),
    Difference(
        "xf32 MFMA inputs", "rounded to 10 fraction bits, nearest even", "rounding of the inputs is not published"
    ),
    *(approximation.difference for approximation in APPROXIMATIONS),
    Difference("v_sin_f32, v_cos_f32", "absolute error below 2**-22", "absolute error below 2**-20 within 256 turns"),
    Difference(
        "NaN",
        "a NaN that VALU arithmetic gives is 0x7fc00000 (0x7e00 in f16); MFMA passes on a NaN of its choice",
        "the first NaN operand, quieted",
    ),
    Difference(
        "denormals that MODE flushes",
        "in operands of arithmetic, comparisons, minima and conversions, and in results found tiny after rounding; "
        "moves, selects and bit operations keep them",
        "the same, minimum and maximum in doubt, and whether tininess is found before rounding",
    ),
    Difference(
        "rounding other than to nearest even",
        "of f32, and of f16 and f64, as MODE says, by the type of the result; divisions step by step, and "
        "transcendentals as their polynomials round",
        "the same for sums, products and fused ones; conversions between widths in doubt",
    ),
    Difference(
        "IEEE mode",
        "a signalling NaN makes minimum and maximum a quiet NaN; output modifiers have no effect",
        "the same; float exceptions are not raised here",
    ),
    Difference(
        "v_cvt_sr_fp8_f32, v_cvt_sr_bf8_f32",
        "the seed's highest 20 or 21 bits are added to the f32, with their carry, and the rest is cut off",
        "the ISA document wraps the sum around in the fraction and rounds to nearest, which would not be unbiased",
    ),
    Difference(
        "v_cvt_pk_u8_f32, v_cvt_pkaccum_u8_f32, v_cvt_norm and v_cvt_pknorm",
        "toward zero to bytes; to nearest even of the exact product to normalised integers",
        "rounding is not documented",
    ),
    Difference(
        "s_movrels, s_movreld beyond the last SGPR, sub-dword loads to LDS",
        "the last SGPR; a dword of LDS for each lane, the number extended",
        "out of range is undefined; the same as far as is documented",
    ),
    Difference(
        "HW_REG_XCC_ID",
        "the workgroup's number modulo 8; other hardware registers than MODE are refused",
        "the die that runs the workgroup",
    ),
    Difference(
        "waits, hazards, clocks",
        "every instruction completes before the next one; s_memtime counts instructions; a checked run tells of what "
        "the waits allow to be late, and of accesses that nothing orders",
        "asynchronous memory, independent pipes",
    ),
    Difference(
        "registers, LDS and scratch before the first write",
        "the poison byte of the run, the same in every workgroup; EXEC, MODE and the kernel's arguments are defined",
        "whatever was there",
    ),
    Difference(
        "wave order",
        "a wave runs until it waits, polls memory or ends; workgroups one after the other, from the first to the last "
        "or back, another one early only when all that are under way poll",
        "any interleaving",
    ),
    Difference(
        "atomics of several lanes",
        "lanes in ascending order; float sums to nearest even, denormals kept, in LDS flushed as MODE says",
        "any order; rounding of memory-side f32 and bf16 addition in doubt",
    ),
    Difference(
        "buffer range checks",
        "each dword in bytes against NUM_RECORDS with the scalar offset; with a stride and an index, the index",
        "as the ISA document says, multi-dword accesses at the edge in doubt",
    ),
    Difference(
        "swizzled buffers",
        "elements of 4 bytes",
        "GFX9 descriptors have no element size; that it is 4 is what drivers assume",
    ),
    Difference("LDS out of range", "ends the run with a finding", "loads 0, drops stores"),
    Difference("atomics that are not aligned", "end the run with a finding", "a memory violation"),
    Difference(
        "flat addresses",
        "LDS at 1 << 48, scratch at 2 << 48, as Linux sets the apertures up",
        "wherever the driver puts the apertures",
    ),
)
"""Every known difference."""
