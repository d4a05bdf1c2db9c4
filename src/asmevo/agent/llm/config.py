"""Which models to ask, how much may be spent, and how to behave: one TOML file, checked as a whole."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from asmevo.verdict import EnvironmentError_, InputError, UsageError

LOCAL = "openai"
"""Provider of any server that speaks the OpenAI chat API."""
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(_Table):
    """US dollars for a million tokens; 0 for a server of one's own."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelConfig(_Table):
    """One model. A key is never written here: `key_env` names the environment variable that holds it."""

    name: str = Field(min_length=1)
    provider: str = LOCAL
    """`openai` (any server that speaks its chat API), `anthropic`, or another provider's name in pydantic-ai."""
    base_url: str | None = None
    """Address of the server, e.g. `http://localhost:8000/v1`; without it the provider's own."""
    key_env: str | None = None
    weight: float = Field(default=1.0, gt=0)
    """How often it is chosen, relative to the others."""
    price: Price | None = None
    context: int = Field(default=32768, ge=2048)
    """Tokens that fit into a request and its reply together."""
    max_output: int = Field(default=4096, ge=64)
    """Most tokens of a reply."""
    temperature: float | None = Field(default=None, ge=0)
    timeout: float = Field(default=300.0, gt=0)
    """Most seconds to wait for one reply."""

    @field_validator("base_url")
    @classmethod
    def _no_secret_in_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http or https address such as http://localhost:8000/v1")
        if parts.username or parts.password or parts.query:
            raise ValueError("must hold no user, password or query; name an environment variable with key_env")
        return value

    @model_validator(mode="after")
    def _room_for_a_task(self) -> Self:
        if self.max_output * 2 > self.context:
            raise ValueError("max_output must be at most half of context")
        return self

    @model_validator(mode="after")
    def _known_key(self) -> Self:
        if self.key_env is None and self.provider not in _KEYS:
            raise ValueError(
                f"provider {self.provider} needs key_env, the environment variable with its key: only a key that is "
                "known can be kept out of what is stored"
            )
        return self

    @property
    def variable(self) -> str | None:
        """The environment variable with the key; None where none is needed."""
        if self.key_env is None and (self.base_url is None or self.provider != LOCAL):
            return _KEYS.get(self.provider)
        return self.key_env

    def key(self) -> str | None:
        """The key. Raises `EnvironmentError_` when its variable is not set."""
        if self.variable is None:
            return None
        value = os.environ.get(self.variable)
        if not value:
            raise EnvironmentError_(
                f"The key of model {self.name} is not set; put it into the environment variable {self.variable}."
            )
        return value


class Limits(_Table):
    """What a run may spend on models. A request that could go beyond is not begun."""

    tokens: int | None = Field(default=1_000_000, ge=0)
    money: float | None = Field(default=None, ge=0)
    """US dollars."""
    seconds: float | None = Field(default=None, ge=0)
    """Seconds spent waiting for replies, summed over all conversations."""
    attempts: int | None = Field(default=200, ge=0)
    """Candidates that the gate judges for models, those that were only checked included."""


class Habits(_Table):
    """How conversations go, and when there are any."""

    rules: bool = True
    """The rule strategies search too, and models are asked where those have stalled; else models are alone."""
    patience: int = Field(default=10, ge=1)
    """Attempts of the rules without a commit after which models are asked."""
    rounds: int = Field(default=40, ge=1)
    """Most replies in one conversation."""
    attempts: int = Field(default=12, ge=1)
    """Most candidates that the gate judges in one conversation."""
    calls: int = Field(default=8, ge=1)
    """Most tool calls of one reply that are run; further ones are told so."""
    mistakes: int = Field(default=5, ge=1)
    """Calls in a row that achieve nothing, after which a conversation ends."""
    retries: int = Field(default=4, ge=0)
    """Times that a request which may pass later is sent again."""
    delay: float = Field(default=1.0, ge=0)
    """Seconds before the first retry; each further one waits twice as long, up to a minute."""
    islands: int = Field(default=1, ge=1, le=16)
    """Conversations at the same time, on different windows where there are several; they share one budget."""
    conversations: int = Field(default=3, ge=1)
    """Conversations in a row without a commit after which the models are not asked again until rules find one."""
    evolve: int = Field(default=4, ge=1)
    """Conversations between two new prompt variants."""


class LlmConfig(_Table):
    """The whole configuration."""

    models: tuple[ModelConfig, ...] = Field(min_length=1)
    limits: Limits = Limits()
    habits: Habits = Habits()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [m.name for m in self.models]
        if len(set(names)) != len(names):
            raise ValueError("each model needs a name of its own")
        if self.limits.money is not None and self.unpriced:
            raise ValueError(f"a limit in money needs the price of every model; {self.unpriced} has none")
        return self

    @property
    def unpriced(self) -> str:
        """Names of the models whose price is not known."""
        return ", ".join(m.name for m in self.models if m.price is None)

    def with_money(self, money: float | None) -> LlmConfig:
        """The configuration with another limit in money, for one that is given.

        Raises `UsageError` when the price of a model is not known.
        """
        if money is None:
            return self
        if self.unpriced:
            raise UsageError(
                f"A limit in money needs the price of every model and {self.unpriced} has none; name models with --llm "
                "and give each of them price = { input = ..., output = ... } in that file, in US dollars for a million "
                "tokens (0 for a server of your own)."
            )
        return self.model_copy(update={"limits": self.limits.model_copy(update={"money": money})})

    def model(self, name: str) -> ModelConfig:
        """The model of this name. Raises `UsageError` when there is none."""
        for model in self.models:
            if model.name == name:
                return model
        raise UsageError(f"The configuration has no model {name!r}.")

    def to_json(self) -> dict[str, Any]:
        """JSON without secrets: there is no place for one."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: Mapping[str, Any], where: str = "the configuration") -> Self:
        """Raises `UsageError` that names the member and what is wrong with it."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise UsageError(f"{where} does not fit: {_said(error)}") from error


def load_config(path: Path) -> LlmConfig:
    """The configuration of a TOML file. Raises `InputError` when it cannot be read, `UsageError` for what it says."""
    try:
        value = tomllib.loads(path.read_text())
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({(error.strerror or str(error)).lower()}); check the path."
        ) from error
    except (ValueError, RecursionError) as error:  # of the syntax, of UTF-8, of a number with thousands of digits
        raise InputError(f"{path} is not TOML ({error}); correct it.") from error
    return LlmConfig.from_json(value, str(path))


def _said(error: ValidationError) -> str:
    """The first complaint as the end of a sentence."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place + ': ' if place else ''}{message[:1].lower() + message[1:]}{more}; see docs/agent.md."
