"""A new run that begins with the first attempts of another one."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from asmevo.search.settings import Settings
from asmevo.store import Commit, Status, Store
from asmevo.verdict import UsageError

FORK = "fork"
"""Kind of the event that names the run and the attempt that a run was forked from."""
_OF_A_PROCESS = ("start", "resume", "stop", FORK)
"""Kinds of events that a fork does not inherit."""


def fork(source: Path, at: int, folder: Path, seed: int | None = None) -> Settings:
    """Make in `folder` the run that `source` was when its attempt `at` had just been learned; returns its settings.

    With a `seed`, what comes after is drawn anew; without, it goes as in `source`, as far as that went. The folder is
    made whole or not at all. Raises `UsageError` when there is no such attempt, or when the folder is not empty, and
    `InputError` for a source without a run.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already holds a run or other files; choose another folder.")
    partial = folder.with_name(f".{folder.name}.part")
    with Store.open(source, time.time) as old:
        attempts = [a for a in old.attempts() if a.ordinal <= at and a.status is not Status.OPEN]
        if not attempts or attempts[-1].ordinal != at:
            last = attempts[-1].ordinal if attempts else 0
            raise UsageError(f"The run {source} has no finished attempt {at}; its last one up to there is {last}.")
        settings = Settings.from_json(old.run.settings)
        if seed is not None:
            settings = replace(settings, reseeded=(at, seed))
        run = replace(old.run, settings=settings.to_json())
        commits = {commit.attempt: commit for commit in old.commits()}
        blobs = [old.blobs.get(name) for name in (run.k0, run.launches)]
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        with Store.create(partial, run, blobs, time.time) as new:
            for attempt in attempts:
                commit: Commit | None = commits.get(attempt.ordinal)
                if commit:
                    new.blobs.put(old.blobs.get(attempt.candidate))
                new.begin(replace(attempt, status=Status.OPEN, microseconds=None))
                new.finish(attempt, commit)
            for event in old.events():
                if event.ordinal <= at and event.kind not in _OF_A_PROCESS:
                    new.event(event.kind, event.ordinal, event.facts)
            new.event(FORK, at, {"of": str(source.resolve()), "at": at, "seed": seed})
        partial.replace(folder)
    return settings
