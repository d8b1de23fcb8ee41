"""Print one function in all its forms: source, gradient, batched, StableHLO, Triton and CUDA.

python examples/read_the_derivative.py
"""

from __future__ import annotations

import argparse

import numpy as np

from untraced import accelerate, grad, vmap


def loss(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    h = np.tanh(x @ w)
    e = h - y
    return np.mean(e * e)


def decay(x: np.ndarray, n: int) -> np.ndarray:
    y = x
    for _i in range(n):
        y = np.sin(y) * x
    return np.sum(y)


def predict(w: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.tanh(w @ x + b)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def show(title: str, text: str) -> None:
    print(f"# {'-' * 8} {title} {'-' * (88 - len(title))}\n{text.strip()}\n")


def main(argv: list[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(argv)
    rng = np.random.default_rng(0)
    w, x, y = rng.standard_normal((20, 10)), rng.standard_normal((128, 20)), rng.standard_normal((128, 10))
    b = rng.standard_normal(20)

    show("loss", accelerate(loss, target="cpu").inspect(w, x, y).source)
    show("grad(loss)", accelerate(grad(loss), target="cpu").inspect(w, x, y).source)
    show("grad(decay): a loop, differentiated as a loop", accelerate(grad(decay), target="cpu").inspect(y[0], 5).source)
    batched = vmap(predict, in_axes=(None, None, 0))
    show("vmap(predict)", accelerate(batched, target="cpu").inspect(w.T, b[:10], x).source)
    show("softmax, fused", accelerate(softmax, target="cpu").inspect(x).source)
    for target in ("triton", "cuda"):
        for kernel in accelerate(softmax, target=target).inspect(x).kernels:
            show(f"softmax as {kernel.language}: {kernel.name}", kernel.source)
    show("softmax in StableHLO", accelerate(softmax, target="cpu").inspect(x).stablehlo)


if __name__ == "__main__":
    main()
