"""Measured times and counters against the model, and the clock that they give (`asmevo calibrate`)."""

from asmevo.device.calibration.calibration import Calibration, Compared, calibrate
from asmevo.device.calibration.clock import LEAST, ClockFit, OwnClock, Subject, fit_clocks
from asmevo.device.calibration.dispatches import Dispatch, Joined, LeftOver, dispatches_of, join
from asmevo.device.calibration.doubt import Move, Told, moves
from asmevo.device.calibration.times import Measured, measured_of, own_times

__all__ = [
    "LEAST",
    "Calibration",
    "ClockFit",
    "Compared",
    "Dispatch",
    "Joined",
    "LeftOver",
    "Measured",
    "Move",
    "OwnClock",
    "Subject",
    "Told",
    "calibrate",
    "dispatches_of",
    "fit_clocks",
    "join",
    "measured_of",
    "moves",
    "own_times",
]
