"""Slices and selections whose size is known only at run time: values, dtypes and arguments are NumPy's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

from untraced import accelerate, jvp, vmap
from untraced.translator.ir import For, walk
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract

RNG = np.random.default_rng(1)
X = RNG.standard_normal(8)
A = RNG.standard_normal((6, 6))
SPD = A @ A.T + 6 * np.eye(6)

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((f, args))
        return f

    return enter


# ---- slices --------------------------------------------------------------------------------------


@case(X)
def clipped_window(x):
    y = np.zeros(8)
    for i in range(8):
        y[i] = x[i : i + 3].mean() + len(x[i : i + 3]) + x[max(0, i - 2) : i + 2].max()
    return y


@case(X)
def clipped_window_of_while(x):
    i, s = 0, 0.0
    while i < 8:
        s += x[i : i + 3].sum()
        i += 3
    return s


@case(X)
def batches(x):
    r = np.zeros(8)
    for i in range(0, 8, 3):
        r[i : i + 3] = x[i : i + 3] * 2
    return r


@case(X)
def from_the_back(x):
    s = 0.0
    for i in range(1, 8):
        s += x[-i:].sum() + x[:-i].sum() * 2 + x[:i][0] + x[i:][-1]
    return s


@case(X)
def strides(x):
    s = 0.0
    for i in range(1, 5):
        s += x[i::2].sum() + x[::i].sum()
        x[i::i] *= 0.5
    return s, x


@case(X)
def shifted(x):
    y, r = np.zeros(8), np.zeros(8)
    for i in range(1, 8):
        y[i:] += x[: 8 - i]
        r[i] = np.dot(x[i:], x[: 8 - i])
    return y, r


@case(X)
def views_stay_views(x):
    s = 0.0
    for i in range(1, 4):
        y, z = x[:i], x[i:].copy()
        x[0] = i
        y += 1
        z[0] = 7
        s += y[0] + y.sum() + z.sum()
    return s, x


@case(X)
def positions(x):
    r = np.zeros(8, int)
    for i in range(8):
        r[i] = np.argmax(x[i:]) + np.argmin(x[: i + 1])
    return r


@case(X)
def iterated(x):
    s = 0.0
    for i in range(8):
        for v in x[i : i + 3]:
            s = s * 0.9 + v
        for j, v in enumerate(x[:i]):
            s += j * v
    return s


@case(X)
def conditions(x):
    s = 0.0
    for i in range(8):
        w = x[i:]
        if w.sum() > 0 and len(w) > 3:
            s += w.mean() + np.any(w > 1) + (w > x[0]).sum() + np.all(w < 2)
    return s


@case(SPD)
def cholesky(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))


@case(SPD, X[:6].copy())
def gauss(a, b):
    n = len(b)
    for k in range(n - 1):
        p = np.argmax(np.abs(a[k:, k])) + k
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[k], b[p] = b[p], b[k]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        b[k + 1 :] -= a[k + 1 :, k] * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@case(SPD)
def householder(a):
    for k in range(5):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


@case(A[0])
def durbin(r):
    y = np.zeros_like(r)
    alpha, beta, y[0] = -r[0], 1.0, -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(A)
def parts_of_matrices(a):
    r = np.zeros((6, 6))
    for k in range(6):
        r[k] = a[k:].sum(axis=0) + a[:, k:].mean(axis=1)
        r[k, k] = a[k:, : k + 1].sum() + np.cumsum(a[0, : k + 1]).max()
        r += a[:, :k] @ r[:k]
        a[k:, k] = a[k:, k : k + 1][:, 0] * 2
    return r, a


@case(A)
def stencil_at_the_border(a):
    r = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            r[i, j] = a[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2].mean()
    return r


@case(np.array([0, 2, 2, 5], np.uint32), np.array([0, 2, 1, 3, 4], np.uint32), np.arange(1.0, 6.0), X)
def sparse_product(row, col, val, x):
    y = np.empty(row.size - 1, val.dtype)
    for i in range(row.size - 1):
        cols, vals = col[row[i] : row[i + 1]], val[row[i] : row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@case(np.arange(20.0).reshape(4, 5), np.array([0, 2, 3, 4]))
def ragged_rows(a, length):
    s = np.zeros(4)
    for i in range(4):
        s[i] = a[i, : length[i]].sum()
        a[i, length[i] :] = 0
    return s, a


@case(X)
def split_at_the_data(x):
    k = np.argmin(x)
    x[k:] = x[k]
    x[:k] *= -1
    return x, x[: k + 1].sum()


# ---- masks ---------------------------------------------------------------------------------------


@case(X)
def reductions_of_masks(x):
    m = x > 0
    y = x[m]
    return (
        (y.sum(), y.mean(), y.max(), y.min(), y.prod(), y.std(), y.var(), y.size, len(y), y.shape[0], y.argmax()),
        (np.sum(y > 0.5), np.any(y > 1), np.all(y > 0), np.count_nonzero(y), np.sqrt(y).sum(), (y @ y, np.dot(y, y))),
    )


@case(X)
def work_on_masks(x):
    v = -x[x < 0]
    w = v**2
    return w.sum() / len(v), np.where(v > 1, 1, v).sum(), np.clip(v, 0, 1).sum(), abs(v).max(), v[v > 0.5].sum()


@case(X)
def empty_masks(x):
    y = x[x > 100]
    return y.sum(), y.size, np.any(y)


@case(X)
def selections_are_copies(x):
    y = x[x > 0]
    y += 1
    y *= 2
    return y.sum(), x


@case(A)
def masks_beside_indices(a):
    m = a[0] > 0
    a[1:, m] = 0
    a[:, m] += 1
    a[m, 2:] *= 2
    return a, a[:, m].sum(axis=1), a[m].sum(axis=0), a[m, 0] @ a[m, 1]


@case(A)
def masks_of_two_axes(a):
    b = a[a > 0]
    b -= b.mean()
    a[a < 0] = -a[a < 0]
    return b.var(), a


@case(X, np.abs(X))
def radial_means(data, radius):
    r = np.zeros(4)
    for i in range(4):
        low, high = radius.max() * i / 4, radius.max() * (i + 1) / 4
        r[i] = data[np.logical_and(low <= radius, radius <= high)].mean()
    return r


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("function, arguments", CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_equals_numpy(function: Any, arguments: Any, target: str) -> None:
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    expected = function(*theirs)
    assert_same(accelerate(function, target=target)(*ours), expected, "result")
    assert_same(ours, theirs, "arguments after the call")


@pytest.mark.parametrize("function, loops", [(cholesky, 2), (durbin, 1), (householder, 1), (gauss, 2)])
def test_triangular_loops_stay_loops(function: Any, loops: int) -> None:
    arguments = dict((f.__name__, a) for f, a in CASES)[function.__name__]
    program = read(function, abstract(function, arguments, {})).function
    assert sum(isinstance(s, For) for s in walk(program.body)) == loops


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_the_extreme_of_nothing_is_an_error(target: str) -> None:
    def largest(x):
        return x[x > 100].max()

    def first(x):
        s = 0.0
        for i in range(8):
            s += x[:i][0]
        return s

    for f, error in ((largest, ValueError), (first, IndexError)):
        with pytest.raises(error):
            accelerate(f, target=target)(X)


def around_the_largest(x: Any) -> Any:
    i = np.argmax(x[:3])
    return np.tanh(x[i : i + 3] * 2) - x[i + 1 : i + 4]


def test_slices_of_known_length_are_results_of_derivatives_and_batches() -> None:
    x = np.array([0.3, -1.0, 2.0, 0.5, -0.2, 1.0])
    batch = np.stack([x, x[::-1], -x])
    wanted = np.stack([around_the_largest(row) for row in batch])
    batched = vmap(around_the_largest)
    np.testing.assert_allclose(batched(batch), wanted)
    np.testing.assert_allclose(accelerate(batched)(batch), wanted)
    assert "x * 2" not in batched.source(batch)  # of three elements, not of all
    h, t = 1e-6, np.ones(6)
    difference = (around_the_largest(x + h * t) - around_the_largest(x - h * t)) / (2 * h)
    np.testing.assert_allclose(jvp(around_the_largest, (x,), (t,))[1], difference, rtol=1e-6)
    with pytest.raises(IndexError):
        vmap(around_the_largest)(np.arange(6.0).reshape(2, 3))
