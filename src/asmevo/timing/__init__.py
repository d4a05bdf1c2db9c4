"""Modelled time: chip tables, the cycle model of a compute unit and of the chip, estimates and profiles.

A modelled time is never a measurement, and says so: `Estimate.source` is `modelled`. The model replays traces that the
simulator records, on tables of cited numbers. What it takes for granted is in `asmevo.timing.estimate.ASSUMPTIONS`.
"""

from asmevo.timing.bounds import Bounds
from asmevo.timing.chip_table import chip, chips
from asmevo.timing.chips import Chip, ClassCost, Parameter
from asmevo.timing.comparison import Comparison, comparison_of
from asmevo.timing.costs import cost_of
from asmevo.timing.encode import size_of
from asmevo.timing.ensemble import Ensemble, Timeable
from asmevo.timing.estimate import ASSUMPTIONS, Estimate, LineTimes, estimate, estimate_of
from asmevo.timing.layout import CAUSES, Cause
from asmevo.timing.occupancy import Occupancy, occupancy
from asmevo.timing.overrides import chip_of_file, override, table_of, to_toml, with_overrides
from asmevo.timing.prepared import Prepared, prepare
from asmevo.timing.profile import LineProfile, Profile, Roofline, profile
from asmevo.timing.recording import Accesses, AccessRecorder, Recording, record
from asmevo.timing.render import annotated, render
from asmevo.timing.shape import Shape, shape_of
from asmevo.timing.timeline import timeline
from asmevo.timing.traces import Trace, traces_needed
from asmevo.timing.traffic import Traffic
from asmevo.timing.windows import HotWindow

__all__ = [
    "ASSUMPTIONS",
    "CAUSES",
    "AccessRecorder",
    "Accesses",
    "Bounds",
    "Cause",
    "Chip",
    "ClassCost",
    "Comparison",
    "Ensemble",
    "Estimate",
    "HotWindow",
    "LineProfile",
    "LineTimes",
    "Occupancy",
    "Parameter",
    "Prepared",
    "Profile",
    "Recording",
    "Roofline",
    "Shape",
    "Timeable",
    "Trace",
    "Traffic",
    "annotated",
    "chip",
    "chip_of_file",
    "chips",
    "comparison_of",
    "cost_of",
    "estimate",
    "estimate_of",
    "occupancy",
    "override",
    "prepare",
    "profile",
    "record",
    "render",
    "shape_of",
    "size_of",
    "table_of",
    "timeline",
    "to_toml",
    "traces_needed",
    "with_overrides",
]
