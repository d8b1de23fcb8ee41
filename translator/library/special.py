"""Special functions as NumPy source; named as in scipy.special."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.selection import stop_gradient
from ..ops.special import digamma, erf, erfc, gammaln

SQRT_HALF = 0.7071067811865476


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: Any = False) -> Any:
    """log(sum(b * exp(a))), without overflow."""
    a = np.asarray(a)
    m = np.max(a, axis=axis, keepdims=True)
    m = stop_gradient(np.where(np.isfinite(m), m, 0.0))
    e = np.exp(a - m) if b is None else b * np.exp(a - m)
    s = np.log(np.sum(e, axis=axis, keepdims=True)) + m
    return s if keepdims else np.squeeze(s, axis=axis)[()]


def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)), without overflow."""
    x = np.asarray(x)
    e = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    x = np.asarray(x)
    d = x - stop_gradient(np.max(x, axis=axis, keepdims=True))
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def expit(x: Any) -> Any:
    """The logistic function, which overflows nowhere: 1 / (1 + exp(-x)) as half a tangent."""
    return 0.5 * np.tanh(0.5 * x) + 0.5


def log_expit(x: Any) -> Any:
    return -np.logaddexp(0.0, -x)


def logit(x: Any) -> Any:
    return np.log(x / (1.0 - x))


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x is 0."""
    zero = (x == 0) & ~np.isnan(y)
    return np.where(zero, 0.0, x * np.log(np.where(zero, 1.0, y)))[()]


def xlog1py(x: Any, y: Any) -> Any:
    zero = (x == 0) & ~np.isnan(y)
    return np.where(zero, 0.0, x * np.log1p(np.where(zero, 0.0, y)))[()]


def entr(x: Any) -> Any:
    """-x log(x), 0 at 0 and -inf below."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(np.isnan(x), x, np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -safe * np.log(safe))))[()]


def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y), 0 where x is 0 and y is not negative, inf outside the domain."""
    both = (x > 0) & (y > 0)
    inside = np.where(both, x, 1.0) * np.log(np.where(both, x, 1.0) / np.where(both, y, 1.0))
    value = np.where(both, inside, np.where((x == 0) & (y >= 0), 0.0, np.inf))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, value)[()]


def kl_div(x: Any, y: Any) -> Any:
    value = rel_entr(x, y)
    return np.where(np.isinf(value), value, value - x + y)[()]


def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return 0.5 * erfc(-x * SQRT_HALF)


def exp10(x: Any) -> Any:
    return np.power(10.0, x)


def betaln(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


psi = digamma

SCIPY_NAMES: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "expit": expit,
    "log_expit": log_expit,
    "logit": logit,
    "xlogy": xlogy,
    "xlog1py": xlog1py,
    "entr": entr,
    "rel_entr": rel_entr,
    "kl_div": kl_div,
    "ndtr": ndtr,
    "exp10": exp10,
    "betaln": betaln,
    "digamma": digamma,
    "psi": digamma,
}

__all__ = [*SCIPY_NAMES, "erf", "erfc", "gammaln"]
