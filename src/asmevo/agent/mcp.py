"""The tools as a server of the Model Context Protocol, over stdio or HTTP on loopback (extra `mcp`)."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.seat import Seat
from asmevo.agent.skill import skill
from asmevo.agent.text import clean
from asmevo.agent.tools import Tool, Toolbox
from asmevo.verdict import AsmEvoError, EnvironmentError_

LOOPBACK = "127.0.0.1"
"""The only address that is listened on: whoever reaches the tools may use this machine's time and the run folder."""
PROGRESS_SECONDS = 1.0
"""Between two reports of progress."""


def server(seat: Seat, clock: Callable[[], float] = time.monotonic) -> Server[dict[str, Any]]:
    """A server whose clients share the session of a seat."""

    async def list_tools(
        context: ServerRequestContext[dict[str, Any]], parameters: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in Toolbox.tools])

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        future = asyncio.wrap_future(seat.submit(parameters.name, parameters.arguments or {}))
        began = clock()
        while not (await asyncio.wait({future}, timeout=PROGRESS_SECONDS))[0]:
            await context.session.report_progress(clock() - began, None, f"{parameters.name}: {seat.doing}")
        try:
            return _result(future.result())
        except AsmEvoError as error:
            return _result(Answer(clean(str(error)), {}, Kind.MISTAKE))

    return Server("asmevo", instructions=skill(), on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(destructive_hint=False, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema(), annotations=hints)


def _result(answer: Answer) -> types.CallToolResult:
    """The text is for the model; kind and data go beside it, for programs."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        is_error=answer.kind is Kind.MISTAKE,
        _meta={"asmevo/kind": answer.kind.value, "asmevo/data": dict(answer.data)},
    )


async def serve_stdio(seat: Seat) -> None:
    """Serve one client over stdin and stdout until it closes them."""
    one = server(seat)
    async with stdio_server() as (read, write):
        await one.run(read, write, one.create_initialization_options())


async def serve_http(seat: Seat, port: int, tell: Callable[[str], None]) -> None:
    """Serve clients over HTTP on loopback until a signal comes; `tell` gets the address. Port 0 takes a free one.

    Raises `EnvironmentError_` for a port that cannot be had.
    """
    app = server(seat).streamable_http_app(host=LOOPBACK)
    web = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((LOOPBACK, port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EnvironmentError_(f"Port {port} cannot be had ({reason}); choose another one.") from error
        listening.listen()
        tell(f"http://{LOOPBACK}:{listening.getsockname()[1]}/mcp")
        await web.serve(sockets=[listening])
