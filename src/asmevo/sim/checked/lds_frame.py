"""What the functions of the LDS shadow have in common: the tables of a workgroup, and what an entry of one holds."""

from __future__ import annotations

from asmevo.sim.checked.fields import get, shadow_of, wide
from asmevo.sim.checked.layout import GROUP, LOG, SHADOW
from asmevo.sim.ir import Builder

AGENT = (1 << 5) - 1
"""Bits of a record of a write that name the agent."""
ALL_BYTES = 15
"""The four bytes of a dword, as bits."""
UPDATE = 4
"""Mode of an access that is an atomic, besides READ, WRITE and DMA."""


class Frame:
    """What every function of the shadow loads first."""

    def __init__(self, f: Builder) -> None:
        self.shadow = shadow_of(f)
        self.group = get(f, self.shadow, SHADOW, "group")
        self.wave = get(f, self.shadow, SHADOW, "wave")
        self.stamp = get(f, self.shadow, SHADOW, "stamp")
        self.epoch = get(f, self.shadow, SHADOW, "epoch")
        self.parity = wide(f, f.i32("and", self.epoch, 1))
        self.dwords = get(f, self.group, GROUP, "dwords")
        names = ("readers", "writers", "written", "last")
        self.readers, self.writers, self.written, self.last = (get(f, self.group, GROUP, name) for name in names)

    def suspect(self, f: Builder) -> str:
        """Writes from this stamp on may be under way."""
        lower = f.module.intrinsic("llvm.smin.i32", "i32", "i32", "i32")
        opened, late = (get(f, self.group, GROUP, name, self.parity) for name in ("open", "late"))
        return f.call("i32", lower, f"i32 {opened}", f"i32 {late}")

    def row_of(self, f: Builder, wave: str) -> str:
        """The reads of a wave."""
        return f.at(self.readers, f.i64("mul", wave, f.i64("shl", self.dwords, 2)))

    def logged(self, f: Builder, stamp: str) -> str:
        """The place of the access with a stamp."""
        log = get(f, self.group, GROUP, "log")
        return f.load("i32", f.at(log, wide(f, f.i32("and", stamp, LOG - 1)), 4), 4)
