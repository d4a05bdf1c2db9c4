"""The differential check with leeway: float results may be further from float64 than K0's, by a bound.

A candidate must leave the same results under every poison and in every order of waves, as K0 does. Everything else in
memory is compared as bytes. That the bound holds is asked five times: of the approximations as the device computes
them, and with all of them, in K0 as well, moved as far as hardware may be off: down, up, and in turn, either way first
(`asmevo.gate.nudge`). Where K0 or the candidate has another approximation, nothing is known of its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.device import Device
from asmevo.gate.baseline import Baseline, LaunchBaseline, Track
from asmevo.gate.differential import Differential, difference, differential, place_of
from asmevo.gate.inexact import METRIC, Error, Result, require_references, results_of
from asmevo.gate.influence import InfluenceStage
from asmevo.gate.moving import Moved
from asmevo.gate.nudge import VARIANTS, approximations, is_nudged, unknown_error
from asmevo.isa import effects
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.verdict import Check, Finding, Severity, Verdict

NAME = "differential"
AS_IS = "as computed"
_Errors = dict[str, dict[str, dict[str, Error]]]
"""Launch, variant and result to its error."""
_LITTLE_KNOWN = frozenset({"v_log_f32", "v_rcp_iflag_f32"})
"""Moved, but K0's error here says little of the one on hardware: a logarithm is further off here than there, and where
an integer comes of a reciprocal that is further off than any there, K0's error is anything."""


class Leeway:
    """Examines candidates of one K0 whose results are not its own. What is known of K0 is kept.

    Raises `UsageError` where a launch has no recipe that gives the exact results.
    """

    def __init__(self, k0: Program, launches: Sequence[Launch], bound: float) -> None:
        require_references(launches, bound)
        self.bound = float(bound)
        self.influence = InfluenceStage(k0, self._agrees)
        self._k0 = k0
        self._results: dict[str, tuple[Result, ...] | Finding] = {}
        self._errors: dict[str, _Errors] = {}

    def differential(
        self,
        candidate: CodeObject,
        program: Program,
        kernel: str | None,
        baseline: Baseline,
        device: Device,
    ) -> Differential:
        """TESTED where the bound holds on every launch, with all errors among the facts."""
        if unknown := tuple(_unknown_errors(self._k0, program)):
            return Differential(Check(NAME, Verdict.UNKNOWN, unknown), set())
        judge = _Judge(self)
        found = differential(candidate, kernel, baseline, device, judge)
        if not found.check.verdict.admitted:
            return found
        errors = {name: {AS_IS: by_result} for name, by_result in judge.errors.items()}
        for variant in VARIANTS:
            if isinstance(own := self._errors_of_k0(variant, kernel, baseline, device), Finding):
                return _refused(found, own)
            if isinstance(other := self._moved(program, variant, kernel, baseline, device), Finding):
                return _refused(found, other)
            for name, by_variant in other.items():
                errors[name] |= by_variant
        return self._bounded(found, errors, baseline)

    def _bounded(self, found: Differential, errors: _Errors, baseline: Baseline) -> Differential:
        """The check with all figures, refused where one is beyond the bound."""
        table: dict[str, dict[str, dict[str, object]]] = {}
        beyond: list[Finding] = []
        largest = 0.0
        for known in baseline.usable:
            name = known.launch.name
            table[name] = {}
            for result in self.results(known):
                for variant, by_result in errors[name].items():
                    k0, candidate = self._k0_error(name, variant, result), by_result[result.name]
                    ratio = candidate.over(k0, result.least)
                    largest = max(largest, ratio)
                    row = {"k0": k0.to_json(), "candidate": candidate.to_json(), "ratio": ratio}
                    table[name].setdefault(result.name, {})[variant] = row
                    if not ratio <= self.bound:
                        beyond.append(_beyond(name, result, variant, ratio, self.bound, (k0, candidate)))
        facts = {"inexact": True, "bound": self.bound, "metric": METRIC, "largest_ratio": largest, "errors": table}
        if beyond:
            check = replace(found.check, verdict=Verdict.REFUTED, findings=tuple(beyond))
        else:
            message = (
                f"INEXACT: results are not K0's bit for bit. Their error against float64 is at most {largest:.3g} "
                f"times K0's, where {self.bound:g} is allowed."
            )
            check = replace(found.check, findings=(Finding("inexact.admitted", message, Severity.WARNING),))
        return replace(found, check=replace(check, facts={**check.facts, **facts}))

    def results(self, known: LaunchBaseline) -> tuple[Result, ...]:
        """The results of a launch that `reference` accepted."""
        found = self._results[known.launch.name]
        assert not isinstance(found, Finding)
        return found

    def reference(self, known: LaunchBaseline) -> Finding | None:
        """Make K0's results on a launch known; why that cannot be."""
        name = known.launch.name
        if name not in self._results:
            self._results[name] = results_of(known)
        found = self._results[name]
        return found if isinstance(found, Finding) else None

    def _k0_error(self, name: str, variant: str, result: Result) -> Error:
        if variant == AS_IS:
            return result.error(result.k0)
        return self._errors[variant][name][variant][result.name]

    def _agrees(self, known: LaunchBaseline, track: Track) -> bool:
        """Whether memory after one run would be admitted: what is spoilt must not be."""
        judge = _Judge(self)
        if judge(known, track, 0) is not None:
            return False
        name = known.launch.name
        return all(
            judge.errors[name][r.name].over(self._k0_error(name, AS_IS, r), r.least) <= self.bound
            for r in self.results(known)
        )

    def _errors_of_k0(self, variant: str, kernel: str | None, baseline: Baseline, device: Device) -> _Errors | Finding:
        if variant in self._errors:
            return self._errors[variant]
        found = self._moved(self._k0, variant, kernel, baseline, device)
        if isinstance(found, Finding):
            message = (
                f"K0 itself gives other results with approximations moved {variant}, so its error on hardware is not "
                f"known. {found.message}"
            )
            return Finding("inexact.moved", message, Severity.WARNING, facts=found.facts)
        self._errors[variant] = found
        return found

    def _moved(
        self, program: Program, variant: str, kernel: str | None, baseline: Baseline, device: Device
    ) -> _Errors | Finding:
        """Errors on every launch when approximations are moved; a finding where that cannot be run, or gives other
        infinities or NaN."""
        errors: _Errors = {}
        for known, problem in Moved(self._k0, variant, kernel, device).runs(program, baseline.usable):
            if problem is not None:
                return problem
            track, name = known.tracks[0], known.launch.name
            for result in self.results(known):
                values = result.values(track.work.data)
                if finding := _special(result, values, place_of(known, track, 0) | {"moved": variant}):
                    return finding
                errors.setdefault(name, {}).setdefault(variant, {})[result.name] = result.error(values)
        return errors


class _Judge:
    """Judges the memory that one candidate leaves; the errors of what it leaves first are kept."""

    def __init__(self, leeway: Leeway) -> None:
        self._leeway = leeway
        self._first: dict[tuple[str, str], NDArray[np.generic]] = {}
        self.errors: dict[str, dict[str, Error]] = {}

    def __call__(self, known: LaunchBaseline, track: Track, repeat: int) -> Finding | None:
        if finding := self._leeway.reference(known):
            return finding
        name, results = known.launch.name, self._leeway.results(known)
        offsets = track.after[repeat].differences(track.template, track.work)
        loose = np.zeros(len(offsets), np.bool_)
        for result in results:
            loose |= result.holds(offsets)
        if not loose.all():
            return difference(known, track, repeat, offsets[~loose])
        where = place_of(known, track, repeat)
        self.errors.setdefault(name, {})
        for result in results:
            values = result.values(track.work.data)
            if finding := _special(result, values, where):
                return finding
            first = self._first.setdefault((name, result.name), result.codes(track.work.data))
            if not result.same(track.work.data, first):
                message = f"The candidate leaves something else in {result.name} of {name!r} when it runs another time."
                return Finding("inexact.unstable", message, facts=where)
            self.errors[name].setdefault(result.name, result.error(values))
        return None


def _unknown_errors(*programs: Program) -> Iterator[Finding]:
    """Reachable approximations whose error on hardware no run shows, each once."""
    seen: set[tuple[int, str]] = set()
    for program in programs:
        for line in approximations(program):
            key = line.id, line.instruction.text
            known = is_nudged(line) and effects(line.instruction).row.name not in _LITTLE_KNOWN
            if key not in seen and not known:
                seen.add(key)
                yield unknown_error(line)


def _special(result: Result, values: NDArray[np.float64], where: dict[str, object]) -> Finding | None:
    """Infinities and NaN must be where K0 has them."""
    same = np.where(np.isfinite(result.k0), np.isfinite(values), (values == result.k0) | _both_nan(values, result.k0))
    if same.all():
        return None
    n = int(np.flatnonzero(~same)[0])
    message = f"{result.name} of {where['launch']!r} holds {values[n]} where K0 leaves {result.k0[n]}."
    return Finding("inexact.special", message, facts=where)


def _both_nan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.isnan(a) & np.isnan(b)


def _beyond(
    launch: str, result: Result, variant: str, ratio: float, bound: float, pair: tuple[Error, Error]
) -> Finding:
    k0, candidate = pair
    how = "" if variant == AS_IS else f", approximations moved {variant}"
    message = (
        f"On the launch {launch!r}{how} the error of {result.name} against float64 is {ratio:.3g} times K0's, more "
        f"than {bound:g}: mean relative {candidate.mean:.3g} and at most {candidate.worst:.3g} ulp, K0's "
        f"{k0.mean:.3g} and {k0.worst:.3g}."
    )
    return Finding("inexact.bound", message, facts={"launch": launch, "result": result.name, "ratio": ratio})


def _refused(found: Differential, finding: Finding) -> Differential:
    verdict = Verdict.REFUTED if finding.severity is Severity.ERROR else Verdict.UNKNOWN
    return replace(found, check=replace(found.check, verdict=verdict, findings=(finding,)))
