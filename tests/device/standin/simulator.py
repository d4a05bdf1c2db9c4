"""The simulator behind the stand-in for the HIP runtime: `python simulator.py SOCKET`.

Every launch arrives with its object and arguments; device memory is the arena of the process that launches, which is
mapped here. The answer is how the launch ended and how many microseconds it took: 8, and 1 for each 1000 wave
instructions.
"""

from __future__ import annotations

import mmap
import socket
import struct
import sys
import threading
from dataclasses import dataclass

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.launch import Launch
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable, Limits, WaveOrder, execute

HEAD = struct.Struct("<QQQQii7I256s4x")
DONE, FAULT, HANG, BROKEN = range(4)
ARGUMENTS = 16 << 20
"""Where in the arena the arguments of a launch are; code is at its start."""
LIMIT = 2_000_000
SWEEP = "asmevo_sweep"
"""Takes long to simulate and changes nothing."""


@dataclass
class Arena:
    """Device memory as the simulator wants it."""

    base: int
    data: np.ndarray
    poison: int = 0x33

    @property
    def kernarg_address(self) -> int:
        return self.base + ARGUMENTS

    @property
    def code_address(self) -> int:
        return self.base


class Simulator:
    def __init__(self):
        self.cache, self.executables, self.arenas = BlockCache(), {}, {}

    def arena(self, process, file, base, size):
        if (process, file) not in self.arenas:
            with open(f"/proc/{process}/fd/{file}", "r+b") as shared:
                self.arenas = {(process, file): Arena(base, np.frombuffer(mmap.mmap(shared.fileno(), size), np.uint8))}
        return self.arenas[process, file]

    def executable(self, data, name):
        if (data, name) not in self.executables:
            program = recover(CodeObject.parse(data), name)
            self.executables[data, name] = Executable.build(program, self.cache)
        return self.executables[data, name]

    def launch(self, arena, data, name, arguments, shape):
        if name == SWEEP:
            return DONE, 1.0
        executable = self.executable(data, name)
        low, code = executable.program.source.load_image()
        arena.data[low : low + len(code)] = np.frombuffer(code, np.uint8)
        arena.data[ARGUMENTS : ARGUMENTS + len(arguments)] = np.frombuffer(arguments, np.uint8)
        launch = Launch("x", tuple(shape[:3]), tuple(shape[3:6]), (), (), dynamic_lds=shape[6])
        done = execute(executable, launch, arena, limits=Limits(LIMIT), wave_order=WaveOrder.ASCENDING)
        status = {"done": DONE, "fault": FAULT, "limit": HANG, "deadlock": HANG}.get(str(done.status), BROKEN)
        return status, 8.0 + done.instructions / 1000


def exactly(connection, size):
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def serve(simulator, connection, turn):
    with connection:
        try:
            while True:
                base, size, code, count, process, file, *shape, name = HEAD.unpack(exactly(connection, HEAD.size))
                data, arguments = exactly(connection, code), exactly(connection, count)
                with turn:
                    arena = simulator.arena(process, file, base, size)
                    answer = simulator.launch(arena, data, name.split(b"\0")[0].decode(), arguments, shape)
                connection.sendall(struct.pack("<iid", answer[0], 0, answer[1]))
        except (EOFError, ConnectionError):
            return  # the process was ended


def main(path):
    simulator, turn = Simulator(), threading.Lock()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(simulator, connection, turn), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
