"""Products, linear algebra, transforms, polynomials and SciPy's functions as people call them: NumPy's results."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import untraced
from untraced import accelerate
from untraced.translator.library import special
from untraced.translator.library.comparing import CROSS_OF_PAIRS

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5))
V, W = RNG.normal(size=4), RNG.normal(size=10)
S = RNG.normal(size=(4, 4))
P = S @ S.T + np.eye(4)
T, Z = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4))
RIGHT = RNG.normal(size=(2, 4, 5))
ONES, EMPTY, INTS = np.ones((3, 3)), np.zeros((0, 0)), np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
U = np.array([0.02, 0.3, 0.5, 0.77, 0.999])
X = np.array([-30.0, -4.5, -0.3, -1e-9, 0.0, 1e-9, 0.4, 1.0, 2.5, 7.0, 31.0])
POSITIVE = np.array([1e-8, 0.3, 1.0, 1.9, 2.5, 7.7, 31.0, 160.0])
GRID = (POSITIVE[:, None] + 0.1, POSITIVE)

EXPRESSIONS: list[tuple[Any, ...]] = [
    ("np.einsum('ii', x)", S),
    ("np.einsum('ii->i', x)", S),
    ("np.einsum('iij->j', x)", RNG.normal(size=(2, 2, 3))),
    ("np.einsum('ijij->ji', x)", RNG.normal(size=(2, 3, 2, 3))),
    ("np.einsum('ii,jj->ij', x, y)", S, S),
    ("np.einsum('ba,ac', x, y)", A, B),
    ("np.einsum('...ij,...jk', x, y, optimize=True)", T, RIGHT),
    ("np.einsum(x, [0, 1], y, [1, 2], [0, 2])", A, B),
    ("np.einsum(x, [..., 0, 1], y, [..., 1, 2])", T, RIGHT),
    ("np.einsum(x, [0, 0])", S),
    ("np.tensordot(x, y, axes=np.array([[1], [0]]))", A, B),
    ("np.matmul(x, y, axes=[(0, 1), (1, 0), (1, 0)])", A, RNG.normal(size=(2, 4))),
    ("np.matmul(x, y, axes=[(0, 2), (0, 2), (0, 2)])", RNG.normal(size=(3, 2, 4)), RNG.normal(size=(4, 2, 5))),
    *((("np.cross(x, y)", A[:, :2], A[:, 2:]), ("np.cross(x, y)", A[:, :2], A[:, 1:])) if CROSS_OF_PAIRS else ()),
    ("np.linalg.multi_dot([x, y, y.T, x])", V, B),
    ("np.linalg.diagonal(x, offset=1), np.linalg.trace(x, offset=1)", T),
    ("[np.linalg.norm(x, o) for o in (None, 'fro', 'nuc', 1, -1, 2, -2, np.inf, -np.inf)]", S),
    ("[np.linalg.matrix_norm(x, ord=o, keepdims=True) for o in ('fro', 'nuc', 1, -1, 2, np.inf)]", T),
    ("[np.linalg.norm(x, o, axis=1) for o in (None, 0, 1, 3, -1, np.inf, -np.inf)]", T),
    ("[np.linalg.norm(x, o) for o in (None, 'nuc', 1, 2, np.inf)]", EMPTY),
    ("np.linalg.norm(x), np.linalg.matrix_norm(x)", INTS),
    *(("[np.linalg.cond(x, p) for p in (None, 1, 'fro', -2)]", m) for m in (S, INTS, np.zeros((2, 3, 3)))),
    ("np.linalg.cond(x, 1)", ONES),
    ("np.linalg.det(x), np.linalg.slogdet(x)", np.full((2, 2), np.nan)),
    ("np.linalg.svd(x, hermitian=True)", P),
    ("np.linalg.pinv(x, hermitian=True)", P),
    ("np.linalg.pinv(x), np.linalg.matrix_rank(x)", np.zeros((0, 3))),
    ("np.linalg.lstsq(x, y)", np.zeros((0, 3)), np.zeros(0)),
    ("np.linalg.matrix_rank(x)", V),
    ("np.linalg.eigvals(x)", INTS),
    ("np.fft.fft2(x, s=(2, -1))", A),
    ("np.kaiser(x, y)", 7, 8.6),
    ("np.i0(x)", X),
    ("np.polyfit(x, y, 2)", W, W**2),
    ("np.polyfit(x, y, 1, w=np.abs(x), cov=True)", W, np.sin(W)),
    ("np.polyfit(x, y, 2, full=True)", W, np.sin(np.stack([W, W**2], axis=1))),
    ("np.polyint(x, 3, k=2)", V),
    ("np.poly(x)", V),
    ("np.poly(x)", S),
    ("np.roots(x)", V),
    ("np.polymul(x, y), np.polydiv(x, y)", np.array([0.0, 1.0, 2.0, 3.0]), V[:2]),
    *((f"np.polynomial.{m}.{p}val2d(x, y, z)", W, W, S) for m, p in (("polynomial", "poly"), ("legendre", "leg"))),
    *((f"np.polynomial.{m}.{p}fit(x, y, 3)", W, W**2) for m, p in (("chebyshev", "cheb"), ("hermite", "herm"))),
    ("np.polynomial.laguerre.lagder(np.polynomial.laguerre.lagint(x, 2))", V),
    ("np.polynomial.hermite_e.hermemul(x, y)", V, V),
    ("np.polynomial.legendre.leggauss(x)", 4),
    ("sl.solve(x, y, assume_a='pos', lower=True)", P, V),
    ("sl.solve(x, y, transposed=True)", S, V),
    ("sl.expm(x)", 9.0 * S),
    ("sl.expm(x)", (Z / 8).astype(np.complex64)),
    ("sl.toeplitz(x, y), sl.hankel(x, y), sl.circulant(x)", V, W),
    ("sl.block_diag(x, [1.0, 2.0], y)", A, B),
    ("sl.qr(x, mode='economic')[1], sl.svdvals(x), sl.pinv(x), sl.norm(x, 'nuc')", A),
    ("sl.lu_solve(sl.lu_factor(x), y)", S, V),
    ("sl.khatri_rao(x, y)", S, S),
    ("[f(x) for f in (sp.erf, sp.erfc, sp.erfcx, sp.ndtr, sp.log_ndtr, sp.i0, sp.i0e, sp.i1, sp.i1e)]", X),
    ("[f(x) for f in (sp.expit, sp.log_expit, sp.cosm1, sp.exprel, sp.logsumexp)]", X),
    ("[f(x) for f in (sp.gamma, sp.rgamma, sp.gammaln, sp.digamma, sp.gammasgn)]", X),
    ("[f(x) for f in (sp.erfinv, sp.erfcinv, sp.ndtri, sp.logit, sp.entr)]", U),
    ("[f(x) for f in (sp.erfinv, sp.gammaln, sp.erfcx, sp.log_ndtr, sp.i1e)]", U.astype(np.float32)),
    ("[f(x, y) for f in (sp.beta, sp.betaln, sp.rel_entr, sp.kl_div, sp.huber, sp.pseudo_huber, sp.boxcox)]", *GRID),
    ("sp.gammainc(x, y), sp.gammaincc(x, y)", *GRID),
    ("sp.betainc(x, y, 0.3), sp.betaincc(x, y, 0.3)", *GRID),
    ("sp.polygamma(x, y)", np.arange(4)[:, None], POSITIVE),
    ("sp.zeta(x, y), sp.zeta(x)", np.array([[1.5], [2.0], [9.0]]), POSITIVE),
    ("sp.zeta(x)", np.array([-3.5, -2.0, 0.0, 0.3, 3.0])),
    ("sp.comb(x, y), sp.perm(x, y)", np.arange(6)[:, None], np.arange(4)),
    ("sp.factorial(x), sp.factorial(5, exact=True), sp.comb(7, 2, exact=True)", np.arange(9)),
    ("sp.logsumexp(x, axis=1, b=y, return_sign=True)", A, B[:3, :4]),
]  # fmt: skip


def function_of(expression: str, count: int) -> Callable[..., Any]:
    text = f"def f({', '.join('xyz'[:count])}):\n    return {expression}\n"
    file = f"<{expression}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "sp": scipy.special, "sl": scipy.linalg}
    exec(compile(text, file, "exec"), space)
    return space["f"]  # type: ignore[no-any-return]


def assert_same(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted), what
        for f, w in zip(found, wanted, strict=True):
            assert_same(f, w, what)
        return
    f, w = np.asarray(found), np.asarray(wanted)
    assert (f.shape, f.dtype) == (w.shape, w.dtype), what
    exact = np.dtype(w.dtype).char not in "fF"
    # SciPy's formulas and ours round differently, least squares and exponentials of matrices lose more digits
    scale = np.max(np.abs(w), where=np.isfinite(w), initial=0)
    rtol, atol = (2e-11, 1e-12) if exact else (1e-5, 1e-5)
    np.testing.assert_allclose(f, w, rtol=rtol, atol=atol * min(scale, 1e3), err_msg=what)


@pytest.mark.parametrize("start", range(0, len(EXPRESSIONS), 8))
def test_as_numpy(start: int) -> None:
    """Eight expressions are one program: each program is compiled once."""
    cases = EXPRESSIONS[start : start + 8]
    functions = [function_of(expression, len(args)) for expression, *args in cases]

    def program(given: Any) -> list[Any]:
        return [f(*args) for f, args in zip(functions, given, strict=True)]

    given = [tuple(args) for _, *args in cases]
    with np.errstate(all="ignore"):
        results = zip(cases, untraced.accelerate(program, target="cpu")(given), program(given), strict=True)
        for (expression, *_), found, wanted in results:
            assert_same(found, wanted, expression)


RAISES: list[tuple[str, type[Exception], Any]] = [
    ("np.einsum('ij,jk->ii', x, x.T)", ValueError, A),
    ("np.cross(x, x)", ValueError, A),
    ("np.linalg.outer(x, x)", ValueError, A),
    ("np.linalg.multi_dot([x])", ValueError, A),
    ("np.linalg.matrix_power(x, 2.0)", TypeError, S),
    ("np.linalg.matrix_power(x, 2)", np.linalg.LinAlgError, A),
    ("np.linalg.norm(x, 'fro')", ValueError, V),
    ("np.linalg.norm(x, 2)", ValueError, T),
    ("np.linalg.norm(x, axis=(0, 0))", ValueError, A),
    ("np.linalg.cond(x)", np.linalg.LinAlgError, EMPTY),
    ("np.linalg.inv(x)", np.linalg.LinAlgError, V),
    ("np.linalg.inv(x)", np.linalg.LinAlgError, ONES),
    ("np.linalg.lstsq(x, x[:2])", np.linalg.LinAlgError, A),
    ("np.polyder(x, -1)", ValueError, V),
    ("np.polyfit(x, x[1:], 1)", TypeError, W),
    ("np.polynomial.chebyshev.chebfit(x, x, [2, -1])", ValueError, W),
    ("np.i0(x)", TypeError, Z),
]


@pytest.mark.parametrize(("expression", "error", "x"), RAISES, ids=[e for e, _, _ in RAISES])
def test_errors_are_numpys(expression: str, error: type[Exception], x: Any) -> None:
    f = function_of(expression, 1)
    with pytest.raises(error):
        f(x)
    with pytest.raises(error):
        np.asarray(untraced.accelerate(f, target="cpu")(x))


CUTS = np.array([complex(a, b) for a in (-2.0, -0.5, -0.0, 0.0, 0.5, 2.0) for b in (-0.0, 0.0, -3.0, 3.0)])
CUTS.real[np.array([8, 9])] = -0.0
CUTS.imag[::4] = -0.0


@pytest.mark.parametrize(
    "name", ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sin", "cos", "tan", "exp"]
)
def test_signs_of_zeros_choose_the_side_of_a_cut(name: str) -> None:
    f = function_of(f"np.{name}(x)", 1)
    with np.errstate(all="ignore"):
        found, wanted = untraced.accelerate(f, target="cpu")(CUTS), f(CUTS)
    for part in ("real", "imag"):
        g, w = getattr(found, part), getattr(wanted, part)
        np.testing.assert_allclose(g, w, rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(np.signbit(g), np.signbit(w))


def test_the_face_needs_no_scipy() -> None:
    """Plain NumPy arrays, nothing accelerated: values, and dtypes of integers and single precision."""
    from untraced.scipy import special

    for name in ("erfinv", "gammaln", "i0", "expit", "ndtri", "digamma", "log_ndtr"):
        x = U.astype(np.float32)
        found = getattr(special, name)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, getattr(scipy.special, name)(x.astype(float)), rtol=1e-6)
    assert special.gamma(5).dtype == np.float64
    np.testing.assert_allclose(special.gammainc([1, 2], 0.5), scipy.special.gammainc([1, 2], 0.5), rtol=1e-14)


UFUNCS = sorted(
    {name for name in vars(scipy.special) if isinstance(getattr(scipy.special, name), np.ufunc)}
    & {*special.SCIPY_NAMES, *special.ROWS}
)


@pytest.mark.parametrize("name", UFUNCS)
def test_dtypes_are_those_of_scipys_loops(name: str) -> None:
    f = getattr(scipy.special, name)
    for dtype in (np.bool_, np.int8, np.float16, np.float32, np.int64):
        args = [np.ones(2, dtype)] * f.nin
        try:
            expected = f(*args)
        except TypeError:
            continue
        found = accelerate(lambda *args: f(*args), target="numpy")(*args)  # noqa: B023  # called at once
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), dtype
        np.testing.assert_allclose(found, expected, rtol=1e-14 if expected.dtype == float else 1e-6)


def test_numbers_of_pythons_do_not_widen_arrays() -> None:
    def kinds(x: Any) -> Any:
        s = scipy.special
        return s.kv(0, x), s.kv(0.5, x), s.betainc(1, 2, x), s.boxcox(x, 0.5), s.binom(5, x), s.xlogy(2, x)

    x = np.full(2, 0.5, np.float32)
    for ours, theirs in zip(accelerate(kinds, target="numpy")(x), kinds(x), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
