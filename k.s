	.amdgcn_target "amdgpu9.42-amd-amdhsa-unknown-gfx942"
	.amdhsa_code_object_version 5
	.section	.text.unlikely.,"ax",@progbits
	.p2align	6                               ; -- Begin function __triton_assert_fail
	.type	__triton_assert_fail,@function
__triton_assert_fail:                   ; @__triton_assert_fail
.Lfunc_begin0:
	.file	1 "/tmp/w/dd" "t2.py"
	.loc	1 6 0                           ; t2.py:6:0
	.cfi_sections .debug_frame
	.cfi_startproc
; %bb.0:
	.cfi_escape 0x0f, 0x09, 0x90, 0x40, 0x94, 0x04, 0x36, 0x24, 0x36, 0xe9, 0x02 ; 
	.cfi_llvm_register_pair 16, 62, 32, 63, 32
	.cfi_undefined 2560
	.cfi_undefined 2561
	.cfi_undefined 2562
	.cfi_undefined 2563
	.cfi_undefined 2564
	.cfi_undefined 2565
	.cfi_undefined 2566
	.cfi_undefined 2567
	.cfi_undefined 2568
	.cfi_undefined 2569
	.cfi_undefined 2570
	.cfi_undefined 2571
	.cfi_undefined 2572
	.cfi_undefined 2573
	.cfi_undefined 2574
	.cfi_undefined 2575
	.cfi_undefined 2576
	.cfi_undefined 2577
	.cfi_undefined 2578
	.cfi_undefined 2579
	.cfi_undefined 2580
	.cfi_undefined 2581
	.cfi_undefined 2582
	.cfi_undefined 2583
	.cfi_undefined 2584
	.cfi_undefined 2585
	.cfi_undefined 2586
	.cfi_undefined 2587
	.cfi_undefined 2588
	.cfi_undefined 2589
	.cfi_undefined 2590
	.cfi_undefined 2591
	.cfi_undefined 2592
	.cfi_undefined 2593
	.cfi_undefined 2594
	.cfi_undefined 2595
	.cfi_undefined 32
	.cfi_undefined 33
	.cfi_undefined 34
	.cfi_undefined 35
	.cfi_undefined 36
	.cfi_undefined 37
	.cfi_undefined 38
	.cfi_undefined 39
	.cfi_undefined 40
	.cfi_undefined 41
	.cfi_undefined 42
	.cfi_undefined 43
	.cfi_undefined 44
	.cfi_undefined 45
	.cfi_undefined 46
	.cfi_undefined 47
	.cfi_undefined 48
	.cfi_undefined 49
	.cfi_undefined 50
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
.Ltmp0:
	.loc	1 6 9 prologue_end              ; t2.py:6:9
	s_load_dwordx2 s[4:5], s[8:9], 0x50
	v_mbcnt_lo_u32_b32 v4, -1, 0
	v_mbcnt_hi_u32_b32 v30, -1, v4
	v_mov_b64_e32 v[8:9], 0
	v_readfirstlane_b32 s0, v30
	s_nop 1
	v_cmp_eq_u32_e64 s[0:1], s0, v30
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB0_6
; %bb.1:
	v_mov_b32_e32 v10, 0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx2 v[6:7], v10, s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	global_load_dwordx2 v[4:5], v10, s[4:5] offset:40
	global_load_dwordx2 v[8:9], v10, s[4:5]
	s_waitcnt vmcnt(1)
	v_and_b32_e32 v4, v4, v6
	v_and_b32_e32 v5, v5, v7
	v_mul_lo_u32 v5, v5, 24
	v_mul_hi_u32 v11, v4, 24
	v_add_u32_e32 v5, v11, v5
	v_mul_lo_u32 v4, v4, 24
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[4:5], v[8:9], 0, v[4:5]
	global_load_dwordx2 v[4:5], v[4:5], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[8:9], v10, v[4:7], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_ne_u64_e32 vcc, v[8:9], v[6:7]
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB0_5
; %bb.2:                                ; %.preheader3.i.i.i.preheader
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_mov_b64 s[8:9], 0
	v_mov_b64_e32 v[6:7], v[8:9]
.LBB0_3:                                ; %.preheader3.i.i.i
                                        ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_load_dwordx2 v[4:5], v10, s[4:5] offset:40
	global_load_dwordx2 v[8:9], v10, s[4:5]
	s_waitcnt vmcnt(1)
	v_and_b32_e32 v4, v4, v6
	v_and_b32_e32 v11, v5, v7
	s_waitcnt vmcnt(0)
	v_mad_u64_u32 v[4:5], s[10:11], v4, 24, v[8:9]
	v_mov_b32_e32 v8, v5
	v_mad_u64_u32 v[8:9], s[10:11], v11, 24, v[8:9]
	v_mov_b32_e32 v5, v8
	global_load_dwordx2 v[4:5], v[4:5], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[8:9], v10, v[4:7], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_eq_u64_e32 vcc, v[8:9], v[6:7]
	s_or_b64 s[8:9], vcc, s[8:9]
	v_mov_b64_e32 v[6:7], v[8:9]
	s_andn2_b64 exec, exec, s[8:9]
	s_cbranch_execnz .LBB0_3
; %bb.4:                                ; %Flow154
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[8:9]
.LBB0_5:                                ; %Flow156
	s_or_b64 exec, exec, s[6:7]
.LBB0_6:                                ; %.loopexit4.i.i.i
	s_or_b64 exec, exec, s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v25, 0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx2 v[10:11], v25, s[4:5] offset:40
	global_load_dwordx4 v[4:7], v25, s[4:5]
	v_readfirstlane_b32 s3, v9
	v_readfirstlane_b32 s2, v8
	s_mov_b64 s[6:7], exec
	s_waitcnt vmcnt(1)
	v_readfirstlane_b32 s8, v10
	v_readfirstlane_b32 s9, v11
	s_and_b64 s[8:9], s[8:9], s[2:3]
	s_mul_i32 s10, s9, 24
	s_mul_hi_u32 s11, s8, 24
	s_add_i32 s11, s11, s10
	s_mul_i32 s10, s8, 24
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[8:9], v[4:5], 0, s[10:11]
	s_and_saveexec_b64 s[10:11], s[0:1]
	s_cbranch_execz .LBB0_8
; %bb.7:
	v_mov_b64_e32 v[10:11], s[6:7]
	v_mov_b32_e32 v12, 2
	v_mov_b32_e32 v13, 1
	global_store_dwordx4 v[8:9], v[10:13], off offset:8
.LBB0_8:
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[10:11]
	.loc	1 6 9                           ; t2.py:6:9
	s_lshl_b64 s[6:7], s[8:9], 12
	v_lshl_add_u64 v[10:11], v[6:7], 0, s[6:7]
	s_mov_b32 s8, 0
	v_lshlrev_b32_e32 v24, 6, v30
	v_mov_b32_e32 v12, 33
	v_mov_b32_e32 v14, 1
	v_mov_b32_e32 v13, v25
	v_mov_b32_e32 v15, v25
	v_readfirstlane_b32 s6, v10
	v_readfirstlane_b32 s7, v11
	s_mov_b32 s9, s8
	s_mov_b32 s10, s8
	s_mov_b32 s11, s8
	s_nop 1
	global_store_dwordx4 v24, v[12:15], s[6:7]
	s_nop 1
	v_mov_b64_e32 v[14:15], s[10:11]
	v_mov_b64_e32 v[12:13], s[8:9]
	global_store_dwordx4 v24, v[12:15], s[6:7] offset:16
	global_store_dwordx4 v24, v[12:15], s[6:7] offset:32
	global_store_dwordx4 v24, v[12:15], s[6:7] offset:48
	s_and_saveexec_b64 s[6:7], s[0:1]
	s_cbranch_execz .LBB0_16
; %bb.9:
	v_mov_b32_e32 v14, 0
	global_load_dwordx2 v[18:19], v14, s[4:5] offset:32 sc0 sc1
	global_load_dwordx2 v[6:7], v14, s[4:5] offset:40
	v_mov_b32_e32 v16, s2
	v_mov_b32_e32 v17, s3
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v6, s2, v6
	v_and_b32_e32 v7, s3, v7
	v_mul_lo_u32 v7, v7, 24
	v_mul_hi_u32 v12, v6, 24
	v_mul_lo_u32 v6, v6, 24
	v_add_u32_e32 v7, v12, v7
	v_lshl_add_u64 v[12:13], v[4:5], 0, v[6:7]
	global_store_dwordx2 v[12:13], v[18:19], off
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v14, v[16:19], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[6:7], v[18:19]
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .LBB0_12
; %bb.10:                               ; %.preheader1.i.i.i.preheader
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[10:11], 0
.LBB0_11:                               ; %.preheader1.i.i.i
                                        ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_store_dwordx2 v[12:13], v[6:7], off
	v_mov_b32_e32 v4, s2
	v_mov_b32_e32 v5, s3
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[4:5], v14, v[4:7], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[4:5], v[6:7]
	s_or_b64 s[10:11], vcc, s[10:11]
	v_mov_b64_e32 v[6:7], v[4:5]
	s_andn2_b64 exec, exec, s[10:11]
	s_cbranch_execnz .LBB0_11
.LBB0_12:                               ; %Flow152
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[8:9]
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b32_e32 v7, 0
	global_load_dwordx2 v[4:5], v7, s[4:5] offset:16
	s_mov_b64 s[8:9], exec
	v_mbcnt_lo_u32_b32 v6, s8, 0
	v_mbcnt_hi_u32_b32 v6, s9, v6
	v_cmp_eq_u32_e32 vcc, 0, v6
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_14
; %bb.13:
	s_bcnt1_i32_b64 s8, s[8:9]
	v_mov_b32_e32 v6, s8
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_add_x2 v[4:5], v[6:7], off offset:8 sc1
.LBB0_14:
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[10:11]
	.loc	1 6 9                           ; t2.py:6:9
	s_waitcnt vmcnt(0)
	global_load_dwordx2 v[6:7], v[4:5], off offset:16
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, 0, v[6:7]
	s_cbranch_vccnz .LBB0_16
; %bb.15:
	global_load_dword v4, v[4:5], off offset:24
	v_mov_b32_e32 v5, 0
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s8, v4
	s_and_b32 m0, s8, 0xffffff
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v[6:7], v[4:5], off sc0 sc1
	s_sendmsg sendmsg(MSG_INTERRUPT)
.LBB0_16:                               ; %Flow153
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[6:7]
	v_lshl_add_u64 v[4:5], v[10:11], 0, v[24:25]
	s_branch .LBB0_20
.LBB0_17:                               ;   in Loop: Header=BB0_20 Depth=1
	s_or_b64 exec, exec, s[6:7]
	.loc	1 6 9                           ; t2.py:6:9
	v_readfirstlane_b32 s6, v6
	s_cmp_eq_u32 s6, 0
	s_cbranch_scc1 .LBB0_19
; %bb.18:                               ;   in Loop: Header=BB0_20 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[6:7], 0
	.loc	1 6 9                           ; t2.py:6:9
	s_sleep 1
	s_and_b64 s[6:7], s[6:7], exec
	s_cselect_b32 s6, 1, 0
	s_cmp_lg_u32 s6, 1
	s_cbranch_scc1 .LBB0_20
	s_branch .LBB0_22
.LBB0_19:                               ;   in Loop: Header=BB0_20 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[6:7], -1
	s_and_b64 s[6:7], s[6:7], exec
	s_cselect_b32 s6, 1, 0
	s_cmp_lg_u32 s6, 1
	s_cbranch_scc0 .LBB0_22
.LBB0_20:                               ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v6, 1
	s_and_saveexec_b64 s[6:7], s[0:1]
	s_cbranch_execz .LBB0_17
; %bb.21:                               ;   in Loop: Header=BB0_20 Depth=1
	global_load_dword v6, v[8:9], off offset:20 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_and_b32_e32 v6, 1, v6
	s_branch .LBB0_17
.LBB0_22:
	.loc	1 6 9                           ; t2.py:6:9
	global_load_dwordx2 v[4:5], v[4:5], off
	s_and_saveexec_b64 s[6:7], s[0:1]
	s_cbranch_execz .LBB0_25
; %bb.23:
	v_mov_b32_e32 v12, 0
	global_load_dwordx2 v[6:7], v12, s[4:5] offset:40
	global_load_dwordx2 v[16:17], v12, s[4:5] offset:24 sc0 sc1
	global_load_dwordx2 v[8:9], v12, s[4:5]
	s_waitcnt vmcnt(2)
	v_readfirstlane_b32 s8, v6
	v_readfirstlane_b32 s9, v7
	s_add_u32 s10, s8, 1
	s_addc_u32 s11, s9, 0
	s_add_u32 s0, s10, s2
	s_addc_u32 s1, s11, s3
	s_cmp_eq_u64 s[0:1], 0
	s_cselect_b32 s1, s11, s1
	s_cselect_b32 s0, s10, s0
	s_and_b64 s[2:3], s[0:1], s[8:9]
	s_mul_i32 s3, s3, 24
	s_mul_hi_u32 s8, s2, 24
	s_mul_i32 s2, s2, 24
	s_add_i32 s3, s8, s3
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[10:11], v[8:9], 0, s[2:3]
	v_mov_b32_e32 v14, s0
	global_store_dwordx2 v[10:11], v[16:17], off
	v_mov_b32_e32 v15, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[8:9], v12, v[14:17], s[4:5] offset:24 sc0 sc1
	s_mov_b64 s[2:3], 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[8:9], v[16:17]
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_25
.LBB0_24:                               ; %.preheader.i.i.i
                                        ; =>This Inner Loop Header: Depth=1
	s_sleep 1
	global_store_dwordx2 v[10:11], v[8:9], off
	v_mov_b32_e32 v6, s0
	v_mov_b32_e32 v7, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v12, v[6:9], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[6:7], v[8:9]
	s_or_b64 s[2:3], vcc, s[2:3]
	v_mov_b64_e32 v[8:9], v[6:7]
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB0_24
.LBB0_25:                               ; %__ockl_fprintf_stderr_begin.exit
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[6:7]
	.loc	1 6 9                           ; t2.py:6:9
	s_mov_b64 s[6:7], 0
	v_cmp_ne_u64_e32 vcc, 0, v[0:1]
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[8:9], exec, s[0:1]
	s_cbranch_execz .LBB0_109
; %bb.26:
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v4, -3, v4
	s_mov_b32 s11, 0
	v_mov_b32_e32 v25, 0
	s_movk_i32 s18, 0x1e0
	v_mov_b32_e32 v34, 2
	v_mov_b32_e32 v35, 1
	s_branch .LBB0_28
.LBB0_27:                               ; %__ockl_hostcall_preview.exit19.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[12:13]
	.loc	1 6 9                           ; t2.py:6:9
	v_sub_co_u32_e32 v2, vcc, v2, v26
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[26:27]
	s_nop 0
	v_subb_co_u32_e32 v3, vcc, v3, v27, vcc
	v_cmp_eq_u64_e32 vcc, 0, v[2:3]
	s_or_b64 s[6:7], vcc, s[6:7]
	s_andn2_b64 exec, exec, s[6:7]
	s_cbranch_execz .LBB0_108
.LBB0_28:                               ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB0_30 Depth 2
                                        ;     Child Loop BB0_37 Depth 2
                                        ;     Child Loop BB0_45 Depth 2
                                        ;     Child Loop BB0_53 Depth 2
                                        ;     Child Loop BB0_61 Depth 2
                                        ;     Child Loop BB0_69 Depth 2
                                        ;     Child Loop BB0_77 Depth 2
                                        ;     Child Loop BB0_85 Depth 2
                                        ;     Child Loop BB0_93 Depth 2
                                        ;     Child Loop BB0_102 Depth 2
                                        ;     Child Loop BB0_107 Depth 2
	v_cmp_gt_u64_e32 vcc, 56, v[2:3]
	v_cmp_gt_u64_e64 s[0:1], 8, v[2:3]
	s_nop 0
	v_cndmask_b32_e32 v26, 56, v2, vcc
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_32
; %bb.29:                               ; %.preheader30.i.epil.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[12:13], 0
	.loc	1 6 9                           ; t2.py:6:9
	s_waitcnt vmcnt(0)
	v_mov_b64_e32 v[6:7], 0
.LBB0_30:                               ; %.preheader30.i.epil
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[8:9], v[0:1], 0, s[10:11]
	flat_load_ubyte v8, v[8:9]
	v_mov_b32_e32 v9, s11
	s_lshl_b32 s14, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v26
	s_or_b64 s[12:13], s[0:1], s[12:13]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v8, 0xffff, v8
	v_lshlrev_b64 v[8:9], s14, v[8:9]
	v_or_b32_e32 v7, v9, v7
	v_or_b32_e32 v6, v8, v6
	s_andn2_b64 exec, exec, s[12:13]
	s_cbranch_execnz .LBB0_30
; %bb.31:                               ; %Flow121
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[12:13]
.LBB0_32:                               ; %Flow123
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v10, 0
	v_mov_b64_e32 v[20:21], v[0:1]
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_34
; %bb.33:                               ;   in Loop: Header=BB0_28 Depth=1
	s_waitcnt vmcnt(0)
	flat_load_dwordx2 v[6:7], v[0:1]
	v_add_u32_e32 v10, -8, v26
	v_lshl_add_u64 v[20:21], v[0:1], 0, 8
.LBB0_34:                               ; %.loopexit31.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v10
                                        ; implicit-def: $vgpr8_vgpr9
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_40
; %bb.35:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v10
	v_mov_b64_e32 v[8:9], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_39
; %bb.36:                               ; %.preheader28.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[8:9], 0
.LBB0_37:                               ; %.preheader28.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[12:13], v[20:21], 0, s[10:11]
	flat_load_ubyte v11, v[12:13]
	v_mov_b32_e32 v13, s11
	s_lshl_b32 s16, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v10
	s_or_b64 s[14:15], s[0:1], s[14:15]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v12, 0xffff, v11
	v_lshlrev_b64 v[12:13], s16, v[12:13]
	v_or_b32_e32 v9, v13, v9
	v_or_b32_e32 v8, v12, v8
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_37
; %bb.38:                               ; %Flow116
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_39:                               ; %Flow118
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr10
.LBB0_40:                               ; %Flow120
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v12, 0
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_42
; %bb.41:                               ;   in Loop: Header=BB0_28 Depth=1
	flat_load_dwordx2 v[8:9], v[20:21]
	v_add_u32_e32 v12, -8, v10
	v_lshl_add_u64 v[20:21], v[20:21], 0, 8
.LBB0_42:                               ; %.loopexit29.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v12
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_48
; %bb.43:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v12
	v_mov_b64_e32 v[10:11], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_47
; %bb.44:                               ; %.preheader26.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[10:11], 0
.LBB0_45:                               ; %.preheader26.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[14:15], v[20:21], 0, s[10:11]
	flat_load_ubyte v13, v[14:15]
	v_mov_b32_e32 v15, s11
	s_lshl_b32 s16, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v12
	s_or_b64 s[14:15], s[0:1], s[14:15]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v14, 0xffff, v13
	v_lshlrev_b64 v[14:15], s16, v[14:15]
	v_or_b32_e32 v11, v15, v11
	v_or_b32_e32 v10, v14, v10
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_45
; %bb.46:                               ; %Flow111
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_47:                               ; %Flow113
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr12
.LBB0_48:                               ; %Flow115
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v14, 0
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_50
; %bb.49:                               ;   in Loop: Header=BB0_28 Depth=1
	flat_load_dwordx2 v[10:11], v[20:21]
	v_add_u32_e32 v14, -8, v12
	v_lshl_add_u64 v[20:21], v[20:21], 0, 8
.LBB0_50:                               ; %.loopexit27.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v14
                                        ; implicit-def: $vgpr12_vgpr13
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_56
; %bb.51:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v14
	v_mov_b64_e32 v[12:13], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_55
; %bb.52:                               ; %.preheader24.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[12:13], 0
.LBB0_53:                               ; %.preheader24.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[16:17], v[20:21], 0, s[10:11]
	flat_load_ubyte v15, v[16:17]
	v_mov_b32_e32 v17, s11
	s_lshl_b32 s16, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v14
	s_or_b64 s[14:15], s[0:1], s[14:15]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v16, 0xffff, v15
	v_lshlrev_b64 v[16:17], s16, v[16:17]
	v_or_b32_e32 v13, v17, v13
	v_or_b32_e32 v12, v16, v12
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_53
; %bb.54:                               ; %Flow106
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_55:                               ; %Flow108
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr14
.LBB0_56:                               ; %Flow110
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v16, 0
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_58
; %bb.57:                               ;   in Loop: Header=BB0_28 Depth=1
	flat_load_dwordx2 v[12:13], v[20:21]
	v_add_u32_e32 v16, -8, v14
	v_lshl_add_u64 v[20:21], v[20:21], 0, 8
.LBB0_58:                               ; %.loopexit25.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v16
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_64
; %bb.59:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v16
	v_mov_b64_e32 v[14:15], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_63
; %bb.60:                               ; %.preheader22.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[14:15], 0
.LBB0_61:                               ; %.preheader22.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[18:19], v[20:21], 0, s[10:11]
	flat_load_ubyte v17, v[18:19]
	v_mov_b32_e32 v19, s11
	s_lshl_b32 s16, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v16
	s_or_b64 s[14:15], s[0:1], s[14:15]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v18, 0xffff, v17
	v_lshlrev_b64 v[18:19], s16, v[18:19]
	v_or_b32_e32 v15, v19, v15
	v_or_b32_e32 v14, v18, v14
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_61
; %bb.62:                               ; %Flow101
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_63:                               ; %Flow103
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr16
.LBB0_64:                               ; %Flow105
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v18, 0
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_66
; %bb.65:                               ;   in Loop: Header=BB0_28 Depth=1
	flat_load_dwordx2 v[14:15], v[20:21]
	v_add_u32_e32 v18, -8, v16
	v_lshl_add_u64 v[20:21], v[20:21], 0, 8
.LBB0_66:                               ; %.loopexit23.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v18
                                        ; implicit-def: $vgpr16_vgpr17
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_72
; %bb.67:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v18
	v_mov_b64_e32 v[16:17], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_71
; %bb.68:                               ; %.preheader20.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b32 s10, 0
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[16:17], 0
.LBB0_69:                               ; %.preheader20.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	v_lshl_add_u64 v[22:23], v[20:21], 0, s[10:11]
	flat_load_ubyte v19, v[22:23]
	v_mov_b32_e32 v23, s11
	s_lshl_b32 s16, s10, 3
	s_add_i32 s10, s10, 1
	v_cmp_eq_u32_e64 s[0:1], s10, v18
	s_or_b64 s[14:15], s[0:1], s[14:15]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v22, 0xffff, v19
	v_lshlrev_b64 v[22:23], s16, v[22:23]
	v_or_b32_e32 v17, v23, v17
	v_or_b32_e32 v16, v22, v16
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_69
; %bb.70:                               ; %Flow96
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_71:                               ; %Flow98
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr18
.LBB0_72:                               ; %Flow100
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_saveexec_b64 s[0:1], s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v22, 0
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execz .LBB0_74
; %bb.73:                               ;   in Loop: Header=BB0_28 Depth=1
	flat_load_dwordx2 v[16:17], v[20:21]
	v_add_u32_e32 v22, -8, v18
	v_lshl_add_u64 v[20:21], v[20:21], 0, 8
.LBB0_74:                               ; %.loopexit21.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_gt_u32_e64 s[0:1], 8, v22
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB0_80
; %bb.75:                               ;   in Loop: Header=BB0_28 Depth=1
	v_cmp_ne_u32_e64 s[0:1], 0, v22
	v_mov_b64_e32 v[18:19], 0
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_79
; %bb.76:                               ; %.preheader.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[14:15], 0
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b64_e32 v[18:19], 0
	s_mov_b64 s[16:17], 0
.LBB0_77:                               ; %.preheader.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	flat_load_ubyte v23, v[20:21]
	v_mov_b32_e32 v29, s11
	v_add_u32_e32 v22, -1, v22
	v_cmp_eq_u32_e64 s[0:1], 0, v22
	v_lshl_add_u64 v[20:21], v[20:21], 0, 1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_and_b32_e32 v28, 0xffff, v23
	v_lshlrev_b64 v[28:29], s16, v[28:29]
	s_add_u32 s16, s16, 8
	s_addc_u32 s17, s17, 0
	v_or_b32_e32 v19, v29, v19
	s_or_b64 s[14:15], s[0:1], s[14:15]
	v_or_b32_e32 v18, v28, v18
	s_andn2_b64 exec, exec, s[14:15]
	s_cbranch_execnz .LBB0_77
; %bb.78:                               ; %Flow91
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
.LBB0_79:                               ; %Flow93
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
                                        ; implicit-def: $vgpr20_vgpr21
.LBB0_80:                               ; %Flow95
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_andn2_saveexec_b64 s[0:1], s[2:3]
	s_cbranch_execz .LBB0_82
; %bb.81:                               ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	flat_load_dwordx2 v[18:19], v[20:21]
.LBB0_82:                               ; %.loopexit.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[0:1]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_readfirstlane_b32 s0, v30
	v_mov_b64_e32 v[28:29], 0
	s_nop 0
	v_cmp_eq_u32_e64 s[0:1], s0, v30
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_88
; %bb.83:                               ;   in Loop: Header=BB0_28 Depth=1
	global_load_dwordx2 v[22:23], v25, s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	global_load_dwordx2 v[20:21], v25, s[4:5] offset:40
	global_load_dwordx2 v[28:29], v25, s[4:5]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v20, v20, v22
	v_and_b32_e32 v21, v21, v23
	v_mul_lo_u32 v21, v21, 24
	v_mul_hi_u32 v27, v20, 24
	v_add_u32_e32 v21, v27, v21
	v_mul_lo_u32 v20, v20, 24
	v_lshl_add_u64 v[20:21], v[28:29], 0, v[20:21]
	global_load_dwordx2 v[20:21], v[20:21], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[28:29], v25, v[20:23], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_ne_u64_e64 s[2:3], v[28:29], v[22:23]
	s_and_saveexec_b64 s[14:15], s[2:3]
	s_cbranch_execz .LBB0_87
; %bb.84:                               ; %.preheader3.i.i18.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_mov_b64 s[16:17], 0
	v_mov_b64_e32 v[22:23], v[28:29]
.LBB0_85:                               ; %.preheader3.i.i18.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_load_dwordx2 v[20:21], v25, s[4:5] offset:40
	global_load_dwordx2 v[28:29], v25, s[4:5]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v20, v20, v22
	v_and_b32_e32 v27, v21, v23
	v_mad_u64_u32 v[20:21], s[2:3], v20, 24, v[28:29]
	v_mov_b32_e32 v28, v21
	v_mad_u64_u32 v[28:29], s[2:3], v27, 24, v[28:29]
	v_mov_b32_e32 v21, v28
	global_load_dwordx2 v[20:21], v[20:21], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[28:29], v25, v[20:23], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_eq_u64_e64 s[2:3], v[28:29], v[22:23]
	s_or_b64 s[16:17], s[2:3], s[16:17]
	v_mov_b64_e32 v[22:23], v[28:29]
	s_andn2_b64 exec, exec, s[16:17]
	s_cbranch_execnz .LBB0_85
; %bb.86:                               ; %Flow88
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[16:17]
.LBB0_87:                               ; %Flow90
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[14:15]
.LBB0_88:                               ; %.loopexit4.i.i13.i
                                        ;   in Loop: Header=BB0_28 Depth=1
	s_or_b64 exec, exec, s[12:13]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	global_load_dwordx2 v[32:33], v25, s[4:5] offset:40
	global_load_dwordx4 v[20:23], v25, s[4:5]
	v_readfirstlane_b32 s3, v29
	v_readfirstlane_b32 s2, v28
	s_mov_b64 s[12:13], exec
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s14, v32
	v_readfirstlane_b32 s15, v33
	s_and_b64 s[14:15], s[14:15], s[2:3]
	s_mul_i32 s10, s15, 24
	s_mul_hi_u32 s16, s14, 24
	s_add_i32 s17, s16, s10
	s_mul_i32 s16, s14, 24
	v_lshl_add_u64 v[28:29], v[20:21], 0, s[16:17]
	s_and_saveexec_b64 s[16:17], s[0:1]
	s_cbranch_execz .LBB0_90
; %bb.89:                               ;   in Loop: Header=BB0_28 Depth=1
	v_mov_b64_e32 v[32:33], s[12:13]
	global_store_dwordx4 v[28:29], v[32:35], off offset:8
.LBB0_90:                               ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[16:17]
	v_cndmask_b32_e32 v27, 0, v3, vcc
	.loc	1 6 9                           ; t2.py:6:9
	v_cmp_lt_u64_e32 vcc, 56, v[2:3]
	s_lshl_b64 s[12:13], s[14:15], 12
	v_and_b32_e32 v4, 0xffffff1f, v4
	v_cndmask_b32_e64 v31, 2, 0, vcc
	v_lshl_add_u64 v[22:23], v[22:23], 0, s[12:13]
	v_lshl_add_u32 v32, v26, 2, 28
	v_or_b32_e32 v4, v4, v31
	v_and_or_b32 v4, v32, s18, v4
	v_readfirstlane_b32 s12, v22
	v_readfirstlane_b32 s13, v23
	s_waitcnt lgkmcnt(0)
	s_nop 3
	global_store_dwordx4 v24, v[4:7], s[12:13]
	global_store_dwordx4 v24, v[8:11], s[12:13] offset:16
	global_store_dwordx4 v24, v[12:15], s[12:13] offset:32
	global_store_dwordx4 v24, v[16:19], s[12:13] offset:48
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_98
; %bb.91:                               ;   in Loop: Header=BB0_28 Depth=1
	global_load_dwordx2 v[12:13], v25, s[4:5] offset:32 sc0 sc1
	global_load_dwordx2 v[4:5], v25, s[4:5] offset:40
	v_mov_b32_e32 v10, s2
	v_mov_b32_e32 v11, s3
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s14, v4
	v_readfirstlane_b32 s15, v5
	s_and_b64 s[14:15], s[14:15], s[2:3]
	s_mul_i32 s10, s15, 24
	s_mul_hi_u32 s15, s14, 24
	s_mul_i32 s14, s14, 24
	s_add_i32 s15, s15, s10
	v_lshl_add_u64 v[8:9], v[20:21], 0, s[14:15]
	global_store_dwordx2 v[8:9], v[12:13], off
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v25, v[10:13], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[6:7], v[12:13]
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB0_94
; %bb.92:                               ; %.preheader1.i.i16.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[16:17], 0
.LBB0_93:                               ; %.preheader1.i.i16.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_store_dwordx2 v[8:9], v[6:7], off
	v_mov_b32_e32 v4, s2
	v_mov_b32_e32 v5, s3
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[4:5], v25, v[4:7], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[4:5], v[6:7]
	s_or_b64 s[16:17], vcc, s[16:17]
	v_mov_b64_e32 v[6:7], v[4:5]
	s_andn2_b64 exec, exec, s[16:17]
	s_cbranch_execnz .LBB0_93
.LBB0_94:                               ; %Flow86
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
	.loc	1 6 9                           ; t2.py:6:9
	global_load_dwordx2 v[4:5], v25, s[4:5] offset:16
	s_mov_b64 s[16:17], exec
	v_mbcnt_lo_u32_b32 v6, s16, 0
	v_mbcnt_hi_u32_b32 v6, s17, v6
	v_cmp_eq_u32_e32 vcc, 0, v6
	s_and_saveexec_b64 s[14:15], vcc
	s_cbranch_execz .LBB0_96
; %bb.95:                               ;   in Loop: Header=BB0_28 Depth=1
	s_bcnt1_i32_b64 s10, s[16:17]
	v_mov_b32_e32 v6, s10
	v_mov_b32_e32 v7, v25
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_add_x2 v[4:5], v[6:7], off offset:8 sc1
.LBB0_96:                               ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[14:15]
	.loc	1 6 9                           ; t2.py:6:9
	s_waitcnt vmcnt(0)
	global_load_dwordx2 v[6:7], v[4:5], off offset:16
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, 0, v[6:7]
	s_cbranch_vccnz .LBB0_98
; %bb.97:                               ;   in Loop: Header=BB0_28 Depth=1
	global_load_dword v4, v[4:5], off offset:24
	v_mov_b32_e32 v5, v25
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s10, v4
	s_and_b32 m0, s10, 0xffffff
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v[6:7], v[4:5], off sc0 sc1
	s_sendmsg sendmsg(MSG_INTERRUPT)
.LBB0_98:                               ; %Flow87
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[12:13]
	v_lshl_add_u64 v[4:5], v[22:23], 0, v[24:25]
	s_branch .LBB0_102
.LBB0_99:                               ;   in Loop: Header=BB0_102 Depth=2
	s_or_b64 exec, exec, s[12:13]
	.loc	1 6 9                           ; t2.py:6:9
	v_readfirstlane_b32 s10, v6
	s_cmp_eq_u32 s10, 0
	s_cbranch_scc1 .LBB0_101
; %bb.100:                              ;   in Loop: Header=BB0_102 Depth=2
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[12:13], 0
	.loc	1 6 9                           ; t2.py:6:9
	s_sleep 1
	s_and_b64 s[12:13], s[12:13], exec
	s_cselect_b32 s10, 1, 0
	s_cmp_lg_u32 s10, 1
	s_cbranch_scc1 .LBB0_102
	s_branch .LBB0_104
.LBB0_101:                              ;   in Loop: Header=BB0_102 Depth=2
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[12:13], -1
	s_and_b64 s[12:13], s[12:13], exec
	s_cselect_b32 s10, 1, 0
	s_cmp_lg_u32 s10, 1
	s_cbranch_scc0 .LBB0_104
.LBB0_102:                              ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v6, 1
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_99
; %bb.103:                              ;   in Loop: Header=BB0_102 Depth=2
	global_load_dword v6, v[28:29], off offset:20 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_and_b32_e32 v6, 1, v6
	s_branch .LBB0_99
.LBB0_104:                              ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 6 9                           ; t2.py:6:9
	global_load_dwordx4 v[4:7], v[4:5], off
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_27
; %bb.105:                              ;   in Loop: Header=BB0_28 Depth=1
	global_load_dwordx2 v[6:7], v25, s[4:5] offset:40
	global_load_dwordx2 v[14:15], v25, s[4:5] offset:24 sc0 sc1
	global_load_dwordx2 v[8:9], v25, s[4:5]
	s_waitcnt vmcnt(2)
	v_readfirstlane_b32 s14, v6
	v_readfirstlane_b32 s15, v7
	s_add_u32 s10, s14, 1
	s_addc_u32 s16, s15, 0
	s_add_u32 s0, s10, s2
	s_addc_u32 s1, s16, s3
	s_cmp_eq_u64 s[0:1], 0
	s_cselect_b32 s1, s16, s1
	s_cselect_b32 s0, s10, s0
	s_and_b64 s[2:3], s[0:1], s[14:15]
	s_mul_i32 s3, s3, 24
	s_mul_hi_u32 s10, s2, 24
	s_mul_i32 s2, s2, 24
	s_add_i32 s3, s10, s3
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[10:11], v[8:9], 0, s[2:3]
	v_mov_b32_e32 v12, s0
	global_store_dwordx2 v[10:11], v[14:15], off
	v_mov_b32_e32 v13, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[8:9], v25, v[12:15], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[8:9], v[14:15]
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_27
; %bb.106:                              ; %.preheader.i.i15.i.preheader
                                        ;   in Loop: Header=BB0_28 Depth=1
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_mov_b64 s[2:3], 0
.LBB0_107:                              ; %.preheader.i.i15.i
                                        ;   Parent Loop BB0_28 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_store_dwordx2 v[10:11], v[8:9], off
	v_mov_b32_e32 v6, s0
	v_mov_b32_e32 v7, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v25, v[6:9], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[6:7], v[8:9]
	s_or_b64 s[2:3], vcc, s[2:3]
	v_mov_b64_e32 v[8:9], v[6:7]
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execnz .LBB0_107
	s_branch .LBB0_27
.LBB0_108:                              ; %Flow124
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[6:7]
                                        ; implicit-def: $vgpr4_vgpr5
                                        ; implicit-def: $vgpr24
                                        ; implicit-def: $vgpr30
.LBB0_109:                              ; %Flow141
	s_andn2_saveexec_b64 s[2:3], s[8:9]
	s_cbranch_execz .LBB0_132
; %bb.110:
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_readfirstlane_b32 s0, v30
	s_waitcnt vmcnt(0)
	v_mov_b64_e32 v[6:7], 0
	v_cmp_eq_u32_e64 s[0:1], s0, v30
	s_and_saveexec_b64 s[6:7], s[0:1]
	s_cbranch_execz .LBB0_116
; %bb.111:
	v_mov_b32_e32 v8, 0
	global_load_dwordx2 v[2:3], v8, s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	global_load_dwordx2 v[0:1], v8, s[4:5] offset:40
	global_load_dwordx2 v[6:7], v8, s[4:5]
	s_waitcnt vmcnt(1)
	v_and_b32_e32 v0, v0, v2
	v_and_b32_e32 v1, v1, v3
	v_mul_lo_u32 v1, v1, 24
	v_mul_hi_u32 v9, v0, 24
	v_add_u32_e32 v1, v9, v1
	v_mul_lo_u32 v0, v0, 24
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[0:1], v[6:7], 0, v[0:1]
	global_load_dwordx2 v[0:1], v[0:1], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v8, v[0:3], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_ne_u64_e32 vcc, v[6:7], v[2:3]
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .LBB0_115
; %bb.112:                              ; %.preheader3.i.i.i6.preheader
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_mov_b64 s[10:11], 0
	v_mov_b64_e32 v[2:3], v[6:7]
.LBB0_113:                              ; %.preheader3.i.i.i6
                                        ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_load_dwordx2 v[0:1], v8, s[4:5] offset:40
	global_load_dwordx2 v[6:7], v8, s[4:5]
	s_waitcnt vmcnt(1)
	v_and_b32_e32 v0, v0, v2
	v_and_b32_e32 v9, v1, v3
	s_waitcnt vmcnt(0)
	v_mad_u64_u32 v[0:1], s[12:13], v0, 24, v[6:7]
	v_mov_b32_e32 v6, v1
	v_mad_u64_u32 v[6:7], s[12:13], v9, 24, v[6:7]
	v_mov_b32_e32 v1, v6
	global_load_dwordx2 v[0:1], v[0:1], off sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[6:7], v8, v[0:3], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_cmp_eq_u64_e32 vcc, v[6:7], v[2:3]
	s_or_b64 s[10:11], vcc, s[10:11]
	v_mov_b64_e32 v[2:3], v[6:7]
	s_andn2_b64 exec, exec, s[10:11]
	s_cbranch_execnz .LBB0_113
; %bb.114:                              ; %Flow137
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[10:11]
.LBB0_115:                              ; %Flow139
	s_or_b64 exec, exec, s[8:9]
.LBB0_116:                              ; %.loopexit4.i.i.i1
	s_or_b64 exec, exec, s[6:7]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v10, 0
	global_load_dwordx2 v[8:9], v10, s[4:5] offset:40
	global_load_dwordx4 v[0:3], v10, s[4:5]
	v_readfirstlane_b32 s7, v7
	v_readfirstlane_b32 s6, v6
	s_mov_b64 s[8:9], exec
	s_waitcnt vmcnt(1)
	v_readfirstlane_b32 s10, v8
	v_readfirstlane_b32 s11, v9
	s_and_b64 s[10:11], s[10:11], s[6:7]
	s_mul_i32 s12, s11, 24
	s_mul_hi_u32 s13, s10, 24
	s_add_i32 s13, s13, s12
	s_mul_i32 s12, s10, 24
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[8:9], v[0:1], 0, s[12:13]
	s_and_saveexec_b64 s[12:13], s[0:1]
	s_cbranch_execz .LBB0_118
; %bb.117:
	v_mov_b64_e32 v[10:11], s[8:9]
	v_mov_b32_e32 v12, 2
	v_mov_b32_e32 v13, 1
	global_store_dwordx4 v[8:9], v[10:13], off offset:8
.LBB0_118:
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[12:13]
	.loc	1 6 9                           ; t2.py:6:9
	s_lshl_b64 s[8:9], s[10:11], 12
	v_lshl_add_u64 v[2:3], v[2:3], 0, s[8:9]
	s_movk_i32 s8, 0xff1d
	v_and_or_b32 v4, v4, s8, 34
	s_mov_b32 s8, 0
	v_mov_b32_e32 v6, s8
	v_mov_b32_e32 v7, s8
	v_readfirstlane_b32 s12, v2
	v_readfirstlane_b32 s13, v3
	s_mov_b32 s9, s8
	s_mov_b32 s10, s8
	s_mov_b32 s11, s8
	v_mov_b64_e32 v[2:3], s[8:9]
	s_nop 0
	global_store_dwordx4 v24, v[4:7], s[12:13]
	s_nop 1
	v_mov_b64_e32 v[4:5], s[10:11]
	global_store_dwordx4 v24, v[2:5], s[12:13] offset:16
	global_store_dwordx4 v24, v[2:5], s[12:13] offset:32
	global_store_dwordx4 v24, v[2:5], s[12:13] offset:48
	s_and_saveexec_b64 s[8:9], s[0:1]
	s_cbranch_execz .LBB0_126
; %bb.119:
	v_mov_b32_e32 v6, 0
	global_load_dwordx2 v[12:13], v6, s[4:5] offset:32 sc0 sc1
	global_load_dwordx2 v[2:3], v6, s[4:5] offset:40
	v_mov_b32_e32 v10, s6
	v_mov_b32_e32 v11, s7
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s10, v2
	v_readfirstlane_b32 s11, v3
	s_and_b64 s[10:11], s[10:11], s[6:7]
	s_mul_i32 s11, s11, 24
	s_mul_hi_u32 s12, s10, 24
	s_mul_i32 s10, s10, 24
	s_add_i32 s11, s12, s11
	v_lshl_add_u64 v[4:5], v[0:1], 0, s[10:11]
	global_store_dwordx2 v[4:5], v[12:13], off
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[2:3], v6, v[10:13], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[2:3], v[12:13]
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .LBB0_122
; %bb.120:                              ; %.preheader1.i.i.i4.preheader
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[12:13], 0
.LBB0_121:                              ; %.preheader1.i.i.i4
                                        ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_sleep 1
	global_store_dwordx2 v[4:5], v[2:3], off
	v_mov_b32_e32 v0, s6
	v_mov_b32_e32 v1, s7
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[0:1], v6, v[0:3], s[4:5] offset:32 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[0:1], v[2:3]
	s_or_b64 s[12:13], vcc, s[12:13]
	v_mov_b64_e32 v[2:3], v[0:1]
	s_andn2_b64 exec, exec, s[12:13]
	s_cbranch_execnz .LBB0_121
.LBB0_122:                              ; %Flow135
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[10:11]
	.loc	1 6 9                           ; t2.py:6:9
	v_mov_b32_e32 v3, 0
	global_load_dwordx2 v[0:1], v3, s[4:5] offset:16
	s_mov_b64 s[10:11], exec
	v_mbcnt_lo_u32_b32 v2, s10, 0
	v_mbcnt_hi_u32_b32 v2, s11, v2
	v_cmp_eq_u32_e32 vcc, 0, v2
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB0_124
; %bb.123:
	s_bcnt1_i32_b64 s10, s[10:11]
	v_mov_b32_e32 v2, s10
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_add_x2 v[0:1], v[2:3], off offset:8 sc1
.LBB0_124:
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[12:13]
	.loc	1 6 9                           ; t2.py:6:9
	s_waitcnt vmcnt(0)
	global_load_dwordx2 v[2:3], v[0:1], off offset:16
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, 0, v[2:3]
	s_cbranch_vccnz .LBB0_126
; %bb.125:
	global_load_dword v0, v[0:1], off offset:24
	v_mov_b32_e32 v1, 0
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s10, v0
	s_and_b32 m0, s10, 0xffffff
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v[2:3], v[0:1], off sc0 sc1
	s_sendmsg sendmsg(MSG_INTERRUPT)
.LBB0_126:                              ; %Flow136
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[8:9]
	s_branch .LBB0_130
.LBB0_127:                              ;   in Loop: Header=BB0_130 Depth=1
	s_or_b64 exec, exec, s[8:9]
	.loc	1 6 9                           ; t2.py:6:9
	v_readfirstlane_b32 s8, v0
	s_cmp_eq_u32 s8, 0
	s_cbranch_scc1 .LBB0_129
; %bb.128:                              ;   in Loop: Header=BB0_130 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[8:9], 0
	.loc	1 6 9                           ; t2.py:6:9
	s_sleep 1
	s_and_b64 s[8:9], s[8:9], exec
	s_cselect_b32 s8, 1, 0
	s_cmp_lg_u32 s8, 1
	s_cbranch_scc1 .LBB0_130
	s_branch .LBB0_133
.LBB0_129:                              ;   in Loop: Header=BB0_130 Depth=1
	.loc	1 0 9                           ; t2.py:0:9
	s_mov_b64 s[8:9], -1
	s_and_b64 s[8:9], s[8:9], exec
	s_cselect_b32 s8, 1, 0
	s_cmp_lg_u32 s8, 1
	s_cbranch_scc0 .LBB0_133
.LBB0_130:                              ; =>This Inner Loop Header: Depth=1
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	v_mov_b32_e32 v0, 1
	s_and_saveexec_b64 s[8:9], s[0:1]
	s_cbranch_execz .LBB0_127
; %bb.131:                              ;   in Loop: Header=BB0_130 Depth=1
	global_load_dword v0, v[8:9], off offset:20 sc0 sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc0 sc1
	v_and_b32_e32 v0, 1, v0
	s_branch .LBB0_127
.LBB0_132:                              ; %Flow142
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[2:3]
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_setpc_b64 s[30:31]
.LBB0_133:
	.loc	1 6 9                           ; t2.py:6:9
	s_and_saveexec_b64 s[8:9], s[0:1]
	s_cbranch_execz .LBB0_136
; %bb.134:
	v_mov_b32_e32 v6, 0
	global_load_dwordx2 v[0:1], v6, s[4:5] offset:40
	global_load_dwordx2 v[10:11], v6, s[4:5] offset:24 sc0 sc1
	global_load_dwordx2 v[2:3], v6, s[4:5]
	s_waitcnt vmcnt(2)
	v_readfirstlane_b32 s10, v0
	v_readfirstlane_b32 s11, v1
	s_add_u32 s12, s10, 1
	s_addc_u32 s13, s11, 0
	s_add_u32 s0, s12, s6
	s_addc_u32 s1, s13, s7
	s_cmp_eq_u64 s[0:1], 0
	s_cselect_b32 s1, s13, s1
	s_cselect_b32 s0, s12, s0
	s_and_b64 s[6:7], s[0:1], s[10:11]
	s_mul_i32 s7, s7, 24
	s_mul_hi_u32 s10, s6, 24
	s_mul_i32 s6, s6, 24
	s_add_i32 s7, s10, s7
	s_waitcnt vmcnt(0)
	v_lshl_add_u64 v[4:5], v[2:3], 0, s[6:7]
	v_mov_b32_e32 v8, s0
	global_store_dwordx2 v[4:5], v[10:11], off
	v_mov_b32_e32 v9, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[2:3], v6, v[8:11], s[4:5] offset:24 sc0 sc1
	s_mov_b64 s[6:7], 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u64_e32 vcc, v[2:3], v[10:11]
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .LBB0_136
.LBB0_135:                              ; %.preheader.i.i.i3
                                        ; =>This Inner Loop Header: Depth=1
	s_sleep 1
	global_store_dwordx2 v[4:5], v[2:3], off
	v_mov_b32_e32 v0, s0
	v_mov_b32_e32 v1, s1
	buffer_wbl2 sc0 sc1
	s_waitcnt vmcnt(0)
	global_atomic_cmpswap_x2 v[0:1], v6, v[0:3], s[4:5] offset:24 sc0 sc1
	s_waitcnt vmcnt(0)
	v_cmp_eq_u64_e32 vcc, v[0:1], v[2:3]
	s_or_b64 s[6:7], vcc, s[6:7]
	v_mov_b64_e32 v[2:3], v[0:1]
	s_andn2_b64 exec, exec, s[6:7]
	s_cbranch_execnz .LBB0_135
.LBB0_136:                              ; %Flow128
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	s_or_b64 exec, exec, s[8:9]
	s_or_b64 exec, exec, s[2:3]
	.loc	1 6 9                           ; t2.py:6:9
	s_waitcnt lgkmcnt(0)
	s_setpc_b64 s[30:31]
.Ltmp1:
.Lfunc_end0:
	.size	__triton_assert_fail, .Lfunc_end0-__triton_assert_fail
	.cfi_endproc
                                        ; -- End function
	.set .L__triton_assert_fail.num_vgpr, 36
	.set .L__triton_assert_fail.num_agpr, 0
	.set .L__triton_assert_fail.numbered_sgpr, 32
	.set .L__triton_assert_fail.num_named_barrier, 0
	.set .L__triton_assert_fail.private_seg_size, 0
	.set .L__triton_assert_fail.uses_vcc, 1
	.set .L__triton_assert_fail.uses_flat_scratch, 0
	.set .L__triton_assert_fail.has_dyn_sized_stack, 0
	.set .L__triton_assert_fail.has_recursion, 0
	.set .L__triton_assert_fail.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 4980
; TotalNumSgprs: 38
; NumVgprs: 36
; NumAgprs: 0
; TotalNumVgprs: 36
; ScratchSize: 0
; MemoryBound: 0
	.text
	.globl	k                               ; -- Begin function k
	.p2align	8
	.type	k,@function
k:                                      ; @k
.Lfunc_begin1:
	.cfi_startproc
; %bb.13:
	.loc	1 5 0 prologue_end is_stmt 1    ; t2.py:5:0
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_load_dwordx8 s[4:11], s[0:1], 0x8
	s_waitcnt lgkmcnt(0)
	s_branch .LBB1_0
	.loc	1 0 0 is_stmt 0                 ; :0:0
.Ltmp2:
	.p2align	8
; %bb.14:
.LBB1_0:
	.cfi_escape 0x0f, 0x04, 0x30, 0x36, 0xe9, 0x02 ; CFA is 0 in private_wave aspace
	.cfi_undefined 16
.Ltmp3:
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_cmp_lt_i32 s12, 0x2000000
	.loc	1 9 5                           ; t2.py:9:5
	v_readfirstlane_b32 s19, v0
	s_mov_b32 s32, 0
	.loc	1 6 9                           ; t2.py:6:9
	s_cbranch_scc0 .LBB1_9
.LBB1_1:
	s_lshl_b32 s7, s12, 6
	.loc	1 6 30 is_stmt 0                ; t2.py:6:30
	v_and_b32_e32 v0, 63, v0
	.loc	1 6 9                           ; t2.py:6:9
	s_ashr_i32 s8, s7, 31
	v_or_b32_e32 v36, s7, v0
	v_mov_b32_e32 v37, s8
	s_mov_b64 s[8:9], 0x7fffffff
	v_cmp_lt_i64_e32 vcc, s[8:9], v[36:37]
	s_and_saveexec_b64 s[20:21], vcc
	s_cbranch_execnz .LBB1_10
.LBB1_2:
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[20:21]
	.loc	1 7 30 is_stmt 1                ; t2.py:7:30
	v_cmp_gt_i32_e64 s[20:21], s6, v36
	.loc	1 7 9 is_stmt 0                 ; t2.py:7:9
	v_mov_b32_e32 v38, 0
	v_ashrrev_i32_e32 v37, 31, v36
	.loc	1 6 9 is_stmt 1                 ; t2.py:6:9
	s_barrier
	.loc	1 7 9                           ; t2.py:7:9
	s_and_saveexec_b64 s[6:7], s[20:21]
	s_cbranch_execz .LBB1_4
; %bb.3:
	.loc	1 0 9 is_stmt 0                 ; t2.py:0:9
	v_lshl_add_u64 v[0:1], v[36:37], 2, s[2:3]
	.loc	1 7 9                           ; t2.py:7:9
	global_load_dword v38, v[0:1], off
.LBB1_4:
	.loc	1 0 9                           ; t2.py:0:9
	s_or_b64 exec, exec, s[6:7]
	.loc	1 8 22 is_stmt 1                ; t2.py:8:22
	s_waitcnt vmcnt(0)
	v_cmp_lt_i32_e32 vcc, 4, v38
	.loc	1 8 5 is_stmt 0                 ; t2.py:8:5
	s_and_b64 s[2:3], s[20:21], vcc
	s_and_saveexec_b64 s[22:23], s[2:3]
	s_cbranch_execnz .LBB1_11
.LBB1_5:
	.loc	1 0 5                           ; t2.py:0:5
	s_or_b64 exec, exec, s[22:23]
	.loc	1 9 23 is_stmt 1                ; t2.py:9:23
	s_brev_b32 s2, -2
	v_cmp_eq_u32_e32 vcc, s2, v38
	.loc	1 8 5                           ; t2.py:8:5
	s_barrier
	.loc	1 9 23                          ; t2.py:9:23
	s_and_saveexec_b64 s[22:23], vcc
	s_cbranch_execnz .LBB1_12
.LBB1_6:
	.loc	1 0 23 is_stmt 0                ; t2.py:0:23
	s_or_b64 exec, exec, s[22:23]
	.loc	1 9 5                           ; t2.py:9:5
	s_and_b32 s0, s19, 0xc0
	s_cselect_b64 s[0:1], 0, -1
	s_and_b64 s[0:1], s[20:21], s[0:1]
	.loc	1 9 23                          ; t2.py:9:23
	s_barrier
	.loc	1 9 5                           ; t2.py:9:5
	s_and_saveexec_b64 s[2:3], s[0:1]
	s_cbranch_execz .LBB1_8
; %bb.7:
	.loc	1 9 14                          ; t2.py:9:14
	v_lshl_add_u64 v[0:1], v[36:37], 2, s[4:5]
	v_add_u32_e32 v2, 1, v38
	.loc	1 9 5                           ; t2.py:9:5
	global_store_dword v[0:1], v2, off
.LBB1_8:
	.loc	1 5 1 is_stmt 1                 ; t2.py:5:1
	s_endpgm
.LBB1_9:
	.loc	1 6 9                           ; t2.py:6:9
	s_add_u32 s8, s0, 40
	s_addc_u32 s9, s1, 0
	s_getpc_b64 s[10:11]
	s_add_u32 s10, s10, printfFormat_0@rel32@lo+4
	s_addc_u32 s11, s11, printfFormat_0@rel32@hi+12
	s_getpc_b64 s[14:15]
	s_add_u32 s14, s14, __triton_assert_fail@rel32@lo+4
	s_addc_u32 s15, s15, __triton_assert_fail@rel32@hi+12
	v_mov_b32_e32 v36, v0
	v_mov_b32_e32 v0, s10
	v_mov_b32_e32 v1, s11
	v_mov_b32_e32 v2, 0x66
	v_mov_b32_e32 v3, 0
	s_mov_b64 s[20:21], s[4:5]
	s_mov_b64 s[24:25], s[0:1]
	s_mov_b64 s[22:23], s[2:3]
	s_mov_b32 s27, s6
	s_mov_b32 s26, s12
	s_swappc_b64 s[30:31], s[14:15]
	v_mov_b32_e32 v0, v36
	s_mov_b32 s12, s26
	s_mov_b32 s6, s27
	s_mov_b64 s[2:3], s[22:23]
	s_mov_b64 s[0:1], s[24:25]
	s_mov_b64 s[4:5], s[20:21]
	s_barrier
	;;#ASMSTART
	s_trap 2
	;;#ASMEND
	s_branch .LBB1_1
.LBB1_10:
	s_add_u32 s8, s0, 40
	s_addc_u32 s9, s1, 0
	s_getpc_b64 s[10:11]
	s_add_u32 s10, s10, printfFormat_1@rel32@lo+4
	s_addc_u32 s11, s11, printfFormat_1@rel32@hi+12
	s_getpc_b64 s[12:13]
	s_add_u32 s12, s12, __triton_assert_fail@rel32@lo+4
	s_addc_u32 s13, s13, __triton_assert_fail@rel32@hi+12
	v_mov_b32_e32 v0, s10
	v_mov_b32_e32 v1, s11
	v_mov_b32_e32 v2, 0x66
	v_mov_b32_e32 v3, 0
	s_mov_b64 s[22:23], s[4:5]
	s_mov_b64 s[26:27], s[0:1]
	s_mov_b64 s[24:25], s[2:3]
	s_mov_b32 s28, s6
	s_swappc_b64 s[30:31], s[12:13]
	s_mov_b32 s6, s28
	s_mov_b64 s[2:3], s[24:25]
	s_mov_b64 s[0:1], s[26:27]
	s_mov_b64 s[4:5], s[22:23]
	s_barrier
	;;#ASMSTART
	s_trap 2
	;;#ASMEND
	s_branch .LBB1_2
.LBB1_11:
	.loc	1 8 5                           ; t2.py:8:5
	s_add_u32 s8, s0, 40
	s_addc_u32 s9, s1, 0
	s_getpc_b64 s[2:3]
	s_add_u32 s2, s2, printfFormat_2@rel32@lo+4
	s_addc_u32 s3, s3, printfFormat_2@rel32@hi+12
	s_getpc_b64 s[6:7]
	s_add_u32 s6, s6, __triton_assert_fail@rel32@lo+4
	s_addc_u32 s7, s7, __triton_assert_fail@rel32@hi+12
	v_mov_b32_e32 v0, s2
	v_mov_b32_e32 v1, s3
	v_mov_b32_e32 v2, 0x46
	v_mov_b32_e32 v3, 0
	s_mov_b64 s[24:25], s[4:5]
	s_mov_b64 s[26:27], s[0:1]
	s_swappc_b64 s[30:31], s[6:7]
	s_mov_b64 s[0:1], s[26:27]
	s_mov_b64 s[4:5], s[24:25]
	s_barrier
	;;#ASMSTART
	s_trap 2
	;;#ASMEND
	s_branch .LBB1_5
.LBB1_12:
	.loc	1 9 23                          ; t2.py:9:23
	s_add_u32 s8, s0, 40
	s_addc_u32 s9, s1, 0
	s_getpc_b64 s[0:1]
	s_add_u32 s0, s0, printfFormat_3@rel32@lo+4
	s_addc_u32 s1, s1, printfFormat_3@rel32@hi+12
	s_getpc_b64 s[2:3]
	s_add_u32 s2, s2, __triton_assert_fail@rel32@lo+4
	s_addc_u32 s3, s3, __triton_assert_fail@rel32@hi+12
	v_mov_b32_e32 v0, s0
	v_mov_b32_e32 v1, s1
	v_mov_b32_e32 v2, 0x66
	v_mov_b32_e32 v3, 0
	s_mov_b64 s[24:25], s[4:5]
	s_swappc_b64 s[30:31], s[2:3]
	s_mov_b64 s[4:5], s[24:25]
	s_barrier
	;;#ASMSTART
	s_trap 2
	;;#ASMEND
	s_branch .LBB1_6
.Ltmp4:
.Lfunc_end1:
	.size	k, .Lfunc_end1-k
	.cfi_endproc
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 296
		.amdhsa_user_sgpr_count 12
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 10
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 39
		.amdhsa_next_free_sgpr 33
		.amdhsa_accum_offset 40
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
                                        ; -- End function
	.set .Lk.num_vgpr, max(39, .L__triton_assert_fail.num_vgpr)
	.set .Lk.num_agpr, max(0, .L__triton_assert_fail.num_agpr)
	.set .Lk.numbered_sgpr, max(33, .L__triton_assert_fail.numbered_sgpr)
	.set .Lk.num_named_barrier, max(0, .L__triton_assert_fail.num_named_barrier)
	.set .Lk.private_seg_size, 0+max(.L__triton_assert_fail.private_seg_size)
	.set .Lk.uses_vcc, or(1, .L__triton_assert_fail.uses_vcc)
	.set .Lk.uses_flat_scratch, or(0, .L__triton_assert_fail.uses_flat_scratch)
	.set .Lk.has_dyn_sized_stack, or(0, .L__triton_assert_fail.has_dyn_sized_stack)
	.set .Lk.has_recursion, or(0, .L__triton_assert_fail.has_recursion)
	.set .Lk.has_indirect_call, or(0, .L__triton_assert_fail.has_indirect_call)
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 924
; TotalNumSgprs: 39
; NumVgprs: 39
; NumAgprs: 0
; TotalNumVgprs: 39
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 4
; VGPRBlocks: 4
; NumSGPRsForWavesPerEU: 39
; NumVGPRsForWavesPerEU: 39
; AccumOffset: 40
; Occupancy: 8
; WaveLimiterHint : 1
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 12
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 9
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 36
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 32
	.set amdgpu.max_num_named_barrier, 0
	.text
	.type	printfFormat_3,@object          ; @printfFormat_3
	.section	.rodata,"a",@progbits
	.p2align	4, 0x0
printfFormat_3:
	.ascii	"device assertion failed: 'int32 overflow detected for operation add', in unknown at /tmp/w/dd/t2.py:9\n"
	.size	printfFormat_3, 102

	.type	printfFormat_2,@object          ; @printfFormat_2
	.p2align	4, 0x0
printfFormat_2:
	.ascii	"device assertion failed: 'too large', in unknown at /tmp/w/dd/t2.py:8\n"
	.size	printfFormat_2, 70

	.type	printfFormat_1,@object          ; @printfFormat_1
	.p2align	4, 0x0
printfFormat_1:
	.ascii	"device assertion failed: 'int32 overflow detected for operation add', in unknown at /tmp/w/dd/t2.py:6\n"
	.size	printfFormat_1, 102

	.type	printfFormat_0,@object          ; @printfFormat_0
	.p2align	4, 0x0
printfFormat_0:
	.ascii	"device assertion failed: 'int32 overflow detected for operation mul', in unknown at /tmp/w/dd/t2.py:6\n"
	.size	printfFormat_0, 102

	.section	.debug_abbrev,"",@progbits
	.byte	1                               ; Abbreviation Code
	.byte	17                              ; DW_TAG_compile_unit
	.byte	0                               ; DW_CHILDREN_no
	.byte	37                              ; DW_AT_producer
	.byte	14                              ; DW_FORM_strp
	.byte	19                              ; DW_AT_language
	.byte	5                               ; DW_FORM_data2
	.byte	3                               ; DW_AT_name
	.byte	14                              ; DW_FORM_strp
	.byte	16                              ; DW_AT_stmt_list
	.byte	23                              ; DW_FORM_sec_offset
	.byte	27                              ; DW_AT_comp_dir
	.byte	14                              ; DW_FORM_strp
	.ascii	"\341\177"                      ; DW_AT_APPLE_optimized
	.byte	25                              ; DW_FORM_flag_present
	.byte	17                              ; DW_AT_low_pc
	.byte	1                               ; DW_FORM_addr
	.byte	18                              ; DW_AT_high_pc
	.byte	6                               ; DW_FORM_data4
	.byte	0                               ; EOM(1)
	.byte	0                               ; EOM(2)
	.byte	0                               ; EOM(3)
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0 ; Length of Unit
.Ldebug_info_start0:
	.short	4                               ; DWARF version number
	.long	.debug_abbrev                   ; Offset Into Abbrev. Section
	.byte	8                               ; Address Size (in bytes)
	.byte	1                               ; Abbrev [1] 0xb:0x1f DW_TAG_compile_unit
	.long	.Linfo_string0                  ; DW_AT_producer
	.short	2                               ; DW_AT_language
	.long	.Linfo_string1                  ; DW_AT_name
	.long	.Lline_table_start0             ; DW_AT_stmt_list
	.long	.Linfo_string2                  ; DW_AT_comp_dir
                                        ; DW_AT_APPLE_optimized
	.quad	.Lfunc_begin0                   ; DW_AT_low_pc
	.long	.Lfunc_end0-.Lfunc_begin0       ; DW_AT_high_pc
.Ldebug_info_end0:
.Lcu_begin1:
	.long	.Ldebug_info_end1-.Ldebug_info_start1 ; Length of Unit
.Ldebug_info_start1:
	.short	4                               ; DWARF version number
	.long	.debug_abbrev                   ; Offset Into Abbrev. Section
	.byte	8                               ; Address Size (in bytes)
	.byte	1                               ; Abbrev [1] 0xb:0x1f DW_TAG_compile_unit
	.long	.Linfo_string0                  ; DW_AT_producer
	.short	2                               ; DW_AT_language
	.long	.Linfo_string1                  ; DW_AT_name
	.long	.Lline_table_start0             ; DW_AT_stmt_list
	.long	.Linfo_string2                  ; DW_AT_comp_dir
                                        ; DW_AT_APPLE_optimized
	.quad	.Lfunc_begin1                   ; DW_AT_low_pc
	.long	.Lfunc_end1-.Lfunc_begin1       ; DW_AT_high_pc
.Ldebug_info_end1:
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"triton"                        ; string offset=0 ; triton
.Linfo_string1:
	.asciz	"t2.py"                         ; string offset=7 ; t2.py
.Linfo_string2:
	.asciz	"/tmp/w/dd"                     ; string offset=13 ; /tmp/w/dd
	.section	".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .value_kind:     by_value
      - .address_space:  global
        .offset:         24
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         32
        .size:           8
        .value_kind:     global_buffer
      - .offset:         40
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         44
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         48
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         52
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         54
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         56
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         58
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         60
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         62
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         80
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         88
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         96
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         104
        .size:           2
        .value_kind:     hidden_grid_dims
      - .offset:         120
        .size:           8
        .value_kind:     hidden_hostcall_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 296
    .max_flat_workgroup_size: 256
    .name:           k
    .private_segment_fixed_size: 0
    .sgpr_count:     39
    .sgpr_spill_count: 0
    .symbol:         k.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     39
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgpu9.42-amd-amdhsa-unknown-gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
	.section	.debug_line,"",@progbits
.Lline_table_start0:
