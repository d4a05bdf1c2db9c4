"""What teaches a coding agent the workflow: `SKILL.md` of this package."""

from __future__ import annotations

from importlib.resources import files


def skill() -> str:
    """The text, with the head that agents look for skills by."""
    return files("asmevo.agent").joinpath("SKILL.md").read_text()
