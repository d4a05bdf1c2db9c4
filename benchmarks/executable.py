"""How many gfx942 code objects the simulator can execute, and what keeps it from the others.

    python -m benchmarks.executable [--json] [--source NAME ...] [--limit N]

An object counts as executable when every instruction in it is, and when its kernels would be loaded. Instructions are
settled by their distinct texts, which thousands of objects share; an object that holds data in its code, changes MODE,
indexes registers or jumps to computed addresses is recovered, and its first kernels are looked at as a whole.

JSON: `corpus_objects`, `corpus_executable`, and `reasons` with the number of objects for each.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from asmevo.codeobject import CodeObject
from asmevo.isa import Decoder, Reg, Word, parse_instruction
from asmevo.program import Program, recover
from asmevo.program.program import COMPUTED_JUMPS
from asmevo.program.recover import address_index, decode_text
from asmevo.sim import TARGET, other_obstacle, refusals
from asmevo.sim.block import refusal
from asmevo.verdict import AsmEvoError, InputError, UnsupportedError
from benchmarks.common import print_json
from benchmarks.corpus import SOURCES

_REPORT_EACH = 500
_CLOSER = ("s_setreg", "s_set_gpr_idx_on", *sorted(COMPUTED_JUMPS))
"""Opcodes with which more than single instructions decides."""
_DISTANCES = ("offset0", "offset1")
"""Modifiers of DS with two elements; `offset` may be a pattern of `ds_swizzle_b32`."""
_TARGETS = ("s_branch", "s_cbranch")
_NAMED = 102
"""First scalar unit that is no SGPR."""
_KERNELS = 4
"""Kernels of an object that are looked at as a whole."""


def corpus(limit: int | None = None, sources: Iterable[str] = tuple(SOURCES)) -> tuple[int, int, Counter[str]]:
    """Number of objects for the simulator's target, how many of them it executes, and why not the others.

    `limit` is the most objects of a source. Progress goes to standard error.
    """
    objects = executable = 0
    reasons: Counter[str] = Counter()
    for source in sources:
        found = (o for name, data in SOURCES[source]() if (o := _parsed(name, data)) is not None)
        for obj in islice(found, limit):
            objects += 1
            reason = obstacle(obj)
            executable += not reason
            reasons[reason] += bool(reason)
            if objects % _REPORT_EACH == 0:
                print(f"{objects} objects, {executable} executable", file=sys.stderr, flush=True)
    return objects, executable, +reasons


def _parsed(name: str, data: bytes) -> CodeObject | None:
    """The object, unless it is for another target."""
    try:
        obj = CodeObject.parse(data, name)
    except InputError:
        return None
    return obj if obj.target == TARGET else None


def obstacle(obj: CodeObject) -> str:
    """Why the simulator cannot execute some kernel of an object, or the empty string."""
    texts = {d.text for d in Decoder(TARGET).decode(obj.text_bytes)}
    refused = sorted(text for text in texts if not text.startswith(".long") and _refusal(text))
    if refused:
        return f"{parse_instruction(refused[0]).base}{_refusal(refused[0]).rpartition('`')[2]}"
    if not any(_needs_a_closer_look(text) for text in texts):
        return ""
    try:
        whole = recover(obj, obj.kernels[0].name)
        index = address_index(obj)
        for kernel in obj.kernels[:_KERNELS]:
            program = Program(obj, kernel, whole.lines, index.get(kernel.entry, whole.entry))
            if found := next(iter(refusals(program).values()), "") or other_obstacle(program):
                return found
    except (InputError, UnsupportedError) as error:
        return str(error)
    finally:
        decode_text.cache_clear()
    return ""


_refusals: dict[tuple[object, ...], str] = {}
"""By form: the simulator refuses an instruction for its shape, whatever registers and distances are in it."""


@lru_cache(maxsize=1 << 20)
def _refusal(text: str) -> str:
    form = _form(text)
    if form not in _refusals:
        _refusals[form] = refusal(text)
    return _refusals[form]


def _form(text: str) -> tuple[object, ...]:
    """Mnemonic, kinds and widths of operands, and modifiers but for distances."""
    instruction = parse_instruction(text)
    kinds = tuple(
        (o.count, o.is_scalar, o.first >= _NAMED and o.is_scalar, o.neg, o.absolute, o.sext)
        if isinstance(o, Reg)
        else (o if isinstance(o, Word) and not instruction.base.startswith(_TARGETS) else type(o))
        for o in instruction.operands
    )
    modifiers = tuple(
        sorted(
            (k, "" if k in _DISTANCES or (k == "offset" and v[:1].isdigit()) else v)
            for k, v in instruction.modifiers.items()
        )
    )
    return instruction.mnemonic, kinds, modifiers


def _needs_a_closer_look(text: str) -> bool:
    """Whether more than the instruction itself decides."""
    return text.startswith((".long", *_CLOSER))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.executable", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--source", action="append", choices=SOURCES, help="only these; default all")
    parser.add_argument("--limit", type=int, help="most objects of a source")
    options = parser.parse_args(arguments)
    objects, executable, reasons = corpus(options.limit, options.source or tuple(SOURCES))
    print(f"{executable} of {objects} objects for {TARGET} are executable")
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    if options.json:
        print_json({"corpus_objects": objects, "corpus_executable": executable, "reasons": dict(reasons.most_common())})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")
