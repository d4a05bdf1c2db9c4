"""Images compared as bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.gate.memory import PAGE, Snapshot, changed_spans, describe_difference
from asmevo.launch import Bits, Buffer, Field, Launch, build_image
from small_objects import loop_object

LAUNCH = Launch(
    "m",
    (1, 1, 1),
    (64, 1, 1),
    (Field("p", buffer="x"), Field("n", value=1)),
    (Buffer("x", "in", "u8", (9000,), Bits(1)), Buffer("y", "out", "bf16", (50, 100))),
)


@pytest.fixture(scope="module")
def template():
    return build_image(LAUNCH, loop_object())


places = st.lists(st.integers(0, 10**9), max_size=12)


@settings(max_examples=60, deadline=None)
@given(places, places)
def test_snapshots_know_every_byte(template, written, wrong):
    size = len(template.data) - template.code_space
    work = template.copy()
    for at in written:
        work.data[template.code_space + at % size] ^= 0x40
    snapshot = Snapshot.take(template, work)
    assert np.array_equal(snapshot.materialise(template)[template.code_space :], work.data[template.code_space :])
    assert snapshot.equals(template, work)
    changed = set()
    for at in wrong:
        at = template.code_space + at % size
        work.data[at] ^= 0x01
        changed ^= {at}
    assert snapshot.equals(template, work) == (not changed)
    assert set(snapshot.differences(template, work).tolist()) == changed


def test_spans_are_whole_pages_and_the_code_space_does_not_count(template):
    work = template.copy()
    work.data[:100] ^= 1
    assert not list(changed_spans(template, work))
    at = template.code_space + 3 * PAGE
    work.data[[at + 5, at + PAGE]] ^= 1
    work.data[at + 4 * PAGE] ^= 1
    assert list(changed_spans(template, work)) == [(at, at + 2 * PAGE), (at + 4 * PAGE, at + 5 * PAGE)]


def test_restoring(template):
    work = template.copy()
    work.buffer("y")[:] = 7
    Snapshot.take(template, work).restore(template, work)
    assert np.array_equal(work.data, template.data)


def test_the_first_difference_in_words(template):
    work = template.copy()
    work.buffer("y")[3, 4] = 0x3F80
    expected = Snapshot.take(template, work)
    work.buffer("y")[3, 4] = 0x4000
    work.buffer("y")[5, 4] = 0
    offsets = expected.differences(template, work)
    sentence, facts = describe_difference(expected, template, work, offsets)
    assert facts["place"] == "y[3, 4]"
    assert facts["expected"] == "1.0 (0x3f80)" and facts["got"] == "2.0 (0x4000)"
    assert facts["buffers"] == {"x": 0, "y": 4} and "4 bytes" in sentence


def test_a_difference_in_a_red_zone(template):
    work, expected = template.copy(), Snapshot(())
    place = work.placement("y")
    work.bytes_at(place.address + place.size, 1)[:] = 0
    sentence, _ = describe_difference(expected, template, work, expected.differences(template, work))
    assert sentence.startswith("red zone 0 bytes after y is 0 (0x00) where K0 leaves 165 (0xa5)")
