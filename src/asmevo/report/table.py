"""Plain tables and figures, the same in verbs and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in aligned columns; a column whose cells all look like numbers is set to the right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    right = [bool(rows) and all(_numeric(cell) for cell in column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        placed = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(placed).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *(line(row) for row in rows)])


def _numeric(cell: str) -> bool:
    return cell == "-" or cell[:1].isdigit() or (cell[:1] in "+-" and cell[1:2].isdigit())


def figure(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits; `-` where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"
