"""The gamma distribution and those that are made of it, as `jax.random` draws them: each element has a key of its own.

G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000). Parameters may be
differentiated: `ops/implicit`. Shapes and dtypes are as in `random_draws`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.implicit import gamma_draw, loggamma_draw
from ..ops.random import threefry2x32
from ..ops.selection import stop_gradient
from ..precision import PRECISION
from .random_draws import drawn_exponential, drawn_normal, drawn_sign, drawn_uniform
from .random_keys import counters, one_key, split
from .random_support import drawn_shape, float_dtype, shape_of
from .special import softmax


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of density x ** (a - 1) exp(-x) / gamma(a), x > 0; a > 0 broadcasts to `shape`. Differentiable in a."""
    whole = one_key("gamma", key)
    wanted = float_dtype("gamma", dtype, PRECISION.x64)
    return drawn_gamma(whole, a, drawn_shape("gamma", shape, np.shape(a)), wanted)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Any:
    """log(x) of such x, which does not underflow for small `a`."""
    whole = one_key("loggamma", key)
    wanted = float_dtype("loggamma", dtype, PRECISION.x64)
    return drawn_loggamma(whole, a, drawn_shape("loggamma", shape, np.shape(a)), wanted)


def drawn_gamma(key: Any, a: Any, shape: Any, dtype: Any) -> Any:
    alpha = np.asarray(a).astype(dtype)
    fixed = stop_gradient(alpha)
    d, v, last = _cubes(key, fixed, shape, dtype)
    boost = np.where(fixed >= 1, 1, (1 - drawn_uniform(last, (), dtype)) ** (1 / fixed))
    return gamma_draw(alpha, (d * v * boost).astype(dtype))


def drawn_loggamma(key: Any, a: Any, shape: Any, dtype: Any) -> Any:
    alpha = np.asarray(a).astype(dtype)
    fixed = stop_gradient(alpha)
    d, v, last = _cubes(key, fixed, shape, dtype)
    log = -drawn_exponential(last, (), dtype)
    boost = np.where((fixed >= 1) | (log == 0), 0, log * (1 / fixed))
    return loggamma_draw(alpha, (np.log(d) + np.log(v) + boost).astype(dtype))


def _cubes(key: Any, alpha: Any, shape: Any, dtype: Any) -> Any:
    """d and v with d * v gamma distributed, of parameter alpha, alpha + 1 where that is less than 1; unused keys."""
    keys = threefry2x32(key, counters(shape))
    left, last = _child(keys, 0), _child(keys, 1)
    d = np.where(alpha >= 1, alpha, alpha + dtype.type(1)) - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / np.sqrt(d)
    v = np.ones(shape, dtype)
    trying = np.broadcast_to(d == d, shape)
    while np.any(trying):
        x, y = _above_zero(_child(left, 1), c, trying)
        u = drawn_uniform(_child(left, 2), (), dtype)
        left = _child(left, 0)
        square, cube = x * x, y * y * y
        v = np.where(trying, cube, v)
        log = np.log(np.where(trying, cube, 1))
        with np.errstate(divide="ignore"):
            log_u = np.log(u)
        outside = log_u >= square * dtype.type(0.5) + d * (1 - cube + log)
        trying = trying & (u >= 1 - dtype.type(0.0331) * (square * square)) & outside
    return d, v, last


def _above_zero(keys: Any, c: Any, wanted: Any) -> Any:
    """Normal x with 1 + c * x > 0, and that, where `wanted`."""
    x = np.zeros(wanted.shape, c.dtype)
    y = np.where(wanted, -1, 1).astype(c.dtype)
    while np.any(y <= 0):
        new = drawn_normal(_child(keys, 1), (), c.dtype)
        keys = _child(keys, 0)
        x, y = np.where(y <= 0, new, x), np.where(y <= 0, 1 + new * c, y)
    return x, y


def _child(keys: Any, n: int) -> Any:
    """Element n of the split of each key."""
    return threefry2x32(keys, np.uint32(n))


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of density proportional to x ** (a - 1) (1 - x) ** (b - 1), 0 < x < 1; a, b > 0 broadcast to `shape`."""
    keys = split(one_key("beta", key))
    wanted = float_dtype("beta", dtype, PRECISION.x64)
    size = drawn_shape("beta", shape, np.shape(a), np.shape(b))
    x, y = drawn_loggamma(keys[0], a, size, wanted), drawn_loggamma(keys[1], b, size, wanted)
    top = np.maximum(x, y)
    p, q = np.exp(x - top), np.exp(y - top)
    return p / (p + q)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Vectors of positive numbers with sum 1: shape (*shape, n) for `alpha` of shape (..., n), whose leading axes
    broadcast to `shape`. ValueError where `alpha` has no axis.
    """
    whole = one_key("dirichlet", key)
    wanted = float_dtype("dirichlet", dtype, PRECISION.x64)
    if np.ndim(alpha) < 1:
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    size = (*drawn_shape("dirichlet", shape, np.shape(alpha)[:-1]), np.shape(alpha)[-1])
    return softmax(drawn_loggamma(whole, alpha, size, wanted), axis=-1)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The sum of `df` squares of normal numbers, `df` any positive number; it broadcasts to `shape`."""
    whole = one_key("chisquare", key)
    wanted = float_dtype("chisquare", dtype, PRECISION.x64)
    return _drawn_chisquare(whole, df, drawn_shape("chisquare", shape, np.shape(df)), wanted)


def _drawn_chisquare(key: Any, df: Any, shape: Any, dtype: Any) -> Any:
    return np.exp(drawn_loggamma(key, np.asarray(df).astype(dtype) / 2, shape, dtype)) * 2


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Student's distribution of `df` degrees of freedom, any positive number; it broadcasts to `shape`."""
    keys = split(one_key("t", key))
    wanted = float_dtype("t", dtype, PRECISION.x64)
    size, half = drawn_shape("t", shape, np.shape(df)), np.asarray(df).astype(wanted) / 2
    return drawn_normal(keys[0], size, wanted) * np.sqrt(half / drawn_gamma(keys[1], half, size, wanted))


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Any:
    """The quotient of two chi-square numbers, each over its degrees of freedom; both broadcast to `shape`."""
    keys = split(one_key("f", key))
    wanted = float_dtype("f", dtype, PRECISION.x64)
    size = drawn_shape("f", shape, np.shape(dfnum), np.shape(dfden))
    above, below = np.asarray(dfnum).astype(wanted), np.asarray(dfden).astype(wanted)
    return (_drawn_chisquare(keys[1], above, size, wanted) / above) / (
        _drawn_chisquare(keys[0], below, size, wanted) / below
    )


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of density proportional to exp(-|x| ** p), for one p > 0."""
    keys = split(one_key("generalized_normal", key))
    wanted, size = float_dtype("generalized_normal", dtype, PRECISION.x64), shape_of(shape)
    return drawn_sign(keys[1], size, wanted) * drawn_gamma(keys[0], 1 / p, size, wanted) ** (1 / p)


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Any:
    """Points of the unit ball of the p-norm in d dimensions: shape (*shape, d)."""
    keys = split(one_key("ball", key))
    wanted, size = float_dtype("ball", dtype, PRECISION.x64), shape_of(shape)
    g = generalized_normal(keys[0], p, (*size, d), wanted)
    e = drawn_exponential(keys[1], size, wanted)
    return g / np.expand_dims((np.sum(np.abs(g) ** p, axis=-1) + e) ** (1 / p), -1)


FUNCTIONS = (gamma, loggamma, beta, dirichlet, chisquare, t, f, generalized_normal, ball)
