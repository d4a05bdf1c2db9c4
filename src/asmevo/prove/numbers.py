"""Numbers of expressions, as value numbering gives them."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.prove.sums import Number, Sum


class Numbers:
    """One number for each expression; equal expressions have equal numbers. Shared by the runs that are compared."""

    def __init__(self) -> None:
        self._of: dict[tuple[object, ...], Number] = {}
        self._nodes: list[tuple[object, ...]] = []
        self.tops: dict[Number, int] = {}
        """Upper bounds of values of 32 bits, as unsigned numbers, where they are known."""

    def of(self, *node: object) -> Number:
        """The number of an expression."""
        number = self._of.get(node)
        if number is None:
            number = self._of[node] = len(self._nodes)
            self._nodes.append(node)
        return number

    def merged(self, exec_: Number, value: Number, old: Number) -> Number:
        """A register after a write under EXEC `exec_`: a second write under the same EXEC hides the first."""
        node = self._nodes[old]
        while node[0] == "merge" and node[1] == exec_:
            old = int(str(node[3]))
            node = self._nodes[old]
        return value if value == old else self.of("merge", exec_, value, old)

    def active(self, exec_: Number, value: Number) -> Number:
        """What lanes that are active under `exec_` see of a register."""
        node = self._nodes[value]
        while node[0] == "merge" and node[1] == exec_:
            value = int(str(node[2]))
            node = self._nodes[value]
        return value

    def of_sum(self, value: Sum) -> tuple[Number, ...]:
        """The numbers of the registers that hold a sum, low half first."""
        if not value.terms:
            return tuple(self.of("constant", value.constant >> at & 0xFFFFFFFF) for at in range(0, value.width, 32))
        if value.width == 32:
            (number, factor), *more = value.terms
            alone = not value.constant and not more and factor == 1
            return (number if alone else self.of("sum", value),)
        return tuple(self.of("half", value, half) for half in (0, 1))

    def sum_of(self, numbers: Sequence[Number]) -> Sum:
        """What one or two registers with these numbers hold, as a sum; whatever it is, it is one of one term."""
        nodes = [self._nodes[n] for n in numbers]
        if all(node[0] == "constant" for node in nodes):
            return Sum(32 * len(nodes), sum(int(str(node[1])) << 32 * i for i, node in enumerate(nodes)))
        if len(nodes) == 1:
            value = nodes[0][1] if nodes[0][0] == "sum" else None
            return value if isinstance(value, Sum) else Sum(32, 0, ((numbers[0], 1),))
        low, high = nodes
        if low[0] == high[0] == "half" and low[1] == high[1] and (low[2], high[2]) == (0, 1):
            assert isinstance(low[1], Sum)
            return low[1]
        return Sum(64, 0, ((self.of("pair", *numbers), 1),))
