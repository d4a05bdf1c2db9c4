"""Mutated objects, bundles, notes and listings through all readers: nothing but named errors, no hang, bounded memory.

    python -m fuzz.readers [--runs N] [--seed N] [--own]

With atheris installed the inputs are guided by coverage; without it, or with `--own`, by a mutation loop that is
repeatable from its seed. The last line is one JSON object: `runs`, `seconds`, `errors` (count by name, own loop only)
and `peak_mib` (largest resident memory).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

RUNS = 200_000
SECONDS_EACH = 30
MEMORY = 4 << 30
"""Address space of the process, above what the readers' own bounds allow."""
LISTING_SHARE = 500
"""One input in so many is a listing: they reach the assembler, which is a process each."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz.readers", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own", action="store_true", help="do not use atheris")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if options.own or importlib.util.find_spec("atheris") is None:
        return own_loop(options.runs, options.seed)
    return guided(options.runs, options.seed)


def own_loop(runs: int, seed: int) -> int:
    """Mutations drawn from a seed."""
    from fuzz.cases import LISTING, examine, seeds

    rng = random.Random(seed)
    files = [s for s in seeds() if s[0] != LISTING]
    listings = [s for s in seeds() if s[0] == LISTING]
    errors: Counter[str] = Counter()
    signal.signal(signal.SIGALRM, _hangs)
    start = time.monotonic()
    for n in range(runs):
        data = mutated(rng.choice(listings if n % LISTING_SHARE == 0 else files), rng)
        signal.alarm(SECONDS_EACH)
        try:
            errors[examine(data) or "none"] += 1
        except BaseException:
            keep = Path(tempfile.gettempdir(), f"asmevo-fuzz-{n}")
            keep.write_bytes(data)
            print(f"run {n} failed; its input is {keep}", flush=True)
            raise
        finally:
            signal.alarm(0)
    _report(runs, time.monotonic() - start, errors)
    return 0


def _hangs(*_: object) -> None:
    raise TimeoutError(f"an input took more than {SECONDS_EACH} s")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A copy with one to eight changes: bits, bytes, numbers, stretches cut, doubled or zeroed. Its mode stays."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(1, len(out)) if rng.random() < 0.5 else rng.randrange(1, min(len(out), 600))
        match rng.randrange(7):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                size = rng.choice((2, 4, 8))
                number = rng.choice((0, 1, len(out), 1 << 31, (1 << 64) - 1, rng.getrandbits(rng.randint(1, 64))))
                out[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
            case 3:
                del out[at : at + rng.randint(1, 64)]
            case 4:
                out[at:at] = out[at : at + rng.randint(1, 64)]
            case 5:
                out[at : at + 16] = bytes(16)
            case _:
                del out[at if rng.random() < 0.2 else len(out) :]
        if len(out) < 2:
            break
    return bytes(out)


def guided(runs: int, seed: int) -> int:
    """Coverage-guided inputs by atheris."""
    import atheris  # pyright: ignore[reportMissingImports]: optional

    with atheris.instrument_imports(include=["asmevo.codeobject", "asmevo.report", "asmevo.program.parse"]):
        from fuzz.cases import LISTING, MODES, examine, seeds

    examined = listings = 0

    def one(data: bytes) -> None:
        nonlocal examined, listings
        if data and data[0] % len(MODES) == LISTING:
            if listings * LISTING_SHARE > examined:
                return
            listings += 1
        examined += 1
        examine(data)
        if examined >= runs:  # libFuzzer ends the process itself
            _report(runs, time.monotonic() - start, Counter())
            sys.stdout.flush()
            os._exit(0)

    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(seeds()):
            Path(corpus, str(number)).write_bytes(data)
        start = time.monotonic()
        flags = (
            f"-runs={100 * runs}",
            f"-seed={seed + 1}",
            f"-timeout={SECONDS_EACH}",
            "-max_len=20000",
            "-rss_limit_mb=3000",
        )
        atheris.Setup([sys.argv[0], *flags, corpus], one)
        atheris.Fuzz()
    return 0


def _report(runs: int, seconds: float, errors: Counter[str]) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"runs": runs, "seconds": round(seconds), "errors": dict(errors), "peak_mib": peak}))


if __name__ == "__main__":
    sys.exit(main())
