"""What runs launches: loaded kernels, memory images, the account of what was executed, and modelled times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from threading import RLock

from asmevo.codeobject import CodeObject, Kernel
from asmevo.device.simulated import traced_launch
from asmevo.launch import MemoryImage, build_image
from asmevo.program import recover
from asmevo.sim import BlockCache, Checking, Executable, Execution, Limits, execute
from asmevo.timing import chip
from asmevo.triton.account import Statistics
from asmevo.triton.arguments import HostLaunch
from asmevo.triton.faults import LaunchFault
from asmevo.triton.source import source_line

_HOST_CALL = "hidden_hostcall_buffer"
"""The argument of kernels that ask the host to print; null here."""
_PAGE = 4096
_KERNELS = 256
"""Executables kept when Triton has unloaded them."""


@dataclass(frozen=True)
class LoadedKernel:
    """A compiled kernel, ready to run. Triton's module and function handle."""

    object: CodeObject
    kernel: Kernel
    executable: Executable


class Engine:
    """The simulated chip behind the driver. Launches run one after the other, whatever thread they come from.

    `threads` is how many run a launch; 0 takes all cores where the result cannot depend on it, else one. A wave
    that executes more than `instructions` has hung. With `checked` launches run checked, which is slower: whatever is
    found of races, missing waits, undefined values and accesses outside of buffers is a fault.
    """

    checked: bool = False

    def __init__(self, chip_name: str = "mi300x", threads: int = 0, instructions: int = 2_000_000_000) -> None:
        self.chip = chip(chip_name)
        self.threads = threads
        self.limits = Limits(instructions)
        self.statistics = Statistics()
        self._cache = BlockCache()
        self._kernels: OrderedDict[tuple[str, str], LoadedKernel] = OrderedDict()
        self._times: list[float] | None = None
        self._lock = RLock()

    def load(self, name: str, binary: bytes) -> LoadedKernel:
        """A kernel of a code object, from memory if it was loaded before.

        Raises `UnsupportedError` that names the opcodes the simulator does not know.
        """
        key = (sha256(binary).hexdigest(), name)
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = self._prepare(name, binary)
                while len(self._kernels) > _KERNELS:
                    self._kernels.popitem(last=False)
            self._kernels.move_to_end(key)
            return self._kernels[key]

    def _prepare(self, name: str, binary: bytes) -> LoadedKernel:
        obj = CodeObject.parse(binary, name)
        self.chip.require(obj.target)
        program = recover(obj, name)
        executable = Executable.build(program, self._cache)
        return LoadedKernel(obj, program.kernel, executable)

    def run(self, loaded: LoadedKernel, given: HostLaunch) -> None:
        """Execute a launch and write its results to host memory; inside of `timing`, only estimate its time.

        Raises `LaunchFault` when the kernel did what the hardware would stop at, or wrote beyond a buffer; host memory
        is as before then.
        """
        with self._lock:
            image = build_image(given.launch, loaded.object, loaded.kernel)
            if self._times is not None:
                ready = traced_launch(loaded.executable, given.launch, image, self.chip, self.limits)
                self._times.append(ready.replay(self.chip).microseconds)
                self.statistics = self.statistics.timed()
                return
            checking = Checking.of(image) if self.checked else None
            done = execute(
                loaded.executable, given.launch, image, limits=self.limits, threads=self.threads, checking=checking
            )
            _judge(done, loaded, image)
            for placement, storage in zip(image.placements, given.storages, strict=True):
                storage.take_back(image.bytes_at(placement.address, placement.size))
            self.statistics = self.statistics.launched(loaded.kernel.name, done)

    @property
    def is_timing(self) -> bool:
        """Whether launches only have their time estimated now."""
        return self._times is not None

    @contextmanager
    def timing(self) -> Generator[list[float]]:
        """Within, launches execute a few workgroups each and leave host memory alone; yields their modelled times.

        Microseconds, in the order of launches.
        """
        with self._lock:
            outer, self._times = self._times, []
            try:
                yield self._times
            finally:
                self._times = outer


def _judge(done: Execution, loaded: LoadedKernel, image: MemoryImage) -> None:
    """Raise `LaunchFault` unless the run ended as it should."""
    name = loaded.kernel.name
    if done.status == "fault":
        assert done.fault is not None
        address = done.fault.facts.get("address")
        inside = isinstance(address, int) and image.base <= address < image.end
        where = f" That is {image.locate(int(address or 0))}." if inside else ""
        if isinstance(address, int) and address < _PAGE and any(a.kind == _HOST_CALL for a in loaded.kernel.args):
            where = " It prints, or an assertion of its source failed: that needs a host, which the chip here lacks."
        raise LaunchFault(name, f"{done.fault.message}{where}", done.fault, source_line(loaded.executable, done.fault))
    if done.fault is not None:
        raise LaunchFault(name, done.fault.message, done.fault)
    if done.status != "done":
        raise LaunchFault(name, "A wave executed more instructions than it may; the kernel hangs, or needs more.")
    if done.findings:
        first = done.findings[0]
        more = f" There are {len(done.findings) - 1} findings more." if len(done.findings) > 1 else ""
        raise LaunchFault(name, f"{first.message}{more}", first, source_line(loaded.executable, first))
    if overrun := image.overrun():
        raise LaunchFault(name, f"It wrote beyond its buffers: {overrun}.")
