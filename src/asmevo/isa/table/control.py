"""Branches, waits, barriers, messages and the state of the wave.

Sources: CDNA3 ISA, SOPP; LLVM `SIInsertWaitcnts.cpp` for the counters. What `fence` rows do must keep its place.
"""

from __future__ import annotations

from asmevo.isa.row import Counter, Pipe, Row
from asmevo.isa.table.build import control

_VM, _LGKM = (Counter.VM,), (Counter.LGKM,)
_GWS = (Counter.LGKM, Counter.EXP)

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
    *(  # conditions of the debugger, which are 0 without one
        control(f"s_cbranch_cdbg{name}", "= any", "cbranch", pipe=Pipe.BRANCH, latency="branch")
        for name in ("sys", "user", "sys_or_user", "sys_and_user")
    ),
    *(control(f"s_endpgm{kind}", "", "endpgm", "fence") for kind in ("", "_saved", "_ordered_ps_done")),
    # the program counter as data: code may depend on where it stands
    control("s_getpc_b64", "b64 =", "getpc", "fence", pipe=Pipe.SALU, latency="salu"),
    control("s_setpc_b64", "= b64", "setpc", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_swappc_b64", "b64 = b64", "swappc", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_call_b64", "b64 = any", "call", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_cbranch_g_fork", "= b64, b64", "fork", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_cbranch_i_fork", "= b64, any", "fork", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_cbranch_join", "= b32", "fork", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_rfe_b64", "= b64", "rfe", "fence", pipe=Pipe.BRANCH, latency="branch"),
    control("s_rfe_restore_b64", "= b64, b32", "rfe", "fence", pipe=Pipe.BRANCH, latency="branch"),
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
    control("s_setkill", "= imm", "kill", "fence"),
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
    # SGPRs by number, from M0
    *(
        control(f"s_mov{kind}_b{bits}", operands.format(bits), f"mov{kind}", "fence", pipe=Pipe.SALU, latency="salu")
        for kind, operands in (("rels", "b{0} = b{0}, {{m0}} {{sgprs}}"), ("reld", "b{0} {{sgprs}} = b{0}, {{m0}}"))
        for bits in (32, 64)
    ),
    # caches and clocks
    *(
        control(name, "", "cache", "cache", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM)
        for name in ("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")
    ),
    *(
        control(name, "= b64, any", kind, "cache", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM)
        for name, kind in (("s_dcache_discard", "discard"), ("s_dcache_discard_x2", "discard"))
    ),
    control("s_atc_probe", "= imm, b64, any", "cache", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    control("s_atc_probe_buffer", "= imm, b128, any", "cache", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    control("s_icache_inv", "", "cache", "cache", "fence"),
    *(
        control(name, "", "cache", "cache", "fence", "ignores_exec", pipe=Pipe.VMEM, latency=latency, counters=_VM)
        for name, latency in (("buffer_wbl2", "vmem_store"), ("buffer_inv", "vmem_load"))
    ),
    control("s_memtime", "b64 =", "clock", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    control("s_memrealtime", "b64 =", "clock", "fence", pipe=Pipe.SMEM, latency="smem", counters=_LGKM),
    # the global wave sync unit, which several workgroups share
    *(
        control(f"ds_gws_{name}", operands, "gws", "fence", "m0_data", pipe=Pipe.LDS, latency="lds", counters=_GWS)
        for name, operands in (
            ("init", "= b32, {m0}"),
            ("barrier", "= b32, {m0}"),
            ("sema_br", "= b32, {m0}"),
            ("sema_p", "= {m0}"),
            ("sema_v", "= {m0}"),
            ("sema_release_all", "= {m0}"),
        )
    ),
    # nothing on the VALU and the LDS
    control("v_nop", "", "nop", "ignores_exec", pipe=Pipe.VALU, latency="valu"),
    control("v_clrexcp", "", "nop", "ignores_exec", pipe=Pipe.VALU, latency="valu"),
    control("ds_nop", "", "nop", pipe=Pipe.LDS, latency="lds", counters=_LGKM),
)
