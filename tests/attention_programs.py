"""Losses of attention, as a user writes them, whose gradients make the scores again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from untraced.kernels.facts import H200, Facts

SLOW_MEMORY = Facts(bandwidth=1e9, rates=dict.fromkeys(H200.rates, 1e15))
"""A device on which nothing is worth keeping in memory."""


def softmax(s: Any) -> Any:
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def plain(q: Any, k: Any, v: Any) -> Any:
    return np.sum((softmax(q @ k.T) @ v) ** 2)


def itself(q: Any, k: Any, v: Any) -> Any:
    """The values are an operand of all products, and what their gradient is multiplied by is a number."""
    return np.sum(softmax(q @ k.T / 4) @ v)


def layer(q: Any, k: Any, v: Any, w: Any) -> Any:
    s = np.einsum("bihd,bjhd->bhij", q, k) * 0.25
    s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    o = np.einsum("bhij,bjhd->bihd", softmax(s).astype(v.dtype), v)
    return np.mean(((o @ w).astype(np.float32) + 1) ** 2)


def masked(q: Any, k: Any, v: Any, bias: Any, keep: Any) -> Any:
    return np.sum((softmax(q @ k.T + bias) * keep @ v) ** 2)


def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    """One bias for all heads, of which each query and key has a number: the gradient of it is a sum over heads."""
    scores = np.where(np.tri(bias.shape[0], bias.shape[1], dtype=bool), q @ np.swapaxes(k, -1, -2) + bias, -np.inf)
    return np.sum((softmax(scores) @ v) ** 2)


def positioned(q: Any, k: Any, v: Any, table: Any) -> Any:
    """A bias for each distance and head."""
    i, j = np.arange(q.shape[1]), np.arange(k.shape[1])
    bias = table[i[:, None] - j + k.shape[1] - 1].transpose(2, 0, 1)
    return np.sum((softmax(q @ np.swapaxes(k, -1, -2) + bias) @ v) ** 2)


def some(*shape: int, seed: int = 0, dtype: Any = "f4") -> Any:
    return np.random.default_rng(seed + len(shape)).standard_normal(shape).astype(dtype)


def three(*shapes: tuple[int, ...], dtype: Any = "f4") -> list[Any]:
    return [some(*s, seed=k, dtype=dtype) for k, s in enumerate(shapes)]


HEADS = ((2, 70, 2, 16),) * 3
BIASED = ((2, 70, 16), (2, 45, 16), (2, 45, 24))
WITH_BIAS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "shared": (biased, [*three(*BIASED), some(70, 45)]),
    "double": (biased, [*three(*BIASED, dtype="f8"), some(70, 45, dtype="f8")]),
    "half": (biased, [*three(*BIASED, dtype="f2"), some(70, 45, dtype="f2")]),
    "positioned": (positioned, [*three(*BIASED), some(114, 2)]),
}
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "plain": (plain, three((70, 16), (45, 16), (45, 24))),
    "double": (plain, three((70, 16), (45, 16), (45, 16), dtype="f8")),
    "half": (plain, three((70, 16), (45, 16), (45, 16), dtype="f2")),
    "itself": (itself, three((70, 16), (45, 16), (45, 24))),
    "itself_double": (itself, three((20, 16), (45, 16), (45, 16), dtype="f8")),
    "layer": (layer, [*three(*HEADS), some(16, 5)]),
    "layer_half": (layer, [*three(*HEADS, dtype="f2"), some(16, 5, dtype="f2")]),
    "masked": (masked, [*three((70, 16), (45, 16), (45, 24)), some(45), some(70, 45) > 0]),
}


def tolerance(args: list[Any]) -> float:
    """Of the largest element, against float64: scores of half precision are rounded before their exponentials."""
    return {"f2": 1e-2, "f4": 2e-6, "f8": 1e-14}[args[0].dtype.str[1:]]
