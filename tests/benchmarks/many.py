"""Many small programs of every kind and their gradients against jax.jit, on arrays that lie on the device.

    python tests/benchmarks/many.py                                     # all of them
    python tests/benchmarks/many.py --only rolls solve                  # some
    python tests/benchmarks/many.py --markdown docs/performance.md      # and into the page

One process, medians of interleaved rounds as in run.py. The gradient is that of the sum of squares of the result by the
first argument. Programs say nothing about frameworks: what is slow here for no reason of theirs is to be looked into.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from pages import replace_table
from run import medians, prepare_jax, pretty, to_device, wait

Arrays = tuple[Any, ...]
Shape = int | tuple[int, ...]


@dataclass(frozen=True)
class Small:
    """`body(np)` builds the function; `arguments` gives arrays made of normal numbers of a shape."""

    name: str
    body: Callable[[Any], Callable[..., Any]]
    arguments: Callable[[Callable[[Shape], Any]], Arrays]
    differentiated: bool = True


# ---- programs ------------------------------------------------------------------------------------


def black_scholes(np: Any) -> Callable[..., Any]:
    def price(spot: Any, strike: Any, time: Any) -> Any:
        rate, sigma = 0.03, 0.2
        d1 = (np.log(spot / strike) + (rate + sigma * sigma / 2) * time) / (sigma * np.sqrt(time))
        d2 = d1 - sigma * np.sqrt(time)
        n1 = 0.5 * (1 + np.tanh(0.7978845608 * (d1 + 0.044715 * d1**3)))
        n2 = 0.5 * (1 + np.tanh(0.7978845608 * (d2 + 0.044715 * d2**3)))
        return spot * n1 - strike * np.exp(-rate * time) * n2

    return price


def attention(np: Any) -> Callable[..., Any]:
    def attend(q: Any, k: Any, v: Any) -> Any:
        s = q @ np.swapaxes(k, -1, -2) * 0.125
        e = np.exp(s - np.max(s, axis=-1, keepdims=True))
        return (e / np.sum(e, axis=-1, keepdims=True)) @ v

    return attend


def likelihood(np: Any) -> Callable[..., Any]:
    def mean(x: Any, y: Any) -> Any:
        m = np.max(x, axis=1, keepdims=True)
        l = x - m - np.log(np.sum(np.exp(x - m), axis=1, keepdims=True))
        return -np.mean(l[np.arange(x.shape[0]), y])

    return mean


def batch_norm(np: Any) -> Callable[..., Any]:
    def normalised(x: Any, gain: Any, bias: Any) -> Any:
        return gain * (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5) + bias

    return normalised


def network(np: Any) -> Callable[..., Any]:
    def layers(x: Any, a: Any, b: Any, c: Any) -> Any:
        return np.maximum(np.maximum(x @ a, 0) @ b, 0) @ c

    return layers


def k_means(np: Any) -> Callable[..., Any]:
    def step(x: Any, centres: Any) -> Any:
        nearest = np.argmin(np.sum((x[:, None, :] - centres[None]) ** 2, axis=2), axis=1)
        members = (nearest[:, None] == np.arange(centres.shape[0])[None]).astype(np.float64)
        return members.T @ x / np.maximum(np.sum(members, axis=0), 1)[:, None]

    return step


def forces(np: Any) -> Callable[..., Any]:
    def of_all(p: Any, m: Any) -> Any:
        d = p[None] - p[:, None]
        r = np.sum(d * d, axis=-1) + 0.01
        return np.sum(d * (m / (r * np.sqrt(r)))[..., None], axis=1)

    return of_all


def gaussian_kernel(np: Any) -> Callable[..., Any]:
    def kernel(x: Any, y: Any) -> Any:
        d = np.sum(x * x, 1)[:, None] + np.sum(y * y, 1)[None] - 2 * x @ y.T
        return np.exp(-0.5 * d)

    return kernel


def logistic(np: Any) -> Callable[..., Any]:
    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return np.mean(np.logaddexp(0, z) - y * z) + 0.01 * np.sum(w * w)

    return loss


def convolution(np: Any) -> Callable[..., Any]:
    def convolved(x: Any, w: Any) -> Any:
        out = 0
        for i in range(3):
            for j in range(3):
                out = out + w[i, j] * x[i : x.shape[0] - 2 + i, j : x.shape[1] - 2 + j]
        return np.tanh(out)

    return convolved


def rolls(np: Any) -> Callable[..., Any]:
    def laplacian(x: Any) -> Any:
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x

    return laplacian


def life(np: Any) -> Callable[..., Any]:
    def step(x: Any) -> Any:
        s = 0
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                if i or j:
                    s = s + np.roll(np.roll(x, i, 0), j, 1)
        return (s == 3) | ((x == 1) & (s == 2))

    return step


def running_mean(np: Any) -> Callable[..., Any]:
    def farthest(x: Any) -> Any:
        return np.max(np.abs(x - np.cumsum(x) / np.arange(1, x.shape[0] + 1)))

    return farthest


def covariance(np: Any) -> Callable[..., Any]:
    def of_columns(x: Any) -> Any:
        x = x - np.mean(x, axis=0)
        return x.T @ x / (x.shape[0] - 1)

    return of_columns


def state(np: Any) -> Callable[..., Any]:
    def density(t: Any, s: Any, p: Any) -> Any:
        a = 999.8 + t * (6.79e-2 + t * (-9.09e-3 + t * (1.0e-4 + t * (-1.12e-6 + t * 6.5e-9))))
        b = 0.82 + t * (-4.0e-3 + t * (7.6e-5 + t * (-8.2e-7 + t * 5.3e-9)))
        r = a + b * s + (-5.7e-3 + t * (1.0e-4 - t * 1.6e-6)) * s * np.sqrt(s) + 4.8e-4 * s * s
        k = 19652.2 + t * (148.4 + t * (-2.3 + t * 1.3e-2)) + s * (54.6 + t * -0.6)
        return r / (1 - p / k)

    return density


def powers(np: Any) -> Callable[..., Any]:
    def direction(x: Any, v: Any) -> Any:
        x = x - np.mean(x, 0)
        for _ in range(10):
            v = x.T @ (x @ v)
            v = v / np.sqrt(np.sum(v * v))
        return v

    return direction


def looked_up(np: Any) -> Callable[..., Any]:
    def products(table: Any, i: Any) -> Any:
        return np.sum(table[i] * table[i[::-1]], axis=1)

    return products


def choices(np: Any) -> Callable[..., Any]:
    def chosen(x: Any, y: Any) -> Any:
        return np.where(x > 0, np.exp(-x) * y, np.where(y > 0, np.sqrt(np.abs(x * y)), x - y))

    return chosen


def farthest(np: Any) -> Callable[..., Any]:
    def of_pairs(x: Any) -> Any:
        return np.max(np.abs(x[:, None] - x[None, :]), axis=1)

    return of_pairs


def solve(np: Any) -> Callable[..., Any]:
    def solution(a: Any, b: Any) -> Any:
        return np.linalg.solve(a @ a.T + np.eye(200), b)

    return solution


def log_determinant(np: Any) -> Callable[..., Any]:
    def by_factor(a: Any) -> Any:
        return 2 * np.sum(np.log(np.diag(np.linalg.cholesky(a @ a.T + np.eye(200) * 10))))

    return by_factor


def filtered(np: Any) -> Callable[..., Any]:
    def by_spectrum(x: Any, h: Any) -> Any:
        return np.real(np.fft.ifft(np.fft.fft(x) * h))

    return by_spectrum


def horner(np: Any) -> Callable[..., Any]:
    def polynomial(x: Any, c: Any) -> Any:
        y = np.zeros_like(x)
        for k in range(6):
            y = y * x + c[k]
        return y

    return polynomial


def positive(r: Callable[[Shape], Any], n: int, least: float) -> Any:
    return np.abs(r(n)) + least


def chosen_rows(r: Callable[[Shape], Any], rows: int, of: int) -> Any:
    return np.argsort(r((rows,))) % of


PROGRAMS = (
    Small("option prices", black_scholes, lambda r: tuple(positive(r, 200_000, k) for k in (1, 1, 0.1))),
    Small("attention", attention, lambda r: tuple(r((8, 256, 64)) for _ in range(3))),
    Small("log-likelihood", likelihood, lambda r: (r((2000, 300)), chosen_rows(r, 2000, 300))),
    Small("batch norm", batch_norm, lambda r: (r((4000, 256)), r(256), r(256))),
    Small("network", network, lambda r: (r((512, 256)), r((256, 256)), r((256, 128)), r((128, 10)))),
    Small("k-means step", k_means, lambda r: (r((5000, 16)), r((20, 16))), False),
    Small("forces of 500 bodies", forces, lambda r: (r((500, 3)), np.abs(r(500)))),
    Small("Gaussian kernel", gaussian_kernel, lambda r: (r((700, 20)), r((800, 20)))),
    Small("logistic regression", logistic, lambda r: (r(100), r((20_000, 100)), (r(20_000) > 0).astype(float))),
    Small("convolution by slices", convolution, lambda r: (r((1000, 1000)), r((3, 3)))),
    Small("rolls", rolls, lambda r: (r((1000, 1000)),)),
    Small("life", life, lambda r: ((r((700, 700)) > 0).astype(np.int64),), False),
    Small("running mean", running_mean, lambda r: (r(500_000),)),
    Small("covariance", covariance, lambda r: (r((5000, 200)),)),
    Small("equation of state", state, lambda r: tuple(positive(r, 400_000, k) for k in (10, 30, 100))),
    Small("power iteration", powers, lambda r: (r((3000, 100)), r(100))),
    Small("table", looked_up, lambda r: (r((10_000, 64)), chosen_rows(r, 20_000, 10_000))),
    Small("choices", choices, lambda r: (r(500_000), r(500_000))),
    Small("farthest of pairs", farthest, lambda r: (r(1500),)),
    Small("solve", solve, lambda r: (r((200, 200)), r((200, 10)))),
    Small("log-determinant", log_determinant, lambda r: (r((200, 200)),)),
    Small("filter by spectrum", filtered, lambda r: (r((64, 4096)), r(4096))),
    Small("polynomial", horner, lambda r: (r(500_000), r(6))),
)


def squares(f: Callable[..., Any], np: Any) -> Callable[..., Any]:
    def loss(x: Any, *others: Any) -> Any:
        r = f(x, *others)
        return np.sum(r * r)

    return loss


# ---- measuring -----------------------------------------------------------------------------------


def figures(program: Small, seconds: float, *, gradient: bool) -> dict[str, float]:
    """Microseconds of a call."""
    import jax

    import untraced

    arguments = program.arguments(np.random.default_rng(0).standard_normal)
    ours, theirs = program.body(np), program.body(jax.numpy)
    if gradient:
        ours = untraced.grad(squares(ours, np))
        theirs = jax.grad(squares(theirs, jax.numpy))
    own, other = untraced.accelerate(ours, target="cpu"), jax.jit(theirs)
    own_arguments, other_arguments = to_device(untraced.device_put, arguments), to_device(jax.device_put, arguments)
    found, expected = np.asarray(own(*own_arguments)), np.asarray(other(*other_arguments))
    if not np.allclose(found, expected, rtol=1e-6, atol=1e-8 * max(1.0, float(np.max(np.abs(expected))))):
        raise AssertionError(f"{program.name}: results differ")
    runs = {"untraced": lambda: wait(own(*own_arguments)), "jax": lambda: wait(other(*other_arguments))}
    return medians(runs, seconds)


def row(program: Small, seconds: float) -> str:
    cells = [program.name]
    for gradient in (False, True):
        if gradient and not program.differentiated:
            cells += ["-"] * 3
            continue
        times = figures(program, seconds, gradient=gradient)
        cells += [pretty(times["untraced"]), pretty(times["jax"]), f"{times['untraced'] / times['jax']:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each program")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--markdown", metavar="FILE", help="replace the table between the markers in FILE")
    options = parser.parse_args()
    prepare_jax()
    lines = ["| program | untraced | jax.jit | ratio | its gradient | jax.jit | ratio |", "| --- |" + " ---: |" * 6]
    for program in PROGRAMS:
        if not options.only or program.name in options.only:
            lines.append(row(program, options.seconds))
            print(lines[-1], flush=True)
    if options.markdown:
        replace_table(options.markdown, "many", "\n".join(lines))


if __name__ == "__main__":
    main()
