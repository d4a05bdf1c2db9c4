"""The MCP server driven by the official client library, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agent_kit import launch_folder
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

from asmevo.agent import Toolbox
from asmevo.agent import mcp as served
from asmevo.agent.seat import Seat
from asmevo.store import Status, Store
from asmevo.verdict import EnvironmentError_, UsageError
from tests.search.fakes_search import K0


def told(result: Any) -> str:
    return result.content[0].text


def data(result: Any) -> dict[str, Any]:
    return result.meta["asmevo/data"]


@asynccontextmanager
async def client(folder: Path) -> AsyncIterator[Client]:
    """A coding agent's connection: it starts the server and is its only client."""
    command = ["-m", "asmevo", "mcp", str(K0), "-l", str(folder / "launches"), "--out", str(folder / "run")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment)
    with (folder / "stderr").open("a") as log:
        async with Client(stdio_client(parameters, errlog=log)) as one:
            yield one


def test_an_agent_improves_the_gemm_leaves_in_the_middle_and_goes_on(tmp_path: Path) -> None:
    launch_folder(tmp_path)
    won = asyncio.run(_first_half(tmp_path))
    with Store.open(tmp_path / "run", lambda: 0.0) as store:
        finished = [a for a in store.attempts() if a.status is not Status.OPEN]
        assert store.commits()[0].attempt == won
        assert won < len(finished) <= won + 2, "what was under way may have ended before the server did"
    asyncio.run(_second_half(tmp_path, len(finished)))
    assert (tmp_path / "run" / "best.co").is_file()


async def _first_half(folder: Path) -> int:
    """Returns the attempt that became a commit."""
    reports: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        reports.append(message or "")

    async with client(folder) as one:
        names = [tool.name for tool in (await one.list_tools()).tools]
        assert names == [tool.name for tool in Toolbox.tools]
        windows = data(await one.call_tool("windows", {}, progress_callback=progress))["windows"]
        assert windows[0]["window"] == "B6"
        arguments = {"strategy": "reschedule", "window": windows[0]["window"], "then": "evaluate"}
        won = await one.call_tool("apply_strategy", arguments)
        assert won.meta["asmevo/kind"] == "commit"
        assert reports and all(report.startswith("windows: ") for report in reports)
        await one.call_tool("note", {"text": "the loop was rescheduled"})
        wrong = await one.call_tool("listing", {"window": "B99"})
        assert wrong.is_error
        half = asyncio.create_task(one.call_tool("apply_strategy", {**arguments, "strategy": "waits"}))
        await asyncio.sleep(0.2)  # it is under way when the client goes
        half.cancel()
        return int(data(won)["attempt"])


async def _second_half(folder: Path, finished: int) -> None:
    async with client(folder) as one:
        assert told(await one.call_tool("notes", {})) == "1. the loop was rescheduled"
        lineage = data(await one.call_tool("lineage", {}))
        assert len(lineage["commits"]) >= 1
        arguments = {"strategy": "waits", "window": "B6", "then": "evaluate"}
        assert data(await one.call_tool("apply_strategy", arguments))["attempt"] >= finished
        written = data(await one.call_tool("write_result", {}))
        assert written["best_us"] < 0.97 * written["k0_us"]


def test_http_is_for_this_machine_and_says_why_a_run_cannot_be_opened() -> None:
    """The server answers while the session is being opened, tells its error to each call, and refuses other hosts."""

    def fails() -> Any:
        raise UsageError("/some/where/run holds a run on another object.")

    async def main() -> None:
        seat, addresses = Seat(fails), list[str]()
        serving = asyncio.create_task(served.serve_http(seat, 0, addresses.append))
        while not addresses:
            await asyncio.sleep(0.02)
        assert addresses[0].startswith("http://127.0.0.1:")
        async with Client(addresses[0]) as one:
            assert len((await one.list_tools()).tools) == len(Toolbox.tools)
            answer = await one.call_tool("overview", {})
            assert answer.is_error
            assert told(answer) == "run holds a run on another object."
        async with httpx2.AsyncClient() as web:
            foreign = await web.post(addresses[0], headers={"Host": "evil.example"}, json={})
            assert foreign.status_code in (403, 421)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        seat.close()

    asyncio.run(main())


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentError_, match=f"Port {port} cannot be had"):
            asyncio.run(served.serve_http(Seat(_unused), port, print))


def _unused() -> Any:
    raise UsageError("nobody asks")


def test_the_skill_names_every_tool_that_the_loop_needs(capsys: pytest.CaptureFixture[str]) -> None:
    from asmevo.cli.main import run

    assert run(["mcp", "--skill"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("---\nname: asmevo\n")
    names = {tool.name for tool in Toolbox.tools}
    for name in ("overview", "windows", "listing", "apply_strategy", "propose_text", "evaluate", "explain", "notes"):
        assert name in names
        assert f"`{name}`" in text


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ([], 2, "needs a code object"),
        ([str(K0), "--out", "nowhere"], 2, "holds no run yet"),
        (["missing.co", "--out", "nowhere"], 4, "missing.co cannot be read"),
    ],
)
def test_what_is_wrong_with_the_arguments_shows_at_once(
    arguments: list[str], code: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from asmevo.cli.main import run

    assert run(["mcp", *arguments]) == code
    assert why in capsys.readouterr().err


def test_json_schemas_are_plain() -> None:
    for tool in Toolbox.tools:
        schema = tool.schema()
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert len(tool.description) > 40
        json.dumps(schema)
