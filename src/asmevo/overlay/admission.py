"""Whether a candidate may be installed: a whole certificate of an admitting verdict, and an object that drops in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device.hip import recorded_chip
from asmevo.gate import bound_of, canonical, check_certificate, evidence, require_bound, verify
from asmevo.launch import Launch
from asmevo.launch.table import Table
from asmevo.verdict import InputError, Verdict, weakest

STAGES = frozenset(
    {"rebuild", "resources", "static", "proof", "baseline", "differential", "coverage", "influence", "checked"}
)
"""Checks without which a certificate is not one of a whole examination. A device that cannot check leaves the last one
out: what was verified on one alone is not installed."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A candidate that may take the place of K0, and what its place is keyed by."""

    k0: CodeObject
    candidate: CodeObject
    certificate: Mapping[str, Any]
    verdict: Verdict
    layout: str
    """Hash of the arguments of the kernels: names, offsets, sizes and kinds."""
    target: str
    chip: str
    """That it was verified and timed for: a chip table's name, or a GPU's own; the target where the certificate names
    none."""
    inexact: float | None
    """How many times K0's error the candidate's results may have; None where they are K0's."""


def admit(certificate: Mapping[str, Any], k0: bytes, candidate: bytes, inexact: float | None = None) -> Admitted:
    """The candidate of a certificate. Raises `InputError` where that is no whole evidence for these two objects, or
    where the candidate has another interface than K0; `UsageError` where its results are not K0's and `inexact` is not
    the bound of the certificate."""
    old, new = CodeObject.parse(k0, "K0"), CodeObject.parse(candidate, "the candidate")
    check_certificate(certificate, old, new)
    require_bound(certificate, inexact)
    verdict = _verdict(certificate)
    if not verdict.admitted:
        raise InputError(
            f"The certificate says {verdict.value}, and only PROVED and TESTED are installed; verify the candidate."
        )
    layout = _drop_in(old, new)
    if certificate.get("target") != old.target:
        raise InputError(f"The certificate is for {certificate.get('target')} and K0 for {old.target}; verify again.")
    chip, bound = _chip(certificate, old.target), bound_of(certificate)
    return Admitted(old, new, certificate, verdict, layout, old.target, chip, bound)


def reverified(admitted: Admitted, folders: Sequence[Path], launches: Sequence[Launch] = ()) -> Admitted:
    """The same after the whole check of the gate, in a fresh process, on the launches of the certificate.

    Data files are looked for in `folders`; `launches` stand for those of the certificate with their names. Raises
    `InputError` where the candidate is not admitted now.
    """
    edits, known = evidence(admitted.certificate, admitted.k0, folders, launches)
    kernel = str(admitted.certificate.get("kernel"))
    found = verify(admitted.k0.data, admitted.candidate.data, known, edits or None, kernel, inexact=admitted.inexact)
    if not found.report.verdict.admitted:
        why = next((f.message for c in found.report.checks for f in c.findings if not c.verdict.admitted), "")
        raise InputError(f"The candidate is {found.report.verdict.value} when it is verified again. {why}".strip())
    return admitted


def _verdict(certificate: Mapping[str, Any]) -> Verdict:
    """The verdict, which the checks must bear out."""
    table = Table(certificate, "certificate")
    rows = [Table(row, "check of the certificate") for row in table.tables("checks")]
    names = [row.text("name") for row in rows]
    verdict = _verdict_of(table)
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(f"The certificate has the check {repeated[0]!r} more than once; verify the candidate again.")
    if verdict.admitted and (missing := STAGES.difference(names)):
        raise InputError(
            f"The certificate says {verdict.value} without the check {sorted(missing)[0]!r}; verify the candidate."
        )
    if verdict.admitted and not weakest(map(_verdict_of, rows)).admitted:
        raise InputError(f"The certificate says {verdict.value} and one of its checks does not; verify again.")
    if "inexact" not in certificate and any(
        Table(r.data.get("facts", {}), r.where).flag("inexact", False) for r in rows
    ):
        raise InputError(
            "The certificate does not say that one of its checks found other results than K0's; verify again."
        )
    return verdict


def _verdict_of(table: Table) -> Verdict:
    try:
        return Verdict(table.text("verdict"))
    except ValueError as error:
        raise InputError(f"The verdict in {table.where} is none; verify the candidate again.") from error


def _chip(certificate: Mapping[str, Any], target: str) -> str:
    device = Table(certificate.get("device", {}), "device of the certificate")
    gpu = recorded_chip(device.data)
    if gpu is None:
        return device.text("chip", target)
    if gpu.target != target:
        raise InputError(f"The certificate is for {target} and of the chip {gpu}; verify again.")
    return gpu.sku


def _drop_in(k0: CodeObject, candidate: CodeObject) -> str:
    """Hash of the interface, which must be that of K0. Raises `InputError` that names what differs."""
    if (k0.target, k0.e_flags) != (candidate.target, candidate.e_flags):
        raise InputError(
            f"The candidate is for {candidate.target} (flags 0x{candidate.e_flags:x}) and K0 for {k0.target} "
            f"(0x{k0.e_flags:x}); it does not take its place."
        )
    old, new = _interface(k0), _interface(candidate)
    for a, b in zip(old, new, strict=False):
        if a != b:
            raise InputError(
                f"The candidate's kernel {b['name']!r} has other arguments or limits than K0's {a['name']!r}; callers "
                "would pass it the wrong bytes."
            )
    if len(old) != len(new):
        raise InputError(f"The candidate has {len(new)} kernels and K0 {len(old)}; it does not take its place.")
    return hashlib.sha256(canonical(old)).hexdigest()


def _interface(obj: CodeObject) -> list[dict[str, Any]]:
    """What callers of the kernels rely on."""
    return [
        {
            "name": k.name,
            "symbol": k.symbol,
            "kernarg_size": k.kernarg_size,
            "args": [[a.offset, a.size, a.kind] for a in k.args],
            "lds": k.lds_size,
            "max_workgroup": k.max_workgroup,
        }
        for k in obj.kernels
    ]
