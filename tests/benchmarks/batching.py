"""Batched programs against JAX's vmap: time of a call, and of getting to the compiler.

    python tests/benchmarks/batching.py                                     # all figures
    python tests/benchmarks/batching.py --markdown docs/performance.md      # and into the page

One process; times are the least of interleaved rounds, so that the ratios hold on a machine that others use too. JAX
runs the same mathematics as a person would write it there: `jax.lax.while_loop` for loops, `jnp.where` for branches.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from derivatives import best
from pages import replace_table
from run import prepare_jax, pretty, to_device, wait

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Batch:
    """`ours()` and `jax()` give batched functions, not yet compiled, of the same arguments."""

    name: str
    ours: Callable[[], Any]
    jax: Callable[[], Any]
    arguments: Callable[[np.random.Generator], Arrays]


# ---- loops that differ between lanes -------------------------------------------------------------


def escape(a: float, b: float) -> int:
    x = y = 0.0
    n = 0
    while x * x + y * y <= 4.0 and n < 500:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        n += 1
    return n


def jax_escape(a: Any, b: Any) -> Any:
    import jax

    def going(s: Any) -> Any:
        x, y, n = s
        return (x * x + y * y <= 4.0) & (n < 500)

    def step(s: Any) -> Any:
        x, y, n = s
        return x * x - y * y + a, 2.0 * x * y + b, n + 1

    return jax.lax.while_loop(going, step, (0.0 * a, 0.0 * b, 0))[2]


def plane(rng: np.random.Generator) -> Arrays:
    return tuple(np.ascontiguousarray(c) for c in np.meshgrid(np.linspace(-2, 1, 512), np.linspace(-1.5, 1.5, 512)))


def oscillator(y: float, mu: float) -> float:
    """Van der Pol's, by Heun's method, steps as long as the error allows."""
    t, h, v = 0.0, 0.01, 0.0
    while t < 3.0:
        k1, l1 = v, mu * (1.0 - y * y) * v - y
        p, q = y + h * k1, v + h * l1
        k2, l2 = q, mu * (1.0 - p * p) * q - p
        error = 0.5 * h * np.sqrt((k2 - k1) ** 2 + (l2 - l1) ** 2)
        if error <= 1e-4:
            t = t + h
            y, v = y + 0.5 * h * (k1 + k2), v + 0.5 * h * (l1 + l2)
        scale = np.minimum(2.0, np.maximum(0.3, 0.9 * np.sqrt(1e-4 / (error + 1e-12))))
        h = np.minimum(h * scale, 3.0 - t + 1e-9)
    return y


def jax_oscillator(y: Any, mu: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def step(s: Any) -> Any:
        t, h, y, v = s
        k1, l1 = v, mu * (1.0 - y * y) * v - y
        p, q = y + h * k1, v + h * l1
        k2, l2 = q, mu * (1.0 - p * p) * q - p
        error = 0.5 * h * jnp.sqrt((k2 - k1) ** 2 + (l2 - l1) ** 2)
        taken = error <= 1e-4
        t = jnp.where(taken, t + h, t)
        new = jnp.where(taken, y + 0.5 * h * (k1 + k2), y), jnp.where(taken, v + 0.5 * h * (l1 + l2), v)
        scale = jnp.minimum(2.0, jnp.maximum(0.3, 0.9 * jnp.sqrt(1e-4 / (error + 1e-12))))
        return t, jnp.minimum(h * scale, 3.0 - t + 1e-9), *new

    return jax.lax.while_loop(lambda s: s[0] < 3.0, step, (0.0, 0.01, y, 0.0 * y))[2]


def sweep(rng: np.random.Generator) -> Arrays:
    return rng.uniform(0.5, 2.0, 20_000), np.geomspace(0.4, 20.0, 20_000)


def shuffled(rng: np.random.Generator) -> Arrays:
    y, mu = sweep(rng)
    return y, rng.permutation(mu)


# ---- whole arrays --------------------------------------------------------------------------------


def network(np: Any) -> Any:
    def network(w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
        return np.tanh(w2 @ np.tanh(w1 @ x + b1) + b2)

    return network


def loss(np: Any) -> Any:
    forward = network(np)

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        return np.sum((forward(w1, b1, w2, b2, x) - y) ** 2)

    return loss


def layers(rng: np.random.Generator) -> Arrays:
    w1, w2 = 0.1 * rng.standard_normal((128, 64)), 0.1 * rng.standard_normal((10, 128))
    return w1, np.zeros(128), w2, np.zeros(10)


def ours_of(f: Callable[..., Any], in_axes: Any = 0, derivative: bool = False, twice: bool = False) -> Any:
    import untraced

    f = untraced.grad(f, argnums=(0, 1, 2, 3)) if derivative else f
    return untraced.vmap(untraced.vmap(f) if twice else f, in_axes=in_axes)


def jax_of(f: Callable[..., Any], in_axes: Any = 0, derivative: bool = False, twice: bool = False) -> Any:
    import jax

    f = jax.grad(f, argnums=(0, 1, 2, 3)) if derivative else f
    return jax.vmap(jax.vmap(f) if twice else f, in_axes=in_axes)


def jnp() -> Any:
    import jax.numpy

    return jax.numpy


SHARED = (None, None, None, None, 0)
BATCHES = (
    Batch(
        "Mandelbrot, 512 x 512, up to 500 steps",
        lambda: ours_of(escape, twice=True),
        lambda: jax_of(jax_escape, twice=True),
        plane,
    ),
    Batch(
        "adaptive ODE steps, sweep of 20000", lambda: ours_of(oscillator), lambda: jax_of(jax_oscillator), sweep
    ),
    Batch(
        "the same, lanes in random order", lambda: ours_of(oscillator), lambda: jax_of(jax_oscillator), shuffled
    ),
    Batch(
        "MLP 64-128-10, batch 4096",
        lambda: ours_of(network(np), SHARED),
        lambda: jax_of(network(jnp()), SHARED),
        lambda rng: (*layers(rng), rng.standard_normal((4096, 64))),
    ),
    Batch(
        "per-example gradients, batch 256",
        lambda: ours_of(loss(np), (*SHARED, 0), derivative=True),
        lambda: jax_of(loss(jnp()), (*SHARED, 0), derivative=True),
        lambda rng: (*layers(rng), rng.standard_normal((256, 64)), rng.standard_normal((256, 10))),
    ),
    Batch(
        "matrix products 16 x 16, batch 4096",
        lambda: ours_of(lambda a, b: a @ b),
        lambda: jax_of(lambda a, b: a @ b),
        lambda rng: (rng.standard_normal((4096, 16, 16)), rng.standard_normal((4096, 16, 16))),
    ),
)


def measure(batch: Batch, budget: float) -> dict[str, float]:
    """Microseconds of a call, and of translation: to the source here, to StableHLO there."""
    import jax

    import untraced
    from untraced.translator.pipeline import translate
    from untraced.translator.reading.text.signature import abstract

    arguments = batch.arguments(np.random.default_rng(0))
    made, traced = _least(
        (lambda f: translate(f, abstract(f, arguments, {})), batch.ours),
        (lambda f: jax.jit(f).trace(*arguments), batch.jax),
    )
    ours, theirs = untraced.accelerate(batch.ours(), target="cpu"), jax.jit(batch.jax())
    given, there = to_device(untraced.device_put, arguments), to_device(jax.device_put, arguments)
    for got, want in zip(_leaves(ours(*given)), _leaves(theirs(*there)), strict=True):
        np.testing.assert_allclose(np.mean(got), np.mean(want), rtol=1e-5)  # single pixels are contracted otherwise
    figures = best({"ours": lambda: wait(ours(*given)), "jax": lambda: wait(theirs(*there))}, budget)
    return figures | {"translation": made, "trace": traced}


def _least(*ways: tuple[Callable[[Any], Any], Callable[[], Any]]) -> list[float]:
    """Microseconds of each `run`, on a function that its `make` makes anew each time, by turns."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(20):
        for found, (run, make) in zip(times, ways, strict=True):
            f = make()
            begun = time.perf_counter()
            run(f)
            found.append(time.perf_counter() - begun)
    return [1e6 * min(found) for found in times]


# ---- loops as people write them ------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """`loop` and `mapped` do the same: one writes the loop out, the other is a vmap of its body. `jax` is JAX's."""

    name: str
    loop: Callable[..., Any]
    mapped: Callable[[], Any]
    jax: Callable[[], Any]
    arguments: Callable[[np.random.Generator], Arrays]


def bent(x: Any) -> Any:
    return np.exp(-x) * x if x > 0 else x * x


def bent_all(x: Any) -> Any:
    y = np.empty_like(x)
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = np.exp(-x[i]) * x[i]
        else:
            y[i] = x[i] * x[i]
    return y


def shares(row: Any) -> Any:
    e = np.exp(row - np.max(row))
    return e / np.sum(e)


def shares_of_rows(a: Any) -> Any:
    out = np.empty_like(a)
    for i in range(len(a)):
        e = np.exp(a[i] - np.max(a[i]))
        out[i] = e / np.sum(e)
    return out


def distances(a: Any, b: Any) -> Any:
    d = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            s = 0.0
            for k in range(a.shape[1]):
                s += (a[i, k] - b[j, k]) ** 2
            d[i, j] = np.sqrt(s)
    return d


def product(a: Any, b: Any) -> Any:
    c = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            for k in range(len(b)):
                c[i, j] += a[i, k] * b[k, j]
    return c


def distance(np: Any) -> Any:
    return lambda u, v: np.sqrt(np.sum((u - v) ** 2))


def all_pairs(vmap: Any, f: Any) -> Any:
    return vmap(lambda u, b: vmap(lambda v: f(u, v))(b), in_axes=(0, None))


def jax_shares(row: Any) -> Any:
    e = jnp().exp(row - jnp().max(row))
    return e / jnp().sum(e)


def jax_bent(x: Any) -> Any:
    return jnp().where(x > 0, jnp().exp(-x) * x, x * x)


def our_vmap() -> Any:
    import untraced

    return untraced.vmap


def jax_vmap() -> Any:
    import jax

    return jax.vmap


LOOPS = (
    Loop(
        "a branch for each of 1e6 numbers",
        bent_all,
        lambda: our_vmap()(bent),
        lambda: jax_vmap()(jax_bent),
        lambda rng: (rng.standard_normal(1_000_000),),
    ),
    Loop(
        "softmax of 4000 rows of 100",
        shares_of_rows,
        lambda: our_vmap()(shares),
        lambda: jax_vmap()(jax_shares),
        lambda rng: (rng.standard_normal((4000, 100)),),
    ),
    Loop(
        "distances of 1000 x 1000 points, three loops",
        distances,
        lambda: all_pairs(our_vmap(), distance(np)),
        lambda: all_pairs(jax_vmap(), distance(jnp())),
        lambda rng: (rng.standard_normal((1000, 8)), rng.standard_normal((1000, 8))),
    ),
    Loop(
        "matrix product, 256, three loops",
        product,
        lambda: all_pairs(our_vmap(), lambda u, v: u @ v),
        lambda: all_pairs(jax_vmap(), lambda u, v: u @ v),
        lambda rng: (rng.standard_normal((256, 256)), rng.standard_normal((256, 256))),
    ),
)


def measure_loop(loop: Loop, budget: float) -> dict[str, float]:
    """Microseconds of a call of the loop, of the same loop left a loop, of vmap, and of JAX's vmap."""
    import jax

    import untraced
    from untraced.translator import pipeline

    arguments = loop.arguments(np.random.default_rng(0))
    mapped = arguments if loop.loop is not product else (arguments[0], np.ascontiguousarray(arguments[1].T))
    ours, many = (untraced.accelerate(f, target="cpu") for f in (loop.loop, loop.mapped()))
    theirs, there = jax.jit(loop.jax()), to_device(jax.device_put, mapped)
    given, also = to_device(untraced.device_put, arguments), to_device(untraced.device_put, mapped)
    pipeline.vectorising = False
    kept = untraced.accelerate(loop.loop, target="cpu")
    kept(*given)
    pipeline.vectorising = True
    for f, a in ((kept, given), (many, also), (theirs, there)):
        np.testing.assert_allclose(np.asarray(f(*a)), np.asarray(ours(*given)), rtol=1e-9)
    return best(
        {
            "loop": lambda: wait(ours(*given)),
            "kept": lambda: wait(kept(*given)),
            "vmap": lambda: wait(many(*also)),
            "jax": lambda: wait(theirs(*there)),
        },
        budget,
    )


def _leaves(x: Any) -> Any:
    return x if isinstance(x, tuple) else (x,)


def report(options: argparse.Namespace) -> str:
    """The figures as Markdown; printed as they come."""
    rows = ["| program | untraced | jax.jit | JAX / untraced | translation | JAX's trace |", "| --- |" + " ---: |" * 5]
    print("\n".join(rows))
    for batch in BATCHES:
        if options.only and not any(o in batch.name for o in options.only):
            continue
        row = measure(batch, options.seconds)
        cells = [batch.name, pretty(row["ours"]), pretty(row["jax"]), f"{row['jax'] / row['ours']:.2f}"]
        rows.append("| " + " | ".join([*cells, pretty(row["translation"]), pretty(row["trace"])]) + " |")
        print(rows[-1], flush=True)
    head = ["", "| loops as written | untraced | left a loop | vmap | jax.vmap |", "| --- |" + " ---: |" * 4]
    rows += head
    print("\n".join(head))
    for loop in LOOPS:
        if options.only and not any(o in loop.name for o in options.only):
            continue
        figures = measure_loop(loop, options.seconds)
        cells = [loop.name, *(pretty(figures[k]) for k in ("loop", "kept", "vmap", "jax"))]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each program")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of programs")
    parser.add_argument("--markdown", metavar="FILE", help="replace the figures between the markers in FILE")
    options = parser.parse_args()
    prepare_jax()
    figures = report(options)
    if options.markdown:
        replace_table(options.markdown, "batching", figures)


if __name__ == "__main__":
    main()
