"""Cotangents of arrays that are stored into: right where places meet, and written down without needless zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import accelerate, grad, vmap
from untraced.testing import check_grads

RNG = Drawn(11)
X = RNG.uniform(0.5, 1.5, 6)
SQUARE = RNG.uniform(0.5, 1.5, (4, 4))
PLACES = np.array([4, 1, 1, 2])


def in_place(x):
    x = x.copy()
    for i in range(1, len(x)):
        x[i] = np.sin(x[i]) * x[i - 1]
    return np.sum(x * x)


def wrapping(x):
    x = x.copy()
    for i in range(len(x)):
        x[i] = x[i] * x[i - 1] + x[i - len(x)]
    return np.sum(x * x)


def computed_places(x, k):
    x = x.copy()
    for i in k:
        x[i] = x[i] * x[i + 1]
        x[i + 1] = np.sin(x[0]) * x[i + 1]
    return np.sum(x * x)


def overlapping_slices(x):
    x = x.copy()
    x[1:4] = x[1:4] * x[2:5]
    x[3:] = np.sin(x[:3]) + x[3:] * x[3:]
    x[::2] = x[1::2] * x[::2]
    return np.sum(x * x)


def diagonal(a):
    n = np.arange(len(a))
    a = a.copy()
    a[n, n] = np.sin(a[n, n]) * a[n, (n + 1) % len(a)]
    return np.sum(a[n, n] * a) + np.sum(a[n, n - 1] ** 2)


def repeated(x, k):
    x = x.copy()
    x[k] = np.sin(x[k]) * x[k + 1]
    return np.sum(x * x) + np.sum(x[k] ** 3)


def overwritten(x):
    y = np.zeros_like(x)
    y[1] = x[0] * x[1]
    y[:3] = x[:3] ** 2
    y[2] = x[2] * y[1]
    return np.sum(y * y)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (in_place, (X,)),
        (wrapping, (X,)),
        (computed_places, (X, PLACES)),
        (overlapping_slices, (X,)),
        (diagonal, (SQUARE,)),
        (repeated, (X, PLACES)),
        (overwritten, (X,)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_cotangents_of_stored_arrays(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(lambda x: fun(x, *args[1:]), args[:1], order=2, modes=("rev",))


def test_what_is_stored_again_is_not_set_to_zero_before() -> None:
    assert "= 0.0" not in grad(in_place).source(X)
    assert "d_x[i] = " in grad(in_place).source(X)


def test_first_contributions_are_stored_and_places_apart_too() -> None:
    def f(x):
        return x[0] * np.sum(x[2:4] ** 2) + np.sum(x[4:])

    source = grad(f).source(X)
    assert "d_x[0] = " in source and "d_x[2:-2] = " in source and "np.zeros_like" in source


def test_subtractions_read_as_such() -> None:
    def f(x):
        x = x.copy()
        for i in range(1, len(x)):
            x[i] = x[i] - np.sin(x[i - 1])
        return np.sum(x * x)

    assert "] -= d_x[i] * np.cos(" in grad(f).source(X)


def test_places_are_compared_whatever_their_length() -> None:
    def f(x):
        y = x[1:] * x[:-1]
        for i in range(1, 10**8):
            y[i] = np.sin(y[i - 1])
        return np.sum(y * y) + np.sum(x[::2] * x[1::2])

    x = np.broadcast_to(np.float64(0.5), 10**9)
    source = grad(f).source(x)
    assert "d_x[1::2] = " in source and "d_x[::2] = " in source


def test_what_a_loop_reads_backwards_from_a_moving_start_is_added_backwards() -> None:
    def f(x):
        y = np.zeros((8, 4))
        for q in range(1, 4):
            k = 0
            for i in range(-1, 6, 2):
                for j in range(1, 3):
                    y[k, q] += j * q * np.sin(x[i + q])
                    k += 1
        return np.sum(y * np.arange(1.0, 33.0).reshape(8, 4))

    x = np.cos(np.arange(10.0))
    check_grads(f, (x,), order=2)


# ---- parts of complex numbers ----------------------------------------------------------------------


def whole_parts(z):
    y = np.zeros(4, complex)
    y.real = z.real**2
    y.imag = z.imag * z.real
    y.real[1:] += y.imag[:-1]
    y.imag[0] *= 2.0
    return y * y


def parts_by_views(z):
    re = z.real
    re *= 2.0
    re[0] = z.imag[1] ** 2
    z.imag -= re
    np.imag(z)[1:3] = 1.5
    return z**2


def parts_in_a_loop(z):
    y = z.copy()
    for i in range(1, len(z)):
        y.real[i] = y.real[i - 1] * y.imag[i]
        y.imag[i] += y.real[i] ** 2
    return y


@pytest.mark.parametrize("f", [whole_parts, parts_by_views, parts_in_a_loop])
def test_stores_into_real_and_imaginary_parts(f: Callable[[Any], Any]) -> None:
    z = RNG.standard_normal(4) + 1j * RNG.standard_normal(4)
    check_grads(f, (z,), order=2)


def test_parts_of_reals_and_of_batches() -> None:
    def f(x):
        y = np.zeros(3, complex)
        y.real, y.imag = x, x[::-1] ** 2
        x.real = 2.0 * x
        return np.sum(np.abs(y) ** 2) + np.sum(x)

    x = RNG.standard_normal((2, 3))
    np.testing.assert_allclose(vmap(grad(f))(x), 2 * x + 4 * x**3 + 2, rtol=1e-12)
    np.testing.assert_allclose(vmap(f)(x.copy()), [f(row.copy()) for row in x], rtol=1e-12)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_one_row_for_all_places(target: str) -> None:
    places, w, x = np.arange(30)[:, None] + np.arange(6), np.arange(6.0), np.linspace(0.0, 1.0, 40)

    def weighted(x):
        return np.sum(x[places] * w)

    want = np.zeros(40)
    for row in places:
        want[row] += w
    np.testing.assert_allclose(accelerate(grad(weighted), target=target)(x), want, rtol=1e-14)
    np.testing.assert_allclose(grad(weighted)(x), want, rtol=1e-14)
