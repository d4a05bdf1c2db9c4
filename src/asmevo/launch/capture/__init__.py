"""Captured dispatches: folders as AMD's kerncap writes and replays them, and launches made from them.

A capture holds one dispatch of a running program with the device memory before it, every region at the address that
the program had for it, since memory may hold pointers. `docs/captures.md` has the layout.
"""

from asmevo.launch.capture.launches import captured_launches, launch_of, moved_files, relocated
from asmevo.launch.capture.layout import CODE, DISPATCH, captures_in, is_capture, occurrences_of
from asmevo.launch.capture.read import Capture, Region, override_path, read_capture
from asmevo.launch.capture.write import Extra, write_capture

__all__ = [
    "CODE",
    "DISPATCH",
    "Capture",
    "Extra",
    "Region",
    "captured_launches",
    "captures_in",
    "is_capture",
    "launch_of",
    "moved_files",
    "occurrences_of",
    "override_path",
    "read_capture",
    "relocated",
    "write_capture",
]
