"""The counterexample of a refused candidate: the first execution of an instruction that differs from K0's.

It is found in a process of its own: the candidate was refused, so it may do anything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device.process import Lost, Worker
from asmevo.gate import align
from asmevo.launch import Launch, build_image
from asmevo.program import recover
from asmevo.sim import BlockCache, Divergence, differing_workgroup, lockstep
from asmevo.verdict import AsmEvoError

SECONDS = 600.0
"""Wall time until the search for a counterexample is given up."""
MEMORY = 16 << 30
"""Address space of the process in bytes."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Where two objects part on one launch."""

    launch: str
    workgroup: int
    first: Divergence | None
    """The first instruction that gives something else; None where only what it leaves in memory does."""
    store: Divergence | None
    """The first store that differs."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def counterexample(k0: bytes, candidate: bytes, launch: Launch, kernel: str | None) -> Counterexample | str:
    """The counterexample on a launch, or why there is none. Raises nothing for what the candidate does."""
    worker = Worker("asmevo.agent.counterexample:serve", MEMORY)
    try:
        worker.send((k0, candidate, launch, kernel))
        answer = worker.receive(SECONDS)
    except Lost as lost:
        return f"No instruction was found: {lost}"
    finally:
        worker.stop()
    return answer if isinstance(answer, Counterexample) else f"No instruction was found: {answer}"


def serve(connection: Connection) -> None:
    """Entry of the process: one request, one answer."""
    k0, candidate, launch, kernel = connection.recv()
    try:
        answer = _find(k0, candidate, launch, kernel)
    except AsmEvoError as error:
        answer = str(error)
    connection.send(answer)


def _find(k0: bytes, candidate: bytes, launch: Launch, kernel: str | None) -> Counterexample | str:
    obj = CodeObject.parse(k0, "K0")
    program = recover(obj, launch.kernel or kernel)
    other = align(program, recover(CodeObject.parse(candidate, "the candidate"), program.kernel.name))
    image, cache = build_image(launch, obj, program.kernel), BlockCache()
    sampled = launch.sampled()
    if sampled is None:
        first = differing_workgroup(program, other, launch, image, cache)
        sampled = () if first is None else (first,)
    for workgroup in sampled:
        found = lockstep(program, other, launch, image, cache, workgroups=[workgroup])
        if found.first or found.status_a != found.status_b:
            return Counterexample(launch.name, workgroup, found.first, found.first_store)
    return "in program order both do the same, so the difference lies in when things happen."
