"""Gradients of compiled programs: their cost over that of the function, against JAX, in memory, and as text.

    python tests/benchmarks/derivatives.py                                     # all figures
    python tests/benchmarks/derivatives.py --markdown docs/performance.md      # and into the page

One process; times are the least of interleaved rounds, so that the ratios hold on a machine that others use too. JAX
runs the same mathematics as a person would write it there: `jax.lax.scan` for loops. Memory is what XLA's own analysis
of the compiled programs says: temporaries and results.
"""

from __future__ import annotations

import argparse
import inspect
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))
from pages import replace_table
from run import prepare_jax, pretty, to_device, wait

Arrays = tuple[Any, ...]
Body = Callable[..., Any]


@dataclass(frozen=True)
class Loss:
    """`body(np)` over a NumPy-like namespace; `jax_body()` where JAX needs another form; `wrt`: argument positions."""

    name: str
    body: Callable[[Any], Body]
    arguments: Callable[[np.random.Generator], Arrays]
    wrt: tuple[int, ...]
    loops: bool = False
    jax_body: Callable[[], Body] | None = None


# ---- straight-line losses ------------------------------------------------------------------------


def gaussian_mixture(np: Any) -> Body:
    def gaussian_mixture(alphas: Any, means: Any, logs: Any, lower: Any, x: Any) -> Any:
        centred = x[:, None, :] - means
        scaled = np.exp(logs) * centred + np.einsum("kij,nkj->nki", np.tril(lower, -1), centred)
        each = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(scaled * scaled, axis=2)
        top = np.max(each, axis=1, keepdims=True)
        likelihood = np.sum(np.log(np.sum(np.exp(each - top), axis=1))) + np.sum(top)
        return likelihood - x.shape[0] * np.log(np.sum(np.exp(alphas)))

    return gaussian_mixture


def mixture_arguments(rng: np.random.Generator) -> Arrays:
    k, d, n = 10, 16, 2000
    return (rng.random(k), rng.random((k, d)), rng.random((k, d)), rng.random((k, d, d)), rng.random((n, d)))


def network(np: Any) -> Body:
    def network(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
        h = np.tanh(x @ w1 + b1)
        h = np.tanh(h @ w2 + b2)
        s = h @ w3 + b3
        s = s - np.max(s, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(s), axis=1)) - np.sum(s * y, axis=1))

    return network


def network_arguments(rng: np.random.Generator) -> Arrays:
    sizes, n = (256, 256, 128, 10), 512
    layers = [
        a for i, o in zip(sizes[:-1], sizes[1:], strict=True) for a in (0.1 * rng.standard_normal((i, o)), np.zeros(o))
    ]
    return (*layers, rng.standard_normal((n, sizes[0])), np.eye(10)[rng.integers(0, 10, n)])


def bundle(np: Any) -> Body:
    def cross(a: Any, b: Any) -> Any:
        return np.stack(
            [
                a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
                a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
                a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
            ],
            axis=1,
        )

    def bundle(cameras: Any, points: Any, weights: Any, features: Any, which: Any, seen: Any) -> Any:
        c = cameras[which]
        p = points[seen] - c[:, 3:6]
        theta = np.sqrt(np.sum(c[:, :3] * c[:, :3], axis=1, keepdims=True))
        axis = c[:, :3] / theta
        along = np.sum(axis * p, axis=1, keepdims=True)
        q = p * np.cos(theta) + cross(axis, p) * np.sin(theta) + axis * along * (1.0 - np.cos(theta))
        xy = q[:, :2] / q[:, 2:]
        r2 = np.sum(xy * xy, axis=1, keepdims=True)
        radial = 1.0 + c[:, 9:10] * r2 + c[:, 10:] * r2 * r2
        residual = weights[:, None] * (c[:, 6:7] * xy * radial + c[:, 7:9] - features)
        return np.sum(residual * residual) + np.sum((1.0 - weights * weights) ** 2)

    return bundle


def bundle_arguments(rng: np.random.Generator) -> Arrays:
    cameras, points, n = 50, 2000, 20000
    return (
        0.1 * rng.standard_normal((cameras, 11)),
        rng.standard_normal((points, 3)) + np.array([0.0, 0.0, 8.0]),
        rng.random(n),
        rng.standard_normal((n, 2)),
        rng.integers(0, cameras, n),
        rng.integers(0, points, n),
    )


# ---- losses through loops ------------------------------------------------------------------------


def lstm(np: Any) -> Body:
    def lstm(w: Any, u: Any, b: Any, h: Any, c: Any, xs: Any) -> Any:
        n = h.shape[1]
        loss = 0.0
        for x in xs:
            z = x @ w + h @ u + b
            i = 1.0 / (1.0 + np.exp(-z[:, :n]))
            f = 1.0 / (1.0 + np.exp(-z[:, n : 2 * n]))
            o = 1.0 / (1.0 + np.exp(-z[:, 2 * n : 3 * n]))
            c = f * c + i * np.tanh(z[:, 3 * n :])
            h = o * np.tanh(c)
            loss = loss + np.sum(h * h)
        return loss

    return lstm


def lstm_jax() -> Body:
    import jax
    import jax.numpy as jnp

    def lstm(w: Any, u: Any, b: Any, h: Any, c: Any, xs: Any) -> Any:
        n = h.shape[1]

        def step(carry: Any, x: Any) -> Any:
            h, c, loss = carry
            z = x @ w + h @ u + b
            i = 1.0 / (1.0 + jnp.exp(-z[:, :n]))
            f = 1.0 / (1.0 + jnp.exp(-z[:, n : 2 * n]))
            o = 1.0 / (1.0 + jnp.exp(-z[:, 2 * n : 3 * n]))
            c = f * c + i * jnp.tanh(z[:, 3 * n :])
            h = o * jnp.tanh(c)
            return (h, c, loss + jnp.sum(h * h)), None

        return jax.lax.scan(step, (h, c, 0.0), xs)[0][2]

    return lstm


def lstm_arguments(rng: np.random.Generator) -> Arrays:
    n, inputs, batch, steps = 64, 32, 32, 100
    return (
        0.1 * rng.standard_normal((inputs, 4 * n)),
        0.1 * rng.standard_normal((n, 4 * n)),
        np.zeros(4 * n),
        np.zeros((batch, n)),
        np.zeros((batch, n)),
        rng.standard_normal((steps, batch, inputs)),
    )


def orbit(np: Any) -> Body:
    def orbit(q: Any, p: Any, k: Any) -> Any:
        for _ in range(1000):
            p = p - 0.001 * (q + k * q * q * q)
            q = q + 0.001 * p
        return np.sum(q * q + p * p)

    return orbit


def orbit_jax() -> Body:
    import jax
    import jax.numpy as jnp

    def orbit(q: Any, p: Any, k: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            q, p = carry
            p = p - 0.001 * (q + k * q * q * q)
            return (q + 0.001 * p, p), None

        q, p = jax.lax.scan(step, (q, p), None, length=1000)[0]
        return jnp.sum(q * q + p * p)

    return orbit


def orbit_arguments(rng: np.random.Generator) -> Arrays:
    return rng.random(100), rng.random(100), 0.5


def runge_kutta(np: Any) -> Body:
    def slope(y: Any, k: Any) -> Any:
        return np.stack([y[1], k * (1.0 - y[0] * y[0]) * y[1] - y[0]])

    def runge_kutta(y: Any, k: Any) -> Any:
        h = 0.01
        for _ in range(1000):
            k1 = slope(y, k)
            k2 = slope(y + 0.5 * h * k1, k)
            k3 = slope(y + 0.5 * h * k2, k)
            k4 = slope(y + h * k3, k)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return np.sum(y * y)

    return runge_kutta


def runge_kutta_jax() -> Body:
    import jax
    import jax.numpy as jnp

    def slope(y: Any, k: Any) -> Any:
        return jnp.stack([y[1], k * (1.0 - y[0] * y[0]) * y[1] - y[0]])

    def runge_kutta(y: Any, k: Any) -> Any:
        h = 0.01

        def step(y: Any, _: Any) -> Any:
            k1 = slope(y, k)
            k2 = slope(y + 0.5 * h * k1, k)
            k3 = slope(y + 0.5 * h * k2, k)
            k4 = slope(y + h * k3, k)
            return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

        y = jax.lax.scan(step, y, None, length=1000)[0]
        return jnp.sum(y * y)

    return runge_kutta


def runge_kutta_arguments(rng: np.random.Generator) -> Arrays:
    return rng.random((2, 100)), 0.8


def heat(np: Any) -> Body:
    def heat(u: Any, k: Any) -> Any:
        u = u.copy()
        for _ in range(100):
            u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            )
        return np.sum(u * u)

    return heat


def heat_jax() -> Body:
    import jax
    import jax.numpy as jnp

    def heat(u: Any, k: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            inner = u[1:-1, 1:-1] + k * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            )
            return u.at[1:-1, 1:-1].set(inner), None

        return jnp.sum(jax.lax.scan(step, u, None, length=100)[0] ** 2)

    return heat


def heat_arguments(rng: np.random.Generator) -> Arrays:
    return rng.random((128, 128)), 0.1


LOSSES = [
    Loss("Gaussian mixture, 2000 x 16, 10 parts", gaussian_mixture, mixture_arguments, (0, 1, 2, 3)),
    Loss("MLP 256-256-128-10, batch 512", network, network_arguments, tuple(range(6))),
    Loss("bundle adjustment, 20000 residuals", bundle, bundle_arguments, (0, 1, 2)),
    Loss("LSTM, 100 steps", lstm, lstm_arguments, (0, 1, 2), True, lstm_jax),
    Loss("ODE, symplectic Euler, 1000 steps", orbit, orbit_arguments, (0, 1, 2), True, orbit_jax),
    Loss("ODE, Runge-Kutta, 1000 steps", runge_kutta, runge_kutta_arguments, (0, 1), True, runge_kutta_jax),
    Loss("stencil 128x128, 100 steps", heat, heat_arguments, (0, 1), True, heat_jax),
]


# ---- figures -------------------------------------------------------------------------------------


def best(runners: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """The least microseconds of each in interleaved rounds, `budget` seconds in all."""
    samples: dict[str, list[float]] = {name: [] for name in runners}
    for run in runners.values():
        run()
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 10 or time.perf_counter() < end:
        for name, run in runners.items():
            run()  # what another has left in the caches
            start = time.perf_counter()
            run()
            samples[name].append((time.perf_counter() - start) * 1e6)
        rounds += 1
    return {name: min(s) for name, s in samples.items()}


def measure(loss: Loss, budget: float, with_jax: bool) -> dict[str, float]:
    """Microseconds of the function, its gradient and JAX's gradient; bytes that the gradients take for temporaries."""
    import untraced

    arguments = loss.arguments(np.random.default_rng(0))
    f = loss.body(np)
    function = untraced.accelerate(f, target="cpu")
    gradient = untraced.accelerate(untraced.grad(f, argnums=loss.wrt), target="cpu")
    ours = to_device(untraced.device_put, arguments)
    runners: dict[str, Callable[[], Any]] = {
        "function": lambda: wait(function(*ours)),
        "gradient": lambda: wait(gradient(*ours)),
    }
    memory = {"memory": float(gradient.inspect(*arguments).memory["temporary"])}
    if with_jax:
        import jax

        body = loss.jax_body() if loss.jax_body else loss.body(jax.numpy)
        theirs = jax.jit(jax.grad(body, argnums=loss.wrt))
        given = to_device(jax.device_put, arguments)
        runners["jax"] = lambda: wait(theirs(*given))
        for got, want in zip(gradient(*ours), theirs(*given), strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-8, atol=1e-10)
        memory["jax memory"] = float(theirs.lower(*given).compile().memory_analysis().temp_size_in_bytes)
    return best(runners, budget) | memory


def steps(np: Any, n: int) -> Body:
    """A loop of `n` steps over a state that takes far more than its parameters."""

    def steps(x: Any, k: Any) -> Any:
        for _ in range(n):
            x = x + k * np.sin(x) * np.exp(-x * x)
        return x

    return steps


def scanned(n: int) -> Body:
    import jax
    import jax.numpy as jnp

    def steps(x: Any, k: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            return x + k * jnp.sin(x) * jnp.exp(-x * x), None

        return jax.lax.scan(step, x, None, length=n)[0]

    return steps


def memory_of_steps(n: int, size: int) -> tuple[float, float, float]:
    """Bytes of temporaries of the gradient through `n` steps over an array of `size`: with a whole tape, with
    `checkpoint` and memory for 2 sqrt(n) states, and of JAX's scan.
    """
    import jax

    import untraced

    x, k = np.linspace(0.1, 1.0, size), 0.1
    held = untraced.checkpoint(steps(np, n), memory=round((2 * math.sqrt(n) + 2) * x.nbytes))
    ours = (
        untraced.accelerate(untraced.grad(lambda x, k, f=f: np.sum(f(x, k) ** 2)), target="cpu")
        for f in (steps(np, n), held)
    )
    plain, root = (float(g.inspect(x, k).memory["temporary"]) for g in ours)
    theirs = jax.jit(jax.grad(lambda x, k: (scanned(n)(x, k) ** 2).sum()))
    return plain, root, float(theirs.lower(x, k).compile().memory_analysis().temp_size_in_bytes)


def memory_table(size: int = 1000) -> list[str]:
    rows = ["", "| steps over 1,000 numbers | memory | with `checkpoint(memory=...)` | JAX's scan |"]
    rows.append("| ---: " * 4 + "|")
    for n in (1000, 4000, 16000):
        figures = " | ".join(f"{b / 1e6:.3g} MB" for b in memory_of_steps(n, size))
        rows.append(f"| {n:,} | {figures} |")
    return rows


def translation(lines: int, repeats: int) -> float:
    """Seconds of processor time from a function of so many lines, each time a new one, to its gradient's source."""
    import untraced

    body = ["def long(x, w):", "    y = x"]
    for k in range((lines - 3) // 4):
        body += [
            f"    a{k} = np.sin(y) * w + {k}.0",
            f"    b{k} = np.exp(-a{k} * a{k}) + y",
            f"    c{k} = b{k} / (1.0 + a{k} * a{k})",
            f"    y = np.tanh(c{k} + a{k} * w)",
        ]
    body.append("    return np.sum(y * y)")
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(repeats):
            path = Path(folder) / f"long_{n}.py"
            path.write_text("\n".join(body) + "\n")
            scope: dict[str, Any] = {"np": np}
            exec(compile(path.read_text(), str(path), "exec"), scope)
            start = time.process_time()
            untraced.grad(scope["long"], argnums=(0, 1)).source(np.ones(10), np.ones(10))
            times.append(time.process_time() - start)
    return statistics.median(times)


def lengths() -> dict[str, tuple[int, int, bool]]:
    """For each program with a golden gradient: its lines, those of the gradient, and whether it has a loop."""
    from derivative_programs import GRADIENTS

    import untraced

    found = {}
    for fun, args in GRADIENTS:
        text = inspect.getsource(fun)
        derivative = untraced.grad(fun).source(*args)
        found[fun.__name__] = (_lines(text), _lines(derivative), "for " in text or "while " in text)
    return found


def _lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def report(options: argparse.Namespace) -> str:
    """The figures as Markdown; printed as they come."""
    rows = ["| loss | function | gradient | gradient / function | JAX | gradient / JAX | memory | JAX's memory |"]
    rows.append("| --- |" + " ---: |" * 7)
    print(rows[0])
    for loss in LOSSES:
        if options.only and not any(o in loss.name for o in options.only):
            continue
        row = measure(loss, options.seconds, True)
        cells = [
            loss.name,
            pretty(row["function"]),
            pretty(row["gradient"]),
            f"{row['gradient'] / row['function']:.1f}",
            pretty(row["jax"]),
            f"{row['gradient'] / row['jax']:.2f}",
            f"{row['memory'] / 1e6:.3g} MB",
            f"{row['jax memory'] / 1e6:.3g} MB",
        ]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    table = memory_table()
    print("\n".join(table))
    rows += table
    found = lengths()
    for what, loops in (("straight-line", False), ("with loops", True)):
        ratios = {name: d / f for name, (f, d, looped) in found.items() if looped is loops}
        longest = max(ratios, key=lambda name: ratios[name])
        mean = statistics.mean(ratios.values())
        rows.append(
            f"\nLines of gradient per line of function, {len(ratios)} programs {what}: {mean:.1f} on average, "
            f"{ratios[longest]:.1f} at most ({longest})."
        )
    seconds = translation(200, 5)
    rows.append(f"\nTranslating the gradient of a function of 200 lines: {seconds:.2f} s.")
    print("\n".join(rows[-3:]))
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each program")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of losses")
    parser.add_argument("--markdown", metavar="FILE", help="replace the figures between the markers in FILE")
    options = parser.parse_args()
    prepare_jax()
    figures = report(options)
    if options.markdown:
        replace_table(options.markdown, "derivatives", figures)


if __name__ == "__main__":
    main()
