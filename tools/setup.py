"""Everything a fresh clone needs, done once: virtual environment, pinned packages, LLVM >= 22.

Run by `make setup` (and by every target that needs it) with the system's Python before any package is there, so it
uses the standard library only. Where LLVM is looked for is known to `asmevo.isa.llvm` alone; this script asks it from
inside the new environment, and installs Debian's packages where it may when the answer is no.

Exit code 0 when all is ready, 5 with one sentence on stderr otherwise.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LLVM_PACKAGES = ("llvm-22", "lld-22")
VENV_PACKAGE = "python3-venv"
PROBE = """
import sys
from asmevo.isa.llvm import Toolchain
from asmevo.verdict import AsmEvoError
try:
    print(Toolchain.find())
except AsmEvoError as error:
    sys.exit(str(error))
"""


class SetupError(Exception):
    """One sentence that says what is missing and what to do."""


class System:
    """What the script asks of and does to the machine; tests put a fake in its place."""

    def run(self, command, env=None):
        """Runs a command without input; returns (exit code, stdout, stderr)."""
        try:
            done = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=str(ROOT),
                env=dict(os.environ, **(env or {})),
            )
        except OSError as error:
            return 127, "", str(error)
        return done.returncode, done.stdout, done.stderr

    def is_root(self):
        return os.geteuid() == 0

    def os_release(self):
        """ID and ID_LIKE words of /etc/os-release."""
        try:
            lines = Path("/etc/os-release").read_text().splitlines()
        except OSError:
            return set()
        fields = dict(line.split("=", 1) for line in lines if "=" in line)
        return {word for key in ("ID", "ID_LIKE") for word in fields.get(key, "").strip('"').split()}

    def say(self, text):
        print(text, file=sys.stderr, flush=True)


def reason(text):
    """The line of a tool's output that says why it failed: the last error, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "e:"))]
    return (errors or lines or ["no message"])[-1]


def may_use_apt(system):
    """Whether packages can be installed here: root on Debian or Ubuntu."""
    return system.is_root() and bool(system.os_release() & {"debian", "ubuntu"})


def apt_install(system, packages, wanted_for):
    """Installs Debian packages without questions; the index is refreshed first, since a fresh image has none."""
    system.say(f"installing {' '.join(packages)} with apt-get ({wanted_for})")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    _, _, update_error = system.run(["apt-get", "update", "-q"], env)  # one dead third-party source must not stop us
    code, _, error = system.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages], env)
    if code != 0:
        raise SetupError(
            f"apt-get could not install {' '.join(packages)}, needed for {wanted_for} "
            f"({reason(error or update_error)}); install it by hand and run `make setup` again."
        )


def venv_python(venv):
    return venv / "bin" / "python"


def ensure_venv(system, venv):
    """Makes the virtual environment unless one with a working pip is there."""
    if system.run([venv_python(venv), "-m", "pip", "--version"])[0] == 0:
        return
    create = [sys.executable, "-m", "venv", "--clear", venv]
    code, output, error = system.run(create)
    if code != 0 and may_use_apt(system):  # Debian splits ensurepip out of python3
        apt_install(system, (VENV_PACKAGE,), "the virtual environment")
        code, output, error = system.run(create)
    if code != 0:
        raise SetupError(
            f"the virtual environment {venv} could not be made ({reason(error or output)}); "
            f"install the package {VENV_PACKAGE} (Debian, Ubuntu) or a Python >= 3.11 with venv, "
            "and run `make setup` again."
        )


def wanted_digest(extra):
    """What the installed packages depend on: the pins, the extra and this Python."""
    digest = hashlib.sha256(f"{extra} {sys.version}".encode())
    for name in ("pyproject.toml", "requirements.lock"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def ensure_packages(system, venv, extra):
    """Installs the project with its pinned packages; a stamp of the pins makes it a no-op afterwards."""
    stamp = venv / f".installed-{extra}"
    digest = wanted_digest(extra)
    if stamp.exists() and stamp.read_text() == digest:
        return
    system.say(f"installing the pinned Python packages ({extra}) into {venv}")
    code, _, error = system.run(
        [venv_python(venv), "-m", "pip", "install", "-q", "--no-input", "-c", "requirements.lock", "-e", f".[{extra}]"]
    )
    if code != 0:
        raise SetupError(
            f"pip could not install the pinned packages ({reason(error)}); "
            "check that this machine reaches a Python package index and run `make setup` again."
        )
    stamp.write_text(digest)


def ensure_llvm(system, venv):
    """Finds LLVM >= 22, or installs it where that may be done; returns a line that names it."""
    probe = [venv_python(venv), "-c", PROBE]
    code, found, error = system.run(probe)
    if code != 0 and may_use_apt(system) and not os.environ.get("ASMEVO_LLVM"):
        apt_install(system, LLVM_PACKAGES, "assembling and disassembling GPU code")
        code, found, error = system.run(probe)
    if code != 0:
        raise SetupError(reason(error))
    return found.strip()


def main(arguments=None, system=None):
    system = system or System()
    parser = argparse.ArgumentParser(description="Prepares a clone: virtual environment, packages, LLVM.")
    parser.add_argument(
        "--extra",
        default="test",
        choices=("test", "dev", "triton", "cluster"),
        help="which optional packages to install",
    )
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where the virtual environment goes")
    options = parser.parse_args(arguments)
    try:
        if sys.version_info < (3, 11):  # noqa: UP036 - this script runs before anything checked the Python
            raise SetupError(
                f"Python >= 3.11 is needed but {sys.executable} is {sys.version.split()[0]}; "
                "install python3.11 and run `make setup PYTHON=python3.11`."
            )
        ensure_venv(system, options.venv)
        ensure_packages(system, options.venv, options.extra)
        llvm = ensure_llvm(system, options.venv)
    except SetupError as error:
        print(f"asmevo: {error}", file=sys.stderr)
        return 5
    except KeyboardInterrupt:
        return 130
    if sys.stderr.isatty():
        system.say(f"ready: {llvm}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
