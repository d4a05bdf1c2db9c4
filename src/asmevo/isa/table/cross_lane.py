"""VALU opcodes that move values between lanes, or between lanes and SGPRs.

`v_readlane_b32` and `v_writelane_b32` ignore EXEC; `v_readfirstlane_b32` takes the lowest active lane, lane 0 if there
is none. Movement by DPP is an encoding of ordinary rows. `ds_bpermute_b32` and its like are with the LDS rows.
"""

from __future__ import annotations

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.row import Row
from asmevo.isa.table.build import cross, lane


def _count_below(o: Algebra, mask: Value, base: Value, first: int) -> Value:
    """base + number of bits of `mask` that stand for lanes first .. first + 31 below this one."""
    lanes = o.smin(o.smax(o.sub(o.lane_id(), o.const(first)), o.const(0)), o.const(32))
    below = o.sub(o.shl(o.const(1, 64), o.zext(lanes, 64)), o.const(1, 64))
    return o.add(o.ctpop(o.and_(mask, o.trunc(below, 32))), base)


ROWS: tuple[Row, ...] = (
    cross("v_readlane_b32", "b32 = b32, u32", "readlane", "ignores_exec", "cross_lane", "lane_read", "lane_select"),
    cross("v_readfirstlane_b32", "b32 = b32", "readfirstlane", "cross_lane", "lane_read"),
    cross("v_writelane_b32", "b32 = b32, u32, @0", "writelane", "ignores_exec", "cross_lane", "lane_select"),
    lane("v_mbcnt_lo_u32_b32", "u32 = b32, u32", lambda o, mask, base: _count_below(o, mask, base, 0)),
    lane("v_mbcnt_hi_u32_b32", "u32 = b32, u32", lambda o, mask, base: _count_below(o, mask, base, 32)),
)
