"""Iterations between two buffers that change their roles, and that end before they do or behind."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad
from untraced.errors import AliasError
from untraced.testing import check_grads

X = np.array([0.7, 1.2, 0.6, 1.4, 0.9])


def of_the_argument(u):
    """In every second trip the argument is written: a derivative works on a copy of it."""
    v = np.empty_like(u)
    while True:
        v[0], v[-1] = u[1], u[-2] ** 2
        v[1:-1] = 0.45 * (u[:-2] + u[2:])
        if np.max(np.abs(v - u)) < 0.05:
            break
        u, v = v, u
    return np.sum(v * v)


def swapped_first(x):
    u, v = x**2, x**2
    d = 1.0
    while d > 0.05:
        v[1:-1] = 0.45 * (u[:-2] + u[2:])
        d = np.max(np.abs(v - u))
        u, v = v, u
    return np.sum(u * u)


def returned_early(x):
    u, v = x.copy(), x.copy()
    for k in range(30):
        v[1:-1] = 0.45 * (u[:-2] + u[2:]) * x[k % 5]
        if np.max(np.abs(v - u)) < 0.05:
            return np.sum(v * v)
        u, v = v, u
    return np.sum(u)


def swapped_by_data(x):
    u, v = x * 2.0, x * 3.0
    for _ in range(6):
        v[1:-1] = 0.45 * (u[:-2] + u[2:])
        if u[1] > v[1]:
            u, v = v, u
        if v[2] > u[3]:
            u, v = v, u
    return np.sum(u * v * v)


@pytest.mark.parametrize("f", [of_the_argument, swapped_first, returned_early, swapped_by_data])
def test_derivatives(f) -> None:
    check_grads(f, (X,), order=2 if f is of_the_argument else 1)
    np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-12)
    mine, theirs = X.copy(), X.copy()
    assert accelerate(f)(mine) == pytest.approx(f(theirs), rel=1e-14)
    np.testing.assert_array_equal(mine, theirs)


def test_a_buffer_with_another_name_is_refused() -> None:
    """Whether `t` sees the last stores depends on how many trips there were."""

    def f(x):
        u, v = x**2, x**2
        t = u
        while True:
            v[1:-1] = 0.45 * (u[:-2] + u[2:])
            if np.max(np.abs(v - u)) < 0.05:
                break
            u, v = v, u
        return np.sum(v * t)

    with pytest.raises(AliasError, match="rebound and written in place"):
        grad(f)(X)


M = 4.0 * np.eye(5) + 0.3


def jacobi(a, b, x):
    y = np.empty_like(x)
    error = 1.0
    while error > 1e-3:
        for i in range(len(x)):
            y[i] = x[i] + (b[i] - a[i] @ x) / a[i, i]
        error = np.max(np.abs(y - x))
        x, y = y, x
    return x


def of_a_name_that_nobody_reads_again(b):
    x = np.zeros(5)
    solution = jacobi(M, b, x)
    return np.sum(solution**2)


def of_a_name_bound_anew(b):
    x = np.zeros(5)
    x = jacobi(M, b, x)
    return np.sum(x**2)


@pytest.mark.parametrize("f", [of_a_name_that_nobody_reads_again, of_a_name_bound_anew])
def test_buffers_of_a_function_that_is_called(f) -> None:
    check_grads(f, (X,), order=1)


def read_again(b):
    x = np.zeros(5)
    return np.sum(jacobi(M, b, x) ** 2) + x[0]


def read_by_an_inner_function(b):
    x = np.zeros(5)
    read = lambda: x[0]  # noqa: E731
    return np.sum(jacobi(M, b, x) ** 2) + read()


def read_in_the_next_trip(b):
    x = np.zeros(5)
    for _ in range(2):
        b = b + jacobi(M, b, x)
    return np.sum(b)


@pytest.mark.parametrize("f", [read_again, read_by_an_inner_function, read_in_the_next_trip])
def test_buffers_that_the_caller_still_reads_are_refused(f) -> None:
    with pytest.raises(AliasError, match="may be the memory of another array"):
        grad(f)(X)
