"""Devices that live in a worker process and misbehave on command; the launch's name says how."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from asmevo.device import Device, Module, Outcome, Status, Timing
from asmevo.device.worker import serve_device
from asmevo.verdict import UnsupportedError


class Misbehaving(Device):
    """Adds one to the buffer x, after doing what the launch is named for. Counts its runs while it lives."""

    def __init__(self):
        self.runs = 0

    def load(self, data, kernel=None):
        if data == b"strange":
            raise UnsupportedError("The opcode 'v_strange' has no row.")
        if data == b"deadly":
            os._exit(9)
        return Module(data, kernel)

    def run(self, module, launch, image, *, limits=None, workgroups=None, wave_order=None):
        self.runs += 1
        match launch.name:
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exit":
                os._exit(3)
            case "bug":
                return 1 // 0
            case "hang":
                time.sleep(3600)
            case "spin":
                while True:
                    pass
            case "slow":
                time.sleep(1.0)
            case "memory":
                raise MemoryError
            case "hog":
                np.ones(1 << 40, np.uint8)
            case "nonsense":
                return "a string"
            case "unsupported":
                raise UnsupportedError("The opcode 'v_strange' has no row.")
            case _:
                pass
        image.buffer("x")[:] += 1
        return Outcome(Status.DONE, instructions=self.runs, lines={0: 1})

    def time(self, module, launches, *, limits=None):
        return Timing("modelled", ())

    def describe(self):
        return {"device": "misbehaving", "pid": os.getpid()}

    def close(self):
        pass


def serve(connection):
    serve_device(Misbehaving(), connection)


def serve_garbage(connection):
    connection.recv()
    connection.send_bytes(b"\x80\x04garbage")
    time.sleep(3600)


def serve_wrong_form(connection):
    connection.recv()
    connection.send({"verdict": "fine"})
    time.sleep(3600)
