"""The compiled kernels that the demo, the benchmarks and the tests work on, fetched once and hash-checked.

AMD's own objects come out of a wheel on the Python package index; it is downloaded by pip without its dependencies and
only the wanted file is unpacked. Triton's object is part of this project (`examples/fp8_gemm`).
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from asmevo.store import write_atomic
from asmevo.verdict import AsmEvoError, EnvironmentError_
from benchmarks.wheels import AITER, ROOT, cache_folder, fetch_wheel, sha256_of

FP8_GEMM_FOLDER = ROOT / "examples" / "fp8_gemm"


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


def fetch(member: WheelMember = FMOE_STAGE1) -> Path:
    """Path of the unpacked file. Raises `EnvironmentError_` when the wheel cannot be had or is another one."""
    path = cache_folder() / "amd-aiter" / member.name
    if path.exists() and sha256_of(path) == member.sha256:
        return path
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        data = archive.read(member.path)
    if hashlib.sha256(data).hexdigest() != member.sha256:
        raise EnvironmentError_(f"{member.name} of {AITER.requirement} is not the expected file; nothing was unpacked.")
    write_atomic(path, data)
    return path


def fmoe_stage1() -> Path:
    """AMD's stage-1 mixture-of-experts kernel: FP8 in, bf16 out, gate and up projection with SiLU, tile 32x128."""
    return fetch(FMOE_STAGE1)


if __name__ == "__main__":
    try:
        print(fmoe_stage1())
    except AsmEvoError as error:
        sys.exit(f"asmevo: {error}")
