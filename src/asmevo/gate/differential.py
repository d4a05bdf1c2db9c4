"""The candidate on the same launches as K0: whole memory compared as bytes, launch after launch, under both poisons and
with workgroups and waves in two orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, Outcome
from asmevo.gate.baseline import REPEATS, SHOWN, Baseline, LaunchBaseline, Track
from asmevo.gate.memory import describe_difference
from asmevo.launch import MemoryImage
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict


@dataclass(frozen=True, slots=True)
class Differential:
    """The check, and which lines of the candidate were executed."""

    check: Check
    executed: set[int]
    """Positions in the candidate's program that some launch executed, vector instructions with a lane."""


def differential(candidate: CodeObject, kernel: str | None, baseline: Baseline, device: Device) -> Differential:
    """Run the candidate on every usable launch, the quickest first, until something differs."""
    executed: set[int] = set()
    compared = 0
    facts: dict[str, object] = {"poisons": [], "repeats": REPEATS, "launches": []}
    usable = baseline.usable
    try:
        module = device.load(candidate.data, kernel)
    except UnsupportedError as error:
        return Differential(_unknown(f"The candidate cannot be executed: {error}", facts), executed)
    for known in usable:
        for track in known.all_tracks:
            finding, size = _compare(candidate, module, known, track, device, executed)
            compared += size
            if finding is not None:
                verdict = Verdict.REFUTED if finding.severity is Severity.ERROR else Verdict.UNKNOWN
                return Differential(Check("differential", verdict, (finding,), facts), executed)
    facts |= {"poisons": list(dict.fromkeys(t.template.poison for known in usable for t in known.all_tracks))}
    facts |= {"launches": [b.launch.name for b in usable], "bytes_compared": compared}
    if not usable:
        return Differential(_unknown("No launch was there to run.", facts), executed)
    return Differential(Check("differential", Verdict.TESTED, (), facts), executed)


def _compare(
    candidate: CodeObject, module: Module, known: LaunchBaseline, track: Track, device: Device, executed: set[int]
) -> tuple[Finding | None, int]:
    launch, size = known.launch, 0
    clean = False
    try:
        for repeat, expected in enumerate(track.after):
            outcome = device.run(
                module,
                launch,
                track.work,
                limits=known.limits,
                workgroups=launch.sampled(),
                wave_order=track.order,
            )
            executed.update(outcome.lines_active)
            where: dict[str, object] = {"launch": launch.name, "poison": track.template.poison, "repeat": repeat}
            where["wave_order"] = track.order.value
            if not outcome.done:
                return _failed(outcome, where), size
            if not _code_intact(candidate, track.work):
                message = f"The candidate overwrites its own code on the launch {launch.name!r}."
                return Finding("diff.code", message, facts=where), size
            if not expected.equals(track.template, track.work):
                offsets = expected.differences(track.template, track.work)
                sentence, facts = describe_difference(expected, track.template, track.work, offsets)
                message = (
                    f"On the launch {launch.name!r} (run {repeat + 1}, poison 0x{track.template.poison:02x}) {sentence}"
                )
                return Finding("diff.bytes", message, facts=where | facts), size
            size += len(track.work.data) - track.work.code_space
        track.after[-1].restore(track.template, track.work)
        clean = True
        return None, size
    finally:
        if not clean:
            track.reset()


def _code_intact(candidate: CodeObject, image: MemoryImage) -> bool:
    low, code = candidate.load_image()
    space = image.data[: image.code_space]
    loaded = np.array_equal(space[low : low + len(code)], np.frombuffer(code, np.uint8))
    return loaded and not space[:low].any() and not space[low + len(code) :].any()


def _failed(outcome: Outcome, where: dict[str, object]) -> Finding:
    reason = outcome.fault.message if outcome.fault else "There is no more to say."
    severity = Severity.ERROR if outcome.status in SHOWN else Severity.WARNING
    message = f"On the launch {where['launch']!r} the candidate ends with {outcome.status}. {reason}"
    facts = dict(outcome.fault.facts) if outcome.fault else {}
    return Finding(
        f"diff.{outcome.status}", message, severity, outcome.fault.line if outcome.fault else None, where | facts
    )


def _unknown(message: str, facts: dict[str, object]) -> Check:
    return Check("differential", Verdict.UNKNOWN, (Finding("diff.unknown", message, Severity.WARNING),), facts)
