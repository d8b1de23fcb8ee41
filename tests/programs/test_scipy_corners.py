"""SciPy's functions where their options, dtypes or values are out of the ordinary: its own answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
from comparing import assert_same

from untraced import DTypeError, accelerate, grad, jvp
from untraced.translator.library import special

R = np.random.default_rng(0)
IMAGE, WHOLE, TAPS = R.random((14, 15)), R.integers(0, 50, (11, 12)), R.integers(0, 5, (9, 9))
HOLED = IMAGE.copy()
HOLED[0, 0] = np.nan
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a NaN among many taps": (lambda x, w: scipy.signal.convolve2d(x, w), (HOLED, np.ones((9, 9)))),
    "correlated": (lambda x, w: scipy.signal.correlate2d(x, w, "same"), (HOLED, np.ones((9, 8)))),
    "whole numbers": (lambda x, w: scipy.signal.convolve(x, w), (WHOLE, TAPS)),
    "whole numbers by Fourier": (lambda x, w: scipy.signal.convolve(x, w, method="fft"), (WHOLE, TAPS)),
    "a blurred image of whole numbers": (lambda x: scipy.ndimage.gaussian_filter(x, 1.5), (WHOLE,)),
    "of bytes": (lambda x: scipy.ndimage.uniform_filter1d(x, 3), (WHOLE.astype(np.uint8),)),
    "of single precision": (lambda x: scipy.ndimage.gaussian_filter(x, 1.5), (IMAGE.astype(np.float32),)),
    "LU of zeros": (lambda a: scipy.linalg.lu(a), (np.zeros((2, 2)),)),
    "LU of complex numbers": (lambda a: scipy.linalg.lu_factor(a), (R.random((5, 5)) + 3j * R.random((5, 5)),)),
    "LU with a column of zeros": (lambda a: scipy.linalg.lu(a), (np.c_[np.zeros(4), R.random((4, 3))],)),
    "one sample": (lambda y: scipy.integrate.cumulative_trapezoid(y, initial=0), (np.arange(1.0),)),
    "a negative number": (lambda x: scipy.stats.hmean(x, axis=1), (np.array([[-1.0, 2.0], [1.0, 2.0]]),)),
    "log beta": (
        lambda a, b: scipy.special.betaln(a, b),
        (np.array([1, np.inf, np.inf, np.nan, -3.5, 1e300]), np.array([np.inf, 3, np.inf, 1.0, 20.0, 2.0])),
    ),
    "binomials of negative numbers": (
        lambda n, k: scipy.special.binom(n, k),
        (np.array([-3, -3.5, -1, 5, 0, -2, -2, 3]), np.array([2, 2, 1, 7, 0, -2, -1.5, -1])),
    ),
    "more than all to choose from": (
        lambda n, k: scipy.special.binom(n, k),
        (np.array([0, 0, 0, 3, 20, 2, 2.5, 40]), np.array([2, 3, 20, 5, 41, 64, 30, 41])),
    ),
    "densities at the ends": (
        lambda x, s: [
            f(x, s) for d in ("lognorm", "invgamma", "invgauss", "powerlaw", "weibull_min")
            for f in (getattr(scipy.stats, d).pdf, getattr(scipy.stats, d).logpdf)
        ],
        (np.array([0.0, 0.0, 0.0, -1.0, 0.4, 1.0]), np.array([0.5, 1.0, 2.0, 1.5, 2.0, 0.5])),
    ),
    "densities at the ends, of two shapes": (
        lambda x, a: [
            scipy.stats.burr.pdf(x, a, a), scipy.stats.burr.logpdf(x, 2.0, a), scipy.stats.betaprime.pdf(x, a, 0.5),
            scipy.stats.genextreme.pdf(1 / a, a), scipy.stats.genextreme.logpdf(x + 1, a), scipy.stats.levy.pdf(x),
        ],
        (np.array([0.0, 0.0, 0.0, -1.0, 0.4, 1.0]), np.array([0.5, 1.0, 2.0, 1.5, 2.0, 0.5])),
    ),
    "orders that are no whole numbers": (lambda n: scipy.special.kn(n, 1.5), (np.array([0.0, 1.7, 3.2]),)),
    "moving sums beside infinity": (lambda b, x: scipy.signal.lfilter(b, 2.0, x), (np.ones(3), np.r_[np.inf, 1:7.0])),
    "moving sums of rows, begun": (
        lambda b, x, z: scipy.signal.lfilter(b, [1.0], x, axis=0, zi=z),
        (np.array([0.1, 0.2, 0.3]), IMAGE, np.ones((2, 15))),
    ),
    "no matter that it is not finite": (
        lambda a: scipy.linalg.cholesky(a, check_finite=False),
        (np.full((1, 1), np.inf),),
    ),
    "nor here": (lambda a: scipy.linalg.svdvals(a, False, False), (np.zeros((2, 2)),)),
    "the other triangle": (lambda a: scipy.linalg.cho_factor(a)[0], (np.array([[9, 3, 1], [3, 7, 5], [1, 5, 9]]),)),
}
COMPLEX = np.array([0.5 + 0.3j, 1.7 - 0.4j, 2.2 + 1.1j])
OF_COMPLEX = [
    name
    for name in (*special.SCIPY_NAMES, *special.ROWS)
    if isinstance(f := getattr(scipy.special, name), np.ufunc) and any(t[0] in "FD" for t in f.types if f.nin == 1)
]
DERIVED = {"erf", "erfc", "erfcx"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", CASES)
def test_as_scipy(name: str, target: str) -> None:
    function, args = CASES[name]
    want, found = function(*args), accelerate(function, target=target)(*args)
    for x, y in zip(want, found, strict=True) if isinstance(want, tuple) else [(want, found)]:
        assert np.asarray(y).dtype == np.asarray(x).dtype
        np.testing.assert_allclose(y, x, rtol=1e-5 if np.asarray(x).dtype == np.float32 else 1e-11, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers_are_left_to_scipy(name: str) -> None:
    function = getattr(scipy.special, name)
    for z in (COMPLEX, 1.5 + 0.5j):
        found, wanted = accelerate(lambda z: function(z))(z), function(z)
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    if name not in DERIVED:
        with pytest.raises(DTypeError, match="for real numbers"):
            jvp(lambda z: function(z), (COMPLEX,), (COMPLEX,))


def test_real_functions_refuse_complex_numbers_as_scipy_does() -> None:
    for name in ("logit", "beta", "ellipk", "entr"):
        function = getattr(scipy.special, name)
        with pytest.raises(TypeError):
            accelerate(lambda z: function(*[z] * function.nin))(COMPLEX)  # noqa: B023


SQUARE = np.array([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_several_matrices_at_once(target: str) -> None:
    """Each row is one of Toeplitz's. The parts of a batch are a list or a tuple, by SciPy's version."""
    sl = scipy.linalg

    def structured(c: Any, r: Any) -> Any:
        return sl.toeplitz(c), sl.toeplitz(c, r[0, :1]), sl.toeplitz(r[0], c), sl.matmul_toeplitz((c, r), c[0])

    def factors(a: Any) -> Any:
        return sl.qr(a[0], mode="r"), tuple(sl.qr(a))

    for function, args in ((structured, (SQUARE, SQUARE + 1j)), (factors, (SQUARE * np.ones((2, 1, 1)),))):
        assert_same(accelerate(function, target=target)(*args), function(*args), "result")


OF_FINITE: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lambda a: np.triu(scipy.linalg.cho_factor(a)[0]), (SQUARE,)),  # below: SciPy's versions differ
    (lambda a, b: scipy.linalg.cho_solve((a, True), b), (SQUARE, SQUARE[0])),
    (lambda a, b: scipy.linalg.solve(b=b, a=a), (SQUARE, SQUARE[0])),
    (lambda b: scipy.linalg.lu_solve((SQUARE, np.array([0, 1])), b), (SQUARE[0],)),
    (lambda c, r: scipy.linalg.solve_toeplitz((c, r), c), (SQUARE[0], SQUARE[0])),
    (lambda a: scipy.linalg.eigvalsh(a), (SQUARE,)),
)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function, args", OF_FINITE)
def test_matrices_must_be_finite(function: Callable[..., Any], args: tuple[Any, ...], target: str) -> None:
    accelerated = accelerate(function, target=target)
    np.testing.assert_allclose(accelerated(*args), function(*args), rtol=1e-13)
    for bad in (np.nan, np.inf):
        for i, x in enumerate(args):
            holed = x.copy()
            holed.flat[1] = bad
            with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                accelerated(*args[:i], holed, *args[i + 1 :])


def _norms(x):
    return scipy.linalg.norm(x), scipy.linalg.norm(x, 1), scipy.linalg.norm(x[None]), scipy.linalg.norm(x, axis=0)


def _norms_of_a_matrix(x):
    orders = 1, np.inf, -1, 2, "fro", None
    return [scipy.linalg.norm(x, order) for order in orders] + [scipy.linalg.norm(x[:1], 1), scipy.linalg.norm(x, 1, 0)]


def _derivatives_of_digamma(x):
    polygamma = scipy.special.polygamma
    return polygamma(1, x[0]), polygamma(2, 1.5), polygamma(0, x), polygamma(0.5, 0.5), polygamma(1, x[1]) + 1.0


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize(
    "function, x",
    [
        (_norms, IMAGE[0]),
        (_norms_of_a_matrix, IMAGE),
        (_norms_of_a_matrix, IMAGE.astype(np.float32).T),
        (_norms_of_a_matrix, WHOLE),
        (_derivatives_of_digamma, IMAGE[0]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_kinds_of_numbers(function: Callable[..., Any], x: Any, target: str) -> None:
    for found, expected in zip(accelerate(function, target=target)(x), function(x), strict=True):
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if x.dtype == np.float32 else 1e-13)


def test_series_over_many_elements_are_scipys() -> None:
    """XLA goes over all elements until the last one is done: gammainc took 170 times as long as SciPy's."""
    x = np.linspace(0.1, 9.0, 3000)

    def chances(x: Any) -> Any:
        total = np.sum(scipy.special.gammainc(1.5, x) * np.exp(-x))
        return total, scipy.stats.t.cdf(x, 4), scipy.special.kv(0.5, x[:5])

    f = accelerate(chances, target="cpu")
    for _ in range(3):
        for ours, theirs in zip(f(x), chances(x), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert np.array_equal(f(x)[1], scipy.stats.t.cdf(x, 4)), "to the bit"
    slope = accelerate(grad(lambda x: np.sum(scipy.special.gammainc(1.5, x))), target="cpu")(x)
    np.testing.assert_allclose(slope, scipy.stats.gamma.pdf(x, 1.5), rtol=1e-12)
