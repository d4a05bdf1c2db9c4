"""`asmevo verify`: the whole check of a candidate, from bytes alone."""

from __future__ import annotations

import json as text_json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import certificate_device, read_certificate, read_launches, read_object, read_table
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import CHIP, DEVICE, AllowInexact, DeviceName, Gpus, Json, ObjectPath
from asmevo.device import Device, open_device
from asmevo.device.hip import same_chip
from asmevo.edit import Edit
from asmevo.gate import Gate, Verification, require_bound
from asmevo.gate import verify as verified
from asmevo.launch import Launch
from asmevo.report import verification_text
from asmevo.search import kernel_of
from asmevo.verdict import UsageError


def verify(
    k0: ObjectPath,
    candidate: Annotated[Path, Argument(help="The object to check.", show_default=False)],
    launch: Annotated[list[Path] | None, Option("--launch", "-l", help="Launch file or folder of them.")] = None,
    certificate: Annotated[
        Path | None, Option("--certificate", "-c", help="Certificate whose hashes, edits and launches are checked.")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Certificate to write.")] = None,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    allow_inexact: AllowInexact = None,
    json: Json = False,
) -> int:
    """Check in a fresh process that a candidate behaves like K0: every static rule, then every launch.

    Exit code 0 PROVED or TESTED, 1 REFUTED, 3 UNKNOWN. Launches come from `--launch`, from a certificate, or from both.
    What was found with `--allow-inexact` is refused without it.
    """
    old, new = read_object(k0), read_object(candidate)
    launches, edits = read_launches(launch or [], old), None
    if certificate is not None:
        edits, launches = read_certificate(certificate, old, new, launches)
        require_bound(read_table(certificate), allow_inexact)
        edits = edits or None  # a certificate of an object that came without edits: lines are matched again
    if not launches:
        raise UsageError("There is nothing to check the candidate on; give --launch or --certificate.")
    kernel, notes = kernel_of(launches), [_matched(certificate, launches)] if certificate else []
    if device == DEVICE:
        found = verified(old.data, new.data, launches, edits, kernel, inexact=allow_inexact)
    else:
        with open_device(device, CHIP, gpu or ())[0] as place:
            found = _on(place, old.data, new.data, launches, edits, kernel, allow_inexact)
            notes += _other_chip(certificate, place)
    if output is not None and found.certificate is not None:
        write(output, text_json.dumps(found.certificate, indent=1, sort_keys=True) + "\n")
    facts = found.report.to_json() | ({"note": " ".join(notes)} if notes else {})
    emit(facts, lambda: "\n".join([*notes, verification_text(found.report)]), json)
    return found.report.verdict.exit_code


def _on(
    place: Device,
    k0: bytes,
    candidate: bytes,
    launches: Sequence[Launch],
    edits: Sequence[Edit] | None,
    kernel: str | None,
    inexact: float | None,
) -> Verification:
    """The whole check on a device that has processes of its own."""
    gate = Gate(k0, launches, place, kernel=kernel, inexact=inexact)
    report = gate.examine(candidate, edits=edits)
    return Verification(report, gate.certificate(candidate, edits or (), report))


def _matched(certificate: Path, launches: Sequence[Launch]) -> str:
    """What `read_certificate` found, or it would have raised."""
    return f"{certificate} is of these two objects; its edits and {len(launches)} launches are checked again."


def _other_chip(certificate: Path | None, place: Device) -> list[str]:
    """A sentence where the certificate is of another chip than the device."""
    if certificate is None:
        return []
    words = same_chip(certificate_device(certificate), place.describe())
    return [f"{words}: everything was verified again here, and its times say nothing of this chip."] if words else []
