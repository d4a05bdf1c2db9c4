"""What the debugger and the comparison of two objects show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Instruction, effects, unit_name
from asmevo.isa.registers import AGPR_BASE, VGPR_BASE, units
from asmevo.program import Line
from asmevo.sim import Change, LockstepResult, Stop, WaveState

_SHOWN_LANES = 4


def stop_facts(stop: Stop, state: WaveState | None, fault: Any) -> dict[str, Any]:
    """One stop of the debugger, with the whole state of the wave where there is one."""
    step = stop.step
    return {
        "reason": stop.reason,
        "workgroup": None if step is None else step.workgroup,
        "wave": None if step is None else step.wave,
        "executed": None if step is None or not step.lines else _line(step.line),
        "next": None if step is None or step.next_line is None else _line(step.next_line),
        "changes": [asdict(change) for change in stop.changes],
        "state": None if state is None else _state(state),
        "fault": None if fault is None else asdict(fault) | {"facts": dict(fault.facts)},
    }


def _line(line: Line) -> dict[str, Any]:
    return {"line": line.id, "instruction": str(line.instruction)}


def _state(state: WaveState) -> dict[str, Any]:
    return {
        "exec": state.exec_mask,
        "vcc": state.vcc,
        "m0": state.m0,
        "scc": state.scc,
        "sgprs": state.sgprs.tolist(),
        "vgprs": state.vgprs.tolist(),
        "agprs": state.agprs.tolist(),
    }


def stop_text(stop: Stop, state: WaveState | None, fault: Any) -> str:
    """The same for a person: scalars, and the vector registers of the last and the next instruction."""
    step = stop.step
    if step is None:
        return f"{stop.reason}" if fault is None else f"{stop.reason}: {fault.message}"
    out = [f"{stop.reason}: wave {step.wave} of workgroup {step.workgroup}"]
    if step.lines:
        out.append(f"  executed {step.line.id}: {step.line.instruction}")
    if step.next_line is not None:
        out.append(f"  next     {step.next_line.id}: {step.next_line.instruction}")
    out += [f"  {_change(change)}" for change in stop.changes]
    if state is not None:
        near = [line.instruction for line in (*step.lines[-1:], *([step.next_line] if step.next_line else []))]
        out += [f"  {text}" for text in _registers(state, near)]
    return "\n".join(out)


def _change(change: Change) -> str:
    lane = "" if change.lane is None else f" lane {change.lane}"
    return f"{change.what}{lane}: 0x{change.old:x} -> 0x{change.new:x}"


def _registers(state: WaveState, near: Sequence[Instruction]) -> list[str]:
    head = f"exec 0x{state.exec_mask:016x}  vcc 0x{state.vcc:016x}  m0 0x{state.m0:08x}  scc {state.scc}"
    rows = [
        f"s{first}: " + " ".join(f"{word:08x}" for word in state.sgprs[first : first + 8].tolist())
        for first in range(0, len(state.sgprs), 8)
    ]
    named = 0
    for instruction in near:
        known = effects(instruction)
        named |= known.reads | known.writes
    vectors = [
        f"{unit_name(unit)}: {_lanes(row)}"
        for unit in units(named)
        if unit >= VGPR_BASE and (row := _vector(state, unit)) is not None
    ]
    return [head, *rows, *vectors]


def _vector(state: WaveState, unit: int) -> NDArray[np.uint32] | None:
    rows, at = (state.agprs, unit - AGPR_BASE) if unit >= AGPR_BASE else (state.vgprs, unit - VGPR_BASE)
    return rows[at] if at < len(rows) else None


def _lanes(row: NDArray[np.uint32]) -> str:
    words = row.tolist()
    if len(set(words)) == 1:
        return f"{words[0]:08x} in all lanes"
    return " ".join(f"{word:08x}" for word in words[:_SHOWN_LANES]) + f" ... {words[-1]:08x}"


def comparison_facts(launch: str, found: LockstepResult | None, workgroup: int | None) -> dict[str, Any]:
    """Two objects side by side on one launch; `found` is None when memory is the same after every workgroup."""
    if found is None:
        return {"launch": launch, "workgroup": workgroup, "first": None, "first_store": None, "compared": 0}
    return {
        "launch": launch,
        "workgroup": workgroup,
        "first": None if found.first is None else asdict(found.first),
        "first_store": None if found.first_store is None else asdict(found.first_store),
        "status_a": found.status_a,
        "status_b": found.status_b,
        "compared": found.steps,
    }


def comparison_text(facts: dict[str, Any]) -> str:
    """The same for a person."""
    if facts["compared"] == 0:
        return f"{facts['launch']}: the same memory after every workgroup"
    head = f"{facts['launch']}, workgroup {facts['workgroup']}: {facts['compared']} executions compared"
    ends = "" if facts["status_a"] == facts["status_b"] else f"; ends {facts['status_a']} and {facts['status_b']}"
    if facts["first"] is None:
        return f"{head}{ends}\n  every instruction gives the same"
    out = [head + ends, "  first difference: " + _difference(facts["first"])]
    if facts["first_store"] not in (None, facts["first"]):
        out.append("  first store that differs: " + _difference(facts["first_store"]))
    return "\n".join(out)


def _difference(d: dict[str, Any]) -> str:
    where = f"line {d['line']}, execution {d['execution']} of wave {d['wave']}"
    if d["kind"] == "path":
        return f"{where}: `{d['instruction_b']}` is executed by b only"
    same = d["instruction_a"] == d["instruction_b"]
    text = f"`{d['instruction_a']}`" if same else f"`{d['instruction_a']}` and `{d['instruction_b']}`"
    register = d["register_a"] if d["register_a"] == d["register_b"] else f"{d['register_a']} and {d['register_b']}"
    lane = "" if d["lane"] is None else f" lane {d['lane']} (of {d['lanes']} that differ)"
    what = f"{register}{lane}" if register else "address"
    values = " and ".join("unknown" if d[side] is None else f"0x{d[side]:x}" for side in ("a", "b"))
    return f"{where}: {text}, {what}: {values}"
