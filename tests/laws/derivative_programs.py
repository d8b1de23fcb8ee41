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
]
