"""From what the runtime says, or prints before it ends the process, to how a run ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmevo.device.contract import Outcome, Status
from asmevo.device.hip.binding import HipError
from asmevo.verdict import Finding

OUT_OF_MEMORY = 2
WRONG_OBJECT = {200: "hipErrorInvalidImage", 209: "hipErrorNoBinaryForGpu", 218: "hipErrorInvalidKernelFile"}
_STATUS = {
    1: Status.REFUSED,  # hipErrorInvalidValue
    9: Status.REFUSED,  # hipErrorInvalidConfiguration
    98: Status.REFUSED,  # hipErrorInvalidDeviceFunction
    701: Status.REFUSED,  # hipErrorLaunchOutOfResources
    OUT_OF_MEMORY: Status.MEMORY,
    700: Status.FAULT,  # hipErrorIllegalAddress
    710: Status.FAULT,  # hipErrorAssert
    719: Status.FAULT,  # hipErrorLaunchFailure
    702: Status.TIMEOUT,  # hipErrorLaunchTimeOut
}
_COMPLAINT = re.compile(
    r"Memory access fault by GPU|HSA_STATUS_ERROR_(?:ILLEGAL_INSTRUCTION|MEMORY_FAULT|MEMORY_APERTURE_VIOLATION)"
    r"|hardware exception",
)
"""What ROCr prints on stderr before it aborts the process over something that the kernel did."""


def outcome_of(error: HipError) -> Outcome:
    """The outcome of a run whose launch or wait gave an error. What is not known is the device's fault: `CRASH`."""
    status = _STATUS.get(error.code, Status.CRASH)
    return Outcome(status, Finding(f"hip.{status}", f"The HIP runtime stopped the launch: {error}."))


def fault_in(complaints: Sequence[str]) -> str:
    """The line in which the runtime blames the kernel, without what differs from run to run; empty without one."""
    for line in complaints:
        if _COMPLAINT.search(line):
            return re.sub(r" ?\(Agent handle: 0x[0-9a-f]+\)", "", line).strip().rstrip(".")
    return ""
