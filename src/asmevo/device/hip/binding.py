"""The HIP runtime, found and bound: the two dozen functions of libamdhip64 that are needed, and nothing of a version.

Bound with ctypes and not with hip-python, whose wheels each fit one version of ROCm; these functions are the same in
all from ROCm 6 on. Source: `hip_runtime_api.h`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from asmevo.verdict import EnvironmentError_

NAME = "libamdhip64.so"
_NO_DEVICE = (100, 101)
"""hipErrorNoDevice, hipErrorInvalidDevice."""


class HipError(Exception):
    """A function of the runtime gave an error."""

    def __init__(self, function: str, code: int, name: str) -> None:
        super().__init__(f"{function} gave {name} ({code})")
        self.function, self.code, self.name = function, code, name


def find_library() -> Path:
    """The runtime's file: of `$ROCM_PATH` where that is set, else of the standard places, the newest first.

    Raises `EnvironmentError_` when there is none.
    """
    asked = os.environ.get("ROCM_PATH")
    for folder in _folders() if not asked else (Path(asked, "lib"), Path(asked, "lib64"), Path(asked)):
        exact = folder / NAME
        found = [exact] if exact.exists() else sorted(folder.glob(f"{NAME}.*"), reverse=True)
        if found:
            return found[0]
    where = f"in $ROCM_PATH ({asked})" if asked else "on this machine"
    raise EnvironmentError_(f"There is no HIP runtime ({NAME}) {where}; install ROCm, or set ROCM_PATH to where it is.")


def _folders() -> Iterator[Path]:
    roots = [Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
    yield from (root / "lib" for root in roots)
    yield from (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib"), Path("/usr/local/lib"))


@dataclass(frozen=True, slots=True)
class Runtime:
    """The loaded runtime. `call` is the only way to it."""

    path: Path
    functions: ctypes.CDLL

    @property
    def version(self) -> str:
        """Major, minor and patch as the runtime itself counts them."""
        number = ctypes.c_int()
        self.call("hipRuntimeGetVersion", ctypes.byref(number))
        n = number.value
        return f"{n // 10_000_000}.{n // 100_000 % 100}.{n % 100_000}"

    def has(self, function: str) -> bool:
        """Whether this version has the function."""
        return hasattr(self.functions, function)

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function that answers with a `hipError_t`. Raises `HipError` when that is not success."""
        self._call(function, arguments)

    def _call(self, function: str, arguments: tuple[Any, ...]) -> None:
        target: Callable[..., int] = getattr(self.functions, function)
        code = target(*arguments)
        if code:
            raise HipError(function, code, self.name_of(code))

    def name_of(self, code: int) -> str:
        """The runtime's name of an error."""
        naming = self.functions.hipGetErrorName
        naming.restype = ctypes.c_char_p
        return (naming(code) or b"an unknown error").decode(errors="replace")


@cache
def runtime() -> Runtime:
    """The runtime of this process, initialised, with at least one GPU.

    Raises `EnvironmentError_` when there is no runtime, it cannot be loaded, or it finds no GPU.
    """
    path = find_library()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise EnvironmentError_(f"The HIP runtime {path} cannot be loaded ({error}); repair ROCm.") from error
    found = Runtime(path, library)
    count = ctypes.c_int()
    try:
        found.call("hipInit", 0)
        found.call("hipGetDeviceCount", ctypes.byref(count))
    except HipError as error:
        if error.code not in _NO_DEVICE:
            raise EnvironmentError_(
                f"The HIP runtime {path} cannot be started ({error}); repair the driver."
            ) from error
        count.value = 0
    if count.value < 1:
        raise EnvironmentError_(
            f"No device was found by the HIP runtime {path}; check the amdgpu driver and the rights on /dev/kfd, or "
            "use `--device sim`."
        )
    return found


def device_count(found: Runtime) -> int:
    """How many GPUs there are."""
    count = ctypes.c_int()
    found.call("hipGetDeviceCount", ctypes.byref(count))
    return count.value
