"""Whether an edit brings an operation nearer to a use that K0 itself does not make wait for it.

Nothing but time, or a way that no wave takes, protects such a use. An edit may add time to the way and must take none
away.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from asmevo.isa import Imm, Instruction
from asmevo.isa.wait import parse_wait
from asmevo.program import Line, control_kind
from asmevo.program.asynchronous import operation


def no_nearer(old: Sequence[Line], new: Sequence[Line], producer: int, use: int) -> bool:
    """Whether a block on the way takes no less time than K0's.

    Each line of K0 is still there, or a line of the same opcode that takes as long; those behind the operation with the
    id `producer`, in front of `use` and between the two are still there. Each wait there has the operations in front of
    it that K0's has, since it proves one finished by how many came after it. Lines of the candidate that are K0's have
    K0's ids.
    """
    ids = _with_stand_ins(old, new)
    if ids is None:
        return False
    before = [line.id for line in old]
    waits = {line.id for line in old if control_kind(line.instruction) == "waitcnt"}
    operations = {line.id for line in old if operation(line.instruction) is not None}
    return all(
        set(was) <= set(now)
        and all(_in_front(was, w, operations) <= _in_front(now, w, operations) for w in waits & set(was))
        for was, now in (
            (_part(before, first, last), _part(ids, first, last))
            for first, last in ((producer, None), (None, use), (producer, use))
        )
    )


def _in_front(ids: Sequence[int], wait: int, operations: Set[int]) -> Set[int]:
    """The operations among `ids` that are issued before a wait."""
    return operations & set(ids[: ids.index(wait)])


def _with_stand_ins(old: Sequence[Line], new: Sequence[Line]) -> list[int] | None:
    """Ids of a candidate's block, a line in place of one of K0's with the id of that one; None where one is lost."""
    there, known = {line.id: line for line in new}, {line.id for line in old}
    fresh = [line for line in new if line.id not in known]
    renamed: dict[int, int] = {}
    for line in old:
        candidates = [there[line.id]] if line.id in there else fresh
        stand_in = next((x for x in candidates if _as_long(line.instruction, x.instruction)), None)
        if stand_in is None:
            return None
        if stand_in.id != line.id:
            fresh.remove(stand_in)
            renamed[stand_in.id] = line.id
    return [renamed.get(line.id, line.id) for line in new]


def _as_long(old: Instruction, new: Instruction) -> bool:
    """Whether an instruction of the same opcode waits for as much."""
    if old.mnemonic != new.mnemonic:
        return False
    if control_kind(old) == "waitcnt":
        return parse_wait(new).covers(parse_wait(old))
    if old.mnemonic in ("s_nop", "s_sleep"):
        before, after = old.operands[0], new.operands[0]
        return isinstance(before, Imm) and isinstance(after, Imm) and before.bits <= after.bits
    return True


def _part(ids: Sequence[int], first: int | None, last: int | None) -> Sequence[int]:
    """What is behind `first` and in front of `last`, where they are in the block; nothing where both are and `last`
    comes first."""
    start = ids.index(first) + 1 if first in ids else 0
    end = ids.index(last) if last in ids else len(ids)
    return ids[start:end]
