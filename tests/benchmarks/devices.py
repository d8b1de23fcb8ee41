"""A data-parallel training step on several devices of one processor against jax.pmap, in one process.

    python tests/benchmarks/devices.py --devices 4

Times are the least of interleaved rounds of steps whose parameters and batches stay on the devices.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

ROUNDS, STEPS = 15, 40


def training(np: Any, lax: Any, value_and_grad: Any, tree: Any) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        h = np.tanh(x @ p["w"] + p["b"]) @ p["v"]
        h = h - np.max(h, axis=1, keepdims=True)
        return -np.mean(np.sum(y * (h - np.log(np.sum(np.exp(h), axis=1, keepdims=True))), axis=1))

    def step(p: Any, x: Any, y: Any) -> Any:
        value, g = value_and_grad(loss)(p, x, y)
        return lax.pmean(value, "i"), tree.map(lambda a, b: a - 0.1 * lax.pmean(b, "i"), p, g)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=4)
    n = parser.parse_args().devices
    os.environ |= {"XLA_FLAGS": f"--xla_force_host_platform_device_count={n}", "JAX_PLATFORMS": "cpu"}
    import jax

    import untraced

    untraced.config.cpu_devices = n
    ours = untraced.pmap(training(np, untraced.lax, untraced.value_and_grad, untraced.tree), axis_name="i")
    theirs = jax.pmap(training(jax.numpy, jax.lax, jax.value_and_grad, jax.tree), axis_name="i")
    for rows, hidden in ((16, 32), (256, 256)):
        name = f"{rows} images a device, {hidden} hidden"
        rng = np.random.default_rng(0)
        params = {
            "w": rng.standard_normal((64, hidden), np.float32) / 8,
            "b": np.zeros(hidden, np.float32),
            "v": rng.standard_normal((hidden, 10), np.float32) / 16,
        }
        x = rng.standard_normal((n, rows, 64), np.float32)
        y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, (n, rows))]
        own = untraced.local_devices()
        spread = untraced.tree.map(lambda a: np.broadcast_to(a, (n, *a.shape)), params)
        put = jax.pmap(lambda a: a)
        pieces = [untraced.device_put_sharded(list(a), own) for a in (x, y)]
        mine = (untraced.device_put_replicated(params, own), *pieces)
        other = (jax.tree.map(put, spread), put(x), put(y))
        least = {"untraced": np.inf, "jax": np.inf}
        values = {}
        for _ in range(ROUNDS):
            for which, f, (p, a, b) in (("untraced", ours, mine), ("jax", theirs, other)):
                f(p, a, b)
                start = time.perf_counter()
                for _ in range(STEPS):
                    value, p = f(p, a, b)
                    value.block_until_ready()  # jax lets steps run into each other, and waits for ever
                values[which] = np.asarray(value)
                least[which] = min(least[which], (time.perf_counter() - start) / STEPS)
        np.testing.assert_allclose(values["untraced"], values["jax"], rtol=1e-3)
        mine_us, jax_us = least["untraced"] * 1e6, least["jax"] * 1e6
        print(f"{name}: {mine_us:.0f} us a step, jax.pmap {jax_us:.0f} us, {jax_us / mine_us:.2f} times")


if __name__ == "__main__":
    main()
