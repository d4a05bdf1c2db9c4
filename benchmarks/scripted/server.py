"""A loopback HTTP server that speaks the OpenAI chat API and plays scripted models."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Use:
    """The model calls a tool; `arguments` that are a string are sent as they are."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True)
class Say:
    """A chat completion: text and tool calls."""

    text: str = ""
    calls: Sequence[Use] = ()
    finish: str = ""
    """`length` for a reply that was cut; else what fits."""
    usage: tuple[int, int] | None = (900, 90)
    """Tokens of input and output; None for a server that does not count."""


@dataclass(frozen=True)
class Http:
    """Any other response."""

    status: int
    body: bytes = b'{"error": {"message": "no"}}'
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """No response for so long."""

    seconds: float


@dataclass(frozen=True)
class Seen:
    """What a script sees: the request and how many came before it."""

    body: dict[str, Any]
    number: int

    @property
    def results(self) -> list[str]:
        """The answers of tools to the last reply, in order."""
        texts: list[str] = []
        for message in reversed(self.body["messages"]):
            if message["role"] != "tool":
                break
            texts.append(message["content"])
        return texts[::-1]

    @property
    def turn(self) -> int:
        """How many replies the model has in this conversation."""
        return sum(m["role"] == "assistant" for m in self.body["messages"])


Script = Callable[[Seen], Say | Http | Hang]


class ScriptedServer:
    """`with ScriptedServer(script) as server:` serves at `server.base_url`; `server.requests` is what it was asked."""

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._script, self._lock, self._closing = script, threading.Lock(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            seen = Seen(body, len(self.requests))
            self.requests.append(body)
            self.headers.append({k.lower(): v for k, v in handler.headers.items()})
            answer = self._script(seen)
        if isinstance(answer, Hang):
            self._closing.wait(answer.seconds)
            return
        if isinstance(answer, Say):
            answer = Http(200, json.dumps(completion(answer, seen)).encode())
        try:
            handler.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(answer.body)))
            handler.end_headers()
            handler.wfile.write(answer.body)
        except OSError:  # the client gave up waiting
            return


def completion(say: Say, seen: Seen) -> dict[str, Any]:
    """The body of a chat completion."""
    calls = [
        {
            "id": f"call_{seen.number}_{i}",
            "type": "function",
            "function": {
                "name": call.tool,
                "arguments": call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
            },
        }
        for i, call in enumerate(say.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None}
    if calls:
        message["tool_calls"] = calls
    body: dict[str, Any] = {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": seen.body["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": say.finish or ("tool_calls" if calls else "stop")}
        ],
    }
    if say.usage:
        given, made = say.usage
        body["usage"] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    return body
