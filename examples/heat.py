"""Heat in a square plate: a 2-D stencil in a loop with slice stores, accelerated and compared with NumPy.

python examples/heat.py                     # 200 x 200 points, 1,000 steps
python examples/heat.py --plot plate.png    # also draw the plate
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from untraced import accelerate

TARGETS = ("auto", "cpu", "triton", "cuda", "tpu", "numpy")


def heat(plate: np.ndarray, steps: int, rate: float) -> np.ndarray:
    """Explicit steps of the heat equation; the edge stays as it is, the argument is not changed."""
    u = plate.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + rate * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def warm_plate(n: int) -> np.ndarray:
    """An n x n plate, cold but for its hot left edge and a warm disc."""
    y, x = np.mgrid[0:n, 0:n] / n
    plate = np.where((x - 0.65) ** 2 + (y - 0.4) ** 2 < 0.02, 60.0, 0.0)
    plate[:, 0] = 100.0
    return plate


def plot(file: Any, before: np.ndarray, after: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 4))
    for axes, plate, title in zip(panels, (before, after), ("start", "end"), strict=True):
        axes.imshow(plate, cmap="inferno", vmin=0.0, vmax=100.0)
        axes.set(title=title, xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def main(argv: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="auto", choices=TARGETS)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--plot", metavar="FILE.png", type=argparse.FileType("wb"))
    options = parser.parse_args(argv)
    if options.size < 1 or options.steps < 0:
        parser.error("the plate has 1 point or more along each side, and takes 0 steps or more")

    plate = warm_plate(options.size)
    fast_heat = accelerate(heat, target=options.target)
    start = time.perf_counter()
    fast_heat(plate, options.steps, 0.2)
    first = time.perf_counter() - start
    start = time.perf_counter()
    fast = fast_heat(plate, options.steps, 0.2)
    accelerated = time.perf_counter() - start
    start = time.perf_counter()
    slow = heat(plate, options.steps, 0.2)
    plain = time.perf_counter() - start

    difference = float(np.max(np.abs(fast - slow)))
    print(
        f"NumPy {plain:.3f} s, accelerated {accelerated:.3f} s "
        f"({plain / accelerated:.1f} times; first call {first:.2f} s)"
    )
    print(f"largest difference: {difference:.2e}")
    if options.plot:
        plot(options.plot, plate, fast)
        print(f"picture: {options.plot.name}")
    return difference


if __name__ == "__main__":
    main()
