"""Names for the lines that are entered from outside of the program: kernels, functions, code that data points at."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from asmevo.codeobject import CodeObject
from asmevo.codeobject.elf import STT_FUNC
from asmevo.program.recover import line_addresses
from asmevo.program.references import entered_addresses

_OWN = re.compile(r"[LPE]\d+")
"""Labels that the listing makes itself."""


def kernel_label(name: str) -> str:
    """The label of a kernel: its name, unless the listing makes such labels itself."""
    return f"kernel {name}" if _OWN.fullmatch(name) else name


def entry_labels(obj: CodeObject) -> dict[str, int]:
    """Label to the line of K0 it stands for; kernels by `kernel_label`, functions by their symbol's if it is unique."""
    addresses = line_addresses(obj)
    kernels = {kernel_label(kernel.name): kernel.entry for kernel in obj.kernels}
    functions = [s for s in obj.symbols if s.type == STT_FUNC and obj.text.contains(s.value)]
    names = Counter(s.name for s in functions)
    labels = dict(kernels)
    for symbol in functions:
        unique = names[symbol.name] == 1 and symbol.name and not _OWN.fullmatch(symbol.name)
        if unique and symbol.value not in kernels.values():
            labels.setdefault(symbol.name, symbol.value)
    found = {name: line for name, at in labels.items() if (line := _line_at(addresses, at)) >= 0}
    for address in sorted(entered_addresses(obj)):
        line = _line_at(addresses, address)
        if line >= 0 and line not in found.values():
            found[f"E{line}"] = line
    return found


def _line_at(addresses: Sequence[int], address: int) -> int:
    i = bisect_left(addresses, address)
    return i if i < len(addresses) and addresses[i] == address else -1
