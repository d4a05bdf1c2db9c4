"""Launches: everything a dispatch needs, as values and files, and the memory image built from them.

A set of launches says how a kernel is checked and what is optimised. Every launch of the set is executed by the gate;
the ones with `objective = true` are also timed, and the goal of a search is the mean of their times weighted by
`weight`. Check launches are small and odd (ragged, boundary, special values); objective launches have the size of real
work, and `sample` limits how many of their workgroups the gate executes. The file format is described in
`asmevo.launch.folder`.
"""

from asmevo.launch.build import POISONS, build_image, image_key, lds_bytes, pointer_offsets
from asmevo.launch.fills import Bits, Constant, Data, File, Fill, FromRecipe, Integers, Memory, Random, Zeros
from asmevo.launch.folder import launch_from_json, load_launches, save_launch
from asmevo.launch.formats import Format, decode_bf16, encode_bf16, encode_fp8, format_of, fp8_values, ulp_bf16
from asmevo.launch.hidden import hidden_bytes, hidden_value
from asmevo.launch.image import BASE, CODE_SPACE, MemoryImage, Placement, allocate, map_memory
from asmevo.launch.portable import data_folders, laden, portable, restore
from asmevo.launch.recipes import (
    RECIPES,
    AttentionForward,
    Bf16Gemm,
    BlockScaledGemm,
    Bounds,
    Comparison,
    Expectation,
    FmoeOneStage,
    FmoeOneStageWide,
    FmoeStage1,
    Fp8BlockGemm,
    Int8Gemm,
    Recipe,
    Softmax,
    for_object,
    recipe_from_json,
)
from asmevo.launch.scattered import DeviceMemory
from asmevo.launch.values import Buffer, Field, Launch

__all__ = [
    "BASE",
    "CODE_SPACE",
    "POISONS",
    "RECIPES",
    "AttentionForward",
    "Bf16Gemm",
    "Bits",
    "BlockScaledGemm",
    "Bounds",
    "Buffer",
    "Comparison",
    "Constant",
    "Data",
    "DeviceMemory",
    "Expectation",
    "Field",
    "File",
    "Fill",
    "FmoeOneStage",
    "FmoeOneStageWide",
    "FmoeStage1",
    "Format",
    "Fp8BlockGemm",
    "FromRecipe",
    "Int8Gemm",
    "Integers",
    "Launch",
    "Memory",
    "MemoryImage",
    "Placement",
    "Random",
    "Recipe",
    "Softmax",
    "Zeros",
    "allocate",
    "build_image",
    "data_folders",
    "decode_bf16",
    "encode_bf16",
    "encode_fp8",
    "for_object",
    "format_of",
    "fp8_values",
    "hidden_bytes",
    "hidden_value",
    "image_key",
    "laden",
    "launch_from_json",
    "lds_bytes",
    "load_launches",
    "map_memory",
    "pointer_offsets",
    "portable",
    "recipe_from_json",
    "restore",
    "save_launch",
    "ulp_bf16",
]
