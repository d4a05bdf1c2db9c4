"""Measured times that can be believed: paired samples, evidence that may be looked at any time, doubts about a machine.

Nothing here knows a device: whatever can run two objects in turn is a `Bench`.
"""

from asmevo.device.measure.blocks import Block, Series
from asmevo.device.measure.bound import LeastTime
from asmevo.device.measure.evidence import interval, log_evidence
from asmevo.device.measure.protocol import CacheResult, Claim, MeasuredComparison, Plan, compare, control
from asmevo.device.measure.samples import Bench, Cache, ClockLog, Sample
from asmevo.device.measure.spending import FALSE_CLAIMS, Spending

__all__ = [
    "FALSE_CLAIMS",
    "Bench",
    "Block",
    "Cache",
    "CacheResult",
    "Claim",
    "ClockLog",
    "LeastTime",
    "MeasuredComparison",
    "Plan",
    "Sample",
    "Series",
    "Spending",
    "compare",
    "control",
    "interval",
    "log_evidence",
]
