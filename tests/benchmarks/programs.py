"""The benchmark programs, each written once per framework in its natural form. Arrays are float64 unless said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """`body(np)` builds the function over a NumPy-like namespace; frameworks that need another form have their own."""

    name: str
    body: Callable[[Any], Callable[..., Any]]
    arguments: Callable[[np.random.Generator], Arrays]
    numba: bool = True
    other: dict[str, Callable[[], Callable[..., Any]]] = field(default_factory=dict)


def chain(np: Any) -> Callable[..., Any]:
    def chain(x: Any, y: Any) -> Any:
        a = np.sin(x) * y
        b = np.exp(-a * a)
        c = np.tanh(b + x) - 0.5 * y
        return np.sqrt(c * c + 1.0) * b

    return chain


def softmax(np: Any) -> Callable[..., Any]:
    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    return softmax


def layer_norm(np: Any) -> Callable[..., Any]:
    def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
        mean = np.mean(x, axis=1, keepdims=True)
        centred = x - mean
        variance = np.mean(centred * centred, axis=1, keepdims=True)
        return centred / np.sqrt(variance + 1e-5) * gain + bias

    return layer_norm


def dense_gelu(np: Any) -> Callable[..., Any]:
    def dense_gelu(x: Any, w: Any, b: Any) -> Any:
        h = x @ w + b
        return 0.5 * h * (1.0 + np.tanh(0.7978845608028654 * (h + 0.044715 * h * h * h)))

    return dense_gelu


def jacobi(np: Any) -> Callable[..., Any]:
    def jacobi(u: Any, steps: Any) -> Any:
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        return u

    return jacobi


def jacobi_jax() -> Callable[..., Any]:
    import jax

    def jacobi(u: Any, steps: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            return u.at[1:-1, 1:-1].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]))

        return jax.lax.fori_loop(0, steps, step, u)

    return jacobi


def jacobi_torch() -> Callable[..., Any]:
    def jacobi(u: Any, steps: Any) -> Any:
        u = u.clone()
        for _ in range(steps):
            u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        return u

    return jacobi


def diffusion(np: Any) -> Callable[..., Any]:
    def diffusion(u: Any) -> Any:
        for _ in (1, 2, 3, 4, 5, 6, 7, 8):
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            u = u + 0.1 * (around - 4.0 * u)
        return u

    return diffusion


def mlp_loss(np: Any) -> Callable[..., Any]:
    def mlp_loss(params: Any, images: Any, labels: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = params
        h = np.tanh(images @ w1 + b1)
        h = np.tanh(h @ w2 + b2)
        logits = h @ w3 + b3
        shifted = logits - np.max(logits, axis=1, keepdims=True)
        log_probability = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
        return -np.mean(np.sum(labels * log_probability, axis=1))

    return mlp_loss


def sgd_step(value_and_grad: Callable[..., Any], np: Any) -> Callable[..., Any]:
    loss = mlp_loss(np)
    loss_and_grad = value_and_grad(loss)

    def sgd_step(params: Any, images: Any, labels: Any) -> Any:
        value, grads = loss_and_grad(params, images, labels)
        return value, tuple([p - 0.1 * g for p, g in zip(params, grads)])

    return sgd_step


def mlp_arguments(rng: np.random.Generator) -> Arrays:
    def dense(n: int, m: int) -> Arrays:
        return (rng.standard_normal((n, m)) / np.sqrt(n)).astype("f4"), np.zeros(m, "f4")

    params = (*dense(64, 256), *dense(256, 128), *dense(128, 10))
    return params, rng.random((64, 64), "f4"), np.eye(10, dtype="f4")[rng.integers(0, 10, 64)]


def chain_of(n: int) -> Program:
    return Program(f"chain of 10, {n:.0e}", chain, lambda rng: (rng.standard_normal(n), rng.standard_normal(n)))


PROGRAMS = (
    chain_of(1_000),
    chain_of(100_000),
    chain_of(10_000_000),
    Program("softmax 2048x512", softmax, lambda rng: (rng.standard_normal((2048, 512)),), numba=False),
    Program(
        "layer norm 2048x512",
        layer_norm,
        lambda rng: (rng.standard_normal((2048, 512)), rng.standard_normal(512), rng.standard_normal(512)),
        numba=False,
    ),
    Program(
        "matmul+bias+gelu 512x512",
        dense_gelu,
        lambda rng: (rng.standard_normal((512, 512)), rng.standard_normal((512, 512)), rng.standard_normal(512)),
    ),
    Program(
        "jacobi 500x500, 100 steps",
        jacobi,
        lambda rng: (rng.standard_normal((500, 500)), 100),
        other={"jax": jacobi_jax, "torch": jacobi_torch},
    ),
    Program(
        "periodic diffusion 500x500, 8 steps in a row",
        diffusion,
        lambda rng: (rng.standard_normal((500, 500)),),
        numba=False,
    ),
)
