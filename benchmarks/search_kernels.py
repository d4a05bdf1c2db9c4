"""The kernels that `benchmarks.search` searches: each an object, its launches and its family."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device import Device
from asmevo.launch import (
    AttentionForward,
    Bf16Gemm,
    FmoeOneStage,
    FmoeStage1,
    Int8Gemm,
    Launch,
    Recipe,
    for_object,
    load_launches,
)
from asmevo.verdict import EnvironmentError_
from benchmarks import sglang_kernels
from benchmarks.objects import FP8_GEMM_FOLDER, ROOT
from benchmarks.operators.launches import OPERATORS, Operator
from benchmarks.wheels import AITER, cache_folder, fetch_wheel

SAMPLE = 2
"""Workgroups of a timed launch that the gate executes."""
OPERATOR_SOURCE = Path(__file__).parent / "operators" / "kernels.py"


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel to search."""

    name: str
    family: str
    load: Callable[[Device, Callable[[str], None]], tuple[bytes, tuple[Launch, ...]]]
    """Its object and launches; what it decides on the way is told."""
    races: bool = False
    """Whether its waves race through LDS, so that the search begins from the object that a repair makes of it."""


def subjects() -> Iterator[Subject]:
    """All kernels, the example first."""
    yield Subject("fp8_gemm", "triton", _example)
    for name, path, timed in _AITER:
        yield Subject(name, "aiter", _aiter(path, timed), races=name in _RACES)
    for family, operator in sglang_kernels.KERNELS:
        yield Subject(operator.name, "sglang", _sglang(family, operator))
    for operator in OPERATORS:
        yield Subject(operator.name, "operators", _best_of_grid(operator))


def _example(device: Device, say: Callable[[str], None]) -> tuple[bytes, tuple[Launch, ...]]:
    data = (FP8_GEMM_FOLDER / "fp8_block_scaled_gemm.hsaco").read_bytes()
    return data, tuple(load_launches(FP8_GEMM_FOLDER / "launches"))


_Timed = Callable[[Any], Recipe]
_HSA = "aiter_meta/hsa/gfx942/"
_AITER: tuple[tuple[str, str, _Timed], ...] = (
    (
        "fmoe_fp8_blockscale_g1u1_subGU_256",
        _HSA + "fmoe_fp8_blockscale_g1u1_subGU_256.co",
        lambda r: replace(_of(r, FmoeOneStage), tokens=128, experts=8, topk=2, dim=4096, inter=1536),
    ),
    (
        "fmoe_one_stage_fp8_32x256",
        _HSA + "fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x256.co",
        lambda r: replace(_of(r, FmoeOneStage), tokens=128, experts=8, topk=2, dim=4096, inter=1536),
    ),
    (
        "fmha_fwd_hd128_bf16_causal_rtne",
        _HSA + "fmha_v3_fwd/MI300/fwd_hd128_bf16_causal_rtne.co",
        lambda r: replace(_of(r, AttentionForward), batch=1, heads=16, kv_heads=4, queries=2048, keys=2048),
    ),
    (
        "fmoe_stage1_fp8_32x128",
        _HSA + "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf3.co",
        lambda r: replace(_of(r, FmoeStage1), tokens=256, experts=8, topk=2, dim=4096, inter=1024),
    ),
    (
        "bf16gemm_64x64",
        _HSA + "bf16gemm/bf16gemm_outf32_tn_64x64_pf3.co",
        lambda r: replace(_of(r, Bf16Gemm), m=512, n=2048, k=4096),
    ),
    (
        "i8gemm_128x128",
        _HSA + "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_128x128.co",
        lambda r: replace(_of(r, Int8Gemm), m=512, n=2048, k=4096, ks=1),
    ),
)
"""Name, member of AMD's wheel, and the recipe of the launch that is timed, from that of a small one."""
_RACES = frozenset({"fmoe_fp8_blockscale_g1u1_subGU_256"})


def _of(recipe: Recipe, kind: type[Any]) -> Any:
    assert isinstance(recipe, kind)
    return recipe


def _aiter(path: str, timed: _Timed) -> Callable[[Device, Callable[[str], None]], tuple[bytes, tuple[Launch, ...]]]:
    def load(device: Device, say: Callable[[str], None]) -> tuple[bytes, tuple[Launch, ...]]:
        with zipfile.ZipFile(fetch_wheel(AITER)) as wheel:
            data = wheel.read(path)
        small = for_object(CodeObject.parse(data, path))
        large = replace(timed(small[0].recipe).launch("timed"), objective=True, sample=SAMPLE)
        return data, (*small, large)

    return load


def _sglang(family: str, operator: Operator) -> Callable[..., tuple[bytes, tuple[Launch, ...]]]:
    def load(device: Device, say: Callable[[str], None]) -> tuple[bytes, tuple[Launch, ...]]:
        (made,) = compiled(operator, sglang_kernels.source_of(family))
        data, lds = made
        return data, operator.launches(operator.grid[0], lds)

    return load


def _best_of_grid(operator: Operator) -> Callable[..., tuple[bytes, tuple[Launch, ...]]]:
    """K0 is the fastest of the grid under the model, so that no gain comes from a weak start."""

    def load(device: Device, say: Callable[[str], None]) -> tuple[bytes, tuple[Launch, ...]]:
        found: list[tuple[float, bytes, tuple[Launch, ...]]] = []
        for choice, (data, lds) in zip(operator.grid, compiled(operator, OPERATOR_SOURCE), strict=True):
            launches = operator.launches(choice, lds)
            us = device.time(device.load(data), launches).microseconds
            say(f"  {operator.name} {shown(choice)}: modelled {us:.2f} us")
            found.append((us, data, launches))
        _, data, launches = min(found, key=lambda one: one[0])
        return data, launches

    return load


def shown(choice: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in choice.items())


def compiled(operator: Operator, source: Path) -> list[tuple[bytes, int]]:
    """Object and bytes of LDS for each choice of the grid, compiled once and kept in the cache."""
    folder = cache_folder() / "operators"
    outs = [folder / f"{operator.name}-{n}" for n in range(len(operator.grid))]
    wanted = [operator.spec(source, c, out) for c, out in zip(operator.grid, outs, strict=True)]
    stamp = folder / f"{operator.name}.spec.json"
    text = json.dumps([wanted, source.read_text()])
    if not stamp.is_file() or stamp.read_text() != text:
        _compile(wanted, folder / f"{operator.name}.wanted.json")
        stamp.write_text(text)
    return [
        (out.with_suffix(".hsaco").read_bytes(), json.loads(out.with_suffix(".json").read_text())["lds"])
        for out in outs
    ]


def _compile(wanted: Sequence[dict[str, Any]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(wanted)))
    command = [sys.executable, "-m", "benchmarks.operators.build", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise EnvironmentError_(f"Triton could not compile {path.stem} ({reason}); install triton==3.9.0.")
