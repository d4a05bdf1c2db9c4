"""Installing an admitted object over K0."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.launch import Launch
from asmevo.launch.table import Table
from asmevo.overlay.admission import Admitted, admit, reverified
from asmevo.overlay.journal import Change, Entry, Home, Journal
from asmevo.overlay.places import check_place, model_of, places_of
from asmevo.overlay.transaction import Step, apply, hash_of, no_step, opened
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Options:
    """How to install."""

    reverify: bool = False
    """Run the whole check of the gate before anything is changed."""
    folders: tuple[Path, ...] = ()
    """Where the data files of the certificate's launches are, for that."""
    launches: tuple[Launch, ...] = ()
    """Launches that stand for those of the certificate with their names."""
    chip: str | None = None
    """That the folder serves; None for the one that the candidate was verified for."""
    create: str | None = None
    """A file of the overlay, relative, to be made where K0 itself is not there."""
    inexact: float | None = None
    """The bound of a certificate of results that are not K0's, which is installed with it only."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation did."""

    entry: Entry
    fresh: bool
    """False where everything was in place already."""

    def to_json(self) -> dict[str, Any]:
        return {"fresh": self.fresh, "entry": self.entry.to_json()}


def install(
    overlay: Path,
    certificate: Mapping[str, Any],
    candidate: bytes,
    k0: bytes | None = None,
    options: Options | None = None,
    step: Step = no_step,
) -> Installed:
    """Put a candidate in every place of an overlay that holds K0, all of them or none.

    `k0` is needed only where the overlay does not hold it, to make a new file. Installing what is installed changes
    nothing; another candidate goes over it, and is rolled back to it. Raises `InputError` for whatever does not fit:
    certificate, K0, interface, target, chip, or a place that something else changed. Raises `UsageError` where results
    are not K0's and `options` do not say so.
    """
    options = options or Options()
    with opened(overlay, step) as home:
        journal = home.read()
        digest, size = _k0_facts(certificate)
        paths = _places(home, journal, digest, size, options)
        original = k0 if k0 is not None else _bytes_of(home, paths, digest)
        admitted = admit(certificate, original, candidate, options.inexact)
        chip = options.chip or admitted.chip
        if model_of(chip) != model_of(admitted.chip):
            raise InputError(
                f"The candidate was verified for {admitted.chip} and the folder serves {chip}; verify it there first."
            )
        for path in paths:
            check_place(overlay, path, admitted.candidate, admitted.k0, admitted.chip)
        if options.reverify:
            reverified(admitted, options.folders, options.launches)
        return _put(home, journal, admitted, paths, step)


def _places(home: Home, journal: Journal, k0: str, size: int, options: Options) -> Sequence[str]:
    if options.create is None:
        return places_of(home, journal, k0, size)
    path = str(Path(options.create))
    place, last = home.place(path), journal.last(path)
    known = {k0, None} if last is None else {k0, last.after}
    if hash_of(place) not in known:
        raise InputError(f"{place} is neither K0 nor what was installed there; remove it first.")
    return (path,)


def _put(home: Home, journal: Journal, admitted: Admitted, paths: Sequence[str], step: Step) -> Installed:
    new = admitted.candidate
    changes = tuple(_change(home, path, new.sha256) for path in paths)
    entry = Entry(
        k0=admitted.k0.sha256,
        candidate=new.sha256,
        certificate=str(admitted.certificate["sha256"]),
        verdict=admitted.verdict.value,
        kernel=str(admitted.certificate["kernel"]),
        layout=admitted.layout,
        target=admitted.target,
        chip=admitted.chip,
        changes=tuple(c for c in changes if c.before != c.after),
        inexact=admitted.inexact,
    )
    if not entry.changes:
        return Installed(next((e for e in reversed(journal.entries) if e.candidate == new.sha256), entry), False)
    for change in entry.changes:
        if change.before is not None:
            place = home.place(change.path)
            if home.blobs.put(place.read_bytes()) != change.before:
                raise InputError(f"{place} was changed by something else meanwhile; install again.")
            step(f"kept {change.path}")
    home.blobs.put(new.data)
    home.blobs.put(admitted.k0.data)
    home.blobs.put(json.dumps(admitted.certificate, indent=1, sort_keys=True).encode())
    step("kept the candidate")
    apply(home, entry.changes, Journal((*journal.entries, entry)), step)
    return Installed(entry, True)


def _change(home: Home, path: str, after: str) -> Change:
    place = home.overlay / path
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o644
    return Change(path, hash_of(place), after, mode)


def _k0_facts(certificate: Mapping[str, Any]) -> tuple[str, int]:
    table = Table(certificate.get("k0"), "k0 of the certificate")
    return table.text("sha256"), table.integer("bytes")


def _bytes_of(home: Home, paths: Sequence[str], k0: str) -> bytes:
    """K0, from a place that holds it or from what was kept."""
    for path in paths:
        if hash_of(home.overlay / path) == k0:
            return (home.overlay / path).read_bytes()
    return home.blobs.get(k0)
