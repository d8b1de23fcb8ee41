"""Small functions as people write them, on odd values: values, dtypes, types of results and errors are NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate

CASES = Cases()
X = np.array([0.5, -1.5, 2.0, -0.25, 3.0])
K = np.array([2, 0, 1, 1, 2])
INT8, UINT8 = np.array([5, 69, 100], np.int8), np.array([0, 7, 200], np.uint8)
ODD = np.array([1.0, -1.0, np.inf, -np.inf, np.nan, 0.0, -0.0])

# ---- what NumPy raises for what arrays hold -------------------------------------------------------

RAISING: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x: x[x > 100].max(), (X,)),
    (lambda x: np.min(x[x > 100]), (K,)),
    (lambda x: x[x > 100].argmax(), (X,)),
    (lambda i, x: np.choose(i, [x, -x]), (K, X)),
    (lambda i: np.bincount(i, minlength=3), (K - 1,)),
    (lambda x, q: np.quantile(x, q), (X, 1.5)),
    (lambda x, q: np.percentile(x, q), (X, np.array([50.0, -1.0]))),
    (lambda x, w: np.average(x, weights=w), (X, np.zeros(5))),
    (lambda x: np.nanargmax(x, axis=1), (np.array([[1.0, 2.0], [np.nan, np.nan]]),)),
    (lambda i: np.unravel_index(i, (2, 2)), (np.array([1, 4]),)),
    (lambda i: np.ravel_multi_index((i, i), (2, 3)), (K,)),
    (lambda x: np.histogram(x, 3), (ODD,)),
    (lambda x, bins: np.digitize(x, bins), (X, np.array([0.0, 2.0, 1.0]))),
    (lambda x, i: x[i], (np.zeros(0), 2)),
    (lambda x: np.pad(x, 1, mode="mean"), (np.zeros((0, 3)),)),
    (lambda x: np.lib.stride_tricks.as_strided(x, (x.size - 2, 3), x.strides * 2), (np.zeros(1),)),
    (lambda a, b: np.linalg.lstsq(a, b, rcond=None), (np.ones((3, 2), np.float16), np.ones(3))),
    (lambda x: round(x), (np.bool_(True),)),
    (lambda x: np.interp(x, np.arange(5), x, left=1j), (X,)),
    (lambda x: round(x), (1j,)),
    # what nobody reads
    (lambda x, i: (x[i], 1)[1], (X, 9)),
    (lambda x, i: (x[i], 1)[1], (X, K + 9)),
    (lambda x, i: [x[j] for j in i] and len(i), (X, np.array([1, 9]))),
    (lambda n, k: (n // k, 1)[1], (3, 0)),
    (lambda n, k: (n % k, n / k, 1)[2], (3.0, 0.0)),
    (lambda i, k: (i**k, 1)[1], (K, -1)),
    (lambda x: (math.sqrt(x), 1)[1], (-1.0,)),
    (lambda x: (math.floor(x), 1)[1], (np.inf,)),
    (lambda x: (int(x), 1)[1], (np.nan,)),
    (lambda x, n: (x + n, 1)[1], (INT8, 300)),
    (lambda x: (np.linalg.inv(x), 1)[1], (np.zeros((2, 2)),)),
    # Python numbers that the array cannot hold
    (lambda x, n: x + n, (INT8, 300)),
    (lambda n: np.uint8(n), (-1,)),
    (lambda x: np.maximum(x, 300), (INT8,)),
    (lambda x: np.full_like(x, 300), (INT8,)),
    (lambda x: np.array([300, 1], np.int8) + x[:2], (INT8,)),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), RAISING)
def test_errors(function: Any, arguments: tuple[Any, ...], target: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(Exception):  # noqa: B017, PT011
        function(*arguments)
    check(function, arguments, target)


@CASES((np.array([2.0]),), (np.array([[7]]),), (np.zeros(0),))
def among(x):
    return x in (1, 2), x not in [2, 3]


@CASES((0j,), (np.array([0j, 1.5 - 2j]),))
def powers_of_zero(x):
    y = np.array([0.5 - 0.25j, 2, 1j, -1, 0, 1e-300 + 5j])
    return np.power.outer(x, y), 0 ** y


@CASES((K > 0, K > 1), (K, K + 1), (X + 1j, X))
def products_of_vectors(x, y):
    return np.vecdot(x, y), np.vecmat(x, y[:, None])


@CASES((K,), (K + 1,))
def divided_in_vain(k):
    for i in k:
        q = 5 // int(i)
    if k[0] > 1:
        q = 5 // int(k[1])
    return 1


@CASES((X, 2, 0.5), (X, 2, 0.0), (X, 7, 0.5), (X, -6, 0.5))
def looked_at_in_vain(x, k, d):
    n = 0
    for i in range(k):
        x[i]
        n += 1
        if i > 3:
            unused = 1 / d
    unused = 2 * x[k]
    return n


@CASES((INT8, 300), (INT8, 7), (UINT8, -1), (X, 300))
def stored(x, n):
    x[0] = n
    x[1:] = n
    return x


@CASES((INT8,), (X, np.nan), (K, np.nan), (X, 1j), (K, 2.5))
def stored_value(x, v=-129):
    x[x > 1] = v
    return x


@CASES((K, 3), (K + 2, 3), (np.zeros(0, int), 2))
def counted_beyond_the_bins(i, n):
    small = np.abs(i).astype(np.uint8)  # of which none is out of range
    return np.bincount(i, minlength=n), np.bincount(i, np.ones(len(i)), n), np.bincount(small, minlength=256)


@CASES((np.ones((5, 3)), X), (np.vander(X, 3), X))
def residuals(a, b):
    return np.linalg.lstsq(a, b, rcond=None)


# ---- numbers ---------------------------------------------------------------------------------------


@CASES((ODD,))
def products_with_bools(x):
    return x * (x > 0), (x > 0) * x, x * (x > 0).astype(int), x * np.float32(x > 0), np.sum(x[:2] * (x[:2] > 0))


@CASES((INT8,), (INT8.astype(np.int64),), (UINT8,))
def large_exponents(x):
    return 2**x, 3**x, np.power(x, x), x**2


@CASES((np.array([True, False]),))
def powers_of_bools(x):
    return x**2, x**3, x * 2


@CASES((np.arange(36).reshape(6, 6),), (np.linspace(0, 1, 42).reshape(6, 7),))
def sums_of_short_lines(x):
    return np.cumsum(x, axis=1), np.cumprod(x / 9, axis=1)


@CASES((X.astype(np.float32), 0.3), (X, 0.3), (K, 0.5))
def quantiles_of_a_number(x, q):
    return np.quantile(x, q), np.percentile(x, 100 * q)


@CASES((X[:3].astype(np.float32), X[:3]), (INT8, np.array([-100, 5, 7], np.int8)), (X > 0, X > 1))
def kept_dtypes(x, y):
    z = np.gradient(np.stack([x, x]).astype(np.float32), 2.0, np.array([0.0, 1.0, 3.0]))
    return np.isclose(x, y), np.average(x, weights=x * x, returned=True), z, np.correlate(x, y), np.i0(UINT8[:2])


@CASES((np.array([[1.0, np.inf], [2.0, 3.0]]), np.array([[1.0, 2.0, 3.0]])))
def crosses(x, y):
    return np.cross(x, y), np.cross(y, x)


@CASES((INT8, 3), (UINT8, 300))
def clipped(x, high):
    return np.clip(x, -5, 300), np.clip(x, None, 4), x.clip(0, 100)


@CASES((np.array([2**63, 1], np.uint64), np.array([-1])), (K, np.array([1])), (INT8, 7))
def bounds(x, y):
    return x < y, np.any(x < y), np.all(x >= y), (y > x).any()


@CASES((np.diag([2.0, 1.0, 5.0]),))
def factorisations_of_one_matrix(a):
    return np.linalg.eigvalsh(a), np.linalg.svd(a, compute_uv=False), np.linalg.cond(a), np.linalg.eigh(a)[0]


# ---- Python's own types ------------------------------------------------------------------------------


@CASES((X, X), (X, X + 1), (X, X[:2]), (K, K))
def answers(x, y):
    same = np.array_equal(x, y)
    return same, np.array_equiv(x, y), (x[:2] > 0).tolist(), (x > 0)[0].item(), True if x.sum() > 0 else False


@CASES((3, 2.5), (0, -1.0), (True, 2))
def kinds(n, v):
    of = isinstance(n, int | float), isinstance(v, int | bool), isinstance(v, float | str)
    return of, round(n, 2), divmod(n, 7), n in range(3), v in range(9)


@CASES((2, 9, 5), (2, 9, 3.0), (9, 2, 4))
def in_ranges(a, b, v):
    both = ((v % 4 == 0) & (v > 1)) | (v == 3)
    return v in range(a, b), v in range(a, b, 3), v in range(b, a, -2), v not in range(b), 3 in range(a), both


@CASES((X, 3, K))
def ranges_as_indices(x, n, k):
    pairs = np.outer(x, x)
    return x[range(n)], pairs[range(n), k[:n]], pairs[(0, 1), (1, 2)], slice(1, n).indices(5), range(n)[1:][0]


@CASES((np.float64(2.0),))
def numbers_reduced(x):
    return x.max(-1), np.sum(x, axis=0), np.any(x, axis=0)


@CASES((np.zeros(0), 2), (X[:1], 2))
def builtins_of_arrays(x, n):
    return all(x == 1), any(x > 1), sum(x), max(x, default=n), min(x, default=-1.0), list(x), sorted(x)


@CASES((np.zeros((0, 3)),))
def nothing(x):
    return np.nanmedian(x), np.nanquantile(x, 0.5, axis=0), np.argpartition(x[:, 0], 2), x.ravel().view(np.uint8).shape


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_functions(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


# ---- signs of zeros, parts of infinities -------------------------------------------------------------

PARTS = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf])
COMPLEX = np.empty((PARTS.size, PARTS.size), complex)
COMPLEX.real, COMPLEX.imag = PARTS[:, None], PARTS


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", ["reciprocal", "rint", "sign", "log2", "log10"])
def test_complex_functions_part_by_part(name: str, dtype: Any) -> None:
    function, z = getattr(np, name), COMPLEX.astype(dtype)
    with np.errstate(all="ignore"):
        expected = function(z)
    found = accelerate(_called(function), target="cpu")(z)
    for x, y in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(x, y, rtol=16 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(np.signbit(x) | np.isnan(x), np.signbit(y) | np.isnan(y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_of_zeros(dtype: Any) -> None:
    x, y = np.array([0.0, -0.0, 0.0, np.nan, 1.0], dtype), np.array([-0.0, 0.0, 0.0, -0.0, np.nan], dtype)
    for function in (np.maximum, np.minimum):
        found = accelerate(_called(function), target="cpu")(x, y)
        np.testing.assert_array_equal(found, function(x, y))
        np.testing.assert_array_equal(np.signbit(found[:3]), np.signbit(function(x, y)[:3]))


def _called(function: Any) -> Any:
    def called(*args):
        return function(*args)

    return called


# ---- memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_ravel_of_what_does_not_lie_in_line_is_a_copy(target: str) -> None:
    def written(x):
        y = x[::2].ravel()
        y[0] = 99.0
        return x, y

    def whole(x):
        y = x.ravel()
        y[0] = 99.0
        return x

    check(written, (X,), target)
    check(whole, (X,), target)
    fast = accelerate(whole, target=target)
    for view in (X[::2], np.outer(X, X)[::-1, ::-1]):
        ours, theirs = (np.copy(view)[::-1] for _ in range(2))
        np.testing.assert_array_equal(fast(ours), whole(theirs))
        np.testing.assert_array_equal(ours, theirs)


def test_strides_are_looked_at_in_every_call() -> None:
    fast = accelerate(lambda x: (x.strides, x.sum()), target="cpu")
    for _ in range(2):
        assert fast(np.ones((2, 3)))[0] == (24, 8)
    assert fast(np.asfortranarray(np.ones((2, 3))))[0] == (8, 16)
