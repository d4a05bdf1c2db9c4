"""A folder of compiled objects, shared by processes: found again by key, checked by hash, bounded in number."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast


def user_folder() -> Path:
    """Where objects are kept by default: `$XDG_CACHE_HOME/asmevo`, else `~/.cache/asmevo`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "asmevo"


class ObjectFiles:
    """Objects with the symbols they import, one file each.

    Every failure of the file system only costs a compilation: a missing, damaged or foreign file is not there, and a
    folder that cannot be written is not written. The first write of a process removes the files used longest ago if
    there are more than `most`.
    """

    def __init__(self, folder: Path, most: int = 8192) -> None:
        self.folder = folder
        self.most = most
        self._pruned = False

    def read(self, key: str) -> tuple[list[str], bytes] | None:
        """Imports and object, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        head, _, data = content.partition(b"\n")
        try:
            facts = cast(dict[str, Any], json.loads(head))
            sound = facts["sha256"] == hashlib.sha256(data).hexdigest()
            return ([str(name) for name in facts["imports"]], data) if sound else None
        except (ValueError, KeyError, TypeError):
            return None

    def write(self, key: str, imports: Sequence[str], data: bytes) -> None:
        """Keep an object. Another process sees it whole or not at all."""
        head = json.dumps({"imports": list(imports), "sha256": hashlib.sha256(data).hexdigest()}).encode()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._prune()
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as f:
                f.write(head + b"\n" + data)
            os.replace(f.name, self._path(key))
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.obj"

    def _prune(self) -> None:
        if self._pruned:
            return
        self._pruned = True
        found = list(self.folder.glob("*.obj"))
        if len(found) <= self.most:
            return
        oldest_first = sorted(found, key=lambda path: path.stat().st_mtime)
        for path in oldest_first[: len(found) - self.most * 3 // 4]:
            path.unlink(missing_ok=True)
