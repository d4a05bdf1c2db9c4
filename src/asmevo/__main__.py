"""`python -m asmevo` is the `asmevo` command."""

from asmevo.cli import main

main()
