"""Compile operators, or kernels of another Triton source, for gfx942. Needs triton==3.9.0 and no GPU.

    python -m benchmarks.operators.build SPEC.json

SPEC is a list of objects with `source` (a Python file with `@triton.jit` functions), `function`, `arguments` (name to
type; `constexpr` ones are in `constants`), `constants`, `options`, `aligned` (names of integers that are multiples of
16) and `out`. Writes `<out>.hsaco` and `<out>.json` (bytes of LDS) for each.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # the default of 3.9, which a later version changes
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # debug information would hold the folder of the source

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

_TYPES = {
    "f32": "fp32",
    "f16": "fp16",
    "bf16": "bf16",
    "i32": "i32",
    "u8": "u8",
    "u64": "u64",
    "fp8_e4m3fnuz": "fp8e4b8",
}


def compiled(spec: dict[str, Any]) -> Any:
    """Triton's compiled kernel."""
    where = importlib.util.spec_from_file_location("kernels_of_spec", spec["source"])
    assert where and where.loader
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    function = getattr(module, spec["function"])
    types, constants = spec["arguments"], spec["constants"]
    signature: dict[str, str] = {}
    attributes: dict[tuple[int], list[list[Any]]] = {}
    for n, name in enumerate(function.arg_names):
        kind = types.get(name, "constexpr")
        signature[name] = f"*{_TYPES[kind[1:]]}" if kind.startswith("*") else _TYPES.get(kind, kind)
        if kind.startswith("*") or name in spec.get("aligned", ()):
            attributes[(n,)] = [["tt.divisibility", 16]]
        if kind.startswith("*"):
            attributes[(n,)].append(["tt.pointer_range", 32])
    named = {"bf16": tl.bfloat16, "f16": tl.float16}
    constants = {
        name: named.get(value, value) if isinstance(value, str) else value for name, value in constants.items()
    }
    source = ASTSource(function, signature, constants, attributes)
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=dict(spec["options"]))


def main() -> None:
    for spec in json.loads(Path(sys.argv[1]).read_text()):
        kernel = compiled(spec)
        out = Path(spec["out"])
        out.parent.mkdir(parents=True, exist_ok=True)
        out.with_suffix(".hsaco").write_bytes(kernel.asm["hsaco"])
        out.with_suffix(".json").write_text(json.dumps({"lds": kernel.metadata.shared}))


if __name__ == "__main__":
    main()
