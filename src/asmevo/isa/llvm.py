"""The LLVM tools: where they are, whether they are new enough, and one way to run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from asmevo.verdict import EnvironmentError_

TRIPLE = "amdgcn-amd-amdhsa"
MINIMUM = 22
"""Lowest major version: LLVM 19 loses `lit(...)` and crashes on gfx950."""
_TIMEOUT = 120
_NEEDED = ("llvm-mc", "llvm-objdump")
_VERSION = re.compile(rb"LLVM version (\S+)")
_FEATURES = {"gfx1250": ("--mattr=+real-true16",)}
"""Compilers of today use both halves of gfx1250's registers; without this LLVM 22 misreads such instructions."""
_SELF_TEST = {
    "gfx942": {
        "s_and_b32 s1, s1, 0xffff": "01ff0186ffff0000",
        "s_addc_u32 s1, s1, lit(0xffffffff)": "01ff0182ffffffff",
        "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3]": "0000f3d3040d0204",
    },
    "gfx950": {"s_mov_b64 exec, s[2:3]": "0201febe", "buffer_load_dword v1, s[0:3], 0 offen lds": "001051e001000080"},
}
"""Text to encoding as AMD's own objects have it."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A usable set of LLVM tools."""

    bin: Path
    version: str

    @staticmethod
    def find() -> Toolchain:
        """The first good one of $ASMEVO_LLVM, ROCm's, /usr/lib/llvm-* (newest first) and PATH.

        A folder named by $ASMEVO_LLVM is the only candidate. Raises `EnvironmentError_` that names what was found.
        """
        return _find(os.environ.get("ASMEVO_LLVM", ""), os.environ.get("PATH", ""))

    def run(self, tool: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run `llvm-mc`, `llvm-objdump` or `ld.lld` from this tool chain; the caller looks at the exit code."""
        path = self.bin / tool
        try:
            return subprocess.run(
                [path, *arguments], input=stdin, capture_output=True, timeout=_TIMEOUT, check=False, env=_environment()
            )
        except OSError as error:
            raise EnvironmentError_(f"{path} cannot be run ({error.strerror}); install llvm-22 and lld-22.") from None
        except subprocess.TimeoutExpired:
            raise EnvironmentError_(f"{path} did not end within {_TIMEOUT} s; free the machine and retry.") from None


def cpu_flags(target: str) -> tuple[str, ...]:
    """What tells `llvm-mc` and `llvm-objdump` the target."""
    return (f"--mcpu={target}", *_FEATURES.get(target, ()))


def _environment() -> dict[str, str]:
    """Without stack traces of crashes, which take a second each."""
    return os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1"}


@lru_cache
def _find(override: str, path: str) -> Toolchain:
    rejected: list[str] = []
    for folder in _folders(override, path):
        if not all((folder / tool).exists() for tool in _NEEDED):
            continue
        probe = _probe(folder)
        if isinstance(probe, Toolchain):
            return probe
        rejected.append(f"{folder} {probe}")
    where = f"in ASMEVO_LLVM={override}" if override else "on this machine"
    found = f" ({'; '.join(rejected)})" if rejected else ""
    raise EnvironmentError_(
        f"No LLVM {MINIMUM} or newer with the AMDGPU target was found {where}{found}; install the packages llvm-22 and "
        "lld-22, or set ASMEVO_LLVM to the folder that has llvm-mc."
    )


def _folders(override: str, path: str) -> Iterator[Path]:
    """Candidate folders, links resolved, in order of preference."""
    if override:
        yield from (Path(override), Path(override, "bin"))
        return
    system = sorted(Path("/usr/lib").glob("llvm-*/bin"), key=lambda p: _number(p.parent.name), reverse=True)
    on_path = [Path(p) for p in path.split(os.pathsep) if p]
    seen = set[Path]()
    for folder in (Path("/opt/rocm/llvm/bin"), *system, *on_path):
        tool = folder / "llvm-mc"
        home = tool.resolve().parent if tool.exists() else folder
        if home not in seen:
            seen.add(home)
            yield home


def _number(name: str) -> int:
    digits = re.search(r"\d+", name)
    return int(digits[0]) if digits else 0


def _probe(folder: Path) -> Toolchain | str:
    """The tool chain, or what is wrong with it. A good answer is remembered by path, time and size of both tools."""
    key = ":".join((str(folder), *map(_stamp, (folder / tool for tool in _NEEDED))))
    known = _remembered()
    if key in known:
        return Toolchain(folder, known[key])
    answers: dict[str, bytes] = {}
    for tool in _NEEDED:
        try:
            answers[tool] = Toolchain(folder, "").run(tool, "--version").stdout
        except EnvironmentError_ as error:
            return f"is unusable: {error}"
    versions = {tool: m[1].decode(errors="replace") for tool, a in answers.items() if (m := _VERSION.search(a))}
    if len(versions) < len(_NEEDED):
        return "does not tell its version"
    version = versions["llvm-mc"]
    if _number(version) < MINIMUM:
        return f"has LLVM {version}"
    if versions["llvm-objdump"] != version or b"amdgcn" not in answers["llvm-objdump"]:
        return f"has an llvm-objdump {versions['llvm-objdump']} that does not go with its llvm-mc {version}"
    tools = Toolchain(folder, version)
    for target, cases in _SELF_TEST.items():
        if not _passes(tools, target, cases):
            return f"has LLVM {version} that encodes {target} wrongly or not at all"
    _remember(known | {key: version})
    return tools


def _stamp(tool: Path) -> str:
    stat = tool.stat()
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def _passes(tools: Toolchain, target: str, cases: dict[str, str]) -> bool:
    source = "\n".join(cases).encode()
    answer = tools.run("llvm-mc", f"-triple={TRIPLE}", f"-mcpu={target}", "-show-encoding", stdin=source)
    found = re.findall(r"encoding: \[([0-9a-fx,]+)\]", answer.stdout.decode())
    return answer.returncode == 0 and [f.replace("0x", "").replace(",", "") for f in found] == list(cases.values())


def _memory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "asmevo", "llvm.json")


def _remembered() -> dict[str, str]:
    try:
        known = cast("object", json.loads(_memory().read_text()))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, str]", known) if isinstance(known, dict) else {}


def _remember(known: dict[str, str]) -> None:
    """Best effort: a read-only home costs a tenth of a second at each start, nothing else."""
    file = _memory()
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(known))
        draft.replace(file)
    except OSError:
        return
