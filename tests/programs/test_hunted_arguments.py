"""Odd arguments of NumPy's functions: what they give, or raise, is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()
X = np.linspace(-2.0, 3.0, 6)
N = np.array([0.5, 1.0, 2.0, np.nan])
F = np.linspace(-1, 2, 4, dtype=np.float32)
I = np.array([2, 0, 1])
U = np.array([200, 100, 3], np.uint8)
T = np.array([True, False, True])
NUMBERS = [3.0, 1.0]


@CASES((X, N), (X, N[:3]), (X, N[2::-1]), (X, X * 1j), (X, np.array([1.0, 3.0, 2.0])))
def bins_with_nan(x, bins):
    return np.digitize(x, bins), np.digitize(x, bins, right=True)


@CASES((X, U), (X, I), (X, U.reshape(1, 3)))
def rolled_by_several(x, shifts):
    return np.roll(x, shifts), np.roll(x.reshape(2, 3), (1, 1), (0, 1))


@CASES((T,), (np.zeros(0, bool),), (np.bool_(True),))
def powers_of_bools(t):
    return t**2, np.power(t, 2), np.square(t), t**3


@CASES((X, 2), (I, 2.5), (2.0, 1), (X, NUMBERS), (3, NUMBERS), (np.int64(2), NUMBERS), (I, I))
def vectorised(x, y):
    return np.vectorize(lambda a, b: a + b)(x, y)


@CASES((2.5, F), (3, I), (1.5 + 1j, F.astype(np.complex64)), (X, 1))
def clipped(x, low):
    return np.clip(x, low, None), np.clip(x, None, low)


@CASES((2.5,), (3,), (np.float32(2),), (1 + 2j,), (True,))
def python_numbers(x):
    return np.conj(x), np.squeeze(x), np.transpose(x), np.round(x), np.absolute(x)


@CASES((5, 3), (5.5, 2), (np.int8(5), 3), (I, 2))
def quotients(x, y):
    return np.divmod(x, y), divmod(x, y)


@CASES((NUMBERS, 2), (2, NUMBERS), (np.int64(2), NUMBERS), (NUMBERS, np.array(2)), (NUMBERS, I[:2]))
def repeated(x, y):
    return x * y


@CASES((NUMBERS, 2), (2.5, NUMBERS), (NUMBERS, NUMBERS), (NUMBERS, I[:2]), (np.float64(1), NUMBERS))
def lists_in_arithmetic(x, y):
    return x - y


@CASES((NUMBERS, 2), (2, NUMBERS), (NUMBERS, I[:2]))
def lists_in_order(x, y):
    return x < y


@CASES((NUMBERS, 2), (NUMBERS, NUMBERS), (3.0, NUMBERS))
def lists_in_equations(x, y):
    return x == y, x != y


@CASES((NUMBERS,), (2.5,), (X,))
def magnitude(x):
    return abs(x)


@CASES((X,), (F,), (I,), (T,), (1.5,), (np.uint64(1),))
def chosen(x):
    return np.choose(x, [I, -I])


@CASES((X,), (I,), (I * 1.0,), (I + 0j,))
def unravelled(x):
    return np.unravel_index(x, (3, 4))


@CASES((I, I[::-1].copy()), (I, X))
def sorted_by_several(x, y):
    return np.lexsort((x, y))


@CASES((X, 2), (X, I), (X, np.array(3.0)), (np.float64(1), 2))
def filled(x, value):
    x.fill(value)
    return x


@CASES((N,), (np.float64(np.nan),), (2.0,))
def numbers_in_place(x):
    return np.nan_to_num(x, copy=False)


@CASES((X, X), (2.0, 1.0), (NUMBERS, NUMBERS))
def added_into(x, y):
    return np.add(x, y, out=x)


@CASES((X,), (I,), (I.reshape(1, 3),))
def mask_of_another_size(x):
    return x[[True, False, True]]


@CASES((X, X), (X, F), (X, I))
def taken(x, places):
    return np.take(x, places)


@CASES((X,), (X * 1j,), (T,))
def counted(x):
    return np.histogram(x, bins=3)


@CASES((X,), (X.reshape(2, 3),), (NUMBERS,))
def from_iterators(x):
    return np.fromiter((v for v in x), float)


@CASES((np.float32(0), True), (True, np.float32(2)), (np.float32(0), 1), (np.int8(0), np.float16(1)), (X * 2, True))
def spaced(start, stop):
    return np.linspace(start, stop, 3)


@CASES((True,), (np.True_,), (3,), (np.array([True]),))
def parts(x):
    return np.real(x), np.imag(x)


@CASES(*[(x, rule) for x in (X, F, I, T) for rule in ("no", "equiv", "safe", "same_kind", "unsafe", "none of them")])
def cast_by_a_rule(x, rule):
    return x.astype(np.float32, casting=rule)


@CASES((X,), (I.astype(float),), (I,))
def cast_where_no_value_changes(x):
    return x.astype(np.int64, casting="same_value") * 2


@CASES(*[(x, y, rule) for x, y in ((X, X), (I, X[:3]), (F, 2)) for rule in ("no", "safe")])
def added_by_a_rule(x, y, rule):
    return np.add(x, y, casting=rule), np.sqrt(x, casting=rule)


@CASES((X, X, "no"), (X, I, "no"), (X, I, "safe"))
def joined_by_a_rule(x, y, rule):
    return np.concatenate([x, y], casting=rule)


@CASES((5, I), (5, np.int64(3)), (I, 2), (5, 3), (5.0, I), (F, I[:1]), (True, I))
def scaled_by_powers_of_two(x, n):
    return np.ldexp(x, n)


@CASES(*[(np.array([0, 2, 4]), np.array([3, 2, 0], d)) for d in (np.uint8, np.uint64, np.int32)])
def slopes_at_places(x, places):
    return np.gradient(x, places)


@CASES((X.reshape(2, 3), [1.0, 2.0]), (X.reshape(2, 3), 2.0), (X.reshape(2, 3), NUMBERS), (X, I))
def slopes_of_a_table(x, places):
    return np.gradient(x, places)


@CASES((NUMBERS,), (X,), (2.5,))
def differences_of_no_order(x):
    return np.diff(x, n=0)


@CASES((F.reshape(2, 2), F[None]), (F[None], F.reshape(2, 2)[:1]), (F[:, None], F), (np.zeros((0, 3)), None))
def covariances_of_columns(x, y):
    return np.cov(x, ddof=0, rowvar=False), np.cov(x, y, rowvar=False) if y is not None and len(y) == len(x) else 0


@CASES((X, np.array([1, 0, 0, 1, 0, 2])), (X, [True, False] * 3), (X, np.array([X < 0, X > 2])), (X, [X < 0, X > 2]))
def pieces(x, conditions):
    return np.piecewise(x, conditions, [7, lambda v: v * 2]), np.squeeze([[1.5]])


@CASES((X, 0), (X, 0.0), (X, -2.0), (X, None))
def periodic(x, period):
    return np.interp(x, [0, 1], [1, 2], period=period)


@CASES(*[(x, q) for x in (F, I) for q in (np.float32(0.5), 0.5, [0, 1], 1, np.array([0.25, 0.5], np.float32))])
def quantiles_by_method(x, q):
    return [np.quantile(x, q, method=how) for how in ("averaged_inverted_cdf", "midpoint", "linear", "lower")]


@CASES((I,), (I.astype(float),), (I > 0,))
def along_an_axis(places):
    table = np.arange(9.0).reshape(3, 3)
    np.put_along_axis(table, places[:, None], -1, axis=1)
    return np.take_along_axis(table, places[None], axis=0)


@CASES((np.zeros((2, 3)), I), (np.zeros((2, 3)), I[None]))
def put_in_line(table, places):
    np.put_along_axis(table, places, [1, 2, 3], axis=None)


@CASES(*[(np.diag(U), v) for v in (-44, [-44, 1], [1.5, 2], [np.int64(-44), 1], np.array([-44, 1]), -2.5)])
def put_into_bytes(table, values):
    np.fill_diagonal(table, values)
    np.put(table, [3, 1], values)


@CASES((X, np.array([1j, np.inf, complex(1, np.inf)])), (np.array([np.nan, 1.5]), np.array([1.0, 2.0, 1j])))
def between_complex_points(x, fp):
    return np.interp(x, [1, 2, 3], fp), np.interp(x, [1, 2, 3], fp, 5, 2j)


@CASES((X, [3, 2, 1]), (X, [2.0, 2.0, 2.0]), (1.5, [3, 1, 2]))
def between_points_that_do_not_rise(x, xp):
    return np.interp(x, xp, [1, 5, 2]), np.interp(x, xp, [1, 5, 2], -7, 8)


@CASES((np.zeros((2, 0)), 0), (np.zeros((0, 2)), 1), (np.zeros(0), None))
def averages_of_nothing(x, axis):
    return np.average(x, axis)


@CASES(*[((2, n), kind) for n in (1, 2, 3) for kind in (bool, np.int8, np.float32, complex)])
def places_of(shape, kind):
    return np.indices(shape, kind), np.indices(shape, kind, sparse=True)


@CASES(*[(X, I, s, c) for s in (False, True) for c in (False, True)])
def grids_of(x, y, sparse, copy):
    return np.meshgrid(x, y, sparse=sparse, copy=copy)


@CASES(*[(np.zeros(shape), k) for shape in ((0, 3), (2, 3)) for k in (-2, 0, 1, 5)])
def empty_diagonals(x, k):
    return np.diagonal(x, k), np.trace(x, k), np.diag(x, k)


@CASES(*[(X, r) for r in ((-1.0, 2.0), (2.0, -1.0), (np.nan, 1.0), (0.0, np.inf), (1, 1))])
def bins_in_a_range(x, limits):
    return np.histogram(x, 3, range=limits), np.histogramdd((x, -x), 2, range=[limits, (-3, 3)])


@CASES(*[(X, np.array(edges)) for edges in ([0.0, 1.0, 2.0], [0.0, 2.0, 1.0])], (X, np.array([1, 3, 1], np.uint64)))
def bins_between_edges(x, edges):
    return np.histogram(x, edges), np.histogramdd((x, x), [edges, 2])


@CASES((np.zeros((5, 2)),), (np.zeros((2, 3, 2)),), ([np.zeros((2, 2))],))
def bins_of_samples(x):
    return np.histogramdd(x, 2)


@CASES((np.eye(3), 0.1, None), (np.eye(3), None, 0.1), (np.eye(3), 0.1, 0.1))
def two_tolerances(a, tol, rtol):
    return np.linalg.matrix_rank(a, tol, rtol=rtol)


@CASES((np.diag([1.0, 1e-3]), 0.1, 0.1), (np.diag([1.0, 1e-3]), None, 0.1), (np.diag([1.0, 1e-15]), None, None))
def inverse_by_two_tolerances(a, rcond, rtol):
    return np.linalg.pinv(a, rcond, rtol=rtol)


@CASES((np.arange(3), np.float32), ([1, 2, 3], np.float32), ((1, 2.5), int))
def converted(x, dtype):
    return np.astype(x, dtype)


@CASES((np.eye(3), "raw"), (np.eye(3), "none"))
def factors_by_mode(a, mode):
    return np.linalg.qr(a, mode)


@CASES((X, {"min": 1}), (X, {"max": 1}), (X, {"a_min": 1}), (X, {"a_min": 0, "a_max": 1, "max": 2}), (X, {}))
def between(x, bounds):
    return np.clip(x, **bounds)


@CASES((X, {"ddof": 1, "correction": 0}), (X, {"correction": 1}), (X, {"ddof": 0, "correction": 2}))
def freedoms(x, given):
    return np.var(x, **given), np.nanstd(x, **given)


@CASES((NUMBERS, 3), (NUMBERS, 2), (NUMBERS, 1))
def so_many_items(items, count):
    return np.fromiter(items, float, count=count)


@CASES(([], X), (np.array([], int), I))
def polynomial_of_no_terms(p, x):
    return np.polyval(p, x)


@CASES((3j, np.float64(2.0)), (3j, 2.0), (3j, np.float32(2.0)), (3j, np.array(2.0)), (np.complex128(3j), np.float64(2)))
def complex_beside_a_number(c, x):
    """np.float64 is a float, and Python's complex takes it for one."""
    z = np.ones(2, np.complex64)
    return c * x, x * c, c - x, c / x, c * x * z, x * c * z, c == x


@CASES((np.float64(0.0),), (0.0,))
def complex_over_nothing(x):
    return 2j / x


@CASES((X,), (X * np.nan,), (-X * np.nan,), (F * -0.0,), (U,), (-1.5,), (np.float16([-0.0, 2, np.nan]),))
def first_bits(x):
    return np.signbit(x), np.copysign(2.0, x)


@CASES((-1, 1), (1j, 16j), (1, [5, 0]), (0.0, 3.0), ([1.0, 2.0], 3.0), (np.float32(1), 9), (-1.0, -8.0))
def geometric(start, stop):
    return np.geomspace(start, stop, 4), np.geomspace(start, stop, 3, dtype=complex, endpoint=False)


@CASES((0.0, 3.0), (0.0, np.inf), (np.float32(1), [2.0, 3.0]))
def few_points(start, stop):
    return [np.linspace(start, stop, n, retstep=True) for n in (0, 1, 2)]


@CASES((np.float32([1, 2]), 1 - 2**-52), (1 - 2**-52, np.float32(1)), (np.float16(1), 1), (NUMBERS, 3), (1, True))
def exactly_close(x, y):
    return np.isclose(x, y, 0, 0), np.allclose(x, y, 0, 0), np.isclose(x, y)


@CASES((np.zeros(0, np.float32), []), ([], T))
def open_grid(x, y):
    return np.ix_(x, y)


@CASES((np.array(4), 0, 7), (np.array(4.5), [0, -1], [1, 2]), (np.array(4), 1, 7))
def put_into_a_number(x, places, values):
    np.put(x, places, values)
    return x


@CASES(
    *[(x, d) for x in (X, F, I, X + 1e8, X + 1j, F + 1j, N) for d in (None, np.float32, float, complex, int)],
    (np.complex64([1, 2j]), np.complex64),
)
def variance_as(x, dtype):
    return np.var(x, dtype=dtype), np.nanvar(x, dtype=dtype), np.nanmean(x, dtype=dtype)


@CASES((np.float16(0),), (np.float64(5),), (5.5,), (1.5,), (-2,), (np.int8(6),))
def windows_of(length):
    return np.bartlett(length), np.hanning(length), np.hamming(length), np.blackman(length), np.kaiser(length, 3.0)


@CASES((np.zeros((1, 1, 0)), 0), (np.zeros((1, 1, 0)), 2), (np.zeros((2, 0)), (0, 1)))
def medians_of_nothing(x, axis):
    return np.median(x, axis), np.quantile(x, 0.3, axis)


@CASES((np.float16([1]), np.float32([1.0000001, 2])), (F, (0.0, 1.0)), (F, (np.float64(0), 1)), (U, np.float32([0, 9])))
def bins_between(x, limits):
    return np.histogram(x, 3, limits)


@CASES((np.array([1, 1 + 2**-52]), 10), (np.array([0.0, 1.0]), 10))
def bins_too_small(x, bins):
    return np.histogram(x, bins)


@CASES((F, 1.0), (F, np.float64(1)), (F[1], 2), (np.float16(1), 2.5), (I, 1.0))
def numbers_among_arrays(x, y):
    return np.concatenate([x, y], axis=None), np.choose([0, 1], [x[..., None], y]), np.concatenate([x, 1.0], axis=None)


@CASES((F,), (X,), (I,), (F * 1j,))
def ints_of_over_64_bits(x):
    wide = 2**130
    return x / 2**70, np.add(x, wide, dtype=x.dtype if x.dtype.kind != "i" else float), np.equal(x, 2**70)


@CASES((F,), (X,))
def extremes_over_64_bits(x):
    return np.maximum(x, -(2**70)), np.minimum(x, 2**70), np.where(x > 0, x, 2**70), x < 2**70


@CASES((X, 10**400))
def no_such_float(x, n):
    return np.add(x, n, dtype=float)


@CASES((X, 25), (X, 64))
def many_axes(x, count):
    return x[(None,) * count], np.reshape(x, (1,) * count + (6,)), np.array([1], ndmin=count + 1)


@CASES((0, -1, -np.inf), (5, 6, np.inf), (5, 6, 1e300), (0, 2, 1), (0.5, 1, 0.5))
def steps_beyond(start, stop, step):
    return np.arange(start, stop, step)


@CASES((X,))
def records(x):
    return np.array([("a", 1)], dtype="S1,u4")["f1"] + x[:1]


SHAPES = (2, 3), (2, 2, 3), (4, 3), (3,)
OUTPUTS = [*map(np.zeros, SHAPES), np.zeros((2, 3), np.float32), np.zeros(3, int)]


@CASES(*[(X.reshape(2, 3), out) for out in OUTPUTS])
def summed_into(x, out):
    return np.sum(x, axis=0, out=out), out


@CASES(*[(X.reshape(2, 3), out) for out in OUTPUTS])
def accumulated_into(x, out):
    return np.cumsum(x, axis=0, out=out), np.add.accumulate(x, out=out), np.take(x, [1, 0], axis=0, out=out)


@CASES(*[(X.reshape(2, 3), out) for out in OUTPUTS])
def places_into(x, out):
    return np.argmax(x, axis=0, out=out)


@CASES(*[(X.reshape(2, 3), out) for out in OUTPUTS])
def computed_into(x, out):
    return np.add(x, 1, out=out), np.clip(x, 0, 1, out=out)


@CASES(*[(X.reshape(2, 3), out, {}) for out in OUTPUTS], (X.reshape(2, 3), np.zeros((4, 3)), {"dtype": float}))
@CASES((X.reshape(2, 3), np.zeros((4, 3), complex), {"casting": "no"}), (I, np.zeros(6), {"casting": "safe"}))
def joined_into(x, out, options):
    return np.concatenate([x, x], out=out, **options)


@CASES(*[(X.reshape(2, 3), "ij->ij", {"out": out}) for out in OUTPUTS])
@CASES((X.reshape(2, 3), "ij->ji", {"dtype": complex}), (I, "i->i", {"optimize": True}), (np.eye(3), "ii->i", {}))
@CASES(*[(X.reshape(2, 3), s, {}) for s in ("ij", "ji", "...i->i...", "i...j->j...i", "...", "i...")])
@CASES(*[(np.eye(3), s, {}) for s in ("...ii->i...", "...ii->...i")], ([[1, 2]], "ij->ji", {"dtype": float}))
def view_by_labels(x, subscripts, options):
    y = np.einsum(subscripts, x, **options)
    y[...] = 7
    return x, y


@CASES((np.eye(3), [0, 1], [1, 0]), (np.eye(3), [1, 0]), (np.eye(3), [0, 0], [0]), (np.eye(3), [..., 0], [0, ...]))
def view_by_numbers(x, *labels):
    y = np.einsum(x, *labels)
    y[0] = 7
    return x, y


@CASES((2.0, "", int), (2, "->", np.int8), (np.array(2), "->", float), (np.int8(2), "", float), (X, "i->", complex))
def numbers_by_labels(x, subscripts, dtype):
    return np.einsum(subscripts, x, dtype=dtype)


@CASES((X, -1, "mean"), (X, 0, "maximum"), (X, (2, 0), "minimum"), (X, 0, "mean"), (X, 2, "median"))
def padded_by_statistics(x, length, mode):
    return np.pad(x, 0, mode, stat_length=length), np.pad(x, 2, mode, stat_length=length)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function, arguments", CASES.found)
def test_as_numpy(function: Any, arguments: tuple[Any, ...], target: str) -> None:
    check(function, arguments, target)
