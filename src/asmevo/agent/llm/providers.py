"""Live servers through pydantic-ai, which is imported here only, and only when a server is to be asked."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from asmevo.agent.llm.answers import Asked, Outcome, Stopped
from asmevo.agent.llm.config import LlmConfig, ModelConfig
from asmevo.agent.llm.hiding import Hiding
from asmevo.agent.llm.message import Call, Failure, Message, Reply, Request, Result, Said, Trouble, Usage
from asmevo.agent.text import nested_beyond, tokens
from asmevo.verdict import EnvironmentError_, UsageError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

LONGEST_WAIT = 60.0
"""Seconds between two tries, whatever the server asks for."""
_LOOK = 0.1
"""Seconds between two looks at whether the run is to stop."""
NESTING = 64
"""Levels of lists and objects of a reply, beyond which it counts as broken."""
_UNKEYED = "none"
"""What a local server without a key is sent as one: the client library wants something."""


class Servers:
    """Asks the configured models, several requests at a time, each with retries that end (`Asked.tries`).

    Keys are read from the environment when a model is first asked; should a server repeat one, it is cut out of
    whatever came back. `stop` is looked at while waiting.
    """

    def __init__(self, config: LlmConfig, clock: Callable[[], float], stop: Callable[[], bool] = lambda: False) -> None:
        require_library()
        self._config, self._clock, self._stop = config, clock, stop
        self._models: dict[str, Model] = {}
        self._hiding = Hiding([key for m in config.models if (key := m.key())])
        self._runner = asyncio.Runner()

    def ask(self, asked: Sequence[Asked]) -> list[Outcome]:
        """See `Answers.ask`."""
        return self._runner.run(self._gather(asked))

    def close(self) -> None:
        self._runner.close()

    async def _gather(self, asked: Sequence[Asked]) -> list[Outcome]:
        tasks = [asyncio.ensure_future(self._patiently(one)) for one in asked]
        try:
            while not all(task.done() for task in tasks):
                if self._stop():
                    raise Stopped
                await asyncio.wait(tasks, timeout=_LOOK)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return [task.result() for task in tasks]

    async def _patiently(self, one: Asked) -> Outcome:
        """Ask until there is a reply, asking again is of no use, or the retries are used."""
        habits, began = self._config.habits, self._clock()
        charged, turn = 0, 0
        while True:
            outcome = await self._once(one)
            charged += outcome.usage.input
            if isinstance(outcome, Reply) or not outcome.trouble.passes or turn + 1 >= one.tries:
                usage = Usage(charged, outcome.usage.output)
                return replace(outcome, usage=usage, seconds=self._clock() - began)
            wait = max(habits.delay * 2**turn, outcome.wait or 0.0)
            await asyncio.sleep(min(wait, LONGEST_WAIT))
            turn += 1

    async def _once(self, one: Asked) -> Outcome:
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        config = self._config.model(one.request.model)
        model, history = self._model(config), _history(one.request.messages)
        settings, parameters = _settings(config, one.output), _parameters(one.request)
        try:
            response = await model_request(model, history, model_settings=settings, model_request_parameters=parameters)
        except (AgentRunError, UserError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            # The last five are what the library's decoders meet in a body of another shape.
            return self._hiding.outcome(_failure(error, one.request))
        try:
            return self._kept(_reply(response, one.request))
        except (ValueError, RecursionError) as error:  # what it said is no text, or cannot be written as JSON
            return self._hiding.outcome(_failure(error, one.request))

    def _kept(self, reply: Reply) -> Reply:
        """What of a reply is kept: nothing that holds a key. Raises `ValueError` for what nobody could read again."""
        if nested_beyond(reply.raw, NESTING):
            raise ValueError(f"the reply is nested deeper than {NESTING} levels")
        hidden = cast("Reply", self._hiding.outcome(reply))
        json.dumps([hidden.text, hidden.raw], ensure_ascii=False).encode()  # half a surrogate pair is no text
        if hidden.raw != reply.raw and _library_form(hidden) is None:  # the key was a word of the form itself
            hidden = replace(hidden, raw=None)
        return hidden

    def _model(self, config: ModelConfig) -> Model:
        if config.name not in self._models:
            self._models[config.name] = _model(config)
        return self._models[config.name]


def require_library() -> None:
    """Raise `EnvironmentError_` with the remedy when the extra is not installed."""
    try:
        importlib.import_module("pydantic_ai")
    except ImportError as error:
        raise EnvironmentError_(
            "Asking language models needs pydantic-ai; install it with `pip install 'asmevo[llm]'`."
        ) from error


def _model(config: ModelConfig) -> Model:
    """The library's model of a configured one."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    key = config.key()
    try:
        if config.provider == "openai":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            provider = OpenAIProvider(base_url=config.base_url, api_key=key or _UNKEYED)
            return OpenAIChatModel(config.name, provider=provider)
        arguments: dict[str, Any] = {"api_key": key} if key else {}
        arguments |= {"base_url": config.base_url} if config.base_url else {}
        make = cast("Callable[..., Any]", infer_provider_class(config.provider))
        return infer_model(f"{config.provider}:{config.name}", lambda _: make(**arguments))
    except (UserError, ValueError, TypeError, ImportError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UsageError(f"Model {config.name} of provider {config.provider} cannot be used: {reason}.") from error


def _settings(config: ModelConfig, output: int) -> ModelSettings:
    settings: dict[str, Any] = {
        "max_tokens": min(output, config.max_output),
        "request_timeout": config.timeout,
        "timeout": config.timeout,
        "max_retries": 0,  # retrying is done here, where it is counted and ends
    }
    if config.temperature is not None:
        settings["temperature"] = config.temperature
    return cast("ModelSettings", settings)


def _parameters(request: Request) -> ModelRequestParameters:
    from pydantic_ai import ToolDefinition
    from pydantic_ai.models import ModelRequestParameters

    tools = [
        ToolDefinition(name=t.name, description=t.description, parameters_json_schema=t.schema) for t in request.tools
    ]
    return ModelRequestParameters(function_tools=tools, allow_text_output=True)


def _history(messages: Sequence[Message]) -> list[ModelMessage]:
    """The messages in the library's form: what is said to the model in one turn is one request."""
    from pydantic_ai.messages import ModelRequest, SystemPromptPart, ToolReturnPart, UserPromptPart

    history: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, Reply):
            history.append(_response(message))
            continue
        match message:
            case Said("system", text):
                part = SystemPromptPart(text)
            case Said(_, text):
                part = UserPromptPart(text)
            case Result(call, text):
                part = ToolReturnPart(call.tool, text, call.id)
        if history and isinstance(last := history[-1], ModelRequest):
            history[-1] = replace(last, parts=[*last.parts, part])
        else:
            history.append(ModelRequest([part]))
    return history


def _response(reply: Reply) -> ModelResponse:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

    if form := _library_form(reply):
        return form
    parts = [TextPart(reply.text)] if reply.text else []
    return ModelResponse([*parts, *(ToolCallPart(c.tool, c.arguments, c.id) for c in reply.calls)])


def _library_form(reply: Reply) -> ModelResponse | None:
    """The provider's own form of a reply; None where there is none that this version of the library reads."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse

    try:
        (message,) = ModelMessagesTypeAdapter.validate_python([reply.raw])
    except ValidationError:
        return None
    return message if isinstance(message, ModelResponse) else None


def _reply(response: ModelResponse, request: Request) -> Reply:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    texts = [p.content for p in response.parts if isinstance(p, TextPart)]
    calls = [
        Call(p.tool_call_id, p.tool_name, p.args if isinstance(p.args, str) else json.dumps(p.args or {}))
        for p in response.parts
        if isinstance(p, ToolCallPart)
    ]
    usage = Usage(response.usage.input_tokens, response.usage.output_tokens)
    if not usage.total:  # a server that does not count must not be free
        usage = Usage(request.size, tokens("".join([*texts, *(c.arguments for c in calls)])))
    response = replace(response, provider_url=None)  # the address is no part of what was said
    raw = cast("list[dict[str, Any]]", ModelMessagesTypeAdapter.dump_python([response], mode="json"))[0]
    return Reply("\n".join(texts), tuple(calls), usage, response.finish_reason == "length", raw=raw)


def _failure(error: Exception, request: Request) -> Failure:
    from pydantic_ai import exceptions as e

    kinds: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Trouble], ...] = (
        ((e.ModelTimeoutError, e.ModelRequestTimeout), Trouble.TIMEOUT),
        (e.ModelContextWindowExceededError, Trouble.CONTEXT),
        ((e.ModelAuthenticationError, e.ModelNotFoundError, e.ModelQuotaExceededError, e.UserError), Trouble.SETUP),
        (e.ModelRequestRejectedError, Trouble.REJECTED),
        (e.ModelRateLimitError, Trouble.LIMITED),
        ((e.ModelServerError, e.ModelUnavailableError), Trouble.SERVER),
        (e.ModelConnectionError, Trouble.CONNECTION),
    )
    trouble = next((trouble for kind, trouble in kinds if isinstance(error, kind)), Trouble.BROKEN)
    reason = " ".join(str(error).split())[:400] or type(error).__name__
    # What was sent may be charged even though no answer came in time.
    usage = Usage(request.size) if trouble in (Trouble.TIMEOUT, Trouble.BROKEN) else Usage()
    return Failure(trouble, reason, usage=usage, wait=getattr(error, "retry_after", None))
