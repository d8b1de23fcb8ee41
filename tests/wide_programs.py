"""Random NumPy programs of many kinds for the targets of a GPU: what `random_programs` is for transformations.

A program is written statement by statement. Each statement is tried by NumPy, which tells the shapes and dtypes of what
it makes, on the arguments and on twins of them that differ in the last bits: a statement that raises, or whose integers
and bools depend on last bits, is left out. What the twins' results differ by is what a kernel's may.
"""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from wide_scope import Scope
from wide_statements import STATEMENTS

from untraced import random, vmap

TWINS = 2
LARGEST = 200_000  # elements of a value
LONG_SHARE = 0.2
BOUND = 1e5  # of values, so that sums stay finite
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23}
SIZES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 129, 257)
LONG = (1000, 1025, 4099, 16400, 20000, 33000, 66000)
FLOATS = ("f4", "f8", "f4", "f8", "f2", "bfloat16")
DTYPES = (*FLOATS, *FLOATS, "i8", "i4", "i8", "i1", "i2", "u1", "u2", "u4", "u8", "?", "c8", "c16")
NAMES = "abcdefgh"

_count = itertools.count()


@dataclass(frozen=True)
class Wide:
    """A program with its statements, arguments, and for each result how far each element may be off."""

    lines: tuple[str, ...]
    results: tuple[str, ...]
    args: tuple[tuple[str, Any], ...]

    @property
    def source(self) -> str:
        names = ", ".join(n for n, _ in self.args)
        body = "\n".join(f"    {part}" for line in self.lines for part in line.split("\n"))
        return f"def program({names}):\n{body}\n    return {', '.join(self.results)},\n"

    def fun(self) -> Callable[..., Any]:
        return compiled(self.source)

    def values(self) -> list[Any]:
        return [fresh(a) for _, a in self.args]

    def describe(self) -> str:
        told = [
            f"# {n}: {a.dtype.name} {a.shape} strides {a.strides}" if isinstance(a, np.ndarray) else f"# {n}: {a!r}"
            for n, a in self.args
        ]
        return "\n".join([*told, self.source])


@lru_cache(maxsize=4096)
def code_of(text: str) -> Any:
    """Compiled, with the text where `inspect.getsource` finds that of the functions in it."""
    filename = f"<wide program {next(_count)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return compile(text, filename, "exec")


def names() -> dict[str, Any]:
    """What the programs find besides their arguments."""
    return {"np": np, "random": random, "vmap": vmap, "__name__": "wide_program"}


def compiled(text: str) -> Callable[..., Any]:
    """The function `program` of a piece of source."""
    namespace = names()
    exec(code_of(text), namespace)
    fun: Callable[..., Any] = namespace["program"]
    return fun


def fresh(a: Any) -> Any:
    """A copy in the same layout: strides that are negative or 0 stay so."""
    if not isinstance(a, np.ndarray) or not a.ndim or not a.size:
        return a.copy() if isinstance(a, np.ndarray) else a
    low, high = np.lib.array_utils.byte_bounds(a)
    start = a.__array_interface__["data"][0] - low
    memory = np.empty(high - low, np.uint8)
    made = np.ndarray(a.shape, a.dtype, memory, start, a.strides)
    if 0 in a.strides:
        base = tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)
        np.ndarray(a[base].shape, a.dtype, memory, start, a.strides)[...] = a[base]
        made.flags.writeable = False
    else:
        made[...] = a
    return made


# ---- running with and without noise -------------------------------------------------------------------


def eps_of(a: Any) -> float:
    return EPS.get(a.dtype.name, 2.0**-52)


def is_inexact(a: Any) -> bool:
    return np.issubdtype(a.dtype, np.inexact) or a.dtype == ml_dtypes.bfloat16


def is_exact(a: np.ndarray[Any, Any]) -> bool:
    """Small multiples of 1/64: sums and products of them are the same in any order."""
    if not is_inexact(a):
        return True
    x = wide(a)
    with np.errstate(all="ignore"):
        x = x[np.isfinite(x)]
        parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
        short = a.dtype.itemsize == 2  # its sums of products leave the integers that it has long before others' do
        step = 8 if short else 64
        if short and np.square(x).sum() * step**2 >= 1 / eps_of(a):
            return False
        return all(np.abs(p).max(initial=0.0) * step < 0.25 / eps_of(a) and not (p * step % 1.0).any() for p in parts)


def wide(a: Any) -> Any:
    a = np.asarray(a)
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def perturbed(a: Any, rng: np.random.Generator) -> Any:
    noise = 1.0 + 2.0 * eps_of(np.asarray(a)) * rng.uniform(-1.0, 1.0, np.shape(a))
    return (wide(a) * noise).astype(np.asarray(a).dtype)


def run_lines(lines: Sequence[str], args: Sequence[tuple[str, Any]], exact: list[set[str]] | None, seed: int) -> Any:
    """The variables after the statements. With `exact`, others than those are changed in their last bits by `seed`;
    without, it is found."""
    env = {**names(), **{n: fresh(a) for n, a in args}}
    rng = np.random.default_rng(seed)
    found: list[set[str]] = []
    for k, line in enumerate(["", *lines]):
        exec(code_of(line), env)
        if exact is None:
            found.append({n for n, v in env.items() if not is_float(v) or is_exact(np.asarray(v))})
            continue
        for n, v in list(env.items()):
            if n in exact[k]:
                continue
            if isinstance(v, np.ndarray) and v.flags.writeable and 0 not in v.strides:
                v[...] = perturbed(v, rng)
            elif not isinstance(v, np.ndarray):
                env[n] = type(v)(perturbed(v, rng))
    return env, found


def is_float(v: Any) -> bool:
    return isinstance(v, float | complex) or (isinstance(v, np.ndarray | np.generic) and is_inexact(v))


def is_spread(a: Any) -> bool:
    """An array that lies several times in the same memory: NumPy refuses some stores into it, not all."""
    return isinstance(a, np.ndarray) and 0 in a.strides


def spread(clean: Any, twins: Sequence[Any]) -> float | None:
    """How far the twins are from the value; None where they are different in more than last bits."""
    x = np.asarray(clean)
    if not is_float(clean):
        return 0.0 if all(np.array_equal(x, np.asarray(t)) for t in twins) else None
    value, worst = wide(x), 0.0
    finite = np.isfinite(value)
    for t in twins:
        if np.shape(t) != x.shape:
            return None
        other = wide(t)
        if not np.array_equal(finite, np.isfinite(other)) or not np.array_equal(np.isnan(value), np.isnan(other)):
            return None
        worst = max(worst, float(np.abs(other - value)[finite].max(initial=0.0)))
    scale = float(np.abs(value)[finite].max(initial=0.0))
    if x.dtype == np.float16 and np.isinf(value).any():  # where a product overflows depends on its order
        return None
    if scale > BOUND or worst > (0.1 if eps_of(x) > 1e-4 else 1e-2) * max(scale, 1e-3):
        return None
    return worst


def tried(lines: Sequence[str], args: Sequence[tuple[str, Any]]) -> dict[str, tuple[Any, float]] | None:
    """Each variable after the statements and how far it may be off; None where a statement is to be left out."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            clean, exact = run_lines(lines, args, None, 0)
            twins = [run_lines(lines, args, exact, seed)[0] for seed in range(1, TWINS + 1)]
            if any(not np.array_equal(clean[n], a, equal_nan=a.dtype.kind in "fc") for n, a in args if is_spread(a)):
                return None
            made: dict[str, tuple[Any, float]] = {}
            for n, v in clean.items():
                if not isinstance(v, np.ndarray | np.generic | bool | int | float | complex):
                    continue
                if np.size(v) > LARGEST or np.ndim(v) > 5:
                    return None
                off = spread(v, [t.get(n, 0) for t in twins])
                if off is None:
                    return None
                made[n] = v, off
            return made
    except Exception:
        return None


# ---- writing a program ----------------------------------------------------------------------------------


def arguments(r: Random) -> list[tuple[str, Any]]:
    """Arrays that broadcast with each other more often than not, in any layout, and numbers."""
    dims = [r.choice(SIZES) for _ in range(3)]
    if r.random() < LONG_SHARE:
        dims[r.randrange(3)] = r.choice(LONG)
        dims = [min(d, 7) if d < 300 else d for d in dims]
        dims = [d if k == dims.index(max(dims)) else min(d, 7) for k, d in enumerate(dims)]
    if r.random() < 0.06:
        dims[r.randrange(3)] = 0
    shapes = [
        (0,),
        (1,),
        (0, 1),
        (0, 1),
        (0, 1),
        (1, 0),
        (0, 2),
        (2, 1),
        (1, 2),
        (0, 1, 2),
        (),
        (0, -1),
        (-1, 1),
        (1, 1),
    ]
    few = [r.choice(DTYPES) for _ in range(2)]
    rng = np.random.default_rng(r.randrange(1 << 30))
    made: list[tuple[str, Any]] = []
    for n in NAMES[: r.randint(2, 4)]:
        shape = tuple(1 if d < 0 else dims[d] for d in r.choice(shapes))
        if np.prod(shape) > 70_000:
            shape = shape[:1]
        made.append((n, laid_out(r, rng, shape, r.choice(few) if r.random() < 0.8 else r.choice(DTYPES))))
    for n in ("n", "s")[: r.choice((0, 0, 1, 2))]:
        made.append((n, r.choice((2, 3, 5)) if n == "n" else r.choice((0.5, -1.5, 2.0, np.float32(0.25), 3))))
    return made


def filled(r: Random, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        high = r.choice((4, 10, 100, 2**20))
        high = min(high, np.iinfo(dtype).max)
        return rng.integers(-high if dtype.kind == "i" and r.random() < 0.5 else 0, high, shape).astype(dtype)
    if r.random() < 0.4:
        x = rng.integers(-6, 7, shape) / 2.0
    else:
        x = rng.normal(size=shape)
    if dtype.kind == "c":
        x = x + 1j * (rng.integers(-3, 4, shape) if r.random() < 0.4 else rng.normal(size=shape))
    x = x.astype(dtype)
    if r.random() < 0.12 and x.size:
        for value in r.sample((np.nan, np.inf, -np.inf, -0.0, 0.0), 2):
            x.reshape(-1)[rng.integers(0, x.size, r.randint(1, 2))] = value
    return x


def laid_out(r: Random, rng: np.random.Generator, shape: tuple[int, ...], name: str) -> Any:
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    kind = r.random()
    if not shape or kind < 0.7:
        x = filled(r, rng, shape, dtype)
        return np.asarray(x) if shape or r.random() < 0.5 else x[()] if isinstance(x, np.ndarray) else dtype.type(x)
    if kind < 0.8:
        order = list(range(len(shape)))
        r.shuffle(order)
        x = filled(r, rng, tuple(shape[k] for k in order), dtype)
        return np.transpose(x, np.argsort(order))
    if kind < 0.9:
        steps = [r.choice((1, -1, 2, -2)) for _ in shape]
        x = filled(r, rng, tuple(n * abs(s) for n, s in zip(shape, steps, strict=True)), dtype)
        return x[tuple(slice(None, None, s) for s in steps)]
    fixed = tuple(1 if r.random() < 0.5 else n for n in shape)
    return np.broadcast_to(filled(r, rng, fixed, dtype), shape)


def random_wide(seed: int, kinds: Sequence[str] = (), statements: int = 8) -> Wide | None:
    """The program of this number. `kinds`: of `STATEMENTS`, from which one half of its statements is."""
    r = Random(seed)
    args = arguments(r)
    known = tried([], args)
    if known is None:
        return None
    focus = list(kinds) or r.sample(sorted(STATEMENTS), 2)
    lines: list[str] = []
    count = r.randint(1, statements)
    for _ in range(6 * count):
        kind = r.choice(focus) if r.random() < 0.6 else r.choice(sorted(STATEMENTS))
        text = r.choice(STATEMENTS[kind])(Scope(r, {n: v for n, (v, _) in known.items()}, len(lines)))
        if text is None:
            continue
        parts = [text] if ":\n" in text else text.split("\n")
        found = tried([*lines, *parts], args)
        if found is not None:
            lines += parts
            known = found
        if len(lines) >= count:
            break
    names = [n for n in known if n not in dict(args) and not n.startswith("_")]
    if not names:
        return None
    chosen = list(dict.fromkeys([*r.sample(names, min(len(names), r.randint(1, 3))), names[-1]]))
    return Wide(tuple(lines), tuple(chosen), tuple(args))


def shrunk(program: Wide, fails: Callable[[Wide], bool]) -> Wide:
    """A smaller program that fails, too: without statements, results and arguments that it does not need."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program):
            known = tried(smaller.lines, smaller.args)
            if known is None or any(n not in known for n in smaller.results):
                continue
            if fails(smaller):
                program, changed = smaller, True
                break
    return program


def _smaller(program: Wide) -> Iterator[Wide]:
    lines, results, args = program.lines, program.results, program.args
    for k in reversed(range(len(results))):
        if len(results) > 1:
            yield Wide(lines, results[:k] + results[k + 1 :], args)
    for k in reversed(range(len(lines))):
        yield Wide(lines[:k] + lines[k + 1 :], results, args)
    for k in range(len(args)):
        if len(args) > 1:
            yield Wide(lines, results, args[:k] + args[k + 1 :])
