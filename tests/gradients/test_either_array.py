"""Derivatives of functions that store into one of two arrays, which the data choose."""

from __future__ import annotations

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.errors import AliasError
from untraced.testing import check_grads

W = np.arange(1.0, 4.0)
X = np.array([0.7, 1.5, -0.9, 1.2, -0.8, 1.1, 0.6, -0.4])


def total(*arrays):
    return sum(np.sum(np.sin(v) * (k + 1.3) * W) for k, v in enumerate(arrays))


def buffers_by_turns(x):
    a, b = x.copy(), x * 0.5
    for t in range(7):
        source = a if t % 2 == 0 else b
        target = b if t % 2 == 0 else a
        target[1:-1] = 0.4 * (source[:-2] + source[2:]) * source[1:-1]
    return np.sum(a) + np.sum(b * b)


def until_they_agree(x):
    a, b = x.copy(), x * 0.5
    t, change = 0, 1.0
    while change > 1e-3 and t < 7:
        if t % 2 == 0:
            source, target = a, b
        else:
            source, target = b, a
        target[1:-1] = 0.4 * (source[:-2] + source[2:]) * source[1:-1]
        change = np.max(np.abs(target - source))
        t += 1
    return np.sum(a) + np.sum(b * b)


def read_beside(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    p = a if x[6] > 0 else b
    q = b if x[7] > 0 else a
    p[0] = q[1] * 3
    r = np.sum(q * q)
    q[2] = p[0] * r
    p[1] = q[2] - p[2]
    return total(a, b, p, q) + r


def views_of_one_array(x):
    m = x[:6].reshape(2, 3) * 1.0
    d = m[0] if x[6] > 0 else m[1]
    d[1] = x[7] * d[0]
    e = m[:, 0] if x[7] > 0 else m[:, 2]
    e[:] = e[::-1] * x[2]
    return total(m[0], m[1], d) + np.sum(e**2)


def a_view_of_the_choice(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    t = a if x[6] > 0 else b
    v = t[1:]
    v[0] = x[7]
    t[2] = v[0] * t[0]
    v *= 2
    return total(a, b, t) + np.sum(v**2)


def an_array_of_its_own(x):
    a = x[:3] * 1.0
    t = a if x[6] > 0 else x[3:6] * 2
    t[0] = t[1] * x[7]
    return total(a, t)


def in_branches(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    t = a if x[6] > 0 else b
    if x[7] > 0:
        t[0] = x[1] * x[2]
        b[1] = 3.0 * x[0]
    else:
        a[2] = x[0] ** 2
    return total(a, b)


def chosen_before_the_loop(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    t = a if x[6] > 0 else b
    k = 0
    while np.sum(t * t) < 9.0 and k < 5:
        t[k % 3] += 0.7 + x[7] * b[1]
        a[k % 3] *= 1.2
        s = b if x[k] > 0 else a
        s[0] += a[1]
        k += 1
    return total(a, b)


def stored_under_another_name(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    t = a if x[6] > 0 else b
    a[0] = x[7] * t[1]
    b[2] = a[0] * t[0]
    return total(a, b, t)


def left_early(x):
    a, b = x[:3] * 1.0, x[3:6] * 2.0
    for i in range(3):
        s = b if x[i] > 0 else a
        if x[i + 1] > 0:
            s[i] = x[i + 2] * s[0]
            continue
        s[0] -= 1.0
        if s[1] > 3:
            break
    return total(a, b)


PROGRAMS = [
    buffers_by_turns, until_they_agree, read_beside, views_of_one_array, a_view_of_the_choice, an_array_of_its_own,
    in_branches, chosen_before_the_loop, stored_under_another_name, left_early,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    for signs in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        x = np.concatenate([X[:6], X[6:] * signs])
        check_grads(f, (x,), order=1, modes=("rev",))
    check_grads(f, (X,), order=2 if f in (until_they_agree, in_branches) else 1)
    np.testing.assert_allclose(accelerate(grad(f))(X), grad(f)(X), rtol=1e-12)


def test_batches():
    xs = np.stack([X, X[::-1], -X])
    for f in (read_beside, left_early):
        np.testing.assert_allclose(vmap(f)(xs), [f(x) for x in xs], rtol=1e-12)


def test_one_of_three_is_refused():
    def f(x):
        a, b, c = x[:3] * 1.0, x[3:6] * 2.0, x[1:4] ** 2
        t = a if x[6] > 0 else (b if x[7] > 0 else c)
        t[0] = 1.0
        return total(a, b, c)

    with pytest.raises(AliasError, match="may be one of two"):
        grad(f)(X)
