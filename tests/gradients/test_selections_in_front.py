"""Derivatives of what asks for the elements of a selection by number, or for several masks at once."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.runtime.transforms.testing import check_grads

X = np.array([0.7, -1.2, 0.3, 2.1, -0.4, 1.4])
Y = np.array([0.2, 1.1, -0.8, 0.9, 1.7, -0.1])
A = np.random.default_rng(5).normal(size=(6, 6))
S = A @ A.T + 6 * np.eye(6)


def by_rank(x, y, a):
    s, order = x[x > 0], np.argsort(x[x > 0])
    ranked = y[x > 0][order][::-1] * np.arange(len(s)) / np.arange(1.0, 1 + len(s))
    ranked[1:] += np.ones(len(s) - 1) * x[0]
    total = np.sum(s[order] ** 2 * np.array([1.0, 2.0, 3.0, 4.0]))
    return total + np.sum(ranked**3) + np.sum(s[np.array([3, -4])] ** 3)


def masks_of_equal_size(x, y, a):
    pairs = x[x > 0] * y[y > 0]
    return np.sum(pairs**2) + x[x > 0] @ y[y > 0] + np.sum(np.diff(x[y > 0]) ** 3)


def stored_by_rank(x, y, a):
    z, w = x * 2.0, a.copy()
    z[x > 0] = np.sort(y[y > 0])
    w[x > 0] = np.outer(np.arange(4.0), y) + w[0, 0]
    w[np.ix_(x > 0, y > 0)] *= w[1, 2]
    return np.sum(z**3) + np.sum(w**2)


def in_pieces(x, y, a):
    z = np.concatenate([x[x < x[0]], x[x == x[0]], y[:2], x[x > x[0]]])
    return np.sum(z[:3] ** 3) + np.sum(z * np.arange(8.0) ** 2)


def likelihood_of_observed(x, y, a):
    seen = x > 0
    k, r = a[np.ix_(seen, seen)] + 0.5 * np.eye(np.sum(seen)), y[seen]
    lower = np.linalg.cholesky(a[seen][:, seen])
    half = np.linalg.solve(lower, r)
    density = r @ np.linalg.solve(k, r) + np.linalg.slogdet(k)[1] + len(r) * np.log(2 * np.pi)
    return density + half @ half + np.sum(np.log(np.diag(lower))) + np.trace(np.linalg.inv(k)) * np.linalg.det(k)


def pairs_of_places(x, y, a):
    column = x[x > 0].reshape(-1, 1)
    return np.sum(a[x > 0, np.roll(x > 0, 2)] ** 3) + np.sum((column - column.T) ** 4)


@pytest.mark.parametrize(
    "fun", [by_rank, masks_of_equal_size, stored_by_rank, in_pieces, likelihood_of_observed, pairs_of_places]
)
def test_elements_of_selections(fun):
    check_grads(fun, (X, Y, S), order=2)
    found, want = accelerate(grad(fun, argnums=(0, 1, 2)))(X, Y, S), grad(fun, argnums=(0, 1, 2))(X, Y, S)
    for got, expected in zip(found, want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("maybe", [lambda f: f, accelerate], ids=["plain", "accelerated"])
def test_what_numpy_refuses(maybe):
    def stores(x, y):
        z = x * 1.0
        z[x > 0] = y
        return np.sum(z)

    x = np.array([1.0, -1.0, 2.0])
    for fun, y, error in [
        (lambda x, y: np.sum(x[x > 0] * y[y > 0]), np.array([1.0, 2.0, 3.0]), ValueError),
        (lambda x, y: np.sum(x[x > 0] + y), np.ones(3), ValueError),
        (lambda x, y: np.sum(x[x > 0][y.astype(int)]), np.array([0.0, 2.0]), IndexError),
        (stores, np.ones(3), ValueError),
    ]:
        with pytest.raises(error):
            fun(x, y)
        with pytest.raises(error):
            maybe(grad(fun))(x, y)
