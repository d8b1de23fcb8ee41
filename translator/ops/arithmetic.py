"""Arithmetic: sums, products, quotients, powers, signs, extremes.

Every row's rules are NumPy source. `d_<name>_<argument>(*args, y)` is a partial derivative;
`c_<name>_<argument>(t, *args, y)` carries a tangent or cotangent `t` where `t * partial` would be unsafe;
`by_<name>(*args)` is the operation in simpler ones. Complex derivatives follow JAX: both directions multiply by the
partial, never by its conjugate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import Aval, DType
from .core import Elementwise, promote_loop
from .samples import ABOVE_ONE, NUMBERS, ORDERED, POSITIVE, REALS, Domain

DIVISORS = Domain(kinds="fiu", low=0.5, high=5.0)
SMALL_EXPONENTS = Domain(kinds="fiuc", low=0.0, high=4.0)


def unit(x: Any, y: Any) -> Any:
    return 1.0


def unit_2(x: Any, y: Any, z: Any) -> Any:
    return 1.0


def minus_unit(x: Any, y: Any) -> Any:
    return -1.0


def minus_unit_2(x: Any, y: Any, z: Any) -> Any:
    return -1.0


# ---- sums, products, quotients -------------------------------------------------------------------


def by_add(x: Any, y: Any) -> Any:
    return np.logical_or(x, y)  # of booleans: Triton's 1-bit integers would wrap


ADD = Elementwise(
    name="add", numpy="np.add", evaluate=np.add, arity=2, operator="+",
    partials=(unit_2, unit_2), decompose=by_add,
    stablehlo="add", cuda="({0} + {1})", triton="({0} + {1})", kernel_kinds="iuf", samples=(NUMBERS, NUMBERS),
)

SUBTRACT = Elementwise(
    name="subtract", numpy="np.subtract", evaluate=np.subtract, arity=2, operator="-",
    partials=(unit_2, minus_unit_2),
    stablehlo="subtract", cuda="({0} - {1})", triton="({0} - {1})", samples=(NUMBERS, NUMBERS),
)


def d_multiply_x(x: Any, y: Any, z: Any) -> Any:
    return y


def d_multiply_y(x: Any, y: Any, z: Any) -> Any:
    return x


def by_multiply(x: Any, y: Any) -> Any:
    return np.logical_and(x, y)


MULTIPLY = Elementwise(
    name="multiply", numpy="np.multiply", evaluate=np.multiply, arity=2, operator="*",
    partials=(d_multiply_x, d_multiply_y), decompose=by_multiply,
    stablehlo="multiply", cuda="({0} * {1})", triton="({0} * {1})", kernel_kinds="iuf", samples=(NUMBERS, NUMBERS),
)


def d_divide_x(x: Any, y: Any, z: Any) -> Any:
    return 1.0 / y


def c_divide_x(t: Any, x: Any, y: Any, z: Any) -> Any:
    return t / y  # one rounding less than t * (1 / y), and what a person writes


def d_divide_y(x: Any, y: Any, z: Any) -> Any:
    return -z / y


DIVIDE = Elementwise(
    name="divide", numpy="np.divide", evaluate=np.divide, arity=2, operator="/",
    partials=(d_divide_x, d_divide_y), jvps=(c_divide_x, None), vjps=(c_divide_x, None),
    stablehlo="divide", cuda="({0} / {1})", triton="({0} / {1})", triton_single="tl.div_rn({0}, {1})",
    cuda_bfloat="quick_quotient({0}, {1})", triton_bfloat="({0} / {1})",
    samples=(NUMBERS, Domain(kinds="fiuc", low=0.5, high=5.0)),
)


def quotient(x: Any, y: Any) -> Any:
    """The integer quotient rounded towards zero: C's `/`. The divisor is not zero."""
    q = np.floor_divide(x, y)
    return q + ((q < 0) & (q * y != x)).astype(q.dtype)


# Only `decompose` uses it: NumPy has no division that rounds towards zero.
QUOTIENT = Elementwise(
    name="quotient", numpy="untraced.lax.div", evaluate=quotient, arity=2, loop=promote_loop,
    stablehlo="divide", cuda="({0} / {1})", triton="({0} // {1})", stablehlo_kinds="iu", kernel_kinds="iu",
    samples=(Domain(kinds="iu"), Domain(kinds="iu", low=1.0, high=5.0)),
)


def divisor(y: Any) -> Any:
    """A divisor that no machine traps on: 1 in place of 0, and of -1, which overflows the least integer."""
    if y.dtype.kind == "i":
        return np.where((y == 0) | (y == -1), 1, y)
    return np.where(y == 0, 1, y)


def by_floor_divide(x: Any, y: Any) -> Any:
    if x.dtype.kind == "u":
        return np.where(y == 0, 0, quotient(x, divisor(y)))
    if x.dtype.kind == "i":
        up, down = (x < 0) & (y > 0), (x > 0) & (y < 0)
        near = np.where(up, x + 1, np.where(down, x - 1, x))  # one division, read once: XLA makes one kernel of it
        q = quotient(near, divisor(y)) - (up | down).astype(x.dtype)
        return np.where(y == 0, 0, np.where(y == -1, -x, q))
    m = np.fmod(x, y)
    q = (x - m) / y
    q = np.where((m != 0) & ((y < 0) != (m < 0)), q - 1.0, q)
    f = np.floor(q)
    f = np.where(q - f > 0.5, f + 1.0, f)
    f = np.where(q == 0, np.copysign(0.0, x / y), f)
    return np.where(y == 0, x / y, f)


FLOOR_DIVIDE = Elementwise(
    name="floor_divide", numpy="np.floor_divide", evaluate=np.floor_divide, arity=2, operator="//",
    decompose=by_floor_divide, samples=(Domain(kinds="fiu", low=-20.0, high=20.0), DIVISORS),
)


def by_remainder(x: Any, y: Any) -> Any:
    if x.dtype.kind == "u":
        return np.fmod(x, y)
    m = np.fmod(x, y)
    if x.dtype.kind == "i":
        return np.where((m != 0) & ((y < 0) != (m < 0)), m + y, m)
    r = np.where((y < 0) != (m < 0), m + y, m)
    return np.where(m == 0, np.copysign(0.0, y), r)


def d_remainder_y(x: Any, y: Any, z: Any) -> Any:
    return -np.floor_divide(x, y)


REMAINDER = Elementwise(
    name="remainder", numpy="np.remainder", evaluate=np.remainder, arity=2, operator="%",
    partials=(unit_2, d_remainder_y), decompose=by_remainder,
    samples=(Domain(kinds="fiu", low=-20.0, high=20.0), DIVISORS),
)


def by_fmod(x: Any, y: Any) -> Any:
    d = divisor(y)
    return np.where(y == d, x - quotient(x, d) * d, 0)


def d_fmod_y(x: Any, y: Any, z: Any) -> Any:
    return -np.trunc(x / y)


FMOD = Elementwise(
    name="fmod", numpy="np.fmod", evaluate=np.fmod, arity=2,
    partials=(unit_2, d_fmod_y), decompose=by_fmod,
    stablehlo="remainder", cuda="fmod{f}({0}, {1})", triton="libdevice.fmod({0}, {1})",
    stablehlo_kinds="f", kernel_kinds="f", samples=(Domain(kinds="fiu", low=-20.0, high=20.0), DIVISORS),
)


# ---- powers and roots ----------------------------------------------------------------------------

BITS = {1: tuple(range(7)), 2: tuple(range(15)), 4: tuple(range(31)), 8: tuple(range(63))}


def by_power(x: Any, y: Any) -> Any:
    """Integers, by squaring; complex numbers, in polar form."""
    if x.dtype.kind == "c":
        return np.where(y == 0, 1.0, np.where(x == 0, 0.0, np.exp(y * np.log(np.where(x == 0, 1.0, x)))))
    z = np.ones_like(x)
    for bit in BITS[x.dtype.itemsize]:
        z = np.where((y >> bit) & 1 == 1, z * x, z)
        x = x * x
    if x.dtype.kind == "u":
        z = np.where((y >> (8 * x.dtype.itemsize - 1)) == 1, z * x, z)
    return z


def d_power_x(x: Any, y: Any, z: Any) -> Any:
    if isinstance(y, int):
        p = y * x ** (y - 1)
        return np.where(y == 0, np.zeros_like(p), p)  # 0.0 would make bfloat16 float64
    if isinstance(y, float | complex):
        p = y * x ** (y - 1)
        return np.where(y == 0, np.where(x == 0, 0.0, p), p)
    if y.dtype.kind in "biu":
        return np.where(y == 0, 0.0, y * x ** np.where(y == 0, 1, y - 1))
    # 0 where x and y are, but with the derivative 1 / x where y alone is, as above
    return y * x ** np.where(y == 0, np.where(x == 0, 1, y - 1), y - 1)


def d_power_y(x: Any, y: Any, z: Any) -> Any:
    if z.dtype.kind == "c":
        return z * np.log(np.where(x == 0, 1.0, x))
    if isinstance(x, int | float):
        return z * np.log(np.where(x > 0, x, 1.0)).astype(z.dtype)  # a number of the loop's, not NumPy's float64
    return z * np.log(np.where(x > 0, x, 1.0))  # a negative base allows no change of the exponent


POWER = Elementwise(
    name="power", numpy="np.power", evaluate=np.power, arity=2, operator="**",
    partials=(d_power_x, d_power_y), decompose=by_power,
    stablehlo="power", cuda="pow{f}({0}, {1})", triton="libdevice.pow({0}, {1})", kernel_kinds="f",
    samples=(Domain(kinds="fiuc", low=0.1), SMALL_EXPONENTS),
)


def by_float_power(x: Any, y: Any) -> Any:
    return np.power(x, y)


FLOAT_POWER = Elementwise(
    name="float_power", numpy="np.float_power", evaluate=np.float_power, arity=2,
    partials=(d_power_x, d_power_y), decompose=by_float_power, samples=(POSITIVE, REALS),
)


def d_sqrt(x: Any, y: Any) -> Any:
    return 0.5 / y


SQRT = Elementwise(
    name="sqrt", numpy="np.sqrt", evaluate=np.sqrt, partials=(d_sqrt,),
    stablehlo="sqrt", cuda="sqrt{f}({0})", triton="libdevice.sqrt({0})", triton_single="tl.sqrt_rn({0})",
    cuda_bfloat="quick_sqrt({0})", triton_bfloat="tl.sqrt({0})",
    samples=(Domain(kinds="fiuc", low=0.1),),
)


def d_cbrt(x: Any, y: Any) -> Any:
    return 1.0 / (3.0 * y * y)


CBRT = Elementwise(
    name="cbrt", numpy="np.cbrt", evaluate=np.cbrt, partials=(d_cbrt,),
    stablehlo="cbrt", cuda="cbrt{f}({0})", triton="libdevice.cbrt({0})", samples=(ABOVE_ONE,),
)


def d_square(x: Any, y: Any) -> Any:
    return 2.0 * x


def by_square(x: Any) -> Any:
    return x * x


SQUARE = Elementwise(
    name="square", numpy="np.square", evaluate=np.square, partials=(d_square,), decompose=by_square, samples=(NUMBERS,),
)


def d_reciprocal(x: Any, y: Any) -> Any:
    return -y * y


def by_reciprocal(x: Any) -> Any:
    if x.dtype.kind == "u":
        return (x == 1).astype(x.dtype)
    if x.dtype.kind == "i":
        of_zero = np.iinfo(x.dtype).min if x.dtype.itemsize >= 4 else 0  # infinity as an integer, by the machine
        return np.where(x == 0, of_zero, np.where((x == 1) | (x == -1), x, 0))
    return 1.0 / x


RECIPROCAL = Elementwise(
    name="reciprocal", numpy="np.reciprocal", evaluate=np.reciprocal, partials=(d_reciprocal,), decompose=by_reciprocal,
    samples=(Domain(kinds="fiuc", low=1.0, high=4.0),),
)


def by_hypot(x: Any, y: Any) -> Any:
    big = np.maximum(np.absolute(x), np.absolute(y))
    small = np.minimum(np.absolute(x), np.absolute(y))
    ratio = small / np.where(big == 0, 1.0, big)
    scaled = big * np.sqrt(1.0 + ratio * ratio)
    z = np.sqrt(x * x + y * y)  # rounded less often, where the squares are normal numbers
    info = np.finfo(z.dtype)
    z = np.where((z > 1e4 * float(info.tiny) ** 0.5) & (z < 0.5 * float(info.max) ** 0.5), z, scaled)
    return np.where(np.isinf(x) | np.isinf(y), np.inf, z)


def d_hypot_x(x: Any, y: Any, z: Any) -> Any:
    return x / np.where(z == 0, np.inf, z)


def d_hypot_y(x: Any, y: Any, z: Any) -> Any:
    return y / np.where(z == 0, np.inf, z)


HYPOT = Elementwise(
    name="hypot", numpy="np.hypot", evaluate=np.hypot, arity=2, partials=(d_hypot_x, d_hypot_y), decompose=by_hypot,
    cuda="hypot{f}({0}, {1})", triton="libdevice.hypot({0}, {1})", samples=(REALS, REALS),
)


# ---- signs ---------------------------------------------------------------------------------------

NEGATIVE = Elementwise(
    name="negative", numpy="np.negative", evaluate=np.negative, operator="-", partials=(minus_unit,),
    stablehlo="negate", cuda="(-{0})", triton="(-{0})", samples=(NUMBERS,),
)


def identity(x: Any) -> Any:
    return x


POSITIVE_ = Elementwise(
    name="positive", numpy="np.positive", evaluate=np.positive, operator="+", partials=(unit,), decompose=identity,
    samples=(NUMBERS,),
)


def d_absolute(x: Any, y: Any) -> Any:
    return np.sign(x)


def j_absolute(t: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "c":
        return np.real(t * np.conjugate(x)) / np.where(y == 0, np.inf, y)
    return t * np.sign(x)


def v_absolute(t: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "c":
        return t / np.where(y == 0, np.inf, y) * np.conjugate(x)
    return t * np.sign(x)


def by_absolute(x: Any) -> Any:
    if x.dtype.kind in "bu":
        return x
    if x.dtype.kind == "c":
        return np.hypot(np.real(x), np.imag(x))
    return np.where(x < 0, -x, x)


ABSOLUTE = Elementwise(
    name="absolute", numpy="np.absolute", evaluate=np.absolute,
    partials=(d_absolute,), jvps=(j_absolute,), vjps=(v_absolute,), decompose=by_absolute,
    stablehlo="abs", cuda="fabs{f}({0})", triton="tl.abs({0})", stablehlo_kinds="ifc", kernel_kinds="f",
    samples=(NUMBERS,), kinks=(0.0,),
)


def by_fabs(x: Any) -> Any:
    return np.absolute(x)


FABS = Elementwise(
    name="fabs", numpy="np.fabs", evaluate=np.fabs, partials=(d_absolute,), decompose=by_fabs, kinks=(0.0,),
)


def by_sign(x: Any) -> Any:
    if x.dtype.kind == "u":
        return (x > 0).astype(x.dtype)
    if x.dtype.kind == "c":
        r = np.absolute(x)
        return x / np.where(r == 0, 1.0, r)
    s = (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    return s if x.dtype.kind == "i" else np.where(x != x, x, s)


def j_sign(t: Any, x: Any, y: Any) -> Any:
    r = np.absolute(x)
    return 1j * y * np.imag(np.conjugate(y) * t) / np.where(r == 0, 1.0, r)


def v_sign(t: Any, x: Any, y: Any) -> Any:
    r = np.absolute(x)
    return 1j * np.conjugate(y) * np.imag(y * t) / np.where(r == 0, 1.0, r)


SIGN = Elementwise(
    name="sign", numpy="np.sign", evaluate=np.sign, jvps=(j_sign,), vjps=(v_sign,), flat="fV", decompose=by_sign,
    stablehlo="sign", stablehlo_kinds="ic", samples=(Domain(kinds="fiuc"),), kinks=(0.0,),
)


def by_copysign(x: Any, y: Any) -> Any:
    return np.where(np.signbit(y), -np.absolute(x), np.absolute(x))


def d_copysign_x(x: Any, y: Any, z: Any) -> Any:
    return np.sign(x) * np.sign(z)


COPYSIGN = Elementwise(
    name="copysign", numpy="np.copysign", evaluate=np.copysign, arity=2, partials=(d_copysign_x, None),
    decompose=by_copysign, cuda="copysign{f}({0}, {1})", triton="libdevice.copysign({0}, {1})", samples=(REALS, REALS),
    kinks=(0.0,),
)


# ---- extremes ------------------------------------------------------------------------------------


def c_maximum_x(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(x > y, t, np.where(x == y, 0.5 * t, 0.0))


def c_maximum_y(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(y > x, t, np.where(x == y, 0.5 * t, 0.0))


def by_maximum(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return np.logical_or(x, y)
    return np.where((x >= y) | np.isnan(x), x, y)


MAXIMUM = Elementwise(
    name="maximum", numpy="np.maximum", evaluate=np.maximum, arity=2,
    jvps=(c_maximum_x, c_maximum_y), vjps=(c_maximum_x, c_maximum_y), decompose=by_maximum,
    stablehlo="maximum", stablehlo_kinds="biuf", cuda="({0} > {1} || {0} != {0} ? {0} : {1})",
    triton="tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)", kernel_kinds="iuf", samples=(ORDERED, ORDERED),
)


def c_minimum_x(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(x < y, t, np.where(x == y, 0.5 * t, 0.0))


def c_minimum_y(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where(y < x, t, np.where(x == y, 0.5 * t, 0.0))


def by_minimum(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return np.logical_and(x, y)
    return np.where((x <= y) | np.isnan(x), x, y)


MINIMUM = Elementwise(
    name="minimum", numpy="np.minimum", evaluate=np.minimum, arity=2,
    jvps=(c_minimum_x, c_minimum_y), vjps=(c_minimum_x, c_minimum_y), decompose=by_minimum,
    stablehlo="minimum", stablehlo_kinds="biuf", cuda="({0} < {1} || {0} != {0} ? {0} : {1})",
    triton="tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)", kernel_kinds="iuf", samples=(ORDERED, ORDERED),
)


def c_fmax_x(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where((x > y) | (y != y), t, np.where(x == y, 0.5 * t, 0.0))


def c_fmax_y(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where((y > x) | (x != x), t, np.where(x == y, 0.5 * t, 0.0))


def by_fmax(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return np.logical_or(x, y)
    return np.where((x >= y) | np.isnan(y), x, y)


FMAX = Elementwise(
    name="fmax", numpy="np.fmax", evaluate=np.fmax, arity=2,
    jvps=(c_fmax_x, c_fmax_y), vjps=(c_fmax_x, c_fmax_y), decompose=by_fmax, samples=(ORDERED, ORDERED),
)


def c_fmin_x(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where((x < y) | (y != y), t, np.where(x == y, 0.5 * t, 0.0))


def c_fmin_y(t: Any, x: Any, y: Any, z: Any) -> Any:
    return np.where((y < x) | (x != x), t, np.where(x == y, 0.5 * t, 0.0))


def by_fmin(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        return np.logical_and(x, y)
    return np.where((x <= y) | np.isnan(y), x, y)


FMIN = Elementwise(
    name="fmin", numpy="np.fmin", evaluate=np.fmin, arity=2,
    jvps=(c_fmin_x, c_fmin_y), vjps=(c_fmin_x, c_fmin_y), decompose=by_fmin, samples=(ORDERED, ORDERED),
)


def c_clip_x(t: Any, x: Any, low: Any, high: Any, z: Any) -> Any:
    return np.where((x >= low) & (x <= high), t, 0.0)


def c_clip_low(t: Any, x: Any, low: Any, high: Any, z: Any) -> Any:
    return np.where((x < low) & (low < high), t, 0.0)


def c_clip_high(t: Any, x: Any, low: Any, high: Any, z: Any) -> Any:
    return np.where((x > high) | (low >= high), t, 0.0)


def clip_loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    """np.clip is a method of its first argument, which is an array even where it was a Python number."""
    if any(a.dtype.kind == "V" for a in avals):  # bfloat16, of which it has no loop
        zeros = [a.dtype.type(0).item() if a.weak else np.zeros((), a.dtype) for a in avals[1:]]
        result = np.clip(np.zeros((), avals[0].dtype), *zeros).dtype
        return (result,) * len(avals), result
    return promote_loop([Aval((), avals[0].dtype), *avals[1:]])


def by_clip(x: Any, low: Any, high: Any) -> Any:
    """Of zeros of two signs NumPy takes those of x where the bounds are numbers, and else those of the bounds."""
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return np.minimum(high, np.maximum(low, x))
    return np.minimum(np.maximum(x, low), high)


CLIP = Elementwise(
    name="clip", numpy="np.clip", evaluate=np.clip, arity=3, loop=clip_loop,
    jvps=(c_clip_x, c_clip_low, c_clip_high), vjps=(c_clip_x, c_clip_low, c_clip_high), decompose=by_clip,
    samples=(ORDERED, Domain(kinds="fiu", low=0.0, high=1.0), Domain(kinds="fiu", low=1.5, high=2.5)),
)


def c_heaviside_h(t: Any, x: Any, h: Any, y: Any) -> Any:
    return np.where(x == 0, t, 0.0)


def by_heaviside(x: Any, h: Any) -> Any:
    return np.where(x < 0, 0.0, np.where(x > 0, 1.0, np.where(x == 0, h, x)))


HEAVISIDE = Elementwise(
    name="heaviside", numpy="np.heaviside", evaluate=np.heaviside, arity=2,
    jvps=(None, c_heaviside_h), vjps=(None, c_heaviside_h), decompose=by_heaviside,
    samples=(REALS, REALS), kinks=(0.0,),
)
