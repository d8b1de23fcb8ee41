"""Special functions as NumPy source; named as in scipy.special. Those that count in a loop are in `incomplete.py`.

But for sums over axes (`logsumexp`, `softmax`, `log_softmax`) all work element by element on arguments that
broadcast, and the result is of the shape to which they do. Its dtype is the widest of the arguments', float64 where
these are integers or bool. Outside its domain a function is NaN. Complex numbers raise DTypeError where no formula for
them is known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.bessel import i0, i0e, i1, i1e
from ..ops.bessel_waves import j0, j1, y0, y1
from ..ops.beta import betaln
from ..ops.foreign import FUNCTIONS
from ..ops.gamma import digamma, gamma, gammaln
from ..ops.implicit import sloped
from ..ops.normal import log_ndtr, ndtr
from ..ops.selection import stop_gradient
from ..ops.special import erf, erfc, erfcinv, erfcx, erfinv
from .bessel import iv, ive, jv, k0, k0e, k1, k1e, kn, kv, kve, yv
from .incomplete import betainc, betaincc, doubles, gammainc, gammaincc
from .integrals import ellipe, ellipk, ellipkm1, exp1, expi, hyp1f1, spence
from .support import comb_of, factorial_of, float_of, is_known, is_whole, known, perm_of, real_float_of


def _floats(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(float_of(x.dtype))


def _reals(x: Any) -> Any:
    x = np.asarray(x)
    return x.astype(real_float_of(x.dtype))


# ---- sums of exponentials ------------------------------------------------------------------------


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: Any = False, return_sign: Any = False, where: Any = None
) -> Any:
    """log(sum(b * exp(a))), without overflow, of the elements where `where`, which JAX has, is True if that is given;
    with `return_sign` log(abs(sum)) and the sign."""
    a = _floats(a)
    if where is not None:
        a = np.where(where, a, -np.inf).astype(a.dtype)
    if b is not None:
        b = np.asarray(b)
        a, b = np.broadcast_arrays(np.where(b == 0, -np.inf, a).astype(a.dtype), b)
    x = np.real(a)
    m = np.max(x, axis=axis, keepdims=True, initial=-np.inf) if 0 in x.shape else np.max(x, axis=axis, keepdims=True)
    m = stop_gradient(np.where(np.isfinite(m), m, 0.0).astype(m.dtype))
    e = np.exp(a - m) if b is None else b * np.exp(a - m)
    s = np.sum(e, axis=axis, keepdims=True)
    if known(return_sign):
        sign = np.sign(s)
        value = np.log(np.absolute(s)) + m
        return (value, sign) if keepdims else (np.squeeze(value, axis=axis)[()], np.squeeze(sign, axis=axis)[()])
    value = np.log(s) + m
    return value if keepdims else np.squeeze(value, axis=axis)[()]


def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)), without overflow."""
    x = np.asarray(x)
    e = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow; of the shape of `x`."""
    x = np.asarray(x)
    d = x - stop_gradient(np.max(x, axis=axis, keepdims=True))
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


# ---- the logistic function -----------------------------------------------------------------------


def expit(x: Any) -> Any:
    """The logistic function, which overflows nowhere: exp(x) / (1 + exp(x)), of -|x| and mirrored. Element by element,
    of any shape; floats keep their dtype, integers become float64.
    """
    x = _floats(x)
    e = np.exp(np.where(x < 0, x, -x))  # of -|x|, whose derivative at 0 would be 0
    return (np.where(x < 0, e, 1.0) / (1.0 + e)).astype(x.dtype)[()]


def log_expit(x: Any) -> Any:
    """log(expit(x)) = -log(1 + exp(-x)), without overflow. Element by element, of any shape; floats keep their dtype,
    integers become float64.
    """
    return -np.logaddexp(0.0, -_reals(x))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow. Element by element, of any shape; floats keep their dtype, integers become
    float64.
    """
    return np.logaddexp(0.0, _reals(x))


def logit(x: Any) -> Any:
    """log(x / (1 - x)); between 0.3 and 0.65 by log1p, which is exact around 0.5."""
    x = _reals(x)
    middle = (x > 0.3) & (x < 0.65)
    s = 2.0 * (np.where(middle, x, 0.5) - 0.5)
    far = np.where(middle, 0.3, x)
    value = np.where(middle, np.log1p(s) - np.log1p(-s), np.log(far / (1.0 - far))).astype(x.dtype)
    return sloped(stop_gradient(value), x, 1.0 / (x * (1.0 - x)))[()]


# ---- entropies -----------------------------------------------------------------------------------


def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x is 0 and log(y) is no number; elsewhere log(y) is the derivative there."""
    zero = (x == 0) & _has_no_log(y)
    return np.where(zero, 0.0, x * np.log(np.where(zero, 1.0, y)))[()]


def xlog1py(x: Any, y: Any) -> Any:
    """x log1p(y), and 0 where x is 0 and y is not NaN."""
    zero = (x == 0) & _has_no_log(np.asarray(y) + 1)
    return np.where(zero, 0.0, x * np.log1p(np.where(zero, 0.0, y)))[()]


def _has_no_log(y: Any) -> Any:
    y = np.asarray(y)
    return (y == 0) | np.isinf(y) if y.dtype.kind == "c" else (y <= 0) | (y == np.inf)


def entr(x: Any) -> Any:
    """-x log(x), 0 at 0 and -inf below."""
    x = _reals(x)
    safe = np.where(x > 0, x, 1.0)
    y = np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -safe * np.log(safe)))
    return np.where(np.isnan(x), x, y).astype(x.dtype)[()]


def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y), 0 where x is 0 and y is not negative, inf outside the domain."""
    x, y = np.broadcast_arrays(_reals(x), _reals(y))
    both = (x > 0) & (y > 0)
    inside = np.where(both, x, 1.0) * np.log(np.where(both, x, 1.0) / np.where(both, y, 1.0))
    value = np.where(both, inside, np.where((x == 0) & (y >= 0), 0.0, np.inf))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, value).astype(inside.dtype)[()]


def kl_div(x: Any, y: Any) -> Any:
    """x log(x / y) - x + y for positive x and y, y where x is 0, else inf."""
    value = rel_entr(x, y)
    return np.where(np.isinf(value), value, value - x + y).astype(value.dtype)[()]


# ---- the normal distribution ---------------------------------------------------------------------


def ndtri(y: Any) -> Any:
    """The inverse of ndtr."""
    return -1.4142135623730951 * erfcinv(2.0 * _reals(y))


# ---- powers and exponentials ---------------------------------------------------------------------


def exp10(x: Any) -> Any:
    """10**x."""
    return np.power(10.0, _reals(x))


def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, and 1 at 0."""
    x = _reals(x)
    small = np.absolute(x) < 0.01  # where the derivatives of the quotient would cancel
    safe = np.where(small, 1.0, x)
    series = 1.0 + x * (1 / 2 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x / 5040)))))
    high = np.where(np.isposinf(x), np.inf, np.expm1(safe) / safe)
    return np.where(small, series, high).astype(x.dtype)[()]


def cosm1(x: Any) -> Any:
    """cos(x) - 1, exact near 0: -2 sin(x / 2)**2."""
    s = np.sin(0.5 * _reals(x))
    return -2.0 * s * s


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, and log(x) where lmbda is 0."""
    return _power_less_one(np.log(_reals(x)), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), exact near 0."""
    return _power_less_one(np.log1p(_reals(x)), lmbda)


def _power_less_one(log: Any, power: Any) -> Any:
    """expm1(power * log) / power, and log where power is 0."""
    power = _reals(power)
    t = power * log
    small = np.absolute(t) < 0.01
    safe = np.where(small | (power == 0), 1.0, power)
    value = np.where(small, log * exprel(np.where(small, t, 0.0)), np.expm1(safe * log) / safe)
    return np.where((np.absolute(power) < 1e-150) & np.isinf(log), log, value).astype(np.result_type(log, power))[()]


def _log1p_by(y: Any, power: Any) -> Any:
    """log1p(power * y) / power, and y where power is 0."""
    t = power * y
    small = np.absolute(t) < 0.01
    safe = np.where(small | (power == 0), 1.0, power)
    s = np.where(small, t, 0.0)
    series = 1.0 - s * (1 / 2 - s * (1 / 3 - s * (1 / 4 - s * (1 / 5 - s * (1 / 6 - s * (1 / 7 - s / 8))))))
    return np.where(small | (power == 0), y * series, np.log1p(safe * y) / safe)


def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """The x of which `boxcox` with this lmbda is y."""
    y, power = _reals(y), _reals(lmbda)
    return np.exp(_log1p_by(y, power)).astype(np.result_type(y, power))[()]


def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """The x of which `boxcox1p` with this lmbda is y."""
    y, power = _reals(y), _reals(lmbda)
    return np.expm1(_log1p_by(y, power)).astype(np.result_type(y, power))[()]


# ---- losses --------------------------------------------------------------------------------------


def huber(delta: Any, r: Any) -> Any:
    """r**2 / 2 where |r| <= delta, delta (|r| - delta / 2) elsewhere; inf where delta < 0."""
    delta, r = _reals(delta), _reals(r)
    a = np.absolute(r)
    value = np.where(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta))
    return np.where(delta < 0, np.inf, value).astype(value.dtype)[()]


def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta**2 (sqrt(1 + (r / delta)**2) - 1); 0 where delta or r is 0, inf where delta < 0."""
    delta, r = _reals(delta), _reals(r)
    safe = np.where(delta > 0, delta, 1.0)
    s = (r / safe) ** 2
    value = safe * safe * s / (np.sqrt(1.0 + s) + 1.0)
    flat = (delta == 0) | ((r == 0) & ~np.isfinite(delta))
    return np.where(delta < 0, np.inf, np.where(flat, 0.0, value)).astype(value.dtype)[()]


# ---- gamma and beta ------------------------------------------------------------------------------


def rgamma(x: Any) -> Any:
    """1 / gamma(x), which is 0 at the poles of gamma."""
    x = _reals(x)
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(pole, 0.0, 1.0 / gamma(np.where(pole, 1.0, x))).astype(x.dtype)[()]


def gammasgn(x: Any) -> Any:
    """The sign of gamma(x)."""
    x = _reals(x)
    below = np.floor(x)
    sign = np.where((x > 0) | (below % 2 == 0), 1.0, -1.0)
    sign = np.where(x == 0, np.copysign(1.0, x), np.where((x < 0) & (x == below), np.nan, sign))
    return np.where(np.isnan(x), x, sign).astype(x.dtype)[()]


def loggamma(z: Any) -> Any:
    """Of real numbers: NaN below 0."""
    z = _reals(z)
    return np.where(z < 0, np.nan, gammaln(np.where(z < 0, 1.0, z))).astype(z.dtype)[()]


def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function of dimension d, a known int; real a > (d - 1) / 2."""
    a, d = _reals(a), known(d)
    value = gammaln(a)
    for j in tuple(range(1, d)):
        value = value + gammaln(a - j / 2)
    return value + d * (d - 1) / 4 * 1.1447298858494002


def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b)."""
    a, b, dtype = doubles(a, b)
    small = (np.absolute(a) < 60) & (np.absolute(b) < 60)
    direct = gamma(np.where(small, a, 1.0)) * (gamma(np.where(small, b, 1.0)) * rgamma(np.where(small, a + b, 1.0)))
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    value = np.where(small, direct, sign * np.exp(betaln(np.where(small, 1.0, a), np.where(small, 1.0, b))))
    return value.astype(dtype)[()]


def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of (q + k) ** -x; Riemann's without `q`, for every x. Arguments broadcast; the
    result is of their common dtype, float64 for integers.

    By the formula of Euler and Maclaurin after ten terms: Abramowitz and Stegun 23.1.30.
    """
    whole = int(x) if q is not None and is_known(x) and is_whole(x) and x > 1 else None
    x = _reals(x)
    if q is not None:
        return _hurwitz(x, _reals(q))[()] if whole is None else _of_polygamma(whole - 1, x, _reals(q))[()]
    low = x < 0.5
    s = np.where(low, 1.0 - x, x)
    value = _hurwitz(s, np.ones_like(s))
    turned = value * 2.0 * np.power(2.0 * np.pi, -s) * gamma(s) * np.cos(0.5 * np.pi * (s % 4.0))
    at_zero = np.absolute(x) < 1e-12
    return np.where(at_zero, -0.5, np.where(low & ~at_zero, turned, value)).astype(x.dtype)[()]


def _of_polygamma(n: int, x: Any, q: Any) -> Any:
    """zeta(n + 1, q), below 0 too, where it is real for whole n alone."""
    value = polygamma(n, q) / gamma(n + 1.0)
    return (value if n % 2 else -value).astype(np.result_type(x, q))


def _hurwitz(s: Any, q: Any) -> Any:
    s, q = np.broadcast_arrays(s, q)
    inside = (s > 1.0) & (q > 0.0)
    riemann = (q == 1.0) & (s > 0.0) & (s != 1.0)
    s_in, q_in = np.where(inside | riemann, s, 2.0), np.where(inside, q, 1.0)
    total = np.zeros_like(s_in)
    for k in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0):
        total = total + np.power(q_in + k, -s_in)
    w = q_in + 10.0
    power = np.power(w, -s_in)
    term = s_in * power / w
    rest = power * (0.5 + w / (s_in - 1.0))
    step = 1.0
    for c in _BERNOULLI:
        rest = rest + c * term
        term = term * (s_in + step) * (s_in + step + 1.0) / (w * w)
        step += 2.0
    value = np.where(inside | riemann, total + rest, np.nan * q)  # no slope either
    value = np.where((s == 1.0) | ((s > 1.0) & (q <= 0.0) & (q == np.floor(q))), np.inf, value)
    value = np.where((s > 200.0) & (q == 1.0), 1.0, value)
    return np.where(np.isnan(s) | np.isnan(q), np.nan, value).astype(total.dtype)


# B(2 k) / (2 k)!, k from 1
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip


def polygamma(n: Any, x: Any) -> Any:
    """The nth derivative of digamma at x; n may be an array. NaN where n is no whole number, as powers of -1 are.
    Arguments broadcast; the result is of their common dtype, float64 for integers.
    """
    order_of_all, given = n, _reals(x)
    n, x = np.broadcast_arrays(np.asarray(n), given)
    x = x.astype(np.result_type(real_float_of(n.dtype), x))
    order = np.maximum(n, 1).astype(x.dtype)
    sign = np.where(n % 2 == 0, -1.0, np.where(n % 2 == 1, 1.0, np.nan))
    if is_whole(order_of_all) and int(order_of_all) > 0:
        below = (x < 0.0) & (x != np.floor(x))
        higher = sign * gamma(order + 1.0) * _hurwitz(order + 1.0, np.where(below, 1.0 - x, x))
        turned = _cotangent_slope(int(order_of_all), np.where(below, x, 0.5))
        return np.where(below, -sign * higher - turned, higher).astype(x.dtype)
    higher = sign * gamma(order + 1.0) * _hurwitz(order + 1.0, x)
    return np.where(n == 0, digamma(np.where(n == 0, x, 1.0)), higher).astype(x.dtype)


def _cotangent_slope(n: int, x: Any) -> Any:
    """The nth derivative of pi / tan(pi x), a polynomial in the cotangent c: dc/dx = -pi (1 + c^2)."""
    powers = [0.0, 1.0]
    for _ in tuple(range(n)):
        slope = [k * powers[k] for k in tuple(range(1, len(powers)))]
        powers = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    c = 1.0 / np.tan(np.pi * (x - np.rint(x)))
    value = np.zeros_like(c)
    for p in tuple(reversed(powers)):
        value = value * c + p
    return np.pi ** (n + 1) * value


def factorial(n: Any, exact: Any = False) -> Any:
    """gamma(n + 1), and 0 below 0; with `exact` of a known integer."""
    if known(exact):
        return factorial_of(known(n))
    n = np.asarray(n)
    value = gamma(np.where(n < 0, 0, n) + 1.0).astype(np.float32 if n.dtype == np.float32 else np.float64)
    whole = n.dtype.kind in "iu"
    return np.where(n < 0, 0.0, np.rint(value) if whole else value).astype(value.dtype)[()]


def binom(x: Any, y: Any) -> Any:
    """Binomial coefficients, by a product where y or its mirror image is a small integer; NaN for x = -1, -2, ..."""
    x, y, dtype = doubles(x, y)
    mirrored = (x == np.floor(x)) & (y > 0.5 * x) & (y <= x)
    k = np.where(mirrored, x - y, y)
    short = (k == np.floor(k)) & (k >= 0) & (k < 20)
    top, bottom = np.ones_like(k), np.ones_like(k)
    for i in tuple(range(1, 20)):
        top = np.where(i <= k, top * (x - (k - i)), top)
        bottom = np.where(i <= k, bottom * i, bottom)
    inside = (x > -1) & (y > -1) & (x - y > -1)
    used = inside | ~short
    p, r = np.where(used, 1.0 + x - y, 1.0), np.where(used, 1.0 + y, 1.0)
    general = 1.0 / ((1.0 + np.where(used, x, 1.0)) * beta(p, r))
    product = top / bottom
    exact = np.where(inside & np.isfinite(general), _like(product, general), product)
    beyond = (x == np.floor(x)) & (x < y) & ((x > 0) | ~short)
    none = (y == np.floor(y)) & ((y < 0) | beyond)
    value = np.where(none, 0.0, np.where(short, exact, general))
    return np.where((x < 0) & (x == np.floor(x)), np.nan, value).astype(dtype)[()]


def _like(value: Any, smooth: Any) -> Any:
    """`value`, with the derivatives of a smooth function that has the same value, up to rounding."""
    return stop_gradient(value) + (smooth - stop_gradient(smooth))


def comb(N: Any, k: Any, *, exact: Any = False, repetition: Any = False) -> Any:
    """Ways to choose k of N, as floating-point numbers."""
    if known(exact):
        return comb_of(known(N), known(k), known(repetition))
    N, k = np.asarray(N), np.asarray(k)
    if known(repetition):
        return comb(N + k - 1, k)
    some = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(some, binom(np.where(some, N, 1), np.where(some, k, 1)), 0.0)[()]


def perm(N: Any, k: Any, exact: Any = False) -> Any:
    """Ordered ways to choose k of N."""
    if known(exact):
        return perm_of(known(N), known(k))
    N, k = np.asarray(N), np.asarray(k)
    some = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(some, poch(np.where(some, N - k, 0) + 1.0, np.where(some, k, 1)), 0.0)[()]


def poch(z: Any, m: Any) -> Any:
    """gamma(z + m) / gamma(z)."""
    z, m, dtype = doubles(z, m)
    small = (np.absolute(z) < 60) & (np.absolute(z + m) < 60)
    direct = gamma(np.where(small, z + m, 1.0)) * rgamma(np.where(small, z, 1.0))
    large = np.exp(gammaln(np.where(small, 1.0, z + m)) - gammaln(np.where(small, 1.0, z)))
    value = np.where(small, direct, gammasgn(z + m) * gammasgn(z) * large)
    none = np.where(np.isfinite(value), _like(1.0, np.where(np.isfinite(value), value, 1.0)), 1.0)
    return np.where(m == 0, none, value).astype(dtype)[()]


psi = digamma
jn, yn = jv, yv

SCIPY_NAMES: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "expit": expit,
    "log_expit": log_expit,
    "logit": logit,
    "softplus": softplus,
    "xlogy": xlogy,
    "xlog1py": xlog1py,
    "entr": entr,
    "rel_entr": rel_entr,
    "kl_div": kl_div,
    "ndtri": ndtri,
    "exp10": exp10,
    "exprel": exprel,
    "cosm1": cosm1,
    "boxcox": boxcox,
    "boxcox1p": boxcox1p,
    "inv_boxcox": inv_boxcox,
    "inv_boxcox1p": inv_boxcox1p,
    "huber": huber,
    "pseudo_huber": pseudo_huber,
    "rgamma": rgamma,
    "gammasgn": gammasgn,
    "loggamma": loggamma,
    "multigammaln": multigammaln,
    "beta": beta,
    "zeta": zeta,
    "polygamma": polygamma,
    "factorial": factorial,
    "binom": binom,
    "comb": comb,
    "perm": perm,
    "poch": poch,
    "gammainc": gammainc,
    "gammaincc": gammaincc,
    "betainc": betainc,
    "betaincc": betaincc,
    "jv": jv,
    "jn": jv,
    "yv": yv,
    "yn": yv,
    "iv": iv,
    "ive": ive,
    "kv": kv,
    "kn": kn,
    "kve": kve,
    "k0": k0,
    "k1": k1,
    "k0e": k0e,
    "k1e": k1e,
    "exp1": exp1,
    "expi": expi,
    "spence": spence,
    "ellipk": ellipk,
    "ellipkm1": ellipkm1,
    "ellipe": ellipe,
    "hyp1f1": hyp1f1,
}
ROWS: dict[str, Callable[..., Any]] = {
    "erf": erf,
    "erfc": erfc,
    "erfcx": erfcx,
    "erfinv": erfinv,
    "erfcinv": erfcinv,
    "gamma": gamma,
    "gammaln": gammaln,
    "digamma": digamma,
    "psi": psi,
    "betaln": betaln,
    "ndtr": ndtr,
    "log_ndtr": log_ndtr,
    "i0": i0,
    "i0e": i0e,
    "i1": i1,
    "i1e": i1e,
    "j0": j0,
    "j1": j1,
    "y0": y0,
    "y1": y1,
}
"""What has a row among the operations; by SciPy's names."""
NUMPY_TWINS = {name: name for name in ("exp2", "expm1", "log1p", "cbrt")} | {"round": "rint"}
"""SciPy's names of what NumPy has too, and NumPy's."""


def __getattr__(name: str) -> Any:
    """What has SciPy's values, which printed derivatives call."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [*SCIPY_NAMES, *ROWS]
