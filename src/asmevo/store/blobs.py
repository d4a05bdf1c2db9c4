"""Content-addressed blobs: the name of a file is the SHA-256 of what it holds."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from asmevo.store.files import disk, write_atomic
from asmevo.verdict import InputError

_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Blobs:
    """A folder of blobs, spread over 256 sub-folders by the first byte of the hash."""

    folder: Path

    def path(self, sha256: str) -> Path:
        """Where the blob with this hash is kept. Raises `InputError` for what is not a SHA-256."""
        if not _NAME.fullmatch(sha256):
            raise InputError(f"{sha256!r} is not a SHA-256 in lower-case hexadecimal; copy it from `asmevo show`.")
        return self.folder / sha256[:2] / sha256

    def put(self, data: bytes) -> str:
        """Keep `data`; the same data are kept once. Returns the hash. Raises `EnvironmentError_`."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.path(sha256)
        if not path.is_file():
            write_atomic(path, data)
        return sha256

    def get(self, sha256: str) -> bytes:
        """The data with this hash. Raises `InputError` when they are missing or damaged."""
        path = self.path(sha256)
        if not path.is_file():
            raise InputError(f"The blob {sha256} is missing from {self.folder}; restore the run folder from a copy.")
        with disk(path, "read"):
            data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise InputError(f"The blob {path} is damaged (its hash differs); restore the run folder from a copy.")
        return data

    def __contains__(self, sha256: str) -> bool:
        return self.path(sha256).is_file()
