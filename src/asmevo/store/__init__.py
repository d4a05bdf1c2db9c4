"""Runs on disk: a SQLite file of attempts and lineage, and content-addressed blobs, in one folder."""

from asmevo.store.blobs import Blobs
from asmevo.store.files import disk, write_atomic
from asmevo.store.records import Attempt, Commit, Event, Run, Status
from asmevo.store.store import DATABASE, Store

__all__ = ["DATABASE", "Attempt", "Blobs", "Commit", "Event", "Run", "Status", "Store", "disk", "write_atomic"]
