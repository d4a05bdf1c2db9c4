"""The certificate of an examined candidate: JSON that binds objects, edits, launches, tools and verdicts by hashes."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, from_json
from asmevo.gate.report import Report
from asmevo.isa import Toolchain
from asmevo.launch import POISONS, Launch, build_image, portable, restore
from asmevo.verdict import InputError, UsageError

FORMAT = "asmevo.certificate/1"
_DIGEST, _MEMORY = "digest", "memory_sha256"
_WHERE = "certificate"
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
    if report.inexact:
        body["inexact"] = {key: report.inexact[key] for key in ("bound", "metric", "largest_ratio")}
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
        table: Mapping[str, Any] = _member(value, word, dict)
        if (recorded := _member(table, "sha256", str)) != obj.sha256:
            raise InputError(f"The certificate is about another {word}: its hash is {recorded}.")


def bound_of(value: Mapping[str, Any]) -> float | None:
    """The bound within which a certificate admits results that are not K0's; None where they are. Raises `InputError`
    when that is malformed."""
    return float(_member(_member(value, "inexact", dict), "bound", float)) if "inexact" in value else None


def require_bound(value: Mapping[str, Any], given: float | None) -> None:
    """Raises `UsageError` unless what a certificate of other results than K0's allows, and no more, is `given`, too."""
    bound = bound_of(value)
    if bound is not None and given != bound:
        word = repr(bound).removesuffix(".0")
        raise UsageError(
            f"The certificate is INEXACT: it admits results with up to {word} times K0's error; give --allow-inexact "
            f"{word} to accept that."
        )


def evidence(
    value: Mapping[str, Any], k0: CodeObject, folders: Sequence[Path] = (), given: Sequence[Launch] = ()
) -> tuple[tuple[Edit, ...], tuple[Launch, ...]]:
    """The edits of a certificate that `check_certificate` accepted, and its launches with the memory it speaks of.

    A launch is made from the certificate, with large data files looked for in `folders`; or it is one of `given`, where
    one has its name. Those of `given` that the certificate does not know follow. Raises `InputError` where a launch's
    memory has another hash now, a data file is not found, or the certificate is malformed.
    """
    others = {launch.name: launch for launch in given}
    tables: list[Mapping[str, Any]] = _member(value, "launches", list)
    kernel: str = _member(value, "kernel", str)
    launches = [_recorded(table, k0, kernel, folders, others) for table in tables]
    edits: list[object] = _member(value, "edits", list)
    return tuple(from_json(edit) for edit in edits), (*launches, *others.values())


def _recorded(
    table: Mapping[str, Any], k0: CodeObject, kernel: str, folders: Sequence[Path], others: dict[str, Launch]
) -> Launch:
    """One launch of a certificate; taken out of `others` when it is there."""
    name, digest_, memory = (_member(table, key, str) for key in ("name", _DIGEST, _MEMORY))
    plain = {k: v for k, v in table.items() if k not in (_DIGEST, _MEMORY)}
    launch = others.pop(name) if name in others else restore(plain, folders, _WHERE)
    if launch.digest != digest_:
        raise InputError(
            f"The launch {name!r} is another one than that of the certificate; give that one, or another name."
        )
    if (found := _memory_sha256(launch, k0, kernel)) != memory:
        raise InputError(
            f"The launch {name!r} has other data than when the certificate was written (memory hash {found}, not "
            f"{memory}); restore its data files, or verify with --launch alone."
        )
    return launch


def _member(value: object, key: str, kind: type) -> Any:
    """A member of a certificate. Raises `InputError` when it is missing or of another type."""
    found = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, kind):
        raise InputError(f"The certificate lacks {key!r}, or it is malformed; run `asmevo verify` again.")
    return found


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
    """A launch, with the hash of its memory before it."""
    return {**portable(launch), _DIGEST: launch.digest, _MEMORY: _memory_sha256(launch, k0, kernel)}


def _memory_sha256(launch: Launch, k0: CodeObject, kernel: str | None) -> str:
    """Hash of data and arguments, without the code."""
    image = build_image(launch, k0, k0.kernel(launch.kernel or kernel), POISONS[0])
    return hashlib.sha256(image.data[image.code_space :].data).hexdigest()
