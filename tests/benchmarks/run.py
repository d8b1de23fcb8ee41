"""One run, all peers: NumPy, untraced, jax.jit and, where installed, numba and torch.compile.

    python tests/benchmarks/run.py                         # the whole table
    python tests/benchmarks/run.py --json out.json --plot out.png --markdown docs/performance.md

Times are medians over interleaved repetitions in one process (start-up figures: fresh processes), so
that ratios hold when the machine's speed drifts. Each framework gets data where it wants it: NumPy and
numba host arrays, the others device arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from pages import replace_table
from programs import PROGRAMS, Program, mlp_arguments, mlp_loss, sgd_step
from torch_numpy import TorchNumPy

Figures = dict[str, dict[str, float]]  # program -> framework -> microseconds


def available() -> list[str]:
    import importlib.util

    names = ["numpy", "untraced"]
    return names + [n for n in ("jax", "numba", "torch") if importlib.util.find_spec(n)]


def prepare_jax() -> None:
    """float64 as in NumPy; the CPU even where a TPU compiler is installed."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)


def runner(framework: str, program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any] | None:
    """A closure that runs the program once and waits for it; None where the framework has no form of it."""
    own = program.other.get(framework)
    match framework:
        case "numpy":
            f = program.body(np)
            return lambda: f(*arguments)
        case "untraced":
            import untraced

            f = untraced.accelerate(program.body(np), target="cpu")
            on_device = to_device(untraced.device_put, arguments)
            return lambda: wait(f(*on_device))
        case "jax":
            import jax

            f = jax.jit(own() if own else program.body(jax.numpy))
            on_device = to_device(jax.device_put, arguments)
            return lambda: wait(f(*on_device))
        case "numba":
            import numba

            if not program.numba:
                return None
            f = numba.njit(program.body(np))
            return lambda: f(*arguments)
        case "torch":
            import torch

            f = torch.compile(own() if own else program.body(TorchNumPy(torch)))
            tensors = to_device(torch.from_numpy, arguments)
            return lambda: f(*tensors)
    raise ValueError(framework)


def to_device(put: Callable[[Any], Any], arguments: Any) -> Any:
    if isinstance(arguments, tuple):
        return tuple(to_device(put, a) for a in arguments)
    return put(arguments) if isinstance(arguments, np.ndarray) else arguments


def wait(result: Any) -> Any:
    if isinstance(result, tuple):
        for r in result:
            wait(r)
    else:
        result.block_until_ready()
    return result


def medians(runners: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """Median microseconds of each, in interleaved rounds, `budget` seconds in all (at least 5 rounds)."""
    counts, samples = {}, {name: [] for name in runners}
    for name, run in runners.items():
        for _ in range(3):
            run()
        start = time.perf_counter()
        run()
        once = time.perf_counter() - start
        counts[name] = max(1, int(0.005 / max(once, 1e-7)))
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        for name in list(runners)[:: -1 if rounds % 2 else 1]:  # each runs after each: what one leaves in the caches
            run = runners[name]
            time.sleep(0.02)  # until the thread pools of the framework before have stopped spinning
            run()
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            samples[name].append((time.perf_counter() - start) / counts[name] * 1e6)
        rounds += 1
    return {name: statistics.median(s) for name, s in samples.items()}


def same(ours: Any, reference: Any, name: str) -> None:
    ours, reference = np.asarray(ours), np.asarray(reference)
    if not np.allclose(ours, reference, rtol=1e-6, atol=1e-6):
        raise AssertionError(f"{name}: results differ by {np.max(np.abs(ours - reference))}")


def steady_state(frameworks: list[str], budget: float) -> Figures:
    figures: Figures = {}
    for program in PROGRAMS:
        arguments = program.arguments(np.random.default_rng(0))
        runners = {f: r for f in frameworks if (r := runner(f, program, arguments)) is not None}
        reference = runners["numpy"]()
        for name, run in runners.items():
            same(run(), reference, f"{program.name} in {name}")
        figures[program.name] = medians(runners, budget)
        report(program.name, figures[program.name])
    return figures


def training_step(frameworks: list[str], budget: float) -> Figures:
    """SGD on the digits network: gradient, update, all in one compiled function."""
    import untraced

    arguments = mlp_arguments(np.random.default_rng(0))
    plain = sgd_step(untraced.value_and_grad, np)
    ours = untraced.accelerate(plain, target="cpu")
    on_device = to_device(untraced.device_put, arguments)
    runners: dict[str, Callable[[], Any]] = {
        "numpy": lambda: plain(*arguments),
        "untraced": lambda: wait(ours(*on_device)),
    }
    if "jax" in frameworks:
        import jax

        theirs = jax.jit(sgd_step(jax.value_and_grad, jax.numpy))
        jax_arguments = to_device(jax.device_put, arguments)
        runners["jax"] = lambda: wait(theirs(*jax_arguments))
        same(runners["untraced"]()[0], runners["jax"]()[0], "digits training step")
    figures = {"digits training step": medians(runners, budget)}
    report("digits training step", figures["digits training step"])
    return figures


def dispatch(frameworks: list[str], budget: float) -> Figures:
    """A function of two arrays of four floats, device to device, without waiting."""
    import untraced

    def body(np: Any) -> Callable[..., Any]:
        def trivial(x: Any, y: Any) -> Any:
            return np.sin(x) * y + x

        return trivial

    x = np.random.default_rng(0).random(4, "f4")
    ours, ux = untraced.accelerate(body(np), target="cpu"), untraced.device_put(x)
    runners: dict[str, Callable[[], Any]] = {"numpy": lambda f=body(np): f(x, x), "untraced": lambda: ours(ux, ux)}
    if "jax" in frameworks:
        import jax

        theirs, jx = jax.jit(body(jax.numpy)), jax.device_put(x)
        runners["jax"] = lambda: theirs(jx, jx)
    figures = {"dispatch of a 3-op function": medians(runners, budget)}
    report("dispatch of a 3-op function", figures["dispatch of a 3-op function"])
    return figures


def translation(frameworks: list[str], repeats: int) -> Figures:
    """Source to StableHLO text of the digits gradient; JAX: trace + lower. Fresh functions each time."""
    import untraced

    arguments = mlp_arguments(np.random.default_rng(0))

    def ours() -> Any:
        return (
            untraced.accelerate(untraced.value_and_grad(mlp_loss(np)), target="cpu")
            .inspect(*arguments, compile=False)
            .stablehlo
        )

    runners: dict[str, Callable[[], Any]] = {"untraced": ours}
    if "jax" in frameworks:
        import jax

        def theirs() -> Any:
            return jax.jit(jax.value_and_grad(mlp_loss(jax.numpy))).lower(*arguments).as_text()

        runners["jax"] = theirs
    times = {name: min(timed(run) for _ in range(repeats)) for name, run in runners.items()}
    figures = {"translate digits gradient": times}
    report("translate digits gradient", times)
    return figures


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e6


FIRST = {  # what is imported, as what `np`, and how the function of the source file is run
    "numpy": ("import numpy as np", "f(np.ones(100))"),
    "untraced": (
        "import numpy as np\nfrom untraced import accelerate",
        "float(accelerate(f, target='cpu')(np.ones(100)))",
    ),
    "jax": ("import jax, jax.numpy as np", "float(jax.jit(f)(np.ones(100)))"),
    "numba": ("import numpy as np, numba", "float(numba.njit(f)(np.ones(100)))"),
    "torch": ("import torch\nimport torch as np", "float(torch.compile(f)(torch.ones(100)))"),
}
IMPORT = {
    "numpy": "import numpy",
    "untraced": "from untraced import accelerate, grad, vmap",
    "jax": "import jax, jax.numpy",
    "numba": "import numba",
    "torch": "import torch",
}


AGAIN = "the same, compiled before"


def start_up(frameworks: list[str], repeats: int, folder: Path) -> Figures:
    """Whole fresh processes, less the time of an empty interpreter."""
    source_file = folder / "first_function.py"
    source_file.write_text("def f(x):\n    return np.sum(np.sin(x) * x)\n")
    read = f"FILE = {str(source_file)!r}\nexec(compile(open(FILE).read(), FILE, 'exec'))"
    figures: Figures = {"import": {}, "import + first result": {}, AGAIN: {}}
    empty = process_time("", repeats)
    for framework in frameworks:
        figures["import"][framework] = process_time(IMPORT[framework], repeats) - empty
        imports, run = FIRST[framework]
        figures["import + first result"][framework] = process_time("\n".join((imports, read, run)), repeats) - empty
    if "untraced" in frameworks:
        imports, run = FIRST["untraced"]
        code, kept = "\n".join((imports, read, run)), str(folder / "kept")
        process_time(code, 1, kept)
        figures[AGAIN]["untraced"] = process_time(code, repeats, kept) - empty
    for name, row in figures.items():
        report(name, row)
    return figures


def process_time(code: str, repeats: int, kept: str = "0") -> float:
    """`kept`: the folder in which untraced keeps what it compiles; "0" for none. The others keep nothing."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "UNTRACED_CACHE": kept,
    }
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, stderr=subprocess.DEVNULL)
        samples.append((time.perf_counter() - start) * 1e6)
    return statistics.median(samples)


def report(name: str, row: dict[str, float]) -> None:
    cells = "  ".join(f"{f} {pretty(t)}" for f, t in row.items())
    ratio = f"  untraced/jax {row['untraced'] / row['jax']:.2f}" if "jax" in row else ""
    print(f"{name:28s} {cells}{ratio}", flush=True)


def pretty(microseconds: float) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= scale:
            return f"{microseconds / scale:.3g} {unit}"
    return f"{microseconds:.3g} us"


def markdown(figures: Figures, frameworks: list[str]) -> str:
    head = "| program | " + " | ".join(frameworks) + " | untraced / jax.jit |"
    lines = [head, "| --- |" + " ---: |" * (len(frameworks) + 1)]
    for name, row in figures.items():
        cells = [pretty(row[f]) if f in row else "-" for f in frameworks]
        ratio = f"{row['untraced'] / row['jax']:.2f}" if "jax" in row else "-"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines) + "\n"


def plot(path: str, figures: Figures) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [(name, row["untraced"] / row["jax"]) for name, row in figures.items() if "jax" in row]
    figure, axes = plt.subplots(figsize=(8, 0.4 * len(rows) + 1.2))
    axes.barh([n for n, _ in rows][::-1], [r for _, r in rows][::-1])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="time of untraced / time of jax.jit (left of the line: faster)")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE.png")
    parser.add_argument("--markdown", metavar="FILE", help="replace the table between the markers in FILE")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each program")
    parser.add_argument("--only", nargs="*", help="frameworks to run")
    options = parser.parse_args()

    frameworks = [f for f in available() if not options.only or f in options.only or f in ("numpy", "untraced")]
    if "jax" in frameworks:
        prepare_jax()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {', '.join(frameworks)}")
    figures = steady_state(frameworks, options.seconds)
    figures |= training_step(frameworks, options.seconds)
    figures |= dispatch(frameworks, options.seconds)
    figures |= translation(frameworks, 7)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        figures |= start_up(frameworks, 5, Path(folder))
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    if options.plot:
        plot(options.plot, figures)
    if options.markdown:
        replace_table(options.markdown, "table", markdown(figures, frameworks))


if __name__ == "__main__":
    main()
