"""The models of one run put together: configuration, servers or a record, and the driver."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asmevo.agent.llm.answers import Answers
from asmevo.agent.llm.config import LlmConfig, ModelConfig
from asmevo.agent.llm.driver import NAME, LlmDriver, Report
from asmevo.agent.llm.providers import Servers, require_library
from asmevo.agent.llm.recording import Record, Replay
from asmevo.launch import Launch
from asmevo.store import write_atomic
from asmevo.verdict import InputError, UsageError

CONFIG = "config.json"


class Models:
    """Makes the driver of a run (see `asmevo.search.MakeDriver`) and closes it; a context manager.

    Without `replay` servers are asked; then the library and all keys must be there, or `EnvironmentError_` says at once
    what is missing. With it, the replies are those of that run and nothing else is needed.
    """

    def __init__(
        self, config: LlmConfig, replay: Path | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config, self._replay, self._clock = config, replay, clock
        self._driver: LlmDriver | None = None
        if replay is None:
            require_library()
            for model in config.models:
                model.key()

    @classmethod
    def replaying(cls, run: Path) -> Self:
        """The models of another run, answering from its record. Raises `InputError` for a run without models."""
        return cls(_kept(run)[0], run)

    @classmethod
    def of_run(cls, run: Path, money: float | None = None) -> Self | None:
        """The models that a run was begun with, to go on with it; None for a run without any.

        `money` is a new limit of what they may cost over the whole run. Raises `UsageError` when a price is not known.
        """
        if not (run / NAME / CONFIG).is_file():
            return None
        config, replay = _kept(run)
        return cls(config.with_money(money), replay)

    def __call__(self, folder: Path, launches: Sequence[Launch], seed: int) -> LlmDriver:
        """The driver of the run in `folder`; what it was configured with is kept there."""
        kept = {"config": self._config.to_json(), "replay": str(self._replay.resolve()) if self._replay else None}
        write_atomic(folder / NAME / CONFIG, json.dumps(kept, indent=1).encode() + b"\n")
        self._driver = LlmDriver(folder, self._config, launches, seed, lambda stop: self._answers(folder, stop))
        return self._driver

    @property
    def report(self) -> Report | None:
        """What the models did; None when the run did not begin."""
        return self._driver.report() if self._driver else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._driver:
            self._driver.close()

    def _answers(self, folder: Path, stop: Callable[[], bool]) -> Answers:
        if self._replay is None:
            return Servers(self._config, self._clock, stop)
        return Replay(Record(self._replay / NAME), Record(folder / NAME))


def local(base_url: str | None, model: str, *, rules: bool = True) -> LlmConfig:
    """One model behind an OpenAI-compatible server, everything else by default."""
    value: dict[str, Any] = {"models": [ModelConfig(name=model).model_dump() | {"base_url": base_url}]}
    return LlmConfig.from_json(value | {"habits": {"rules": rules}}, "The model of the command line")


def _kept(run: Path) -> tuple[LlmConfig, Path | None]:
    path = run / NAME / CONFIG
    try:
        value: dict[str, Any] = json.loads(path.read_text())
        replay = value["replay"]
        return LlmConfig.from_json(value["config"], str(path)), Path(replay) if replay else None
    except OSError as error:
        raise InputError(f"{run} is no run with models; give a folder made by `asmevo optimize --llm`.") from error
    except (ValueError, KeyError, TypeError, UsageError) as error:
        raise InputError(f"{path} is not the configuration of a run ({error}); the run folder is damaged.") from error
