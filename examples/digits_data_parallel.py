"""Train a small network on handwritten digits with the batch divided among devices: `pmap`, and `pmean` of gradients.

Each device holds a copy of the parameters and takes its part of every batch. The devices are parts of this machine's
processor here, in one process or in several; the result is the same, since the mean over all parts is.

    python examples/digits_data_parallel.py                              # 4 devices in this process
    python examples/digits_data_parallel.py --devices 2 --processes 2    # 2 processes with 2 devices each

On a cluster start the same script in each process (`srun`, `mpirun`) with `--joined`: SLURM and Open MPI say the rest.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import socket
import subprocess
import sys
from typing import Any

import numpy as np

import untraced
from untraced import lax, pmap, tree, value_and_grad

Tree = Any


def logits(params: Tree, images: np.ndarray) -> np.ndarray:
    x = images
    for layer in params[:-1]:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params: Tree, images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean cross entropy; `labels` are one-hot rows."""
    z = logits(params, images)
    z = z - np.max(z, axis=1, keepdims=True)
    return -np.mean(np.sum(labels * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))), axis=1))


@functools.partial(pmap, axis_name="devices")
def step(params: Tree, velocity: Tree, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Tree, Tree]:
    """One step of gradient descent with momentum, as each device takes it on its part of the batch."""
    value, grads = value_and_grad(loss)(params, images, labels)
    value, grads = lax.pmean(value, "devices"), lax.pmean(grads, "devices")
    velocity = tree.map(lambda v, g: 0.9 * v - 0.1 * g, velocity, grads)
    return value, tree.map(lambda p, v: p + v, params, velocity), velocity


def initial_params(sizes: list[int], rng: np.random.Generator) -> Tree:
    return [
        {"w": rng.standard_normal((n, m)) / np.sqrt(n), "b": np.zeros(m)} for n, m in itertools.pairwise(sizes)
    ]


def train(options: argparse.Namespace) -> tuple[float, float]:
    """The last epoch's loss, and the accuracy on the fifth of the images that is held out."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(options.seed)
    images, digits = load_digits(return_X_y=True)
    order = rng.permutation(len(digits))
    images, digits = images[order] / 16.0, digits[order]
    labels, split = np.eye(10)[digits], len(digits) * 4 // 5
    params = initial_params([64, options.hidden, 10], rng)

    devices = untraced.local_devices()
    everybody, first = untraced.device_count(), untraced.process_index() * len(devices)
    own = slice(first, first + len(devices))  # this process's parts of each batch
    share = options.batch // everybody
    velocity = untraced.device_put_replicated(tree.map(np.zeros_like, params), devices)
    params = untraced.device_put_replicated(params, devices)
    values: list[Any] = []
    for _ in range(options.epochs):
        values, order = [], rng.permutation(split)
        for at in range(0, split - share * everybody + 1, share * everybody):
            rows = order[at : at + share * everybody].reshape(everybody, share)[own]
            value, params, velocity = step(params, velocity, images[rows], labels[rows])
            values.append(value)
    trained = tree.map(lambda p: np.asarray(p)[0], params)
    guesses = np.argmax(logits(trained, images[split:]), axis=1)
    return float(np.mean([np.asarray(v)[0] for v in values])), float(np.mean(guesses == digits[split:]))


def start_others(argv: list[str], count: int) -> list[subprocess.Popen[bytes]]:
    """This script once more for each other process, and the address at which they meet as options of this one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    argv += ["--coordinator", address]
    return [subprocess.Popen([sys.executable, __file__, *argv, "--process", str(k)]) for k in range(1, count)]


def main(argv: list[str] | None = None) -> tuple[float, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=4, help="devices of each process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--process", type=int, default=0, help="which of them this is")
    parser.add_argument("--coordinator", help="host:port of process 0; without it this one starts the others")
    parser.add_argument("--joined", action="store_true", help="SLURM or Open MPI has started all processes")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64, help="images in each step, on all devices together")
    parser.add_argument("--hidden", type=int, default=128, help="size of the layer between")
    parser.add_argument("--seed", type=int, default=0)
    argv = list(sys.argv[1:] if argv is None else argv)
    options = parser.parse_args(argv)
    if min(options.devices, options.processes, options.epochs, options.hidden) < 1 or options.seed < 0:
        parser.error("devices, processes, epochs and the layer's size are 1 or more, the seed is 0 or more")
    if not options.joined and options.batch < options.devices * options.processes:
        parser.error("a batch has an image or more for each device")

    untraced.config.cpu_devices = options.devices
    others: list[subprocess.Popen[bytes]] = []
    if options.joined:
        untraced.distributed.initialize()
    elif options.processes > 1:
        if options.coordinator is None:
            others = start_others(argv, options.processes)
            options = parser.parse_args(argv)
        untraced.distributed.initialize(options.coordinator, options.processes, options.process)
    value, accuracy = train(options)
    if untraced.process_index() == 0:
        print(f"{untraced.device_count()} devices in {untraced.process_count()} processes")
        print(f"loss of the last epoch: {value:.10f}\ntest accuracy: {accuracy:.4f}")
    untraced.distributed.shutdown()
    for other in others:
        other.wait(timeout=60)
    return value, accuracy


if __name__ == "__main__":
    main()
