"""The kernel as a whole: what it is given, what it holds, and what limits it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from asmevo.agent.answer import Answer
from asmevo.agent.session import AgentSession
from asmevo.agent.text import quoted
from asmevo.agent.tools.tool import Nothing, Tool, tool
from asmevo.codeobject.registers import granted_registers
from asmevo.launch import lds_bytes
from asmevo.report import basis_text, gain_text, time_text
from asmevo.verdict import UnsupportedError

SHOWN = 24
"""Arguments and launches that are listed."""


@tool(Nothing)
def overview(session: AgentSession, values: Nothing) -> Answer:
    """What the kernel is: size, arguments, resources, launches, the best time so far, occupancy and what limits it.
    Begin here."""
    facts = _facts(session)
    return Answer(_text(session, facts), facts)


def _facts(session: AgentSession) -> dict[str, Any]:
    program, state = session.program, session.state
    kernel = program.kernel
    registers = granted_registers(kernel.descriptor, program.source.target)
    assert state.k0 and state.best
    arguments = [a for a in kernel.args if a.name != "pad"]  # AMD's assembly kernels spread arguments over 16 bytes
    return {
        "kernel": quoted(kernel.name),
        "target": program.source.target,
        "instructions": len(program.lines),
        "blocks": len(program.blocks),
        "loops": len(session.loops),
        "arguments": [{"name": quoted(a.name), "offset": a.offset, "size": a.size, "kind": a.kind} for a in arguments],
        "registers": asdict(registers),
        "lds_bytes": max((lds_bytes(one, kernel) for one in session.launches), default=kernel.lds_size),
        "static_lds_bytes": kernel.lds_size,
        "scratch_bytes": kernel.descriptor.private_size,
        "launches": [
            {"name": quoted(one.name), "grid": list(one.grid), "block": list(one.block), "objective": one.objective}
            for one in session.launches
        ],
        "source": session.bench.source,
        "k0_us": state.k0.microseconds,
        "best_us": state.best.microseconds,
        "best_attempt": state.best.ordinal,
        "base_attempt": session.base.ordinal,
        "base_us": session.base.microseconds,
        "attempts": state.attempts,
        "commits": len(state.commits),
        "threshold": state.settings.threshold,
        "profile": _profile(session),
    }


def _profile(session: AgentSession) -> dict[str, Any] | None:
    """Of the costliest objective launch; None where the model cannot say."""
    try:
        profile = session.profile
    except UnsupportedError:
        return None
    if profile is None:
        return None
    e = profile.estimate
    return {
        "cycles": e.cycles,
        "limiter": e.limiter,
        "occupancy": asdict(e.occupancy),
        "busy": {name: value / e.cycles for name, value in asdict(e.bounds).items()},
        "roof": profile.roofline.roof,
        "roof_fraction": profile.roofline.fraction,
    }


def _text(session: AgentSession, f: dict[str, Any]) -> str:
    r, source = f["registers"], f["source"]
    out = [
        f"kernel {f['kernel']} for {f['target']}: {f['instructions']} instructions, {f['blocks']} blocks, "
        f"{f['loops']} loops",
        f"registers: {r['vector']} vector ({r['accumulation']} of them accumulation), "
        f"{'all' if r['scalar'] is None else r['scalar']} scalar; LDS {f['lds_bytes']} bytes in the "
        f"launches ({f['static_lds_bytes']} of them static), scratch "
        f"{f['scratch_bytes']} bytes",
    ]
    out += _listed("argument", [f"{a['offset']}: {a['size']} bytes {a['kind']} {a['name']}" for a in _of(f)])
    launches = f["launches"]
    out += _listed(
        "launch",
        [
            f"{one['name']} grid {one['grid']} block {one['block']}{', timed' if one['objective'] else ''}"
            for one in launches
        ],
    )
    best = gain_text(f["k0_us"], f["best_us"])
    out += [
        f"K0 {time_text(f['k0_us'], source)}; best {time_text(f['best_us'], source)} ({best}, attempt "
        f"{f['best_attempt']}); proposals edit attempt {f['base_attempt']}, {time_text(f['base_us'], source)}",
        f"{f['attempts']} attempts so far, {f['commits']} commits; a commit must be faster than the best by more than "
        f"{100 * f['threshold']:g} %",
        basis_text(source, session.chip.name),
    ]
    if p := f["profile"]:
        o = p["occupancy"]
        busy = ", ".join(f"{name} {100 * share:.0f} %" for name, share in p["busy"].items())
        out += [
            f"limited by {p['limiter']}; {o['workgroups']} workgroups of {o['waves_per_workgroup']} waves fit a "
            f"compute unit ({o['waves_per_simd']:g} waves a SIMD, limited by {o['limiter']})",
            f"busy: {busy}; {100 * p['roof_fraction']:.0f} % of the {p['roof']} roof",
        ]
    return "\n".join(out)


def _of(f: dict[str, Any]) -> list[dict[str, Any]]:
    arguments: list[dict[str, Any]] = f["arguments"]
    return arguments


def _listed(what: str, items: list[str]) -> list[str]:
    """One line for each item, cut at a number that fits a prompt."""
    more = [f"and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return [f"{what} {item}" for item in items[:SHOWN]] + more


KERNEL_TOOLS: tuple[Tool, ...] = (overview,)
