"""The static stage on the two real kernels: what they hold, seeded faults, legal reorderings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, Reorder, Replace, apply_all
from asmevo.gate.static import StaticBaseline
from asmevo.isa import effects
from asmevo.isa.registers import EXEC
from asmevo.isa.wait import Wait
from asmevo.program import Line, Program, control_kind, recover
from asmevo.program.dependence import DependenceGraph, dependence_graph
from asmevo.program.hazards import HazardAnalysis
from asmevo.program.liveness import liveness
from asmevo.program.memory import Barriers
from asmevo.program.outstanding import facts
from asmevo.program.placement import WaitPlacer, with_values, with_waits
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Check, Severity, Verdict


@dataclass
class Kernel:
    program: Program

    @cached_property
    def baseline(self) -> StaticBaseline:
        return StaticBaseline(self.program)

    @cached_property
    def placer(self) -> WaitPlacer:
        return WaitPlacer(self.program)

    @cached_property
    def weakest(self) -> dict[int, Wait]:
        return self.placer.weakest()

    @cached_property
    def long_blocks(self) -> list[int]:
        return [b.number for b in self.program.blocks if b.last - b.first >= 20]

    def graph(self, block: int) -> DependenceGraph:
        b = self.program.blocks[block]
        live = liveness(self.program).live_out(b.last - 1)
        return dependence_graph(self.program, b.first, b.last, live_out=live, barriers=Barriers(self.program))


@pytest.fixture(scope="module")
def fmoe(fmoe_stage1_bytes: bytes) -> Kernel:
    return Kernel(recover(CodeObject.parse(fmoe_stage1_bytes)))


@pytest.fixture(scope="module")
def gemm(fp8_gemm_bytes: bytes) -> Kernel:
    return Kernel(recover(CodeObject.parse(fp8_gemm_bytes)))


@pytest.fixture(params=["fmoe", "gemm"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return request.getfixturevalue(request.param)


def rules(check: Check) -> set[str]:
    return {f.rule for f in check.findings if f.severity is Severity.ERROR}


def histogram(program: Program) -> Counter[tuple[str, int]]:
    return Counter((h.rule.name, h.distance) for h in HazardAnalysis("gfx942").hazards(program))


def test_amds_kernel_lacks_no_wait_and_sits_under_the_table_in_two_places(fmoe: Kernel):
    assert WaitAnalysis().run(fmoe.program).missing == ()
    assert histogram(fmoe.program) == {("m0_use", 0): 24, ("sgpr_valu", 1): 32}


def test_the_compilers_kernel_breaks_no_rule_at_all(gemm: Kernel):
    assert WaitAnalysis().run(gemm.program).missing == ()
    assert histogram(gemm.program) == {}


def test_the_kernel_itself_is_tested(kernel: Kernel):
    check = kernel.baseline.check(kernel.program)
    assert (check.verdict, rules(check)) == (Verdict.TESTED, set())


def too_weak(kernel: Kernel) -> list[tuple[int, Wait]]:
    """Each wait without any demand, and one step weaker than `weakest` in each counter."""
    return [
        (line, weaker)
        for line, wait in kernel.weakest.items()
        if not wait.is_noop
        for weaker in (Wait(), Wait(wait.vm + 1, wait.lgkm), Wait(wait.vm, wait.lgkm + 1))
        if weaker.vm <= 63 and weaker.lgkm <= 15
    ]


def assert_late(kernel: Kernel, line: int, wait: Wait):
    check = kernel.baseline.check(with_values(kernel.program, {line: wait}))
    assert rules(check) & {"wait.raw", "wait.waw", "wait.fence"}, (line, str(wait))


def test_no_wait_can_go_or_be_weaker_than_the_weakest(kernel: Kernel):
    for line, wait in random.Random(2).sample(too_weak(kernel), 24):
        assert_late(kernel, line, wait)


@pytest.mark.slow
def test_no_wait_at_all_can_go_or_be_weaker_than_the_weakest(kernel: Kernel):
    for line, wait in too_weak(kernel):
        assert_late(kernel, line, wait)


def test_the_weakest_waits_together_are_admitted(kernel: Kernel):
    assert rules(kernel.baseline.check(with_values(kernel.program, kernel.weakest))) == set()


def random_order(graph: DependenceGraph, rng: random.Random) -> list[int]:
    """An order of a graph, near the original one: a ready line among the first few is taken at random."""
    waiting = [len({e.source for e in into}) for into in graph.predecessors]
    ready = [i for i, n in enumerate(waiting) if n == 0]
    order: list[int] = []
    while ready:
        i = ready.pop(rng.randrange(min(len(ready), 6)))
        order.append(i)
        for j in sorted({e.target for e in graph.successors[i]}):
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
        ready.sort()
    return order


def without_waits(kernel: Kernel, block: int) -> Program:
    b = kernel.program.blocks[block]
    lines = kernel.program.lines[b.first : b.last]
    waits = tuple(line.id for line in lines if control_kind(line.instruction) == "waitcnt")
    return apply_all(kernel.program, (Delete(waits),)) if waits else kernel.program


def test_legal_orders_with_placed_waits_break_nothing_but_spacing(kernel: Kernel):
    """Any order of the dependence graph has waits that make it right; only distances may have shrunk."""
    rng = random.Random(7)
    accepted = 0
    for block in [rng.choice(kernel.long_blocks) for _ in range(8)]:
        bare = without_waits(kernel, block)
        b = bare.blocks[block]
        lines = bare.lines[b.first : b.last]
        graph = kernel.graph(block)
        kept = [i for i in random_order(graph, rng) if control_kind(graph.lines[i].instruction) != "waitcnt"]
        order = [graph.lines[i].id for i in kept]
        assert sorted(order) == sorted(line.id for line in lines)
        jumps = lines[-1].target is not None
        moved = apply_all(bare, (Reorder(tuple(order[:-1] if jumps else order)),))
        waits = kernel.placer.place(moved, block)
        assert waits is not None
        check = kernel.baseline.check(with_waits(moved, waits))
        assert {r for r in rules(check) if not r.startswith("hazard.")} == set()
        accepted += check.verdict is Verdict.TESTED
    assert accepted > 0


def test_neighbours_without_an_edge_may_swap_and_neighbours_with_one_may_not(kernel: Kernel):
    rng = random.Random(11)
    for block in [rng.choice(kernel.long_blocks) for _ in range(8)]:
        graph = kernel.graph(block)
        joined = {(e.source, e.target) for e in graph.edges}
        for i in rng.sample(range(len(graph.lines) - 2), 6):
            a, b = graph.lines[i], graph.lines[i + 1]
            check = kernel.baseline.check(apply_all(kernel.program, (Reorder((b.id, a.id)),)))
            if (i, i + 1) in joined:
                assert any(r.startswith("order.") for r in rules(check)), (a, b)
            elif "waitcnt" not in (control_kind(a.instruction), control_kind(b.instruction)):
                assert not any(r.startswith(("order.", "exec.", "fence.")) for r in rules(check)), (a, b)


def test_every_edge_that_is_turned_round_is_refused(kernel: Kernel):
    rng = random.Random(13)
    for block in [rng.choice(kernel.long_blocks) for _ in range(6)]:
        graph = kernel.graph(block)
        near = [e for e in graph.edges if e.target - e.source < 12 and e.target < len(graph.lines) - 1]
        for edge in rng.sample(near, min(6, len(near))):
            run = [line.id for line in graph.lines[edge.source : edge.target + 1]]
            check = kernel.baseline.check(apply_all(kernel.program, (Reorder((run[-1], *run[:-1])),)))
            assert f"order.{edge.kind}" in rules(check), edge


def find(program: Program, *starts: str) -> Iterator[Line]:
    """Reachable lines whose text begins with one of these."""
    for line in program.lines:
        if line.id in program.block_of and line.instruction.text.startswith(starts):
            yield line


def test_seeded_faults_in_waits_barriers_and_exec_are_refused(kernel: Kernel):
    program, rng = kernel.program, random.Random(3)
    barriers = list(find(program, "s_barrier"))
    execs = [x for x in program.lines if x.id in program.block_of and effects(x.instruction).writes & EXEC]
    edits = [Delete((x.id,)) for x in rng.sample(barriers, min(4, len(barriers)))]
    places = [rng.randrange(b.first, b.last) for b in rng.sample(program.blocks, 4)]
    edits += [Delete((x.id,)) for x in rng.sample(execs, min(4, len(execs)))]
    edits += [Insert(program.lines[i].id, "s_mov_b64 exec, -1") for i in places[:2]]
    edits += [Insert(program.lines[i].id, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0") for i in places[2:]]
    for edit in edits:
        check = kernel.baseline.check(apply_all(program, (edit,)))
        assert check.verdict is Verdict.REFUTED, edit
    at = program.lines[places[0]].id
    barrier = Insert(barriers[0].id, "s_barrier")
    for edit in (barrier, Insert(at, "s_setvskip s0, s1"), Insert(at, "v_frobnicate_b32 v0, v1")):
        check = kernel.baseline.check(apply_all(program, (edit,)))
        assert not check.verdict.admitted, edit


def test_an_lds_access_moved_over_its_barrier_is_refused(kernel: Kernel):
    program = kernel.program
    tried = 0
    for barrier in list(find(program, "s_barrier"))[:6]:
        at = program.position[barrier.id]
        block = program.blocks[program.block_of[barrier.id]]
        for position in (*range(block.first, at), *range(at + 1, block.last)):
            started = facts(program.lines[position].instruction).operation
            if started is None or not program.lines[position].instruction.base.startswith("ds_"):
                continue
            low, high = min(at, position), max(at, position)
            run = [line.id for line in program.lines[low : high + 1]]
            order = (*run[1:], run[0]) if position < at else (run[-1], *run[:-1])
            check = kernel.baseline.check(apply_all(program, (Reorder(order),)))
            assert "order.fence" in rules(check)
            tried += 1
            break
    assert tried >= 2


def test_no_nop_of_the_compiler_can_give_a_state_less(gemm: Kernel):
    """LLVM puts in exactly what its rules ask for, so the rules here must ask for the same."""
    nops = list(find(gemm.program, "s_nop"))
    assert len(nops) >= 10
    for nop in nops:
        count = int(nop.instruction.text.split()[1])
        edit = Replace(nop.id, f"s_nop {count - 1}") if count else Delete((nop.id,))
        assert any(r.startswith("hazard.") for r in rules(gemm.baseline.check(apply_all(gemm.program, (edit,)))))


def test_spacing_that_order_alone_keeps_is_kept(fmoe: Kernel):
    """AMD's kernel has no s_nop: a reader of a matrix result may follow it too closely though no edge is broken."""
    tried = 0
    for line in find(fmoe.program, "v_mul_f32_dpp v72,"):
        block = fmoe.program.blocks[fmoe.program.block_of[line.id]]
        graph = fmoe.baseline.graph(block.number)
        at = fmoe.program.position[line.id] - block.first
        if graph.predecessors[at]:
            continue
        run = [x.id for x in graph.lines[: at + 1]]
        check = fmoe.baseline.check(apply_all(fmoe.program, (Reorder((run[-1], *run[:-1])),)))
        assert rules(check) == {"hazard.mfma_valu_read", "hazard.mfma_overwrite"}
        tried += 1
    assert tried >= 2


def test_a_transfer_to_lds_that_is_waited_for_one_step_too_late(fmoe: Kernel):
    """`vmcnt(12)` before the first barrier leaves just the transfers of later buffers in flight."""
    (wait,) = find(fmoe.program, "s_waitcnt vmcnt(12)")
    check = fmoe.baseline.check(apply_all(fmoe.program, (Replace(wait.id, "s_waitcnt vmcnt(13)"),)))
    assert rules(check) == {"wait.fence"}


def test_a_check_costs_little_once_k0_is_known(kernel: Kernel):
    """A guard against analyses of the whole program for every candidate; the bound is far above the usual 20 ms."""
    from time import process_time

    rng = random.Random(5)
    candidates: list[Program] = []
    for block in [rng.choice(kernel.long_blocks) for _ in range(10)]:
        b = kernel.program.blocks[block]
        i = rng.randrange(b.first, b.last - 2)
        pair = (kernel.program.lines[i + 1].id, kernel.program.lines[i].id)
        candidates.append(apply_all(kernel.program, (Reorder(pair),)))
    kernel.baseline.check(kernel.program)
    start = process_time()
    for candidate in candidates:
        kernel.baseline.check(candidate)
    assert (process_time() - start) / len(candidates) < 0.2
