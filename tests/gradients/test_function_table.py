"""Functions of NumPy and SciPy in their many argument forms, to order 2 in both modes, under CPython and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from untraced import accelerate, grad, jacrev, value_and_grad, vmap
from untraced.runtime.transforms.testing import check_grads

RNG = np.random.default_rng(21)
X = np.linspace(-1.7, 1.9, 12)[RNG.permutation(12)].reshape(3, 4)
V, P, S = X[0].copy(), np.abs(X[1]) + 0.3, np.array(0.7)
Z = X[:, :3] + 1j * X[::-1, 1:]
A = RNG.standard_normal((2, 3, 3)) + 3.0 * np.eye(3)
MASK, ROWS = X > -0.4, np.array([True, False, True])

Row = tuple[Callable[..., Any], tuple[Any, ...]]
REDUCTIONS: list[Row] = [
    (lambda x: np.mean(x, axis=(-1, 0), keepdims=True), (X,)),
    (lambda x: np.sum(x, axis=()), (X,)),
    (lambda x: np.prod(x, axis=0, where=MASK, initial=2.0), (X,)),
    (lambda x: np.max(x, axis=-1, where=MASK, initial=-9.0), (X,)),
    (lambda x, c: np.min(x[::-1, ::2], initial=c), (X, 0.1)),
    (lambda x: np.var(x.T, axis=0, ddof=1), (X,)),
    (lambda z: np.std(z, axis=1), (Z,)),
    (lambda x: np.std(x[:1], axis=0), (X,)),
    (lambda x: np.cumprod(np.where(x > 1.5, 0.0, x)), (V,)),
    (lambda x, w: np.average(x, axis=0, weights=w, returned=True), (X[:, :3], X[:, 1:] + 3.0)),
    (lambda x, q: np.quantile(x, q, axis=0), (X, 0.37)),
    (lambda x: np.percentile(x, [10, 60], method="hazen"), (X,)),
    (lambda x: np.median(x, axis=(0, 1), keepdims=True), (X,)),
    (lambda y, x: np.trapezoid(y, x, axis=0), (X, np.array([0.1, 0.5, 0.9]))),
    (lambda x, a: np.diff(x, prepend=a, append=0.0), (V, 0.3)),
    (lambda x, h: np.gradient(x, h, edge_order=2), (V, 0.4)),
    (lambda x, w: np.cov(x, aweights=w), (X, P)),
    (lambda x: np.corrcoef(x), (X,)),
    (lambda x, xp, fp: np.interp(x, xp, fp, left=0.5), (P, np.array([0.0, 1.1, 2.3]), V[:3])),
    (lambda x: np.multiply.reduceat(x, [0, 2], axis=1), (X,)),
    (lambda x: np.logaddexp.reduce(x), (V,)),
    (lambda x: np.maximum.accumulate(x, axis=1), (X,)),
    (lambda x, y: np.power.outer(x, y), (P, V)),
]
ELEMENTWISE: list[Row] = [
    (lambda x, y: np.arctan2(x, y), (X, P)),
    (lambda x, y: np.hypot(x, y), (X[:, :1], P)),
    (lambda x: np.power(x, x), (P,)),
    (lambda x: x ** np.array([0, 1, 2, 3]), (V,)),
    (lambda z, w: z**w, (Z, 1.5 + 0.5j)),
    (lambda z: np.sign(z) * np.angle(z), (Z,)),
    (lambda z: np.abs(z) ** 2 / np.conj(z), (Z,)),
    (lambda x: np.real(np.exp(1j * x)), (X,)),
    (lambda x: np.frexp(x)[0], (X,)),
    (lambda x: np.modf(x), (X,)),
    (lambda x: np.ldexp(x, np.array([1, -2, 3, 0])), (V,)),
    (lambda x, y: np.divmod(x, y)[1], (X, P)),
    (lambda x, a, b: np.clip(x, a, b), (X, -0.65, P)),
    (lambda x: np.select([x < -0.5, x < 1], [x * x, np.sin(x)], 2.0), (X,)),
    (lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t * t, np.sin]), (V,)),
    (lambda x: np.sqrt(x, where=ROWS, out=np.zeros(3)), (P[:3],)),
    (lambda x: np.nan_to_num(x) * np.isfinite(x), (X,)),
    (lambda x: np.float_power(x, 2) + np.sinc(x), (S,)),
]
SHAPES: list[Row] = [
    (lambda x: np.reshape(x, (2, 6), order="F"), (X,)),
    (lambda x: np.repeat(x, np.array([1, 2, 0]), axis=0), (X,)),
    (lambda x: np.roll(x, (1, 2), axis=(0, 1)), (X,)),
    (lambda x: np.sum(np.roll(x, 1, axis=1) * P), (X,)),  # the cotangent of the roll is one row
    (lambda x: np.pad(x, ((1, 0), (0, 2)), mode="reflect"), (X,)),
    (lambda x: np.pad(x, 1, mode="linear_ramp", end_values=2.0), (V,)),
    (lambda x: np.vander(x[0], 3, increasing=True) @ np.diag(x[1], -1)[:3, :3], (X,)),
    (lambda x: x[[0, 0, 1], ..., None], (X,)),
    (lambda x: x[np.array([0, 1])[:, None], [1, 1]], (X,)),
    (lambda x: x[::-2, 1::2] * x[2:0:-1, [0, 3]], (X,)),
    (lambda x: x[MASK & (np.arange(4) > 0)], (X,)),
    (lambda x: x[~ROWS][:, np.arange(4) % 2 == 0], (X,)),
    (lambda x: x[np.nonzero(MASK)] * np.extract(MASK, x), (X,)),
    (lambda x: np.compress([True, False, True], x, axis=1), (X,)),
    (lambda x: np.take(x, [[0, 5], [13, -1]], mode="wrap"), (X,)),
    (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) * x, (X,)),
    (lambda x: np.linspace(x[0], x[1], 3), (X,)),
    (lambda x: np.block([[x, x], [x * 2, x]]), (X,)),
    (lambda x: np.convolve(x[0], x[1], mode="same"), (X,)),
    (lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x), (X,)),
]
PRODUCTS: list[Row] = [
    (lambda x: np.einsum("ij,jk,kl->il", x, x, x), (A[0],)),
    (lambda x: np.einsum("iij->j", x), (A[:, :2],)),
    (lambda x, y: np.tensordot(x, y, axes=([0, 1], [1, 0])), (X, X.T.copy())),
    (lambda x, y: np.vecdot(x, y), (Z, Z[0])),
    (lambda x, y: np.cross(x, y, axis=0), (X, X[:, :1])),
    (lambda x, b: np.linalg.solve(x, b), (A, V[:3, None])),
    (lambda x: np.linalg.matrix_power(x, -2), (A,)),
    (lambda x: np.linalg.slogdet(x)[1] + np.linalg.det(x), (A,)),
    (lambda x: np.linalg.norm(x, "nuc", axis=(1, 2)), (A,)),
    (lambda x: np.linalg.norm(x, 2.5, axis=-1, keepdims=True), (X,)),
    (lambda x: np.linalg.pinv(x), (X,)),
    (lambda x: np.linalg.lstsq(x, np.ones(4))[0], (X.T.copy() + np.eye(4, 3),)),
    (lambda x: np.linalg.cholesky(x @ np.swapaxes(x, -1, -2), upper=True), (A,)),
    (lambda x: np.abs(np.fft.rfft(x, n=5, axis=0)) ** 2, (X,)),
    (lambda z: np.fft.irfft2(z, norm="ortho"), (Z,)),
    (lambda z: np.fft.hfft(z, n=5), (Z,)),
]
SPECIAL: list[Row] = [
    (lambda x: sp.logsumexp(x, axis=1, b=np.array([1.0, 2.0, 0.5, 0.0])), (X,)),
    (lambda x, y: sp.xlogy(x, y) + sp.rel_entr(y, P), (X, P)),
    (lambda x: sp.log_ndtr(x) + sp.expit(x), (X,)),
    (lambda x, y: sp.gammaln(x) * sp.erf(y) + sp.betaln(x, P), (P, X)),
    (lambda x, y: math.atan2(x, y) * math.log(y, 3.0) + math.gamma(y), (0.3, 1.3)),
]
TABLE = [*REDUCTIONS, *ELEMENTWISE, *SHAPES, *PRODUCTS, *SPECIAL]


@pytest.mark.parametrize(("f", "args"), TABLE)
def test_to_order_2(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args)


def weighted(y: Any) -> Any:
    """One real number of all that a function returns; the weights tell the elements apart."""
    parts = y if isinstance(y, tuple | list) else (y,)
    return sum(np.sum(np.real(p * (0.5 + np.arange(np.size(p)).reshape(np.shape(p)) % 7 * (1 - 0.3j)))) for p in parts)


@pytest.mark.parametrize("table", [REDUCTIONS, ELEMENTWISE, SHAPES, PRODUCTS, SPECIAL], ids=len)
def test_compiled_together(table: list[Row]) -> None:
    """The gradients of all rows as one program."""

    def gradients(all_args: Any) -> list[Any]:
        return [grad(lambda xs, f=f: weighted(f(*xs)))(args) for (f, _), args in zip(table, all_args, strict=True)]

    given = [args for _, args in table]
    found = accelerate(gradients)(given)
    for (f, args), got in zip(table, found, strict=True):
        want = grad(lambda xs, f=f: weighted(f(*xs)))(args)
        for g, w in zip(got, want, strict=True):
            assert np.shape(g) == np.shape(w)
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-11)  # XLA's own functions, sums in another order


# ---- masks whose contents are known --------------------------------------------------------------


def test_a_mask_from_outside_that_changes() -> None:
    keep = np.array([True, False, True])
    g = accelerate(jacrev(lambda x: x[keep, 0]))
    assert g(X).shape == (2, 3, 4)
    keep[0] = False  # in place: its contents are looked at anew
    np.testing.assert_array_equal(np.nonzero(g(X)), [[0], [2], [0]])
    keep = np.array([True, True, True])
    assert g(X).shape == (3, 3, 4)
    assert "selects other elements" in str(g.explain_recompiles())


def test_lanes_of_selections() -> None:
    np.testing.assert_array_equal(vmap(lambda r: r[ROWS])(X.T), X.T[:, ROWS])


def test_a_length_through_inner_functions() -> None:
    """The value of n is asked for where only the innermost of three functions needs it."""

    def last(x, n):
        return np.sum(x[n - 1 : 0 : -1] ** 3 * np.ones((2, 4)))

    def outer(x, n):
        def inner(x, n):
            return np.sum(grad(last)(x, n) ** 2)

        return grad(inner)(x, n)

    want = outer(X, 3)
    np.testing.assert_allclose(want[1:], 36.0 * X[1:] ** 3, rtol=1e-12)
    np.testing.assert_allclose(accelerate(outer)(X, 3), want, rtol=1e-12)


def test_the_value_comes_with_the_gradient_of_a_selection() -> None:
    value, d = value_and_grad(lambda x: np.sum(x[ROWS] @ np.ones(4)))(X)
    assert value == pytest.approx(np.sum(X[ROWS]), rel=1e-14)
    np.testing.assert_array_equal(d, np.broadcast_to(ROWS[:, None], X.shape))
