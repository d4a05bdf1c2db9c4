"""Single steps, breakpoints and watches agree with a plain run; two programs side by side show where they part."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.edit import Delete, Insert, Reorder, Replace
from asmevo.program import Program, recover
from asmevo.sim import Debugger, Stepper, Watch, differing_workgroup, lockstep
from asmevo.verdict import InputError, UsageError
from sim_kernels import BASE, Grid, Image, block_cache, kernel, run

SUM = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    s_lshl_b32 s6, s2, 8
    v_add_u32_e32 v1, s6, v1
    global_load_dword v2, v1, s[0:1] offset:2048
    s_waitcnt vmcnt(0)
    s_mov_b32 s7, 0
1:
    v_add_u32_e32 v2, s7, v2
    s_add_u32 s7, s7, 1
    s_cmp_lt_u32 s7, 4
    s_cbranch_scc1 1b
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v3, v1
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[0:1] offset:3072
"""
"""Each of two workgroups of one wave adds 0 + 1 + 2 + 3 to its row."""
GRID = Grid((2, 1, 1))


def program(code: str = SUM) -> Program:
    return recover(kernel(code, lds=1024))


def image() -> Image:
    result = Image()
    result.words(2048, 128)[:] = np.arange(128) * 3
    return result


def stepper(memory: Image, code: str = SUM, **options: object) -> Stepper:
    return Stepper(program(code), GRID, memory, block_cache(), **options)  # type: ignore[arg-type]


def test_steps_do_what_a_run_does() -> None:
    stepped, plain = image(), image()
    steps = [step for step in stepper(stepped) if step.lines]
    _, execution = run(program(), plain, GRID)
    assert execution.status == "done" and len(steps) == execution.instructions
    np.testing.assert_array_equal(stepped.data, plain.data)
    first = [step.line.id for step in steps if step.workgroup == 0]
    assert first == [*range(7), *[7, 8, 9, 10] * 4, *range(11, 18)]
    assert steps[0].next_line is not None and steps[0].next_line.id == 1 and steps[-1].next_line is None


def test_a_breakpoint_stops_in_front_of_a_line() -> None:
    memory = image()
    debugger = Debugger(stepper(memory), memory)
    stop = debugger.run(line=8, workgroup=1, skip=2)
    assert stop.reason == "breakpoint" and stop.step is not None
    state = debugger.state(stop.step)
    assert (state.workgroup, state.wave) == (1, 0) and state.next_line is not None and state.next_line.id == 8
    assert state.sgprs[7] == 2 and state.sgprs[2] == 1
    np.testing.assert_array_equal(state.vgprs[2], np.arange(64, 128) * 3 + 3)
    assert state.exec_mask == (1 << 64) - 1 and len(state.agprs) == 256
    assert debugger.run(line=0).reason == "done"
    assert memory.words(3072, 1)[0] == 6


def test_the_first_line_can_be_stopped_at() -> None:
    memory = image()
    debugger = Debugger(stepper(memory), memory)
    stop = debugger.run(line=0)
    assert stop.reason == "breakpoint" and stop.step is not None and not stop.step.lines
    assert debugger.run(line=0, most=5).reason == "steps" and debugger.steps == 5


def test_a_watched_register_shows_every_change() -> None:
    memory = image()
    debugger = Debugger(stepper(memory, workgroups=[1]), memory, (Watch.parse("s7"), Watch.parse("v2")))
    changes = []
    while (stop := debugger.run()).reason == "watch":
        assert stop.step is not None
        changes.append((stop.step.line.id, [(c.what, c.lane, c.old, c.new) for c in stop.changes][:2]))
    assert stop.reason == "done"
    assert changes[0] == (4, [("v2", 0, 0, 192), ("v2", 1, 0, 195)])
    assert changes[1] == (8, [("s7", None, 0, 1)])
    assert [line for line, _ in changes] == [4, 8, 7, 8, 7, 8, 7, 8]


@pytest.mark.parametrize("watch", [f"0x{BASE + 3072 + 256 + 4:x}:4", "lds:260:4"])
def test_watched_memory_shows_the_store(watch: str) -> None:
    memory = image()
    debugger = Debugger(stepper(memory), memory, (Watch.parse(watch),))
    stop = debugger.run()
    assert stop.reason == "watch" and stop.step is not None and stop.step.workgroup == 1
    assert stop.step.line.instruction.base == ("ds_write_b32" if "lds" in watch else "global_store_dword")
    (change,) = stop.changes
    assert (change.old, change.new, change.lane) == (0, 65 * 3 + 6, None)


@pytest.mark.parametrize("watch", ["v999", "1.0", "lds", "0x10:4"])
def test_what_cannot_be_watched_is_refused(watch: str) -> None:
    memory = image()
    with pytest.raises((UsageError, InputError)):
        Debugger(stepper(memory), memory, (Watch.parse(watch),)).run()


def test_a_fault_ends_the_steps_with_its_finding() -> None:
    code = "s_mov_b64 s[6:7], 0x10\n s_load_dword s8, s[6:7], 0x0\n s_nop 0"
    memory = image()
    one = stepper(memory, code)
    assert Debugger(one, memory).run().reason == "fault"
    assert one.fault is not None and one.fault.line == 1


def test_a_deadlock_ends_the_steps() -> None:
    code = "1:\n s_load_dword s8, s[0:1], 0x400 glc\n s_waitcnt lgkmcnt(0)\n s_cmp_eq_u32 s8, 0\n s_cbranch_scc1 1b"
    memory = image()
    assert Debugger(stepper(memory, code), memory).run().reason == "deadlock"


# --- two programs
def compared(other: Program, memory: Image | None = None):
    memory = memory or image()
    workgroup = differing_workgroup(program(), other, GRID, memory, block_cache())
    chosen = [0] if workgroup is None else [workgroup]
    return workgroup, lockstep(program(), other, GRID, memory, block_cache(), workgroups=chosen)


def test_equal_programs_do_not_differ() -> None:
    workgroup, found = compared(program())
    assert workgroup is None and found.first is None and found.first_store is None
    assert found.steps == 7 + 16 + 7 and found.status_a == found.status_b == "done"


def test_moved_and_inserted_lines_are_no_difference() -> None:
    edited, _ = Insert(8, "s_nop 0").apply(program())
    edited, _ = Reorder((2, 1)).apply(edited)
    workgroup, found = compared(edited)
    assert workgroup is None and found.first is None and found.steps == 30


def test_a_changed_constant_is_found_where_it_first_shows() -> None:
    edited, _ = Replace(8, "s_add_u32 s7, s7, 2").apply(program())
    workgroup, found = compared(edited)
    first, store = found.first, found.first_store
    assert workgroup == 0 and first is not None and store is not None
    assert (first.kind, first.line, first.execution, first.register_a) == ("result", 8, 0, "s7")
    assert (first.a, first.b, first.lane) == (1, 2, None)
    assert first.instruction_a != first.instruction_b
    assert (store.kind, store.line, store.lanes, store.lane) == ("store", 11, 64, 0)
    assert (store.a, store.b) == (6, 2)


def test_only_the_workgroup_that_differs_is_stepped() -> None:
    """The edit drops workgroup 1's part of the address: workgroup 0 does not notice."""
    edited, _ = Replace(3, "v_add_u32_e32 v1, 0, v1").apply(program())
    workgroup, found = compared(edited)
    first = found.first
    assert workgroup == 1 and first is not None and (first.line, first.lane, first.a, first.b) == (3, 0, 256, 0)


def test_a_renamed_register_is_compared_by_operand() -> None:
    edited = program()
    for line, text in ((14, "ds_read_b32 v9, v1"), (16, "global_store_dword v1, v9, s[0:1] offset:3072")):
        edited, _ = Replace(line, text).apply(edited)
    workgroup, found = compared(edited)
    assert workgroup is None and found.first is None
    edited, _ = Replace(14, "ds_read_b32 v9, v0").apply(edited)
    first = compared(edited)[1].first
    assert first is not None and (first.line, first.register_a, first.register_b, first.lane) == (14, "v3", "v9", 1)


def test_one_more_turn_of_a_loop_is_a_difference_of_the_path() -> None:
    edited, _ = Replace(9, "s_cmp_lt_u32 s7, 5").apply(program())
    first = compared(edited)[1].first
    assert first is not None and (first.kind, first.line, first.execution, first.register_a) == ("result", 9, 3, "scc")
    edited, _ = Delete((10,)).apply(program())
    first = compared(edited)[1].first
    assert first is not None and (first.kind, first.line, first.a, first.b) == ("store", 11, 6, 0)


def test_a_line_that_only_b_executes_is_a_difference_of_the_path() -> None:
    edited, _ = Delete((10,)).apply(program())
    first = lockstep(edited, program(), GRID, image(), block_cache(), workgroups=[0]).first
    assert first is not None and (first.kind, first.line, first.execution) == ("path", 7, 1)
