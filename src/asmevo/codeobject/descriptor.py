"""The 64-byte kernel descriptor: what the hardware is told about a kernel. It is the truth; metadata is not.

Source: LLVM `AMDGPUUsage`, "Kernel Descriptor" (GFX6-GFX12 layout, gfx90a and gfx942 columns).
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.verdict import InputError

SIZE = 64

_FIELDS: dict[str, tuple[int, int, int]] = {
    "lds_size": (0, 0, 32),
    "private_size": (4, 0, 32),
    "kernarg_size": (8, 0, 32),
    "entry_offset": (16, 0, 64),
    "rsrc3": (44, 0, 32),
    "rsrc1": (48, 0, 32),
    "rsrc2": (52, 0, 32),
    "properties": (56, 0, 16),
    "kernarg_preload_length": (58, 0, 7),
    "kernarg_preload_offset": (58, 7, 9),
    "vgpr_blocks": (48, 0, 6),
    "sgpr_blocks": (48, 6, 4),
    "round_f32": (48, 12, 2),
    "round_f64": (48, 14, 2),
    "denorm_f32": (48, 16, 2),
    "denorm_f64": (48, 18, 2),
    "dx10_clamp": (48, 21, 1),
    "ieee": (48, 23, 1),
    "fp16_overflow": (48, 26, 1),
    "private_segment": (52, 0, 1),
    "user_sgpr_count": (52, 1, 5),
    "workgroup_id_x": (52, 7, 1),
    "workgroup_id_y": (52, 8, 1),
    "workgroup_id_z": (52, 9, 1),
    "workgroup_info": (52, 10, 1),
    "workitem_id_mode": (52, 11, 2),
    "accum_blocks": (44, 0, 6),
    "tg_split": (44, 16, 1),
    "private_segment_buffer": (56, 0, 1),
    "dispatch_ptr": (56, 1, 1),
    "queue_ptr": (56, 2, 1),
    "kernarg_segment_ptr": (56, 3, 1),
    "dispatch_id": (56, 4, 1),
    "flat_scratch_init": (56, 5, 1),
    "private_segment_size": (56, 6, 1),
    "wave32": (56, 10, 1),
    "dynamic_stack": (56, 11, 1),
}
"""Field name to (byte offset, first bit, number of bits) in the little-endian word at that offset."""

_GRANULES = {
    "vgpr_alloc": ("vgpr_blocks", 8, 1),
    "accum_offset": ("accum_blocks", 4, 1),
    "sgpr_alloc": ("sgpr_blocks", 8, 2),
}
"""Register counts to (field, registers in a block, blocks that the value 0 means); gfx9 gives SGPRs in pairs of 8."""


@dataclass(frozen=True, slots=True)
class FloatMode:
    """Rounding (0 nearest even, 1 up, 2 down, 3 to zero), denormals (0 flush both, 1 flush out, 2 flush in, 3 keep)."""

    round_f32: int
    round_f64: int
    denorm_f32: int
    denorm_f64: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A kernel descriptor as its 64 bytes; properties decode them, `with_` changes single fields."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != SIZE:
            raise InputError(f"A kernel descriptor has {SIZE} bytes, not {len(self.raw)}; pass exactly these.")

    def field(self, name: str) -> int:
        """The value of one field of the format by name, unsigned."""
        at, shift, bits = _FIELDS[name]
        return int.from_bytes(self.raw[at : at + 8], "little") >> shift & (1 << bits) - 1

    def with_(self, **fields: int) -> Descriptor:
        """The descriptor with fields changed: names of the format, or `vgpr_alloc`, `sgpr_alloc`, `accum_offset`.

        Raises `InputError` for an unknown name or a value that does not fit.
        """
        word = int.from_bytes(self.raw, "little")
        for name, value in fields.items():
            if name in _GRANULES:
                name, granule, bias = _GRANULES[name]
                value = -(-value // granule) - bias
                value += value & 1 if name == "sgpr_blocks" else 0
            if name not in _FIELDS:
                raise InputError(f"A kernel descriptor has no field {name!r}; known are {', '.join(_FIELDS)}.")
            at, shift, bits = _FIELDS[name]
            if name == "entry_offset":
                value &= (1 << 64) - 1
            if not 0 <= value < 1 << bits:
                raise InputError(f"The value of the descriptor field {name!r} does not fit in {bits} bits.")
            place = at * 8 + shift
            word = word & ~(((1 << bits) - 1) << place) | value << place
        return Descriptor(word.to_bytes(SIZE, "little"))

    def _registers(self, name: str) -> int:
        field, granule, bias = _GRANULES[name]
        blocks = self.field(field)
        if field == "sgpr_blocks":  # LLVM writes odd numbers too; gfx9 grants pairs of blocks and drops the last bit
            blocks &= ~1
        return (blocks + bias) * granule

    @property
    def lds_size(self) -> int:
        """Static LDS in bytes."""
        return self.field("lds_size")

    @property
    def private_size(self) -> int:
        """Scratch bytes of a work-item."""
        return self.field("private_size")

    @property
    def kernarg_size(self) -> int:
        """Kernarg bytes; 0 in most of AMD's own objects, so use `Kernel.kernarg_size`."""
        return self.field("kernarg_size")

    @property
    def entry_offset(self) -> int:
        """Signed distance in bytes from the descriptor to the first instruction."""
        return int.from_bytes(self.raw[16:24], "little", signed=True)

    @property
    def rsrc1(self) -> int:
        return self.field("rsrc1")

    @property
    def rsrc2(self) -> int:
        return self.field("rsrc2")

    @property
    def rsrc3(self) -> int:
        return self.field("rsrc3")

    @property
    def vgpr_alloc(self) -> int:
        """Vector registers granted to a wave, AGPRs included: a multiple of 8."""
        return self._registers("vgpr_alloc")

    @property
    def accum_offset(self) -> int:
        """Number of the granted registers that are architectural VGPRs; the rest are AGPRs."""
        return self._registers("accum_offset")

    @property
    def sgpr_alloc(self) -> int:
        """Scalar registers granted, the specials included: a multiple of 16."""
        return self._registers("sgpr_alloc")

    @property
    def user_sgpr_count(self) -> int:
        return self.field("user_sgpr_count")

    @property
    def workgroup_id_x(self) -> bool:
        return bool(self.field("workgroup_id_x"))

    @property
    def workgroup_id_y(self) -> bool:
        return bool(self.field("workgroup_id_y"))

    @property
    def workgroup_id_z(self) -> bool:
        return bool(self.field("workgroup_id_z"))

    @property
    def workgroup_info(self) -> bool:
        return bool(self.field("workgroup_info"))

    @property
    def workitem_id_mode(self) -> int:
        """Work-item ids given in VGPRs: 0 x, 1 x and y, 2 x, y and z (packed in v0 on gfx90a and later)."""
        return self.field("workitem_id_mode")

    @property
    def kernarg_preload_length(self) -> int:
        """Kernarg dwords preloaded to user SGPRs."""
        return self.field("kernarg_preload_length")

    @property
    def kernarg_preload_offset(self) -> int:
        """First preloaded kernarg dword."""
        return self.field("kernarg_preload_offset")

    @property
    def private_segment_buffer(self) -> bool:
        return bool(self.field("private_segment_buffer"))

    @property
    def dispatch_ptr(self) -> bool:
        return bool(self.field("dispatch_ptr"))

    @property
    def queue_ptr(self) -> bool:
        return bool(self.field("queue_ptr"))

    @property
    def kernarg_segment_ptr(self) -> bool:
        return bool(self.field("kernarg_segment_ptr"))

    @property
    def dispatch_id(self) -> bool:
        return bool(self.field("dispatch_id"))

    @property
    def flat_scratch_init(self) -> bool:
        return bool(self.field("flat_scratch_init"))

    @property
    def private_segment_size(self) -> bool:
        """Whether the scratch size is given in a user SGPR."""
        return bool(self.field("private_segment_size"))

    @property
    def private_segment(self) -> bool:
        """Whether the wave gets scratch memory."""
        return bool(self.field("private_segment"))

    @property
    def float_mode(self) -> FloatMode:
        """Float mode at the kernel's start; the f64 fields rule f16 as well."""
        return FloatMode(*(self.field(n) for n in ("round_f32", "round_f64", "denorm_f32", "denorm_f64")))

    @property
    def ieee(self) -> bool:
        return bool(self.field("ieee"))

    @property
    def dx10_clamp(self) -> bool:
        return bool(self.field("dx10_clamp"))
