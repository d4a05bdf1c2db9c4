"""Rebuild the objects next to this file. Needs triton==3.9.0 and no GPU:

pip install triton==3.9.0
python benchmarks/compiled/build.py
"""

import os
import sys
from pathlib import Path

os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # the default of 3.9, which a later version changes
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # debug information would hold the folder of this file
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import triton  # noqa: E402
from kernels import bf16_gemm, softmax  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

VERSION = "3.9.0"
KERNELS = {
    "bf16_gemm": (
        bf16_gemm,
        {"a": "*bf16", "b": "*bf16", "c": "*bf16"},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32},
        {"num_warps": 4, "num_stages": 2, "matrix_instr_nonkdim": 32},
    ),
    "softmax": (softmax, {"x": "*fp32", "y": "*fp32"}, {"BLOCK": 1024}, {"num_warps": 4}),
}
"""Name to function, pointers, constants and options. All pointers and integers are multiples of 16."""


def compile_kernel(name: str) -> bytes:
    """The object of one kernel."""
    function, pointers, constants, options = KERNELS[name]
    names = function.arg_names
    signature = {n: pointers.get(n, "constexpr" if n in constants else "i32") for n in names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n not in constants}
    for i, n in enumerate(names):
        if n in pointers:
            aligned[(i,)].append(["tt.pointer_range", 32])
    source = ASTSource(function, signature, dict(constants), aligned)
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=dict(options)).asm["hsaco"]


def main() -> None:
    if triton.__version__ != VERSION:
        sys.exit(f"This needs triton=={VERSION} and found {triton.__version__}; install that version.")
    for name in KERNELS:
        (HERE / f"{name}.hsaco").write_bytes(compile_kernel(name))


if __name__ == "__main__":
    main()
