"""Stores and views: who sees what was written, arguments among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate

CASES = Cases()


def a6():
    return np.arange(6.0)


def m34():
    return np.arange(12.0).reshape(3, 4)


def X(*fs):
    return lambda: tuple((f() if callable(f) else f for f in fs))


@CASES(X(a6))
def stores(a):
    a[1] = 9
    a[::2] = 1
    a[-1] = 7
    a[[1, 3]] = 5
    a[a > 6] = 0
    a[1:4] += 1
    a[[0, 0]] += 1
    a[::-1][0] = 3


@CASES(X(a6))
def aug(a):
    b = a
    b += 1
    c = a[2:]
    c *= 2
    a -= 0.5
    a /= 2
    a **= 2
    a //= 1
    a %= 3
    return (b, c)


@CASES(X(m34))
def outs(m):
    np.add(m, 1, out=m)
    np.multiply(m, 2, out=m, where=m > 5)
    np.sqrt(m, m)
    b = np.empty_like(m)
    np.copyto(b, m)
    np.copyto(b, 0, where=b > 3)
    m.fill(2)
    b.sort()
    np.add.at(b, (0, [1, 1]), 5)
    b.put([0, 1], 9)
    np.put(b, [2], 8)
    b.sort(axis=0)
    np.maximum(m, 1, out=m)
    np.clip(b, 0, 5, out=b)
    np.subtract.at(b, (1, 1), 1)
    np.negative(b, out=b[:])
    np.cumsum(b, axis=1, out=b)
    np.sum(b, axis=0, out=m[0])
    np.dot(m, m.T, out=np.empty((3, 3)))
    return b


@CASES(X(m34))
def views(m):
    t = m.T
    t[0, 1] = 100
    r = m.reshape(-1)
    r[0] = 50
    f = m.ravel()
    f[1] = 51
    d = np.diagonal(m)
    s = m.swapaxes(0, 1)
    s[2] = -1
    q = m[1:, ::2]
    q += 1000
    e = m[:, None]
    e[0, 0, 0] = 4
    w = np.squeeze(m[0:1])
    w[3] = 77
    tt = m.transpose()
    tt[3] = 0
    x = np.expand_dims(m, 0)
    x[0, 2, 2] = 33
    mm = np.moveaxis(m, 0, 1)
    mm[1, 1] = -5
    return (t, r, f, d, s, q)


@CASES(X(m34))
def diagw(m):
    d = m.diagonal()
    d[0] = 1


@CASES(X(m34))
def bcast(m):
    b = np.broadcast_to(m[0], (3, 4))
    b[0] = 1


@CASES(X(m34))
def splits(m):
    a, b = np.split(m, 2, axis=1)
    a[:] = 1
    b *= 2
    p, q, r = np.split(m, 3)
    r[:] = 9
    h = np.hsplit(m, 2)
    h[0][0] = -1
    v = np.vsplit(m, 3)[1]
    v += 5
    u = np.array_split(m, 2)[0]
    u[0, 0] = 99


@CASES(X(a6))
def two(a):
    b = a
    c = a[1:]
    b[1] = 10
    d = c[0]
    a[1] = 20
    return (b, c, d)


@CASES(X(a6))
def keptview(a):
    v = a[1:4]
    a[:] = a[::-1]
    a[1] = 99
    w = v.copy()
    a = a + 1
    v[0] = -1
    return (v, w, a)


@CASES(X(a6))
def overlap(a):
    a[1:] = a[:-1]
    a[:-1] += a[1:]
    a[:] = a[::-1]
    a[2:] = a[:4] * 2


@CASES(X(m34))
def rows(m):
    for row in m:
        row[:] = row[::-1]
    for row in m:
        row += 1
    for i, row in enumerate(m):
        row[i] = 0
    for row, k in zip(m, [1, 2, 3]):
        row *= k
    for r in m.T:
        r -= r[0]


@CASES(
    lambda: (np.arange(12.0).reshape(3, 4)[:, 1:3],),
    lambda: (np.asfortranarray(m34()),),
    lambda: (m34()[::-1, ::-2],),
    lambda: (m34().T,),
)
def layouts(m):
    m[0] += 1
    m[:, 0] = m[:, 1] * 2
    m *= 2
    return m.sum()


def ro():
    a = np.arange(6.0)
    a.flags.writeable = False
    return (a,)


@CASES(ro)
def readonly(a):
    a[0] = 1


@CASES(ro)
def readonly2(a):
    return a + 1


@CASES(lambda: ([a6(), a6()], {"k": a6()}))
def containers(l, d):
    l[0] += 1
    d["k"][2] = 5
    for x in l:
        x *= 2


@dataclass
class D:
    x: np.ndarray


@CASES(lambda: (D(a6()),))
def dataclassarr(d):
    d.x[0] = 1
    d.x += 1


@CASES(lambda: (a6() + 1j * a6(),))
def reim(z):
    z.real = 3
    z.imag[1] = 5
    z.real[2:] += 1
    r = z.real
    r *= 2
    np.add(z.imag, 1, out=z.imag)
    return (r, z.imag)


@CASES(lambda: (a6() + 1j * a6(),))
def reim2(z):
    z.imag = 0
    w = z[1:]
    w.real[0] = 9
    z.imag[:] = np.inf
    return z


@CASES(X(a6))
def realreal(a):
    a.real[0] = 4
    b = a.real
    b += 1
    return a.imag


@CASES(X(a6))
def cond2(a):
    b = a if a.sum() > 100 else a * 2
    return b + 1


@CASES(X(a6))
def swap(a):
    a[0], a[1] = (a[1], a[0])
    a[[2, 3]] = a[[3, 2]]
    b, c = (a[:3], a[3:])
    b[:], c[:] = (c.copy(), b.copy())


@CASES(X(m34))
def pingpong(m):
    a = m.copy()
    b = np.zeros_like(m)
    for _ in range(5):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a, b = (b, a)
    return a


@CASES(X(a6))
def helper(a):

    def setz(v, k):
        v[k] = 0
        return v

    w = setz(a[1:], 0)
    w[1] = -1
    setz(a, 5)


@CASES(X(a6))
def intarr(a):
    i = np.array([0, 2, 2])
    a[i] += 1
    b = a[i]
    b[0] = 100
    c = a[a > 2]
    c[:] = 0
    a[np.array([True] * 6)] *= 2
    a[i] = a[i] * 2
    return (b, c)


@CASES(lambda: (np.arange(6),))
def intstore(a):
    a[0] = 2.7
    a[1] = -1.2
    a[2:4] = [1.9, True]
    a[4] = np.float32(3.9)


@CASES(X(m34))
def fancy2(m):
    m[[0, 2], [1, 3]] = 5
    m[:, [0, 1]] *= 2
    m[np.ix_([0, 1], [2, 3])] += 1
    m[m > 20] = 0
    m[1, m[1] > 5] = -1
    m[m.sum(axis=1) > 20] += 1
    m[..., -1] = m[..., 0]
    m[0,] = 1
    m[0][1] = 44


@CASES(X(m34))
def whileinpl(m):
    n = 0
    while m.sum() > 1:
        m *= 0.5
        m[0, 0] -= 0.01
        n += 1
    return n


@CASES(X(a6))
def ret_arg(a):
    a[0] = 1
    return a


@CASES(X(a6))
def ret_view(a):
    v = a[1:3]
    a[1] = 50
    return v


@CASES(X(a6))
def listview(a):
    l = [a, a[1:], a.copy()]
    l[1][0] = 7
    l[0] += 1
    l[2][:] = 0
    return l


@CASES(X(a6, a6))
def where_out(a, b):
    np.divide(a, b, out=a, where=b != 0)
    np.add(a, b, where=a > 0, out=b)
    r = np.log(a, out=np.zeros_like(a), where=a > 0)
    return r


@CASES(X(a6))
def accum(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    for i in range(len(a) - 1, 0, -1):
        a[i] -= a[i - 1] * 0.5


@CASES(X(m34))
def lu(m):
    n = 3
    for k in range(n):
        for i in range(k + 1, n):
            m[i, k] /= m[k, k] + 1
            m[i, k + 1 :] -= m[i, k] * m[k, k + 1 :]


@CASES(X(a6))
def flat(a):
    a.flat[2] = 5
    a.flat[:] = a.flat[::-1]
    m = a.reshape(2, 3)
    m.flat[4] = 1
    return m


@CASES(X(m34))
def misc(m):
    np.fill_diagonal(m, 0)
    m[np.tril_indices(3)] = 1
    m.partition(1, axis=1)
    np.put_along_axis(m, np.array([[0], [1], [2]]), 9, axis=1)
    np.place(m, m > 8, [1, 2])
    np.putmask(m, m < 2, 5)
    m[:] = np.roll(m, 1)
    return m


@CASES(X(a6))
def lists_gone_through(a):
    items, total = [a[0] + 1, a[1] + 2, a[2] + 4], 0.0
    for k, item in enumerate(items):
        total = total + item * (k + 1)
        items[2] = total
        items[:2] = items[1::-1]
    for item in items:
        total += item
        if len(items) < 5:
            items.append(item)
        else:
            items.pop()
    return total


@CASES(X(m34))
def shp(m):
    m.shape = (4, 3)
    m[0] = 1
    return m


@CASES(X(a6))
def emptyslice(a):
    a[3:3] = 1
    a[10:] = 5
    a[:0] += 1


@CASES(X(a6))
def badshape(a):
    a[1:3] = [1, 2, 3]


@CASES(X(a6))
def oob(a):
    a[6] = 1


@CASES(X(a6, 7))
def oob2(a, i):
    a[i] = 1


@CASES(X(a6, -2))
def negi(a, i):
    a[i] = 1
    return a[i]


@CASES(X(a6, [1, 2]))
def lst_index(a, l):
    a[l] = 3
    return a[l]


@CASES(X(m34))
def tup(m):
    idx = (slice(None), 1)
    m[idx] = 0
    k = [slice(0, 2), slice(1, 3)]
    m[tuple(k)] = 7


@CASES(X(m34))
def unravel(m):
    i = np.unravel_index(np.argmax(m), m.shape)
    m[i] = 0
    j = np.argmin(m)
    m.flat[j] = 3


@CASES(lambda: (np.zeros(3, bool),))
def boolst(b):
    b[0] = True
    b[1:] |= True
    b ^= True
    b[2] = 5


@CASES(lambda: (np.zeros((2, 2, 2)),))
def nd(a):
    a[0] = [[1, 2], [3, 4]]
    a[..., 0] += 1
    a[1, ..., 1] = 5
    a[:, :, :] *= 2
    a[None][0, 0, 0, 0] = 9
    b = a.reshape(4, 2)
    b[3] = -1
    c = a.transpose(2, 0, 1).reshape(8)
    c[0] = 100
    return c


@CASES(X(a6))
def alias_loop(a):
    b = a
    for i in range(3):
        b = b + 1
        a[i] = b[i]
    return b


@CASES(X(a6))
def alias_loop2(a):
    b = np.zeros(6)
    for i in range(3):
        b = a
        b[i] += 1
    return b


@CASES(X(a6))
def alias_loop3(a):
    old = a.copy()
    for i in range(3):
        new = old * 2
        old[:] = new
    return (old, new)


@CASES(X(m34))
def memory_made_by_the_class(a):
    b = np.ndarray(a.shape)
    c = np.ndarray([4], dtype=np.int32, order="C")
    b[:] = a * 2
    c[:] = a[1]
    shared = np.ndarray((2, 6), a.dtype, a)
    shared[1, 0] = -3
    return b, c


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_mutation(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)


def fills_columns(n):
    y = np.ndarray((n, n))
    for k in range(n):
        y[:, k] = k
    return y


def test_what_lies_in_new_memory_is_no_constant_of_the_program() -> None:
    f = accelerate(fills_columns, target="cpu")
    np.testing.assert_array_equal(f(40), fills_columns(40))
    assert "np.empty((40, 40))" in f.inspect(40).source
