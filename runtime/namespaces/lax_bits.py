"""The functions of `untraced.lax` that look at the bits of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...translator.library.random_support import finfo
from ...translator.library.support import known


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The same bits read as another dtype: of a wider one the last axis goes, of a narrower one there is one more, the
    lowest bits first. ValueError where elements of the last axis do not make up one of the new dtype.
    """
    x, new = np.asarray(operand), np.dtype(new_dtype)
    if new.itemsize > x.dtype.itemsize and x.shape[-1:] != (new.itemsize // x.dtype.itemsize,):
        raise ValueError(f"{x.dtype.name} of shape {x.shape} as {new.name}: the last axis must make up one element")
    if new.itemsize == x.dtype.itemsize:
        return x.view(new)
    old, narrow = np.dtype(f"u{x.dtype.itemsize}"), np.dtype(f"u{new.itemsize}")
    if new.itemsize < x.dtype.itemsize:
        shifts = (8 * new.itemsize * np.arange(x.dtype.itemsize // new.itemsize)).astype(old)
        return (np.expand_dims(x.view(old), -1) >> shifts).astype(narrow).view(new)
    shifts = (8 * x.dtype.itemsize * np.arange(x.shape[-1])).astype(narrow)
    return np.bitwise_or.reduce(x.view(old).astype(narrow) << shifts, -1).view(new)


def population_count(x: Any) -> Any:
    """How many bits of each integer are set, of its two's complement below zero, in the dtype and shape of `x`."""
    bits = np.asarray(x).astype(np.dtype(f"u{x.dtype.itemsize}"))
    return np.bitwise_count(bits).astype(x.dtype)


def clz(x: Any) -> Any:
    """How many bits of each integer are 0 above the highest one that is set: all of them for 0. In the dtype of `x`."""
    bits = 8 * x.dtype.itemsize
    below = x.astype(np.dtype(f"u{x.dtype.itemsize}"))
    step = 1
    while step < bits:
        below = below | (below >> step)
        step = 2 * step
    return (bits - np.bitwise_count(below)).astype(x.dtype)


def mulhi(x: Any, y: Any, /) -> Any:
    """The upper half of the bits of x * y, of integers, in their dtype. TypeError for other numbers."""
    dtype = np.result_type(x, y)
    if dtype.kind not in "iu":
        raise TypeError(f"mulhi does not accept dtype {dtype.name}: its operands are integers")
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    if dtype.itemsize < 8:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        return ((x.astype(wide) * y.astype(wide)) >> wide.type(8 * dtype.itemsize)).astype(dtype)
    shape = np.broadcast_shapes(x.shape, y.shape)
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    x, y = np.atleast_1d(x, y)  # numbers would warn where they wrap
    u, v = x.astype(np.uint64), y.astype(np.uint64)
    middle = (u >> half) * (v & low) + ((u & low) * (v & low) >> half)
    high = (u >> half) * (v >> half) + (middle >> half) + ((u & low) * (v >> half) + (middle & low) >> half)
    if dtype.kind == "i":  # as unsigned numbers those below zero are 2**64 greater
        high = high - np.where(x < 0, v, np.uint64(0)) - np.where(y < 0, u, np.uint64(0))
    return np.reshape(high.astype(dtype), shape)


def shift_right_logical(x: Any, y: Any) -> Any:
    """x >> y with zeros coming in; 0 where y is no less than the number of bits."""
    signed = np.result_type(x, y)
    unsigned = np.dtype(f"u{signed.itemsize}")
    return (np.asarray(x, signed).astype(unsigned) >> np.asarray(y, signed).astype(unsigned)).astype(signed)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Rounded, halves to even, to a float of so many bits; what is too large becomes inf, what is too small 0.

    ValueError for less than 1 bit of exponent, or less than none of mantissa.
    """
    exponent_bits, mantissa_bits = known(exponent_bits), known(mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(f"no float has {exponent_bits} bits of exponent and {mantissa_bits} of mantissa")
    info = finfo(operand.dtype)
    operand = np.asarray(operand)
    bits = operand.view(np.dtype(f"u{operand.dtype.itemsize}"))
    lost, rounded = info.nmant - mantissa_bits, operand
    if lost > 0:
        half, last = bits.dtype.type((1 << (lost - 1)) - 1), (bits >> lost) & 1
        kept = bits.dtype.type((1 << (8 * operand.dtype.itemsize)) - (1 << lost))
        rounded = np.where(np.isfinite(operand), ((bits + half + last) & kept).view(operand.dtype), operand)
    if exponent_bits < info.nexp:
        top = 2 ** (exponent_bits - 1) - 1
        large = (2.0 - 2.0**-mantissa_bits) * 2.0**top
        rounded = np.where(np.abs(rounded) > large, np.copysign(np.inf, rounded), rounded)
        rounded = np.where(np.abs(rounded) < 2.0 ** (1 - top), np.copysign(0.0, rounded), rounded)
        rounded = np.where(np.isnan(operand), operand, rounded)
    return rounded.astype(operand.dtype)
