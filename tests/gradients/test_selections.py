"""Derivatives through the places where masks are True: loops over selections, np.nonzero and its kin, no axes."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import UnsupportedError, accelerate, grad, vmap
from untraced.runtime.transforms.testing import check_grads

X = np.random.default_rng(5).normal(size=9)
A = X[:8].reshape(2, 4)


def numbered(x):
    s = 0.0
    for i, v in enumerate(x[x > 0]):
        s += v**3 * i
    return s


def in_pairs(x):
    w, s = np.cos(x), 1.0
    for a, b in zip(x[x > 0], w[x > 0]):
        if a > 1.2:
            continue
        s += a * b * s
        if s > 3.0:
            break
    return s


def over_rows(a):
    s = 0.0
    for row in a.T[a[0] > -0.2]:
        s = s * row[0] + np.dot(row, row) ** 1.5
    return s


def over_places(x):
    y = np.zeros_like(x)
    for k in np.where(x > 0)[0]:
        y[k] = x[k] ** 2 + y[k - 1]
    return np.sum(y * y)


def stores_at_places(x):
    i = np.flatnonzero(x > 0)
    y = x * 2.0
    y[i] += x[i] ** 2
    y[i] *= 3.0
    return np.sum(y) / len(i)


def stores_in_a_plane(a):
    i, j = np.nonzero(a > 0)
    y = a.copy()
    y[i, j] = a[i, j] ** 2 * (i + j)
    return np.sum(y * a)


def each_place(a):
    y = a.copy()
    for i, j in np.argwhere(a > 0):
        y[i, j] = a[i, j] ** 2 + y[i, 0]
    return np.sum(y**2)


def beside_an_integer(a):
    y, i = a.copy(), (a[:, 0] > 0).nonzero()[0]
    y[i, 1] = a[i, 0] ** 3
    return np.sum(y**2)


CASES = [
    (numbered, X), (in_pairs, X), (over_rows, A), (over_places, X), (stores_at_places, X), (stores_in_a_plane, A),
    (each_place, A), (beside_an_integer, A),
]  # fmt: skip


@pytest.mark.parametrize(("function", "x"), CASES)
def test_where_masks_are_true(function, x):
    check_grads(function, (x,), order=2)
    np.testing.assert_allclose(accelerate(grad(function), target="cpu")(x), grad(function)(x), rtol=1e-12)


@pytest.mark.parametrize("function", [numbered, over_places])
def test_nothing_is_selected(function):
    np.testing.assert_array_equal(grad(function)(-np.abs(X)), 0.0)


def without_axes(x):
    y = np.array(2.0 * x)
    y[y < 0] = x**3
    y[y > 1] *= 5.0
    return y * x + np.sum(y[y > 2]) + np.argsort(y)[0]


@pytest.mark.parametrize("x", [-0.7, 0.3, 0.8])
def test_masks_of_arrays_without_axes(x):
    check_grads(without_axes, (x,), order=2)


def _projected(x):
    """The nearest point of the simplex: https://doi.org/10.1145/1390156.1390191, figure 1."""
    u = np.sort(x)[::-1]
    total = np.cumsum(u)
    k = np.nonzero(u * np.arange(1, len(x) + 1) > total - 1)[0][-1]
    return np.sum(np.maximum(x - (total[k] - 1) / (k + 1.0), 0) ** 2 * np.arange(len(x)))


def _some_of_the_selected(x):
    total = x[x > 0][0] * 3 + x[x > 0][-1] * 2 + x[np.where(x < 0)[0][0]] ** 2
    rows = np.outer(x, x[:2] ** 2)
    rows = rows[rows[:, 0] > 0]
    for k in range(3):
        total += x[x > 0][k] * rows[k] @ rows[-1]
    return total


@pytest.mark.parametrize("fun", [_projected, _some_of_the_selected])
def test_single_elements_of_a_selection(fun):
    x = np.array([0.3, -1.2, 2.1, 0.7, -0.4])
    check_grads(fun, (x,), order=2)
    np.testing.assert_allclose(accelerate(grad(fun))(x), grad(fun)(x), rtol=1e-12)
    batch = np.stack([x, x[::-1], np.array([1.0, 2.0, -1.0, 0.5, 0.1])])
    np.testing.assert_allclose(vmap(fun)(batch), [fun(v) for v in batch], rtol=1e-12)


@pytest.mark.parametrize("maybe", [lambda f: f, accelerate], ids=["plain", "accelerated"])
def test_elements_that_a_selection_lacks(maybe):
    for fun in (lambda x: x[x > 0][1], lambda x: x[np.nonzero(x > 0)[0][-2]]):
        with pytest.raises(IndexError):
            maybe(grad(fun))(np.array([-1.0, 2.0, -3.0]))


def _within_groups(x, y):
    """Labels are integers of the run: no derivative is taken of them."""
    total = 0.0
    for k in np.unique(y):
        d = x[y == k] - np.mean(x[y == k])
        total += np.sum(d**3) * (k + 1)
    sums = [np.sum(x[y == k]) for k in np.unique(y)]
    return total + np.sum(np.array(sums) ** 2) + sum(np.sum(x[y == k]) ** 3 for k in np.unique(y))


def _unique_numbers(x, y):
    u, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    v, groups, sizes = np.unique(y, return_inverse=True, return_counts=True)
    sums = np.zeros(len(y))
    np.add.at(sums, groups, x)
    p = sizes / sizes.sum()
    return np.sum(u**2 * counts) + np.sum(x[index] * counts) + np.sum(inverse * x) * len(v) + np.sum(sums**2 * p.max())


@pytest.mark.parametrize("fun", [_within_groups, _unique_numbers])
def test_unique_numbers(fun):
    x, y = np.array([0.3, -1.2, 2.1, 0.7, -0.4]), np.array([2, 1, 2, 0, 1])
    check_grads(lambda x: fun(x, y), (x,), order=2)
    np.testing.assert_allclose(accelerate(grad(fun))(x, y), grad(fun)(x, y), rtol=1e-12)
    xs, ys = np.stack([x, x[::-1], 2 * x]), np.stack([y, y % 2, np.zeros_like(y)])
    np.testing.assert_allclose(vmap(fun)(xs, ys), [fun(a, b) for a, b in zip(xs, ys)], rtol=1e-12)


@pytest.mark.parametrize("x", [[1.0, 2.0, 1.0, np.nan, np.nan], [3, 1, 3, 2], [True, False, True], [0.0, -0.0, 1.0]])
def test_what_np_unique_tells(x):
    def told(x):
        u, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        return np.sum(np.where(np.isnan(u), 0, u)), u.size, np.sum(index * counts), inverse, np.unique(x).shape[0]

    a = np.array(x)
    for got, want in zip(vmap(told)(a[None]), told(a), strict=True):
        np.testing.assert_array_equal(got[0], want)


def _line_through(x):
    t, m = np.linspace(0.0, 1.0, 5), x > 0
    slope, offset = np.polyfit(t[m], x[m], 1)
    return slope**2 + offset


def _least_squares(x):
    a, m = np.stack([np.linspace(0.0, 1.0, 5), np.ones(5)], axis=1), x > 0
    return np.sum(np.linalg.lstsq(a[m], x[m], rcond=None)[0] ** 2)


def _middles(x):
    return np.median(x[x > 0]) ** 2 + np.percentile(x[x > 0], 30) * np.quantile(x[x < 0.5], 0.7)


def _ordered(x):
    values = np.sort((x * x)[x > 0])
    values[0] *= 3.0
    return np.sum(np.cumsum(values[::-1]) ** 2) + values[-1] * np.sum(values[:2]) + np.sum(values[1:9] ** 2)


def _shaped_anew(x):
    z = np.outer(x, x[:2])
    z.shape = 2, 5
    return np.sum(z[0] * z[1])


@pytest.mark.parametrize("fun", [_line_through, _least_squares, _middles, _ordered, _shaped_anew])
def test_fits_and_order_of_a_selection(fun):
    x = np.array([0.3, -1.2, 2.1, 0.7, 0.4])
    check_grads(fun, (x,), order=2, modes=("rev",))
    batch = np.stack([x, x[::-1] + 0.01, np.array([1.0, 2.0, -1.0, 0.45, 0.1])])
    np.testing.assert_allclose(vmap(fun)(batch), [fun(v) for v in batch], rtol=1e-9)


def test_a_selection_with_nan_or_without_elements_has_no_median():
    batch = np.array([[1.0, np.nan, 2.0], [-1.0, -2.0, -3.0], [1.0, 5.0, -2.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(vmap(lambda x: np.median(x[~(x < 0)]))(batch), [np.nan, np.nan, 3.0])


def test_residuals_of_a_selection_are_refused():
    a = np.stack([np.linspace(0.0, 1.0, 5), np.ones(5)], axis=1)
    with pytest.raises(UnsupportedError, match="number of equations"):
        grad(lambda x: np.sum(np.linalg.lstsq(a[x > 0], x[x > 0], rcond=None)[1]))(np.ones(5))
