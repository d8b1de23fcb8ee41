"""What is inside numbers: divisors and set bits of integers, exponents and neighbours of floats, as NumPy source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.implicit import sloped
from ..ops.selection import stop_gradient
from .support import bits_of, is_plain, loop_dtype, unsigned_of

# ---- integers ------------------------------------------------------------------------------------


def _in_one_loop(ufunc: Any, x1: Any, x2: Any, wanted: Any = None) -> Any:
    """Both arguments in the dtype in which a ufunc takes them; a Python number follows the other one."""
    x = np.asarray(x1) if isinstance(x1, list | tuple) else x1
    y = np.asarray(x2) if isinstance(x2, list | tuple) else x2
    dtype = loop_dtype(ufunc, *_asked(x, y, wanted))
    held = [v + dtype.type(0) if is_plain(v) else v for v in (x, y)]  # OverflowError where that has no room
    return np.asarray(held[0]).astype(dtype), np.asarray(held[1]).astype(dtype)


def _asked(x: Any, y: Any, wanted: Any) -> Any:
    """What a ufunc is asked to find a loop for: int8 and uint8 are float16 each, but together as int16 float32."""
    if wanted is not None:
        return np.dtype(wanted), np.dtype(wanted)
    if is_plain(x) and is_plain(y):
        return np.result_type(x, y), np.result_type(x, y)
    return _kind(x), _kind(y)


def _kind(x: Any) -> Any:
    """The dtype, or the Python type of a number that follows the other one."""
    return type(x) if is_plain(x) else np.asarray(x).dtype


def gcd(x1: Any, x2: Any, *, dtype: Any = None) -> Any:
    x, y = _in_one_loop(np.gcd, x1, x2, dtype)
    x, y = np.broadcast_arrays(np.absolute(x), np.absolute(y))
    while np.any(y != 0):
        done = y == 0
        rest = np.where(done, 0, x % np.where(done, 1, y))
        x, y = np.where(done, x, y), rest
    return np.absolute(x)[()]  # remainders by the lowest integer, whose magnitude wraps, are negative


def lcm(x1: Any, x2: Any, *, dtype: Any = None) -> Any:
    x, y = _in_one_loop(np.lcm, x1, x2, dtype)
    x, y = np.absolute(x), np.absolute(y)
    divisor = gcd(x, y)
    return (x // np.where(divisor == 0, 1, divisor) * y)[()]


def bitwise_count(x: Any) -> Any:
    """How many bits of |x| are set: sums of neighbouring bits, pairs, nibbles, bytes."""
    x = np.asarray(x)
    v = np.absolute(x).astype(unsigned_of(loop_dtype(np.bitwise_count, x.dtype))).astype(np.uint64)
    v = v - ((v >> 1) & 0x5555555555555555)
    v = (v & 0x3333333333333333) + ((v >> 2) & 0x3333333333333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((v * 0x0101010101010101) >> 56).astype(np.uint8)


# ---- floats --------------------------------------------------------------------------------------

_MANTISSA = 52
_BIAS = 1023


def ldexp(x1: Any, x2: Any) -> Any:
    """x1 * 2**x2, in steps that stay inside the range of exponents."""
    x, n = np.asarray(x1), np.asarray(x2)
    follows = isinstance(x1, int) and is_plain(x1) and not is_plain(x2)  # a Python int takes the first loop, of float16
    result = loop_dtype(np.ldexp, np.dtype(np.int8) if follows else x.dtype, n.dtype)
    left = np.clip(n.astype(np.int64), -2200, 2200)
    y = x.astype(result).astype(np.float64)
    for _ in (1, 2, 3):
        step = np.clip(left, -1022, 1023)
        y = y * _power_of_two(step)
        left = left - step
    return y.astype(result)


def _power_of_two(n: Any) -> Any:
    return ((n + _BIAS) << _MANTISSA).view(np.float64)


def frexp(x: Any) -> Any:
    """(m, e) with x = m * 2**e and 0.5 <= |m| < 1."""
    x = np.asarray(x)
    result = loop_dtype(np.frexp, x.dtype)
    y = x.astype(result).astype(np.float64)
    tiny = np.absolute(y) < np.finfo(np.float64).tiny
    bits = (np.where(tiny, y * 2.0**54, y) if result.itemsize == 8 else y).view(np.int64)
    exponent = ((bits >> _MANTISSA) & 0x7FF) - (_BIAS - 1)
    exponent = exponent - np.where(tiny, 54, 0) if result.itemsize == 8 else exponent
    value = ((bits & ~(0x7FF << _MANTISSA)) | ((_BIAS - 1) << _MANTISSA)).view(np.float64)
    mantissa = sloped(stop_gradient(value), y, ldexp(np.ones_like(y), -exponent))
    plain = np.isfinite(y) & (y != 0)
    return np.where(plain, mantissa, y).astype(result)[()], np.where(plain, exponent, 0).astype(np.int32)[()]


def nextafter(x1: Any, x2: Any) -> Any:
    """The neighbour of x1 on the way to x2: the next bits, as the bits of floats are ordered. It moves as x1 does."""
    x, y = _in_one_loop(np.nextafter, x1, x2)
    bits = x.view(bits_of(x.dtype))
    neighbour = bits + np.where((y > x) == (x > 0), 1, -1).astype(bits.dtype)
    first = np.ones_like(bits) | (np.signbit(y).astype(bits.dtype) << (8 * x.dtype.itemsize - 1))  # beside zero
    z = np.where(x == 0, first, neighbour).view(x.dtype)
    value = np.where(np.isnan(x) | np.isnan(y), x + y, np.where(x == y, y, z))
    return sloped(stop_gradient(value), x, np.ones_like(value))[()]


def spacing(x: Any) -> Any:
    """The distance to the neighbour that is farther from zero; in half precision NumPy's is that to the one above."""
    x = np.asarray(x)
    x = x.astype(loop_dtype(np.spacing, x.dtype))
    if x.dtype.itemsize == 2:
        return nextafter(x, x.dtype.type(np.inf)) - x + (x - x)
    return nextafter(x, np.copysign(np.inf, x).astype(x.dtype)) - x


# ---- methods of numbers --------------------------------------------------------------------------


def is_integer(x: Any) -> Any:
    return np.isfinite(x) & (np.floor(x) == x)


def bit_count(x: Any) -> Any:
    return int(bitwise_count(x))


def bit_length(x: Any) -> Any:
    return int(np.sum((np.absolute(np.asarray(x)) >> np.arange(63)) > 0))


NUMPY_NAMES = {
    name: name for name in ("gcd", "lcm", "bitwise_count", "ldexp", "frexp", "nextafter", "spacing")
}
METHODS: dict[str, Callable[..., Any]] = {  # of numbers, not of arrays
    "is_integer": is_integer,
    "bit_count": bit_count,
    "bit_length": bit_length,
}
