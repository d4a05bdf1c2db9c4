"""Rebuild `fp8_block_scaled_gemm.hsaco` and its metadata. Needs triton==3.9.0 and no GPU:

pip install triton==3.9.0
python examples/fp8_gemm/build.py

The arguments are specialised as a launch on an MI300X would do: pointers aligned to 16 bytes into tensors under 2 GiB,
N, K and the row strides of A, B and C multiples of 16. The tile (64 x 128 x 128, four waves) is one
that SGLang uses on the MI300X.
"""

import json
import os
import sys
from pathlib import Path

os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # the default of 3.9, which a later version changes
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # debug information would hold the folder of this file
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import triton  # noqa: E402
from kernel import fp8_block_scaled_gemm  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

VERSION = "3.9.0"
NAME = "fp8_block_scaled_gemm"
POINTERS = {"a": "*fp8e4b8", "b": "*fp8e4b8", "c": "*bf16", "a_scale": "*fp32", "b_scale": "*fp32"}
ALIGNED = ("N", "K", "stride_am", "stride_bn", "stride_cm")
FREE = ("M", "stride_as_m", "stride_bs_n")
CONSTANTS = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 128, "GROUP_M": 8}
OPTIONS = {"num_warps": 4, "num_stages": 2, "matrix_instr_nonkdim": 16}


def compile_kernel():
    """Triton's compiled kernel."""
    arguments = fp8_block_scaled_gemm.arg_names
    signature = {name: POINTERS.get(name, "constexpr" if name in CONSTANTS else "i32") for name in arguments}
    attributes = {}
    for i, name in enumerate(arguments):
        if name in POINTERS:
            attributes[(i,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        elif name in ALIGNED:
            attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fp8_block_scaled_gemm, signature, dict(CONSTANTS), attributes)
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=dict(OPTIONS))


def main() -> None:
    if triton.__version__ != VERSION:
        sys.exit(f"This needs triton=={VERSION} and found {triton.__version__}; install that version.")
    kernel = compile_kernel()
    facts = {
        "name": kernel.metadata.name,
        "target": "gfx942",
        "shared": kernel.metadata.shared,
        "num_warps": kernel.metadata.num_warps,
        "warp_size": 64,
        "constants": CONSTANTS,
        "options": OPTIONS,
        "aligned_to_16": [*POINTERS, *ALIGNED],
        "compiler": f"triton {VERSION}",
    }
    (HERE / f"{NAME}.hsaco").write_bytes(kernel.asm["hsaco"])
    (HERE / f"{NAME}.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
