"""Times as they may be shown: a modelled one always says so, with its chip and clock."""

from __future__ import annotations

from asmevo.timing import chip


def time_text(microseconds: float | None, source: str) -> str:
    """`modelled 12.34 us`; `-` where there is no time."""
    return "-" if microseconds is None else f"{source} {microseconds:.2f} us"


def basis_text(source: str, chip_name: str) -> str:
    """What stands behind the times: chip, clock and what is known of that clock."""
    if source != "modelled":
        return f"times are {source} on {chip_name}"
    model = chip(chip_name)
    return f"times are modelled for {model.name} at {model.clock_ghz:g} GHz (clock {model.clock_status})"


def gain_text(before: float, after: float) -> str:
    """Change of a time as a signed percentage; negative is faster."""
    return f"{100 * (after / before - 1):+.2f} %"
