"""The two compiled kernels every package is tested on."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fmoe_stage1_path() -> Path:
    """AMD's FP8 mixture-of-experts kernel, fetched once into the cache."""
    from benchmarks import objects

    return objects.fmoe_stage1()


@pytest.fixture(scope="session")
def fmoe_stage1_bytes(fmoe_stage1_path: Path) -> bytes:
    return fmoe_stage1_path.read_bytes()


@pytest.fixture(scope="session")
def fp8_gemm_path() -> Path:
    """The Triton FP8 block-scaled GEMM of this project."""
    from benchmarks import objects

    (path,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
    return path


@pytest.fixture(scope="session")
def fp8_gemm_bytes(fp8_gemm_path: Path) -> bytes:
    return fp8_gemm_path.read_bytes()
