"""Discrete distributions, as `jax.random` draws them: all elements of a call share the keys of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..precision import PRECISION
from .random_draws import drawn_uniform
from .random_keys import one_key, split
from .random_support import drawn_dtype, drawn_shape, float_dtype, int_dtype

_SINGLE = np.dtype(np.float32)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many trials of probability p the first success takes: 1, 2, ..., of an integer dtype; p broadcasts to
    `shape`.
    """
    whole = one_key("geometric", key)
    wanted = int_dtype("geometric", dtype, PRECISION.x64)
    size = drawn_shape("geometric", shape, np.shape(p))
    p = np.asarray(p).astype(drawn_dtype(np.result_type(p), PRECISION.x64))
    u = drawn_uniform(whole, size, p.dtype)
    return (np.floor(np.log(np.where(u == 0, 1, u)) / np.log1p(-p)) + 1).astype(wanted)


# ---- poisson -------------------------------------------------------------------------------------


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of probabilities lam ** k exp(-lam) / k!, computed in single precision; -1 where lam is negative or NaN."""
    whole = one_key("poisson", key)
    wanted = int_dtype("poisson", dtype, PRECISION.x64)
    size = drawn_shape("poisson", shape, np.shape(lam))
    rate = np.broadcast_to(np.asarray(lam).astype(_SINGLE), size)
    small = np.isnan(rate) | (rate < 10)
    with np.errstate(all="ignore"):
        few = _poisson_few(whole, np.where(small, rate, 0), size, wanted)
        many = _poisson_many(whole, np.where(small, 1e5, rate).astype(_SINGLE), ~small, size, wanted)
    return np.where(rate == 0, 0, np.where(small, few, many)).astype(wanted)


def _poisson_few(key: Any, rate: Any, shape: Any, dtype: Any) -> Any:
    """How many uniform numbers have a product above exp(-rate): D. Knuth, The Art of Computer Programming 2, 3.4.1."""
    k = np.zeros(shape, dtype)
    log = np.zeros(shape, _SINGLE)
    while np.any(log > -rate):
        keys = split(key)
        key = keys[0]
        k = np.where(log > -rate, k + 1, k).astype(dtype)
        log = log + np.log(drawn_uniform(keys[1], shape, _SINGLE))
    return k - 1


def _poisson_many(key: Any, rate: Any, wanted: Any, shape: Any, dtype: Any) -> Any:
    """Transformed rejection: W. Hoermann, Insurance: Mathematics and Economics 12 (1993), PTRS."""
    log = np.log(rate)
    b = np.float32(0.931) + np.float32(2.53) * np.sqrt(rate)
    a = np.float32(-0.059) + np.float32(0.02483) * b
    inverse = np.float32(1.1239) + np.float32(1.1328) / (b - np.float32(3.4))
    most = np.float32(0.9277) - np.float32(3.6224) / (b - 2)
    found = np.full(shape, -1, _SINGLE)
    done = np.full(shape, ~np.any(wanted))
    while np.any(~done):
        keys = split(key, 3)
        key = keys[0]
        u = drawn_uniform(keys[1], shape, _SINGLE) - np.float32(0.5)
        v = drawn_uniform(keys[2], shape, _SINGLE)
        rest = np.float32(0.5) - np.abs(u)
        k = np.floor((2 * a / rest + b) * u + rate + np.float32(0.43))
        s = np.log(v * inverse / (a / (rest * rest) + b))
        accepted = s <= -rate + k * log - _log_factorial(np.where(k < 0, 0, k))
        refused = (k < 0) | ((rest < np.float32(0.013)) & (v > rest))
        accepted = ((rest >= np.float32(0.07)) & (v <= most)) | (~refused & accepted)
        found = np.where(accepted, k, found)  # the last that is accepted while any is sought: so the numbers are JAX's
        done = done | accepted
    return found.astype(dtype)


# ---- binomial ------------------------------------------------------------------------------------


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of n trials succeed, each with probability p, as floats; NaN where n or p is none."""
    whole = one_key("binomial", key)
    wanted = float_dtype("binomial", dtype, PRECISION.x64)
    size = drawn_shape("binomial", shape, np.shape(n), np.shape(p))
    chance = drawn_dtype(np.result_type(p), PRECISION.x64)
    return drawn_binomial(whole, n, np.asarray(p).astype(chance), size, wanted)


def drawn_binomial(key: Any, n: Any, p: Any, shape: Any, dtype: Any) -> Any:
    count = np.broadcast_to(np.asarray(n).astype(p.dtype), shape)
    p = np.broadcast_to(p, shape)
    rare = p < 0.5
    q = np.where(rare, p, 1 - p)
    no_count, infinite = np.isnan(count) | (count < 0), np.isinf(count)
    no_chance = np.isnan(q) | (q < 0)
    q = np.where(no_chance, 0.01, q).astype(p.dtype)
    few = no_count | (count * q <= 10)
    whole = np.floor(count)
    with np.errstate(all="ignore"):
        low = _binomial_few(key, np.where(few, whole, 0), q, shape, dtype)
        many = np.where(few, 1e4, whole), np.where(few, 0.5, q).astype(p.dtype)
        high = _binomial_many(key, *many, ~few, shape, dtype)
    found = np.where(few, low, high)
    found = np.where(no_chance | no_count, np.nan, np.where(infinite, np.inf, found))
    kept = rare | no_count | np.isnan(p) | infinite
    return np.where(kept, found, whole.astype(dtype) - found).astype(dtype)


def _binomial_few(key: Any, count: Any, q: Any, shape: Any, dtype: Any) -> Any:
    """How many geometric numbers have a sum of at most `count`."""
    log = np.log1p(-q)
    k, total = np.zeros(shape, q.dtype), np.zeros(shape, q.dtype)
    while np.any(total <= count):
        keys = split(key)
        key = keys[1]
        k = np.where(total <= count, k + 1, k)
        total = total + np.ceil(np.log(drawn_uniform(keys[0], shape, q.dtype)) / log)
    return (k - 1).astype(dtype)


def _binomial_many(key: Any, count: Any, q: Any, wanted: Any, shape: Any, dtype: Any) -> Any:
    """Transformed rejection: W. Hoermann, Journal of Statistical Computation and Simulation 46 (1993), BTRS."""
    count = count.astype(q.dtype)
    deviation = np.sqrt(count * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = count * q + 0.5
    most = 0.92 - 4.2 / b
    odds = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * deviation
    m = np.floor((count + 1) * q)
    mode = (m + 0.5) * np.log((m + 1) / (odds * (count - m + 1)))
    rests = _stirling_rest(m), _stirling_rest(count - m)
    found = np.full(shape, -1, q.dtype)
    done = np.full(shape, ~np.any(wanted))
    while np.any(~done):
        keys = split(key, 3)
        key = keys[0]
        u = drawn_uniform(keys[1], shape, q.dtype) - 0.5
        v = drawn_uniform(keys[2], shape, q.dtype)
        rest = 0.5 - np.abs(u)
        k = np.floor((2 * a / rest + b) * u + c)
        outside = (k < 0) | (k > count)
        j = np.where(outside, 0, k)
        bound = (
            mode
            + (count + 1) * np.log((count - m + 1) / (count - j + 1))
            + (j + 0.5) * np.log(odds * (count - j + 1) / (j + 1))
            + rests[0]
            + rests[1]
            - _stirling_rest(j)
            - _stirling_rest(count - j)
        )
        inside = ~outside & (np.log(v * alpha / (a / (rest * rest) + b)) <= bound)
        accepted = ((rest >= 0.07) & (v <= most)) | inside
        found = np.where(accepted, k, found)
        done = done | accepted
    return found.astype(dtype)


# log(k!) - (log(sqrt(2 pi)) + (k + 0.5) log(k + 1) - (k + 1)) for k = 0, ..., 9
_STIRLING = (
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
    0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_rest(k: Any) -> Any:
    """What Stirling's formula lacks for log(k!)."""
    square = (k + 1) * (k + 1)
    rest = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    table = np.array(_STIRLING, k.dtype)
    return np.where(k <= 9, table[np.where((k >= 0) & (k <= 9), k, 0).astype(np.int32)], rest)


def _log_factorial(k: Any) -> Any:
    """log(k!) by Stirling's formula, which is good to the last digit with what it lacks."""
    one = k + 1
    return ((k + 0.5) * np.log(one) - one) + (0.9189385332046727 + _stirling_rest(k))


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1) -> Any:
    """How often each of the outcomes along the last axis of `p` comes in n trials. `unroll` changes nothing here."""
    whole = one_key("multinomial", key)
    wanted = float_dtype("multinomial", dtype, PRECISION.x64)
    chance = drawn_dtype(np.result_type(p), PRECISION.x64)
    size = np.shape(p) if shape is None else drawn_shape("multinomial", shape, np.shape(p))
    p = np.broadcast_to(np.asarray(p).astype(chance), size)
    left = np.broadcast_to(np.asarray(n).astype(chance), size[:-1])
    rest = np.flip(np.cumsum(np.flip(p, -1), axis=-1), -1)
    ratios = np.clip(p / np.where(rest == 0, 1, rest), 0, 1)
    keys = split(whole, size[-1])
    counts = np.empty(size, chance)
    for i in range(size[-1]):
        count = drawn_binomial(keys[i], left, ratios[..., i], size[:-1], chance)
        counts[..., i] = count
        left = left - count
    return counts.astype(wanted)


FUNCTIONS = (geometric, poisson, binomial, multinomial)
