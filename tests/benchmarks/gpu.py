"""Kernels on a GPU against the card's own limits and against jax.jit, torch.compile and cupy.fuse, in one run.

    python tests/benchmarks/gpu.py                                        # all, with both languages; some minutes
    python tests/benchmarks/gpu.py softmax --languages triton --rounds 5
    python tests/benchmarks/gpu.py --json gpu.json --markdown docs/performance.md
    python tests/benchmarks/gpu.py --json gpu.json --seconds 240   # what is done by then

Each time is the median over interleaved rounds of many calls and one wait for the device, on data several times the
size of the L2 cache. Every result is compared with NumPy in float64 before it is timed. `limit` is the share of what
the card does: of a device-to-device copy measured in the same run for what moves memory, of the library's matrix
product for products. bfloat16 is computed with in float32, as NumPy promotes it, and stored as it came. Peers that are
not installed have no column. What fails is reported beside its program, the others go on; the exit status is 1 where it
is one of ours that failed. Ours and the library's are measured first, in the order of `programs`, then the peers beside
ours; FILE is written anew after each, so what ends the process ends nothing that is in it. With --resume what
FILE has is not measured again: so `gpu_session.py` goes on where a process was lost.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pages import replace_table
from torch_numpy import TorchNumPy

from untraced import Array, accelerate, device_put, vmap

Build = Callable[[Any], Callable[..., Any]]
Run = Callable[[], Any]
LARGE = 1 << 26
LOST = 3  # the exit status where the device fails every call of the process


@dataclass(frozen=True)
class Program:
    """`build(xp)` is the function in a library's spelling. `moved` counts bytes, `operations` those of products.

    `reads`: how many times `moved` the kernels move by their plan.
    """

    build: Build
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    moved: int
    operations: float = 0.0
    wanted: float = 0.0
    tolerance: float = 1e-4
    reads: float = 1.0
    pointwise: bool = False
    attention: bool = False
    lanes: bool = False


def chain_of_3(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return xp.astype(xp.tanh(x * x + 0.5), x.dtype)

    return f


def chain_of_10(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        y = xp.tanh(x * x + 0.5)
        y = xp.sqrt(y * y + 1.0) * x
        return xp.astype(xp.exp(-y * y) + y * 0.25, x.dtype)

    return f


def chain_of_20(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        y = xp.tanh(x * x + 0.5)
        y = xp.sqrt(y * y + 1.0) * x
        y = xp.exp(-y * y) + y * 0.25
        y = xp.tanh(y * x + 0.5)
        y = xp.sqrt(y * y + 1.0) * x
        return xp.astype(xp.exp(-y * y) + y * 0.25, x.dtype)

    return f


def softmax(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)

    return f


def layer_norm(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        c = x - xp.mean(x, axis=1, keepdims=True)
        return c / xp.sqrt(xp.mean(c * c, axis=1, keepdims=True) + 1e-5)

    return f


def rms_norm(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return x / xp.sqrt(xp.mean(x * x, axis=1, keepdims=True) + 1e-5)

    return f


def log_sum_exp(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        m = xp.max(x, axis=1, keepdims=True)
        return xp.log(xp.sum(xp.exp(x - m), axis=1, keepdims=True)) + m

    return f


def cross_entropy(xp: Any) -> Callable[..., Any]:
    def f(x: Any, y: Any) -> Any:
        m = xp.max(x, axis=1, keepdims=True)
        z = x - m
        return -xp.sum(y * (z - xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True))), axis=1)

    return f


def full_sum(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return xp.sum(x)

    return f


def place_of_largest(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return xp.argmax(x)

    return f


def running_sum(xp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return xp.cumsum(x)

    return f


def gelu_layer(xp: Any) -> Callable[..., Any]:
    def f(x: Any, w: Any, b: Any) -> Any:
        h = x @ w + b
        return xp.astype(0.5 * h * (1 + xp.tanh(0.7978845608 * (h + 0.044715 * h * h * h))), x.dtype)

    return f


def attention(xp: Any) -> Callable[..., Any]:
    def f(q: Any, k: Any, v: Any) -> Any:
        s = q @ k.T * 0.08838834764
        e = xp.exp(s - xp.max(s, axis=1, keepdims=True))
        return xp.astype(e / xp.sum(e, axis=1, keepdims=True), v.dtype) @ v

    return f


def escape_times(xp: Any) -> Callable[..., Any]:
    def escape(re: Any, im: Any) -> Any:
        x, y, k = re, im, 0
        while k < 500 and x * x + y * y <= 4.0:
            x, y, k = x * x - y * y + re, 2.0 * x * y + im, k + 1
        return k

    def escape_in_lockstep(re: Any, im: Any) -> Any:
        def going(s: Any) -> Any:
            return (s[2] < 500) & (s[0] * s[0] + s[1] * s[1] <= 4.0)

        def step(s: Any) -> Any:
            x, y, k = s
            return x * x - y * y + re, 2.0 * x * y + im, k + 1

        return jax.lax.while_loop(going, step, (re, im, 0))[2]

    if xp is np:
        return vmap(escape)
    import jax

    return jax.vmap(escape_in_lockstep)


def programs() -> dict[str, Program]:
    """Each by its name, what says most first. Rows of 256 to 65,536 hold 2^26 numbers together."""
    found: dict[str, Program] = {}
    for n, chain in ((3, chain_of_3), (10, chain_of_10), (20, chain_of_20)):
        for dtype, size, tolerance in (("float32", 4, 1e-4), ("bfloat16", 2, 6e-2)):
            found[f"chain of {n}, {dtype}"] = Program(
                chain, ((LARGE,),), dtype, 2 * LARGE * size, wanted=0.9, tolerance=tolerance, pointwise=True
            )
    rows: dict[str, tuple[Build, int, int]] = {
        "softmax": (softmax, 1, 1),
        "layer norm": (layer_norm, 1, 1),
        "RMS norm": (rms_norm, 1, 1),
        "log-sum-exp": (log_sum_exp, 1, 0),
        "cross entropy": (cross_entropy, 2, 0),
    }
    for name, (build, inputs, outputs) in rows.items():
        for columns in (256, 4096, 65536):
            shape = (LARGE // columns, columns)
            moved = 4 * LARGE * (inputs + outputs)
            found[f"{name}, rows of {columns}"] = Program(build, (shape,) * inputs, "float32", moved, wanted=0.85)
    # One length of each kind first.
    rest = {n: found.pop(n) for n in list(found) if n.endswith(("rows of 256", "rows of 65536"))}
    found["sum"] = Program(full_sum, ((4 * LARGE,),), "float32", 16 * LARGE, wanted=0.9)
    rest["argmax"] = Program(place_of_largest, ((LARGE,),), "float32", 4 * LARGE, wanted=0.85, tolerance=0.0)
    # Read by the kernel that finds what chunks come to, and again by the one that sums along them.
    rest["running sum"] = Program(running_sum, ((LARGE,),), "float32", 8 * LARGE, wanted=0.6, reads=1.5)
    # Mean and variance in one walk, since no block keeps such rows; the second one stores.
    long = (LARGE >> 17, 1 << 17)
    rest["layer norm, rows of 131072"] = Program(layer_norm, (long,), "float32", 8 * LARGE, wanted=0.55, reads=1.5)
    n = 8192
    found["matmul + bias + gelu, 8192, bfloat16"] = Program(
        gelu_layer, ((n, n), (n, n), (n,)), "bfloat16", 6 * n * n, 2.0 * n**3, 0.75, tolerance=0.2
    )
    found["attention, 8192 x 128, bfloat16"] = Program(
        attention, ((n, 128),) * 3, "bfloat16", 8 * n * 128, 4.0 * n * n * 128, 0.6, tolerance=5e-2, attention=True
    )
    count = LARGE // 16
    found["Mandelbrot by lanes, up to 500 steps"] = Program(
        escape_times, ((count,),) * 2, "float32", 16 * count, wanted=20.0, tolerance=0.0, lanes=True
    )
    return found | rest


# ---- running them --------------------------------------------------------------------------------


def data(program: Program, seed: int = 0) -> list[Any]:
    """Random numbers on the device, scaled so that products stay near 1."""
    import cupy

    rng = cupy.random.default_rng(seed)
    found = []
    for shape in program.shapes:
        x = rng.standard_normal(shape, dtype=np.float32)
        if program.operations and not program.attention:
            x *= shape[0] ** -0.25
        if program.dtype == "bfloat16":
            import ml_dtypes

            x = x.astype(np.dtype(ml_dtypes.bfloat16))
        found.append(x)
    return found


def on_numpy(x: Any) -> np.ndarray[Any, Any]:
    import cupy

    return np.asarray(cupy.asnumpy(x) if isinstance(x, cupy.ndarray) else x)


def check(program: Program, got: Any) -> None:
    """The first rows or elements against NumPy in float64, lanes in the dtype that decides their steps; raises
    AssertionError where they part.
    """
    args = [on_numpy(x) for x in data(program)]
    result = on_numpy(got)
    if result.shape:
        many = (1 << 12 if program.lanes else 1 << 16) if len(program.shapes[0]) == 1 else 4
        few = 8 if program.operations else min(len(result), many)
        args = [a[:few] if k == 0 or (not program.operations) else a for k, a in enumerate(args)]
        result = result[:few]
    f = program.build(np)
    if program.lanes:  # one more function of ours, which NumPy is to run
        want = accelerate(f, target="numpy")(*args)
    else:
        want = f(*(a.astype(np.float64) for a in args))
    scale = float(np.max(np.abs(want))) or 1.0
    error = float(np.max(np.abs(result.astype(np.float64) - want))) / scale
    assert error <= program.tolerance, f"the result is off by {error:.2g} of its size"


def exchanged(x: Any, take: Callable[[Any], Any], bfloat16: Any) -> Any:
    """CuPy's array as another library's, by DLPack; of bfloat16, which not all know there, by its bits."""
    return take(x.view(np.int16)).view(bfloat16) if x.dtype.name == "bfloat16" else take(x)


def makers(program: Program, languages: Sequence[str], args: Sequence[Any]) -> dict[str, Callable[[], Run]]:
    """What makes a function that enqueues one call, by framework."""
    import cupy

    def ours(language: str) -> Callable[[], Any]:
        f = accelerate(program.build(np), target=language)
        arrays = [device_put(x, language) for x in args]
        check(program, np.asarray(f(*arrays)))
        return lambda: f(*arrays)

    class Fusable:
        """CuPy, but for its astype, which wants arrays where `fuse` has stand-ins for them."""

        def __getattr__(self, name: str) -> Any:
            return getattr(cupy, name)

        def astype(self, x: Any, dtype: Any) -> Any:
            return x.astype(dtype)

    def fused() -> Callable[[], Any]:
        f = cupy.fuse(program.build(Fusable()))
        return lambda: f(*args)

    def jitted() -> Callable[[], Any]:
        import jax

        f = jax.jit(program.build(jax.numpy))
        arrays = [exchanged(x, jax.dlpack.from_dlpack, jax.numpy.bfloat16) for x in args]
        return lambda: f(*arrays)

    def compiled() -> Callable[[], Any]:
        import torch

        f = torch.compile(program.build(TorchNumPy(torch)))
        tensors = [exchanged(x, torch.from_dlpack, torch.bfloat16) for x in args]
        return lambda: f(*tensors)

    def library() -> Callable[[], Any]:
        import torch

        tensors = [exchanged(x, torch.from_dlpack, torch.bfloat16) for x in args]
        if not program.attention:
            return lambda: tensors[0] @ tensors[1]
        q, k, v = (t[None, None] for t in tensors)
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)

    found: dict[str, Callable[[], Run]] = {n: functools.partial(ours, n) for n in languages}
    if program.pointwise and program.dtype != "bfloat16":
        found["cupy.fuse"] = fused
    if importlib.util.find_spec("jax"):
        found["jax.jit"] = jitted
    if has_torch() and not program.lanes:
        found["torch.compile"] = compiled
        if program.operations:
            found["library"] = library
    return found


def has_torch() -> bool:
    """Whether there is a PyTorch that sees the card."""
    if not importlib.util.find_spec("torch"):
        return False
    import torch

    return bool(torch.cuda.is_available())


def runners(program: Program, languages: Sequence[str], peers: bool = True) -> tuple[dict[str, Run], dict[str, str]]:
    """What enqueues one call, by framework, each tried and ours checked; and what went wrong with the others.
    `peers`: with those that are not ours and not the library.
    """
    found: dict[str, Run] = {}
    errors: dict[str, str] = {}
    try:
        args = data(program)
    except Exception as error:  # an older CuPy has no bfloat16
        return {}, dict.fromkeys(languages, f"the data cannot be made: {told(error)}")
    for name, make in makers(program, languages, args).items():
        if not peers and name not in (*languages, "library"):
            continue
        try:
            run = make()
            wait(name, run())
        except Exception as error:  # of any framework: it is reported, and the others are measured
            errors[name] = told(error)
        else:
            found[name] = run
    return found, errors


def told(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(f.filename).name}:{f.lineno})" for f in place)
    return f"{type(error).__name__}: {lines[0][:300]}{where}"


def wait(name: str, result: Any) -> None:
    import cupy

    if name == "jax.jit":
        result.block_until_ready()
    elif isinstance(result, Array):
        result.block_until_ready()
    cupy.cuda.runtime.deviceSynchronize()


def timed(enqueued: dict[str, Callable[[], Any]], rounds: int, length: float = 0.03) -> dict[str, float]:
    """Median seconds of a call, in interleaved rounds of about `length` seconds each."""
    counts: dict[str, int] = {}
    samples: dict[str, list[float]] = {name: [] for name in enqueued}
    for name, run in enqueued.items():
        for _ in range(3):
            wait(name, run())
        begin = time.perf_counter()
        wait(name, run())
        counts[name] = max(3, int(length / max(time.perf_counter() - begin, 1e-6)))
    for _ in range(rounds):
        for name, run in enqueued.items():
            begin = time.perf_counter()
            for _ in range(counts[name]):
                last = run()
            wait(name, last)
            samples[name].append((time.perf_counter() - begin) / counts[name])
    return {name: statistics.median(s) for name, s in samples.items()}


def device_name() -> str:
    import cupy

    named = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"]
    return str(named.decode() if isinstance(named, bytes) else named)


def limits(rounds: int) -> dict[str, float]:
    """Bytes a second of a copy, read and written, and operations a second of the library's product in bfloat16."""
    import cupy

    x = cupy.empty(4 * LARGE, np.float32)
    y = cupy.empty_like(x)
    found = {"copy": 2 * x.nbytes / timed({"copy": lambda: cupy.copyto(y, x)}, rounds)["copy"]}
    try:
        found["product"] = 2.0 * 8192**3 / timed({"product": product()}, rounds)["product"]
    except Exception as error:  # shares of products are of the copy then
        print(f"the library's product cannot be timed: {told(error)}", flush=True)
    return found


def product() -> Run:
    """In bfloat16, or, where there is no PyTorch, in float16, of which tensor cores do as many."""
    if has_torch():
        import torch

        x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        return lambda: x @ y
    import cupy

    a, b = (cupy.random.default_rng(0).standard_normal((8192, 8192), dtype=np.float32).astype("f2") for _ in range(2))
    return lambda: a @ b


def measured(
    name: str, program: Program, languages: Sequence[str], rounds: int, most: dict[str, float], peers: bool = True
) -> Any:
    enqueued, errors = runners(program, languages, peers)
    found: dict[str, float] = {}
    try:
        found = timed(enqueued, rounds)
    except Exception as error:  # the card gives up in the middle of it
        errors |= dict.fromkeys(enqueued, f"while it was timed: {told(error)}")
    shares = {}
    for language in [n for n in languages if n in found]:
        if program.lanes:
            if "jax.jit" in found:
                shares[language] = found["jax.jit"] / found[language]
        elif program.attention and "library" in found:
            shares[language] = found["library"] / found[language]
        elif program.operations and "product" in most:
            shares[language] = program.operations / found[language] / most["product"]
        elif "copy" in most:
            shares[language] = program.moved / found[language] / most["copy"]
    return {"name": name, "seconds": found, "shares": shares, "wanted": program.wanted, "errors": errors}


def table(results: Sequence[Any], languages: Sequence[str], device: str, most: dict[str, float]) -> str:
    peers = list(dict.fromkeys(p for r in results for p in r["seconds"] if p not in languages))
    head = ["program", *languages, *peers, *(f"limit, {n}" for n in languages), "wanted"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for r in results:
        times = [f"{1e6 * r['seconds'][p]:,.0f} us" if p in r["seconds"] else "-" for p in (*languages, *peers)]
        shares = [f"{100 * r['shares'][n]:.0f} %" if n in r["shares"] else "-" for n in languages]
        lines.append("| " + " | ".join([r["name"], *times, *shares, f"{100 * r['wanted']:.0f} %"]) + " |")
    rates = f"{device}: a copy moves {most.get('copy', 0.0) / 1e12:.2f} TB/s"
    if "product" in most:
        rates += f", the library multiplies at {most['product'] / 1e12:.0f} TFLOP/s in bfloat16"
    return "\n".join([rates + ".", "", *lines])


@dataclass
class Report:
    """What has been found, and the file that has it. `begun`: the program that is being measured."""

    file: str | None
    device: str = "no device yet"
    limits: dict[str, float] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    with_peers: list[str] = field(default_factory=list)
    begun: str = ""

    def save(self) -> None:
        if self.file:
            told = {k: getattr(self, k) for k in ("device", "limits", "with_peers", "begun")}
            new = Path(f"{self.file}.new")
            new.write_text(json.dumps({**told, "results": list(self.results.values())}, indent=1))
            new.replace(self.file)

    def resume(self, wanted: dict[str, Program], languages: Sequence[str]) -> None:
        """What the file has; the program in whose midst the process ended has failed."""
        if not self.file or not Path(self.file).exists():
            return
        known = json.loads(Path(self.file).read_text())
        self.limits, self.with_peers = known["limits"], known["with_peers"]
        self.results = {r["name"]: r for r in known["results"]}
        if (name := known["begun"]) in wanted:
            ended = dict.fromkeys(languages, "the process ended, or was ended, while it was measured")
            empty = {"name": name, "seconds": {}, "shares": {}, "wanted": wanted[name].wanted, "errors": ended}
            self.results.setdefault(name, empty)
            self.with_peers.append(name)


def measure_all(report: Report, wanted: dict[str, Program], options: argparse.Namespace, end: float) -> None:
    """Ours first, then all of them side by side; nothing begins behind `end`."""
    for peers in (False, True):
        for name, program in wanted.items():
            done = name in report.with_peers if peers else name in report.results
            if done or time.perf_counter() > end:
                continue
            report.begun = name
            report.save()
            found = measured(name, program, options.languages, options.rounds, report.limits, peers)
            if not peers or any(n in found["seconds"] for n in options.languages):
                report.results[name] = found
            report.with_peers += [name] * peers
            report.begun = ""
            report.save()
            shares = ", ".join(f"{k} {100 * v:.0f} %" for k, v in found["shares"].items())
            print(f"{name}: {shares} (wanted {100 * program.wanted:.0f} %)", flush=True)
            for framework, error in found["errors"].items():
                print(f"    {framework} failed: {error}", flush=True)
            clear()


def clear() -> None:
    """Memory for the next program. What the card cannot do any more ends the process: another one can go on."""
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        print(f"the device is lost to this process: {told(error)}", flush=True)
        os._exit(LOST)
    cupy.get_default_memory_pool().free_all_blocks()


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose names begin so; default: all")
    parser.add_argument("--languages", nargs="+", default=["triton", "cuda"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin nothing later than that")
    parser.add_argument("--resume", action="store_true", help="measure what the file of --json lacks")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE", help="replace the table between the markers of the GPU in FILE")
    options = parser.parse_args(given)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX leaves memory to the others
    end = time.perf_counter() + options.seconds
    wanted = {n: p for n, p in programs().items() if not options.names or n.startswith(tuple(options.names))}
    report = Report(options.json)
    if options.resume:
        report.resume(wanted, options.languages)
    report.device = device_name()
    report.limits = report.limits or limits(options.rounds)
    measure_all(report, wanted, options, end)
    report.save()
    text = table(list(report.results.values()), options.languages, report.device, report.limits)
    print(text)
    if options.markdown:
        replace_table(options.markdown, "gpu", text)
    if any(n in r["errors"] for r in report.results.values() for n in options.languages):
        sys.exit(1)


if __name__ == "__main__":
    main()
