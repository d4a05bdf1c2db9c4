"""Value numbering against execution: what is called equal gives equal results on random inputs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.prove import Prover
from programs import program_from_text

MASK = 0xFFFFFFFF
OPS = {
    "v_add_u32_e32": lambda a, b: a + b,
    "v_sub_u32_e32": lambda a, b: a - b,
    "v_and_b32_e32": lambda a, b: a & b,
    "v_or_b32_e32": lambda a, b: a | b,
    "v_xor_b32_e32": lambda a, b: a ^ b,
}
"""What the opcodes do, written apart from the opcode table."""
REGISTERS = 4
line = st.one_of(
    st.tuples(st.sampled_from(sorted(OPS)), *[st.integers(0, REGISTERS - 1)] * 3),
    st.tuples(st.just("v_mov_b32_e32"), *[st.integers(0, REGISTERS - 1)] * 2),
    st.tuples(st.just("zero"), *[st.integers(0, REGISTERS - 1)] * 2),
)


def text(lines: list[tuple[str, ...]]) -> str:
    out: list[str] = []
    for op, *regs in lines:
        name = "v_add_u32_e32" if op == "zero" else op
        operands = [f"v{regs[0]}", "0", f"v{regs[1]}"] if op == "zero" else [f"v{r}" for r in regs]
        out.append(f"{name} {', '.join(operands)}")
    stores = [f"global_store_dword v9, v{r}, s[6:7] offset:{4 * r}" for r in range(REGISTERS)]
    return "\n".join([*out, *stores, "s_endpgm"])


def execute(lines: list[tuple[str, ...]], values: list[int]) -> list[int]:
    values = list(values)
    for op, d, *sources in lines:
        operands = [values[s] for s in sources]
        values[d] = (OPS[op](*operands) if op in OPS else operands[0]) & MASK
    return values


@settings(max_examples=150, deadline=None)
@given(st.lists(line, min_size=1, max_size=7), st.data())
def test_what_is_proved_is_equal(old: list[tuple[str, ...]], data: st.DataObject) -> None:
    new = data.draw(st.one_of(st.permutations(old), st.just(old).map(lambda x: x[1:]), st.lists(line, max_size=7)))
    proofs = Prover(program_from_text(text(old))).blocks(program_from_text(text(list(new))))
    if all(p.proved for p in proofs):
        for seed in range(4):
            values = [(2654435761 * (seed * REGISTERS + i + 1)) & MASK for i in range(REGISTERS)]
            assert execute(old, values) == execute(list(new), values)


@settings(max_examples=60, deadline=None)
@given(st.lists(line, min_size=2, max_size=7), st.integers(0, 5))
def test_swapping_independent_neighbours_is_proved(lines: list[tuple[str, ...]], at: int) -> None:
    at %= len(lines) - 1
    (_, d0, *s0), (_, d1, *s1) = lines[at], lines[at + 1]
    if d0 == d1 or d0 in s1 or d1 in s0:
        return
    swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
    proofs = Prover(program_from_text(text(lines))).blocks(program_from_text(text(swapped)))
    assert all(p.proved for p in proofs)
