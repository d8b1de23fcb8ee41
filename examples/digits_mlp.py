"""Train a small network on scikit-learn's handwritten digits, written in plain NumPy.

The model is written for one image. `vmap` makes it take a batch, `value_and_grad` differentiates
the loss, and `accelerate` compiles the whole training step: nothing is traced, so every stage can
be read (`python examples/read_the_derivative.py`).

    python examples/digits_mlp.py                    # train, show seconds per epoch with and without @accelerate
    python examples/digits_mlp.py --plot curves.png  # also draw the loss curves
    python examples/digits_mlp.py --target triton    # on a GPU
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from typing import Any

import numpy as np

from untraced import accelerate, device_put, tree, value_and_grad, vmap

TARGETS = ("auto", "cpu", "triton", "cuda", "tpu", "numpy")

Tree = Any


def predict(params: Tree, image: np.ndarray) -> np.ndarray:
    """Log-probabilities of the ten digits for one flattened image."""
    x = image
    for layer in params[:-1]:
        x = np.tanh(layer["w"] @ x + layer["b"])
    logits = params[-1]["w"] @ x + params[-1]["b"]
    shifted = logits - np.max(logits)
    return shifted - np.log(np.sum(np.exp(shifted)))


predict_batch = vmap(predict, in_axes=(None, 0))


def loss(params: Tree, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean cross entropy of a batch; `labels` are one-hot rows."""
    return -np.mean(np.sum(labels * predict_batch(params, images), axis=1))


def adam(params: Tree, grads: Tree, mean: Tree, square: Tree, count: float, rate: float) -> tuple[Tree, Tree, Tree]:
    """One step of Adam (Kingma and Ba, 2015, algorithm 1); `count` is the number of this step, from 1."""
    mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grads)
    scale = rate * np.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
    params = tree.map(lambda p, m, s: p - scale * m / (np.sqrt(s) + 1e-8), params, mean, square)
    return params, mean, square


def train_step(
    params: Tree, mean: Tree, square: Tree, count: float, rate: float, images: Any, labels: Any
) -> tuple[Any, ...]:
    value, grads = value_and_grad(loss)(params, images, labels)
    params, mean, square = adam(params, grads, mean, square, count, rate)
    return value, params, mean, square


def initial_params(sizes: list[int], rng: np.random.Generator) -> Tree:
    """One {"w": (out, in), "b": (out,)} a layer, float32, scaled by 1/sqrt(in)."""
    return [
        {
            "w": (rng.standard_normal((m, n)) / np.sqrt(n)).astype(np.float32),
            "b": np.zeros(m, np.float32),
        }
        for n, m in itertools.pairwise(sizes)
    ]


def load_digits(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """1,797 images of 8 x 8 as rows in [0, 1] and one-hot labels; a fifth is held out."""
    from sklearn.datasets import load_digits as load

    images, digits = load(return_X_y=True)
    order = rng.permutation(len(digits))
    images = (images[order] / 16.0).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[digits[order]]
    split = len(images) * 4 // 5
    return images[:split], labels[:split], images[split:], labels[split:]


def accuracy(params: Tree, images: np.ndarray, labels: np.ndarray, batch_predict: Any) -> float:
    return float(np.mean(np.argmax(np.asarray(batch_predict(params, images)), axis=1) == np.argmax(labels, axis=1)))


def progress(epoch: int, epochs: int, value: float, seconds: float) -> None:
    width = 30
    done = width * epoch // epochs
    bar = "#" * done + "." * (width - done)
    sys.stderr.write(f"\r[{bar}] epoch {epoch}/{epochs}  loss {value:.4f}  {seconds * 1e3:.0f} ms/epoch ")
    sys.stderr.write("\n" if epoch == epochs else "")
    sys.stderr.flush()


def train(
    step: Any, params: Tree, data: tuple[np.ndarray, ...], epochs: int, batch: int, seed: int, show: bool
) -> tuple[Tree, list[float], list[float]]:
    """Mini-batch training: parameters, mean loss and seconds per epoch (the first includes translation)."""
    images, labels = data[:2]
    mean, square = tree.map(np.zeros_like, params), tree.map(np.zeros_like, params)
    rng, losses, seconds, count = np.random.default_rng(seed), [], [], 0
    for epoch in range(1, epochs + 1):
        start, order, values = time.perf_counter(), rng.permutation(len(images)), []
        rate = 0.003 * 0.5 * (1.0 + float(np.cos(np.pi * (epoch - 1) / epochs)))
        for at in range(0, len(images) - batch + 1, batch):
            rows = order[at : at + batch]
            count += 1
            value, params, mean, square = step(params, mean, square, float(count), rate, images[rows], labels[rows])
            values.append(value)
        losses.append(float(np.mean([np.asarray(v) for v in values])))
        seconds.append(time.perf_counter() - start)
        if show:
            progress(epoch, epochs, losses[-1], seconds[-1])
    return params, losses, seconds


def plot(file: Any, curves: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, losses in curves.items():
        axes.semilogy(range(1, len(losses) + 1), losses, label=name)
    axes.set(xlabel="epoch", ylabel="mean cross entropy", title="handwritten digits")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="auto", choices=TARGETS)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64, help="images in each step")
    parser.add_argument("--hidden", type=int, nargs="*", default=[256, 128], help="sizes of the layers between")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE.png", type=argparse.FileType("wb"))
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(argv)
    if options.epochs < 1 or options.seed < 0 or min(options.hidden, default=1) < 1:
        parser.error("epochs and the sizes of layers are 1 or more, the seed is 0 or more")

    rng = np.random.default_rng(options.seed)
    data = load_digits(rng)
    if not 1 <= options.batch <= len(data[0]):
        parser.error(f"a batch has 1 to {len(data[0])} images")
    params = initial_params([64, *options.hidden, 10], rng)

    step = accelerate(train_step, target=options.target)
    # An Array among the arguments makes Arrays of the results, so all that is trained stays on the device.
    on_device = params if options.target == "numpy" else device_put(params, options.target)
    trained, losses, seconds = train(
        step, on_device, data, options.epochs, options.batch, options.seed, not options.quiet
    )
    plain_epochs = min(3, options.epochs)
    _, plain_losses, plain_seconds = train(train_step, params, data, plain_epochs, options.batch, options.seed, False)

    result = accuracy(trained, data[2], data[3], accelerate(predict_batch, target=options.target))
    print(
        f"seconds per epoch: {min(seconds):.4f} with @accelerate, {min(plain_seconds):.4f} without "
        f"({min(plain_seconds) / min(seconds):.1f} times); first epoch, translation included: {seconds[0]:.2f}"
    )
    print(f"test accuracy: {result:.4f}")
    if options.plot:
        plot(options.plot, {"accelerated": losses, "plain NumPy": plain_losses})
        print(f"loss curves: {options.plot.name}")
    return result


if __name__ == "__main__":
    main()
