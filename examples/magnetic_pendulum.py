"""Above which of three magnets does a pendulum come to rest? Written for one start, run for every point of a picture.

Each pendulum takes steps of its own length, and as many as it needs: the function has a `while` with a `break`, and
vmap lets every lane leave it when it is done.

python examples/magnetic_pendulum.py                          # 200 x 200 starts
python examples/magnetic_pendulum.py --size 800 --plot magnets.png
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from untraced import accelerate, vmap

TARGETS = ("auto", "cpu", "triton", "cuda", "tpu", "numpy")
MAGNETS = tuple((math.cos(a), math.sin(a)) for a in (math.pi / 2, math.pi * 7 / 6, math.pi * 11 / 6))
HEIGHT = 0.3  # of the bob above the plane of the magnets
FRICTION, GRAVITY = 0.2, 0.5
TOLERANCE = 2e-3
LONGEST = 40.0  # time after which it is taken to be at rest


def length(*parts: Any) -> Any:
    return math.sqrt(sum(p * p for p in parts))


def force(x: Any, y: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """The acceleration of a bob at (x, y) with the velocity (u, v): friction, gravity, and inverse squares."""
    ax, ay = -FRICTION * u - GRAVITY * x, -FRICTION * v - GRAVITY * y
    for mx, my in MAGNETS:
        dx, dy = mx - x, my - y
        distance = length(dx, dy, HEIGHT)
        ax += dx / distance**3
        ay += dy / distance**3
    return ax, ay


def rests(x: Any, y: Any) -> tuple[Any, Any]:
    """The number of the nearest magnet when the pendulum that starts at (x, y) rests, and how many steps it took.

    Heun's method; the difference from Euler's tells the length of the next step.
    """
    u = v = t = 0.0
    dt, steps = 0.01, 0
    while t < LONGEST:
        ax, ay = force(x, y, u, v)
        x1, y1, u1, v1 = x + dt * u, y + dt * v, u + dt * ax, v + dt * ay
        bx, by = force(x1, y1, u1, v1)
        error = 0.5 * dt * length(bx - ax, by - ay)
        if error < TOLERANCE:
            x += 0.5 * dt * (u + u1)
            y += 0.5 * dt * (v + v1)
            u += 0.5 * dt * (ax + bx)
            v += 0.5 * dt * (ay + by)
            t += dt
            steps += 1
            if length(u, v) < 0.02 and length(ax, ay) < 0.1:
                break
        dt *= min(2.0, max(0.3, 0.9 * math.sqrt(TOLERANCE / (error + 1e-12))))
    nearest, least = 0, 1e9
    for k, (mx, my) in enumerate(MAGNETS):
        distance = length(mx - x, my - y)
        if distance < least:
            nearest, least = k, distance
    return nearest, steps


def plot(file: Any, nearest: np.ndarray, steps: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = np.array([[0.93, 0.35, 0.25], [0.22, 0.55, 0.75], [0.98, 0.80, 0.30]])
    light = 1.0 / (1.0 + 0.5 * (steps / np.median(steps)) ** 2)
    plt.imsave(file, colours[nearest] * light[..., None], origin="lower")


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="auto", choices=TARGETS)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--samples", type=int, default=20, help="starts that plain Python computes, to compare")
    parser.add_argument("--plot", metavar="FILE.png", type=argparse.FileType("wb"))
    options = parser.parse_args(argv)
    if options.size < 1 or not 1 <= options.samples <= options.size**2:
        parser.error("there is 1 start or more along each side, and 1 sample or more, no more than there are starts")

    line = np.linspace(-2.0, 2.0, options.size)
    y, x = (a.ravel() for a in np.meshgrid(line, line, indexing="ij"))
    every = accelerate(vmap(rests), target=options.target)
    start = time.perf_counter()
    every(x, y)
    first = time.perf_counter() - start
    start = time.perf_counter()
    nearest, steps = every(x, y)
    taken = time.perf_counter() - start

    chosen = np.random.default_rng(0).choice(x.size, options.samples, replace=False)
    start = time.perf_counter()
    told = [rests(float(x[k]), float(y[k])) for k in chosen]
    plain = (time.perf_counter() - start) / options.samples * x.size
    agreed = float(np.mean([magnet == nearest[k] for k, (magnet, _) in zip(chosen, told, strict=True)]))
    print(f"{x.size:,} pendulums took {int(steps.min())} to {int(steps.max())} steps each, {int(steps.sum()):,} in all")
    print(f"accelerated {taken:.2f} s (first call {first:.2f} s), plain Python about {plain:.0f} s")
    print(f"of {options.samples} starts {agreed:.0%} rest above the same magnet in plain Python")
    if options.plot:
        shape = (options.size, options.size)
        plot(options.plot, nearest.reshape(shape), steps.reshape(shape))
        print(f"picture: {options.plot.name}")
    return agreed


if __name__ == "__main__":
    main()
