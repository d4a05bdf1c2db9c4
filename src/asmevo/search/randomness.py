"""Random streams that are functions of what they are for, never of what was drawn before."""

from __future__ import annotations

import hashlib
import random


def stream(seed: int, *purpose: int | str) -> random.Random:
    """The stream of `seed` for a purpose, e.g. `(island, ordinal, "accept")`.

    Nothing of it need be kept: a run that resumes asks for the same stream and gets the same numbers, on any machine.
    """
    key = "/".join(map(str, (seed, *purpose))).encode()
    return random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))
