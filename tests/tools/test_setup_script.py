"""The decisions of tools/setup.py, on a machine that is only pretended."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "setup.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Machine:
    """Answers the script's commands; each may be switched to fail until a package is installed."""

    def __init__(self, *, root=True, words=("debian",), ensurepip=True, llvm=True, index=True, apt=True):
        self.root, self.words, self.apt, self.index = root, set(words), apt, index
        self.ensurepip, self.llvm = ensurepip, llvm
        self.commands: list[list[str]] = []
        self.venv = False

    def run(self, command, env=None):
        words = [str(word) for word in command]
        self.commands.append(words)
        if words[0] == "apt-get":
            assert env == {"DEBIAN_FRONTEND": "noninteractive"}
            if words[1] == "update":
                return 0, "", ""
            if not self.apt:
                return 100, "", "E: Unable to locate package\n"
            self.ensurepip |= "python3-venv" in words
            self.llvm |= "llvm-22" in words and "lld-22" in words
            return 0, "", ""
        if "venv" in words:
            self.venv = self.ensurepip
            return (0, "", "") if self.venv else (1, "ensurepip is not available.\n", "")
        if words[-1] == "--version":
            return (0, "pip 23", "") if self.venv else (127, "", "No such file")
        if "install" in words:
            return (0, "", "") if self.index else (1, "", "WARNING: retrying\nERROR: no matching distribution\n")
        return (0, "LLVM 22.1.8", "") if self.llvm else (1, "", "No LLVM >= 22 was found; install llvm-22.\n")

    def is_root(self):
        return self.root

    def os_release(self):
        return self.words

    def say(self, text):
        pass

    def ran(self, *words: str) -> int:
        return sum(all(word in command for word in words) for command in self.commands)


@pytest.fixture
def setup(script, tmp_path, monkeypatch):
    monkeypatch.delenv("ASMEVO_LLVM", raising=False)
    (tmp_path / "v").mkdir()

    def call(machine: Machine, *arguments: str) -> int:
        return script.main(["--venv", str(tmp_path / "v"), *arguments], machine)

    return call


def one_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("asmevo: ")
    return lines[0]


def test_a_ready_machine_needs_no_apt_and_installs_once(setup):
    machine = Machine()
    assert setup(machine) == 0
    assert setup(machine) == 0
    assert machine.ran("apt-get") == 0
    assert machine.ran("pip", "install") == 1
    assert machine.ran("-m", "venv") == 1


def test_another_extra_is_installed_besides(setup):
    machine = Machine()
    assert setup(machine) == 0
    assert setup(machine, "--extra", "dev") == 0
    assert machine.ran("pip", "install", ".[test]") == 1
    assert machine.ran("pip", "install", ".[dev]") == 1


def test_changed_pins_install_again(setup, script, tmp_path, monkeypatch):
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("one")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    machine = Machine()
    assert setup(machine) == 0
    (tmp_path / "requirements.lock").write_text("two")
    assert setup(machine) == 0
    assert machine.ran("pip", "install") == 2


def test_every_extra_is_pinned():
    """What is not in the lock floats, with all that it pulls in."""
    root = SCRIPT.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = [one for extra in project["optional-dependencies"].values() for one in extra] + project["dependencies"]
    pins = (root / "requirements.lock").read_text().splitlines()
    plain = {re.sub(r"\[.*\]", "", one) for one in wanted if not one.startswith("asmevo[")}
    assert len(plain) > 9 and not plain - set(pins)


def test_root_on_debian_gets_llvm_from_apt(setup):
    machine = Machine(llvm=False)
    assert setup(machine) == 0
    assert machine.ran("apt-get", "update") == 1
    assert machine.ran("apt-get", "install", "llvm-22", "lld-22") == 1


def test_ubuntu_counts_and_a_missing_ensurepip_is_mended(setup):
    machine = Machine(words=("ubuntu",), ensurepip=False)
    assert setup(machine) == 0
    assert machine.ran("apt-get", "install", "python3-venv") == 1


@pytest.mark.parametrize("machine", [Machine(root=False, llvm=False), Machine(words=("fedora",), llvm=False)])
def test_without_llvm_and_without_apt_one_sentence(setup, capsys, machine):
    assert setup(machine) == 5
    assert "install llvm-22" in one_sentence(capsys)
    assert machine.ran("apt-get") == 0


def test_a_chosen_llvm_that_does_not_work_is_reported_not_replaced(setup, capsys, monkeypatch):
    monkeypatch.setenv("ASMEVO_LLVM", "/nowhere")
    machine = Machine(llvm=False)
    assert setup(machine) == 5
    assert machine.ran("apt-get") == 0
    one_sentence(capsys)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine(llvm=False, apt=False), "apt-get could not install llvm-22 lld-22"),
        (Machine(index=False), "ERROR: no matching distribution"),
        (Machine(ensurepip=False, root=False), "python3-venv"),
        (Machine(ensurepip=False, apt=False), "python3-venv"),
    ],
)
def test_what_fails_is_named_in_one_sentence(setup, capsys, machine, words):
    assert setup(machine) == 5
    assert words in one_sentence(capsys)


def test_failed_installation_is_tried_again(setup):
    machine = Machine(index=False)
    assert setup(machine) == 5
    machine.index = True
    assert setup(machine) == 0
    assert machine.ran("pip", "install") == 2


def test_an_old_python_is_refused(setup, script, capsys, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert setup(Machine()) == 5
    assert "Python >= 3.11 is needed" in one_sentence(capsys)
