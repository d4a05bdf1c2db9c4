"""Liger-Kernel's own test files, unmodified, on the simulated chip.

    python -m benchmarks.liger [--json] [--minutes N] [--files softmax,rope] [--bf16]

Fetches the source distribution of Liger-Kernel 0.8.5 and runs its files with `asmevo.triton.pytest_plugin`: fresh
tensors are filled with NaN, and a test that passes without a kernel launch fails. torch (the build for CPUs) and
transformers must be importable; `make liger` sets up an environment with them. What is left out of a file, or need not
launch anything, stands in `FILES` with the reason and is printed.

Liger asks torch whether the device has bfloat16 and takes every CPU for one without, so these tests skip. With `--bf16`
its question is answered for the chip instead; torch's own bfloat16 sums, to which they compare, are less exact than the
kernels, which shows as failures.

JSON: `sdist`, `bf16`, for each of `files` its `file`, `passed`, `failed`, `skipped`, `not_run` (no time left),
`without_launch`, `launches`, `instructions` (of waves), `seconds`, `cpu_seconds`, `skips` (reason to number),
`failures` (test to reason), `selection`, `why`; and the sums `passed`, `failed`, `skipped`, `not_run`, `launches`,
`instructions`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.verdict import AsmEvoError, EnvironmentError_, UsageError
from benchmarks.common import print_json
from benchmarks.wheels import Wheel, fetch_wheel

LIGER = Wheel("liger-kernel==0.8.5", "4e8f8f611a8ad735c37c989410d09820bb08881f131851a3967c34baa7889d66", source=True)
NEEDED = ("torch", "triton", "transformers", "packaging", "pytest")
DISTRIBUTED = "starts a process for each of several GPUs"
LARGE = "the other shapes have 130 million elements and more, minutes of torch's own time for each test"
SUMS = ("passed", "failed", "skipped", "not_run", "launches", "instructions")


@dataclass(frozen=True, slots=True)
class TestFile:
    """One file of `test/transformers`."""

    name: str
    select: str = ""
    """Expression for pytest's `-k`; empty takes all."""
    why: str = ""
    """Reason for the selection."""
    no_launch: str = ""
    """Pattern of tests without a kernel: they check what Python code does."""

    @property
    def path(self) -> str:
        return f"test/transformers/test_{self.name}.py"


FILES = (
    TestFile("softmax", no_launch="*_int32_row_offset_wraps"),
    TestFile("layer_norm"),
    TestFile("group_norm"),
    TestFile(
        "swiglu",
        select="not dtensor and not mixtralexperts",
        why=f"one {DISTRIBUTED}; the other tunes over a hundred configurations, which takes minutes to compile, "
        "and the one that Liger can be told to take instead wants 80 KiB of LDS, more than the chip has",
        no_launch="*_preserves_legacy_function",
    ),
    TestFile("geglu", no_launch="*::test_gemma4_mlp_*"),
    TestFile("embedding"),
    TestFile("rope"),
    TestFile("llama4_rope"),
    TestFile("qwen2vl_mrope"),
    TestFile("rms_norm", select="not dtensor", why=DISTRIBUTED, no_launch="*_int32_row_offset_wraps"),
    TestFile("relu_squared"),
    TestFile("poly_norm"),
    TestFile("sparsemax", no_launch="*_int32_row_offset_wraps"),
    TestFile("tvd", select="41-401-1271", why=LARGE),
    TestFile("kl_div", select="41-401-1271", why=LARGE),
    TestFile("cross_entropy", select="not 32000", why=LARGE),
)


def unpacked() -> Path:
    """The source distribution, unpacked in the cache."""
    archive = fetch_wheel(LIGER)
    folder = LIGER.folder / archive.name.removesuffix(".tar.gz")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=LIGER.folder) as place:
            with tarfile.open(archive) as tar:
                tar.extractall(place, filter="data")
            os.replace(Path(place, folder.name), folder)
    return folder


def run(file: TestFile, folder: Path, seconds: float, *, bf16: bool) -> dict[str, Any]:
    """Run a file in a process of its own. No test starts after `seconds`; it is killed when one takes too long."""
    started, used = time.monotonic(), _children_cpu()
    with tempfile.TemporaryDirectory() as place:
        counts = Path(place, "counts.json")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-o", "log_cli=false"]
        command += [
            "-p",
            "asmevo.triton.pytest_plugin",
            "--asmevo-json",
            str(counts),
            f"--asmevo-seconds={seconds:.0f}",
        ]
        command += ["-k", file.select] if file.select else []
        command += ["--asmevo-no-launch", file.no_launch] if file.no_launch else []
        command += ["-p", "benchmarks.liger_bf16"] if bf16 else []
        path = os.pathsep.join(str(p) for p in (folder / "src", folder, *sys.path) if p)
        environment = {**os.environ, "PYTHONPATH": path, "TRITON_DEFAULT_FP_FUSION": "1"}
        try:
            done = subprocess.run(
                [*command, file.path],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds + 600,
                check=False,
            )
            facts = json.loads(counts.read_text()) if counts.exists() else {}
            trouble = "" if facts.get("files") else (done.stdout + done.stderr).strip()[-300:]
        except subprocess.TimeoutExpired:
            facts, trouble = {}, "one test took too long, and the process was ended"
    found = facts.get("files", {}).get(file.path, {})
    result = {name: found.get(name, 0) for name in (*SUMS, "without_launch")}
    if trouble:
        result["failed"] += 1
    return {
        "file": file.path,
        **result,
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(_children_cpu() - used, 1),
        "skips": found.get("skips", {}),
        "failures": facts.get("failures", {}) | ({file.path: trouble} if trouble else {}),
        "selection": file.select,
        "why": file.why,
    }


def _children_cpu() -> float:
    """CPU time of all processes that have ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def show(row: dict[str, Any]) -> None:
    rest = f", {row['not_run']} not run" if row["not_run"] else ""
    print(
        f"{row['file']}: {row['passed']} passed, {row['failed']} failed, {row['skipped']} skipped{rest}, "
        f"{row['launches']} launches, {row['instructions'] / 1e6:.1f} million wave instructions, "
        f"{row['seconds']:.0f} s, {row['cpu_seconds']:.0f} s of CPU"
    )
    if row["selection"]:
        print(f"    selected: {row['selection']} ({row['why']})")
    for reason, times in row["skips"].items():
        print(f"    skipped {times}: {reason.splitlines()[-1][:150]}")
    for test, reason in row["failures"].items():
        print(f"    failed {test.rpartition('::')[2]}: {reason[:150]}")
    sys.stdout.flush()


def chosen(names: str) -> tuple[TestFile, ...]:
    known = {f.name: f for f in FILES}
    wanted = [n for n in names.split(",") if n] or list(known)
    if unknown := [n for n in wanted if n not in known]:
        raise UsageError(f"There is no file {', '.join(unknown)}; choose among {', '.join(known)}.")
    return tuple(known[n] for n in wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--minutes", type=float, default=30.0, help="time for all files together")
    parser.add_argument("--files", default="", help="names such as softmax,rope; all by default")
    parser.add_argument("--bf16", action="store_true", help="run the bfloat16 tests as well")
    options = parser.parse_args()
    files = chosen(options.files)
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise EnvironmentError_(
            f"This environment lacks {', '.join(missing)}; `make liger` makes one that has them, with torch for CPUs."
        )
    folder, deadline = unpacked(), time.monotonic() + 60 * options.minutes
    rows: list[dict[str, Any]] = []
    for i, file in enumerate(files):
        share = max(1.0, (deadline - time.monotonic()) / (len(files) - i))
        rows.append(run(file, folder, share, bf16=options.bf16))
        show(rows[-1])
    sums = {name: sum(row[name] for row in rows) for name in SUMS}
    print(f"all: {', '.join(f'{value} {name}' for name, value in sums.items())}")
    if options.json:
        print_json({"sdist": LIGER.requirement, "bf16": options.bf16, "files": rows, **sums})


if __name__ == "__main__":
    try:
        main()
    except AsmEvoError as error:
        sys.exit(f"asmevo: {error}")
