"""Random NumPy programs as they are, in batches, and differentiated: run by an executor of kernels, and compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from wide_programs import Wide, compiled, eps_of, fresh, is_exact, is_float, is_inexact, perturbed, spread, tried, wide

from untraced import grad, vmap
from untraced.kernels.facts import Facts
from untraced.kernels.launching.executor import GpuExecutor
from untraced.translator.errors import RaisedError, UntracedError
from untraced.translator.ir import Function
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves


@dataclass(frozen=True)
class Job:
    """What is called, what NumPy gives and leaves in the arguments; with each how far a value may be off."""

    fun: Callable[..., Any]
    values: Callable[[], list[Any]]
    wanted: Sequence[tuple[Any, float]]
    left: Sequence[tuple[Any, float]] = ()


@contextmanager
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain(w: Wide) -> Job | None:
    known, fun, left = tried(w.lines, w.args), w.fun(), w.values()
    if known is None:
        return None
    with quiet():
        fun(*left)
    offs = [known[n][1] for n, _ in w.args]
    return Job(fun, w.values, [known[n] for n in w.results], list(zip(left, offs, strict=True)))


def batched(w: Wide, r: Random) -> Job | None:
    """vmap along any axes of some arguments, beside a Python loop."""
    lanes, axes, given = r.choice((1, 2, 3, 5)), [], []
    each: list[list[tuple[str, Any]]] = [[] for _ in range(lanes)]
    for n, a in w.args:
        whole = not isinstance(a, np.ndarray) or r.random() < 0.25
        parts = [a if whole else lane_of(a, k) for k in range(lanes)]
        axes.append(None if whole else r.choice((0, 0, 0, *range(np.ndim(a) + 1))))
        given.append(a if whole else np.stack(parts, axis=axes[-1]))
        for lane, part in zip(each, parts, strict=True):
            lane.append((n, part))
    found = [tried(w.lines, lane) for lane in each]
    if all(a is None for a in axes) or None in found:
        return None
    known = [f for f in found if f is not None]
    wanted = []
    for n in w.results:
        made = [k[n] for k in known if n in k]
        if len(made) < lanes or len({(np.shape(v), np.asarray(v).dtype) for v, _ in made}) > 1:
            return None
        wanted.append((np.stack([np.asarray(v) for v, _ in made]), max(off for _, off in made)))
    return Job(vmap(w.fun(), in_axes=tuple(axes)), lambda: [fresh(g) for g in given], wanted)


def lane_of(a: Any, k: int) -> Any:
    v = np.array(a)
    if not k:
        return v
    if v.dtype.kind != "b":
        v = (v * v.dtype.type(k + 1)) if v.dtype.kind in "iu" else (wide(v) * (1 - 0.25 * k)).astype(v.dtype)
    return np.roll(v, k)


def differentiated(w: Wide) -> Job | None:
    """The gradient of a sum, beside the one that CPython computes."""
    known, reals = tried(w.lines, w.args), (np.float16, np.float32, np.float64)
    if known is None:
        return None
    names = [n for n in w.results if isinstance(known[n][0], np.ndarray | np.generic) and known[n][0].dtype in reals]
    places = tuple(k for k, (_, a) in enumerate(w.args) if isinstance(a, np.ndarray) and a.dtype in reals)
    if not names or not places:
        return None
    text = w.source[: w.source.rindex("    return")] + f"    return np.sum(np.tanh({names[-1]}))\n"
    fun = grad(compiled(text), places)

    def gradients(seed: int) -> list[Any]:
        given, rng = w.values(), np.random.default_rng(seed)
        for k in places if seed else ():
            if given[k].flags.writeable and not is_exact(given[k]):
                given[k][...] = perturbed(given[k], rng)
        with quiet():
            return list(fun(*given))

    try:
        value, *twins = (gradients(seed) for seed in range(3))
    except UntracedError:
        return None
    eps = max(eps_of(a) for _, a in w.args if isinstance(a, np.ndarray) and is_inexact(a))
    eps = max(eps, 2.0**-23 if "float32" in w.source or "random." in w.source else 0.0)
    wanted = []
    for v, *others in zip(value, *twins, strict=True):
        off = spread(v, others)
        if off is None:
            return None
        wanted.append((v, off + 10 * eps * max(1.0, largest(v))))  # differences of terms that are about 1
    return Job(fun, w.values, wanted)


def largest(x: Any) -> float:
    x = wide(x)
    return float(np.abs(x)[np.isfinite(x)].max(initial=0.0))


# ---- running and comparing -----------------------------------------------------------------------------


def check(job: Job, backend: Any, facts: Facts) -> Function | None:
    """The program that was run; None where CPython is to. AssertionError where results are not NumPy's."""
    try:
        signature, leaves = abstract_with_leaves(job.fun, job.values(), {})
        translation = translate(job.fun, signature, target=backend.language)
    except UntracedError:
        return None
    kept = [k for k in range(len(leaves)) if k not in translation.statics]
    function, given = translation.function, [leaves[k] for k in kept]
    try:
        with quiet():
            found = GpuExecutor(function, backend, facts)(given)
    except RaisedError:  # a number of another kind than the program has: the call is CPython's
        return None
    count = len(job.wanted)
    for got, (want, off) in zip(found[:count], job.wanted, strict=True):
        compare(got, want, off)
    finals = dict(zip(function.mutated, found[count:], strict=False))
    for place, k in enumerate(kept if job.left else ()):
        if isinstance(job.left[k][0], np.ndarray):
            compare(finals.get(place, given[place]), *job.left[k])
    return function


def compare(got: Any, want: Any, off: float) -> None:
    found, x = np.asarray(got), np.asarray(want)
    assert found.shape == x.shape
    assert found.dtype == x.dtype or not isinstance(want, np.ndarray | np.generic), (found.dtype, x.dtype)
    if not is_float(want):
        np.testing.assert_array_equal(found, x)
        return
    wanted, made, eps = wide(x), wide(found), eps_of(x)
    for a, b in ((made.real, wanted.real), (made.imag, wanted.imag)) if wanted.dtype.kind == "c" else ((made, wanted),):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        odd = np.isinf(a) | np.isinf(b)
        np.testing.assert_array_equal(a[odd], b[odd])
        ok = np.isfinite(a) & np.isfinite(b)
        # Sums of half precision are rounded in another order; elsewhere a function may be a few units off.
        scale = np.abs(b[ok]).max(initial=0.0) * (240 if eps > 1e-4 else 30)
        np.testing.assert_allclose(a[ok], b[ok], rtol=60 * eps, atol=30 * off + scale * eps + 1e-30)
