"""SciPy's transforms, filters, equations and sums: its values, derivatives to order 2 in both modes, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft as fft
import scipy.integrate as integrate
import scipy.linalg as sl
import scipy.ndimage as ndimage
import scipy.optimize as optimize
import scipy.signal as signal
import scipy.special as special
import scipy.stats as stats
from scipy.spatial import distance

from untraced import UnsupportedError, accelerate, grad, jvp, tree, vmap
from untraced.runtime.transforms.testing import check_grads

RNG = np.random.default_rng(4)
X, W = RNG.standard_normal((4, 5)), RNG.standard_normal((2, 3))
V, U = X[0].copy(), X[1, :3].copy()
A = RNG.standard_normal((3, 3)) + 3.0 * np.eye(3)
H = A @ A.T
BANDS = np.array([[0.0, 0.3, 0.2, -0.4], [3.0, 4.0, 5.0, 3.5], [0.1, -0.7, 0.2, 0.0]])

Row = tuple[Callable[..., Any], tuple[Any, ...]]
TRANSFORMS: list[Row] = [
    (lambda x: np.abs(fft.fft(x, 6, axis=0)) ** 2, (X,)),
    (lambda x: fft.irfft2(fft.rfft2(x, norm="ortho") ** 2, x.shape, workers=2), (X,)),
    (lambda x: np.real(fft.fftn(x, s=(3,))), (X,)),
    *[(lambda x, k=k: fft.dct(x, k, norm="ortho") ** 2, (X,)) for k in (1, 2, 3, 4)],
    *[(lambda x, k=k: fft.idst(x, k, n=6, axis=0) ** 2, (X,)) for k in (1, 2, 3, 4)],
    (lambda x: fft.idctn(np.sin(fft.dctn(x, norm="forward"))), (X,)),
]
FILTERS: list[Row] = [
    *[(lambda x, w, m=m: signal.convolve(x, w, m), (X, W)) for m in ("full", "same", "valid")],
    (lambda u, v: signal.convolve(u, v, "same"), (U, V)),  # of u's length, where NumPy's has v's
    (lambda x, w: signal.fftconvolve(x + 1j * x, w, "same").imag, (X, W)),
    (lambda x, w: signal.correlate(x, w, "same", method="fft"), (X, W)),
    (lambda x, w: signal.correlate2d(x, w, "same", "wrap"), (X, W)),
    (lambda x, w: signal.convolve2d(x, w, "full", "symm"), (X, W)),
    (lambda b, a, x: signal.lfilter(b, a, x, axis=0), (U, np.array([1.5, 0.2]), X)),
    (lambda x: signal.detrend(x) ** 2 + signal.detrend(x, 0, "constant"), (X,)),
    (lambda x: ndimage.gaussian_filter(x, (0.8, 0.4), mode="nearest") ** 2, (X,)),
    (lambda x, w: ndimage.convolve1d(x, w, 0, mode="mirror"), (X, U)),
]
MATRICES: list[Row] = [
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=1), (A, U)),
    (lambda a: sl.lu(a)[1:], (A,)),
    (lambda ab, b: sl.solve_banded((1, 1), ab, b), (BANDS, np.arange(1.0, 5.0))),
    (lambda ab, b: sl.solveh_banded(ab, b), (BANDS[:2], np.arange(1.0, 5.0))),
    (lambda c: sl.solve_toeplitz((c, 0.3 * c), np.ones(3)), (A[0],)),
    (lambda a, q: sl.solve_sylvester(a, 0.5 * a, q), (A, H)),
    (lambda a, q: sl.solve_continuous_lyapunov(a, q) + sl.solve_discrete_lyapunov(0.1 * a, q), (A, H)),
    (lambda a: sl.sqrtm(a @ a.T + np.eye(3)), (A,)),
    (lambda a: sl.logm(a @ a.T + np.eye(3)), (A,)),
    (lambda a: sl.polar(a)[1], (A,)),
    (lambda a: sl.eigh(a + a.T, a @ a.T, eigvals_only=True), (A,)),
    (lambda a, e: sl.expm_frechet(0.3 * a, e)[1], (A, H)),
]
SUMS: list[Row] = [
    (lambda y, t: integrate.trapezoid(y, np.cumsum(t**2)), (X, V)),
    (lambda y, t: integrate.cumulative_trapezoid(y, np.cumsum(t**2), initial=0), (X, V)),
    (lambda x: distance.pdist(x) + distance.pdist(x, "minkowski", p=3), (X,)),
    (lambda x, w: distance.cdist(x[:, :3], w, "cosine") * distance.cdist(x[:, :3], w, "cityblock"), (X, W)),
    (lambda x: optimize.rosen(x), (V,)),
    (lambda x: stats.zscore(x, ddof=1) + stats.skew(x) * stats.kurtosis(x) + stats.sem(x), (X,)),
    (lambda x: stats.gmean(x * x, axis=1) / stats.hmean(x * x, axis=None), (X,)),
]
TABLES = {"transforms": TRANSFORMS, "filters": FILTERS, "matrices": MATRICES, "sums": SUMS}
ROWS = [pytest.param(*row, id=f"{name}-{k}") for name, table in TABLES.items() for k, row in enumerate(table)]


@pytest.mark.parametrize("f, args", ROWS)
def test_values_and_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    found, want = accelerate(f, target="numpy")(*args), f(*args)
    for g, w in zip(*[y if isinstance(y, tuple) else (y,) for y in (found, want)], strict=True):
        assert np.shape(g) == np.shape(w) and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-11)  # other algorithms for the same things
    check_grads(f, args, order=1)


@pytest.mark.slow
@pytest.mark.parametrize("f, args", ROWS)
def test_second_derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args, order=2)


def weighted(y: Any) -> Any:
    parts = y if isinstance(y, tuple) else (y,)
    return sum(np.sum(p * (0.5 + np.arange(np.size(p)).reshape(np.shape(p)) % 7)) for p in parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_compiled_together(name: str) -> None:
    table = TABLES[name]

    def gradients(all_args: Any) -> list[Any]:
        return [grad(lambda xs, f=f: weighted(f(*xs)))(args) for (f, _), args in zip(table, all_args, strict=True)]

    given = [args for _, args in table]
    for (f, args), got in zip(table, accelerate(gradients)(given), strict=True):
        for g, w in zip(got, grad(lambda xs, f=f: weighted(f(*xs)))(args), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-9)  # sums in another order


def test_a_distance_has_derivative_0_at_0() -> None:
    np.testing.assert_array_equal(grad(lambda x: np.sum(distance.pdist(x)))(np.ones((3, 2))), np.zeros((3, 2)))


def test_roots_that_are_complex_are_scipys() -> None:
    root = accelerate(lambda a: sl.sqrtm(a) * 2.0)
    np.testing.assert_allclose(root(H), 2.0 * sl.sqrtm(H), rtol=1e-12)
    np.testing.assert_allclose(root(-H), 2.0 * sl.sqrtm(-H), rtol=1e-12)
    with pytest.raises(OverflowError, match="complex"):
        grad(lambda a: np.sum(sl.sqrtm(a)))(-H)


def test_logarithms_of_matrices() -> None:
    logarithm = accelerate(lambda a: sl.logm(a), target="numpy")
    for a in (H, np.diag([1e-9, 3.0, 1e9]) + np.triu(H, 1), sl.expm(A - A.T)):
        np.testing.assert_allclose(logarithm(a), sl.logm(a), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(logarithm(-H), sl.logm(-H), rtol=1e-12)  # complex: SciPy's own
    with pytest.raises(OverflowError, match="complex"):
        grad(lambda a: np.sum(sl.logm(a)))(-H)


def test_what_depends_on_scipys_own_choices_is_left_to_it() -> None:
    with pytest.raises(UnsupportedError):
        grad(lambda a: np.sum(sl.schur(a)[1]))(H)


def oscillator(y, t, k):
    return [y[1], -k * y[0]]


def test_an_integrated_equation() -> None:
    def f(k):
        return integrate.odeint(oscillator, [1.0, 0.0], np.array([0.0, 0.8]), args=(k,))[-1, 0]

    assert grad(f)(2.0) == pytest.approx(-0.4 / np.sqrt(2.0) * np.sin(0.8 * np.sqrt(2.0)), rel=1e-6)


@pytest.mark.slow
def test_integrated_equations() -> None:
    """y'' = -k y against its solution, in the start, the constant and the time, to order 2; compiled, too."""
    times = np.array([0.0, 0.4, 1.1])

    def f(p):
        return integrate.odeint(oscillator, p[:2], times * p[3], args=(p[2],), rtol=1e-10, atol=1e-10)[-1, 0]

    def g(p):
        found = integrate.solve_ivp(
            lambda t, y: oscillator(y, t, p[2]), (0.0, 1.1 * p[3]), p[:2], t_eval=[1.1 * p[3]], rtol=1e-10, atol=1e-10
        )
        return found.y[0, 0]

    def exact(p):
        w = np.sqrt(p[2])
        return p[0] * np.cos(w * 1.1 * p[3]) + p[1] / w * np.sin(w * 1.1 * p[3])

    p, v = np.array([1.0, 0.5, 2.0, 1.0]), np.array([0.3, -0.5, 1.0, 0.4])
    want, bent = grad(exact)(p), jvp(grad(exact), (p,), (v,))[1]
    for h in (f, g):
        np.testing.assert_allclose(grad(h)(p), want, rtol=1e-7)  # the tolerances of the integration
        assert jvp(h, (p,), (v,))[1] == pytest.approx(want @ v, rel=1e-7)
    np.testing.assert_allclose(jvp(grad(f), (p,), (v,))[1], bent, rtol=1e-6)
    np.testing.assert_allclose(accelerate(grad(f))(p), want, rtol=1e-7)
    np.testing.assert_array_equal(accelerate(f)(p), f(p))  # SciPy's own


def test_a_solution_that_ends() -> None:
    with pytest.raises(ArithmeticError, match="too small"):
        grad(lambda y: np.sum(integrate.odeint(lambda y, t: y * y, y, np.array([0.0, 2.0]))))(np.array([1.0]))


def test_a_function_of_scipys_by_itself():
    check_grads(sl.expm, (A,), order=1)
    np.testing.assert_allclose(accelerate(sl.expm, target="numpy")(A), sl.expm(A), rtol=1e-12)


@pytest.mark.parametrize(
    ("fun", "options"),
    [(sl.norm, ("fro",)), (sl.cholesky, (True,)), (sl.solve_triangular, (A[0], 0, True)), (sl.inv, ())],
)
def test_options_of_scipys_functions_by_position(fun, options):
    a = A @ A.T + 3 * np.eye(len(A))
    np.testing.assert_allclose(accelerate(fun, target="numpy", fallback="error")(a, *options), fun(a, *options))
    np.testing.assert_allclose(
        grad(lambda a: np.sum(np.sin(fun(a, *options))))(a),
        grad(lambda a, f=accelerate(fun): np.sum(np.sin(f(a, *options))))(a),
    )


@pytest.mark.parametrize("kind", [{"assume_a": "pos", "lower": True}, {"assume_a": "upper triangular"}])
def test_inverses_of_one_triangle(kind):
    a = A + 5 * np.eye(len(A))
    got = accelerate(lambda a: sl.inv(a, **kind), target="numpy", fallback="error")(a)
    np.testing.assert_allclose(got, sl.inv(a, **kind), rtol=1e-12)


DERIVED_ALONE = [
    lambda x: ndimage.uniform_filter(x, (2, 3), mode="nearest") ** 2,
    lambda x: ndimage.laplace(x) ** 2,
    lambda x: ndimage.sobel(x, 0) * ndimage.prewitt(x, mode="wrap"),
]


@pytest.mark.parametrize("f", DERIVED_ALONE)
def test_filters_that_only_derivatives_compute(f):
    value, tangent = jvp(f, (X,), (X,))
    np.testing.assert_allclose(value, f(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(tangent, 2.0 * value, rtol=1e-12, atol=1e-13)  # they are quadratic
    check_grads(f, (X,), order=1)


def test_what_has_no_rule_is_refused_at_the_call() -> None:
    def f(y):
        return np.sum(ndimage.zoom(y, 2.0))

    with pytest.raises(UnsupportedError, match="zoom cannot be differentiated or batched") as caught:
        grad(f)(np.ones(5))
    assert "ndimage.zoom(y, 2.0)" in str(caught.value) and "no rule for it is known" in str(caught.value)
    assert "site-packages" not in str(caught.value)

S3 = A[:3, :3] + A[:3, :3].T + 4.0 * np.eye(3)


def spectral_projection(x):
    w, v = sl.eigh(x, S3, lower=False)
    return (v * np.exp(-w)) @ v.T


MATRICES_ALONE = [
    lambda x: (lambda w, v: (v * np.sin(w)) @ v.T)(*sl.eigh(x + x.T)),
    spectral_projection,
    lambda x: (lambda w, v: np.real((v * np.exp(w)) @ np.linalg.inv(v)))(*sl.eig(x)),
    lambda x: np.sort(np.real(sl.eigvals(x @ x.T))),
    lambda x: sl.eigvals_banded(x[:2] + np.array([[0.0] * 3, [5.0, 7.0, 9.0]])),
    lambda x: sl.eig_banded(x[:2] + np.array([[5.0, 7.0, 9.0], [0.0] * 3]), lower=True)[0],
    lambda x: (lambda w, v: v * w @ v.T)(*sl.eigh_tridiagonal(x[0], x[1, :2])),
    lambda x: sl.eigvalsh_tridiagonal(x[2], x[0, :2]),
    lambda x: sl.sinm(x) @ sl.cosm(x.T) + sl.tanm(0.1 * x),
    lambda x: np.real(sl.sinm(1j * x) + sl.cosm(x * (1.0 + 0.5j))),
    lambda x: sl.sinhm(x) + sl.coshm(x) @ sl.tanhm(0.3 * x),
    lambda x: sl.fractional_matrix_power(x @ x.T + S3, 0.4) + sl.fractional_matrix_power(x, 3),
    lambda x: sl.lstsq(np.concatenate([x, x * x]), np.arange(6.0))[:2],
    lambda x: sl.solve_continuous_are(x, x[:, :2], S3, S3[:2, :2]),
    lambda x: sl.solve_discrete_are(x, x[:, :2], S3, S3[:2, :2]),
    lambda x: sl.orthogonal_procrustes(x, S3),
    lambda x: sl.matmul_toeplitz((x[0], x[1]), x) + sl.leslie(x[0], x[2, :2]),
]


@pytest.mark.parametrize("f", MATRICES_ALONE)
def test_matrices_that_only_derivatives_compute(f):
    x = A[:3, :3] + 2.0 * np.eye(3)
    for got, want in zip(tree.leaves(jvp(f, (x,), (x,))[0]), tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)
    check_grads(f, (x,), order=2)


def test_options_of_eigenvalue_problems_that_no_rule_has():
    with pytest.raises(UnsupportedError, match="these options"):
        grad(lambda x: np.sum(sl.eigh(x, subset_by_index=(0, 1))[0]))(S3)


def test_constants_that_scipy_makes_of_numbers():
    def f(x, n=5):
        b, a = signal.butter(2, 0.3)
        t, weights = special.roots_legendre(3)
        filtered = signal.lfilter(b, a, signal.windows.hann(n) * x**2)
        padded = fft.rfft(x, fft.next_fast_len(7)).real
        return np.sum(filtered) + np.sum(np.polyval(x, t) * weights) + np.sum(padded**2)

    x = np.arange(1.0, 6.0)
    check_grads(f, (x,), order=2)
    np.testing.assert_allclose(vmap(f)(x[None]), [f(x)], rtol=1e-12)
