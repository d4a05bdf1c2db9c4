import pytest

from asmevo.isa import rows
from asmevo.isa.row import LATENCIES
from asmevo.timing import chip, chips
from asmevo.verdict import UnsupportedError, UsageError


@pytest.mark.parametrize("name", list(chips()))
def test_each_number_is_cited_and_inside_its_range(name: str) -> None:
    model = chip(name)
    for parameter in model.parameters.values():
        assert parameter.unit and parameter.source, parameter
        low = parameter.value if parameter.low is None else parameter.low
        high = parameter.value if parameter.high is None else parameter.high
        assert low <= parameter.value <= high, parameter
    for label, cost in model.classes.items():
        low, high = cost.port_range or (cost.port, cost.port)
        assert cost.source and low <= cost.port <= high, label


@pytest.mark.parametrize("name", list(chips()))
def test_all_latency_classes_of_the_opcode_table_have_a_cost(name: str) -> None:
    assert set(chip(name).classes) == set(LATENCIES)
    assert {row.latency for row in rows().values()} <= set(LATENCIES)


def test_a_chip_is_a_copy_with_overrides() -> None:
    big, small = chip("mi300x"), chip("mi308x")
    assert (big.cus, small.cus) == (304, 80)
    assert big.lds_latency == small.lds_latency and big.parameters["lds_latency"] is small.parameters["lds_latency"]
    assert small.range("clock_ghz") == (1.13, 1.85)
    assert "assumed" in small.clock_status and "1.85" in small.clock_status


def test_changed_copies_keep_the_original() -> None:
    model = chip("mi300x")
    assert model.with_(lds_latency=60).lds_latency == 60
    assert model.lds_latency == 48
    with pytest.raises(UsageError, match="lds_delay"):
        model.with_(lds_delay=60)


def test_unknown_names_are_errors() -> None:
    with pytest.raises(UsageError, match="mi300x, mi308x, mi325x, mi355x"):
        chip("mi999x")
    with pytest.raises(UnsupportedError, match="no latency class 'warp'"):
        chip("mi300x").cost("warp")
