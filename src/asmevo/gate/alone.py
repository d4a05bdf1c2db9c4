"""The static rules on one program alone: waits, spacing and shape, with nothing to compare it with.

A gate asks what a candidate adds to K0. This asks what a finished program has of its own: of code that a compiler made
nothing is expected, of hand-written code what its authors decided on (see `asmevo.gate.known`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from asmevo.gate.shape import shape_findings
from asmevo.program import Program
from asmevo.program.hazards import Hazard, HazardAnalysis
from asmevo.program.paths import block_path
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Finding


def own_findings(program: Program) -> list[Finding]:
    """Every rule that the code of the kernel breaks, with both instructions as texts in the facts.

    `straight` among the facts of a missing wait says that use and operation stand in one block, so that no branch
    decides whether the two meet. Raises `UnsupportedError` for an opcode without a row and for computed jumps.
    """
    return [*shape_findings(program, program), *_waits(program), *_hazards(program)]


def content_key(program: Program) -> bytes:
    """Hash of the reachable code and of what rules read of the descriptor: equal keys have equal findings."""
    descriptor = program.kernel.descriptor
    digest = hashlib.sha256(f"{program.source.target} {descriptor.lds_size} {descriptor.vgpr_alloc}".encode())
    for block in program.blocks:
        digest.update(f" {block.first - program.blocks[0].first}:".encode())
        for line in program.lines[block.first : block.last]:
            assert line.words is not None, "a recovered line has its words"
            digest.update(line.words)
    return digest.digest()


def _waits(program: Program) -> Iterator[Finding]:
    # An LDS result is proved by its own queue: a scalar load that is outstanding as well takes nothing away from that.
    for found in WaitAnalysis(cautious=False).run(program).findings():
        assert found.line is not None
        producer: int = found.facts["producer"]
        facts = {**found.facts, **_texts(program, producer, found.line), "straight": len(found.facts["path"]) == 1}
        yield Finding(found.rule, found.message, found.severity, found.line, facts)


def _hazards(program: Program) -> Iterator[Finding]:
    for hazard in HazardAnalysis(program.source.target).hazards(program):
        facts = {**_texts(program, hazard.producer, hazard.consumer), "distance": hazard.distance}
        facts |= {"required": hazard.rule.states, "path": block_path(program, hazard.producer, hazard.consumer)}
        rule = f"hazard.{hazard.rule.name}"
        yield Finding(rule, f"{_sentence(hazard)}.", hazard.rule.severity, hazard.consumer, facts)


def _sentence(hazard: Hazard) -> str:
    text = str(hazard)
    return text[0].upper() + text[1:]


def _texts(program: Program, producer: int, consumer: int) -> dict[str, Any]:
    return {
        "producer": producer,
        "producer_text": program.line(producer).instruction.text,
        "consumer_text": program.line(consumer).instruction.text,
    }
