"""What integer opcodes compute, in Python integers, byte strings and bit strings: written apart from the opcode table.

Each entry takes the bit patterns of a row's uses, in slot order, and gives those of its defs.
"""

from __future__ import annotations

from collections.abc import Callable

Reference = Callable[..., tuple[int, ...]]
REFERENCES: dict[str, Reference] = {}

M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


def ref(*names: str) -> Callable[[Reference], Reference]:
    def register(function: Reference) -> Reference:
        for name in names:
            assert name not in REFERENCES, name
            REFERENCES[name] = function
        return function

    return register


def s(value: int, bits: int) -> int:
    """Two's complement reading."""
    return int.from_bytes(value.to_bytes(bits // 8, "little"), "little", signed=True)


def bits_of(value: int, width: int) -> str:
    """Bits, least significant first."""
    return format(value, f"0{width}b")[::-1]


def number(bits: str) -> int:
    """The number whose bits, least significant first, these are."""
    return int(bits[::-1], 2) if bits else 0


def halves(value: int) -> list[int]:
    raw = value.to_bytes(4, "little")
    return [int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:], "little")]


def clamp(value: int, low: int, high: int) -> int:
    return sorted((low, value, high))[1]


# scalar ------------------------------------------------------------------------------------------------------------

for _bits, _mask in ((32, M32), (64, M64)):
    ref(f"s_mov_b{_bits}")(lambda a: (a,))
    ref(f"s_cmov_b{_bits}")(lambda a, old, c: (a,) if c else (old,))
    ref(f"s_cselect_b{_bits}")(lambda a, b, c: (a if c else b,))
    ref(f"s_not_b{_bits}")(lambda a, m=_mask: (m - a, int(a != m)))
    for _name, _table in {
        "and": "0001", "or": "0111", "xor": "0110", "andn2": "0010", "orn2": "1011", "nand": "1110", "nor": "1000",
        "xnor": "1001", "andn1": "0100", "orn1": "1101",
    }.items():  # fmt: skip

        def _logic(a: int, b: int, table: str = _table, width: int = _bits) -> int:
            """By truth table, bit for bit; the table's index is 2 * a + b."""
            pairs = zip(bits_of(a, width), bits_of(b, width), strict=True)
            return number("".join(table[2 * int(x) + int(y)] for x, y in pairs))

        if not _name.endswith("n1"):
            ref(f"s_{_name}_b{_bits}")(lambda a, b, f=_logic: (f(a, b), int(f(a, b) > 0)))
        if _bits == 64:
            ref(f"s_{_name}_saveexec_b64")(lambda a, e, f=_logic: (e, f(a, e), int(f(a, e) > 0)))
            if _name.startswith("andn"):
                ref(f"s_{_name}_wrexec_b64")(lambda a, e, f=_logic: (f(a, e), f(a, e), int(f(a, e) > 0)))

    def _lshl(a: int, n: int, width: int = _bits) -> tuple[int, ...]:
        n %= width
        r = number(("0" * n + bits_of(a, width))[:width])
        return r, int(r != 0)

    def _lshr(a: int, n: int, width: int = _bits) -> tuple[int, ...]:
        r = number(bits_of(a, width)[n % width :])
        return r, int(r != 0)

    def _ashr(a: int, n: int, width: int = _bits) -> tuple[int, ...]:
        text = bits_of(a, width)
        r = number(text[n % width :] + text[-1] * (n % width))
        return r, int(r != 0)

    ref(f"s_lshl_b{_bits}")(_lshl)
    ref(f"s_lshr_b{_bits}")(_lshr)
    ref(f"s_ashr_i{_bits}")(_ashr)

    def _bfe(a: int, p: int, width: int = _bits, signed: bool = False) -> tuple[int, ...]:
        offset, count = p % width, (p >> 16) % 128
        text = bits_of(a, width) + (bits_of(a, width)[-1] if signed else "0") * 256
        field = text[offset : offset + count][:width]
        if signed and field:
            field += field[-1] * (width - len(field))
        r = number(field)
        return r, int(r != 0)

    ref(f"s_bfe_u{_bits}")(_bfe)
    ref(f"s_bfe_i{_bits}")(lambda a, p, f=_bfe, w=_bits: f(a, p, w, True))
    ref(f"s_bfm_b{_bits}")(lambda w, n, b=_bits: (number(("0" * (n % b) + "1" * (w % b) + "0" * b)[:b]),))
    ref(f"s_bitset0_b{_bits}")(
        lambda n, old, b=_bits: (number(bits_of(old, b)[: n % b] + "0" + bits_of(old, b)[n % b + 1 :]),)
    )
    ref(f"s_bitset1_b{_bits}")(
        lambda n, old, b=_bits: (number(bits_of(old, b)[: n % b] + "1" + bits_of(old, b)[n % b + 1 :]),)
    )
    ref(f"s_bitcmp0_b{_bits}")(lambda a, n, b=_bits: (int(bits_of(a, b)[n % b] == "0"),))
    ref(f"s_bitcmp1_b{_bits}")(lambda a, n, b=_bits: (int(bits_of(a, b)[n % b] == "1"),))
    ref(f"s_brev_b{_bits}")(lambda a, b=_bits: (int(bits_of(a, b), 2),))
    ref(f"s_ff1_i32_b{_bits}")(lambda a, b=_bits: (bits_of(a, b).find("1") & M32,))
    ref(f"s_ff0_i32_b{_bits}")(lambda a, b=_bits: (bits_of(a, b).find("0") & M32,))
    ref(f"s_flbit_i32_b{_bits}")(lambda a, b=_bits: (format(a, f"0{b}b").find("1") & M32,))
    ref("s_flbit_i32" + ("" if _bits == 32 else "_i64"))(
        lambda a, b=_bits: (format(a, f"0{b}b").find("10"[int(format(a, f"0{b}b")[0])]) & M32,)
    )
    ref(f"s_bcnt1_i32_b{_bits}")(lambda a, b=_bits: (bits_of(a, b).count("1"), int(a > 0)))
    ref(f"s_bcnt0_i32_b{_bits}")(lambda a, b=_bits, m=_mask: (bits_of(a, b).count("0"), int(a != m)))
    ref(f"s_wqm_b{_bits}")(
        lambda a, b=_bits: (
            number("".join("1111" if "1" in bits_of(a, b)[i : i + 4] else "0000" for i in range(0, b, 4))),
            int(a > 0),
        )
    )
    ref(f"s_quadmask_b{_bits}")(
        lambda a, b=_bits: (
            number("".join("1" if "1" in bits_of(a, b)[i : i + 4] else "0" for i in range(0, b, 4))),
            int(a > 0),
        )
    )

ref("s_bitreplicate_b64_b32")(lambda a: (number("".join(x + x for x in bits_of(a, 32))),))
ref("s_movk_i32")(lambda k: (s(k & M16, 16) & M32,))
ref("s_cmovk_i32")(lambda k, old, c: (s(k & M16, 16) & M32 if c else old,))
ref("s_add_u32")(lambda a, b: ((a + b) & M32, int(a + b > M32)))
ref("s_addc_u32")(lambda a, b, c: ((a + b + c) & M32, int(a + b + c > M32)))
ref("s_sub_u32")(lambda a, b: ((a - b) & M32, int(a < b)))
ref("s_subb_u32")(lambda a, b, c: ((a - b - c) & M32, int(a < b + c)))


def _signed_sum(a: int, b: int) -> tuple[int, ...]:
    total = s(a, 32) + s(b, 32)
    return total & M32, int(not -(2**31) <= total < 2**31)


def _signed_difference(a: int, b: int) -> tuple[int, ...]:
    total = s(a, 32) - s(b, 32)
    return total & M32, int(not -(2**31) <= total < 2**31)


ref("s_add_i32")(_signed_sum)
ref("s_sub_i32")(_signed_difference)
ref("s_addk_i32")(lambda k, old: _signed_sum(old, s(k & M16, 16) & M32))
ref("s_mul_i32")(lambda a, b: (a * b & M32,))
ref("s_mulk_i32")(lambda k, old: (old * s(k & M16, 16) & M32,))
ref("s_mul_hi_u32", "v_mul_hi_u32")(lambda a, b: (a * b >> 32,))
ref("s_mul_hi_i32", "v_mul_hi_i32")(lambda a, b: (s(a, 32) * s(b, 32) >> 32 & M32,))
ref("s_abs_i32")(lambda a: (abs(s(a, 32)) & M32, int(a != 0)))
ref("s_absdiff_i32")(lambda a, b: (abs(s((a - b) & M32, 32)) & M32, int(a != b)))
ref("s_min_u32")(lambda a, b: (min(a, b), int(a < b)))
ref("s_max_u32")(lambda a, b: (max(a, b), int(a >= b)))
ref("s_min_i32")(lambda a, b: (min(s(a, 32), s(b, 32)) & M32, int(s(a, 32) < s(b, 32))))
ref("s_max_i32")(lambda a, b: (max(s(a, 32), s(b, 32)) & M32, int(s(a, 32) >= s(b, 32))))
for _n in (1, 2, 3, 4):
    ref(f"s_lshl{_n}_add_u32")(lambda a, b, n=_n: ((a * 2**n + b) & M32, int(a * 2**n + b > M32)))
ref("s_sext_i32_i8")(lambda a: (s(a & 255, 8) & M32,))
ref("s_sext_i32_i16")(lambda a: (s(a & M16, 16) & M32,))
ref("s_pack_ll_b32_b16")(lambda a, b: (halves(b)[0] << 16 | halves(a)[0],))
ref("s_pack_lh_b32_b16")(lambda a, b: (halves(b)[1] << 16 | halves(a)[0],))
ref("s_pack_hh_b32_b16")(lambda a, b: (halves(b)[1] << 16 | halves(a)[1],))

_ORDER: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: not a - b,
    "gt": lambda a, b: b - a < 0,
    "ge": lambda a, b: b - a <= 0,
    "lt": lambda a, b: a - b < 0,
    "le": lambda a, b: a - b <= 0,
}
for _name, _test in _ORDER.items():
    ref(f"s_cmp_{_name}_u32")(lambda a, b, t=_test: (int(t(a, b)),))
    ref(f"s_cmp_{_name}_i32")(lambda a, b, t=_test: (int(t(s(a, 32), s(b, 32))),))
    ref(f"s_cmpk_{_name}_u32")(lambda a, k, t=_test: (int(t(a, k & M16)),))
    ref(f"s_cmpk_{_name}_i32")(lambda a, k, t=_test: (int(t(s(a, 32), s(k & M16, 16))),))
ref("s_cmp_lg_u32", "s_cmp_lg_i32", "s_cmp_lg_u64")(lambda a, b: (int(bool(a ^ b)),))
ref("s_cmp_eq_u64")(lambda a, b: (int(not a ^ b),))
ref("s_cmpk_lg_u32")(lambda a, k: (int(a != k & M16),))
ref("s_cmpk_lg_i32")(lambda a, k: (int(s(a, 32) != s(k & M16, 16)),))

# vector ------------------------------------------------------------------------------------------------------------

ref("v_mov_b32", "v_mov_b64", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32")(lambda a: (a,))
ref("v_swap_b32")(lambda a, b: (b, a))
ref("v_cndmask_b32")(lambda a, b, c: ((a, b)[c],))
ref("v_add_u32", "v_add_i32")(lambda a, b: ((a + b) & M32,))
ref("v_sub_u32", "v_sub_i32")(lambda a, b: ((a - b) & M32,))
ref("v_subrev_u32")(lambda a, b: ((b - a) & M32,))
ref("v_add_co_u32")(lambda a, b: ((a + b) & M32, (a + b) >> 32))
ref("v_addc_co_u32")(lambda a, b, c: ((a + b + c) & M32, (a + b + c) >> 32))
ref("v_sub_co_u32")(lambda a, b: ((a - b) & M32, int(b > a)))
ref("v_subrev_co_u32")(lambda a, b: ((b - a) & M32, int(a > b)))
ref("v_subb_co_u32")(lambda a, b, c: ((a - b - c) & M32, int(b + c > a)))
ref("v_subbrev_co_u32")(lambda a, b, c: ((b - a - c) & M32, int(a + c > b)))
ref("v_add3_u32")(lambda a, b, c: ((a + b + c) & M32,))
ref("v_lshl_add_u32")(lambda a, n, c: ((a * 2 ** (n % 32) + c) & M32,))
ref("v_add_lshl_u32")(lambda a, b, n: ((a + b) * 2 ** (n % 32) & M32,))
ref("v_lshl_add_u64")(lambda a, n, c: ((a * 2 ** (n % 8) + c) & M64,))
ref("v_xad_u32")(lambda a, b, c: (((a ^ b) + c) & M32,))
ref("v_mul_lo_u32")(lambda a, b: (a * b & M32,))
M24 = (1 << 24) - 1


def _i24(a: int) -> int:
    return (a & M24) - ((a & 1 << 23) << 1)


ref("v_mul_u32_u24")(lambda a, b: ((a & M24) * (b & M24) & M32,))
ref("v_mul_i32_i24")(lambda a, b: (_i24(a) * _i24(b) & M32,))
ref("v_mul_hi_u32_u24")(lambda a, b: ((a & M24) * (b & M24) >> 32,))
ref("v_mul_hi_i32_i24")(lambda a, b: (_i24(a) * _i24(b) >> 32 & M32,))
ref("v_mad_u32_u24")(lambda a, b, c: (((a & M24) * (b & M24) + c) & M32,))
ref("v_mad_i32_i24")(lambda a, b, c: ((_i24(a) * _i24(b) + c) & M32,))
ref("v_mad_u64_u32")(lambda a, b, c: ((a * b + c) & M64, (a * b + c) >> 64))
ref("v_mad_i64_i32")(
    lambda a, b, c: ((s(a, 32) * s(b, 32) + s(c, 64)) & M64, (s(a, 32) * s(b, 32) + s(c, 64)) >> 64 & 1)
)
for _name, _table in {"and": "0001", "or": "0111", "xor": "0110", "xnor": "1001"}.items():
    ref(f"v_{_name}_b32")(
        lambda a, b, t=_table: (
            number("".join(t[2 * int(x) + int(y)] for x, y in zip(bits_of(a, 32), bits_of(b, 32), strict=True))),
        )
    )
ref("v_not_b32")(lambda a: (M32 - a,))
ref("v_or3_b32")(lambda a, b, c: (a | b | c,))
ref("v_and_or_b32")(lambda a, b, c: (a & b | c,))
ref("v_lshl_or_b32")(lambda a, n, c: (a * 2 ** (n % 32) & M32 | c,))
ref("v_lshlrev_b32")(lambda n, a: (a * 2 ** (n % 32) & M32,))
ref("v_lshrrev_b32")(lambda n, a: (a // 2 ** (n % 32),))
ref("v_ashrrev_i32")(lambda n, a: (s(a, 32) // 2 ** (n % 32) & M32,))
ref("v_lshlrev_b64")(lambda n, a: (a * 2 ** (n % 64) & M64,))
ref("v_lshrrev_b64")(lambda n, a: (a // 2 ** (n % 64),))
ref("v_ashrrev_i64")(lambda n, a: (s(a, 64) // 2 ** (n % 64) & M64,))
ref("v_alignbit_b32")(lambda a, b, n: (number((bits_of(b, 32) + bits_of(a, 32))[n % 32 :][:32]),))
ref("v_alignbyte_b32")(
    lambda a, b, n: (int.from_bytes((b.to_bytes(4, "little") + a.to_bytes(4, "little"))[n % 4 :][:4], "little"),)
)


def _vector_field(a: int, offset: int, width: int, *, signed: bool) -> tuple[int, ...]:
    text = bits_of(a, 32)
    text += (text[-1] if signed else "0") * 32
    field = text[offset % 32 :][: width % 32]
    return (number((field + (field[-1] if signed and field else "0") * 32)[:32]),)


ref("v_bfe_u32")(lambda a, n, w: _vector_field(a, n, w, signed=False))
ref("v_bfe_i32")(lambda a, n, w: _vector_field(a, n, w, signed=True))
ref("v_bfi_b32")(
    lambda m, a, b: (
        number("".join(y if x == "1" else z for x, y, z in zip(*(bits_of(v, 32) for v in (m, a, b)), strict=True))),
    )
)
ref("v_bfm_b32")(lambda w, n: (number(("0" * (n % 32) + "1" * (w % 32) + "0" * 32)[:32]),))


@ref("v_perm_b32")
def _perm(a: int, b: int, selector: int) -> tuple[int, ...]:
    data = b.to_bytes(4, "little") + a.to_bytes(4, "little")
    out = bytearray()
    for choice in selector.to_bytes(4, "little"):
        if choice < 8:
            out.append(data[choice])
        elif choice < 12:
            out.append(0xFF if data[(1, 3, 5, 7)[choice - 8]] >= 0x80 else 0)
        else:
            out.append(0 if choice == 12 else 0xFF)
    return (int.from_bytes(out, "little"),)


ref("v_bfrev_b32")(lambda a: (int(bits_of(a, 32), 2),))
ref("v_ffbh_u32")(lambda a: (format(a, "032b").find("1") & M32,))
ref("v_ffbh_i32")(lambda a: (format(a, "032b").find("10"[a >> 31]) & M32,))
ref("v_ffbl_b32")(lambda a: (bits_of(a, 32).find("1") & M32,))
ref("v_bcnt_u32_b32")(lambda a, b: ((bits_of(a, 32).count("1") + b) & M32,))
for _name, _pick in {"min": 0, "med": 1, "max": -1}.items():
    for _t in ("u32", "i32", "u16", "i16"):
        _w = int(_t[1:])

        def _chosen(*values: int, pick: int = _pick, width: int = _w, signed: bool = _t[0] == "i") -> tuple[int, ...]:
            return (sorted(values, key=lambda v: s(v, width) if signed else v)[pick],)

        ref(f"v_{_name}3_{_t}")(_chosen)
        if _name != "med":
            ref(f"v_{_name}_{_t}")(_chosen)
            if _w == 16:
                ref(f"v_pk_{_name}_{_t}")(_chosen)
for _prefix, _copies in (("v_cmp", 1), ("v_cmpx", 2)):
    for _w in (16, 32, 64):
        for _name, _test in _ORDER.items():
            ref(f"{_prefix}_{_name}_u{_w}")(lambda a, b, t=_test, n=_copies: (int(t(a, b)),) * n)
            ref(f"{_prefix}_{_name}_i{_w}")(lambda a, b, t=_test, n=_copies, w=_w: (int(t(s(a, w), s(b, w))),) * n)
        for _t in "ui":
            ref(f"{_prefix}_ne_{_t}{_w}")(lambda a, b, n=_copies: (int(bool(a - b)),) * n)
            ref(f"{_prefix}_f_{_t}{_w}")(lambda a, b, n=_copies: (0,) * n)
            ref(f"{_prefix}_t_{_t}{_w}")(lambda a, b, n=_copies: (1,) * n)


def _sad(a: int, b: int, *, masked: bool = False) -> int:
    pairs = zip(a.to_bytes(4, "little"), b.to_bytes(4, "little"), strict=True)
    return sum(abs(x - y) for x, y in pairs if y or not masked)


ref("v_sad_u8")(lambda a, b, c: ((_sad(a, b) + c) & M32,))
ref("v_msad_u8")(lambda a, b, c: ((_sad(a, b, masked=True) + c) & M32,))
ref("v_sad_hi_u8")(lambda a, b, c: (((_sad(a, b) << 16) + c) & M32,))
ref("v_sad_u16")(lambda a, b, c: ((sum(abs(x - y) for x, y in zip(halves(a), halves(b), strict=True)) + c) & M32,))
ref("v_sad_u32")(lambda a, b, c: ((abs(a - b) + c) & M32,))
ref("v_lerp_u8")(
    lambda a, b, c: (
        int.from_bytes(
            bytes((x + y + z % 2) // 2 for x, y, z in zip(*(v.to_bytes(4, "little") for v in (a, b, c)), strict=True)),
            "little",
        ),
    )
)
ref("v_sat_pk_u8_i16")(lambda a: (int.from_bytes(bytes(clamp(s(x, 16), 0, 255) for x in halves(a)), "little"),))
ref("v_cvt_pk_i16_i32")(
    lambda a, b: (sum((clamp(s(v, 32), -32768, 32767) & M16) << 16 * i for i, v in enumerate((a, b))),)
)
ref("v_cvt_pk_u16_u32")(lambda a, b: (min(a, M16) + (min(b, M16) << 16),))


def _dot(a: int, b: int, c: int, width: int, *, signed: bool) -> tuple[int, ...]:
    total = c
    for i in range(0, 32, width):
        x, y = (v // 2**i % 2**width for v in (a, b))
        if signed:
            x, y = (v - 2**width if v >= 2 ** (width - 1) else v for v in (x, y))
        total += x * y
    return (total & M32,)


for _w in (4, 8, 16):
    for _t in "iu":
        ref(f"v_dot{32 // _w}_{_t}32_{_t}{_w}")(lambda a, b, c, w=_w, t=_t: _dot(a, b, c, w, signed=t == "i"))
    ref(f"v_dot{32 // _w}c_i32_i{_w}")(lambda a, b, c, w=_w: _dot(a, b, c, w, signed=True))

# 16 bits -----------------------------------------------------------------------------------------------------------

ref("v_add_u16", "v_add_i16", "v_pk_add_u16", "v_pk_add_i16")(lambda a, b: ((a + b) & M16,))
ref("v_sub_u16", "v_sub_i16", "v_pk_sub_u16", "v_pk_sub_i16")(lambda a, b: ((a - b) & M16,))
ref("v_subrev_u16")(lambda a, b: ((b - a) & M16,))
ref("v_mul_lo_u16", "v_pk_mul_lo_u16")(lambda a, b: (a * b & M16,))
ref("v_lshlrev_b16", "v_pk_lshlrev_b16")(lambda n, a: (a * 2 ** (n % 16) & M16,))
ref("v_lshrrev_b16", "v_pk_lshrrev_b16")(lambda n, a: (a // 2 ** (n % 16),))
ref("v_ashrrev_i16", "v_pk_ashrrev_i16")(lambda n, a: (s(a, 16) // 2 ** (n % 16) & M16,))
ref("v_mad_u16", "v_mad_i16", "v_mad_legacy_u16", "v_mad_legacy_i16", "v_pk_mad_u16", "v_pk_mad_i16")(
    lambda a, b, c: ((a * b + c) & M16,)
)
ref("v_mad_u32_u16")(lambda a, b, c: ((a * b + c) & M32,))
ref("v_mad_i32_i16")(lambda a, b, c: ((s(a, 16) * s(b, 16) + c) & M32,))
