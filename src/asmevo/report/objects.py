"""What a code object and a recovered program hold, as JSON-able facts and as text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from asmevo.codeobject import CodeObject, Kernel
from asmevo.codeobject.registers import granted_registers
from asmevo.codeobject.targets import features_of
from asmevo.isa import rows
from asmevo.isa.limits import limits_of
from asmevo.program import Program
from asmevo.report.oddities import oddities
from asmevo.sim import TARGET as SIMULATED
from asmevo.sim import other_obstacle, refusals
from asmevo.sim.flow import basic_blocks
from asmevo.verdict import UnsupportedError


def object_facts(obj: CodeObject) -> dict[str, Any]:
    """Facts of the file and of each of its kernels. Registers are counts, sizes are bytes."""
    return {
        "sha256": obj.sha256,
        "bytes": len(obj.data),
        "target": obj.target,
        "e_flags": obj.e_flags,
        "abi_version": obj.abi_version,
        "text_bytes": obj.text.size,
        "features": features_of(obj.e_flags),
        "sections": [
            {"name": s.name, "address": s.address, "offset": s.offset, "bytes": s.size} for s in obj.sections if s.name
        ],
        "kernels": [_kernel_facts(kernel, obj.target) for kernel in obj.kernels],
        "oddities": oddities(obj),
    }


def _kernel_facts(kernel: Kernel, target: str) -> dict[str, Any]:
    descriptor = kernel.descriptor
    registers = granted_registers(descriptor, target)
    return {
        "name": kernel.name,
        "symbol": kernel.symbol,
        "vector_registers": registers.vector,
        "accumulation_registers": registers.accumulation,
        "scalar_registers": registers.scalar,
        "user_scalar_registers": registers.user_scalar,
        "static_lds_bytes": kernel.lds_size,
        "scratch_bytes": descriptor.private_size,
        "max_workgroup": kernel.max_workgroup,
        "required_workgroup": kernel.required_workgroup,
        "kernarg_bytes": kernel.kernarg_size,
        "preloaded_dwords": descriptor.kernarg_preload_length,
        "arguments": [{"name": a.name, "offset": a.offset, "size": a.size, "kind": a.kind} for a in kernel.args],
    }


def object_text(facts: dict[str, Any]) -> str:
    """The facts for a person to read."""
    out = [
        f"target   {facts['target']} (e_flags 0x{facts['e_flags']:x}, ABI version {facts['abi_version']})",
        f"size     {facts['bytes']} bytes, {facts['text_bytes']} of code",
        f"sha256   {facts['sha256']}",
    ]
    for kernel in facts["kernels"]:
        out += [
            f"kernel   {kernel['name']}",
            f"  registers  {kernel['vector_registers']} vector ({kernel['accumulation_registers']} accumulation), "
            + (f"{kernel['scalar_registers']} scalar" if kernel["scalar_registers"] is not None else "all scalar"),
            f"  memory     {kernel['static_lds_bytes']} bytes of static LDS, {kernel['scratch_bytes']} of scratch",
            f"  workgroup  at most {kernel['max_workgroup']} work-items",
            f"  kernarg    {kernel['kernarg_bytes']} bytes",
        ]
        out += [
            f"    {a['offset']:5} {a['size']:4}  {a['kind']:20} {a['name']}".rstrip()
            for a in kernel["arguments"]
            if a["name"] != "pad"  # AMD's assembly kernels spread each argument over 16 bytes
        ]
    several = len(facts["kernels"]) > 1
    out += [
        f"odd      {o['text']}" + (f" ({o['kernel']})" if several and o["kernel"] else "") for o in facts["oddities"]
    ]
    return "\n".join(out)


def program_facts(program: Program) -> dict[str, Any]:
    """Size of a recovered program; `blocks` is None where a jump goes to a computed address, so they are not known."""
    try:
        blocks = len(program.blocks)
    except UnsupportedError:
        blocks = None
    return {
        "sha256": program.source.sha256,
        "target": program.source.target,
        "kernel": program.kernel.name,
        "instructions": len(program.lines),
        "blocks": blocks,
    }


def coverage_facts(program: Program) -> dict[str, Any]:
    """Opcodes of the reachable code without a row, and what the simulator cannot execute, each with its reason.

    `not_executed` is None for a target that the simulator does not execute at all.
    """
    limits_of(program.source.target)
    table = rows()
    used = Counter(line.instruction.base for first, last in basic_blocks(program) for line in program.lines[first:last])
    missing = {name: n for name, n in sorted(used.items()) if name not in table}
    return {
        "kernel": program.kernel.name,
        "opcodes": len(used),
        "instructions": sum(used.values()),
        "without_row": missing,
        "not_executed": _not_executed(program) if program.source.target == SIMULATED else None,
    }


def _not_executed(program: Program) -> dict[str, str]:
    """Instruction to the reason why the simulator refuses it; under the empty name what concerns the kernel."""
    found = dict(sorted(refusals(program).items()))
    if not found and (reason := other_obstacle(program)):
        found[""] = reason
    return found


def coverage_text(facts: dict[str, Any]) -> str:
    """The facts for a person to read."""
    missing, refused = facts["without_row"], facts["not_executed"]
    head = f"{facts['kernel']}: {facts['opcodes']} opcodes in {facts['instructions']} reachable instructions"
    if missing:
        lines = [f"{head}; {len(missing)} have no row, so code that reaches them is UNKNOWN:"]
        lines += [f"  {name:32} {count:6}" for name, count in missing.items()]
    else:
        lines = [f"{head}; every one has a row."]
    if refused:
        lines += ["The simulator does not execute this kernel:", *(f"  {reason}" for reason in refused.values())]
    elif refused is not None:
        lines.append("The simulator executes all of it.")
    return "\n".join(lines)
