"""Functions whose generated kernels are kept in `tests/golden/kernels`, to be read as a person would read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import product_programs as products

from untraced import grad, vmap
from untraced.translator.ir import Aval


def chain(x: Any, y: Any) -> Any:
    mixed = 0.5 * (x + y)
    return np.sin(mixed) - mixed * x


def leaky(x: Any, gain: Any, offset: Any, slope: float) -> Any:
    scaled = x * gain + offset[:, None]
    positive = scaled > 0
    return np.where(positive, scaled, slope * scaled), positive


def heat(u: Any) -> Any:
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return 0.5 * u[1:-1, 1:-1] + 0.125 * around


def wave(u: Any, before: Any) -> Any:
    after = 2 * u - before
    after[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    after[0] = after[-1] = 0
    return after


def periodic(u: Any) -> Any:
    return u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)


def turned(x: Any, y: Any) -> Any:
    return x.T[::-1] * 2 + y


def half_precision(x: Any, y: Any) -> Any:
    return np.tanh(x) * y + 1


def positions(x: Any) -> Any:
    i = np.arange(x.shape[0])[:, None]
    j = np.arange(x.shape[1])
    return np.where(i >= j, x, 0)


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias


def cross_entropy(logits: Any, targets: Any) -> Any:
    top = np.max(logits, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    return total - np.sum(logits * targets, axis=1)


def best(scores: Any, weight: Any) -> Any:
    return np.argmax(scores * weight, axis=1)


def decayed(x: Any, y: Any) -> Any:
    return np.cumsum(x * y) - x


def brightest(x: Any) -> Any:
    return np.argmax(np.abs(x), axis=0)


def mean_square(x: Any, y: Any) -> Any:
    error = x - y
    return np.mean(error * error)


def columns(x: Any) -> Any:
    return np.max(np.abs(x), axis=0)


def rms_norm(x: Any, gain: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain


def embedding(table: Any, words: Any, places: Any) -> Any:
    return table[words] * 8.0 + places


def histogram(x: Any) -> Any:
    counts = np.zeros(256, np.int64)
    np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
    return counts


def causal_loss(q: Any, k: Any, v: Any) -> Any:
    return np.sum(products.causal(q, k, v) ** 2)


def embedding_gradient(table: Any, words: Any, d_y: Any) -> Any:
    d_table = np.zeros_like(table)
    np.add.at(d_table, words, d_y * 8.0)
    return d_table


def scattered(x: Any, places: Any, y: Any) -> Any:
    out = x.copy()
    out[places] = np.sqrt(y)
    return out


def likelihood(logits: Any, labels: Any) -> Any:
    top = np.max(logits, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
    return total - logits[np.arange(logits.shape[0]), labels]


def escape(x: Any, y: Any) -> Any:
    a = b = 0.0
    n = 0
    while a * a + b * b <= 4 and n < 1000:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


def escape_of_arrays(x: Any, y: Any, turns: Any) -> Any:
    a = np.zeros((y.shape[0], x.shape[0]), x.dtype)
    b, n = np.zeros_like(a), np.zeros(a.shape, np.int32)
    for _ in range(turns):
        inside = a * a + b * b <= 4
        a, b = np.where(inside, a * a - b * b + x, a), np.where(inside, 2 * a * b + y[:, None], b)
        n += inside
    return n


def softmax_of_columns(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def smoothed(x: Any, rate: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + rate * (x[i] - y[i - 1])
    return y


def decaying(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = np.sin(y) * x
    return np.sum(y)


def forces(places: Any, masses: Any) -> Any:
    d = places[:, None] - places
    square = np.sum(d * d, axis=2) + 1e-3
    return np.sum(d * (masses / (square * np.sqrt(square)))[..., None], axis=1)


def rotated(x: Any, cosines: Any, sines: Any) -> Any:
    even, odd = x[:, ::2], x[:, 1::2]
    return np.stack([even * cosines - odd * sines, even * sines + odd * cosines], axis=-1).reshape(x.shape)


def pooled(x: Any, weights: Any) -> Any:
    n, height, width = x.shape
    windows = np.maximum(x, 0).reshape(n, height // 2, 2, width // 2, 2)
    return np.sum(windows.max(axis=(2, 4)) * weights)


def group_norm(x: Any, gain: Any, bias: Any) -> Any:
    t = x.reshape(x.shape[0], 8, x.shape[1] // 8, x.shape[2])
    t = (t - np.mean(t, axis=(2, 3), keepdims=True)) / np.sqrt(np.var(t, axis=(2, 3), keepdims=True) + 1e-5)
    return t.reshape(x.shape) * gain[:, None] + bias[:, None]


def normalised(x: Any, gain: Any, bias: Any, d_y: Any) -> Any:
    return np.sum(layer_norm(x, gain, bias) * d_y)


def f(*shape: int) -> Aval:
    return Aval(shape, np.dtype(np.float32))


def h(*shape: int) -> Aval:
    return Aval(shape, np.dtype(np.float16))


def whole(*shape: int) -> Aval:
    return Aval(shape, np.dtype(np.int64))


BOTH: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (chain, (f(1 << 20), f(1 << 20))),
    "leaky": (leaky, (f(256, 512), f(512), f(256), Aval((), np.dtype(np.float64), weak=True))),
    "heat": (heat, (f(512, 512),)),
    "wave": (wave, (f(512, 512), f(512, 512))),
    "periodic": (periodic, (f(512, 512),)),
    "turned": (turned, (f(300, 500), f(500, 300))),
    "half_precision": (half_precision, (h(1000), h(1000))),
    "positions": (positions, (f(300, 300),)),
    "softmax": (softmax, (f(512, 1000),)),
    "softmax_of_long_rows": (softmax, (f(512, 100_000),)),
    "softmax_of_columns": (softmax_of_columns, (f(64, 200, 304),)),
    "layer_norm": (layer_norm, (f(512, 768), f(768), f(768))),
    "layer_norm_of_long_rows": (layer_norm, (f(512, 100_000), f(100_000), f(100_000))),
    "layer_norm_gradient": (grad(normalised, (0, 1, 2)), (f(512, 768), f(768), f(768), f(512, 768))),
    "group_norm": (group_norm, (f(32, 64, 256), f(64), f(64))),
    "pooled_gradient": (grad(pooled), (f(64, 64, 64), f(64, 32, 32))),
    "forces": (forces, (f(4096, 3), f(4096))),
    "rotated": (rotated, (f(2048, 128), f(2048, 64), f(2048, 64))),
    "cross_entropy": (cross_entropy, (f(512, 1000), f(512, 1000))),
    "best": (best, (f(512, 1000), f(1000))),
    "log_of_sum": (products.log_of_sum, (f(1 << 24),)),
    "mean_square": (mean_square, (f(1 << 20), f(1 << 20))),
    "columns": (columns, (f(5000, 300),)),
    "rms_norm": (rms_norm, (f(512, 4096), f(4096))),
    "embedding": (embedding, (f(50_000, 768), whole(2048), f(2048, 768))),
    "embedding_gradient": (embedding_gradient, (f(50_000, 768), whole(2048), f(2048, 768))),
    "scattered": (scattered, (f(1 << 20), whole(4096), f(4096))),
    "likelihood": (likelihood, (f(512, 1000), whole(512))),
    "shares": (products.shares, (f(512, 1000),)),
    "running_down": (products.down, (f(512, 50_000), f(50_000))),
    "running_maximum": (products.highest, (f(512, 1000),)),
    "running": (products.running, (f(512, 50_000), f(50_000))),
    "decayed": (decayed, (f(1 << 24), f(1 << 24))),
    "brightest": (brightest, (f(5000, 300),)),
    "variance": (products.variance, (f(50_000, 300),)),
    "gelu_layer": (products.gelu_layer, (h(512, 64), h(64, 512), h(512))),
    "many": (products.many, (f(8, 300, 16), f(8, 16, 300), f(8, 300))),
    "attention": (products.attention, (h(512, 64), h(512, 64), h(512, 64))),
    "causal_gradient": (grad(causal_loss, argnums=(0, 1, 2)), (h(16, 4096, 64),) * 3),
    "escape": (vmap(escape), (f(4096), f(4096))),
    "escape_of_arrays": (escape_of_arrays, (f(700), f(500), Aval((), np.dtype(np.int64), weak=True))),
    "escape_on_a_grid": (vmap(vmap(escape, in_axes=(0, None)), in_axes=(None, 0)), (f(700), f(500))),
}
TRITON: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "scaled": (products.scaled, (f(300, 20), f(300), f(300, 20))),
    "causal": (products.causal, (f(8, 512, 32), f(8, 512, 32), f(8, 512, 32))),
    "causal_of_long_rows": (products.causal, (h(16, 4096, 128),) * 3),
}
CUDA: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax_on_the_chip": (softmax, (f(512, 65_536),)),
    "decaying_gradient": (grad(decaying), (f(1 << 20),)),
    "histogram": (histogram, (f(1 << 20),)),
    "smoothed": (smoothed, (f(1000), Aval((), np.dtype(np.float64), weak=True))),
}
"""Loops, long rows and sums in shared memory, which are CUDA kernels on both targets."""
