"""Recipes found by the names of kernels; the objects themselves are in no repository."""

from dataclasses import replace

import pytest

from asmevo.codeobject import CodeObject
from asmevo.launch import (
    RECIPES,
    AttentionForward,
    Bf16Gemm,
    Fp8BlockGemm,
    Int8Gemm,
    build_image,
    for_object,
    load_launches,
    save_launch,
)
from asmevo.launch.recipes.objects import SIZES, plain_name, recipes_of, tile_of
from asmevo.verdict import InputError, UnsupportedError


@pytest.fixture(scope="module")
def kernel(fmoe_stage1_bytes):
    return CodeObject.parse(fmoe_stage1_bytes).kernel()


def named(kernel, name, size=448):
    return replace(kernel, name=f"_ZN5aiter{len(name)}{name}E", kernarg_size=size)


ARGUMENTS = {
    "fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf3": ("aiter.fmoe_stage1", {"tile_m": 32, "dtype": "fp8"}),
    "fmoe_stage1_bf16_pertokenInt8_g1u1_96x128_pf2": ("aiter.fmoe_stage1", {"tile_m": 96, "dtype": "int8"}),
    "fmoe_stage1_bf16_pertokenFp8_doweight_g1u1_16x512_pf3": (
        "aiter.fmoe_stage1",
        {"doweight": True, "tile_n": 512, "scaling": "token"},
    ),
    "fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_80x128_2tg_pf2": ("aiter.fmoe_stage1", {"scaling": "block"}),
    "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_ps_32x256": (
        "aiter.fmoe_one_stage",
        {"scaling": "block", "persistent": 8},
    ),
    "fmoe_bf16_pertokenInt8_g1u1_vs_silu_1tg_32x320": ("aiter.fmoe_one_stage", {"dtype": "int8", "tile_n": 320}),
    "fmoe_bf16_pertokenInt8_g1u1_tkw1_silu_1tg_32x128": ("aiter.fmoe_one_stage", {"dtype": "fp8", "doweight": True}),
    "fmoe_bf16_pertokenFp8_g1u1_gelu_1tg_32x192": ("aiter.fmoe_one_stage", {"activation": "gelu"}),
    "fmoe_fp8_blockscale_g1u1_subGU_256": ("aiter.fmoe_one_stage", {"tile_n": 256, "scaling": "block"}),
    "fmoe_bf16_a16_blockscaleFp8_g1u1_vs_silu_1tg_16x256": ("aiter.fmoe_one_stage_a16", {"sort": "host", "tile_m": 16}),
    "fmoe_bf16_a16_blockscaleFp8_g1u1_vs_silu_1tg_16x128_flat_pf3": ("aiter.fmoe_one_stage_a16", {"sort": "none"}),
    "fmoe_bf16_a16_blockscaleFp8_g1u1_vs_silu_1tg_emsort_16x128_pf3": (
        "aiter.fmoe_one_stage_a16",
        {"sort": "kernel", "persistent": 8},
    ),
    "bf16gemm_outf32_tn_48x64_pf3": ("aiter.bf16_gemm", {"tile_m": 48, "out": "float32"}),
    "bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk_clean": ("aiter.bf16_gemm", {"shuffled": True, "semaphores": True}),
    "I8gemm_bf16_perTokenI8_BpreShuffle_112x256": ("aiter.int8_gemm", {"tile_n": 256, "ks": 1}),
    "fp8gemm_bf16_blockscale_BpreShuffle_64x128": ("aiter.fp8_gemm_blockscale", {"tile_m": 64}),
    "fmha_fwd_hd128_bf16_causal_rtne_group": (
        "aiter.attention_forward",
        {"causal": True, "group": True, "rounding": "rtne"},
    ),
    "fmha_fwd_hd192x128_bf16_rtz": ("aiter.attention_forward", {"head": "192x128", "rounding": "rtz"}),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_by_name(name, kernel):
    family, wanted = ARGUMENTS[name]
    size = 288 if "outf32" in name else 352 if "bf16gemm" in name else 448
    recipes = list(recipes_of(named(kernel, name, size)))
    assert len(recipes) == len(SIZES) == len(set(recipes))
    for recipe in recipes:
        assert recipe.name == family
        assert {key: getattr(recipe, key) for key in wanted} == wanted


def test_older_generations(kernel):
    assert {r.kernarg for r in recipes_of(named(kernel, "bf16gemm_outf32_tn_48x64_pf3", 288))} == {288}
    older = named(kernel, "I8gemm_bf16_perTokenI8_BpreShuffle_128x128")
    older = replace(older, args=(replace(kernel.args[0], name="N"),))
    assert {r.weight_tile for r in recipes_of(older)} == {32}
    assert {r.weight_tile for r in recipes_of(replace(older, args=()))} == {16}
    oldest = replace(kernel, name="fmoe_fp8_blockscale_g1u1_subGU_256", kernarg_size=416)
    assert min(r.dim for r in recipes_of(oldest)) == 1024


@pytest.mark.parametrize(
    "name",
    [
        "fmoe_bf16_pertokenFp8_g1u1_vs_multix_silu_1tg_32x128",
        "fmoe_bf16_pertokenInt8_g1u1_vs_smf_silu_1tg_1tg_32x256",
        "fmoe_int8_g1u0_subGU_128",
        "fmoe_fp16_pertokenFp8_g1u1_silu_1tg_32x128",
        "fmoe_bf16_noquantBf16_g1u0_vs_atm_inlv_silu_1tg_32x512",
        "fmha_fwd_hd128_bf16_causal",
        "pa_bf16_noquant_gqa8_1tg_4w",
        "vector_add",
    ],
)
def test_what_no_recipe_is_known_for(name, kernel):
    with pytest.raises(UnsupportedError, match=name):
        list(recipes_of(named(kernel, name)))


def test_launches_of_an_object(fmoe_stage1_bytes):
    obj = CodeObject.parse(fmoe_stage1_bytes)
    launches = for_object(obj)
    assert [launch.name for launch in launches] == list(SIZES)
    assert launches[1].recipe.tokens % 32 and launches[0].recipe.tokens == 1
    build_image(launches[0], obj)


def test_names():
    assert plain_name("_ZN5aiter19fmha_fwd_hd128_bf16E") == "fmha_fwd_hd128_bf16"
    assert plain_name("fmoe_kernel_func") == "fmoe_kernel_func"
    assert tile_of("fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf3") == (32, 128)
    assert tile_of("_ZN5aiter44fmoe_stage1_bf16_pertokenFp8_g1u1_160x64_pf2E") == (160, 64)
    with pytest.raises(InputError, match="tile size"):
        tile_of("gemm")


@pytest.mark.parametrize(
    "recipe",
    [
        Bf16Gemm(m=3, n=64, k=64, shuffled=True),
        Int8Gemm(m=3, n=128, k=128),
        Fp8BlockGemm(m=3, n=128, k=128),
        AttentionForward(batch=2, heads=2, queries=3, keys=4, group=True),
    ],
)
def test_recipes_round_trip(tmp_path, recipe):
    assert load_launches(save_launch(recipe.launch("r"), tmp_path)) == (recipe.launch("r"),)
    assert RECIPES[recipe.name] is type(recipe)
