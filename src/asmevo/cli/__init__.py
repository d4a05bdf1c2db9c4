"""The `asmevo` command: one thin function for each verb, in a module of the verb's name. In-process: `cli.main.run`."""

from asmevo.cli.main import main

__all__ = ["main"]
