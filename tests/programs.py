"""Programs from lines of text, without a code object: for tests of analyses."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

from asmevo.isa import parse_instruction
from asmevo.program.program import Line, Program

_LABEL = re.compile(r"(\w+):\s*$")


class _Source(SimpleNamespace):
    """An object without symbols and relocations; hashable, as code objects are."""

    symbols = ()
    __hash__ = object.__hash__

    @property
    def sections(self) -> list[SimpleNamespace]:
        return [self.text]


def program_from_text(text: str, *, target: str = "gfx942", ids: list[int] | None = None, **descriptor: int) -> Program:
    """A program of one instruction a line; `name:` is a label, `;` begins a comment, ids count from 0.

    `id@ text` gives a line another id, so that an edited program can be written down. Descriptor fields default to
    128 VGPRs (64 of them AGPRs), 112 SGPRs, 64 KiB of LDS.
    """
    labels: dict[str, int] = {}
    found: list[tuple[int, str]] = []
    pending: list[str] = []
    for raw in text.splitlines():
        body = raw.split(";")[0].strip()
        if not body:
            continue
        if m := _LABEL.match(body):
            pending.append(m[1])
            continue
        line_id, mark, rest = body.partition("@ ")
        number = int(line_id) if mark else (ids[len(found)] if ids else len(found))
        labels.update(dict.fromkeys(pending, number))
        pending.clear()
        found.append((number, rest if mark else body))
    lines = tuple(_line(number, body, labels) for number, body in found)
    fields = {
        "vgpr_alloc": 128,
        "accum_offset": 64,
        "sgpr_alloc": 112,
        "lds_size": 65536,
        "rsrc2": 0,
        "private_size": 0,
        **descriptor,
    }
    kernel: Any = SimpleNamespace(
        name="test", entry=0, descriptor=SimpleNamespace(**fields), lds_size=fields["lds_size"]
    )
    size = 4 * len(lines)
    text = SimpleNamespace(address=0, size=size, type=1, allocated=True, contains=lambda a: 0 <= a < size)
    source: Any = _Source(target=target, kernels=(kernel,), text_bytes=bytes(size), text=text)
    return Program(source=cast(Any, source), kernel=cast(Any, kernel), lines=lines, entry=lines[0].id)


def _line(number: int, body: str, labels: dict[str, int]) -> Line:
    instruction = parse_instruction(body)
    is_branch = instruction.base == "s_branch" or instruction.base.startswith("s_cbranch")
    target = labels[body.split()[-1]] if is_branch else None
    return Line(number, instruction, None, target)
