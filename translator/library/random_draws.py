"""Continuous distributions whose numbers are a function of as many uniform ones, as `jax.random` makes them.

`shape` is the shape of the result; where it may be None, that of the parameters, which broadcast to it. `dtype` is
float32, in 64-bit precision float64 (`translator/precision`); float16, bfloat16, float32 and float64 may be asked for,
and parameters are converted to it. Raises ValueError for other dtypes and for parameters that do not broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.random import normal_root
from ..ops.selection import stop_gradient
from ..ops.special import erf
from ..precision import PRECISION
from .random_keys import drawn_bits, one_key, split
from .random_support import (
    drawn_dtype,
    drawn_shape,
    float_dtype,
    float_facts,
    one_in_bits,
    real_of,
    shape_of,
    unsigned_of,
)
from .support import is_known

_ROOT_OF_TWO = 1.4142135623730951


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Uniform in [minval, maxval), which broadcast to `shape`."""
    whole = one_key("uniform", key)
    wanted = float_dtype("uniform", dtype, PRECISION.x64)
    return drawn_uniform(whole, shape_of(shape), wanted, minval, maxval)


def drawn_uniform(key: Any, shape: Any, dtype: Any, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """`uniform` of a key of 64 bits."""
    u = _unit(key, shape, dtype)
    if is_known(minval) and is_known(maxval) and np.shape(minval) == np.shape(maxval) == ():
        if minval == 0 and maxval == 1:
            return u
    low, high = np.asarray(minval).astype(dtype), np.asarray(maxval).astype(dtype)
    return np.maximum(low, u * (high - low) + low)


def _unit(key: Any, shape: Any, dtype: Any) -> Any:
    """Random bits as the mantissa of a number in [1, 2), less 1."""
    if dtype.name == "bfloat16":
        bits = drawn_bits(key, shape, np.dtype(np.uint8)).astype(np.uint32)
        return ((bits >> 1 << 16 | 0x3F800000).view(np.float32) - 1.0).astype(dtype)
    bits = drawn_bits(key, shape, unsigned_of(dtype))
    drop = 8 * dtype.itemsize - float_facts(dtype)[3]
    return (bits >> drop | one_in_bits(dtype)).view(dtype) - dtype.type(1.0)


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of mean 0 and variance 1; of a complex dtype real and imaginary parts have variance 1/2. By the inverse of the
    distribution function, of as many uniform numbers.
    """
    whole = one_key("normal", key)
    wanted = float_dtype("normal", dtype, PRECISION.x64, "fc")
    return drawn_normal(whole, shape_of(shape), wanted)


def drawn_normal(key: Any, shape: Any, dtype: Any) -> Any:
    """`normal` of a key of 64 bits."""
    if dtype.kind == "c":
        parts = split(key)
        re, im = drawn_normal(parts[0], shape, real_of(dtype)), drawn_normal(parts[1], shape, real_of(dtype))
        return (re.astype(dtype) + 1j * im.astype(dtype)) / dtype.type(_ROOT_OF_TWO)
    return _of_uniform(drawn_uniform(key, shape, dtype, float_facts(dtype)[4], 1.0))


def _of_uniform(u: Any) -> Any:
    return u.dtype.type(_ROOT_OF_TWO) * normal_root(u)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1 in the open interval (lower, upper), whose ends broadcast to `shape`."""
    whole = one_key("truncated_normal", key)
    wanted = float_dtype("truncated_normal", dtype, PRECISION.x64)
    size = drawn_shape("truncated_normal", shape, np.shape(lower), np.shape(upper))
    low, high = np.asarray(lower).astype(wanted), np.asarray(upper).astype(wanted)
    root = wanted.type(_ROOT_OF_TWO)
    x = _of_uniform(drawn_uniform(whole, size, wanted, erf(low / root), erf(high / root)))
    first = np.nextafter(stop_gradient(low), wanted.type(np.inf))
    return np.clip(x, first, np.nextafter(stop_gradient(high), wanted.type(-np.inf)))


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Any:
    """exp(sigma * x) of normal x; `sigma` broadcasts to `shape`."""
    whole = one_key("lognormal", key)
    wanted = float_dtype("lognormal", dtype, PRECISION.x64, "fc")
    size = drawn_shape("lognormal", shape, np.shape(sigma))
    return np.exp(drawn_normal(whole, size, wanted) * np.asarray(sigma).astype(wanted))


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of density exp(-x), x >= 0: mean 1."""
    whole = one_key("exponential", key)
    wanted = float_dtype("exponential", dtype, PRECISION.x64)
    return drawn_exponential(whole, shape_of(shape), wanted)


def drawn_exponential(key: Any, shape: Any, dtype: Any) -> Any:
    return -np.log1p(-drawn_uniform(key, shape, dtype))


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: Any = None) -> Any:
    """Of distribution function exp(-exp(-x)). `mode` "high" has more digits in the upper tail; "low" is the default."""
    whole = one_key("gumbel", key)
    wanted = float_dtype("gumbel", dtype, PRECISION.x64)
    return drawn_gumbel(whole, shape_of(shape), wanted, mode)


def drawn_gumbel(key: Any, shape: Any, dtype: Any, mode: Any) -> Any:
    tiny, _, _, digits, _ = float_facts(dtype)
    if mode == "high":
        u = drawn_uniform(key, (2, *shape), dtype)
        x = np.where(u[0] >= 0.5, u[0], u[0] + 2.0**-digits * u[1] + tiny)
        return -np.log(-np.log1p(-x))
    if mode is not None and mode != "low":
        raise ValueError(f"gumbel has the modes 'low' and 'high', not {mode!r}")
    return -np.log(-np.log(drawn_uniform(key, shape, dtype, tiny, 1.0)))


def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of density exp(-|x|) / 2: mean 0, variance 2."""
    whole = one_key("laplace", key)
    wanted = float_dtype("laplace", dtype, PRECISION.x64)
    u = drawn_uniform(whole, shape_of(shape), wanted, -1.0 + float_facts(wanted)[2], 1.0)
    return np.sign(u) * np.log1p(-np.abs(u))


def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of distribution function 1 / (1 + exp(-x)): mean 0, variance pi ** 2 / 3."""
    whole = one_key("logistic", key)
    wanted = float_dtype("logistic", dtype, PRECISION.x64)
    u = drawn_uniform(whole, shape_of(shape), wanted, float_facts(wanted)[0], 1.0)
    return np.log(u) - np.log1p(-u)


def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Of density 1 / (pi (x * x + 1)), which has no mean."""
    whole = one_key("cauchy", key)
    wanted = float_dtype("cauchy", dtype, PRECISION.x64)
    u = drawn_uniform(whole, shape_of(shape), wanted, float_facts(wanted)[1], 1.0)
    return np.tan(wanted.type(np.pi) * (u - wanted.type(0.5)))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of density b / x ** (b + 1), x >= 1; b > 0 broadcasts to `shape`."""
    whole = one_key("pareto", key)
    wanted = float_dtype("pareto", dtype, PRECISION.x64)
    size = drawn_shape("pareto", shape, np.shape(b))
    return np.exp(drawn_exponential(whole, size, wanted) / np.asarray(b).astype(wanted))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of density x exp(-x * x / (2 scale ** 2)) / scale ** 2, x >= 0; `scale` broadcasts to `shape`."""
    whole = one_key("rayleigh", key)
    wanted = float_dtype("rayleigh", dtype, PRECISION.x64)
    size = drawn_shape("rayleigh", shape, np.shape(scale))
    with np.errstate(divide="ignore"):
        log = np.log(drawn_uniform(whole, size, wanted))
    return np.asarray(scale).astype(wanted) * np.sqrt(log * wanted.type(-2.0))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """scale * e ** (1 / concentration) of exponential e; the parameters broadcast to `shape`."""
    whole = one_key("weibull_min", key)
    wanted = float_dtype("weibull_min", dtype, PRECISION.x64)
    return drawn_exponential(whole, shape_of(shape), wanted) ** (1.0 / concentration) * scale


def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """The length of a vector of three normal numbers, of density sqrt(2 / pi) x ** 2 exp(-x ** 2 / 2)."""
    whole = one_key("maxwell", key)
    wanted = float_dtype("maxwell", dtype, PRECISION.x64)
    return np.linalg.norm(drawn_normal(whole, (*shape_of(shape), 3), wanted), axis=-1)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """loc + scale * m with a sign of its own, m of `maxwell`. The result's shape is `shape`, then the parameters'."""
    keys = split(one_key("double_sided_maxwell", key))
    wanted = float_dtype("double_sided_maxwell", dtype, PRECISION.x64)
    parameters = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    size = (shape_of(shape) or parameters) + parameters
    sign = drawn_sign(keys[1], size, wanted)
    return sign * maxwell(keys[0], size, wanted) * scale + loc


def drawn_sign(key: Any, shape: Any, dtype: Any) -> Any:
    """1 and -1, as often the one as the other."""
    heads = drawn_uniform(key, shape, drawn_dtype(np.float64, PRECISION.x64)) < 0.5
    return (2 * heads.astype(dtype) - 1).astype(dtype)


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Of a density that rises from 0 at `left` to `mode` and falls to 0 at `right`; all broadcast to `shape`."""
    whole = one_key("triangular", key)
    wanted = float_dtype("triangular", dtype, PRECISION.x64)
    size = drawn_shape("triangular", shape, np.shape(left), np.shape(mode), np.shape(right))
    low, middle, high = [np.asarray(p).astype(wanted) for p in (left, mode, right)]
    u = drawn_uniform(whole, size, wanted)
    rising = low + np.sqrt(u * (high - low) * (middle - low))
    falling = high - np.sqrt((1 - u) * (high - low) * (high - middle))
    return np.where(u < (middle - low) / (high - low), rising, falling)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Inverse Gaussian of scale 1: J. Michael, W. Schucany, R. Haas, The American Statistician 30 (1976)."""
    keys = split(one_key("wald", key))
    wanted = float_dtype("wald", dtype, PRECISION.x64)
    size = drawn_shape("wald", shape, np.shape(mean))
    m = np.asarray(mean).astype(wanted)
    v, z = drawn_normal(keys[0], size, wanted), drawn_uniform(keys[1], size, wanted)
    y = v * v
    x = m + m * m * y / 2 - m / 2 * np.sqrt(4 * m * y + m * m * (y * y))
    return np.where(z <= m / (m + x), x, m * m / x)


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: Any = "cholesky"
) -> Any:
    """Vectors of this mean (..., n) and covariance (..., n, n): shape (*shape, n), to which both broadcast. `method`,
    "cholesky", "eigh" or "svd", takes the root of the covariance; ValueError for another one, and for shapes that do
    not fit.
    """
    whole = one_key("multivariate_normal", key)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    given = drawn_dtype(np.result_type(mean, cov), PRECISION.x64)
    wanted = given if dtype is None else float_dtype("multivariate_normal", dtype, PRECISION.x64)
    if np.ndim(mean) < 1 or np.ndim(cov) < 2 or np.shape(cov)[-2:] != (np.shape(mean)[-1], np.shape(mean)[-1]):
        raise ValueError(
            "multivariate_normal requires mean.shape == (..., n) and cov.shape == (..., n, n), "
            f"but got {np.shape(mean)} and {np.shape(cov)}"
        )
    size = drawn_shape("multivariate_normal", shape, np.shape(mean)[:-1], np.shape(cov)[:-2])
    m, c = np.asarray(mean).astype(given), np.asarray(cov).astype(given)
    x = drawn_normal(whole, (*size, m.shape[-1]), wanted)
    return m + np.einsum("...ij,...j->...i", _root(c, method), x)


def _root(c: Any, method: Any) -> Any:
    if method == "svd":
        u, s, _ = np.linalg.svd(c)
        return u * np.sqrt(s[..., None, :])
    if method == "eigh":
        w, v = np.linalg.eigh(c)
        return v * np.sqrt(w[..., None, :])
    return np.linalg.cholesky(c)


def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: Any = None) -> Any:
    """Matrices with orthonormal columns, or rows where they are more, uniform among all: shape (*shape, n, m), of which
    m is n by default.
    """
    whole = one_key("orthogonal", key)
    wanted = float_dtype("orthogonal", dtype, PRECISION.x64, "fc")
    columns = n if m is None else m
    z = drawn_normal(whole, (*shape_of(shape), max(n, columns), min(n, columns)), wanted)
    q, r = np.linalg.qr(z)
    x = q * np.expand_dims(np.sign(np.diagonal(r, axis1=-2, axis2=-1)), -2)
    return x.mT if n < columns else x


FUNCTIONS = (
    uniform, normal, truncated_normal, lognormal, exponential, gumbel, laplace, logistic, cauchy, pareto, rayleigh,
    weibull_min, maxwell, double_sided_maxwell, triangular, wald, multivariate_normal, orthogonal,
)  # fmt: skip
