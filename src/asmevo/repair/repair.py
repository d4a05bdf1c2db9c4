"""Repair of a kernel whose waves race through LDS: find the races, place barriers, build the object, show what it does.

An `s_barrier` that all waves of a workgroup reach only takes interleavings away, as does a wait: whatever the repaired
object does, K0 can do. So it is K0 with fewer orders of waves, and a reference to judge candidates by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from asmevo.codeobject import CodeObject
from asmevo.device import Device, RunLimits
from asmevo.edit import Edit, Insert, apply_all
from asmevo.gate import Baseline, align
from asmevo.launch import Launch
from asmevo.program import Program, check_rebuild, control_kind, rebuild, recover
from asmevo.program.asynchronous import Kind
from asmevo.repair.places import (
    Place,
    aligned,
    gaps,
    kind_at,
    meetings,
    partners_of,
    place_barriers,
    wait_for,
)
from asmevo.repair.races import RACE, Observation, Pair, barriers_of, observe, phases
from asmevo.repair.refinement import refinement
from asmevo.repair.uniform import uniform_blocks
from asmevo.sim import BlockCache
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict, weakest

ROUNDS = 8
"""Repairs that are tried, each with the races that the last one left."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What was found of a kernel, and the object without its races."""

    k0: CodeObject
    kernel: str
    races: Mapping[Pair, tuple[str, ...]]
    """Pairs of lines that race, and on which launches; empty where there is nothing to repair."""
    places: tuple[Place, ...] = ()
    data: bytes | None = None
    """The repaired object; None where there is nothing to repair."""
    checks: tuple[Check, ...] = ()
    texts: Mapping[int, str] = field(default_factory=dict[int, str])
    """Instructions of the racing lines."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What turns K0 into the repaired object."""
        return _edits(self.places)

    @property
    def verdict(self) -> Verdict:
        """The weakest of the checks; UNKNOWN without any."""
        return weakest(check.verdict for check in self.checks)


@dataclass(frozen=True, slots=True)
class _Built:
    """An object with insertions, and what checked runs say of it."""

    places: tuple[Place, ...]
    edited: Program
    data: bytes
    fixed: Program
    """The object's program, K0's ids on K0's lines."""
    after: Observation


def repair(
    k0: CodeObject,
    launches: Sequence[Launch],
    device: Device,
    kernel: str | None = None,
    fetch_bytes: int | None = None,
) -> Repair:
    """Find the races through LDS on the launches, and build an object without them.

    With `fetch_bytes`, the unit in which code is fetched, nops behind the insertions keep the code behind them where it
    is against its boundaries, if an object with them is faster on the device. Raises `UnsupportedError` where no
    barrier can part the races, `InputError` where K0 cannot be rebuilt.
    """
    program, cache = recover(k0, kernel), BlockCache()
    seen = observe(program, launches, cache)
    if not seen.races:
        return Repair(k0, program.kernel.name, {})

    def build(places: tuple[Place, ...]) -> _Built:
        edited = apply_all(program, _edits(places))
        data = rebuild(edited)
        fixed = align(program, recover(CodeObject.parse(data, "the repaired object"), kernel))
        return _Built(places, edited, data, fixed, observe(fixed, launches, cache))

    def examined(built: _Built) -> Repair:
        checks = [_resulting(built), _evidence(built), _checked(seen, built.after)]
        if all(check.verdict.admitted for check in checks):
            checks += [_orders(built.data, launches, device, kernel)]
            checks += refinement(k0, built.data, launches, device, program.kernel.name)
        texts = {line: str(program.line(line).instruction) for pair in races for line in pair}
        return Repair(k0, program.kernel.name, races, built.places, built.data, tuple(checks), texts)

    built, races = _parted(program, seen, build)
    found = examined(built)
    if fetch_bytes is None or not found.verdict.admitted:
        return found
    padded = examined(build(tuple(place.padded(fetch_bytes) for place in built.places)))
    return padded if padded.verdict.admitted and _us(device, padded, launches) < _us(device, found, launches) else found


def _parted(
    program: Program, seen: Observation, build: Callable[[tuple[Place, ...]], _Built]
) -> tuple[_Built, Mapping[Pair, tuple[str, ...]]]:
    """An object without races, or with those of which nothing more is known; and all races that were met on the way."""
    races, late = dict(seen.races), set[tuple[int, int]]()
    uniform = uniform_blocks(program)
    for _ in range(ROUNDS):
        built = build(_places(program, seen, races, late, uniform))
        after = built.after
        kept = {(a, b) for a, b in after.earlier if (min(a, b), max(a, b)) in races}
        if after.races.keys() <= races.keys() and kept <= late:
            return built, races
        races |= after.races
        late |= kept
    raise UnsupportedError("The repaired kernel has new races each time; change the code by hand.")


def _us(device: Device, found: Repair, launches: Sequence[Launch]) -> float:
    assert found.data is not None
    return device.time(device.load(found.data, found.kernel), launches).microseconds


def _edits(places: Sequence[Place]) -> tuple[Edit, ...]:
    return tuple(Insert(place.before, place.texts) for place in places)


def _places(
    program: Program,
    seen: Observation,
    races: Mapping[Pair, tuple[str, ...]],
    late: set[tuple[int, int]],
    uniform: frozenset[int],
) -> tuple[Place, ...]:
    """Barriers for accesses that meet between two barriers, and waits for those that a barrier parts already but that
    had not been waited for in front of it: of `late` that is known."""
    partners = partners_of(program, races)
    candidates = gaps(program, partners)
    met = phases(program, seen.traces, {*candidates, *partners})
    chosen = place_barriers(program, met, partners, candidates, uniform)
    together = {pair for phase in met for pair in meetings(phase, (), partners)}
    position = program.position
    owed = late | {
        (a, b)
        for a, b in seen.earlier
        if (min(position[a], position[b]), max(position[a], position[b])) not in together
    }
    found = [_place(program, p, (*wait_for(program, p, partners), "s_barrier"), uniform) for p in chosen]
    for at, vm in _closing(program, seen, {position[a] for a, _ in owed}).items():
        if at not in chosen:
            found.append(_place(program, at, (f"s_waitcnt {'vmcnt(0) ' if vm else ''}lgkmcnt(0)",), uniform))
    return tuple(sorted(found, key=lambda place: position[place.before]))


def _place(program: Program, position: int, texts: tuple[str, ...], uniform: frozenset[int]) -> Place:
    line = program.lines[position].id
    block = program.blocks[program.block_of[line]]
    barriers = [x.id for x in program.lines[block.first : position] if control_kind(x.instruction) == "barrier"]
    return Place(line, texts, block.number in uniform, barriers[-1] if barriers else None)


def _closing(program: Program, seen: Observation, accesses: set[int]) -> dict[int, bool]:
    """Positions of the barriers that follow some accesses, and whether moves from memory to LDS are among these."""
    barriers = barriers_of(program)
    found: dict[int, bool] = {}
    if not accesses:
        return found
    for phase in phases(program, ((t,) for run in seen.traces for t in run), accesses | barriers):
        for wave in phase:
            inside = [p for p in wave if p in accesses]
            if inside and wave[-1] in barriers:
                found[wave[-1]] = found.get(wave[-1], False) or any(kind_at(program, p) is Kind.DMA for p in inside)
    return found


def _resulting(built: _Built) -> Check:
    return replace(check_rebuild(built.edited, built.data), name="rebuild")


def _evidence(built: _Built) -> Check:
    """All waves of each workgroup execute the new barriers as often, and between the same ones that were there."""
    fixed, places = built.fixed, built.places
    added = {i for i in barriers_of(fixed) if fixed.lines[i].id >= fixed.first_new_id}
    facts = {
        "everywhere": [p.before for p in places if p.barrier and p.everywhere],
        "on_launches": [p.before for p in places if p.barrier and not p.everywhere],
    }
    # A new barrier ends a phase for all of its waves, or for none.
    if aligned(phases(fixed, built.after.traces, added), added):
        return Check("uniform", Verdict.TESTED, (), facts)
    message = "Waves of one workgroup meet another number of the new barriers; change the code by hand."
    return Check("uniform", Verdict.UNKNOWN, (Finding("repair.uniform", message, Severity.WARNING),), facts)


def _checked(before: Observation, after: Observation) -> Check:
    """No race is left, and nothing else was found that K0 does not have."""
    findings = [
        Finding(RACE, f"Lines {a} and {b} still race.", line=b, facts={"launches": list(names)})
        for (a, b), names in after.races.items()
    ]
    findings += [
        Finding(rule, f"The repaired kernel has a finding {rule} that K0 does not have.", line=line)
        for rule, line, _ in sorted(after.others - before.others, key=str)
    ]
    facts = {"races_of_k0": len(before.races), "other_findings_of_k0": len(before.others)}
    return Check("checked", Verdict.REFUTED if findings else Verdict.TESTED, tuple(findings), facts)


def _orders(data: bytes, launches: Sequence[Launch], device: Device, kernel: str | None) -> Check:
    """The repaired object against itself, as the gate asks it of a K0."""
    obj = CodeObject.parse(data, "the repaired object")
    found = Baseline(obj, device.load(data, kernel), tuple(launches), device, RunLimits()).check()
    aside = [f for f in found.findings if f.severity is not Severity.NOTE]
    verdict = Verdict.UNKNOWN if aside else found.verdict
    words = [replace(f, message=f.message.replace("K0", "the repaired object")) for f in found.findings]
    return Check("orders", verdict, tuple(words), found.facts)
