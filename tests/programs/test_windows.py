"""Slices of long arrays in loops go over windows of them: sums, extremes, stores, and what derivatives add to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import accelerate, grad

Segments = tuple[np.ndarray[Any, Any], ...]


def scaled(p, x, y):
    for i in range(p.size - 1):
        y[p[i] : p[i + 1]] = y[p[i] : p[i + 1]] / (i + 2) + x[p[i] : p[i + 1]]


def of_other_places(p, x, y):
    for i in range(p.size - 1):
        y[p[i] : p[i + 1]] = y[0] + x[p[i] : p[i + 1]] * np.sum(y)


def softmax(p, x, y):
    for i in range(p.size - 1):
        if 0 <= p[i] < p[i + 1]:
            e = np.exp(x[p[i] : p[i + 1]] - x[p[i] : p[i + 1]].max())
            y[p[i] : p[i + 1]] = e / e.sum()


def counted(p, x, y):
    k = (x * 100).astype(np.int16)
    for i in range(p.size - 1):
        part = k[p[i] : p[i + 1]]
        y[i] = np.count_nonzero(part > 50) + np.any(part == 5)
        if len(part) > 0:
            y[i] += part.max() - part.min()


def kept(p, x, y):
    places, first = np.arange(x.size), y
    for i in range(p.size - 1):
        inside = (places >= p[i]) & (places < p[i + 1]) & (x > 0.3)
        y = np.where(inside, x * y, y)
        y = np.where(inside, y + 1, y)
    return first, y


def turned(p, x, y):
    z, w, places = np.zeros_like(x), np.zeros_like(x), np.arange(x.size)
    for i in range(p.size - 1):
        z, w = w, z + np.where((places >= p[i]) & (places < p[i + 1]), y, 0.0)
    return z, w


def deviations(p, x, y):
    for i in range(p.size - 1):
        if 0 <= p[i] < p[i + 1]:
            y[i] = np.std(x[p[i] : p[i + 1]])


def first_places(p, x, y):
    for i in range(p.size - 1):
        if 0 <= p[i] < p[i + 1]:
            y[i] = np.argmax(x[p[i] : p[i + 1]]) - 2 * np.argmin(y[p[i] : p[i + 1]])
    return np.argmax(x > 2)


def rows(p, x, y):
    a, b = x.reshape(-1, 1) + np.arange(3), np.outer(y, np.ones(40))
    columns = (x * 700).astype(np.int64)
    sums = np.zeros((p.size, 40))
    for i in range(p.size - 1):
        part = slice(p[i], p[i + 1])
        a[part] -= np.sum(a[part], axis=0) / 7.0
        a[part, 1] *= 2.0
        sums[i] = x[part] @ b[columns[part]] + np.sum(b[part], axis=0)
        if 0 <= p[i] < p[i + 1]:
            b[part] /= np.max(b[part], axis=0) + a[part, :1]
    return a, b, sums


def signs_of_zeros(p, x, y):
    z, w, places = np.full_like(x, -0.0), np.zeros_like(x), np.arange(x.size)
    for i in range(p.size - 1):
        z = z + np.where((places >= p[i]) & (places < p[i + 1]), -0.0, 0.0)
        w[3] = -0.0
        w = w + np.where((places >= p[i]) & (places < p[i + 1]), -0.0, 0.0)
    return np.signbit(z), np.signbit(w)


SEGMENTS = [scaled, of_other_places, softmax, counted, deviations, first_places, rows, kept, turned, signs_of_zeros]
ENDS = [[0, 3, 3, 130, 129, 400, 700], [-5, 709, 20, -20, 699], [700, 0], []]


def by_columns(p, x):
    k, n = np.arange(x.shape[1]), x.shape[1]
    totals, largest, y, z = np.zeros(n), np.zeros(n), np.zeros(x.shape), np.zeros(x.shape)
    for i in range(p.size - 1):
        inside = (k >= p[i]) & (k < p[i + 1])
        totals += np.where(inside, x, 0.0).sum(0)
        largest = largest + np.maximum(np.max(np.where(inside, x, -np.inf), axis=0), -9.0)
        y = y + np.where(inside, x * (i + 1), 0.0)
        z = np.where(inside & (x > 0), x * (i + 1), z)
    return totals, largest, y, z


def into_columns(p, x):
    k, y = np.arange(x.shape[0]), np.zeros((3, x.shape[0]))
    for i in range(p.size - 1):
        np.add.at(y, np.arange(3) % 2, np.where((k >= p[i]) & (k < p[i + 1]), x[:, 0], 0.0))
        y = np.where((k >= p[i]) & (k < p[i + 1]), y * 2, y)
    return y


def of_unsigned_ends(p, x):
    k, y = np.arange(x.shape[0]), np.zeros(x.shape[0])
    ends = p.astype(np.uint64)
    for i in range(p.size - 1):
        y = y + np.where((k >= ends[i]) & (k < ends[i + 1]), x[:, 0], 0.0)
    return y


@pytest.mark.parametrize("shape", [(600, 600), (600, 4), (4, 600)])
@pytest.mark.parametrize("f", [by_columns, into_columns, of_unsigned_ends])
def test_a_mask_along_other_axes_asks_for_no_run(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(shape[1]).standard_normal(shape)
    p = np.array([0, 1, 3, 300, 600])
    wanted, found = f(p, x), accelerate(f, target="cpu")(p, x)
    for got, want in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(
    "f", [scaled, of_other_places, softmax, counted, deviations, first_places, rows, kept, turned, signs_of_zeros]
)
def test_segments_are_what_they_are_in_numpy(f: Callable[..., Any], target: str) -> None:
    fast = accelerate(f, target=target)
    for ends in ENDS:
        rng = np.random.default_rng(len(ends))
        mine: Segments = (np.array(ends, np.int64), rng.random(700), rng.random(700))
        theirs = tuple(a.copy() for a in mine)
        assert_same(fast(*theirs), f(*mine), "result")
        for x, y in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("f", [scaled, softmax, deviations])
def test_no_statement_of_the_loop_goes_through_the_whole_array(f: Callable[..., Any]) -> None:
    p, x = np.array([0, 300, 700]), np.ones(700)
    loop = accelerate(f, target="numpy").inspect(p, x, x.copy()).source.partition("in range(2):")[2]
    assert ", 128):" in loop
    assert "np.arange(700)" not in loop


@pytest.mark.parametrize(("length", "windows"), [(700, 0), (1 << 22, 1)])
def test_gpus_store_into_short_arrays_as_a_whole(length: int, windows: int) -> None:
    p, x = np.array([0, 300, 700]), np.ones(length)
    source = accelerate(scaled, target="cuda").inspect(p, x, x.copy()).source
    assert source.count(", 128):") == windows


def product(p, c, v, x):
    y = np.empty(p.size - 1)
    for i in range(p.size - 1):
        y[i] = v[p[i] : p[i + 1]] @ x[c[p[i] : p[i + 1]]]
    return np.sum(np.sin(y)) + np.sum(x * x)


def test_derivatives_of_sparse_products_add_to_the_elements_of_a_row() -> None:
    rng = np.random.default_rng(0)
    p, c = np.append(np.arange(0, 9000, 3), [9000, 9200]), rng.integers(0, 600, 9200)
    p, c, v, x = p.astype(np.uint32), c.astype(np.uint32), rng.random(9200), rng.random(600)
    fast = accelerate(grad(product, argnums=(2, 3)), target="cpu")
    d_v, d_x = fast(p, c, v, x)
    wanted_v, wanted_x = np.zeros(9200), 2 * x
    for i in range(p.size - 1):
        row = slice(p[i], p[i + 1])
        slope = np.cos(v[row] @ x[c[row]])
        wanted_v[row] += slope * x[c[row]]
        np.add.at(wanted_x, c[row], slope * v[row])
    np.testing.assert_allclose(d_v, wanted_v, rtol=1e-11)
    np.testing.assert_allclose(d_x, wanted_x, rtol=1e-11)
    back = fast.inspect(p, c, v, x).source.partition("reversed(range(3001))")[2]
    assert back.count(", 128):") == 2
