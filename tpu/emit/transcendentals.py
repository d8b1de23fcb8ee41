"""Elementary functions of float64 and float32 for XLA's CPU compiler, which calls the C library's for each element.

What stands here is arithmetic, so it is vectorised and fused with its neighbours. Errors stay below 2 units in the
last place over the whole range; zeros keep their signs. Subnormal arguments count in float64, but for cube roots, in
programs that take them for zero (`subnormals`), and everywhere in those that do not.
Arrays of every size have the logarithms to bases 2 and 10 and the cube root from here: XLA's own miss the integers that
NumPy gives for powers (log10(1000) is below 3, cbrt(27) above), which `int` and `np.floor` make whole errors of.

All polynomials are Chebyshev interpolants, near minimax, fitted for this file in 40 digits (mpmath.chebyfit) and
rounded to double; the intervals and errors are noted. Reductions: sine and cosine of float64 by multiples of pi in
three parts (Cody and Waite, Software Manual for the Elementary Functions, 1980), those of float32 by the fraction of
x / (2 pi) from seven exact products; logarithms by the exponent and atanh (log(1 + f) = 2 atanh(f / (2 + f))); arctan
by the angles 0, pi/4 and pi/2 (arctan x = pi/4 + arctan((x - 1) / (x + 1)) = pi/2 - arctan(1 / x)).

XLA fuses a division into its consumers only when one of them reads it, hence a multiplication behind each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...translator.ir import DType
from .writer import F32, F64, I32, I64, Value, Writer

U64 = np.dtype(np.uint64)
SINE_LIMIT = 1.5e6
"""Above this |x| the reduction of `sine` and `cosine` in float64 is no longer exact."""
SMALLEST = 8_192
"""Elements below which the library's functions are as good."""

_TWO_52 = float(1 << 52)
_TWO_52_BITS = 0x433 << 52

# (sin(r) / r - 1) / z for z = r * r, 0 <= r <= pi/2: error 3e-19 of 1; the shorter one 3e-11
_SINE = (
    -0.16666666666666666, 0.008333333333333316, -0.00019841269841254966, 2.7557319219160833e-06,
    -2.505210761669045e-08, 1.6058977292642743e-10, -7.643969663988074e-13, 2.7314368769379893e-15,
)  # fmt: skip
_SINE_SHORT = (
    -0.1666666666387985, 0.008333332768529359, -0.0001984108650700057, 2.753645944364609e-06, -2.408009508712208e-08,
)  # fmt: skip
# (2 atanh(s) / s - 2) / z for z = s * s, 0 <= s <= (sqrt(2) - 1) / (sqrt(2) + 1): error 3e-16
_LOG = (
    0.666666666666667, 0.3999999999989889, 0.28571428626253836, 0.22222211089379496, 0.1818289243253687,
    0.15331611722055008, 0.14617807153417325,
)  # fmt: skip
# (arctan(t) / t - 1) / z for z = t * t, 0 <= t <= tan(pi/8): errors 1e-18 and 1.6e-8
_ARCTAN = (
    -0.3333333333333333, 0.199999999999998, -0.14285714285659326, 0.11111111105106705, -0.09090908751076636,
    0.0769229630497447, -0.06666423628069258, 0.058789145444006215, -0.052303478730160745, 0.04551108126325172,
    -0.034558092551413795, 0.01627194475162406,
)  # fmt: skip
_ARCTAN_SHORT = (
    -0.3333333175381697, 0.1999953879477192, -0.14263897112598675, 0.1074309966767457, -0.06449835224591496,
)  # fmt: skip

# leading bits of a constant, so that products with small integers are exact, and what follows them
_PI = (3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21)
_LN_2 = (0.6931471803691238, 1.9082149292705877e-10)
_LOG10_2 = (0.3010299955494702, 1.1451100898021838e-10)
_LOG2_E = (1.4426950407214463, 1.6751713164886512e-10)
_LOG10_E = (0.4342944818781689, 2.5082946711645275e-11)
_TURNS = (  # 1 / (2 pi), 29 bits each
    0.15915494272485375, 3.6704158115630214e-10, 5.690025167992954e-19, 1.4703036846932608e-27,
    2.5867171752090537e-36, 9.458140956031951e-46, 1.4708218444195795e-54,
)  # fmt: skip

Rule = Callable[[Writer, Value], Value]


def rule_for(name: str, dtype: DType, size: int) -> Rule | None:
    """The expansion of an elementwise row on this dtype, right for every argument; None where XLA's own is as good.

    The sine and cosine of float64 are not among them: `bounded_rule_for`.
    """
    key = name, dtype.name
    if dtype.name in _SHORT:
        rule = _SHORT_RULES.get(name) if size >= SMALLEST else None
        return None if rule is None else lambda w, x: w.convert(rule(w, w.convert(x, F32)), dtype)
    return _EXACT.get(key) or (_RULES.get(key) if size >= SMALLEST else None)


def bounded_rule_for(name: str, dtype: DType) -> Rule | None:
    """An expansion that is right for |x| <= SINE_LIMIT only."""
    return _BOUNDED.get((name, dtype.name))


def gradual_rule_for(name: str, dtype: DType) -> Rule | None:
    """What XLA's own function lacks where subnormal numbers are asked for: arguments or results that are."""
    return _GRADUAL.get((name, dtype.name))


# ---- sine and cosine -----------------------------------------------------------------------------


def _sine_64(w: Writer, x: Value) -> Value:
    n = w.op("round_nearest_even", _scaled(w, x, 1 / np.pi))
    result = _reduced_sine(w, x, n, w.op("shift_left", _parity(w, n), w.constant(63, x.shape, U64)))
    return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-27, x)), x, result)


def _cosine_64(w: Writer, x: Value) -> Value:
    """cos x = (-1)**(m + 1) sin(x - (m + 1/2) pi)."""
    m = w.op("round_nearest_even", w.subtract(_scaled(w, x, 1 / np.pi), w.splat(0.5, x)))
    odd = _parity(w, w.add(m, w.splat(1.0, x)))
    return _reduced_sine(w, x, w.add(m, w.splat(0.5, x)), w.op("shift_left", odd, w.constant(63, x.shape, U64)))


def _parity(w: Writer, n: Value) -> Value:
    """Bits whose lowest says whether the float holds an odd integer, |n| < 2**51."""
    return w.op("bitcast_convert", w.add(n, w.splat(1.5 * _TWO_52, n)), dtype=U64)


def _reduced_sine(w: Writer, x: Value, n: Value, sign: Value) -> Value:
    """sin(x - n pi) with its sign bit flipped by `sign`; |x - n pi| <= pi/2, and n of at most 20 bits."""
    first = w.subtract(x, w.multiply(n, w.splat(_PI[0], x)))
    step = w.multiply(n, w.splat(_PI[1], x))
    second = w.subtract(first, step)
    rest = w.subtract(w.subtract(first, second), step)
    rest = w.subtract(rest, w.multiply(n, w.splat(_PI[2], x)))
    r = w.add(second, rest)
    tail = w.add(w.subtract(second, r), rest)
    z = w.multiply(r, r)
    slope = w.subtract(w.splat(1.0, z), w.multiply(z, w.splat(4 / np.pi**2, z)))  # about cos(r): the weight of the tail
    correction = w.add(w.multiply(w.multiply(r, z), polynomial(w, z, _SINE)), w.multiply(tail, slope))
    return _flipped(w, w.add(r, correction), sign)


def _flipped(w: Writer, x: Value, sign: Value) -> Value:
    flipped = w.op("xor", w.op("bitcast_convert", x, dtype=U64), sign)
    return w.op("bitcast_convert", flipped, dtype=x.dtype)


def _sine_32(w: Writer, x: Value) -> Value:
    result = _sine_of_turns(w, _turns(w, w.convert(x, F64)))
    return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-12, x)), x, w.convert(result, F32))


def _cosine_32(w: Writer, x: Value) -> Value:
    turns = _turns(w, w.convert(x, F64))
    return w.convert(_sine_of_turns(w, w.add(turns, w.splat(0.25, turns))), F32)


def _tangent_32(w: Writer, x: Value) -> Value:
    turns = _turns(w, w.convert(x, F64))
    cosine = _sine_of_turns(w, w.add(turns, w.splat(0.25, turns)))
    result = w.convert(w.divide(_sine_of_turns(w, turns), cosine), F32)
    return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-12, x)), x, result)


def _turns(w: Writer, x: Value) -> Value:
    """The fraction of x / (2 pi) for a float32 in double precision, up to whole turns; NaN for infinities."""
    total: Value | None = None
    for part in _TURNS:
        product = _scaled(w, x, part)  # exact: 24 + 29 bits
        fraction = w.subtract(product, w.op("round_nearest_even", product))
        total = fraction if total is None else w.add(total, fraction)
    assert total is not None
    return total


def _sine_of_turns(w: Writer, turns: Value) -> Value:
    u = w.subtract(turns, w.op("round_nearest_even", turns))
    halves = w.add(u, u)
    n = w.op("round_nearest_even", halves)  # -1, 0 or 1
    r = _scaled(w, w.subtract(halves, n), np.pi)
    r = w.multiply(r, w.subtract(w.splat(1.0, n), w.multiply(w.splat(2.0, n), w.multiply(n, n))))
    z = w.multiply(r, r)
    return w.add(r, w.multiply(w.multiply(r, z), polynomial(w, z, _SINE_SHORT)))


# ---- logarithms ----------------------------------------------------------------------------------


def _log(w: Writer, x: Value) -> Value:
    k, f, correction = _log_parts(w, x)
    low = w.subtract(correction, _scaled(w, k, _LN_2[1]))
    return _log_ends(w, x, w.subtract(_scaled(w, k, _LN_2[0]), w.subtract(low, f)))


def log1p(w: Writer, x: Value) -> Value:
    """log(u) + c / u for u = 1 + x as rounded, and what the rounding lost, c = x - (u - 1)."""
    one = w.splat(1.0, x)
    u = w.op("maximum", w.add(x, one), w.splat(-1e300, x))  # without it XLA takes (x + 1) - 1 for x
    k, f, correction = _log_parts(w, u)
    lost = _scaled(w, w.divide(w.subtract(x, w.subtract(u, one)), u), 1.0)
    low = w.subtract(correction, w.add(_scaled(w, k, _LN_2[1]), lost))
    result = _log_ends(w, u, w.subtract(_scaled(w, k, _LN_2[0]), w.subtract(low, f)))
    return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-54, x)), x, result)


def _log2(w: Writer, x: Value) -> Value:
    k, f, correction = _log_parts(w, x)
    high, low = _scaled_twice(w, f, correction, _LOG2_E)
    return _log_ends(w, x, w.add(w.add(k, high), low))


def _log10(w: Writer, x: Value) -> Value:
    k, f, correction = _log_parts(w, x)
    high, low = _scaled_twice(w, f, correction, _LOG10_E)
    low = w.add(_scaled(w, k, _LOG10_2[1]), low)
    return _log_ends(w, x, w.add(w.add(_scaled(w, k, _LOG10_2[0]), high), low))


def _scaled_twice(w: Writer, f: Value, correction: Value, factor: tuple[float, float]) -> tuple[Value, Value]:
    """(f - correction) * factor in two parts, the first of them exact."""
    kept = w.both(w.op("bitcast_convert", f, dtype=I64), w.constant(-1 << 32, f.shape, I64))
    head = w.op("bitcast_convert", kept, dtype=F64)
    rest = w.subtract(w.subtract(f, head), correction)
    return _scaled(w, head, factor[0]), w.add(_scaled(w, rest, sum(factor)), _scaled(w, head, factor[1]))


def _log_parts(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """x = 2**k (1 + f), 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) = f - correction. For x > 0, finite."""
    bits = w.op("bitcast_convert", x, dtype=I64)
    subnormal = w.compare("LT", bits, w.splat(1 << 52, bits))
    whole = w.op("or", bits, w.splat(_TWO_52_BITS, bits))  # as a float: 2**52 + the integer `bits`
    scaled = w.subtract(w.op("bitcast_convert", whole, dtype=F64), w.splat(_TWO_52, x))
    bits = w.select(subnormal, w.op("bitcast_convert", scaled, dtype=I64), bits)
    root = 0x3FE6A09E << 32  # the leading bits of sqrt(1/2)
    shifted = w.add(bits, w.splat((0x3FF << 52) - root, bits))
    biased = w.op("shift_right_logical", shifted, w.splat(52, bits))
    mantissa = w.add(w.both(shifted, w.splat((1 << 52) - 1, bits)), w.splat(root, bits))
    k = w.op("bitcast_convert", w.op("or", biased, w.splat(_TWO_52_BITS, bits)), dtype=F64)
    bias = w.select(subnormal, w.splat(_TWO_52 + 1023 + 1074, x), w.splat(_TWO_52 + 1023, x))
    f = w.subtract(w.op("bitcast_convert", mantissa, dtype=F64), w.splat(1.0, x))
    half_f = _scaled(w, f, 0.5)
    s = _scaled(w, w.divide(f, w.add(w.splat(1.0, f), half_f)), 0.5)
    z = w.multiply(s, s)
    half = w.multiply(half_f, f)
    series = w.multiply(z, polynomial(w, z, _LOG))
    return w.subtract(k, bias), f, w.subtract(half, w.multiply(s, w.add(half, series)))


def _log_ends(w: Writer, x: Value, result: Value) -> Value:
    """The values at 0, infinity, NaN and below 0. Positive numbers are known by their bits: comparing flushes."""
    bits = w.op("bitcast_convert", x, dtype=U64)
    one = w.splat(1, bits)
    regular = w.compare("LT", w.op("subtract", bits, one), w.splat((0x7FF << 52) - 1, bits))
    negative = w.compare("GT", bits, w.splat(1 << 63, bits))
    zero = w.compare("EQ", x, w.splat(0.0, x))  # of what is neither regular nor negative
    end = w.select(negative, w.splat(np.nan, x), w.select(zero, w.splat(-np.inf, x), x))
    return w.select(regular, result, end)


def _log_gradual(w: Writer, x: Value) -> Value:
    small = w.compare("LT", x, w.splat(np.finfo(x.dtype).tiny, x))
    result = w.op("log", w.select(small, _scaled(w, x, 2.0**32), x))
    return w.select(small, w.subtract(result, w.splat(32 * np.log(2), x)), result)


def _exp_gradual(w: Writer, x: Value) -> Value:
    """XLA's, which is 0 where it would be subnormal: there it is the square of exp(x / 2), not to be known as such."""
    small = w.compare("LT", x, w.splat(np.log(np.finfo(x.dtype).tiny) + 1, x))
    result = w.op("exponential", w.select(small, _scaled(w, x, 0.5), x))
    return w.multiply(result, w.select(small, result, w.splat(1.0, x)))


def _exp2(w: Writer, x: Value) -> Value:
    """exp(r log 2) by XLA's function, which computes in vectors, times 2 ** n in two factors, for x = n + r."""
    bits, _, width = _EXPONENT[x.dtype]
    most = float(bits + width + 2)  # beyond it are infinity and zero
    near = w.op("clamp", w.splat(-most, x), x, w.splat(most, x))
    n = w.op("round_nearest_even", near)
    result = w.op("exponential", _scaled(w, w.subtract(near, n), float(np.log(2))))
    first = w.op("floor", _scaled(w, n, 0.5))
    return w.multiply(w.multiply(result, _power_of_two(w, first)), _power_of_two(w, w.subtract(n, first)))


def _power_of_two(w: Writer, n: Value) -> Value:
    bias, whole, width = _EXPONENT[n.dtype]
    exponent = w.convert(w.add(n, w.splat(float(bias), n)), whole)
    return w.op("bitcast_convert", w.op("shift_left", exponent, w.splat(width, exponent)), dtype=n.dtype)


_EXPONENT: dict[DType, tuple[int, DType, int]] = {F64: (1023, I64, 52), F32: (127, I32, 23)}
"""How floats have their exponents: what is added, an integer of that width, how far it is shifted."""


# ---- arctan --------------------------------------------------------------------------------------


def _arctan(w: Writer, x: Value) -> Value:
    """arctan(x): that of |x| around 0, 1 or infinity, with the sign of x."""
    if x.dtype == F32:
        return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-13, x)), x, _narrow(w, x))
    return _arctan_by(w, x, _ARCTAN)


def _arcsin_32(w: Writer, x: Value) -> Value:
    return w.select(w.compare("LT", w.op("abs", x), w.splat(2.0**-13, x)), x, w.convert(_arcsin_of(w, x), F32))


def _arccos_32(w: Writer, x: Value) -> Value:
    angle = _arcsin_of(w, x)
    return w.convert(w.subtract(w.splat(np.pi / 2, angle), angle), F32)


def _arcsin_of(w: Writer, x: Value) -> Value:
    """arctan(x / sqrt(1 - x**2)) in double precision."""
    x = w.convert(x, F64)
    one = w.splat(1.0, x)
    cosine = w.op("sqrt", w.multiply(w.subtract(one, x), w.add(one, x)))
    return _arctan_by(w, _scaled(w, w.divide(x, cosine), 1.0), _ARCTAN_SHORT)


def _narrow(w: Writer, x: Value) -> Value:
    return w.convert(_arctan_by(w, w.convert(x, F64), _ARCTAN_SHORT), F32)


def _arctan_by(w: Writer, x: Value, series_of: Sequence[float]) -> Value:
    a = w.op("abs", x)
    middle, far = (w.compare("GT", a, w.splat(np.tan(c * np.pi / 8), a)) for c in (1, 3))
    one, zero = w.splat(1.0, a), w.splat(0.0, a)
    top = w.select(far, one, w.select(middle, w.subtract(a, one), a))
    bottom = w.select(far, a, w.select(middle, w.add(a, one), one))
    t = w.multiply(w.divide(top, bottom), w.select(far, w.splat(-1.0, a), one))
    z = w.multiply(t, t)
    series = w.multiply(w.multiply(t, z), polynomial(w, z, series_of))
    high = w.select(far, w.splat(np.pi / 2, a), w.select(middle, w.splat(np.pi / 4, a), zero))
    lows = (6.123233995736766e-17, 3.061616997868383e-17)
    series = w.add(series, w.select(far, w.splat(lows[0], a), w.select(middle, w.splat(lows[1], a), zero)))
    result = w.add(high, w.add(t, series))
    sign = w.both(w.op("bitcast_convert", x, dtype=U64), w.constant(1 << 63, x.shape, U64))
    return w.select(w.compare("LT", a, w.splat(2.0**-27, a)), x, _flipped(w, result, sign))


# ---- cube roots ----------------------------------------------------------------------------------


def _cbrt(w: Writer, x: Value) -> Value:
    """XLA's, a power, and a step of Newton's method, which leaves cubes of integers their roots."""
    y = w.op("cbrt", x)
    square = w.multiply(y, y)
    residual = w.subtract(w.multiply(square, y), x)
    a = w.op("abs", x)
    regular = w.both(w.compare("GT", a, w.splat(1e-290, a)), w.compare("LT", a, w.splat(np.inf, a)))
    step = w.divide(residual, w.multiply(square, w.splat(3.0, x)))
    return w.select(regular, w.subtract(y, step), y)


# ---- common --------------------------------------------------------------------------------------


def polynomial(w: Writer, z: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule, the constant term first in the list."""
    total = w.splat(coefficients[-1], z)
    for c in reversed(coefficients[:-1]):
        total = w.add(w.multiply(total, z), w.splat(c, z))
    return total


def _scaled(w: Writer, x: Value, factor: float) -> Value:
    return w.multiply(x, w.splat(factor, x))


def widened(rule: Rule) -> Rule:
    """A rule for float64 that serves float32."""
    return lambda w, x: w.convert(rule(w, w.convert(x, F64)), F32)


_EXACT: dict[tuple[str, str], Rule] = {
    ("log2", "float64"): _log2,
    ("log2", "float32"): widened(_log2),
    ("log10", "float64"): _log10,
    ("log10", "float32"): widened(_log10),
    ("cbrt", "float64"): _cbrt,
    ("cbrt", "float32"): widened(_cbrt),
}
_RULES: dict[tuple[str, str], Rule] = {
    ("sin", "float32"): _sine_32,
    ("cos", "float32"): _cosine_32,
    ("tan", "float32"): _tangent_32,
    ("arcsin", "float32"): _arcsin_32,
    ("arccos", "float32"): _arccos_32,
    ("exp2", "float64"): _exp2,
    ("exp2", "float32"): _exp2,
    ("log", "float64"): _log,
    ("arctan", "float64"): _arctan,
    ("arctan", "float32"): _arctan,
}
_SHORT = ("float16", "bfloat16")
_SHORT_RULES = {name: rule for (name, dtype), rule in _RULES.items() if dtype == "float32"}
"""For numbers of 16 bits, in float32, as NumPy has them: of these XLA calls the C library's, in up to 70 ns."""
_BOUNDED: dict[tuple[str, str], Rule] = {("sin", "float64"): _sine_64, ("cos", "float64"): _cosine_64}
_GRADUAL: dict[tuple[str, str], Rule] = {
    ("exp", "float32"): _exp_gradual,
    ("exp", "float64"): _exp_gradual,
    ("log", "float32"): _log_gradual,
}
