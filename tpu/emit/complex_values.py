"""Complex functions and powers for XLA, whose own lose digits near zeros and poles, and infinities.

    tanh(x + iy)    by the tangent of y and the hyperbolic sine of x (W. Kahan, Branch cuts for complex elementary
                    functions, 1987)
    expm1(x + iy)   expm1(x) cos(y) - 2 sin(y/2)^2 and exp(x) sin(y), as NumPy's
    log(z)          near the unit circle by the exact excess of |z|^2 over 1
    x ** y          small whole powers by products, others exp(y log(x)), as NumPy's

Functions of the parts x and y of numbers in one quadrant; `emit/complex` has the symmetries.
"""

from __future__ import annotations

import numpy as np

from ...translator import ops
from . import hyperbolic, transcendentals
from .elementwise import Rule
from .rounding import hidden
from .writer import BOOL, F32, F64, I32, I64, Value, Writer, real_dtype

Pair = tuple[Value, Value]
_FAR = 22.0  # from here on the real part of tanh is 1
_MOST = 99  # the largest power that NumPy makes by products


def tanh(w: Writer, x: Value, y: Value) -> Pair:
    """Of parts that are not negative."""
    if x.dtype != F64:
        return _narrowed(w, *tanh(w, w.convert(x, F64), w.convert(y, F64)))
    one, zero, far = w.splat(1.0, x), w.splat(0.0, x), w.splat(_FAR, x)
    t, s = w.op(ops.TAN.stablehlo, y), _real(w, "sinh", w.op("minimum", x, far))
    square = w.multiply(s, s)
    beta = w.add(one, w.multiply(t, t))
    below = w.add(one, w.multiply(beta, square))
    real = w.divide(w.multiply(beta, w.multiply(w.op("sqrt", w.add(one, square)), s)), below)
    bounded = w.op("is_finite", y, dtype=BOOL)
    product = w.multiply(w.op("sine", y), w.op("cosine", y))
    shrunk = w.op("exponential", w.op("negate", x))
    tail = w.multiply(w.multiply(w.splat(4.0, x), product), w.multiply(shrunk, shrunk))
    beyond = w.both(w.compare("GT", x, far), w.either(bounded, w.is_infinite(x)))
    tail = w.select(bounded, tail, zero)
    return w.select(beyond, one, real), w.select(beyond, tail, w.divide(t, below))


def expm1(w: Writer, x: Value, y: Value) -> Pair:
    half = w.op("sine", w.multiply(y, w.splat(0.5, y)))
    lost = w.multiply(w.multiply(w.splat(2.0, y), half), half)
    real = w.subtract(w.multiply(w.op("exponential_minus_one", x), w.op("cosine", y)), lost)
    return real, w.multiply(w.op("exponential", x), w.op("sine", y))


def log(w: Writer, x: Value, y: Value, own: Value) -> Value:
    """The logarithm of the size of x + iy; XLA's own, but near the unit circle."""
    if x.dtype != F64:
        return w.convert(log(w, w.convert(x, F64), w.convert(y, F64), w.convert(own, F64)), x.dtype)
    one = w.splat(1.0, x)
    large, small = (w.op(name, w.op("abs", x), w.op("abs", y)) for name in ("maximum", "minimum"))
    (p, more_p), (q, more_q) = _square(w, large), _square(w, small)
    size = w.add(p, q)
    near = w.both(w.compare("GT", size, w.splat(0.25, x)), w.compare("LT", size, w.splat(4.0, x)))
    excess = w.add(w.add(w.subtract(p, one), q), w.add(more_p, more_q))
    found = w.multiply(w.splat(0.5, x), transcendentals.log1p(w, w.select(near, excess, w.splat(0.0, x))))
    return w.select(near, found, own)


def power(w: Writer, x: Value, y: Value, exp: Rule, log: Rule) -> Value:
    """Zero to a power is 0 if the exponent's real part is positive, 1 if the exponent is 0, else NaN."""
    part = real_dtype(x.dtype)
    (a, b), (c, d) = _parts(w, x), _parts(w, y)
    zero, one = w.splat(0, a), w.splat(1, a)
    result = exp(w, _product(w, y, log(w, x)))
    size = w.op("abs", c)
    whole = w.both(w.compare("EQ", d, zero), w.compare("EQ", c, w.op("floor", c)))
    whole = w.both(whole, w.compare("LE", size, w.splat(_MOST, c)))
    small = w.select(whole, size, one)
    result = w.select(whole, _by_products(w, x, w.convert(small, I32), w.compare("LT", c, zero)), result)
    rooted = w.select(w.compare("GT", c, zero), zero, w.splat(np.nan, a))
    nothing = w.both(w.compare("EQ", c, zero), w.compare("EQ", d, zero))
    of_zero = w.both(w.compare("EQ", a, zero), w.compare("EQ", b, zero))
    result = w.select(of_zero, w.op("complex", rooted, rooted, dtype=x.dtype), result)
    return w.select(nothing, w.op("complex", one, w.splat(0, w.op("real", y, dtype=part)), dtype=x.dtype), result)


def _by_products(w: Writer, x: Value, n: Value, inverse: Value) -> Value:
    """x to the power n, or its reciprocal, in NumPy's order; n < 128."""
    first, second = x, _plain_product(w, x, x)
    third = _plain_product(w, x, second)
    result, square = w.splat(1, x), x
    for k in range(_MOST.bit_length()):
        bit = w.compare("NE", w.op("and", n, w.splat(1 << k, n)), w.splat(0, n))
        result = w.select(bit, _plain_product(w, result, square), result)
        square = _plain_product(w, square, square) if k else second
    for k, known in enumerate((first, second, third), start=1):
        exact = w.both(w.compare("EQ", n, w.splat(k, n)), w.invert(inverse))
        result = w.select(exact, known, result)
    return w.select(inverse, quotient(w, w.splat(1, x), result), result)


def quotient(w: Writer, x: Value, y: Value) -> Value:
    """x / y by the ratio of the divisor's smaller part to its larger, as NumPy divides (R. L. Smith, Communications of
    the ACM 5, 1962): XLA's own recovers infinities where NumPy has NaN.
    """
    part = real_dtype(x.dtype)
    (a, b), (c, d) = _parts(w, x), _parts(w, y)
    tall = w.compare("GT", w.op("abs", d), w.op("abs", c))
    large, small = w.select(tall, d, c), w.select(tall, c, d)
    nowhere = w.both(w.compare("EQ", large, w.splat(0, c)), w.compare("EQ", small, w.splat(0, c)))
    large = w.select(nowhere, w.op("abs", large), large)
    ratio = w.select(nowhere, w.splat(0, c), w.divide(small, large))
    size = w.add(large, w.multiply(small, ratio))
    far = w.compare("GT", w.op("abs", size), w.splat(np.finfo(part).max / 16, c))  # whose reciprocal is subnormal
    step = w.select(far, w.splat(2.0**-8, c), w.splat(1, c))
    scale = w.divide(w.splat(1, c), w.multiply(size, step))
    first, second = w.select(tall, b, a), w.select(tall, a, b)
    real = w.multiply(w.add(first, w.multiply(second, ratio)), scale)
    across = w.multiply(first, ratio)
    imag = w.multiply(w.select(tall, w.subtract(across, second), w.subtract(second, across)), scale)
    real = w.select(nowhere, w.multiply(a, scale), real)
    imag = w.select(nowhere, w.multiply(b, scale), imag)
    return w.op("complex", w.multiply(real, step), w.multiply(imag, step), dtype=x.dtype)


def _plain_product(w: Writer, x: Value, y: Value) -> Value:
    """Every product is rounded, one that is infinite, too."""
    (a, b), (c, d) = _parts(w, x), _parts(w, y)
    along, across, one, other = (hidden(w, w.multiply(s, t)) for s, t in ((a, c), (b, d), (a, d), (b, c)))
    return w.op("complex", w.subtract(along, across), w.add(one, other), dtype=x.dtype)


def _product(w: Writer, x: Value, y: Value) -> Value:
    """The product with the infinities of C99, annex G, as the C library multiplies in its powers."""
    plain = _plain_product(w, x, y)
    (a, b), (c, d) = _parts(w, x), _parts(w, y)
    products = [w.multiply(s, t) for s, t in ((a, c), (b, d), (a, d), (b, c))]
    first, second = (w.either(*map(w.is_infinite, pair)) for pair in ((a, b), (c, d)))
    inside = w.either(w.either(*map(w.is_infinite, products[:2])), w.either(*map(w.is_infinite, products[2:])))
    a, b = (w.select(first, _boxed(w, v), w.select(w.either(second, inside), _number(w, v), v)) for v in (a, b))
    c, d = (w.select(second, _boxed(w, v), w.select(w.either(first, inside), _number(w, v), v)) for v in (c, d))
    infinity = w.splat(np.inf, a)
    real = w.multiply(infinity, w.subtract(w.multiply(a, c), w.multiply(b, d)))
    imag = w.multiply(infinity, w.add(w.multiply(a, d), w.multiply(b, c)))
    lost = w.both(*map(w.is_nan, _parts(w, plain)))
    asked = w.both(lost, w.either(w.either(first, second), inside))
    return w.select(asked, w.op("complex", real, imag, dtype=x.dtype), plain)


def _boxed(w: Writer, x: Value) -> Value:
    """1 for infinities, 0 for others, with the sign."""
    one = w.select(w.is_infinite(x), w.splat(1, x), w.splat(0, x))
    return _signed(w, one, x)


def _number(w: Writer, x: Value) -> Value:
    """0 for NaN."""
    return w.select(w.is_nan(x), _signed(w, w.splat(0, x), x), x)


def _signed(w: Writer, size: Value, x: Value) -> Value:
    return w.select(has_sign(w, x), w.op("negate", size), size)


def has_sign(w: Writer, x: Value) -> Value:
    """Whether the sign bit is set, of zeros too."""
    bits = w.op("bitcast_convert", x, dtype=I64 if x.dtype == np.float64 else I32)
    return w.compare("LT", bits, w.splat(0, bits))


def _square(w: Writer, x: Value) -> Pair:
    """x * x, and what rounding took: the halves of the digits of x have exact products."""
    bits = w.op("bitcast_convert", x, dtype=I64)
    high = w.op("bitcast_convert", w.op("and", bits, w.splat(-(1 << 27), bits)), dtype=F64)
    low = w.subtract(x, high)
    square = w.multiply(x, x)
    across = w.multiply(w.splat(2.0, x), w.multiply(high, low))
    return square, w.add(w.add(w.subtract(w.multiply(high, high), square), across), w.multiply(low, low))


def _parts(w: Writer, z: Value) -> Pair:
    part = real_dtype(z.dtype)
    return w.op("real", z, dtype=part), w.op("imag", z, dtype=part)


def _real(w: Writer, name: str, x: Value) -> Value:
    rule = hyperbolic.rule_for(name, x.dtype)
    assert rule is not None
    return rule(w, x)


def _narrowed(w: Writer, x: Value, y: Value) -> Pair:
    return w.convert(x, F32), w.convert(y, F32)
