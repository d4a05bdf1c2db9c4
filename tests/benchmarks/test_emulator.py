"""The kernels of the simulator's benchmark compute what they should, and their figures are of the right kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo.program import recover
from asmevo.sim import BlockCache
from benchmarks import emulator
from benchmarks.mix import LENGTH, mix_object


@pytest.fixture(scope="module")
def cache() -> BlockCache:
    return BlockCache()


def test_the_gemm_agrees_with_numpy(cache: BlockCache) -> None:
    gemm = emulator.Subject(emulator.program_of(emulator.COMPILED / "bf16_gemm.hsaco"), emulator.bf16_gemm(128), cache)
    with pytest.raises(SystemExit):
        emulator.check_gemm(gemm)  # it has not run
    seconds, done = gemm.best(1)
    emulator.check_gemm(gemm)
    assert seconds > 0 and done.instructions > 1000


def test_the_softmax_agrees_with_numpy(cache: BlockCache) -> None:
    program = emulator.program_of(emulator.COMPILED / "softmax.hsaco")
    rowwise = emulator.Subject(program, emulator.softmax(3), cache)
    rowwise.run()
    emulator.check_softmax(rowwise)
    assert 0 < emulator.checked_slowdown({"softmax": rowwise}) < 100


def test_the_mix_executes_its_loop(cache: BlockCache) -> None:
    done = emulator.Subject(recover(mix_object()), emulator.mix(2), cache).run()
    assert done.instructions == emulator.MIX_WAVES * (2 + 32 + 2 * (LENGTH + 3) + 1)


def test_compile_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "EDITS", 2)
    cold, edit = emulator.compile_figures(recover(mix_object()), tmp_path)
    assert cold > 0 and edit > 0


def test_the_vector_set_has_a_name() -> None:
    assert emulator.vector_set() in ("AVX-512", "AVX2", "NEON", "baseline")
