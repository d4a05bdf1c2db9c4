"""SGLang's Triton kernels from its wheel, with configurations of serving and launches. Nothing of them is kept here.

The wheel is fetched once by pip without its dependencies. Its modules cannot be imported without torch and a GPU, so
the functions marked `@triton.jit` are cut out of their files and compiled alone.
"""

from __future__ import annotations

import ast
import zipfile
from pathlib import Path
from typing import Any

from asmevo.launch import Bits, Buffer, Data, Fill, Random
from asmevo.store import write_atomic
from benchmarks.operators.launches import Operator, Sizes
from benchmarks.wheels import Wheel, cache_folder, fetch_wheel

SGLANG = Wheel("sglang==0.5.23", "00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937")
_OPS = "sglang/kernels/ops/"
SOURCES = {
    "w8a8": _OPS + "gemm/fp8_kernel.py",
    "moe": _OPS + "moe/fused_moe_triton_kernels.py",
    "lora": _OPS + "lora/moe/fused_moe_lora_kernel.py",
    "awq": _OPS + "quantization/awq_triton.py",
}
"""Family to the file of the wheel that holds its kernel."""


def source_of(family: str) -> Path:
    """The family's `@triton.jit` functions as a file of their own, in the cache."""
    path = cache_folder() / "sglang" / f"{family}_kernels.py"
    if not path.is_file():
        with zipfile.ZipFile(fetch_wheel(SGLANG)) as wheel:
            text = wheel.read(SOURCES[family]).decode()
        write_atomic(path, _jitted(text).encode())
    return path


def _jitted(text: str) -> str:
    """The functions of a module that are marked `@triton.jit`, and the imports they need."""
    lines = text.splitlines()
    parts = ["import triton", "import triton.language as tl", ""]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in node.decorator_list):
            parts += [*lines[node.decorator_list[0].lineno - 1 : node.end_lineno], "", ""]
    return "\n".join(parts) + "\n"


def _w8a8(name: str, tile: tuple[int, int, int], group: int, warps: int, m: int, n: int) -> Operator:
    """A8W8 block-scaled GEMM: fp8 a [M, K], b [N, K], scales per 128 columns of K and 128 rows of b."""
    bm, bn, bk = tile
    integers = [
        "M",
        "N",
        "K",
        "group_n",
        "group_k",
        "stride_am",
        "stride_bn",
        "stride_cm",
        "stride_As_m",
        "stride_Bs_n",
    ]
    pointers = {"A": "*fp8_e4m3fnuz", "B": "*fp8_e4m3fnuz", "C": "*bf16", "As": "*f32", "Bs": "*f32"}
    constants = dict.fromkeys(("stride_ak", "stride_bk", "stride_cn", "stride_As_k", "stride_Bs_k"), 1)
    constants |= {"BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn, "BLOCK_SIZE_K": bk, "GROUP_SIZE_M": group, "needs_masking": 0}

    def sizes(rows: int, columns: int, k: int) -> Sizes:
        strides = {"stride_am": k, "stride_bn": k, "stride_cm": columns, "stride_As_m": k // 128}
        return {"M": rows, "N": columns, "K": k, "group_n": 128, "group_k": 128, "stride_Bs_n": k // 128, **strides}

    def values(argument: str, z: Sizes) -> Fill | None:
        if argument in ("As", "Bs"):
            return Random(seed=7, distribution="uniform", low=0.5, high=1.5)
        return Random(seed=len(argument) + ord(argument), distribution="normal", high=20.0)

    return Operator(
        name,
        pointers | dict.fromkeys(integers, "i32"),
        ({**constants, "num_warps": warps, "num_stages": 2, "matrix_instr_nonkdim": 16, "kpack": 1},),
        {
            "A": lambda z: (z["M"], z["K"]),
            "B": lambda z: (z["N"], z["K"]),
            "C": lambda z: (z["M"], z["N"]),
            "As": lambda z: (z["M"], z["K"] // 128),
            "Bs": lambda z: (-(-z["N"] // 128), z["K"] // 128),
        },
        ("C",),
        lambda z, c: (-(-z["M"] // bm) * -(-z["N"] // bn), 1, 1),
        (sizes(bm + 5, 2 * max(bn, 128), 512), sizes(m, n, 7168)),
        function="_w8a8_block_fp8_matmul",
        aligned=("N", "K", "group_n", "group_k", "stride_am", "stride_bn", "stride_cm"),
        values=values,
    )


def _moe(name: str, tile: tuple[int, int, int], warps: int, tokens: int) -> Operator:
    """Fused MoE, bf16: each token goes to two experts; slots are sorted by expert and padded to the tile."""
    bm, bn, bk = tile
    pointers = {
        "a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*bf16", "topk_weights_ptr": "*f32",
        "sorted_token_ids_ptr": "*i32", "expert_ids_ptr": "*i32", "num_tokens_post_padded_ptr": "*i32",
    }  # fmt: skip
    integers = ["N", "K", "EM", "num_valid_tokens", "stride_am", "stride_be", "stride_bn", "stride_cm"]
    nothing = ("a_desc", "b_desc", "bias_ptr", "a_scale_ptr", "b_scale_ptr", "add_mask_ptr")
    zero = [
        "stride_bias_e",
        "stride_bias_n",
        "stride_asm",
        "stride_ask",
        "stride_bse",
        "stride_bsk",
        "stride_bsn",
        "group_n",
        "group_k",
    ]
    off = [
        "use_fp8_w8a8",
        "use_int8_w8a8",
        "use_int8_w8a16",
        "per_channel_quant",
        "c_sorted",
        "swap_ab",
        "FUSE_ADD_TO_OUTPUT",
        "MASK_OUTPUT",
        "FUSE_SUM_ALL_REDUCE",
        "FUSE_SWIGLU",
        "USE_GDC",
        "GDC_EARLY",
        "A_OUTPUT_SLICE_WIDTH",
        "A_OUTPUT_SLICE_K",
    ]
    constants: dict[str, Any] = dict.fromkeys(nothing) | dict.fromkeys((*zero, *off), 0)
    constants |= dict.fromkeys(("stride_ak", "stride_bk", "stride_cn", "MUL_ROUTED_WEIGHT", "even_Ks"), 1)
    constants |= {"A_OUTPUT_SLICES": 1, "ROUTER_TOPK": 2, "top_k": 2, "compute_type": "bf16", "GROUP_SIZE_M": 1}
    constants |= {"BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn, "BLOCK_SIZE_K": bk}

    def sizes(count: int, experts: int, n: int, k: int) -> Sizes:
        strides = {"stride_am": k, "stride_be": n * k, "stride_bn": k, "stride_cm": n}
        return {"N": n, "K": k, **_routed(count, experts, bm), **strides}

    return Operator(
        name,
        pointers | dict.fromkeys(integers, "i32"),
        ({**constants, "num_warps": warps, "num_stages": 2, "matrix_instr_nonkdim": 16, "kpack": 1},),
        {
            "a_ptr": lambda z: (z["tokens"], z["K"]),
            "b_ptr": lambda z: (z["experts"], z["N"], z["K"]),
            "c_ptr": lambda z: (2 * z["tokens"], z["N"]),
            "topk_weights_ptr": lambda z: (2 * z["tokens"],),
            "sorted_token_ids_ptr": lambda z: (z["EM"],),
            "expert_ids_ptr": lambda z: (z["EM"] // bm,),
            "num_tokens_post_padded_ptr": lambda z: (1,),
        },
        ("c_ptr",),
        lambda z, c: (-(-z["EM"] // bm) * -(-z["N"] // bn), 1, 1),
        (sizes(21, 2, 2 * bn, 4 * bk), sizes(tokens, 8, 2048, 2048)),
        function="fused_moe_kernel",
        aligned=("N", "K", "EM", "stride_am", "stride_be", "stride_bn", "stride_cm"),
        values=lambda argument, z: _routing(argument, z, bm),
    )


def _routed(count: int, experts: int, bm: int) -> Sizes:
    """Extents of `count` tokens that go to two experts each, whose slots are padded to `bm`."""
    each = -(-2 * count // experts)
    padded = -(-each // bm) * bm * experts
    return {"tokens": count, "experts": experts, "EM": padded, "num_valid_tokens": 2 * count}


def _routing(argument: str, z: Sizes, bm: int) -> Fill | None:
    """The tables of a mixture of experts: slots sorted by expert, the expert of each tile, and how many slots."""
    slots, experts, per = 2 * z["tokens"], z["experts"], z["EM"] // z["experts"]
    if argument == "sorted_token_ids_ptr":
        ids: list[float] = []
        for expert in range(experts):
            own = list(range(expert, slots, experts))
            ids += [*own, *[slots] * (per - len(own))]
        return Data(values=tuple(ids))
    if argument == "expert_ids_ptr":
        return Data(values=tuple(e for e in range(experts) for _ in range(per // bm)))
    if argument == "num_tokens_post_padded_ptr":
        return Data(values=(z["EM"],))
    return None


LORA_WEIGHTS = 0x7_0000_0000
"""Address of the adapters' weights: the kernel finds it in memory."""


def _lora(name: str, tile: tuple[int, int, int], rank: int, tokens: int) -> Operator:
    """Fused MoE with LoRA, the shrinking half, bf16: one adapter, whose weights are reached by a table of pointers."""
    bm, bn, bk = tile
    arguments = {
        "a_ptr": "*bf16", "b_ptr": "*u64", "c_ptr": "*bf16", "topk_weights_ptr": "*f32",
        "sorted_token_ids_ptr": "*i32", "expert_ids_ptr": "*i32", "num_tokens_post_padded_ptr": "*i32",
        **dict.fromkeys(("N", "K", "EM", "num_valid_tokens", "num_experts"), "i32"),
        "lora_ids": "*i32", "adapter_enabled": "*i32",
        **dict.fromkeys(("stride_am", "stride_bl", "stride_be", "stride_bn", "stride_cm", "stride_tl"), "i32"),
        **dict.fromkeys(("stride_el", "slice_a_size", "slice_c_size"), "i32"),
    }  # fmt: skip
    constants = dict.fromkeys(("stride_ak", "stride_bk", "stride_cn", "num_slice_a", "num_slice_c"), 1)
    constants |= {"top_k": 2, "SPLIT_K": 1, "GROUP_SIZE_M": 8, "IS_PRIMARY": 1}
    constants |= dict.fromkeys(("MUL_ROUTED_WEIGHT", "USE_GDC", "launch_pdl"), 0)
    constants |= {"BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn, "BLOCK_SIZE_K": bk}

    def sizes(count: int, experts: int, k: int) -> Sizes:
        routed = _routed(count, experts, bm)
        strides = {"stride_am": k, "stride_bl": experts * rank * k, "stride_be": rank * k, "stride_bn": k}
        strides |= {"stride_cm": rank, "stride_tl": routed["EM"], "stride_el": routed["EM"] // bm}
        more = {"num_experts": experts, "slice_a_size": count * k, "slice_c_size": 2 * count * rank}
        return {"N": rank, "K": k, **routed, **strides, **more}

    def values(argument: str, z: Sizes) -> Fill | None:
        alone = {"b_ptr": LORA_WEIGHTS, "lora_ids": 0, "adapter_enabled": 1}
        return Data(values=(alone[argument],)) if argument in alone else _routing(argument, z, bm)

    def weights(z: Sizes) -> tuple[Buffer, ...]:
        shape, fill = (z["experts"], rank, z["K"]), Random(seed=11, distribution="normal", high=1.0)
        return (Buffer("lora_weights", "in", "bf16", shape, fill, red_zone=0, address=LORA_WEIGHTS),)

    return Operator(
        name,
        arguments,
        ({**constants, "num_warps": 4, "num_stages": 2},),
        {
            "a_ptr": lambda z: (z["tokens"], z["K"]),
            "c_ptr": lambda z: (2 * z["tokens"], z["N"]),
            "topk_weights_ptr": lambda z: (2 * z["tokens"],),
            "sorted_token_ids_ptr": lambda z: (z["EM"],),
            "expert_ids_ptr": lambda z: (z["EM"] // bm,),
            **dict.fromkeys(("b_ptr", "num_tokens_post_padded_ptr", "lora_ids", "adapter_enabled"), lambda z: (1,)),
        },
        ("c_ptr",),
        lambda z, c: (-(-z["EM"] // bm) * -(-z["N"] // bn), 1, 1),
        (sizes(21, 2, 4 * bk + 16), sizes(tokens, 8, 4096)),
        function="_fused_moe_lora_kernel",
        aligned=("N", "K", "stride_am", "stride_bl", "stride_be", "stride_bn", "stride_cm"),
        values=values,
        reached=weights,
    )


def _awq_gemm(name: str, tile: tuple[int, int, int], tokens: int) -> Operator:
    """AWQ GEMM over experts: f16 a, int4 weights in pairs with a zero point and a scale for 128 of K."""
    bm, bn, bk = tile
    n, k, group = 1024, 2048, 128
    arguments = {
        "a_ptr": "*f16", "b_ptr": "*u8", "c_ptr": "*f16", "b_scale_ptr": "*f16", "b_zp_ptr": "*u8",
        "topk_weights_ptr": "*f32", "sorted_token_ids_ptr": "*i32", "expert_ids_ptr": "*i32",
        "num_tokens_post_padded_ptr": "*i32",
        **dict.fromkeys(("EM", "num_valid_tokens", "stride_am", "stride_be", "stride_bn", "stride_cm"), "i32"),
        **dict.fromkeys(("stride_bse", "stride_bsn", "stride_bze", "stride_bzn"), "i32"),
    }  # fmt: skip
    constants: dict[str, Any] = dict.fromkeys(("stride_ak", "stride_bk", "stride_cn", "stride_bsk", "stride_bzk"), 1)
    constants |= {"N": n, "K": k, "group_size": group, "top_k": 2, "compute_type": "f16", "GROUP_SIZE_M": 1}
    constants |= dict.fromkeys(("MUL_ROUTED_WEIGHT", "has_zp", "use_int4_w4a16", "even_Ks"), 1)
    constants |= {"use_int8_w8a16": 0, "BLOCK_SIZE_M": bm, "BLOCK_SIZE_N": bn, "BLOCK_SIZE_K": bk}

    def sizes(count: int, experts: int) -> Sizes:
        strides = {"stride_am": k, "stride_be": n * k // 2, "stride_bn": k // 2, "stride_cm": n}
        strides |= {"stride_bse": n * k // group, "stride_bsn": k // group}
        strides |= {"stride_bze": n // 2 * k // group, "stride_bzn": k // group}
        return {**_routed(count, experts, bm), **strides}

    def values(argument: str, z: Sizes) -> Fill | None:
        if argument == "b_scale_ptr":
            return Random(seed=3, distribution="uniform", low=0.5, high=1.5)
        if argument in ("b_ptr", "b_zp_ptr"):
            return Bits(seed=len(argument))
        return _routing(argument, z, bm)

    return Operator(
        name,
        arguments,
        ({**constants, "num_warps": 4, "num_stages": 2},),
        {
            "a_ptr": lambda z: (z["tokens"], k),
            "b_ptr": lambda z: (z["experts"], n, k // 2),
            "c_ptr": lambda z: (2 * z["tokens"], n),
            "b_scale_ptr": lambda z: (z["experts"], n, k // group),
            "b_zp_ptr": lambda z: (z["experts"], n // 2, k // group),
            "topk_weights_ptr": lambda z: (2 * z["tokens"],),
            "sorted_token_ids_ptr": lambda z: (z["EM"],),
            "expert_ids_ptr": lambda z: (z["EM"] // bm,),
            "num_tokens_post_padded_ptr": lambda z: (1,),
        },
        ("c_ptr",),
        lambda z, c: (-(-z["EM"] // bm) * (n // bn), 1, 1),
        (sizes(5, 2), sizes(tokens, 8)),
        function="fused_moe_kernel_gptq_awq",
        aligned=("EM", "stride_am", "stride_be", "stride_bn", "stride_cm", "stride_bse", "stride_bze"),
        values=values,
    )


def _awq(name: str) -> Operator:
    """AWQ: int4 weights packed by eight, dequantised to f16 with a scale and a zero point for 128 rows."""

    def values(argument: str, z: Sizes) -> Fill | None:
        if argument == "scales_ptr":
            return Random(seed=3, distribution="uniform", low=0.5, high=1.5)
        return Random(seed=5, distribution="uniform", low=-(2.0**31), high=2.0**31 - 1024)

    return Operator(
        name,
        {
            "qweight_ptr": "*i32", "scales_ptr": "*f16", "zeros_ptr": "*i32", "group_size": "i32",
            "result_ptr": "*f16", "num_cols": "i32", "num_rows": "i32",
        },
        ({"BLOCK_SIZE_X": 32, "BLOCK_SIZE_Y": 32, "num_warps": 4, "num_stages": 2},),
        {
            "qweight_ptr": lambda z: (z["num_rows"], z["num_cols"]),
            "scales_ptr": lambda z: (z["num_rows"] // 128, z["num_cols"] * 8),
            "zeros_ptr": lambda z: (z["num_rows"] // 128, z["num_cols"]),
            "result_ptr": lambda z: (z["num_rows"], z["num_cols"] * 8),
        },
        ("result_ptr",),
        lambda z, c: (-(-z["num_cols"] // 32), -(-z["num_rows"] // 32), 1),
        (
            {"group_size": 128, "num_cols": 40, "num_rows": 128},
            {"group_size": 128, "num_cols": 512, "num_rows": 4096},
        ),
        function="awq_dequantize_kernel",
        aligned=("group_size",),
        values=values,
    )  # fmt: skip


KERNELS: tuple[tuple[str, Operator], ...] = (
    ("w8a8", _w8a8("sglang_w8a8_m64n128k128", (64, 128, 128), 8, 4, 4096, 1536)),
    ("w8a8", _w8a8("sglang_w8a8_m32n32k128", (32, 32, 128), 4, 4, 64, 1536)),
    ("moe", _moe("sglang_moe_bf16_m128n128k64", (128, 128, 64), 8, 1024)),
    ("moe", _moe("sglang_moe_bf16_m16n32k256", (16, 32, 256), 2, 64)),
    ("lora", _lora("sglang_moe_lora_shrink_r16", (64, 64, 64), 16, 1024)),
    ("moe", _awq_gemm("sglang_awq_gemm_m16n64k64", (16, 64, 64), 64)),
    ("awq", _awq("sglang_awq_dequantize")),
)
"""Family and kernel. Tiles of the first four are those of SGLang's and vLLM's tables for MI300X, which have none for
the others: those of LoRA are the defaults of SGLang's code, that of the AWQ GEMM is of this project's choice."""
