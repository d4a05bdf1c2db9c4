"""The `asmevo` command: one thin function for each verb."""

from asmevo.cli.main import main, run

__all__ = ["main", "run"]
