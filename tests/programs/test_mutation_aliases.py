"""Names of one array through loops, read-only views, and which functions of NumPy give views."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate
from untraced.translator.reading.facts.overlaps import overwritten

CASES = Cases()


def a6():
    return np.arange(6.0)


def m34():
    return np.arange(12.0).reshape(3, 4)


def X(*fs):
    return lambda: tuple((f() if callable(f) else f for f in fs))


@CASES(X(m34))
def d1(m):
    d = np.diagonal(m)
    e = m.diagonal(1)
    f = np.diag(m)
    m[0, 0] = 50
    m[1, 2] = 9
    m *= 2
    g = m.T.diagonal()
    s = 0.0
    for i in range(3):
        m[i, i] += 1
        s += d.sum()
    return (d, e, f, g, s, np.linalg.diagonal(m), np.trace(m))


@CASES(X(m34))
def d2(m):
    d = m.diagonal()
    d[0] = 1


@CASES(X(m34))
def d3(m):
    d = np.diagonal(m)
    d += 1


@CASES(X(a6))
def shaped_anew(x):
    def narrow(a):
        a.shape = 3, 2
        return a[:, 0].sum()

    y = x * 2
    z, even, w = y, y[::2], x + 1
    first = narrow(w)
    z.shape = (2, 3)
    even[0] = 9
    y[1, 1] = 4
    turned = x.reshape(2, 3).T
    try:
        turned.shape = 6
    except AttributeError:
        first += 1
    return (y, z.sum(axis=0), even, w, first)


@CASES(X(m34))
def bc(m):
    b = np.broadcast_to(m[0], (3, 4))
    m[0, 1] = 7
    c = b + 0
    b[0] = 1


@CASES(X(m34))
def bc2(m):
    b = np.broadcast_to(m[0], (3, 4))
    m[0, 1] = 7
    return (b, b.sum())


@CASES(X(m34))
def vv(m):
    a = np.flip(m)
    b = np.fliplr(m)
    c = np.rot90(m)
    d = np.atleast_3d(m)
    e = np.flipud(m)
    f = np.rollaxis(m, 1)
    g = m[:, np.newaxis]
    h = np.asarray(m)
    k = np.ravel(m)
    l = np.moveaxis(m, 0, 1)
    n = np.swapaxes(m, 0, 1)
    o = np.squeeze(m[None])
    p = np.array_split(m, 2)[1]
    q = np.hsplit(m, 2)[1]
    r = np.broadcast_arrays(m, 1)[0]
    s = np.atleast_2d(m[0])
    t = m.view()
    u = np.reshape(m, (4, 3))
    x = np.copy(m)
    y = m.flatten()
    z = np.array(m)
    z2 = m.astype(float)
    z3 = m.astype(float, copy=False)
    z5 = np.nan_to_num(m, copy=False)
    z6 = np.ascontiguousarray(m)
    z7 = +m
    z8 = m.squeeze()
    z9 = np.real(m)
    z10 = m.conj()
    z11 = np.atleast_1d(m)
    z12 = np.triu(m)
    m[0, 0] = 100
    m[2, 1] = -5
    return (a, b, c, d, e, f, g, h, k, l, n, o, p, q, s, t, u, x, y, z, z2, z3, z5, z6, z7, z8, z9, z10, z11, z12)


@CASES(X(m34))
def vw(m):
    np.flip(m)[0] = 1
    np.rot90(m)[0, 0] = 2
    np.atleast_2d(m[1])[0, 0] = 3
    np.array_split(m, 2)[1][0] = 4
    np.squeeze(m[None])[1, 1] = 5
    m.view()[2, 2] = 6
    np.asarray(m)[0, 3] = 7
    np.rollaxis(m, 1)[1, 0] = 8
    m[None, ..., None][0, 1, 2, 0] = 9
    np.real(m)[0, 2] = 10
    m.squeeze()[2, 0] = 11
    np.moveaxis(m, 0, 1)[3] += 1
    np.atleast_1d(m)[1] = 3
    m.T.T[0] = 4
    m.reshape(2, 6).T[0, 0] = 9
    m.astype(float, copy=False)[2, 3] = 99
    np.ascontiguousarray(m)[2, 0] = 98
    np.hsplit(m, 2)[1][:] = 7
    m.swapaxes(0, 1)[1:3, 1] = [-1, -2]
    x = m[1]
    x[:2], x[2:] = (x[2:].copy(), x[:2].copy())


@CASES(X(a6))
def alias_loop(a):
    b = a
    for i in range(3):
        b = b + 1
        a[i] = b[i]
    return b


@CASES(X(m34))
def alias3(m):
    row = m[0]
    for i in range(1, 3):
        row = row + m[i]
        m[i] = row
    return row


@CASES(X(a6))
def alias4(u):
    un = u
    for t in range(5):
        un = u.copy()
        u[1:-1] = un[1:-1] + 0.1 * (un[2:] - 2 * un[1:-1] + un[:-2])
    return (u, un)


@CASES(X(a6))
def alias5(u):
    v = u
    for t in range(4):
        w = v * 0.5
        u[t] = w[t]
        v = w
    return v


@CASES(X(a6, a6))
def swap2(a, b):
    for _ in range(3):
        a[1:] = b[:-1] * 2
        a, b = (b, a)
    return (a, b)


@CASES(X(a6))
def lagged(x):
    y = np.zeros_like(x)
    prev = x
    out = []
    for i in range(4):
        cur = prev * 0.5 + 1
        out.append(cur)
        cur[0] = i
        prev = cur
    return (out, prev)


@CASES(X(a6))
def viewlist(a):
    parts = [a[i : i + 2] for i in range(0, 6, 2)]
    for p in parts:
        p *= 2
        p[0] = -1
    parts[1][:] = parts[0]
    return parts


@CASES(X(m34))
def cumul(m):
    total = np.zeros(4)
    for row in m:
        total += row
        row[:] = total
    return total


@CASES(X(a6))
def retsame(a):
    b = a
    b += 1
    return (a, b)


@CASES(lambda: (np.arange(10),))
def sv(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    return w.sum(axis=1)


@CASES(X(m34))
def bound_by_loops(m):
    for _ in range(2):
        row = m[1]
    for _ in range(4):
        again = row
    again[1] = 9
    return m


@CASES(X(m34))
def views_bound_by_loops(m):
    for row in m:
        wide = row[None, :]
    for _ in range(3):
        view = row.view()
    view[-2] /= m[0, 1] + 3
    return m, wide


def m44(order="C"):
    return np.array(np.arange(16.0).reshape(4, 4), order=order)


def a9(step=1):
    return np.arange(9.0 * abs(step))[::step]


@CASES(X(a9), lambda: (a9(-1),), lambda: (a9(2),))
def lines_that_numpy_overwrites(x):
    x[::2] = x[:5]
    x[1:6] = x[::2]
    x[::-2] = x[8:3:-1]
    return x


@CASES(X(m44), lambda: (m44("F"),))
def a_row_of_a_column(m):
    m[1] = m[:, 3]
    m[:, 0] = m[2]
    m[2:3] = m[:, 3]
    r, c = m[1], m[:, 3]
    r[:] = c
    c += r
    return m


@CASES(X(m44, 2), lambda: (m44("F"), 3), X(m44, 0))
def rows_of_columns_in_a_loop(m, j):
    i = 0
    while i < 4 and m[i, j] < 14.0:
        m[i] = m[:, j]
        m[:, i] = m[j]
        i += 1
    for row, column in zip(m, m.T[::-1]):
        row[:] = column
    return m


@CASES(X(a9, 3), X(a9, 4))
def lines_of_unknown_length(x, n):
    x[: 2 * n : 2] = x[:n]
    np.copyto(x[: 2 * n : 2], x[:n])
    return x


@CASES(X(a9, m44))
def element_by_element(x, m):
    np.copyto(x[::2], x[:5])
    x[::2].flat = x[:5]
    x.flat[::2] = x[:5]
    np.place(x, x > 1.0, x[:5])
    m.flat[::5] = m[0]
    return x, m


@CASES(X(m44, 2))
def what_does_not_overlap_stays_compiled(m, k):
    for i in range(4):
        m[i, :i] = m[:i, i]
        m[i] = m[:, i]
        m[i, 1:] = m[i, :-1]
    m[k + 1 :, k] = m[k, k + 1 :]
    return m


def test_a_triangle_is_copied_in_compiled_code() -> None:
    source = accelerate(what_does_not_overlap_stays_compiled).inspect(m44(), 2).source
    assert source is not None and "raise" not in source, source


def test_the_order_in_which_numpy_stores_a_line() -> None:
    for n, written, given in itertools.product((2, 3, 5), (1, 2, 3), (1, 2, 4)):
        if written == given:
            continue
        for start, other in itertools.product(range(20 - n * written), range(20 - n * given)):
            x, y = np.arange(20.0), np.arange(20.0)
            to, of = (slice(k, k + n * step, step) for k, step in ((start, written), (other, given)))
            x[to] = x[of]
            y[to] = y[of].copy()
            _, wrong = overwritten(start - other, written, given, n)
            assert wrong is not np.array_equal(x, y), (to, of)


@CASES(X(lambda: np.arange(1.0, 10.0)))
def diagonals_of_reshaped_parts(x):
    y = x[:8].reshape(2, 4)
    np.einsum("ii->i", y[:, ::2])[...] = 0.0
    np.einsum("iij->ij", x[1:].reshape(2, 2, 2))[1] = 7.0
    d = np.einsum("ii->i", x.reshape(3, 3)[::-1, 1:][:2])
    d += 1.0
    x[0] = 5.0
    return x, y, d


@CASES(X(lambda: np.arange(4.0)))
def the_diagonal_of_a_reshape_is_not_written(x):
    np.diagonal(x.reshape(2, 2))[0] = 5.0
    return x


@CASES(X(a6), X(lambda: a6().astype(np.float32)), X(lambda: np.arange(12.0)[::2]))
def of_a_scalar_type(x):
    y = np.float64(x[1:])
    y[0] = 9.0
    return y, np.float64(x) is x, np.complex64(x), np.float64(x[0])


@CASES(X(m34))
def not_turned(m):
    y = np.rot90(m, 4)
    y[0] = 9.0
    return y is m, y.base is m


def _rolling(a, window):
    shape = a.shape[:-1] + (a.shape[-1] - window + 1, window)
    return np.lib.stride_tricks.as_strided(a, shape=shape, strides=a.strides + (a.strides[-1],))


@CASES(X(m34), X(lambda: np.asfortranarray(m34())))
def windows_by_strides(m):
    shifted = np.lib.stride_tricks.sliding_window_view(m, 2, 0)
    return _rolling(m, 2).sum(-1), _rolling(m.T, 3).max(), _rolling(m[::2], 2), shifted.strides


@CASES(X(m34, lambda: np.array(1)), X(m34, np.int64(1)), X(m34, 1), X(m34, lambda: np.array([1])))
def parts_at_a_place(m, k):
    parts = [m[k], m[k, None], m[k, 1:], m[..., k], m[1:][k], m[(k, None)], m[np.array(0)]]
    parts.append(m[np.asarray(np.argmax(m[0]))])
    for y in parts:
        y[0] = 9.0
    m[k] += 1.0
    m[k][1:] = 7.0
    return parts


@CASES(*[X(lambda k=k: np.asarray(m34(), order=k)) for k in "CF"], X(lambda: np.arange(24.0).reshape(3, 8)[:, ::2]))
def in_another_order(m):
    np.asfortranarray(m)[0] = 1.0
    np.ascontiguousarray(m.T)[0] = 2.0
    np.asarray(m, order="F")[1] = 3.0
    np.array(m, order="F", copy=None)[1, 1] = 4.0
    np.require(m, requirements="F")[1, 2] = 5.0
    m.astype(float, order="F", copy=False)[2] = 6.0
    m.astype(float, "C", copy=False)[2, 0] = 7.0
    m[:, 0].astype(float, order="F", copy=False)[1] = 8.0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_aliases(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
