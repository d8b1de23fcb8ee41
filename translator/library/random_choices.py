"""Integers, permutations and choices, as `jax.random` makes them. Integers are int32, in 64-bit precision int64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..precision import PRECISION
from .random_draws import drawn_gumbel, drawn_uniform
from .random_keys import drawn_bits, one_key, split
from .random_support import (
    any_dtype,
    check_probability,
    concrete_size,
    drawn_dtype,
    drawn_shape,
    float_facts,
    int_dtype,
    integer_bounds,
    shape_of,
    sorting_rounds,
    unsigned_of,
)
from .support import one_axis, product
from .windows import top_k


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Uniform integers in [minval, maxval), which broadcast to `shape`. TypeError for a dtype that is no integer's."""
    whole = one_key("randint", key)
    wanted = int_dtype("randint", dtype, PRECISION.x64)
    size = drawn_shape("randint", shape_of(shape), np.shape(minval), np.shape(maxval))
    if wanted.itemsize >= 4:
        return _integers(whole, size, minval, maxval, wanted)
    info = np.iinfo(wanted)
    low = np.clip(np.asarray(minval).astype(np.int32), int(info.min), int(info.max))
    high = np.clip(np.asarray(maxval).astype(np.int32), int(info.min), int(info.max) + 1)
    return _integers(whole, size, low, high, np.dtype(np.int32)).astype(wanted)


def _integers(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    """Two words for each number: the remainder of one of twice the length is uniform to 2**-32 of the span."""
    low, high = _whole(minval), _whole(maxval)
    least, most, _ = integer_bounds(low.dtype, dtype)
    bottom, top, wider = integer_bounds(high.dtype, dtype)
    beyond = (high > top) & wider
    low, high = np.clip(low, least, most).astype(dtype), np.clip(high, bottom, top).astype(dtype)
    keys, words = split(key), unsigned_of(dtype)
    span = np.subtract(high.astype(words), low.astype(words))
    span = np.where(high <= low, words.type(1), np.add(span, (beyond & (high > low)).astype(words)))
    upper, lower = drawn_bits(keys[0], shape, words), drawn_bits(keys[1], shape, words)
    part = np.remainder(words.type(1 << 4 * words.itemsize), span)
    part = np.remainder(np.multiply(part, part), span)
    offset = np.add(np.multiply(np.remainder(upper, span), part), np.remainder(lower, span))
    return np.add(low, np.remainder(offset, span).astype(dtype))


def _whole(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind in "iu" else x.astype(np.int64)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """True with probability p. `mode` "high" has more digits for small p. TypeError where p is no float."""
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    whole = one_key("bernoulli", key)
    check_probability(np.result_type(p))
    dtype = drawn_dtype(np.result_type(p), PRECISION.x64)
    size, p = drawn_shape("bernoulli", shape, np.shape(p)), np.asarray(p).astype(dtype)
    if mode == "low":
        return drawn_uniform(whole, size, dtype) < p
    u = drawn_uniform(whole, (2, *size), dtype)
    return u[1] * 2.0 ** -float_facts(dtype)[3] < p - u[0]


def rademacher(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """1 and -1, as often the one as the other, of dtype int32 by default, int64 in 64-bit precision."""
    whole = one_key("rademacher", key)
    wanted = any_dtype(dtype, PRECISION.x64)
    heads = drawn_uniform(whole, shape_of(shape), drawn_dtype(np.float64, PRECISION.x64)) < 0.5
    return (2 * heads.astype(wanted) - 1).astype(wanted)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """`x`, or 0, ..., x - 1 for an integer, in random order along an axis; `independent`: each line in its own."""
    whole = one_key("permutation", key)
    if np.ndim(x) == 0:
        n = concrete_size(x, "x")
        return _shuffled(whole, np.arange(n, dtype=any_dtype(None, PRECISION.x64)), 0)
    i = one_axis(axis, np.ndim(x))
    x = np.asarray(x)
    if independent or x.ndim == 1:
        return _shuffled(whole, x, i)
    return np.take(x, _shuffled(whole, np.arange(x.shape[i]), 0), axis=i)


def _shuffled(key: Any, x: Any, axis: int) -> Any:
    """Sorted by random keys, as often as makes equal ones harmless."""
    for _ in tuple(range(sorting_rounds(x.size))):
        keys = split(key)
        key = keys[0]
        order = np.argsort(drawn_bits(keys[1], x.shape, np.dtype(np.uint32)), axis=axis, kind="stable")
        x = np.take_along_axis(x, order, axis)
    return x


def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, mode: Any = None
) -> Any:
    """Entries of `a` along an axis, or of 0, ..., a - 1 for an integer, each with probability p, or equal ones.

    Raises ValueError for more entries than there are without replacement, and for p of another length.
    """
    whole = one_key("choice", key)
    size = shape_of(shape)
    flat = np.ndim(a) == 0
    i = 0 if flat else one_axis(axis, np.ndim(a))
    n, draws = concrete_size(a, "a") if flat else np.shape(a)[i], product(size)
    if draws == 0:
        return np.zeros(size, np.result_type(a))
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(f"Cannot take a larger sample (size {draws}) than population (size {n}) when 'replace=False'")
    if p is not None and np.shape(p) != (n,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. "
            f"p has shape {np.shape(p)} and a.shape[axis] is {n}."
        )
    if p is None and not replace:
        found = permutation(key, a, i)[(slice(None),) * i + (slice(draws),)]
        return found.reshape(size if flat else (*np.shape(a)[:i], *size, *np.shape(a)[i + 1 :]))
    places = _places(whole, n, size, p, replace, mode)
    return places.reshape(size) if flat else np.take(np.asarray(a), places.reshape(size), axis=i)


def _places(key: Any, n: int, shape: Any, p: Any, replace: bool, mode: Any) -> Any:
    whole = any_dtype(None, PRECISION.x64)
    if p is None:
        return _integers(key, shape, 0, n, whole)
    p = np.asarray(p).astype(drawn_dtype(np.result_type(p), PRECISION.x64))
    if replace:
        total = np.cumsum(p)
        return np.searchsorted(total, total[-1] * (1 - drawn_uniform(key, shape, p.dtype))).astype(whole)
    return top_k(drawn_gumbel(key, (n,), p.dtype, mode) + np.log(p), product(shape))[1].astype(whole)


def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True, mode: Any = None
) -> Any:
    """Places along an axis with probabilities softmax(logits). Without `replace` those that lead in `shape` differ."""
    whole = one_key("categorical", key)
    i = one_axis(axis, np.ndim(logits))
    rest = (*np.shape(logits)[:i], *np.shape(logits)[i + 1 :])
    size = drawn_shape("categorical", shape, rest)
    lead = size[: len(size) - len(rest)]
    x = np.asarray(logits).astype(drawn_dtype(np.result_type(logits), PRECISION.x64))
    if replace:
        kept = size[len(lead) :]
        g = drawn_gumbel(whole, (*lead, *kept[:i], x.shape[i], *kept[i:]), x.dtype, mode)
        return np.argmax(g + x, axis=len(lead) + i).astype(any_dtype(None, PRECISION.x64))
    k = product(lead)
    if k > x.shape[i]:
        raise ValueError(
            f"Number of samples without replacement ({k}) cannot exceed number of categories ({x.shape[i]})."
        )
    x = x + drawn_gumbel(whole, x.shape, x.dtype, mode)
    places = top_k(np.moveaxis(x, i, -1), k)[1]
    return np.moveaxis(places, -1, 0).reshape(size).astype(any_dtype(None, PRECISION.x64))


FUNCTIONS = (randint, bernoulli, rademacher, permutation, choice, categorical)
