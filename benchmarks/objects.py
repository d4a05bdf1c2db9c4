"""The compiled kernels that the demo, the benchmarks and the tests work on, fetched once and hash-checked.

AMD's own objects come out of a wheel on the Python package index; it is downloaded by pip without its dependencies and
only the wanted file is unpacked. Triton's object is part of this project (`examples/fp8_gemm`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from asmevo.store import write_atomic
from asmevo.verdict import AsmEvoError, EnvironmentError_

ROOT = Path(__file__).resolve().parent.parent
FP8_GEMM_FOLDER = ROOT / "examples" / "fp8_gemm"

AITER = "amd-aiter==0.1.7.post2.dev18"
AITER_SHA256 = "fe139d74438217c35e87e3b961166bac8db2d381eadccb371da2e63615f05a31"


@dataclass(frozen=True, slots=True)
class WheelMember:
    """A file inside AMD's wheel, known by its hash."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return Path(self.path).name


FMOE_STAGE1 = WheelMember(
    "aiter_meta/hsa/gfx942/fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf3.co",
    "3bddb5e2f649f4a93a65f7cfe4cd8c8af776b46882f5a99d2fb86ff543134a81",
)


def cache_folder() -> Path:
    """Where fetched files are kept: `$ASMEVO_CACHE`, else `.cache` in the clone."""
    return Path(os.environ.get("ASMEVO_CACHE") or ROOT / ".cache")


def fetch(member: WheelMember = FMOE_STAGE1) -> Path:
    """Path of the unpacked file. Raises `EnvironmentError_` when the wheel cannot be had or is another one."""
    path = cache_folder() / "amd-aiter" / member.name
    if path.exists() and _sha256(path) == member.sha256:
        return path
    with zipfile.ZipFile(wheel()) as archive:
        data = archive.read(member.path)
    if hashlib.sha256(data).hexdigest() != member.sha256:
        raise EnvironmentError_(f"{member.name} of {AITER} is not the expected file; nothing was unpacked.")
    write_atomic(path, data)
    return path


def fmoe_stage1() -> Path:
    """AMD's stage-1 mixture-of-experts kernel: FP8 in, bf16 out, gate and up projection with SiLU, tile 32x128."""
    return fetch(FMOE_STAGE1)


def wheel() -> Path:
    """Path of AMD's wheel in the cache, downloaded once and hash-checked. Raises `EnvironmentError_` without one."""
    folder = cache_folder() / "amd-aiter"
    for path in folder.glob("amd_aiter-*.whl"):
        if _sha256(path) == AITER_SHA256:
            return path
    with tempfile.TemporaryDirectory() as downloads:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-input", "-d", downloads, AITER]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        wheels = list(Path(downloads).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise EnvironmentError_(
                f"pip could not download {AITER} ({reason}); check that a Python package index is reachable, "
                f"or put that wheel into {folder}."
            )
        if _sha256(wheels[0]) != AITER_SHA256:
            raise EnvironmentError_(f"The downloaded {wheels[0].name} has another hash than expected; it was not used.")
        path = folder / wheels[0].name
        write_atomic(path, wheels[0].read_bytes())
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    try:
        print(fmoe_stage1())
    except AsmEvoError as error:
        sys.exit(f"asmevo: {error}")
