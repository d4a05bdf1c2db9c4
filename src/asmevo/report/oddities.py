"""What is unusual in a code object: metadata that disagrees with the descriptor, and what surprises a loader.

The descriptor is what the hardware obeys, so none of this is repaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, cast

from asmevo.codeobject import CodeObject, Kernel
from asmevo.codeobject.elf import STT_SECTION
from asmevo.codeobject.registers import granted_registers

_VERSIONS = {1: (1, 0), 2: (1, 1), 3: (1, 2), 4: (1, 2)}
"""ABI version of the ELF header to the metadata version that goes with it (code objects 3 to 6)."""
_RESERVED = (slice(12, 16), slice(24, 44), slice(60, 64))
"""Bytes of a descriptor that must be zero."""
_SCALAR_BLOCK = 16


def oddities(obj: CodeObject) -> list[dict[str, str]]:
    """Each as `kernel` (empty for the whole file), `what` (a stable key) and `text` (a sentence)."""
    found = [_odd("", what, text) for what, text in _file(obj)]
    for kernel in obj.kernels:
        found += [_odd(kernel.name, what, text) for what, text in _kernel(obj, kernel)]
    return found


def _odd(kernel: str, what: str, text: str) -> dict[str, str]:
    return {"kernel": kernel, "what": what, "text": text}


def _file(obj: CodeObject) -> Iterator[tuple[str, str]]:
    expected = _VERSIONS.get(obj.abi_version)
    version = _numbers(obj.metadata.get("amdhsa.version"))
    if expected is None:
        yield "abi_version", f"The ELF header has ABI version {obj.abi_version}; 1 to 4 are known."
    elif version != expected:
        stated = ".".join(map(str, version)) or "none"
        wanted = ".".join(map(str, expected))
        yield "metadata_version", f"Metadata version {stated} where ABI version {obj.abi_version} goes with {wanted}."
    target = obj.metadata.get("amdhsa.target")
    if target is None:
        yield "target_missing", "The metadata does not name the target."
    elif not isinstance(target, str) or target.partition(":")[0] != f"amdgcn-amd-amdhsa--{obj.target}":
        yield "target_spelling", f"The metadata names the target {target!r}, the ELF flags say {obj.target}."
    home = obj.sections.index(obj.text)
    places = Counter(s.value for s in obj.symbols if s.section == home and s.type != STT_SECTION)
    shared = sum(n > 1 for n in places.values())
    if shared:
        yield "shared_address", f"{shared} addresses of .text have more than one symbol."
    first = min(k.entry for k in obj.kernels) - obj.text.address
    if first:
        yield "before_entry", f"{first} bytes of .text lie before the first kernel."


def _kernel(obj: CodeObject, kernel: Kernel) -> Iterator[tuple[str, str]]:
    raw = _raw(obj, kernel)
    descriptor = kernel.descriptor
    yield from _registers(obj, kernel, raw)
    yield from _arguments(kernel, raw)
    sizes = (
        ("lds_size", ".group_segment_fixed_size", descriptor.lds_size),
        ("private_size", ".private_segment_fixed_size", descriptor.private_size),
    )
    for what, key, truth in sizes:
        stated = raw.get(key)
        if stated != truth:
            yield what, f"{key} is {_shown(stated)} in the metadata, {truth} in the descriptor."
    if descriptor.kernarg_preload_length:
        n, at = descriptor.kernarg_preload_length, descriptor.kernarg_preload_offset
        yield "preload", f"{n} kernarg dwords from dword {at} on are preloaded; there is a second entry at +256."
    if any(any(descriptor.raw[s]) for s in _RESERVED):
        yield "reserved", "Reserved bytes of the descriptor are not zero."
    if kernel.entry % 256 or kernel.descriptor_address % 64:
        yield "alignment", "The entry is not aligned to 256 bytes, or the descriptor not to 64."
    symbol = next((s for s in obj.symbols if s.name == kernel.symbol.removesuffix(".kd")), None)
    if symbol is None:
        yield "no_function_symbol", "There is no symbol for the kernel's code."
    elif symbol.value != kernel.entry:
        yield "entry_elsewhere", f"The kernel's symbol is at 0x{symbol.value:x}, its entry at 0x{kernel.entry:x}."
    elif not symbol.size:
        yield "function_size", "The kernel's symbol states no size."


def _registers(obj: CodeObject, kernel: Kernel, raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    granted = granted_registers(kernel.descriptor, obj.target)
    scalar, vector = raw.get(".sgpr_count"), raw.get(".vgpr_count")
    if granted.scalar is not None and granted.scalar != _rounded(scalar, _SCALAR_BLOCK):
        yield "sgpr_count", f"The metadata counts {_shown(scalar)} SGPRs, the descriptor grants {granted.scalar}."
    if granted.vector != _rounded(vector, granted.vector_block):
        yield "vgpr_count", f"The metadata counts {_shown(vector)} VGPRs, the descriptor grants {granted.vector}."
    if ".agpr_count" not in raw and obj.target != "gfx1250":
        yield "agpr_count_missing", "The metadata does not count AGPRs."


def _arguments(kernel: Kernel, raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    stated = kernel.descriptor.kernarg_size
    if stated != kernel.kernarg_size:
        yield "kernarg_size", f"The descriptor says {stated} bytes of arguments, the metadata {kernel.kernarg_size}."
    end = max((a.offset + a.size for a in kernel.args), default=0)
    if end > kernel.kernarg_size:
        yield "kernarg_beyond", f"Arguments end at byte {end}, beyond the segment of {kernel.kernarg_size} bytes."
    by_offset = sorted((a.offset, a.offset + a.size) for a in kernel.args if a.size)
    if any(b[0] < a[1] for a, b in pairwise(by_offset)):
        yield "kernarg_overlap", "Arguments overlap."
    names = Counter(a.name for a in kernel.args)
    repeated = [name for name, n in names.items() if n > 1 and name]
    if repeated:
        yield "argument_names", f"Several arguments are called {', '.join(map(repr, repeated[:3]))}."
    if names[""] and raw.get(".args"):
        yield "arguments_unnamed", f"{names['']} arguments have no name."


def _raw(obj: CodeObject, kernel: Kernel) -> Mapping[str, Any]:
    """The kernel's decoded metadata as it is."""
    entries = cast("list[Mapping[str, Any]]", obj.metadata.get("amdhsa.kernels", []))
    return next(e for e in entries if e.get(".symbol") == kernel.symbol)


def _rounded(count: object, block: int) -> int | None:
    """A count of registers in whole blocks, at least one; None when it is none."""
    return max(-(-count // block), 1) * block if isinstance(count, int) else None


def _numbers(value: object) -> tuple[int, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(v for v in items if isinstance(v, int))


def _shown(value: object) -> str:
    return "missing" if value is None else str(value)
