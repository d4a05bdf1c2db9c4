"""The examples of the documents are real."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from asmevo.codeobject import CodeObject
from asmevo.launch import RECIPES, Launch, build_image, load_launches

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = re.findall(r"```toml\n(.*?)```", (DOCS / "launch.md").read_text(), re.DOTALL)


def loaded(text: str, folder: Path) -> Launch:
    (folder / "launch.toml").write_text(text)
    (launch,) = load_launches(folder)
    return launch


def test_there_are_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("text", EXAMPLES)
def test_launch_examples_fit_the_kernel(text, tmp_path, fp8_gemm_bytes):
    image = build_image(loaded(text, tmp_path), CodeObject.parse(fp8_gemm_bytes))
    assert image.buffer("c").size


def test_the_spelled_out_example_is_the_recipe_s_launch(tmp_path):
    spelled = loaded(EXAMPLES[1], tmp_path)
    (tmp_path / "launch.toml").unlink()
    recipe = "recipe = 'triton.block_scaled_gemm'\n[arguments]\nm = 64\nn = 128\nk = 128\n"
    made = loaded(recipe, tmp_path)
    assert [(f.offset, f.value, f.buffer) for f in spelled.kernarg] == [
        (f.offset, f.value, f.buffer) for f in made.kernarg
    ]
    assert (spelled.grid, spelled.block, spelled.dynamic_lds) == (made.grid, made.block, made.dynamic_lds)


@pytest.mark.parametrize("kind", ["zeros", "constant", "random", "integers", "bits", "data", "file"])
def test_every_fill_of_the_table_loads(kind, tmp_path):
    (fill,) = re.findall(rf'^\| `(\{{kind = "{kind}".*?\}})`', (DOCS / "launch.md").read_text(), re.MULTILINE)
    (tmp_path / "x.bin").write_bytes(bytes(8))
    text = f"""
grid = [1]
block = [64]
[[buffer]]
name = "x"
role = "in"
dtype = "f32"
shape = [2]
fill = {fill}
"""
    buffer = loaded(text, tmp_path).buffers[0]
    assert buffer.fill is not None
    assert buffer.fill.codes(buffer.format, buffer.count).nbytes == 8


COMMANDS = [
    line.strip()
    for path in (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")))
    for line in path.read_text().splitlines()
    if line.startswith("    asmevo ")
]


def test_there_are_commands():
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_verbs_and_options_that_exist(command, runs):
    verb, *words = command.split()[1:]
    verbs = [verb, words.pop(0)] if verb == "capture" else [verb]
    help_text = runs(*verbs, "--help")
    for option in (word for word in words if word.startswith("-")):
        assert re.search(rf"(^|\s){re.escape(option)}\b", help_text), option


def test_the_document_of_recipes(tmp_path):
    text = (DOCS / "recipes.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert loaded(example, tmp_path).recipe.queries == 300
    rows = re.findall(r"^\| `([a-z0-9_.]+)` \| .* \| (.*) \|$", text, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(RECIPES)
    for name, cell in rows:
        words = set(re.findall(r"\w+", cell))
        if not cell.startswith("as "):
            assert {field.name for field in fields(RECIPES[name])} <= words
