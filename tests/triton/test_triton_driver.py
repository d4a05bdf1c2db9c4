"""Triton kernels on the simulated chip, without torch: results against numpy, and what a launch refuses."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("triton")

import triton
import triton_kernels as kernels
from triton.tools.tensor_descriptor import TensorDescriptor

import asmevo.triton
from asmevo.sim import Limits
from asmevo.sim.driver import usable_threads
from asmevo.triton import Array, LaunchFault
from asmevo.verdict import UsageError


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def add(x: np.ndarray, y: np.ndarray, out: np.ndarray, n: int | None = None) -> None:
    n = out.size if n is None else n
    kernels.add[(triton.cdiv(n, 256),)](Array(x), Array(y), Array(out), n, BLOCK=256, num_warps=1)


def floats(*shape: int) -> np.ndarray:
    return rng().standard_normal(shape).astype(np.float32)


# --- results
def test_a_ragged_vector_is_added_exactly() -> None:
    x, y, out = floats(1000), floats(1000)[::-1].copy(), np.full(1000, np.nan, np.float32)
    before = asmevo.triton.statistics()
    add(x, y, out)
    after = asmevo.triton.statistics()
    assert np.array_equal(out, x + y)
    assert asmevo.triton.launches() == after.launches == before.launches + 1
    assert after.kernels["add"] == before.kernels.get("add", 0) + 1
    assert after.instructions > before.instructions


def test_a_masked_softmax_agrees_with_numpy() -> None:
    x, out = floats(5, 700), np.full((5, 700), np.nan, np.float32)
    kernels.softmax[(5,)](Array(x), Array(out), 700, 700, BLOCK=1024)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=3e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fnuz])
def test_a_matrix_product_of_integers_is_exact(dtype: Any) -> None:
    m, n, k = 40, 48, 80
    a, b = (rng().integers(-3, 4, shape).astype(dtype) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    kernels.matmul[(2, 2)](Array(a), Array(b), Array(c), m, n, k, BM=32, BN=32, BK=32)
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_workgroups_meet_in_atomics() -> None:
    x = rng().integers(0, 10, 900).astype(np.int32)
    counts, total, most = np.zeros(10, np.int32), np.zeros(1, np.float32), np.zeros(1, np.int32)
    kernels.histogram[(4,)](Array(x), Array(counts), Array(total), Array(most), 900, BLOCK=256)
    assert np.array_equal(counts, np.bincount(x, minlength=10))
    assert total[0] == x.sum() and most[0] == x.max()


def test_reductions_scans_and_sorts() -> None:
    x = rng().integers(-50, 50, (8, 64)).astype(np.int32)
    sums, scan, arg, order = (np.zeros(s, np.int32) for s in (64, (8, 64), 8, (8, 64)))
    kernels.reductions[(1,)](*map(Array, (x, sums, scan, arg, order)), ROWS=8, COLUMNS=64)
    assert np.array_equal(sums, x.sum(0)) and np.array_equal(arg, x.argmax(1))
    assert np.array_equal(scan, x.cumsum(1)) and np.array_equal(order, np.sort(x, 1))


def test_tensor_descriptors_bound_their_tiles() -> None:
    x, out = floats(20, 40), np.full((20, 40), np.nan, np.float32)
    source = TensorDescriptor.from_tensor(Array(x), [16, 32])
    kernels.copy_tile[(2, 2)](source, Array(out), 20, 40, BM=16, BN=32)
    assert np.array_equal(out, 2 * x)


def test_scalars_of_every_kind_and_hidden_arguments() -> None:
    out = np.zeros(6, np.float32)
    kernels.scalars[(1, 3)](Array(out), (7, -2), True, 5 << 32, 0.25, None, SCALE=3)
    assert out.tolist() == [21, -2, 1, 5, 0.25, 3]


# --- memory
def test_views_share_their_storage() -> None:
    whole = floats(512)
    want = whole[:256] + whole[256:]
    add(whole[:256], whole[256:], whole[256:])
    assert np.array_equal(whole[256:], want)


def test_overlapping_views_see_each_other() -> None:
    whole = np.arange(100, dtype=np.float32)
    want = whole[1:65] + whole[2:66]
    out = np.zeros(64, np.float32)
    add(whole[1:65], whole[2:66], out)
    assert np.array_equal(out, want) and np.array_equal(whole, np.arange(100))


def test_memory_that_is_only_read_may_be_read_only() -> None:
    x, out = floats(64), np.zeros(64, np.float32)
    x.flags.writeable = False
    add(x, x, out)
    assert np.array_equal(out, x + x)


def test_a_tensor_without_elements_and_an_empty_grid_launch_nothing() -> None:
    nothing, before = np.zeros(0, np.float32), asmevo.triton.launches()
    kernels.add[(0,)](Array(nothing), Array(nothing), Array(nothing), 0, BLOCK=256)
    assert asmevo.triton.launches() == before
    kernels.add[(1,)](Array(nothing), Array(nothing), Array(nothing), 0, BLOCK=256)
    assert asmevo.triton.launches() == before + 1


def test_threads_give_the_same_and_atomics_take_one() -> None:
    engine = asmevo.triton.engine()
    x, out = floats(5000), [np.zeros(5000, np.float32) for _ in range(2)]
    for threads, result in zip((1, 0), out, strict=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "threads", threads)
            add(x, x, result)
    assert np.array_equal(*out)
    arguments = (Array(np.zeros(9, np.int32)),) * 4
    compiled = kernels.histogram.warmup(*arguments, 9, BLOCK=256, grid=(1,))
    compiled._init_handles()
    assert usable_threads(compiled.function.executable) == 1


# --- what goes wrong
def test_an_access_outside_of_everything_names_its_line() -> None:
    x, out = floats(64), np.zeros(64, np.float32)
    index = np.full(64, 1 << 26, np.int32)
    with pytest.raises(LaunchFault) as caught:
        kernels.gather[(1,)](Array(x), Array(index), Array(out))
    fault = caught.value
    assert fault.finding is not None and fault.finding.rule == "sim.global"
    file, _, line = fault.source.partition(":")
    text = Path(kernels.__file__).read_text().splitlines()
    assert file == "triton_kernels.py" and "tl.load(index_ptr + i)" in text[int(line) - 1]
    assert "gather" in str(fault) and fault.source in str(fault)


def test_a_store_past_a_buffer_is_an_error_and_changes_nothing() -> None:
    x, out = floats(256), np.zeros(100, np.float32)
    with pytest.raises(LaunchFault, match="out_ptr"):
        add(x, x, out, 256)
    assert not out.any()


def test_a_null_pointer_is_an_error() -> None:
    x, out = floats(64), np.zeros(64, np.float32)
    with pytest.raises(LaunchFault, match="0x0"):
        kernels.add[(1,)](Array(np.zeros(0, np.float32)), Array(x), Array(out), 64, BLOCK=64)


def test_a_kernel_that_hangs_ends() -> None:
    with pytest.raises(LaunchFault, match="polls memory"):
        kernels.spin[(1,)](Array(np.zeros(1, np.int32)))
    x, out = floats(64), np.zeros(64, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asmevo.triton.engine(), "limits", Limits(10))
        with pytest.raises(LaunchFault, match="more instructions"):
            add(x, x, out)
    assert not out.any()


def test_what_is_no_tensor_of_this_process_is_refused() -> None:
    class Foreign:
        dtype = np.dtype(np.float32)

        def data_ptr(self) -> int:
            return 4096

    class Remote(Array):
        device = type("device", (), {"type": "cuda"})()

    x, out = floats(64), np.zeros(64, np.float32)
    for bad, words in ((Foreign(), "storage begins"), (Remote(x), "'cuda'")):
        with pytest.raises(UsageError, match=words):
            kernels.add[(1,)](bad, Array(x), Array(out), 64, BLOCK=64)


def test_a_failed_assertion_in_a_kernel_is_an_error() -> None:
    x, out = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    kernels.below[(1,)](Array(x + 3), Array(out), 4, BLOCK=64)
    assert np.array_equal(out, x + 4)  # without `debug` Triton leaves the assertion out
    kernels.below[(1,)](Array(x), Array(out), 4, BLOCK=64, debug=True)
    assert np.array_equal(out, x + 1)
    with pytest.raises(LaunchFault, match="assertion"):
        kernels.below[(1,)](Array(x + 3), Array(out), 4, BLOCK=64, debug=True)


# --- hooks and times
def test_hooks_see_each_launch() -> None:
    seen: list[tuple[str, str]] = []
    x, out = floats(64), np.zeros(64, np.float32)
    enter, leave = (lambda m: seen.append(("in", m.get()["name"]))), (lambda m: seen.append(("out", m.get()["name"])))
    triton.knobs.runtime.launch_enter_hook.add(enter)
    triton.knobs.runtime.launch_exit_hook.add(leave)
    try:
        add(x, x, out)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
        triton.knobs.runtime.launch_exit_hook.remove(leave)
    assert seen == [("in", "add"), ("out", "add")]


def test_autotuning_uses_modelled_time() -> None:
    x, out = floats(1 << 16), np.full(1 << 16, np.nan, np.float32)
    before = asmevo.triton.statistics()
    kernels.tuned_add[lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)](Array(x), Array(x), Array(out), x.size)
    after = asmevo.triton.statistics()
    assert np.array_equal(out, x + x)
    assert (after.launches - before.launches, after.estimates - before.estimates) == (1, 2)
    timings = kernels.tuned_add.configs_timings
    assert all(0 < t[0] == t[1] == t[2] < 1 for t in timings.values())
    assert kernels.tuned_add.best_config.kwargs["BLOCK"] == 1024, timings


def test_do_bench_gives_the_same_modelled_time_and_leaves_memory_alone() -> None:
    x, out = floats(4096), np.full(4096, np.nan, np.float32)
    times = [triton.testing.do_bench(lambda: add(x, x, out)) for _ in range(2)]
    assert times[0] == times[1] > 0.001 and np.isnan(out).all()
    assert triton.testing.do_bench(lambda: add(x, x, out), quantiles=[0.5, 0.2]) == [times[0]] * 2
    with pytest.raises(UsageError):
        triton.testing.do_bench(lambda: None)


def test_properties_are_those_of_the_chip() -> None:
    driver = triton.runtime.driver.active
    target = driver.get_current_target()
    properties = driver.utils.get_device_properties(0)
    assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx942", 64)
    assert (properties["multiprocessor_count"], properties["max_shared_mem"]) == (304, 65536)
    assert triton.testing.get_dram_gbps(0) == pytest.approx(driver.engine.chip.hbm_bytes_per_s / 1e9, rel=1e-6)


def test_the_example_of_the_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "triton.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "example.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("example.py")
    assert (tmp_path / "add.hsaco").read_bytes().startswith(b"\x7fELF")


# --- checked launches
def test_checked_launches_accept_what_is_right_and_find_a_read_past_a_buffer() -> None:
    x, short, out = floats(256), floats(200), np.zeros(256, np.float32)
    add(x, short, out)  # the read past the end hits memory that belongs to nobody, which goes unseen
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asmevo.triton.engine(), "checked", True)
        add(x, x, out)
        assert np.array_equal(out, x + x)
        c = np.zeros((32, 32), np.float32)
        a = rng().integers(-3, 4, (32, 32)).astype(np.float16)
        kernels.matmul[(1, 1)](Array(a), Array(a), Array(c), 32, 32, 32, BM=32, BN=32, BK=32)
        assert np.array_equal(c, a.astype(np.float32) @ a.astype(np.float32))
        with pytest.raises(LaunchFault, match="none of the buffers") as caught:
            add(x, short, out)
        assert caught.value.source.startswith("triton_kernels.py:")
