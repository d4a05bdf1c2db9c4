"""The recipe of an object, found by its kernel's name, with arguments for three small launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asmevo.codeobject import CodeObject, Kernel
from asmevo.launch.recipes.attention import AttentionForward
from asmevo.launch.recipes.base import Recipe
from asmevo.launch.recipes.bf16_gemm import Bf16Gemm
from asmevo.launch.recipes.fmoe_one_stage import FmoeOneStage
from asmevo.launch.recipes.fmoe_stage1 import FmoeStage1
from asmevo.launch.recipes.fmoe_wide import FmoeOneStageWide
from asmevo.launch.recipes.quantised_gemm import Fp8BlockGemm, Int8Gemm
from asmevo.launch.values import Launch
from asmevo.verdict import InputError, UnsupportedError

SIZES = ("one", "ragged", "several")
"""Names of the launches: the smallest, one whose sizes are no multiples of a tile, and one of several tiles."""
Arguments = Mapping[str, Any]


def for_object(obj: CodeObject, kernel: str | None = None) -> tuple[Launch, ...]:
    """Small launches of a kernel of a known family, named `one`, `ragged` and `several`.

    Raises `UnsupportedError` when no recipe is known to be right for this kernel.
    """
    found = obj.kernel(kernel)
    recipes = zip(SIZES, recipes_of(found), strict=True)
    return tuple(recipe.launch(size) for size, recipe in recipes)


def recipes_of(kernel: Kernel) -> Iterator[Recipe]:
    """The recipes behind `for_object`, in the order of `SIZES`."""
    name = plain_name(kernel.name)
    for pattern, make in _FAMILIES:
        if re.fullmatch(pattern, name):
            yield from make(name, kernel)
            return
    raise UnsupportedError(
        f"No recipe is known to be right for the kernel {name}; spell its launches out, see docs/launch.md."
    )


def plain_name(symbol: str) -> str:
    """The name inside of the namespace `aiter`, or the symbol itself."""
    found = re.fullmatch(r"_ZN5aiter\d+(\w+)E", symbol)
    return found[1] if found else symbol


def tile_of(name: str) -> tuple[int, int]:
    """(tile_m, tile_n) in the name of an AITer object, e.g. `..._32x128_3tg_pf3`. Raises `InputError` without one."""
    found = re.search(r"_(\d+)x(\d+)(_|E|\.|$)", name)
    if found is None:
        raise InputError(f"The name {name!r} holds no tile size such as 32x128; give tile_m and tile_n.")
    return int(found[1]), int(found[2])


def _stage1(name: str, kernel: Kernel) -> Iterator[Recipe]:
    m, n = tile_of(name)
    common: dict[str, Any] = {"tile_m": m, "tile_n": n, "dtype": "int8" if "Int8" in name else "fp8"}
    common |= {"scaling": "block" if "blockscale" in name else "token", "doweight": "doweight" in name}
    for size in _expert_sizes(n, (256, 384, 512)):
        yield FmoeStage1(**common, **size)


def _one_stage(name: str, kernel: Kernel) -> Iterator[Recipe]:
    block = "blockscale" in name
    older = re.search(r"_subGU_(\d+)", name)
    m, n = (32, int(older[1])) if older else tile_of(name)
    # objects named Int8 with tkw1 hold fp8 matrix instructions only
    is_int8 = ("Int8" in name or "_int8_" in name) and "tkw1" not in name
    common: dict[str, Any] = {"tile_m": m, "tile_n": n, "dtype": "int8" if is_int8 else "fp8"}
    common |= {"scaling": "block" if block else "token", "doweight": "tkw1" in name, "kernarg": kernel.kernarg_size}
    common |= {"activation": "gelu" if "gelu" in name else "silu", "persistent": 8 if "_ps" in name else 0}
    unmangled_block = block and kernel.name == name  # the oldest: right for dim from 1024 only
    for size in _expert_sizes(n, (1024, 1536, 1024) if unmangled_block else (256, 512, 1024)):
        yield FmoeOneStage(**common, **size, apart=True)


def _one_stage_wide(name: str, kernel: Kernel) -> Iterator[Recipe]:
    m, n = tile_of(name)
    sort = "none" if "_flat" in name else "kernel" if "_emsort" in name else "host"
    persistent = 8 if sort == "kernel" or "_ps" in name else 0
    for size in _expert_sizes(n, (512, 1024, 512)):
        yield FmoeOneStageWide(tile_m=m, tile_n=n, sort=sort, persistent=persistent, **size)


def _expert_sizes(tile_n: int, dims: tuple[int, int, int]) -> Iterator[Arguments]:
    yield {"tokens": 1, "experts": 1, "topk": 1, "dim": dims[0], "inter": tile_n}
    yield {"tokens": 37, "experts": 3, "topk": 2, "dim": dims[1], "inter": tile_n, "seed": 1}
    yield {"tokens": 70, "experts": 4, "topk": 1, "dim": dims[2], "inter": 2 * tile_n, "seed": 2}


def _bf16_gemm(name: str, kernel: Kernel) -> Iterator[Recipe]:
    m, _ = tile_of(name)
    ragged: dict[str, Any] = {"out": "bf16", "bias": True} if kernel.kernarg_size >= 336 else {}
    common: dict[str, Any] = {"tile_m": m, "kernarg": kernel.kernarg_size, "shuffled": "bshuffle" in name}
    common |= {"semaphores": "clean" in name}
    yield Bf16Gemm(m=1, n=64, k=64, **common)
    yield Bf16Gemm(m=m + 7, n=192, k=320, seed=1, **common, **ragged)
    yield Bf16Gemm(m=2 * m, n=256, k=512, seed=2, splitk=4, **common)


def _int8_gemm(name: str, kernel: Kernel) -> Iterator[Recipe]:
    m, n = tile_of(name)
    older = any(argument.name == "N" for argument in kernel.args)  # newer ones call it Ndim, or have no names
    if older:
        common: dict[str, Any] = {"tile_m": m, "tile_n": n, "weight_tile": 32}
        sizes = ((1, n, 384, 1), (m + 7, 2 * n, 512, 1), (2 * m, 3 * n, 640, 1))
    else:
        common = {"tile_m": m, "tile_n": n}
        sizes = ((1, n, 128, 1), (m + 7, 2 * n, 384, 1), (2 * m, 2 * n, 512, 2 if n == 128 else 1))
    for seed, (rows, columns, k, ks) in enumerate(sizes):
        yield Int8Gemm(m=rows, n=columns, k=k, ks=ks, seed=seed, **common)


def _fp8_gemm(name: str, kernel: Kernel) -> Iterator[Recipe]:
    m, n = tile_of(name)
    sizes = ((1, n, 128, 1), (m + 7, 2 * n, 384, 1), (2 * m, 2 * n, 512, 2))
    for seed, (rows, columns, k, ks) in enumerate(sizes):
        yield Fp8BlockGemm(m=rows, n=columns, k=k, ks=ks, seed=seed, tile_m=m, tile_n=n)


def _attention(name: str, kernel: Kernel) -> Iterator[Recipe]:
    (rounding,) = re.findall(r"rtne|rtna|rtz", name)
    common: dict[str, Any] = {"head": "192x128" if "hd192x128" in name else "128", "causal": "causal" in name}
    common |= {"group": name.endswith("group"), "rounding": rounding}
    yield AttentionForward(batch=1, heads=1, queries=1, keys=1, **common)
    yield AttentionForward(batch=2, heads=4, kv_heads=2, queries=300, keys=333, seed=1, **common)
    yield AttentionForward(batch=3, heads=8, queries=128, keys=256, seed=2, **common)


_ROUTED = r"(multix|smf|atm|opt|a16|psx|flat|emsort|noquant)"
_FAMILIES: tuple[tuple[str, Callable[[str, Kernel], Iterator[Recipe]]], ...] = (
    (r"fmoe_stage1_bf16_pertoken(Fp8|Int8)(_blockscale|_doweight)?_g1u1_\d+x\d+\w*", _stage1),
    (r"fmoe_bf16_a16_blockscaleFp8_g1u1_vs_silu_1tg_\w*16x(128|256)\w*", _one_stage_wide),
    (rf"fmoe_(?!.*_{_ROUTED}_)bf16_(pertoken(Fp8|Int8)|blockscaleFp8)_g1u1_\w+_\d+x\d+", _one_stage),
    (r"fmoe_(fp8_blockscale|fp8|int8)_g1u1_(novs_)?subGU_\d+(_silu|_gelu)?(_tkw1)?(_ps)?", _one_stage),
    (r"bf16gemm_(outf32|fp32bf16)_tn_\d+x64\w*", _bf16_gemm),
    (r"I8gemm_bf16_perTokenI8_BpreShuffle_\d+x\d+", _int8_gemm),
    (r"fp8gemm_bf16_blockscale_BpreShuffle_\d+x\d+", _fp8_gemm),
    (r"fmha_fwd_hd(128|192x128)_bf16(_causal)?(_rtne|_rtna|_rtz)(_group)?", _attention),
)
"""Names that a recipe was shown to be right for, and its arguments."""
