"""Polynomials by their coefficients, the highest power first, as NumPy source.

What NumPy trims (leading zeros of a product, of a remainder) has a size that depends on the data: `polymul`, `polydiv`
and `roots` are for derivatives and batches only, where there must be nothing to trim. Objects (`Poly1d`, the series of
numpy.polynomial) keep such zeros there: their values are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rearranging import vander
from .statistics import polyval
from .support import check_fit, check_fit_weights, float_of, is_known, known, real_kind


def polyadd(a1: Any, a2: Any) -> Any:
    p, q = _aligned(a1, a2)
    return p + q


def polysub(a1: Any, a2: Any) -> Any:
    p, q = _aligned(a1, a2)
    return p - q


def _aligned(a1: Any, a2: Any) -> Any:
    p, q = np.atleast_1d(a1), np.atleast_1d(a2)
    n = max(p.shape[0], q.shape[0])
    return (
        np.concatenate([np.zeros(n - p.shape[0], dtype=p.dtype), p]),
        np.concatenate([np.zeros(n - q.shape[0], dtype=q.dtype), q]),
    )


def polyder(p: Any, m: Any = 1) -> Any:
    p, m = np.asarray(p), known(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in tuple(range(m)):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    p, m = np.asarray(p), known(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in tuple(range(m)):
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), constants[i : i + 1]])
    return p


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with given roots, or with the eigenvalues of a matrix as roots; of real numbers."""
    roots = np.atleast_1d(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0] != 0:
        real = real_kind(roots.dtype)
        return np.real(_from_roots(np.linalg.eigvals(roots.astype(complex)))).astype(real)
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if roots.shape[0] == 0:
        return 1.0
    return _from_roots(roots.astype(np.float64 if roots.dtype == np.float16 else real_kind(roots.dtype)))


def _from_roots(roots: Any) -> Any:
    p = np.ones(1, dtype=roots.dtype)
    for i in tuple(range(roots.shape[0])):
        p = np.convolve(p, np.stack([np.ones_like(roots[i]), -roots[i]]))
    return p


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    """Least squares by np.linalg.lstsq on scaled powers of x."""
    count, x, y = int(known(deg)) + 1, np.asarray(x) + 0.0, np.asarray(y) + 0.0
    check_fit(count, x.shape, y.shape)
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    a, b = vander(x, count), y
    if w is not None:
        w = np.asarray(w) + 0.0
        check_fit_weights(w.shape, y.shape)
        a, b = a * w[:, None], b * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(a * a, axis=0))
    c, residuals, rank, s = np.linalg.lstsq(a / scale, b, rcond)
    c = (c.T / scale).T
    if known(full):
        return c, residuals, rank, s, rcond
    if not known(cov):
        return c
    scaled = a / scale
    base = np.linalg.inv(scaled.T @ scaled) / np.outer(scale, scale)
    if cov == "unscaled":
        return c, base if y.ndim == 1 else base[:, :, None] * 1
    if x.shape[0] <= count:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    factor = residuals / (x.shape[0] - count)
    return c, base * factor if y.ndim == 1 else base[:, :, None] * factor


# ---- numpy.polynomial ----------------------------------------------------------------------------


def values_at_points(val_f: Any, c: Any, *args: Any) -> Any:
    """A series of several variables at points, one array of coordinates for each variable."""
    places = [np.asarray(a) for a in args]
    if not all([a.shape == places[0].shape for a in places]):
        raise ValueError("arguments must have the same shape")
    c = val_f(places[0], c)
    for x in places[1:]:
        c = val_f(x, c, tensor=False)
    return c


def values_on_grid(val_f: Any, c: Any, *args: Any) -> Any:
    for x in args:
        c = val_f(x, c)
    return c


def fit_series(
    vander_f: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None
) -> Any:
    """Least squares for a series with all degrees up to `deg`, or with those listed in it."""
    deg, x, y = known(deg), np.asarray(x) + 0.0, np.asarray(y) + 0.0
    degrees = (deg,) if isinstance(deg, int | np.integer) else deg
    highest = max(degrees)
    check_fit(min(degrees) + 1, x.shape, y.shape)
    a, b = vander_f(x, highest), y
    if not isinstance(deg, int | np.integer):
        a = a[:, np.sort(np.array(deg))]
    if w is not None:
        w = np.asarray(w) + 0.0
        check_fit_weights(w.shape, y.shape)
        a, b = a * w[:, None], b * (w[:, None] if y.ndim == 2 else w)
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    scale = np.sqrt(np.sum(np.real(a * np.conjugate(a)), axis=0))
    scale = np.where(scale == 0, 1.0, scale).astype(scale.dtype)
    c, residuals, rank, s = np.linalg.lstsq(a / scale, b, rcond)
    c = (c.T / scale).T
    if not isinstance(deg, int | np.integer):
        some = c
        c = np.zeros((highest + 1, *some.shape[1:]), dtype=some.dtype)
        c[np.sort(np.array(deg))] = some
    return (c, [residuals, rank, s, rcond]) if known(full) else c


def polyval2d(x: Any, y: Any, c: Any) -> Any:
    return values_at_points(np.polynomial.polynomial.polyval, c, x, y)


def polyval3d(x: Any, y: Any, z: Any, c: Any) -> Any:
    return values_at_points(np.polynomial.polynomial.polyval, c, x, y, z)


def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    return values_on_grid(np.polynomial.polynomial.polyval, c, x, y)


def polygrid3d(x: Any, y: Any, z: Any, c: Any) -> Any:
    return values_on_grid(np.polynomial.polynomial.polyval, c, x, y, z)


NUMPY_NAMES = {name: name for name in ("polyadd", "polysub", "polyder", "polyint", "poly", "polyfit")} | {
    "polynomial.polyutils._valnd": "values_at_points",
    "polynomial.polyutils._gridnd": "values_on_grid",
    "polynomial.polyutils._fit": "fit_series",
    **{f"polynomial.polynomial.{n}": n for n in ("polyval2d", "polyval3d", "polygrid2d", "polygrid3d")},
}


# ---- under derivatives and in batches ------------------------------------------------------------


def roots(p: Any) -> Any:
    """As complex numbers; ValueError where NumPy would leave out coefficients that are zero at either end."""
    c = np.atleast_1d(np.asarray(p))
    if c.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if np.any(c[:1] == 0) or np.any(c[-1:] == 0):
        raise ValueError("np.roots has no derivative where the first or the last coefficient is zero")
    n = c.shape[0] - 1
    if n < 1:
        return np.zeros(0)
    first = -(c[1:] / c[0])
    companion = np.concatenate([first[None], np.eye(n - 1, n).astype(first.dtype)])
    return np.linalg.eigvals(companion)


def polymul(a1: Any, a2: Any) -> Any:
    """ValueError where NumPy would leave out leading zeros."""
    a, b = np.atleast_1d(np.asarray(a1)), np.atleast_1d(np.asarray(a2))
    if np.any(a[:1] == 0) or np.any(b[:1] == 0):
        raise ValueError("np.polymul has no derivative where a leading coefficient is zero")
    return np.convolve(a, b)


def polydiv(u: Any, v: Any) -> Any:
    """The remainder has one coefficient less than the divisor; ValueError where NumPy would leave out more."""
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    n = v.shape[0]
    terms = max(u.shape[0] - n + 1, 1)
    q = np.zeros(terms, dtype=np.result_type(u, v))
    r = u.astype(q.dtype)
    if u.shape[0] >= n:
        for k in range(terms):
            q[k] = r[k] / v[0]
            r[k : k + n] -= q[k] * v
        r = r[terms:] if n > 1 else r[-1:]
    if r.shape[0] > 1 and np.abs(r[0]) <= 1e-8:  # what np.allclose takes for zero
        raise ValueError("np.polydiv has no derivative where the remainder has leading zeros")
    return q, r


class Poly1d:
    """np.poly1d. Its coefficients can be read, not assigned."""

    __untraced_class__ = np.poly1d

    def __init__(self, coeffs: Any, variable: Any) -> None:
        self.coeffs = coeffs
        self.variable = variable

    @property
    def order(self) -> Any:
        return len(self.coeffs) - 1

    @property
    def roots(self) -> Any:
        return np.roots(self.coeffs)

    @property
    def c(self) -> Any:
        return self.coeffs

    coef = coefficients = c
    o = order
    r = roots

    def __call__(self, val: Any) -> Any:
        return _substituted(self.coeffs, val) if isinstance(val, Poly1d) else np.polyval(self.coeffs, val)

    def __getitem__(self, power: Any) -> Any:
        known(power)
        return self.coeffs[self.order - power] if 0 <= power <= self.order else 0.0

    def __len__(self) -> int:
        return len(self.coeffs) - 1

    def __iter__(self) -> Any:
        return iter(self.coeffs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.coeffs, dtype=dtype)

    def __neg__(self) -> Any:
        return Poly1d(-self.coeffs, "x")

    def __pos__(self) -> Any:
        return self

    def __add__(self, other: Any) -> Any:
        return Poly1d(np.polyadd(self.coeffs, _coefficients(other)), "x")

    def __sub__(self, other: Any) -> Any:
        return Poly1d(np.polysub(self.coeffs, _coefficients(other)), "x")

    def __rsub__(self, other: Any) -> Any:
        return Poly1d(np.polysub(_coefficients(other), self.coeffs), "x")

    def __mul__(self, other: Any) -> Any:
        return Poly1d(np.convolve(self.coeffs, _coefficients(other)), "x")

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not isinstance(other, Poly1d):
            return Poly1d(self.coeffs / other, "x")
        quotient, rest = np.polydiv(self.coeffs, _coefficients(other))
        return Poly1d(quotient, "x"), Poly1d(rest, "x")

    def __pow__(self, val: Any) -> Any:
        made = np.ones(1)
        for _ in tuple(range(known(val))):
            made = np.convolve(self.coeffs, made)
        return Poly1d(made, "x")

    def integ(self, m: Any = 1, k: Any = 0) -> Any:
        return Poly1d(np.polyint(self.coeffs, m, k), "x")

    def deriv(self, m: Any = 1) -> Any:
        return Poly1d(np.polyder(self.coeffs, m), "x")


def _of_same_class(coeffs: Any, *given: Any) -> Any:
    """What NumPy makes of coefficients: a poly1d where one was given."""
    return Poly1d(coeffs, "x") if any([isinstance(p, Poly1d) for p in given]) else coeffs


def added(a1: Any, a2: Any) -> Any:
    return _of_same_class(polyadd(_coefficients(a1), _coefficients(a2)), a1, a2)


def subtracted(a1: Any, a2: Any) -> Any:
    return _of_same_class(polysub(_coefficients(a1), _coefficients(a2)), a1, a2)


def multiplied(a1: Any, a2: Any) -> Any:
    return _of_same_class(polymul(_coefficients(a1), _coefficients(a2)), a1, a2)


def divided(u: Any, v: Any) -> Any:
    quotient, rest = polydiv(_coefficients(u), _coefficients(v))
    return _of_same_class(quotient, u, v), _of_same_class(rest, u, v)


def derived(p: Any, m: Any = 1) -> Any:
    return _of_same_class(polyder(_coefficients(p), m), p)


def integrated(p: Any, m: Any = 1, k: Any = None) -> Any:
    return _of_same_class(polyint(_coefficients(p), m, k), p)


def valued(p: Any, x: Any) -> Any:
    return _substituted(_coefficients(p), x) if isinstance(x, Poly1d) else polyval(_coefficients(p), x)


def _coefficients(p: Any) -> Any:
    return p.coeffs if isinstance(p, Poly1d) else np.atleast_1d(p)


def _substituted(coeffs: Any, val: Any) -> Any:
    """One polynomial of another, by Horner's rule."""
    made = Poly1d(np.zeros(1), "x")
    for i in tuple(range(coeffs.shape[0])):
        made = made * val + coeffs[i]
    return made


def poly1d(c_or_r: Any, r: Any = False, variable: Any = None) -> Any:
    coeffs = np.poly(c_or_r) if known(r) else _coefficients(c_or_r)
    if coeffs.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    return Poly1d(coeffs, "x" if variable is None else variable)


def series(alist: Any, trim: Any = True) -> Any:
    """The coefficients of each, in one dtype; known ones without their trailing zeros."""
    arrays = [known_series(a, trim) if is_known(a) else np.atleast_1d(np.array(a)) for a in alist]
    if any([a.shape[0] == 0 for a in arrays]):
        raise ValueError("Coefficient array is empty")
    if any([a.ndim != 1 for a in arrays]):
        raise ValueError("Coefficient array is not 1-d")
    dtype = np.result_type(*[float_of(a.dtype) for a in arrays])
    return [a.astype(dtype) for a in arrays]


def known_series(a: Any, trim: Any) -> Any:
    return np.polynomial.polyutils.as_series([a], trim=bool(trim))[0]


def mapped(x: Any, old: Any, new: Any) -> Any:
    """Points, or a polynomial, from one interval to another."""
    offset, scale = np.polynomial.polyutils.mapparms(old, new)
    return offset + scale * (np.asarray(x) if isinstance(x, list | tuple) else x)


def untrimmed(seq: Any) -> Any:
    return seq


STATIC = (known_series,)
TRANSFORMED: dict[str, Any] = {
    "roots": roots,
    "polyadd": added,
    "polysub": subtracted,
    "polymul": multiplied,
    "polydiv": divided,
    "polyder": derived,
    "polyint": integrated,
    "polyval": valued,
    "poly1d": poly1d,
}
TRANSFORMED_SERIES: dict[str, Any] = {
    "polynomial.polyutils.as_series": series,
    "polynomial.polyutils.trimseq": untrimmed,
    "polynomial.polyutils.mapdomain": mapped,
}
