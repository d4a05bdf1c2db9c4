"""`asmevo mcp`: the agent's tools for a coding agent."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.agent import AgentSession, Seat, skill
from asmevo.cli.inputs import read_file, read_launches
from asmevo.cli.parameters import CHIP, ChipName
from asmevo.codeobject import CodeObject
from asmevo.device import Device, simulator
from asmevo.store import Store
from asmevo.verdict import EnvironmentError_, UsageError


def mcp(
    k0: Annotated[Path | None, Argument(metavar="[K0]", help="The code object; a run that exists has its own.")] = None,
    launch: Annotated[
        list[Path] | None,
        Option("--launch", "-l", help="Launch file (.toml) or a folder of them; may be given several times."),
    ] = None,
    out: Annotated[Path | None, Option(help="Run folder, new or to go on with; without it runs/<name of K0>.")] = None,
    http: Annotated[
        int | None,
        Option(help="Serve over HTTP on loopback at this port (0: a free one) and not over stdio.", min=0, max=65535),
    ] = None,
    driver: Annotated[str, Option(help="Name under which attempts are stored.")] = "mcp",
    chip: ChipName = CHIP,
    teach: Annotated[bool, Option("--skill", help="Print what teaches an agent the workflow, and end.")] = False,
) -> None:
    """Serve tools that show a kernel, edit it and have edits judged, to a coding agent (Model Context Protocol).

    All is kept in the run folder: a client that goes away loses nothing, and the same command goes on. The result is
    written when a client asks for it and when the server ends.
    """
    if teach:
        print(skill(), end="")
        return
    try:
        from asmevo.agent import mcp as served
    except ImportError as error:
        raise EnvironmentError_(
            f"The MCP server needs the package {error.name}, which is not installed; run `pip install 'asmevo[mcp]'`."
        ) from error
    open_session, model = _opener(k0, launch or [], out, chip, driver)
    with simulator(model) as device:
        seat = Seat(lambda: open_session(device))
        try:
            if http is None:
                asyncio.run(served.serve_stdio(seat))
            else:
                asyncio.run(served.serve_http(seat, http, _tell))
        finally:
            seat.close()


def _opener(
    k0: Path | None, launch: Sequence[Path], out: Path | None, chip: str, driver: str
) -> tuple[Callable[[Device], AgentSession], str]:
    """What begins the run or goes on with it, and the chip it is about. What is wrong with the arguments shows here."""
    if k0 is None and out is None:
        raise UsageError("A server needs a code object and launches, or with --out the folder of a run to go on with.")
    folder = out or Path("runs") / (k0.stem if k0 else "")
    data = None if k0 is None else read_file(k0)
    if (folder / "run.sqlite").is_file():
        with Store.open(folder, time.time) as store:
            if data is not None and sha256(data).hexdigest() != store.run.k0:
                raise UsageError(f"{folder} holds a run on another object; name another folder with --out.")
            model = store.run.chip
        return lambda device: AgentSession.open(folder, device, driver=driver), model
    if data is None or not launch:
        raise UsageError(f"{folder} holds no run yet; name a code object and its launches to begin one.")
    launches = read_launches(launch, CodeObject.parse(data, str(k0)))
    return lambda device: AgentSession.start(folder, data, launches, device, chip=chip, driver=driver), chip


def _tell(address: str) -> None:
    print(f"serving {address}", file=sys.stderr, flush=True)
