"""Servers over real HTTP: several at a time, another provider, secrets, and an end to waiting."""

from __future__ import annotations

import json
import threading
import time

import pytest

from asmevo.agent.llm import Asked, Call, Failure, LlmConfig, Reply, Request, Result, Said, Stopped, ToolSpec, Trouble
from asmevo.agent.llm.providers import Servers
from asmevo.verdict import UsageError
from benchmarks.scripted.server import Hang, Http, Say, ScriptedServer, Use

LOOK = ToolSpec("windows", "looks", {"type": "object", "properties": {"top": {"type": "integer"}}})
TASK = (Said("system", "rules"), Said("user", "the task"))


def servers(base_url: str, stop=lambda: False, **model) -> Servers:
    models = [{"name": "m", "base_url": base_url, "timeout": 20.0, **model}]
    config = LlmConfig.from_json({"models": models, "habits": {"delay": 0}})
    return Servers(config, time.monotonic, stop)


def ask(asker: Servers, *messages, count: int = 1, tries: int = 1) -> list[Reply | Failure]:
    request = Request("m", messages or TASK, (LOOK,))
    return asker.ask([Asked(request, 77, tries)] * count)


def test_a_reply_with_calls_goes_back_in_the_form_it_came_in() -> None:
    with ScriptedServer(lambda seen: Say("I look.", (Use("windows", {"top": 2}),))) as server:
        asker = servers(server.base_url)
        (reply,) = ask(asker)
        assert isinstance(reply, Reply) and reply.text == "I look." and not reply.cut
        (call,) = reply.calls
        assert (call.tool, json.loads(call.arguments)) == ("windows", {"top": 2})
        ask(asker, *TASK, reply, Result(call, "B1"), Said("user", "go on"))
        asker.close()
    first, second = server.requests
    assert first["max_completion_tokens"] == 77 and first["tools"][0]["function"]["name"] == "windows"
    roles = [m["role"] for m in second["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert second["messages"][2]["tool_calls"][0]["id"] == second["messages"][3]["tool_call_id"] == call.id


def test_islands_are_asked_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=20)

    class Meeting(ScriptedServer):
        def _serve(self, handler) -> None:
            both.wait()  # a server that is asked one after the other never gets past this
            super()._serve(handler)

    with Meeting(lambda seen: Say("here")) as server:
        asker = servers(server.base_url)
        assert [r.text for r in ask(asker, count=2) if isinstance(r, Reply)] == ["here", "here"]
        asker.close()


def test_waiting_ends_when_the_run_is_to_stop() -> None:
    with ScriptedServer(lambda seen: Hang(60.0)) as server:
        asker = servers(server.base_url, stop=lambda: bool(server.requests))
        began = time.monotonic()
        with pytest.raises(Stopped):
            ask(asker)
        asker.close()
    assert time.monotonic() - began < 20


@pytest.mark.slow  # its library takes seconds to load
def test_another_provider_speaks_its_own_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-ant-1")
    call = {"type": "tool_use", "id": "t1", "name": "windows", "input": {}}
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "I look."}, call],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    with ScriptedServer(lambda seen: Http(200, json.dumps(said).encode())) as server:
        url = server.base_url.removesuffix("/v1")
        asker = servers(url, provider="anthropic", key_env="THE_KEY")
        (reply,) = ask(asker)
        assert isinstance(reply, Reply) and reply.calls == (Call("t1", "windows", "{}"),)
        assert (reply.usage.input, reply.usage.output) == (5, 7)
        (again,) = ask(asker, *TASK, reply, Result(reply.calls[0], "B1"))
        assert isinstance(again, Reply)
        asker.close()
    assert any("sk-ant-1" in value for value in server.headers[0].values())
    assert server.requests[1]["messages"][-1]["content"][0]["type"] == "tool_result"


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        (401, {"message": "Incorrect API key provided: sk-hidden-77"}, Trouble.SETUP),
        (404, {"message": "no such model"}, Trouble.SETUP),
        (400, {"message": "maximum context length is 4096", "code": "context_length_exceeded"}, Trouble.CONTEXT),
        (422, {"message": "bad tool"}, Trouble.REJECTED),
        (429, {"message": "slow down"}, Trouble.LIMITED),
        (503, {"message": "overloaded"}, Trouble.SERVER),
    ],
)
def test_every_error_has_its_kind_and_no_key_in_it(monkeypatch: pytest.MonkeyPatch, status, body, trouble) -> None:
    monkeypatch.setenv("THE_KEY", "sk-hidden-77")
    with ScriptedServer(lambda seen: Http(status, json.dumps({"error": body}).encode())) as server:
        asker = servers(server.base_url, key_env="THE_KEY")
        (failure,) = ask(asker)
        asker.close()
    assert isinstance(failure, Failure) and failure.trouble is trouble
    assert "sk-hidden" not in failure.message and body["message"].split("sk-")[0] in failure.message


def test_nobody_there() -> None:
    asker = servers("http://127.0.0.1:9/v1")
    (failure,) = ask(asker)
    asker.close()
    assert isinstance(failure, Failure) and failure.trouble is Trouble.CONNECTION


def test_a_provider_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-1")
    asker = servers("http://127.0.0.1:9/v1", provider="nobody", key_env="THE_KEY")
    with pytest.raises(UsageError, match="of provider nobody cannot be used"):
        ask(asker)
    asker.close()


def body(message: dict, **others) -> bytes:
    """A reply of the chat API."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    whole = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **others}
    return json.dumps(whole).encode()


@pytest.mark.parametrize("key", ["sk-hidden-77", 'sk-"quoted"\\77', "null", "text", "windows", "function"])
def test_a_key_that_a_server_repeats_anywhere_is_not_kept(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("THE_KEY", key)
    escaped = "".join(f"\\u{ord(c):04x}" for c in key)
    arguments = f'{{"a": null, "b": "{escaped}", "b": ["{escaped}"], "{escaped}": 1}}'
    function = {"name": f"tool {key}", "arguments": arguments}
    message = {
        "content": f"It is {key}.",
        "tool_calls": [{"id": f"id {key}", "type": "function", "function": function}],
    }
    with ScriptedServer(lambda seen: Http(200, body(message))) as server:
        asker = servers(server.base_url, key_env="THE_KEY")
        (reply,) = ask(asker)
        assert isinstance(reply, Reply), reply
        (call,) = reply.calls
        assert (reply.text, call.tool, call.id) == ("It is [key].", "tool [key]", "id [key]")
        assert json.loads(call.arguments) == {"a": None, "b": ["[key]"], "[key]": 1}
        if key.startswith("sk-"):
            assert reply.raw is not None and key not in json.dumps(reply.raw) and escaped not in json.dumps(reply.raw)
        (again,) = ask(asker, *TASK, reply, Result(call, "B1"))  # what is left can be sent back
        assert isinstance(again, Reply)
        asker.close()
    assert server.requests[1]["messages"][2]["tool_calls"][0]["function"]["name"] == "tool [key]"


def test_no_more_tries_are_made_than_were_granted() -> None:
    with ScriptedServer(lambda seen: Http(200, b"[]")) as server:
        asker = servers(server.base_url)
        (failure,) = ask(asker, tries=3)
        asker.close()
    assert isinstance(failure, Failure) and failure.trouble is Trouble.BROKEN
    assert len(server.requests) == 3
    assert failure.usage.total == 3 * Request("m", TASK, (LOOK,)).size


@pytest.mark.parametrize("answer", [b'{"choices": ' + b"[" * 100_000, body({"content": "\ud800"})])
def test_what_cannot_be_read_or_kept_is_a_failure(answer: bytes) -> None:
    with ScriptedServer(lambda seen: Http(200, answer)) as server:
        asker = servers(server.base_url)
        (failure,) = ask(asker)
        asker.close()
    assert isinstance(failure, Failure) and failure.trouble is Trouble.BROKEN
    assert failure.message.isprintable()


def test_a_mistake_of_our_own_is_no_failure_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(messages: object) -> None:
        raise LookupError("ours")

    monkeypatch.setattr("asmevo.agent.llm.providers._history", wrong)
    asker = servers("http://127.0.0.1:9/v1")
    with pytest.raises(LookupError, match="ours"):
        ask(asker)
    asker.close()
