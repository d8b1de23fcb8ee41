"""Sorts and Fourier transforms in StableHLO.

A sort compares integers: on a CPU five times as fast as floating-point numbers, whose NaNs need a comparison of their
own. The bits of a positive float are ordered like the float, those of a negative one backwards:

    bits = bitcast(x);  key = bits if bits >= 0 else bits ^ 0x7FFF...;  NaN: the largest integer
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...translator.ir import DType, Shape
from ...translator.ops.core import FourierAttrs, SortAttrs
from ..client import host_calls
from .writer import BOOL, I64, Value, Writer, is_float, real_dtype, tensor_type

Target = Literal["cpu", "tpu"]
I8, U8, I32 = np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32)
_INDEX_BITS = 32  # the lower half of a packed key


def sort(w: Writer, x: Value, attrs: SortAttrs, target: Target) -> Value:
    """np.sort: the elements in order, NaN last. A partition is NumPy's, or a sort."""
    axis = attrs.axis
    if x.shape[axis] < 2 or 0 in x.shape:
        return x
    if w.host and host_calls.sorts(x, attrs):
        return host_calls.call(w, _named("sort", "partition", attrs), [x], x.shape, x.dtype)
    if x.dtype.kind == "c":
        return _sort_complex(w, x, axis)
    if x.dtype == BOOL:
        (found,) = _sorted(w, [w.convert(x, U8)], 1, axis)
        return w.convert(found, BOOL)
    if not is_float(x.dtype):
        return _sorted(w, [x], 1, axis)[0]
    if target == "cpu":
        (found,) = _sorted(w, [_float_key(w, x)], 1, axis)
        return _float_of_key(w, found, x.dtype)
    missing, value = _sorted(w, _exact_keys(w, x), 2, axis)
    return w.select(w.nonzero(missing), w.splat(np.nan, value), value)


def argsort(w: Writer, x: Value, attrs: SortAttrs, target: Target) -> Value:
    """np.argsort(x): NumPy's, or the stable one."""
    axis = attrs.axis
    if x.shape[axis] < 2 or 0 in x.shape:
        return w.constant(0, x.shape, I64)
    own = not attrs.is_stable or x.dtype.itemsize > 4 or host_calls.sorts_by_digits(x.dtype)
    if w.host and own and host_calls.sorts(x, attrs):
        return host_calls.call(w, _named("argsort", "argpartition", attrs), [x], x.shape, I64)
    if x.dtype.kind == "c":
        keys = _complex_keys(w, x)
    elif x.dtype == BOOL:
        keys = [w.convert(x, U8)]
    elif not is_float(x.dtype):
        keys = [x]
    elif target == "cpu":
        key = _float_key(w, x)
        minus_zero = w.compare("EQ", key, w.splat(-1, key))
        keys = [w.select(minus_zero, w.splat(0, key), key)]
    else:
        keys = _exact_keys(w, x)
    if len(keys) == 1 and keys[0].dtype.itemsize <= 4 and target == "cpu":
        return _packed(w, keys[0], axis)
    positions = w.iota(x.shape, I32 if x.shape[axis] < 2**31 else I64, axis)
    return w.convert(_sorted(w, [*keys, positions], len(keys), axis)[-1], I64)


def _named(whole: str, partial: str, attrs: SortAttrs) -> str:
    """The name of a host call: with the kind, the axis, and the places of a partition."""
    name = partial if attrs.places else whole if attrs.kind == "stable" else f"{whole}_{attrs.kind}"
    return " ".join(map(str, (name, attrs.axis, *attrs.places)))


def _packed(w: Writer, key: Value, axis: int) -> Value:
    """Key and position in one integer: a sort of one array is much faster than one that carries a second."""
    wide = w.convert(key, I64)
    if key.dtype.kind == "u":
        wide = w.subtract(wide, w.splat(2**31, wide))
    high = w.op("shift_left", wide, w.splat(_INDEX_BITS, wide))
    packed = w.either(high, w.iota(key.shape, I64, axis))
    if w.host and host_calls.sorts(packed, SortAttrs(axis)):
        found = host_calls.call(w, f"sort {axis}", [packed], packed.shape, I64)
    else:
        (found,) = _sorted(w, [packed], 1, axis)
    return w.both(found, w.splat(2**_INDEX_BITS - 1, found))


def _sorted(w: Writer, values: Sequence[Value], keys: int, axis: int) -> list[Value]:
    """All values in the order of the first `keys` of them, compared one after the other; stable."""
    results = w.several("sorted", [(v.shape, v.dtype) for v in values])
    head = results[0].name.partition("#")[0] + (f":{len(values)}" if len(values) > 1 else "")
    pairs = [(Value(w.fresh("a"), (), v.dtype), Value(w.fresh("b"), (), v.dtype)) for v in values]
    params = ", ".join(f"{p.name}: {tensor_type((), p.dtype)}" for pair in pairs for p in pair)
    w.line(f'{head} = "stablehlo.sort"({", ".join(v.name for v in values)}) ({{')
    w.line(f"^bb0({params}):")
    with w.region():
        first = w.compare("LT", *pairs[keys - 1])
        for a, b in reversed(pairs[: keys - 1]):
            first = w.either(w.compare("LT", a, b), w.both(w.compare("EQ", a, b), first))
        w.line(f"stablehlo.return {first.name} : {tensor_type((), BOOL)}")
    types = ", ".join(tensor_type(v.shape, v.dtype) for v in values)
    stable = "true" if len(values) > keys else "false"
    w.line(f"}}) {{dimension = {axis} : i64, is_stable = {stable}}} : ({types}) -> ({types})")
    return results


# ---- keys ----------------------------------------------------------------------------------------


def _float_key(w: Writer, x: Value) -> Value:
    """Integers that are ordered as the numbers are; -0.0 (-1) in front of 0.0 (0)."""
    whole = np.dtype(f"i{x.dtype.itemsize}")
    largest = np.iinfo(whole).max
    bits = w.op("bitcast_convert", x, dtype=whole)
    negative = w.compare("LT", bits, w.splat(0, bits))
    key = w.select(negative, w.op("xor", bits, w.splat(largest, bits)), bits)
    return w.select(w.is_nan(x), w.splat(largest, bits), key)


def _float_of_key(w: Writer, key: Value, dtype: DType) -> Value:
    """The numbers back; the largest integer is a NaN as it stands."""
    negative = w.compare("LT", key, w.splat(0, key))
    bits = w.select(negative, w.op("xor", key, w.splat(np.iinfo(key.dtype).max, key)), key)
    return w.op("bitcast_convert", bits, dtype=dtype)


def _exact_keys(w: Writer, x: Value) -> list[Value]:
    """Whether a number is NaN, then the number: for targets without 64-bit integers of a float's bits."""
    nan = w.is_nan(x)
    return [w.convert(nan, I8), w.select(nan, w.splat(0, x), x)]


def _complex_keys(w: Writer, x: Value) -> list[Value]:
    """Which parts are NaN (neither, the imaginary, the real one, both), then the parts: NumPy's order."""
    part = real_dtype(x.dtype)
    re, im = w.op("real", x, dtype=part), w.op("imag", x, dtype=part)
    (no_re, re), (no_im, im) = _exact_keys(w, re), _exact_keys(w, im)
    return [w.add(w.add(no_re, no_re), no_im), re, im]


def _sort_complex(w: Writer, x: Value, axis: int) -> Value:
    missing, re, im = _sorted(w, _complex_keys(w, x), 3, axis)
    nan = w.splat(np.nan, re)
    re = w.select(w.compare("GE", missing, w.splat(2, missing)), nan, re)
    im = w.select(w.nonzero(w.both(missing, w.splat(1, missing))), nan, im)
    return w.op("complex", re, im, dtype=x.dtype)


# ---- Fourier transforms --------------------------------------------------------------------------

_MOST = 3  # axes that XLA transforms at once: the last ones


def fourier(w: Writer, name: str, x: Value, attrs: FourierAttrs, shape: Shape, dtype: DType) -> Value:
    """np.fft.fft, ifft, rfft, irfft along some axes, in the precision of the result."""
    if 0 in shape:
        return w.constant(0, shape, dtype)
    real = real_dtype(dtype)
    x = w.convert(x, real if name == "rfft" else np.result_type(real, np.complex64))
    if len(attrs.axes) <= _MOST:
        return _transform(w, name, x, attrs.axes, shape, dtype)
    *others, last = attrs.axes
    if name == "rfft":
        half = (*x.shape[:last], shape[last], *x.shape[last + 1 :])
        return _complex(w, "fft", _transform(w, name, x, (last,), half, dtype), others)
    if name == "irfft":
        return _transform(w, name, _complex(w, "ifft", x, others), (last,), shape, dtype)
    return _complex(w, name, x, attrs.axes)


def _complex(w: Writer, name: str, x: Value, axes: Sequence[int]) -> Value:
    for k in range(0, len(axes), _MOST):
        x = _transform(w, name, x, axes[k : k + _MOST], x.shape, x.dtype)
    return x


def _transform(w: Writer, name: str, x: Value, axes: Sequence[int], shape: Shape, dtype: DType) -> Value:
    order = [*(i for i in range(len(shape)) if i not in axes), *axes]
    real = x if name == "rfft" else None
    lengths = [(shape if real is None else real.shape)[a] for a in axes]
    attrs = f"type = {name.upper()}, length = [{', '.join(map(str, lengths))}]"
    y = w.op("fft", w.transpose(x, order), shape=tuple(shape[i] for i in order), dtype=dtype, attrs=attrs)
    return w.transpose(y, [order.index(i) for i in range(len(shape))])
