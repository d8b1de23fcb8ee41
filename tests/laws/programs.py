"""Small realistic NumPy functions, with arguments: every stage of the pipeline is tested on all of them.

Tests in other folders import it as `laws.programs`. Arguments are read-only by convention: copy them before a call.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_rng = np.random.default_rng(20)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return _rng.normal(size=shape)


@dataclass(frozen=True)
class Example:
    """`differentiable`: a float scalar or array result that depends smoothly on the first argument."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    differentiable: bool = True

    def __repr__(self) -> str:
        return self.fun.__name__


def square_loss(w, x, y):
    h = np.tanh(x @ w)
    e = h - y
    return np.mean(e * e)


def decay(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x
    return np.sum(y)


def predict(w, b, x):
    return np.tanh(w @ x + b)


def two_layers(params, x):
    h = np.maximum(x @ params["w1"] + params["b1"], 0.0)
    return h @ params["w2"] + params["b2"]


def layer_list(layers, x):
    for w, b in layers[:-1]:
        x = np.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def softmax(x):
    shifted = x - np.max(x, axis=-1, keepdims=True)
    e = np.exp(shifted)
    return e / np.sum(e, axis=-1, keepdims=True)


def cross_entropy(logits, labels):
    top = np.max(logits, axis=1, keepdims=True)
    logz = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    picked = logits[np.arange(logits.shape[0]), labels]
    return np.mean(logz - picked)


def layer_norm(x, gain, bias):
    mean = np.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(var + 1e-5) * gain + bias


def attention(q, k, v):
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    return np.matmul(softmax(scores), v)


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def heat_step(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def double_buffer(u, steps):
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, new = new, u
    return u


def in_place(x):
    x[0] = 3.0
    x[1:] *= 2.0


def horner(coefficients, x):
    y = np.zeros_like(x)
    for i in range(len(coefficients)):
        y = y * x + coefficients[i]
    return y


def newton_sqrt(a):
    x = a
    while np.max(np.abs(x * x - a)) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def clipped_step(x, lr):
    norm = np.sqrt(np.sum(x * x))
    if norm > 1.0:
        x = x / norm
    else:
        x = x * 0.5
    return x - lr * x


def running_maximum(x):
    best = x[0]
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        best = np.maximum(best, x[i])
        out[i] = best
    return out


def fibonacci(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a, b


def prefix_sums(x):
    total = 0.0
    out = np.zeros(len(x))
    for i in range(len(x)):
        total += x[i]
        out[i] = total
    return out, total


def through_a_view(x):
    y = x * 2.0
    row = y[1]
    row[:] = row + 1.0
    y[:, 0] += row[0]
    return y


def upwards_and_down(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i] - 0.5 * y[i - 1]
    for i in reversed(range(len(x) - 1)):
        y[i] = y[i] - 0.25 * y[i + 1]
    return y


def windows(x, width):
    out = np.zeros(x.shape[0] - 2)
    for i in range(x.shape[0] - 2):
        out[i] = np.sum(x[i : i + 3]) / width
    return out


def covariance(x):
    centred = x - np.mean(x, axis=0)
    return centred.T @ centred / (x.shape[0] - 1)


def power_iteration(a, v):
    for _ in range(5):
        v = a @ v
        v = v / np.sqrt(v @ v)
    return v, v @ (a @ v)


def momentum(params, grads, velocity, lr):
    new_v = {k: 0.9 * velocity[k] + grads[k] for k in params}
    return {k: params[k] - lr * new_v[k] for k in params}, new_v


State = namedtuple("State", ["position", "speed"])


def leapfrog(state, dt):
    position, speed = state.position, state.speed
    for _ in range(3):
        speed = speed - 0.5 * dt * position
        position = position + dt * speed
        speed = speed - 0.5 * dt * position
    return State(position=position, speed=speed)


def _scaled(x, factor=2.0):
    if np.sum(x) > 0.0:
        return x * factor
    return x


def helpers(x):
    twice = lambda a: a + a  # noqa: E731
    return _scaled(twice(x)) + _scaled(x, factor=0.5)


def histogram(x, bins):
    counts = np.zeros(4)
    np.add.at(counts, bins, x)
    return counts


def escape_time(c):
    z = 0.0
    n = 0
    while n < 20 and z < 4.0:
        z = z * z + c
        n += 1
    return n


def outer_update(a, u, v):
    a -= np.outer(u, v)
    return a


def gather_rows(table, index):
    return table[index] * 2.0 + table[-1]


def masked(x):
    y = np.where(x > 0.0, x, 0.1 * x)
    return np.sum(y[::2] * y[::-2][:3])


def single_precision(x, w):
    scaled = x * 0.5 + 1
    return (scaled @ w).astype(np.float64)


def integers(k):
    return (k * 3 + 1) // 2 % 5 + (k > 2)


def triangular_solve(a, b):
    n = b.shape[0]
    x = np.zeros(n)
    for i in range(n):
        x[i] = (b[i] - a[i, :] @ x) / a[i, i]
    return x


_A = normal(4, 4) + 6.0 * np.eye(4)

def turned(angle, p):
    c, s = np.cos(angle), np.sin(angle)
    about_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    about_z = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return about_z @ about_x @ p + np.array([[c, s, c]]) * p.T @ np.array([[c], [s], [2.0]])


def diagonals(x):
    a = np.diag(x) + np.diag(x[1:], 1) + np.diag(x[:-2], -2)
    b = np.diag(np.cos(x))
    b[0, 1] = x[2]
    return a @ b + np.diag(np.diag(a))


PROGRAMS: list[Example] = [
    Example(square_loss, (normal(4, 3), normal(5, 4), normal(5, 3))),
    Example(decay, (normal(3), 4)),
    Example(predict, (normal(3, 4), normal(3), normal(4))),
    Example(two_layers, ({"w1": normal(4, 5), "b1": normal(5), "w2": normal(5, 2), "b2": normal(2)}, normal(3, 4))),
    Example(layer_list, ([(normal(4, 5), normal(5)), (normal(5, 2), normal(2))], normal(3, 4))),
    Example(softmax, (normal(3, 4),)),
    Example(cross_entropy, (normal(5, 3), np.array([0, 2, 1, 1, 0]))),
    Example(layer_norm, (normal(3, 6), normal(6), normal(6))),
    Example(attention, (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4))),
    Example(gelu, (normal(6),)),
    Example(heat_step, (normal(5, 6), 3)),
    Example(double_buffer, (normal(7), 3)),
    Example(in_place, (normal(4),), differentiable=False),
    Example(horner, (normal(4), normal(3))),
    Example(newton_sqrt, (np.abs(normal(3)) + 0.5,)),
    Example(clipped_step, (normal(4), 0.1)),
    Example(running_maximum, (normal(6),)),
    Example(fibonacci, (normal(2), normal(2), 4)),
    Example(prefix_sums, (normal(5),)),
    Example(through_a_view, (normal(3, 4),)),
    Example(upwards_and_down, (normal(5),)),
    Example(windows, (normal(7), 3.0)),
    Example(covariance, (normal(6, 3),)),
    Example(power_iteration, (_A, normal(4))),
    Example(
        momentum,
        (
            {"w": normal(2, 3), "b": normal(3)},
            {"w": normal(2, 3), "b": normal(3)},
            {"w": normal(2, 3), "b": normal(3)},
            0.1,
        ),
    ),
    Example(leapfrog, (State(normal(3), normal(3)), 0.1)),
    Example(helpers, (normal(4),)),
    Example(histogram, (normal(6), np.array([0, 1, 3, 1, 0, 2]))),
    Example(escape_time, (0.4,), differentiable=False),
    Example(outer_update, (normal(3, 4), normal(3), normal(4))),
    Example(gather_rows, (normal(5, 3), np.array([[0, 4], [2, 2]]))),
    Example(masked, (normal(6),)),
    Example(single_precision, (normal(3, 4).astype(np.float32), normal(4, 2).astype(np.float32))),
    Example(integers, (np.arange(6),), differentiable=False),
    Example(triangular_solve, (_A, normal(4))),
    Example(turned, (0.3, normal(3, 3)), differentiable=False),
    Example(diagonals, (normal(4),)),
]
