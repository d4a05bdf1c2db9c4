"""Devices: where code objects run and are timed."""

from asmevo.device.chosen import DEVICES, open_device
from asmevo.device.contract import Ability, Device, LaunchTime, Module, Outcome, RunLimits, Status, Timing, objective_of
from asmevo.device.footprint import is_large, trimmed
from asmevo.device.isolated import IsolatedDevice, simulator
from asmevo.device.objective import ObjectiveTime, ObjectiveTimer
from asmevo.sim import WaveOrder
from asmevo.timing import Comparison

__all__ = [
    "DEVICES",
    "Ability",
    "Comparison",
    "Device",
    "IsolatedDevice",
    "LaunchTime",
    "Module",
    "ObjectiveTime",
    "ObjectiveTimer",
    "Outcome",
    "RunLimits",
    "Status",
    "Timing",
    "WaveOrder",
    "is_large",
    "objective_of",
    "open_device",
    "simulator",
    "trimmed",
]
