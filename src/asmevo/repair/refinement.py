"""The repaired object against K0: its results are K0's in some order of waves, and those of the launch's recipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, RunLimits
from asmevo.launch import Launch, MemoryImage, build_image
from asmevo.program import recover
from asmevo.repair.races import ended, unfinished
from asmevo.sim import BlockCache, Executable, Limits, WaveOrder, execute
from asmevo.verdict import Check, Finding, Severity, Verdict

TURN = 16
"""Instructions after which a wave lets the others go on, about; blocks of code are not left in the middle."""
ORDERS = {
    **{order.value: (order, RunLimits()) for order in WaveOrder},
    f"turns of {TURN}": (WaveOrder.ASCENDING, RunLimits(turn=TURN)),
}
"""Orders in which K0 is run: each wave as far as it can, the first or the last one ahead, and in turns."""
IN_STEP = "turns of 1"
"""The one that is tried where none of those shows what the repaired object does."""


def refinement(k0: CodeObject, data: bytes, launches: Sequence[Launch], device: Device, kernel: str) -> list[Check]:
    """The check `refines`: on every launch the object leaves the bytes that K0 leaves in one of the orders. Where
    launches have recipes, the check `reference`, too: it agrees with each."""
    old, new = device.load(k0.data, kernel), device.load(data, kernel)
    cache = BlockCache()
    equal: dict[str, dict[str, bool]] = {}
    missing: list[Finding] = []
    wrong: list[Finding] = []
    compared: dict[str, list[dict[str, Any]]] = {}
    for launch in launches:
        template = build_image(launch, k0, k0.kernel(launch.kernel or kernel))
        work = _run(device, new, launch, template, WaveOrder.ASCENDING, RunLimits())
        same = {name: _same(work, _run(device, old, launch, template, *how)) for name, how in ORDERS.items()}
        if not any(same.values()):
            same[IN_STEP] = _same(work, _in_step(k0, launch, template, kernel, cache))
        equal[launch.name] = same
        if not any(same.values()):
            message = (
                f"On the launch {launch.name!r} K0 leaves what the repaired object does in none of the orders tried."
            )
            missing.append(Finding("repair.refines", message, Severity.WARNING, facts={"launch": launch.name}))
        if launch.recipe is not None and launch.sampled() is None:
            found = launch.recipe.compare(work)
            compared[launch.name] = [{"buffer": one.buffer, "agrees": one.within} for one in found]
            wrong += [
                Finding("repair.reference", f"On the launch {launch.name!r} {one.buffer} is not what its recipe gives.")
                for one in found
                if not one.within
            ]
    checks = [Check("refines", Verdict.UNKNOWN if missing else Verdict.TESTED, tuple(missing), {"equal": equal})]
    if compared:
        verdict = Verdict.REFUTED if wrong else Verdict.TESTED
        checks.append(Check("reference", verdict, tuple(wrong), {"launches": compared}))
    return checks


def _run(
    device: Device, module: Module, launch: Launch, template: MemoryImage, order: WaveOrder, limits: RunLimits
) -> MemoryImage:
    work = template.copy()
    outcome = device.run(module, launch, work, limits=limits, workgroups=launch.sampled(), wave_order=order)
    if not outcome.done:
        raise unfinished(launch, outcome.status, outcome.fault)
    return work


def _in_step(k0: CodeObject, launch: Launch, template: MemoryImage, kernel: str, cache: BlockCache) -> MemoryImage:
    """Memory after K0 whose waves execute one instruction in turn."""
    work = template.copy()
    work.load(k0)
    executable = Executable.build(recover(k0, launch.kernel or kernel), cache, single=True)
    done = execute(executable, launch, work.on_device, limits=Limits(quantum=1), workgroups=launch.sampled())
    ended(done, launch)
    return work


def _same(one: MemoryImage, other: MemoryImage) -> bool:
    """Whether two images of one layout hold the same behind the code."""
    return bool(np.array_equal(one.data[one.code_space :], other.data[other.code_space :]))
