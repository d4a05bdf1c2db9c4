"""Recipes of known kernel families, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asmevo.launch.recipes.agreement import Bounds, Comparison, Expectation
from asmevo.launch.recipes.attention import AttentionForward
from asmevo.launch.recipes.base import Recipe
from asmevo.launch.recipes.bf16_gemm import Bf16Gemm
from asmevo.launch.recipes.block_scaled_gemm import BlockScaledGemm
from asmevo.launch.recipes.fmoe_one_stage import FmoeOneStage
from asmevo.launch.recipes.fmoe_stage1 import FmoeStage1
from asmevo.launch.recipes.fmoe_wide import FmoeOneStageWide
from asmevo.launch.recipes.objects import for_object
from asmevo.launch.recipes.quantised_gemm import Fp8BlockGemm, Int8Gemm
from asmevo.launch.recipes.softmax import Softmax
from asmevo.launch.table import Table
from asmevo.verdict import InputError

__all__ = [
    "RECIPES",
    "AttentionForward",
    "Bf16Gemm",
    "BlockScaledGemm",
    "Bounds",
    "Comparison",
    "Expectation",
    "FmoeOneStage",
    "FmoeOneStageWide",
    "FmoeStage1",
    "Fp8BlockGemm",
    "Int8Gemm",
    "Recipe",
    "Softmax",
    "for_object",
    "recipe_from_json",
]

RECIPES: dict[str, type[Recipe]] = {
    cls.name: cls
    for cls in (
        FmoeStage1,
        FmoeOneStage,
        FmoeOneStageWide,
        Bf16Gemm,
        Int8Gemm,
        Fp8BlockGemm,
        AttentionForward,
        BlockScaledGemm,
        Softmax,
    )
}


def recipe_from_json(name: str, arguments: Mapping[str, Any], where: str) -> Recipe:
    """A recipe value. Raises `InputError` that names `where` for an unknown recipe, an unknown or missing argument, and
    one of another type."""
    cls = RECIPES.get(name)
    if cls is None:
        raise InputError(f"The recipe {name!r} of {where} is unknown; use one of {', '.join(RECIPES)}.")
    known = cls.__dataclass_fields__
    return cls(**Table(arguments, f"recipe {name} in {where}", known).arguments(cls, known))
