"""The logarithm of the beta function: a row, since its derivative, a difference of digammas, is simpler than it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import Aval, DType
from .core import Elementwise
from .gamma import digamma, gammaln, stirling_rest
from .samples import POSITIVE


def _loop(avals: Sequence[Aval]) -> tuple[tuple[DType, ...], DType]:
    """The dtypes of np.arctan2, which has no complex numbers."""
    if any(a.dtype.kind == "c" for a in avals):
        raise DTypeError("this special function is for real numbers")
    *dtypes, dtype = np.arctan2.resolve_dtypes((*((float if a.weak else a.dtype) for a in avals), None))
    return tuple(dtypes), dtype


def betaln_source(a: Any, b: Any) -> Any:
    """log(abs(beta(a, b))); of large numbers by Stirling's formula, in which nothing cancels."""
    dtype = a.dtype
    a, b = a.astype(np.float64), b.astype(np.float64)
    p, q = np.where(a < b, a, b), np.where(a < b, b, a)
    large, both = (q >= 12.0) & (p + q >= 12.0), p >= 12.0
    z = np.where(large, q, 12.0)
    s = np.where(large, p, 1.0)
    ratio = np.log1p(s / z)
    rest = stirling_rest(z) - stirling_rest(z + s)  # of log(gamma(z) / gamma(z + s))
    one = gammaln(s) + rest - (z - 0.5) * ratio - s * np.log(z + s) + s
    w = np.where(both, p, 12.0)
    two = 0.9189385332046727 - 0.5 * np.log(w) + stirling_rest(w) + rest - w * np.log1p(z / w) - (z - 0.5) * ratio
    plain = gammaln(p) + gammaln(q) - gammaln(p + q)
    value = np.where(both, two, np.where(large, one, plain))
    end = np.where(np.isinf(p), np.nan, -np.inf)
    return np.where(np.isinf(q) & (p > 0), end, value).astype(dtype)


def betaln(a: Any, b: Any) -> Any:
    """log(abs(beta(a, b))), of any two that broadcast."""
    a, b = np.asarray(a), np.asarray(b)
    (dtype, _), _ = _loop([Aval((), a.dtype), Aval((), b.dtype)])
    with np.errstate(all="ignore"):
        return np.asarray(betaln_source(a.astype(dtype), b.astype(dtype))).astype(dtype)[()]


def d_betaln_a(a: Any, b: Any, y: Any) -> Any:
    return digamma(a) - digamma(a + b)


def d_betaln_b(a: Any, b: Any, y: Any) -> Any:
    return digamma(b) - digamma(a + b)


BETALN = Elementwise(
    name="betaln", numpy="untraced.scipy.special.betaln", evaluate=betaln, arity=2, loop=_loop,
    partials=(d_betaln_a, d_betaln_b), decompose=betaln_source, samples=(POSITIVE, POSITIVE),
)  # fmt: skip
