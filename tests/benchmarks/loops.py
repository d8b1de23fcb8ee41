"""Loops over elements: native code against XLA's loops, Numba and JAX, and what their gradients cost.

    python tests/benchmarks/loops.py                                     # all figures
    python tests/benchmarks/loops.py --markdown docs/performance.md      # and into the page

One process, NumPy arrays in and out; times are the least of interleaved rounds. Arguments that a program writes to are
copied before each call, outside the time. JAX runs the loops as written, with `lax.fori_loop` and `.at`, where a person
would write them so.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from pages import replace_table
from run import prepare_jax, pretty

import untraced

Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Program:
    """`jax_body()` where JAX has a natural form; `loss`: the gradient of this in the first argument is measured."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], Arrays]
    jax_body: Callable[[], Callable[..., Any]] | None = None
    loss: Callable[..., Any] | None = None


def triangle(t):
    n = t.shape[0]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1):
            t[i, j] += max(t[i + 1, j], t[i + 1, j + 1])
    return t[0, 0]


def jax_triangle():
    import jax.numpy as jnp
    from jax import lax

    def triangle(t):
        n = t.shape[0]

        def row(k, t):
            i = n - 2 - k
            return lax.fori_loop(
                0, i + 1, lambda j, t: t.at[i, j].add(jnp.maximum(t[i + 1, j], t[i + 1, j + 1])), t
            )

        return lax.fori_loop(0, n - 1, row, t)[0, 0]

    return triangle


def gauss_seidel(a):
    for _ in range(10):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
    return a


def jax_gauss_seidel():
    from jax import lax

    def gauss_seidel(a):
        n, m = a.shape

        def element(i, j, a):
            return a.at[i, j].set((a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25)

        def sweep(_, a):
            return lax.fori_loop(1, n - 1, lambda i, a: lax.fori_loop(1, m - 1, lambda j, a: element(i, j, a), a), a)

        return lax.fori_loop(0, 10, sweep, a)

    return gauss_seidel


def crc(data):
    c = 0xFFFF
    for i in range(data.shape[0]):
        c ^= data[i]
        for _ in range(8):
            c = (c >> 1) ^ 0x8408 if c & 1 else c >> 1
    return c


def sparse_product(values, columns, starts, x):
    y = np.zeros(starts.shape[0] - 1)
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s
    return y


def filtered(x):
    y = np.zeros_like(x)
    a = b = 0.0
    for i in range(x.shape[0]):
        a, b = 0.2 * x[i] + 1.2 * a - 0.5 * b, a
        y[i] = a
    return y


def jax_filtered():
    from jax import lax

    def step(carry, x):
        a, b = carry
        new = 0.2 * x + 1.2 * a - 0.5 * b
        return (new, a), new

    return lambda x: lax.scan(step, (0.0, 0.0), x)[1]


def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def escape_times(x, y):
    out = np.zeros((y.shape[0], x.shape[0]), dtype=np.int64)
    for i in range(y.shape[0]):
        for j in range(x.shape[0]):
            a = b = 0.0
            for k in range(100):
                if a * a + b * b > 4.0:
                    break
                a, b = a * a - b * b + x[j], 2 * a * b + y[i]
                out[i, j] = k + 1
    return out


def edit_distance(x, y):
    before = np.arange(y.shape[0] + 1)
    for i in range(x.shape[0]):
        row = np.zeros_like(before)
        row[0] = i + 1
        for j in range(y.shape[0]):
            row[j + 1] = min(before[j + 1] + 1, row[j] + 1, before[j] + (x[i] != y[j]))
        before = row
    return before[-1]


def factors(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def ising(spins, steps, rng):
    n = spins.shape[0]
    for _ in range(steps):
        i, j = rng.integers(0, n), rng.integers(0, n)
        s = spins[i, j]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        change = 2 * s * around
        if change <= 0 or rng.random() < np.exp(-0.4 * change):
            spins[i, j] = -s
    return spins.sum()


def _sparse(rng: np.random.Generator) -> Arrays:
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 20, 20000))])
    count = int(starts[-1])
    return rng.random(count), rng.integers(0, 20000, count), starts, rng.random(20000)


PROGRAMS = (
    Program(triangle, lambda rng: (rng.random((600, 600)),), jax_triangle, lambda t: triangle(t)),
    Program(gauss_seidel, lambda rng: (rng.random((200, 200)),), jax_gauss_seidel, lambda a: np.sum(gauss_seidel(a))),
    Program(crc, lambda rng: (rng.integers(0, 256, 100_000).astype(np.uint16),)),
    Program(sparse_product, _sparse, None, lambda v, c, s, x: np.sum(sparse_product(v, c, s, x) ** 2)),
    Program(filtered, lambda rng: (rng.random(200_000),), jax_filtered, lambda x: np.sum(filtered(x) ** 2)),
    Program(shortest_paths, lambda rng: (rng.random((150, 150)),), None, lambda d: np.sum(shortest_paths(d))),
    Program(escape_times, lambda rng: (np.linspace(-2, 0.5, 200), np.linspace(-1.2, 1.2, 200))),
    Program(edit_distance, lambda rng: (rng.integers(0, 4, 700), rng.integers(0, 4, 700))),
    Program(factors, lambda rng: (rng.random((120, 120)) + 120 * np.eye(120),), None, lambda a: np.sum(factors(a))),
    Program(ising, lambda rng: (np.where(rng.random((32, 32)) < 0.5, 1, -1), 50_000, rng)),
)


def least(functions: dict[str, Callable[..., Any]], make: Callable[[], Arrays], seconds: float) -> dict[str, float]:
    """The least time of each, after a first call, which compiles."""
    times = {}
    for name, function in functions.items():
        np.asarray(function(*make()))
        times[name] = float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, function in functions.items():
            arguments = make()
            start = time.perf_counter()
            np.asarray(function(*arguments))
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def of_xla(function: Callable[..., Any], arguments: Arrays) -> Callable[..., Any]:
    """The function with XLA's own loops."""
    os.environ["UNTRACED_NATIVE_LOOPS"] = "0"
    made = untraced.accelerate(function)
    made(*arguments)
    os.environ["UNTRACED_NATIVE_LOOPS"] = "1"
    return made


def measure(program: Program, seconds: float) -> dict[str, float]:
    def make() -> Arrays:
        return program.arguments(np.random.default_rng(0))

    functions = {"ours": untraced.accelerate(program.function), "xla": of_xla(program.function, make())}
    if importlib.util.find_spec("numba"):
        import numba

        functions["numba"] = numba.njit(program.function)
    if program.jax_body is not None:
        import jax

        functions["jax"] = jax.jit(program.jax_body())
    if program.loss is not None:
        functions["gradient"] = untraced.accelerate(untraced.grad(program.loss))
    return least(functions, make, seconds)


def report(options: argparse.Namespace) -> str:
    """The figures as Markdown; printed as they come."""
    rows = ["| loop | ours | Numba | ours / Numba | without a compiler | JAX | gradient / function |"]
    rows.append("| --- |" + " ---: |" * 6)
    print(rows[0])
    for program in PROGRAMS:
        name = program.function.__name__.replace("_", " ")
        if options.only and not any(o in name for o in options.only):
            continue
        t = measure(program, options.seconds)
        cells = [name, pretty(1e6 * t["ours"])]
        cells += [pretty(1e6 * t["numba"]), f"{t['ours'] / t['numba']:.2f}"] if "numba" in t else ["", ""]
        cells += [pretty(1e6 * t["xla"]), pretty(1e6 * t["jax"]) if "jax" in t else ""]
        cells.append(f"{t['gradient'] / t['ours']:.1f}" if "gradient" in t else "")
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each program")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of programs")
    parser.add_argument("--markdown", metavar="FILE", help="replace the figures between the markers in FILE")
    options = parser.parse_args()
    prepare_jax()
    figures = report(options)
    if options.markdown:
        replace_table(options.markdown, "loops", figures)


if __name__ == "__main__":
    main()
