"""`optimize` with a language model: what its options ask for, and a gain that a model finds through its tools alone."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from asmevo.cli.main import run
from asmevo.store import Store
from benchmarks.scripted.scenarios import MODEL, SCENARIOS
from benchmarks.scripted.server import Say, ScriptedServer, Use

LAUNCH = Path(__file__).resolve().parents[2] / "examples" / "fp8_gemm" / "launches" / "integers.toml"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--base-url", "http://127.0.0.1:9/v1"), 2, "give it with --model"),
        (("--driver", "llm"), 2, "--driver llm needs a model"),
        (("--model", "m", "--driver", "rules"), 2, "leave out --model"),
        (("--model", "m", "--llm", "llm.toml"), 2, "name the models twice"),
        (("--model", "m"), 5, "environment variable OPENAI_API_KEY"),
        (("--model", "m", "--base-url", "localhost:8000"), 2, "must be an http or https address"),
        (("--llm", "missing.toml"), 4, "cannot be read"),
        (("--replay", "."), 4, "is no run with models"),
        (("--replay", ".", "--driver", "llm"), 2, "leave out --driver"),
        (("--replay", ".", "--max-cost", "1"), 2, "leave out --max-cost"),
        (("--max-cost", "5"), 2, "--max-cost limits what models cost, and this run asks none"),
        (
            ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "5"),
            2,
            "of every model and m has none",
        ),
        (("--model", "m", "--max-cost", "-1"), 2, "--max-cost"),
    ],
)
def test_options_that_do_not_fit(fails, tmp_path, monkeypatch, fp8_gemm_path, options, code, said):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert said in fails(code, "optimize", fp8_gemm_path, "-l", LAUNCH, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_a_model_finds_a_gain_through_its_tools(tmp_path, capsys, fp8_gemm_path):
    """The demo GEMM, the real gate, real HTTP: the model is told a window and does the rest."""
    scenario, folder = SCENARIOS["gain"], tmp_path / "run"
    with ScriptedServer(scenario.script()) as server:
        command = ["optimize", str(fp8_gemm_path), "-l", str(LAUNCH), "--base-url", server.base_url, "--model", MODEL]
        more = ["--driver", "llm", "-n", "2", "--out", str(folder), "--json", "--quiet"]
        assert run([*command, *more]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts["speedup"] > 1.01 and facts["commits"] == 1 and facts["source"] == "modelled"
    assert re.search(r"models: 1 conversations, 1 with a gain; 2 candidates judged; \d requests", printed.err)
    assert facts["cost"]["spent"] is None and ", cost unknown" in printed.err, "nobody said what the model costs"
    with Store.open(folder, time.time) as store:
        swap, gain = store.attempts()[1:3]
        assert swap.strategy == "llm" and swap.verdict.admitted, "its own idea, admitted but no gain"
        assert [c.attempt for c in store.commits()] == [gain.ordinal]
    assert (folder / "certificate.json").is_file()
    assert run(["resume", str(folder), "--max-cost", "1"]) == 2 and "has none" in capsys.readouterr().err
    assert run(["resume", str(folder), "--json", "--quiet"]) == 0, "it goes on with the models it began with"


def test_a_search_ends_at_its_cost_and_goes_on_with_more(tmp_path, capsys, fp8_gemm_path):
    """Each reply of a model that only looks costs 0.018 USD by its price."""
    folder, options = tmp_path / "run", tmp_path / "llm.toml"

    def search(*command: str) -> tuple[dict, str]:
        assert run([*command, "--json", "--quiet"]) == 0
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err

    with ScriptedServer(lambda seen: Say(calls=[Use("registers", {"line": 1})])) as server:
        options.write_text(f"""
            habits = {{ mistakes = 99, retries = 0 }}
            [[models]]
            name = "m"
            base_url = "{server.base_url}"
            max_output = 100
            price = {{ input = 10, output = 100 }}
        """)
        more = ["--llm", str(options), "--driver", "llm", "--max-cost", "0.2", "--out", str(folder)]
        facts, said = search("optimize", str(fp8_gemm_path), "-l", str(LAUNCH), *more)
        first = len(server.requests)
        assert facts["cost"]["limit"] == 0.2 and facts["cost"]["spent"] == pytest.approx(0.018 * first)
        assert 0.1 < facts["cost"]["spent"] <= 0.2 and "limit of 0.2 USD" in facts["reason"]
        assert f"{facts['cost']['spent']:.4g} USD" in said
        facts, _ = search("resume", str(folder), "--max-cost", "0.3")
        assert facts["cost"]["limit"] == 0.3 and 0.2 < facts["cost"]["spent"] <= 0.3
        assert facts["cost"]["spent"] == pytest.approx(0.018 * len(server.requests))
    assert run(["show", str(folder)]) == 0
    assert f"cost     {facts['cost']['spent']:.4g} of 0.3 USD" in capsys.readouterr().out
