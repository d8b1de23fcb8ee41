"""How much leaked, and when? Recovered from three sensors downwind, by the gradient of a simulation.

The simulation is NumPy as one writes it, a loop of stores into slices; the gradient with respect to what leaked in each
of its steps comes from `value_and_grad`.

python examples/find_the_leak.py                  # 120 steps on 48 x 96 points
python examples/find_the_leak.py --plot leak.png --source
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from untraced import accelerate, value_and_grad

TARGETS = ("auto", "cpu", "triton", "cuda", "tpu", "numpy")
WIND, SPREAD = 0.4, 0.08  # points a step, and squared points a step
LEAK = (24, 12)  # row and column
SENSORS = (np.array([20, 26, 30]), np.array([40, 52, 34]))


def readings(leaked: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """What the sensors read in each step, shape (steps, 3), where `leaked[k]` comes into the air in step k.

    Upwind differences for the wind, which blows along the rows, and central ones for what spreads by itself.
    """
    air = np.zeros((rows, columns))
    seen = np.empty((len(leaked), len(SENSORS[0])))
    for k in range(len(leaked)):
        air[LEAK] += leaked[k]
        middle = air[1:-1, 1:-1].copy()
        air[1:-1, 1:-1] -= WIND * (middle - air[1:-1, :-2])
        air[1:-1, 1:-1] += SPREAD * (air[2:, 1:-1] + air[:-2, 1:-1] + air[1:-1, 2:] + air[1:-1, :-2] - 4.0 * middle)
        air[:, -1] = air[:, -2]
        seen[k] = air[SENSORS]
    return seen


def misfit(leaked: np.ndarray, measured: np.ndarray, rows: int, columns: int) -> float:
    """Squared differences from what was measured, and a little for steps in what leaked: it changes slowly."""
    difference = readings(leaked, rows, columns) - measured
    return np.sum(difference**2) / np.sum(measured**2) + 1e-4 * np.sum(np.diff(leaked) ** 2)


def what_leaked(steps: int) -> np.ndarray:
    """A long leak and a short one."""
    t = np.arange(steps) / steps
    return np.exp(-(((t - 0.25) / 0.1) ** 2)) + 0.6 * (np.abs(t - 0.55) < 0.05)


def plot(file: Any, truth: np.ndarray, found: np.ndarray, measured: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
    above.plot(measured)
    above.set(ylabel="sensors")
    below.plot(truth, label="leaked")
    below.plot(found, "--", label="recovered")
    below.set(xlabel="step", ylabel="leak")
    below.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="auto", choices=TARGETS)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--columns", type=int, default=96)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--source", action="store_true", help="print the gradient's source")
    parser.add_argument("--plot", metavar="FILE.png", type=argparse.FileType("wb"))
    options = parser.parse_args(argv)
    if min(options.steps, options.iterations) < 1:
        parser.error("there are 1 step and 1 iteration or more")
    if options.rows <= SENSORS[0].max() or options.columns <= SENSORS[1].max():
        parser.error(f"the sensors need more than {SENSORS[0].max()} rows and {SENSORS[1].max()} columns")

    place = options.rows, options.columns
    truth = what_leaked(options.steps)
    measured = readings(truth, *place)
    measured += 0.01 * measured.max() * np.random.default_rng(0).standard_normal(measured.shape)
    slope = accelerate(value_and_grad(misfit), target=options.target)
    if options.source:
        print(slope.source(truth, measured, *place))

    leaked = np.zeros(options.steps)
    mean, square = np.zeros_like(leaked), np.zeros_like(leaked)
    start = time.perf_counter()
    for i in range(1, options.iterations + 1):  # Adam, and no leak is negative
        value, gradient = slope(leaked, measured, *place)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        leaked = leaked - 0.03 * (mean / (1 - 0.9**i)) / (np.sqrt(square / (1 - 0.99**i)) + 1e-9)
        leaked = np.maximum(leaked, 0.0)
    taken = time.perf_counter() - start

    late = options.steps - 70  # what leaks later has not come to the sensors
    error = float(np.linalg.norm((leaked - truth)[:late]) / np.linalg.norm(truth[:late])) if late > 0 else np.nan
    print(f"{options.iterations} gradients of {options.steps} steps in {taken:.2f} s; misfit {value:.2e}")
    print(f"leaked in all {truth[:late].sum():.1f}, recovered {leaked[:late].sum():.1f}; relative error {error:.2f}")
    if options.plot:
        plot(options.plot, truth, leaked, measured)
        print(f"picture: {options.plot.name}")
    return error


if __name__ == "__main__":
    main()
