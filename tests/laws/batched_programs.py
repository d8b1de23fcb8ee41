"""Functions of one example whose batched source is kept in `tests/golden/batched`, to be read as a person would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from untraced import grad

RNG = np.random.default_rng(1)
Fun = Callable[..., Any]


@dataclass(frozen=True)
class Batched:
    fun: Fun
    in_axes: Any
    args: tuple[Any, ...]
    out_axes: int = 0
    lanes: Any = "auto"


BATCHED: list[Batched] = []


def batched(in_axes: Any, *args: Any, out_axes: int = 0, lanes: str = "auto") -> Callable[[Fun], Fun]:
    def add(fun: Fun) -> Fun:
        BATCHED.append(Batched(fun, in_axes, args, out_axes, lanes))
        return fun

    return add


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


LABELS = np.array([0, 2, 1, 1, 0])


@batched((None, None, 0), normal(3, 4), normal(3), normal(5, 4))
def predict(w, b, x):
    return np.tanh(w @ x + b)


@batched((None, None, 0), normal(4, 8), normal(8, 2), normal(5, 4))
def two_layers(w1, w2, x):
    return np.maximum(x @ w1, 0.0) @ w2


@batched((0, None), normal(5, 3, 4), normal(4))
def many_matrices(w, x):
    return w @ x


@batched((0, 0), normal(5, 3, 4), normal(5, 4))
def matrix_vector(w, x):
    return w @ x


@batched((0, 0), normal(5, 4), normal(5, 4))
def inner(x, y):
    return x @ y


@batched((0, 0), normal(5, 4), normal(5, 3))
def outer(x, y):
    return np.outer(x, y)


@batched((0, None), normal(5, 4), normal(4, 4))
def quadratic_form(x, a):
    return x @ a @ x


@batched((0, None), normal(5, 4), normal(4, 4))
def chain(x, a):
    return a @ (a @ x) + x


@batched((None, 0), normal(5, 4), normal(5, 4))
def labelled_product(a, b):
    return np.einsum("ij,j->i", a, b)


@batched(0, normal(5, 3, 4))
def gram(x):
    return x.T @ x


@batched((0, 0, 0), normal(5, 6, 4), normal(5, 6, 4), normal(5, 6, 4))
def attention(q, k, v):
    s = q @ k.T / np.sqrt(4.0)
    s = np.exp(s - s.max(axis=1, keepdims=True))
    return s / s.sum(axis=1, keepdims=True) @ v


@batched(0, normal(5, 4))
def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


@batched(0, normal(5, 3, 4))
def normalised_rows(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


@batched(0, normal(5, 3, 4))
def standardised_columns(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


@batched((0, None), normal(5, 4), normal(7, 4))
def nearest(x, centres):
    return np.argmin(np.sum((centres - x) ** 2, axis=1))


@batched((0, 0), normal(5, 4), normal(5, 4))
def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


@batched((0, 0), normal(5, 4), LABELS)
def cross_entropy(logits, label):
    return np.log(np.sum(np.exp(logits))) - logits[label]


@batched((0, None), LABELS, normal(3, 4))
def embedding(i, table):
    return table[i]


@batched((0, 0), normal(5, 4), LABELS)
def bumped(x, i):
    x = x.copy()
    x[i] += 1.0
    return x


@batched(1, normal(4, 5))
def reversed_sums(x):
    return np.cumsum(x)[::-1]


@batched(0, normal(5, 6))
def differences(x):
    y = np.zeros_like(x)
    y[1:-1] = x[2:] - x[:-2]
    y[0] = x[0]
    return y


@batched(0, normal(5, 8))
def smoothed(x):
    y = x.copy()
    for _ in range(3):
        y[1:-1] = (y[2:] + y[:-2]) / 2
    return y


@batched((0, None), normal(5, 4), 10)
def iterated(x, n):
    for _ in range(n):
        x = x + np.sin(x)
    return x


@batched((None, None, 0, 0), normal(4, 4), normal(4, 3), normal(5, 4), normal(5, 6, 3))
def recurrent(w, u, h, xs):
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return h


@batched(0, normal(5))
def safe_log(x):
    return np.where(x > 0, np.log(np.abs(x)), 0.0)


@batched(0, normal(5, 2))
def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


@batched((0, 0), normal(5, 3), normal(5, 3))
def cross_product(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@batched(0, normal(5, 4))
def two_largest(x):
    return np.sort(x)[-2:]


@batched(0, normal(5, 3, 4))
def flattened(x):
    return np.concatenate([x, x[::-1]], axis=0).reshape(-1)


@batched(0, {"w": normal(5, 3, 4), "b": normal(5, 3)})
def of_a_tree(p):
    return {"y": p["w"] @ np.ones(4) + p["b"], "scale": np.sum(p["b"] ** 2)}


@batched((0, None), normal(5, 3, 3), normal(3))
def solved(a, b):
    return np.linalg.solve(a, b)


@batched(0, normal(5, 4), out_axes=1)
def last_axis(x):
    return x * 2.0


@batched((None, 0, 0), normal(4), normal(5, 4), normal(5))
def example_gradient(w, x, y):
    return grad(lambda w: (np.tanh(x @ w) - y) ** 2)(w)


@batched((None, 0), normal(3, 4), normal(5, 4))
def layer_gradient(w, x):
    return grad(lambda w: np.sum(np.tanh(w @ x) ** 2))(w)


@batched((0, 0), normal(5), normal(5), lanes="loop")
def escape_time(a, b):
    x = y = 0.0
    n = 0
    while x * x + y * y <= 4.0 and n < 50:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        n += 1
    return n


@batched((0, None), normal(5, 3), normal(4), lanes="loop")
def first_above(x, levels):
    total = np.sum(x)
    if total < 0.0:
        return -1.0, total
    k = 0
    while k < 4 and levels[k] < total:
        k += 1
    return k / 4.0, total
