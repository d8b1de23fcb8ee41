"""Complete programs with a `while` that the data end, walls and wrapped edges, networks in loops, shrinking arrays."""

from __future__ import annotations

import numpy as np

from kernels import program


def across(f, h):
    """Central difference along x where the channel closes on itself."""
    d = np.empty_like(f)
    d[:, 1:-1] = (f[:, 2:] - f[:, :-2]) / (2 * h)
    d[:, 0] = (f[:, 1] - f[:, -1]) / (2 * h)
    d[:, -1] = (f[:, 0] - f[:, -2]) / (2 * h)
    return d


def settled_pressure(p, source, h, sweeps):
    for _ in range(sweeps):
        old = p.copy()
        p[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]) / 4 - h**2 / 4 * source[
            1:-1, 1:-1
        ]
        p[1:-1, 0] = (old[1:-1, 1] + old[1:-1, -1] + old[2:, 0] + old[:-2, 0]) / 4 - h**2 / 4 * source[1:-1, 0]
        p[1:-1, -1] = (old[1:-1, 0] + old[1:-1, -2] + old[2:, -1] + old[:-2, -1]) / 4 - h**2 / 4 * source[1:-1, -1]
        p[0] = p[1]
        p[-1] = p[-2]


@program(lambda r, n=9: (np.zeros((n, n)), r.random((n, n)) * 0.01, np.ones((n, n)), 2.0 / n, 0.01, 0.1, 1.0))
def driven_channel(u, v, p, h, dt, nu, force):
    v[0] = v[-1] = 0
    change, steps = 1.0, 0
    while change > 0.01 and steps < 200:
        before = u.copy()
        source = across(u, h) / dt - across(u, h) ** 2
        settled_pressure(p, source, h, 6)
        for f, push in ((u, force), (v, 0.0)):
            old = f.copy()
            curl = np.zeros_like(f)
            curl[1:-1, 1:-1] = old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1] - 4 * old[1:-1, 1:-1]
            f[1:-1] = (old + dt * (nu / h**2 * curl - u * across(old, h) - across(p, h) + push))[1:-1]
            f[0] = f[-1] = 0
        change = (np.sum(u) - np.sum(before)) / np.sum(u)
        steps += 1
    return steps


@program(lambda r, n=5: (r.random((n, n + 1, 7)), r.random((n + 1, n + 1, 8)), 0.3))
def implicit_columns(field, rate, dt):
    levels = field.shape[2]
    face = 0.5 * (rate[1:] + rate[:-1])
    upper = np.empty_like(field)
    right = np.empty_like(field)
    for k in range(levels):
        below, above = dt * face[:, :, k], dt * face[:, :, k + 1]
        if k == 0:
            pivot = 1 + above
            right[:, :, k] = field[:, :, k] / pivot
        else:
            pivot = 1 + below + above - below * upper[:, :, k - 1]
            right[:, :, k] = (field[:, :, k] + below * right[:, :, k - 1]) / pivot
        upper[:, :, k] = above / pivot
    carried = np.zeros(field.shape[:2])
    for k in range(levels - 1, -1, -1):
        carried[:] = right[:, :, k] + upper[:, :, k] * carried
        field[:, :, k] = carried


def convolved(x, w):
    n, high, wide, _ = x.shape
    size = w.shape[0]
    y = np.empty((n, high - size + 1, wide - size + 1, w.shape[3]), x.dtype)
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            y[:, i, j] = np.tensordot(x[:, i : i + size, j : j + size], w, axes=3)
    return y


def normal(x, eps=1e-5):
    return (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.var(x, axis=0, keepdims=True) + eps)


@program(
    lambda r, n=5: tuple(
        a.astype(np.float32) for a in (r.random((3, n, n, 4)), r.random((1, 1, 4, 2)), r.random((3, 3, 2, 4)))
    )
)
def residual_block(x, narrow, wide):
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, narrow.shape[3]), dtype=x.dtype)
    padded[:, 1:-1, 1:-1, :] = np.maximum(normal(convolved(x, narrow)), 0)
    return np.maximum(normal(convolved(padded, wide)) + x, 0)


@program(lambda r, n=3: (r.random((n, 10, 10, 1)), r.random((3, 3, 1, 4)) - 0.5, r.random((64, 5)) - 0.5, r.random(5)))
def small_network(images, kernel, dense, bias):
    x = np.maximum(convolved(images, kernel), 0)
    pooled = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]))
    for i in range(pooled.shape[1]):
        for j in range(pooled.shape[2]):
            pooled[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    scores = pooled.reshape(len(images), -1) @ dense + bias
    return np.argmax(scores, axis=1), scores


@program(lambda r, n=14: (-1.75, 0.25, 1.0, n, n - 3, 25))
def escape_times(left, right, top, wide, high, turns):
    column, row = np.mgrid[0:wide, 0:high]
    c = np.linspace(left, right, wide)[column] + 1j * np.linspace(-top, top, high)[row]
    times = np.zeros(c.shape, dtype=np.int64)
    column.shape = row.shape = c.shape = wide * high
    z = np.zeros(c.shape, np.complex128)
    for turn in range(turns):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        gone = abs(z) > 2.0
        times[column[gone], row[gone]] = turn + 1
        np.logical_not(gone, gone)
        z, c, column, row = z[gone], c[gone], column[gone], row[gone]
    return times.T


@program(lambda r, n=40: (-1.75, 0.25, 1.0, n, 40))
def orbits(left, right, top, n, turns):
    """Chaotic where it matters: the last digit of every step decides where a point is at the end."""
    c = np.linspace(left, right, n) + np.linspace(-top, top, n)[:, None] * 1j
    z = np.zeros(c.shape, dtype=np.complex128)
    for _ in range(turns):
        inside = np.less(abs(z), 2.0)
        z[inside] = z[inside] ** 2 + c[inside]
    return z


@program(lambda r, n=9: (r.random((n, n)), r.random(n) + n, r.random(n)))
def sparse_sweeps(dense, diagonal, b):
    rows, columns = np.nonzero(dense > 0.6)
    starts = np.searchsorted(rows, np.arange(len(b) + 1))
    values = dense[rows, columns]
    x = np.zeros_like(b)
    for _ in range(5):
        for i in range(len(b)):
            s = slice(starts[i], starts[i + 1])
            x[i] = (b[i] - values[s] @ x[columns[s]]) / diagonal[i]
    return x
