"""The configuration: what does not fit is named, and there is no place for a secret."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from asmevo.agent.llm import LlmConfig, Models, load_config, local
from asmevo.verdict import EnvironmentError_, InputError, UsageError

GOOD = """
[limits]
tokens = 5000
money = 2.5
[habits]
islands = 2
[[models]]
name = "big"
provider = "anthropic"
weight = 1
price = { input = 3, output = 15 }
[[models]]
name = "small"
base_url = "http://localhost:8000/v1"
weight = 3
price = { input = 0, output = 0 }
"""


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "llm.toml").write_text(GOOD)
    config = load_config(tmp_path / "llm.toml")
    assert [m.name for m in config.models] == ["big", "small"]
    assert config.limits.money == 2.5 and config.habits.islands == 2 and config.habits.rules
    assert config.model("big").variable == "ANTHROPIC_API_KEY" and config.model("small").variable is None
    assert LlmConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "small"', 'name = "small"\napi_key = "sk-1"', "models.1.api_key: extra inputs are not permitted"),
        ("http://localhost", "http://me:secret@localhost", "must hold no user, password or query"),
        ("/v1", "/v1?key=secret", "must hold no user, password or query"),
        ("http://localhost:8000/v1", "localhost:8000", "must be an http or https address"),
        ('name = "small"', 'name = "big"', "each model needs a name of its own"),
        ("price = { input = 0, output = 0 }", "", "needs the price of every model; small has none"),
        ("tokens = 5000", "tokens = -1", "limits.tokens: input should be greater than or equal to 0"),
        ("weight = 3", "context = 4096", "max_output must be at most half of context"),
        ("[[models]]", "[[model]]", "models: field required"),
        ('"anthropic"', '"mistral"', "models.0: provider mistral needs key_env, the environment variable with its key"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "llm.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(UsageError) as error:
        load_config(path)
    assert said in str(error.value) and str(error.value).endswith("see docs/agent.md.")
    assert "secret" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("models = [")
    with pytest.raises(InputError, match="is not TOML"):
        load_config(tmp_path / "bad.toml")


def test_a_missing_key_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EnvironmentError_, match="put it into the environment variable OPENAI_API_KEY"):
        Models(local(None, "gpt-x"))
    Models(local("http://127.0.0.1:9/v1", "local"))


def test_a_missing_library_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(EnvironmentError_, match=r"pip install 'asmevo\[llm\]'"):
        Models(local("http://127.0.0.1:9/v1", "local"))


def test_a_run_without_models_cannot_be_replayed(tmp_path: Path) -> None:
    assert Models.of_run(tmp_path) is None
    with pytest.raises(InputError, match="is no run with models"):
        Models.replaying(tmp_path)
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm" / "config.json").write_text('{"config": {"models": []}, "replay": null}')
    with pytest.raises(InputError, match="is not the configuration of a run"):
        Models.replaying(tmp_path)
