"""Branches, waits, barriers, messages and the state of the wave.

Sources: CDNA3 ISA, SOPP; LLVM `SIInsertWaitcnts.cpp` for the counters. What `fence` rows do must keep its place.
"""

from __future__ import annotations

from asmevo.isa.row import Counter, Pipe, Row
from asmevo.isa.table.build import control

_VM, _LGKM = (Counter.VM,), (Counter.LGKM,)

ROWS: tuple[Row, ...] = (
    # branches
    control("s_branch", "= any", "branch", pipe=Pipe.BRANCH, latency="branch"),
    *(
        control(f"s_cbranch_{condition}", f"= any, {{{register}}}", "cbranch", pipe=Pipe.BRANCH, latency="branch")
        for condition, register in (
            ("scc0", "scc"),
            ("scc1", "scc"),
            ("vccz", "vcc"),
            ("vccnz", "vcc"),
            ("execz", "exec"),
            ("execnz", "exec"),
        )
    ),
    control("s_endpgm", "", "endpgm", "fence"),
    # the program counter as data: code may depend on where it stands
    control("s_getpc_b64", "b64 =", "getpc", "fence", pipe=Pipe.SALU, latency="salu"),
    control("s_setpc_b64", "= b64", "setpc", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_swappc_b64", "b64 = b64", "swappc", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_call_b64", "b64 = any", "call", "fence", pipe=Pipe.BRANCH, latency="branch"),
    # waits and pauses
    control("s_waitcnt", "= any", "waitcnt"),
    control("s_nop", "= imm", "nop"),
    control("s_sleep", "= imm", "sleep"),
    control("s_setprio", "= imm", "setprio"),
    control("s_wakeup", "", "wakeup"),
    control("s_barrier", "", "barrier", "barrier", "fence"),
    # messages and traps
    control("s_sendmsg", "= any, {m0}", "message", "fence", "m0_data", counters=_LGKM),
    control("s_sendmsghalt", "= any, {m0}", "message", "fence", "m0_data", counters=_LGKM),
    control("s_trap", "= imm", "trap", "fence"),
    control("s_sethalt", "= imm", "halt", "fence"),
    control("s_incperflevel", "= imm", "perflevel", "fence"),
    control("s_decperflevel", "= imm", "perflevel", "fence"),
    control("s_ttracedata", "= {m0}", "trace", "fence", "m0_data"),
    # hardware registers; a write may hit part of MODE, hence the read
    control("s_setreg_b32", "{mode} = any, u32, {mode}", "setreg", "fence", pipe=Pipe.SALU, latency="salu"),
    control("s_setreg_imm32_b32", "{mode} = any, imm, {mode}", "setreg", "fence", pipe=Pipe.SALU, latency="salu"),
    control("s_getreg_b32", "b32 = any, {mode}", "getreg", "fence", pipe=Pipe.SALU, latency="salu"),
    # modes that change what the instructions behind them mean
    control("s_setvskip", "{mode} = u32, u32, {mode}", "setvskip", "fence", pipe=Pipe.SALU, latency="salu"),
    *(
        control(f"s_set_gpr_idx_{kind}", operands, f"gpr_idx_{kind}", "fence", pipe=Pipe.SALU, latency="salu")
        for kind, operands in (
            ("on", "{m0} {mode} = u32, any, {m0} {mode}"),
            ("off", "{mode} = {mode}"),
            ("idx", "{m0} = u32, {m0}"),
            ("mode", "{m0} = any, {m0}"),
        )
    ),
    # caches and clocks
    *(
        control(name, "", "cache", "cache", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM)
        for name in ("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")
    ),
    control("s_icache_inv", "", "cache", "cache", "fence"),
    *(
        control(name, "", "cache", "cache", "fence", "ignores_exec", pipe=Pipe.VMEM, latency=latency, counters=_VM)
        for name, latency in (("buffer_wbl2", "vmem_store"), ("buffer_inv", "vmem_load"))
    ),
    control("s_memtime", "b64 =", "clock", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    control("s_memrealtime", "b64 =", "clock", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    # nothing on the VALU
    control("v_nop", "", "nop", "ignores_exec", pipe=Pipe.VALU, latency="valu"),
)
