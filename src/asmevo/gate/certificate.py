"""The certificate of an examined candidate: JSON that binds objects, edits, launches, tools and verdicts by hashes."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, from_json
from asmevo.gate.report import Report
from asmevo.isa import Toolchain
from asmevo.launch import POISONS, Launch, build_image, launch_from_json
from asmevo.verdict import InputError

FORMAT = "asmevo.certificate/1"
_LAUNCH_HASHES = ("digest", "memory_sha256")
_LIBRARIES = ("asmevo", "numpy", "llvmlite", "numba")


def certificate(
    k0: CodeObject,
    candidate: CodeObject,
    edits: Sequence[Edit],
    launches: Sequence[Launch],
    report: Report,
    device: Mapping[str, Any],
    kernel: str | None = None,
) -> dict[str, Any]:
    """The certificate as plain values, with its own hash in `sha256`. The same inputs give the same bytes."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "verdict": report.verdict.value,
        "k0": {"sha256": k0.sha256, "bytes": len(k0.data)},
        "candidate": {"sha256": candidate.sha256, "bytes": len(candidate.data)},
        "kernel": k0.kernel(kernel).name,
        "target": k0.target,
        "edits": [edit.to_json() for edit in edits],
        "launches": [_launch(launch, k0, kernel) for launch in launches],
        "checks": [check.to_json() for check in report.checks],
        "device": dict(device),
        "tools": tools(),
    }
    return {**body, "sha256": digest(body)}


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str).encode()


def digest(body: Mapping[str, Any]) -> str:
    """sha256 of a certificate without its `sha256` key."""
    return hashlib.sha256(canonical({k: v for k, v in body.items() if k != "sha256"})).hexdigest()


def check_certificate(value: Mapping[str, Any], k0: CodeObject, candidate: CodeObject) -> None:
    """Raises `InputError` unless the certificate is whole and speaks of these two objects."""
    if value.get("format") != FORMAT or value.get("sha256") != digest(value):
        raise InputError("The certificate was changed or is of another version; run `asmevo verify` again.")
    for word, obj in (("k0", k0), ("candidate", candidate)):
        if value[word]["sha256"] != obj.sha256:
            raise InputError(f"The certificate is about another {word}: its hash is {value[word]['sha256']}.")


def evidence(value: Mapping[str, Any]) -> tuple[tuple[Edit, ...], tuple[Launch, ...]]:
    """The edits and launches of a certificate that `check_certificate` accepted."""
    plain = ({k: v for k, v in launch.items() if k not in _LAUNCH_HASHES} for launch in value["launches"])
    launches = tuple(launch_from_json(table, Path(), "the certificate") for table in plain)
    return tuple(from_json(edit) for edit in value["edits"]), launches


def tools() -> dict[str, str]:
    """Versions of what the evidence rests on."""
    libraries = {name: _version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), "llvm": Toolchain.find().version, **libraries}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _launch(launch: Launch, k0: CodeObject, kernel: str | None) -> dict[str, Any]:
    """A launch, with the hash of its memory (data and arguments, without the code) before it."""
    image = build_image(launch, k0, k0.kernel(launch.kernel or kernel), POISONS[0])
    memory = hashlib.sha256(image.data[image.code_space :].data).hexdigest()
    return {**launch.to_json(), "digest": launch.digest, "memory_sha256": memory}
