"""Ordinary functions whose printed gradients are kept in `tests/golden`, to be read as a person would read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 1.0, 10)
DATA = RNG.uniform(-1.0, 1.0, (8, 5))
TARGETS = RNG.uniform(-1.0, 1.0, (8, 4))
W = RNG.uniform(-1.0, 1.0, (5, 4))
B = np.zeros(4)


def mean_square(w, x, y):
    h = np.tanh(x @ w)
    e = h - y
    return np.mean(e * e)


def decay_sum(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x
    return np.sum(y)


def network(params, x, y):
    for w, b in params[:-1]:
        x = np.tanh(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(np.sum(y * logp, axis=1))


def ridge(w, x, y):
    r = x @ w - y
    return 0.5 * np.sum(r**2) + 0.1 * np.sum(w**2)


def logistic(w, x, t):
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    return -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def gaussian(sigma, mu, x):
    z = (x - mu) / sigma
    return np.sum(-0.5 * z * z - np.log(sigma))


def heat_energy(u, k, n):
    for t in range(n):
        u = u.copy()
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def branch(x, a):
    if np.sum(x) > a:
        y = np.sin(x) * a
    else:
        y = x * x
    return np.sum(y)


def pair_energy(q):
    d = q[:, None, :] - q[None, :, :]
    r2 = np.sum(d * d, axis=-1) + 0.1
    return np.sum(1.0 / np.sqrt(r2))


def recurrent(w, h, xs):
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h * h)


def root(x):
    y = 1.0
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


def huber(x, d):
    a = np.abs(x)
    return np.sum(np.where(a < d, 0.5 * x * x, d * (a - 0.5 * d)))


def gather(table, idx):
    return np.sum(table[idx] ** 2)


def orbit(q, p, n):
    for i in range(n):
        p = p - 0.1 * np.sin(q)
        q = q + 0.1 * p
    return np.sum(q * q + p * p)


def scatter_matrix(x):
    c = x - np.mean(x, axis=0)
    return np.sum((c.T @ c) ** 2) / len(x)


def horner(c, x):
    y = 0.0
    for i in range(len(c)):
        y = y * x + c[i]
    return y


def spread(x):
    return np.std(x) + np.linalg.norm(x)


def relax_until_still(u, k):
    v = u.copy()
    while True:
        old = v.copy()
        v[1:-1] = v[1:-1] + k * (v[2:] - 2.0 * v[1:-1] + v[:-2]) * v[1:-1]
        v[0] = v[1]
        if np.max(np.abs(v - old)) < 1e-2:
            break
    return np.sum(v * v)


def softmax_regression(w, b, x, labels):
    s = x @ w + b
    s = s - np.max(s, axis=1, keepdims=True)
    p = np.exp(s) / np.sum(np.exp(s), axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(labels)), labels])) + 0.01 * np.sum(w * w)


def mixture(alphas, means, logs, x):
    centred = x[:, None, :] - means
    scaled = np.exp(logs) * centred
    each = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    top = np.max(each, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(each - top), axis=1))) + np.sum(top)


def reprojection(rotation, centre, focal, point, feature):
    theta = np.sqrt(np.sum(rotation**2))
    axis = rotation / theta
    p = point - centre
    q = p * np.cos(theta) + np.cross(axis, p) * np.sin(theta) + axis * (axis @ p) * (1.0 - np.cos(theta))
    r = focal * q[:2] / q[2] - feature
    return r @ r


def option(spot, strike, time, rate, volatility):
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / deviation
    d2 = d1 - deviation
    n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.702 * d2))
    return np.sum(spot * n1 - strike * np.exp(-rate * time) * n2)


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[-1])
    s = s - np.max(s, axis=-1, keepdims=True)
    p = np.exp(s)
    p = p / np.sum(p, axis=-1, keepdims=True)
    return np.sum((p @ v) ** 2)


def factorisation(u, v, x, mask):
    e = (x - u @ v.T) * mask
    return np.sum(e * e) + 0.1 * (np.sum(u * u) + np.sum(v * v))


def gaussian_process(x, y, scale, noise):
    d = x[:, None] - x
    k = np.exp(-0.5 * d**2 / scale**2) + noise * np.eye(len(x))
    low = np.linalg.cholesky(k)
    a = np.linalg.solve(low, y)
    return 0.5 * a @ a + np.sum(np.log(np.diag(low)))


def lorenz(y, p, n):
    for i in range(n):
        slope = np.array([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])
        y = y + 0.01 * slope
    return np.sum(y * y)


def kalman(a, q, r, ys):
    m = np.zeros(a.shape[0])
    p = np.eye(a.shape[0])
    loss = 0.0
    for y in ys:
        m = a @ m
        p = a @ p @ a.T + q
        s = p + r
        e = y - m
        loss = loss + e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1]
        gain = p @ np.linalg.inv(s)
        m = m + gain @ e
        p = p - gain @ p
    return loss


def hidden_markov(start, move, emit, seen):
    a = start * emit[:, seen[0]]
    loss = 0.0
    for t in range(1, len(seen)):
        total = np.sum(a)
        loss = loss - np.log(total)
        a = (a / total) @ move * emit[:, seen[t]]
    return loss - np.log(np.sum(a))


def cholesky(a):
    n = len(a)
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - low[i] @ low[j]
            low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
    return np.sum(low)


def kepler(mean, e):
    x = mean
    for _ in range(20):
        step = (x - e * np.sin(x) - mean) / (1.0 - e * np.cos(x))
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def two_springs(x, v, k, n):
    for _ in range(n):
        f = np.zeros_like(x)
        f[:-1] += k * (x[1:] - x[:-1])
        f[1:] -= k * (x[1:] - x[:-1])
        v = v + 0.1 * f
        x = x + 0.1 * v
    return np.sum(x * x)


def thomas(a, b, c, d):
    n = len(d)
    c = c.copy()
    d = d.copy()
    c[0] = c[0] / b[0]
    d[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] = c[i] / m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] = d[i] - c[i] * d[i + 1]
    return np.sum(d)


def validated(x, sigma):
    if sigma <= 0:
        raise ValueError(f"sigma must be positive, got {sigma}")
    assert not np.any(np.isnan(x)), "x has NaNs"
    return np.sum(np.exp(-((x / sigma) ** 2)))


def guarded_recurrence(x, limit):
    y = x
    for i in range(20):
        y = np.sin(y) * x + y
        if np.max(y) > limit:
            raise OverflowError(f"step {i}: {np.max(y):.3g} is beyond {limit}")
    return np.sum(y)


SPD = DATA[:5].T @ DATA[:5] + 3.0 * np.eye(5)

GRADIENTS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (mean_square, (W, DATA, TARGETS)),
    (decay_sum, (X, 7)),
    (network, ([(W, B), (W[:4], B)], DATA, TARGETS)),
    (ridge, (W, DATA, TARGETS)),
    (logistic, (W[:, 0], DATA, TARGETS[:, 0])),
    (rosenbrock, (X,)),
    (gaussian, (2.0, 0.5, X)),
    (heat_energy, (X, 0.3, 9)),
    (branch, (X, 2.0)),
    (pair_energy, (DATA,)),
    (recurrent, (W[:4], B, TARGETS)),
    (root, (2.0,)),
    (huber, (X, 0.5)),
    (gather, (DATA, np.array([0, 1, 1]))),
    (orbit, (X, X, 5)),
    (scatter_matrix, (DATA,)),
    (horner, (X, 0.3)),
    (spread, (X,)),
    (relax_until_still, (X, 0.2)),
    (softmax_regression, (W, B, DATA, np.arange(8) % 4)),
    (mixture, (X[:2], DATA[:2], W.T[:2], DATA)),
    (reprojection, (X[:3], X[3:6], 1.2, X[5:8], X[8:])),
    (option, (X + 1.0, X[::-1].copy(), 1.5, 0.02, 0.3)),
    (attention, (DATA, DATA[:6], TARGETS[:6])),
    (factorisation, (DATA, W.T.copy(), TARGETS, TARGETS)),
    (gaussian_process, (X, X[::-1].copy(), 0.5, 0.1)),
    (lorenz, (X[:3], X[3:6], 5)),
    (kalman, (W[:4], np.eye(4), np.eye(4), TARGETS)),
    (hidden_markov, (X[:3], DATA[:3, :3] + 1.1, DATA[3:6] + 1.1, np.array([0, 3, 1, 4]))),
    (cholesky, (SPD,)),
    (kepler, (0.8, 0.4)),
    (two_springs, (X, X, 0.4, 5)),
    (thomas, (X, X + 3.0, X, X)),
    (validated, (X, 0.7)),
    (guarded_recurrence, (X, 1e9)),
]
