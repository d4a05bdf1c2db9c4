"""exp2, log2, sine and cosine of turns on sixteen f32 lanes. Their errors are in `asmevo.sim.fidelity`."""

from __future__ import annotations

from math import factorial, log, pi

from asmevo.sim.ir import Module, Value
from asmevo.sim.lanes import LaneAlgebra

_LANES = 16
_VECTOR = f"<{_LANES} x float>"


def define(module: Module) -> None:
    """Add `sim_exp2`, `sim_log2`, `sim_sin_turns` and `sim_cos_turns`."""
    for name, body in (("exp2", _exp2), ("log2", _log2), ("sin_turns", _sin_turns), ("cos_turns", _cos_turns)):
        with module.function(f"sim_{name}", _VECTOR, {"x": _VECTOR}) as f:
            o = LaneAlgebra(f, _LANES)
            f.do(f"ret {body(o, Value('%x', 'f', 32, _LANES)).typed}")


def _horner(o: LaneAlgebra, x: Value, coefficients: list[float]) -> Value:
    """c[0] + x (c[1] + x (c[2] + ...))."""
    total = o.fconst(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = o.fma(total, x, o.fconst(c))
    return total


def _exp2(o: LaneAlgebra, x: Value) -> Value:
    """2**n times the Taylor polynomial of 2**f, |f| <= 1/2, in two factors so that results near both ends are right."""
    top, bottom = o.fconst(129.0), o.fconst(-151.0)
    x = o.select(o.fcmp("ogt", x, top), top, x)
    x = o.select(o.fcmp("olt", x, bottom), bottom, x)
    whole = o.frint(x)
    p = _horner(o, o.fsub(x, whole), [log(2.0) ** k / factorial(k) for k in range(8)])
    n = o.fptosi(whole)
    half = o.ashr(n, o.const(1))
    for part in (half, o.sub(n, half)):
        p = o.fmul(p, o.as_float(o.shl(o.add(part, o.const(127)), o.const(23))))
    return p


def _log2(o: LaneAlgebra, x: Value) -> Value:
    """e + log2(m) with m in [sqrt(1/2), sqrt(2)), by the series of artanh((m - 1) / (m + 1))."""
    tiny = o.fcmp("olt", x, o.fconst(2.0**-126))
    scaled = o.select(tiny, o.fmul(x, o.fconst(2.0**32)), x)
    bits = o.as_int(scaled)
    offset = o.sub(bits, o.const(0x3F3504F3))  # sqrt(1/2)
    exponent = o.ashr(offset, o.const(23))
    mantissa = o.as_float(o.sub(bits, o.shl(exponent, o.const(23))))
    one = o.fconst(1.0)
    s = o.fdiv(o.fsub(mantissa, one), o.fadd(mantissa, one))
    series = _horner(o, o.fmul(s, s), [2.0 / (log(2.0) * (2 * k + 1)) for k in range(6)])
    e = o.fsub(o.sitofp(exponent), o.select(tiny, o.fconst(32.0), o.fconst(0.0)))
    result = o.fma(s, series, e)
    infinity = o.as_float(o.const(0x7F800000))
    result = o.select(o.fcmp("oeq", x, infinity), x, result)
    result = o.select(o.fcmp("oeq", x, o.fconst(0.0)), o.fneg(infinity), result)
    invalid = o.fcmp("ult", x, o.fconst(0.0))  # negative or NaN
    return o.select(invalid, o.as_float(o.const(0x7FC00000)), result)


def _sin_turns(o: LaneAlgebra, x: Value) -> Value:
    return _sine(o, o.fsub(x, o.frint(x)))


def _cos_turns(o: LaneAlgebra, x: Value) -> Value:
    turned = o.fabs(o.fsub(x, o.frint(x)))
    return _sine(o, o.fsub(o.fconst(0.25), turned))


def _sine(o: LaneAlgebra, r: Value) -> Value:
    """sin(2 pi r) for |r| <= 1/2: folded to |r| <= 1/4, then the Taylor polynomial."""
    size = o.fabs(r)
    folded = o.select(o.fcmp("ogt", size, o.fconst(0.25)), o.fsub(o.fconst(0.5), size), size)
    square = o.fmul(folded, folded)
    odd = _horner(o, square, [(-1) ** k * (2 * pi) ** (2 * k + 1) / factorial(2 * k + 1) for k in range(8)])
    sign = o.and_(o.as_int(r), o.const(0x80000000))
    return o.as_float(o.xor(o.as_int(o.fmul(folded, odd)), sign))
