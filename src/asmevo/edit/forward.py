"""Where the lines of a program are after an edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Forward:
    """Maps line ids of the program before an edit to those after it; None for a line that is gone."""

    changed: Mapping[int, int | None] = field(default_factory=dict[int, "int | None"])
    """Only the ids that do not map to themselves."""

    def __call__(self, line_id: int) -> int | None:
        return self.changed.get(line_id, line_id)

    def then(self, later: Forward) -> Forward:
        """The map of this edit followed by `later`."""
        changed = {old: None if new is None else later(new) for old, new in self.changed.items()}
        return Forward({**{k: v for k, v in later.changed.items() if k not in changed}, **changed})
