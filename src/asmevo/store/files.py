"""Files that are either whole or absent, and the sentences for a disk that refuses."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

from asmevo.verdict import EnvironmentError_

_REMEDY = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "your disk quota is used up; free some space or choose another folder",
    errno.EACCES: "choose a folder you may write to",
    errno.EPERM: "choose a folder you may write to",
    errno.EROFS: "choose a folder on a disk that may be written to",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.EEXIST: "a file is in the way; choose another folder",
    errno.ENOTDIR: "a file is in the way; choose another folder",
}


@contextlib.contextmanager
def disk(path: Path, doing: str = "write") -> Generator[None]:
    """Turn an `OSError` inside into one sentence that names `path` and a remedy. Raises `EnvironmentError_`."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDY.get(error.errno or 0, "check the path and the disk")
        reason = (error.strerror or str(error)).lower()
        raise EnvironmentError_(f"Cannot {doing} {path}: {reason}; {remedy}.") from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents. Raises `EnvironmentError_`."""
    with disk(path, "create"):
        path.mkdir(parents=True, exist_ok=True)


def write_atomic(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the whole new one.

    The data go to a temporary file beside `path`, are forced to the disk and then renamed over it; on any failure the
    temporary file is removed and `path` is as it was. A link is followed, and a device or pipe is written to, not
    replaced. Raises `EnvironmentError_`, for a full disk among others.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with disk(path):
            path.write_bytes(data)
        return
    path = path.resolve()
    make_folder(path.parent)
    with disk(path):
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(mode)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
