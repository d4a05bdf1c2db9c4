"""Files as rocprofv3 writes them: kernel traces of several ROCm versions, and counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

SIZES = '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
ROCM_62 = (
    '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
    '"Private_Segment_Size","Group_Segment_Size",' + SIZES
)
ROCM_63 = (
    '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size",' + SIZES
)
ROCM_7 = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    + SIZES
)
ROCPD = (
    '"Guid","Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","Duration","Lds_Block_Size","Scratch_Size","Vgpr_Count",'
    '"Accum_Vgpr_Count","Sgpr_Count",' + SIZES
)
COUNTERS = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
    '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count",'
    '"Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
)

Seen = tuple[str, Sequence[int], Sequence[int], int, int]
"""Kernel, work-items of the grid, work-items of a workgroup, begin, end."""


def trace_row(head: str, number: int, seen: Seen, agent: str = '"Agent 4"') -> str:
    """A line of a kernel trace under one of the heads."""
    kernel, grid, block, begin, end = seen
    known = {
        "Kind": '"KERNEL_DISPATCH"', "Agent_Id": agent, "Dispatch_Id": str(number), "Kernel_Name": f'"{kernel}"',
        "Start_Timestamp": str(begin), "End_Timestamp": str(end), "Guid": '"0000-64"', "Duration": str(end - begin),
    }  # fmt: skip
    for axis, items, group in zip("XYZ", grid, block, strict=True):
        known |= {f"Grid_Size_{axis}": str(items), f"Workgroup_Size_{axis}": str(group)}
    return ",".join(known.get(name.strip('"\n'), "0") for name in head.split(",")) + "\n"


def write_trace(path: Path, seen: Iterable[Seen], head: str = ROCM_7, agent: str = '"Agent 4"') -> Path:
    """A kernel trace."""
    path.write_text(head + "".join(trace_row(head, n, one, agent) for n, one in enumerate(seen, start=1)))
    return path


def write_counters(path: Path, seen: Iterable[tuple[Seen, dict[str, float]]], agent: str = '"Agent 4"') -> Path:
    """A counter file; the grid is a product there."""
    lines = [COUNTERS]
    for n, ((kernel, grid, block, begin, end), counters) in enumerate(seen, start=1):
        items, group = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
        for name, value in counters.items():
            lines.append(
                f'{n},{n},{agent},2,77,77,{items},5,"{kernel}",{group},0,0,8,0,16,"{name}",{value:f},{begin},{end}\n'
            )
    path.write_text("".join(lines))
    return path
