"""Programs for the tests of fusion and of kernels, built statement by statement, and one random family of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from untraced.kernels.facts import H200, Facts
from untraced.kernels.launching.executor import GpuExecutor, kernels_of
from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import DTypeError, Span
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Apply, Atom, Aval, Block, Function, Param, Var
from untraced.translator.ops.core import At, Elementwise, Run
from untraced.translator.passes.extremes import extremes
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.groups import close
from untraced.translator.tree import LEAF, Kind, TreeDef

Leaves = Sequence[tuple[str, tuple[int, ...], Any]]


def program(name: str, leaves: Leaves, body: Callable[..., Any]) -> Function:
    """A function whose `body(b, *atoms)` appends statements; every statement gets a line of its own."""
    b = Builder()
    params = tuple(Var(n, Aval(shape, np.dtype(dtype))) for n, shape, dtype in leaves)
    results = body(b, *params)
    results = results if isinstance(results, tuple) else (results,)
    statements = []
    for line, s in enumerate(b.statements, 1):
        assert isinstance(s, Apply)
        span = Span("program.py", line, 0, line, 1, f"{s.targets[0].hint} = {s.op.name}(...)")
        statements.append(Apply(s.targets, s.op, s.args, s.attrs, span))
    out = LEAF if len(results) == 1 else TreeDef(Kind.TUPLE, (LEAF,) * len(results))
    return Function(name, tuple(Param(p.hint) for p in params), Block(params, tuple(statements), results), out)


def softmax(n: int, m: int, dtype: Any = np.float32) -> Function:
    def body(b: Builder, x: Atom) -> Atom:
        e = make.elementwise(b, ops.EXP, make.subtract(b, x, make.max(b, x, (1,), True)))
        return make.divide(b, e, make.sum(b, e, (1,), True))

    return program("softmax", [("x", (n, m), dtype)], body)


def layer_norm(n: int, m: int, dtype: Any = np.float32) -> Function:
    def body(b: Builder, x: Atom, gain: Atom, bias: Atom) -> Atom:
        mean = make.divide(b, make.sum(b, x, (1,)), float(m))
        d = make.subtract(b, x, make.expand_dims(b, mean, (1,)))
        variance = make.divide(b, make.sum(b, make.multiply(b, d, d), (1,)), float(m))
        deviation = make.elementwise(b, ops.SQRT, make.add(b, variance, 1e-5))
        scaled = make.divide(b, d, make.expand_dims(b, deviation, (1,)))
        return make.add(b, make.multiply(b, scaled, gain), bias)

    return program("layer_norm", [("x", (n, m), dtype), ("gain", (m,), dtype), ("bias", (m,), dtype)], body)


def logsumexp(n: int, m: int, dtype: Any = np.float32) -> Function:
    def body(b: Builder, x: Atom) -> Atom:
        top = make.max(b, x, (1,))
        e = make.elementwise(b, ops.EXP, make.subtract(b, x, make.expand_dims(b, top, (1,))))
        return make.add(b, make.elementwise(b, ops.LOG, make.sum(b, e, (1,))), top)

    return program("logsumexp", [("x", (n, m), dtype)], body)


def chain(n: int, dtype: Any = np.float32) -> Function:
    def body(b: Builder, x: Atom, y: Atom) -> Atom:
        t = make.multiply(b, make.add(b, x, y), 0.5)
        for _ in range(3):
            t = make.subtract(b, make.elementwise(b, ops.SIN, t), make.multiply(b, t, x))
        return t

    return program("chain", [("x", (n,), dtype), ("y", (n,), dtype)], body)


def masked(n: int, m: int, dtype: Any = np.float32) -> Function:
    """A mask, a broadcast along each axis, a scalar and a cast, with two results."""

    def body(b: Builder, x: Atom, row: Atom, column: Atom, alpha: Atom) -> tuple[Atom, ...]:
        t = make.add(b, make.multiply(b, x, row), make.expand_dims(b, column, (1,)))
        positive = make.elementwise(b, ops.GREATER, t, 0.0)
        y = make.elementwise(b, ops.WHERE, positive, t, make.multiply(b, alpha, t))
        return y, make.astype(b, positive, np.dtype(np.int64))

    leaves = [("x", (n, m), dtype), ("row", (m,), dtype), ("column", (n,), dtype), ("alpha", (), dtype)]
    return program("masked", leaves, body)


def stencil(n: int, m: int, dtype: Any = np.float32) -> Function:
    """The five-point stencil on the inside of a grid, and every second element of a transposed one, backwards."""

    def body(b: Builder, u: Atom) -> tuple[Atom, ...]:
        def part(i: int, j: int) -> Atom:
            return make.index(b, u, (Run(1 + i, n - 2), Run(1 + j, m - 2)), ())

        around = make.add(b, make.add(b, part(-1, 0), part(1, 0)), make.add(b, part(0, -1), part(0, 1)))
        new = make.add(b, make.multiply(b, part(0, 0), 0.5), make.multiply(b, around, 0.125))
        flipped = make.index(b, make.transpose(b, u, (1, 0)), (Run(m - 1, m // 2, -2), At(1)), ())
        return new, make.multiply(b, make.negative(b, flipped), 3.0)

    return program("stencil", [("u", (n, m), dtype)], body)


def transposed(n: int, m: int, dtype: Any = np.float32) -> Function:
    def body(b: Builder, x: Atom, y: Atom) -> Atom:
        return make.multiply(b, make.add(b, make.transpose(b, x, (1, 0)), y), make.transpose(b, x, (1, 0)))

    return program("transposed", [("x", (n, m), dtype), ("y", (m, n), dtype)], body)


def totals(n: int, m: int, dtype: Any = np.float32) -> Function:
    """A full reduction with work before and after, and reductions of the leading axis."""

    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        square = make.multiply(b, x, x)
        total = make.elementwise(b, ops.SQRT, make.divide(b, make.sum(b, square, (0, 1)), float(n * m)))
        return total, make.max(b, x, (0,)), make.multiply(b, make.sum(b, square, (0,)), 2.0)

    return program("totals", [("x", (n, m), dtype)], body)


def counted(n: int, m: int) -> Function:
    """Indices themselves: along each axis, sliced, and along the rows of a reduction."""

    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        column = make.iota(b, m, np.dtype(np.int64))
        every = make.index(b, make.iota(b, 2 * n + 1, np.dtype(np.int32)), (Run(1, n, 2),), ())
        t = make.add(b, make.multiply(b, x, column), make.expand_dims(b, every, (1,)))
        return t, make.sum(b, make.multiply(b, t, column), (1,)), make.full(b, (n, m), 2.5, np.dtype(np.float32))

    return program("counted", [("x", (n, m), np.float64)], body)


def solid(k: int, n: int, m: int) -> Function:
    """Three axes: reductions of the last two, of the middle one, and of a transposed view's last."""

    def body(b: Builder, x: Atom, y: Atom) -> tuple[Atom, ...]:
        t = make.multiply(b, x, y)
        centred = make.subtract(b, t, make.divide(b, make.sum(b, t, (1, 2), True), float(n * m)))
        turned = make.add(b, make.transpose(b, x, (2, 0, 1)), 1.0)
        share = make.divide(b, turned, make.sum(b, turned, (2,), True))
        return centred, make.max(b, x, (1,)), make.prod(b, make.transpose(b, x, (0, 2, 1)), (2,)), share

    return program("solid", [("x", (k, n, m), np.float64), ("y", (m,), np.float64)], body)


def dense(n: int, k: int, m: int, dtype: Any = np.float32) -> Function:
    """A layer and its loss: a product with an epilogue, a reduction of it."""

    def body(b: Builder, x: Atom, w: Atom, bias: Atom, y: Atom) -> tuple[Atom, ...]:
        h = make.elementwise(b, ops.TANH, make.add(b, make.matmul(b, x, w), bias))
        e = make.subtract(b, h, y)
        return make.sum(b, make.multiply(b, e, e), (0, 1)), e

    return program(
        "dense", [("x", (n, k), dtype), ("w", (k, m), dtype), ("bias", (m,), dtype), ("y", (n, m), dtype)], body
    )


def arguments(function: Function, seed: int = 0) -> list[Any]:
    """Values for the parameters: floats around zero, small integers, booleans."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for p in function.body.params:
        kind = p.aval.dtype.kind
        if kind == "b":
            value = rng.integers(0, 2, p.aval.shape)
        elif kind in "iu":
            value = rng.integers(0, 7, p.aval.shape)
        else:
            value = rng.standard_normal(p.aval.shape)
        found.append(np.asarray(value).astype(p.aval.dtype)[()])
    return found


def check(
    function: Function, backend: Any, rtol: float, leaves: Sequence[Any] | None = None, facts: Facts = H200
) -> list[Any]:
    """The fused program on the backend gives what the program means."""
    leaves = arguments(function) if leaves is None else leaves
    with np.errstate(all="ignore"):
        expected = evaluate(function, leaves)
        results = GpuExecutor(fuse(function), backend, facts)(leaves)
    for got, want in zip(results, expected, strict=True):
        got, want = np.asarray(got), np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=rtol)
    return results


def check_layer_norm_of_long_rows(dtype: str, columns: int, backend: Any) -> None:
    """Mean and variance in one walk, far from 0, beside infinities and NaN; the report counts one walk more."""
    function = layer_norm(6, columns, dtype)
    x, gain, bias = arguments(function)
    x[1] += 1000
    x[2] = 5
    x[3, 7], x[4, columns // 2] = np.inf, np.nan
    eps, sources = np.finfo(dtype).eps, [k.source for k in kernels_of(fuse(function), backend.language)]
    assert len(sources) == 1 and "x_squares" in sources[0]
    assert len(re.findall(r"for (?:start in|\(index_t column)", sources[0])) == 2
    with np.errstate(all="ignore"):
        (got,) = GpuExecutor(fuse(function), backend)([x, gain, bias])
        (want,) = evaluate(layer_norm(6, columns, np.float64), [a.astype("f8") for a in (x, gain, bias)])
    assert got.dtype == dtype
    sizes = np.array([1, 1000, 1 / eps, 1, 1, 1])[:, None]  # a variance that is only what the mean was rounded by
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    assert np.nanmax(np.abs(got - want) / sizes) <= 100 * eps


# ---- random programs -----------------------------------------------------------------------------


def random_program(seed: int, n: int = 5, m: int = 7, length: int = 10, rich: bool = False) -> Function:
    """Elementwise work, reductions, views and products on values of a few shapes that broadcast together.

    A rich one has matrix products, running sums, softmaxes and places of extremes besides.
    """
    rng = np.random.default_rng(seed)

    def body(b: Builder, x: Atom, y: Atom, row: Atom, column: Atom, square: Atom, s: Atom) -> tuple[Atom, ...]:
        values = [x, y, row, column, square, s]
        for _ in range(length):
            values.append((rich and _rich_step(b, rng, values)) or _random_step(b, rng, values))
        chosen = [values[-1]] + [v for v in values[6:-1] if rng.random() < 0.25]
        return tuple(dict.fromkeys(v for v in chosen if isinstance(v, Var)))

    leaves = [("x", (n, m), "f8"), ("y", (n, m), "f8"), ("row", (m,), "f8"), ("column", (n, 1), "f8")]
    return program(f"random_{seed}", [*leaves, ("square", (m, m), "f8"), ("s", (), "f8")], body)


def _random_step(b: Builder, rng: np.random.Generator, values: list[Atom]) -> Atom:
    def pick(suits: Callable[[Atom], bool] = lambda a: True) -> Atom:
        # Late values are taken more often, so that chains form.
        return next((v for v in sorted(values, key=lambda _: rng.random()) if suits(v)), values[0])

    x = values[-1] if rng.random() < 0.5 else pick()
    kind = rng.integers(0, 10)
    if kind <= 4:
        y = pick(lambda a: _broadcasts(a, x))
        op = (make.add, make.subtract, make.multiply)[rng.integers(0, 3)]
        return op(b, x, y)
    if kind <= 5 or not x.aval.shape:
        return make.elementwise(b, (ops.TANH, ops.SIN, ops.NEGATIVE)[rng.integers(0, 3)], x)
    if kind <= 7:
        every = tuple(range(x.aval.ndim))
        axes = every if rng.random() < 0.3 else (int(rng.choice(every)),)
        op = (make.sum, make.max)[rng.integers(0, 2)]
        return op(b, x, axes, bool(rng.random() < 0.6))
    if kind == 8:
        return make.transpose(b, x, tuple(reversed(range(x.aval.ndim))))
    size = x.aval.shape[0]
    start = int(rng.integers(0, size))
    dims = (Run(start, size - start), *(Run(0, k) for k in x.aval.shape[1:]))
    return make.index(b, x, dims, ())


def _rich_step(b: Builder, rng: np.random.Generator, values: list[Atom]) -> Atom | None:
    tables = [v for v in values if v.aval.ndim == 2]
    x, kind = tables[-1] if rng.random() < 0.5 else tables[rng.integers(len(tables))], rng.random()
    if kind < 0.15:
        y = tables[rng.integers(len(tables))]
        y = make.transpose(b, y, (1, 0)) if rng.random() < 0.5 else y
        return make.multiply(b, make.matmul(b, x, y), 0.2) if x.aval.shape[1] == y.aval.shape[0] else None
    if kind < 0.3:
        return make.multiply(b, make.cumsum(b, x, 1), 0.3)
    if kind < 0.36:
        return make.astype(b, make.argmax(b, x, int(rng.integers(2)), True), np.dtype("f8"))
    if kind < 0.42:
        e = make.elementwise(b, ops.EXP, make.subtract(b, x, make.max(b, x, (1,), True)))
        return make.divide(b, e, make.sum(b, e, (1,), True))
    return None


def _broadcasts(a: Atom, x: Atom) -> bool:
    try:
        shape = np.broadcast_shapes(a.aval.shape, x.aval.shape)
    except ValueError:
        return False
    return len(shape) <= 2 and np.prod(shape) <= 128


# ---- what both kernel languages are tested on ----------------------------------------------------

CASES = {
    "chain_1": chain(1),
    "chain_odd": chain(1003),
    "chain_of_four": chain(64),
    "chain_empty": chain(0),
    "chain_half": chain(130, np.float16),
    "chain_double": chain(257, np.float64),
    "softmax": softmax(37, 29),
    "softmax_one": softmax(1, 1),
    "softmax_of_one": softmax(70, 1),
    "softmax_wide": softmax(3, 5003),
    "softmax_long": softmax(2, 17003),
    "softmax_no_rows": softmax(0, 5),
    "softmax_half": softmax(9, 65, np.float16),
    "softmax_double": softmax(5, 300, np.float64),
    "layer_norm": layer_norm(70, 33),
    "layer_norm_long": layer_norm(2, 17500),
    "logsumexp": logsumexp(12, 100),
    "logsumexp_long": logsumexp(2, 20000),
    "masked": masked(13, 7),
    "masked_double": masked(6, 31, np.float64),
    "stencil": stencil(9, 14),
    "transposed": transposed(17, 5),
    "totals": totals(300, 70),
    "totals_small": totals(2, 3, np.float64),
    "totals_half": totals(300, 70, np.float16),
    "counted": counted(6, 11),
    "counted_one": counted(1, 8),
    "column_of_64": masked(64, 1),
    "solid": solid(3, 4, 5),
    "dense": dense(6, 5, 4),
}
TOLERANCE = {"e": 2e-2, "f": 3e-5, "d": 1e-10}


def tolerance(function: Function) -> float:
    """Half precision sums in another order; float32 functions differ by a few units in the last place."""
    return TOLERANCE[function.body.params[0].aval.dtype.char]


def reductions(dtype: Any) -> Function:
    """Every reduction that the dtype has, over rows, with NaNs where there are any."""

    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        return tuple(f(b, x, (1,)) for f in (make.sum, make.prod, make.max, make.min, make.any, make.all_))

    return program(f"reductions_{np.dtype(dtype).name}", [("x", (6, 9), dtype)], body)


def places(dtype: Any) -> Function:
    """Where the extremes stand: along each axis, of the whole, after other work."""

    def body(b: Builder, x: Atom) -> tuple[Atom, ...]:
        doubled = make.add(b, x, x) if np.dtype(dtype).kind == "f" else x
        flat = make.reshape(b, x, (54,))
        return make.argmax(b, doubled, 1), make.argmin(b, x, 0, True), make.argmax(b, flat, 0), make.argmin(b, x, 1)

    return program(f"places_{np.dtype(dtype).name}", [("x", (6, 9), dtype)], body)


def check_places(dtype: Any, backend: Any) -> None:
    """As reductions that fuse, the places are NumPy's: of ties the first, of NaNs the first."""
    function = places(dtype)
    leaves = with_specials(function)
    spelled = extremes(function)
    for got, want in zip(check(spelled, backend, 0.0, leaves), evaluate(function, leaves), strict=True):
        np.testing.assert_array_equal(got, want)


def _seldom(*dtypes: str) -> list[Any]:
    """Of a kind that another width stands for; each test compiles kernels, so these are for the slow campaigns."""
    return [pytest.param(d, marks=pytest.mark.slow) for d in dtypes]


REDUCED_DTYPES = ["f2", "f4", "f8", "i8", "u1", "?", *_seldom("i1", "i4", "u4")]


def with_specials(function: Function) -> list[Any]:
    """Arguments with a NaN, an infinity and a row of zeros."""
    (x,) = (np.array(a) for a in arguments(function))
    x[2] = 0
    if x.dtype.kind == "f":
        x[0, 3], x[1, 4] = np.nan, np.inf
    return [x]


def with_infinities(function: Function) -> list[Any]:
    """Rows with an infinity of each sign, of nothing but -inf, with NaN, with large values, and begun by -inf."""
    (x,) = (np.array(a) for a in arguments(function))
    x[0, 7], x[1, 5], x[2], x[3, 3] = -np.inf, np.inf, -np.inf, np.nan
    x[4] *= 1e4
    x[5, : x.shape[1] // 2] = -np.inf
    return [x]


def casts() -> Function:
    """Each dtype to each other one, from small whole numbers, which all of them have."""
    dtypes = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]

    def body(b: Builder, *params: Atom) -> tuple[Atom, ...]:
        return tuple(make.astype(b, x, np.dtype(d)) for x in params for d in dtypes if x.aval.dtype != d)

    return program("casts", [(f"x_{d.replace('?', 'b')}", (11,), d) for d in dtypes], body)


def views_of_arguments() -> tuple[Function, list[Any]]:
    """Arguments that are not in C order: a transposed, a reversed, a strided and a broadcast array."""
    base = np.arange(60, dtype=np.float64).reshape(6, 10) / 7

    def body(b: Builder, x: Atom, y: Atom, z: Atom, w: Atom) -> tuple[Atom, ...]:
        t = make.add(b, make.multiply(b, x, y), make.subtract(b, z, w))
        return t, make.max(b, t, (1,))

    leaves = [base.T[:5], base[::-1, ::-1][:5, :6], base[:5, ::2][:, [0]], np.broadcast_to(base[0, :6], (5, 6))]
    shapes = [(n, a.shape, np.float64) for n, a in zip("xyzw", leaves, strict=True)]
    return program("views", shapes, body), leaves


# ---- rows: every elementwise operation in one kernel a dtype -------------------------------------

# Half precision: one rounding of the exact result, which float32 functions may miss by one unit. Functions of 16-bit
# integers are float32.
_ROW_TOLERANCE = {"f2": 2e-3, "bfloat16": 1.6e-2, "f4": 1e-5, "i2": 1e-5, "u2": 1e-5}
ROW_DTYPES = ["f2", "bfloat16", "f4", "f8", "i8", "u1", "u8", "?", *_seldom("i1", "i2", "i4", "u2", "u4")]


def rows(dtype: str, count: int = 67) -> tuple[Function, list[Any]]:
    """Every elementwise operation that takes arguments of this dtype, on samples of its row and the dtype's limits."""
    kind = _kind(dtype)
    rng = np.random.default_rng(1)
    leaves: list[Any] = []
    names: list[tuple[str, tuple[int, ...], Any]] = []
    calls: list[tuple[Any, list[int]]] = []
    for op in ops.ALL:
        domains = op.samples if isinstance(op, Elementwise) else ()
        if not isinstance(op, Elementwise) or not any(kind in d.kinds for d in domains):
            continue
        if any(kind not in d.kinds and d.kinds != "b" for d in domains):
            continue
        domains = domains * (1 + op.arity - len(domains))
        places = []
        # A quotient's divisor is never 0, and NumPy raises for negative integer powers; C has +inf for lgamma(-inf),
        # scipy.special.gammaln -inf; SciPy's have infinity or NaN for subnormal numbers, where the value is some 700.
        bounded = op.name in ("quotient", "lgamma", "betaln") or (op.name == "power" and kind == "i")
        for k, domain in enumerate(domains[: op.arity]):
            wanted = "?" if kind not in domain.kinds else dtype
            own = _sample(rng, domain, np.dtype(wanted), count)
            ends = np.resize(own, LIMITS) if bounded else limits(np.dtype(wanted), k)
            leaves.append(np.concatenate([own, ends]))
            names.append((f"{op.name}_{k}", leaves[-1].shape, wanted))
            places.append(len(leaves) - 1)
        try:
            op.loop_dtypes([Aval((count,), np.dtype(names[p][2])) for p in places])
        except DTypeError:
            continue
        calls.append((op, places))

    def body(b: Builder, *params: Atom) -> tuple[Atom, ...]:
        return tuple(b.apply(op, *(params[p] for p in places), hint=op.name) for op, places in calls)

    return program(f"rows_{np.dtype(dtype).name}", names, body), leaves


SIDE = 21
LIMITS = SIDE * SIDE


def limits(dtype: np.dtype[Any], place: int) -> Any:
    """Values at which arithmetic changes its mind, so that arguments at places 0 and 1 meet all of each other's."""
    if dtype.kind == "b":
        found = np.arange(SIDE) % 2 == 1
    elif dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        small = [-1, -2, -3, -7] if low else [4, 5, 6, 9]
        found = np.array([0, 1, 2, 3, 7, 8, 31, low, low + 1, high, high // 2 + 1, *small, 63, 64], dtype)
    else:
        info = ml_dtypes.finfo(dtype)
        edges = [float(x) for x in (info.max, info.tiny, info.smallest_subnormal, -3 * info.smallest_subnormal)]
        small = [0, -0.0, 1, -1, 0.5, -0.5, 2.5, -3, 1e-3, -1e-3, 100, 6e4]
        found = np.array([*small, np.inf, -np.inf, np.nan, *edges])
    found = np.resize(found, SIDE)
    pairs = (np.repeat(found, SIDE), np.tile(found, SIDE), np.roll(np.tile(found, SIDE), 4))
    return pairs[place].astype(dtype)


EXACT = frozenset(
    """
    add subtract multiply divide floor_divide remainder fmod sqrt square reciprocal negative positive absolute fabs
    copysign heaviside floor ceil trunc rint where real imag stop_gradient maximum minimum fmax fmin clip sign
    """.split()  # noqa: SIM905
)
"""What IEEE 754 or NumPy says to the last bit."""
EITHER_ZERO = frozenset(("maximum", "minimum", "fmax", "fmin", "clip", "sign"))
"""Of zeros of both signs NumPy gives one or the other, by dtype and processor; ml_dtypes' sign keeps its zero's."""


def casts_of_specials(dtype: str) -> tuple[Function, list[Any]]:
    """From one dtype to each other one, of values at their limits. What is out of an integer's range is left out but
    for integers, which wrap: there NumPy gives what the processor gives.
    """
    others = [d for d in CAST_DTYPES if d != dtype]
    whole, kind = np.dtype(dtype), _kind(dtype)
    halves = np.array([s * (2.0**k + o) for k in (7, 8, 11, 15, 24, 31, 53, 62) for s in (1, -1) for o in (-0.5, 0, 1)])
    found = limits(whole, 0)[::SIDE] if kind == "b" else np.append(limits(whole, 0)[::SIDE], _held(halves, whole))
    leaves, places = [], []
    for d in others:
        inside = np.ones(found.shape, bool)
        if kind == "f" and np.dtype(d).kind in "iu":
            low, high = (float(e) for e in (np.iinfo(d).min, np.iinfo(d).max))
            inside = (found.astype("f8") >= low) & (found.astype("f8") < high)
        places.append(len(leaves))
        leaves.append(found[inside])

    def body(b: Builder, *params: Atom) -> tuple[Atom, ...]:
        return tuple(make.astype(b, params[p], np.dtype(d)) for p, d in zip(places, others, strict=True))

    names = [(f"x_{np.dtype(d).name}", x.shape, dtype) for d, x in zip(others, leaves, strict=True)]
    return program(f"casts_of_{whole.name}", names, body), leaves


CAST_DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "bfloat16", "f4", "f8"]


def _held(values: Any, dtype: np.dtype[Any]) -> Any:
    """Those of the values that the dtype has."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = values[(values >= float(info.min)) & (values < float(info.max))]
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def check_casts(dtype: str, backend: Any) -> None:
    function, leaves = casts_of_specials(dtype)
    with np.errstate(all="ignore"):
        expected = evaluate(function, leaves)
        results = GpuExecutor(fuse(function), backend)(leaves)
    for p, got, want in zip(function.body.params, results, expected, strict=True):
        np.testing.assert_array_equal(_bits(got), _bits(want), f"{dtype} to {want.dtype} of {p.hint}")


def _bits(x: Any) -> Any:
    """Numbers that are the same as bits are; of NaN any."""
    if _kind(x.dtype) != "f":
        return x
    return np.where(np.isnan(x), -1, x.view(f"i{x.dtype.itemsize}"))


def _kind(dtype: Any) -> str:
    kind = np.dtype(dtype).kind
    return "f" if kind == "V" else kind  # bfloat16 calls itself void


def _sample(rng: np.random.Generator, domain: Any, dtype: np.dtype[Any], count: int) -> Any:
    low, high = max(domain.low, -100.0), min(domain.high, 100.0)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        low = max(low, 0.0) if dtype.kind == "u" else low
        return rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, count).astype(dtype)
    return rng.uniform(low, high, count).astype(dtype)


def check_rows(
    dtype: str,
    backend: Any,
    slack: float = 1.0,
    to: Callable[[Any], Any] = np.asarray,
    back: Callable[[Any], Any] = np.asarray,
) -> None:
    """One kernel with every operation, against NumPy: the group is built by hand, fusion would cut it. A device's own
    functions are given `slack`, units in the last place that a host's do not need."""
    rtol = slack * _ROW_TOLERANCE.get(dtype, 1e-12)
    function, leaves = rows(dtype)
    statements = [s for s in function.body.statements if isinstance(s, Apply)]
    group = close(statements, [s.targets[0] for s in statements], "pointwise")
    whole = Function(function.name, function.params, Block(function.body.params, (group,), group.targets), function.out)
    with np.errstate(all="ignore"):
        expected = evaluate(function, leaves)
        executor = GpuExecutor(whole, backend)
        results = [back(r) for r in executor([to(a) for a in leaves])]
    refusals = [g.refusal for g in executor.made.groups.values() if g and g.fused is None]
    assert not refusals, refusals
    wrong = {}
    for s, got, want in zip(statements, results, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), s.op.name
        if want.dtype.kind in "biu":
            same = got == want
        else:
            x, y = got.astype("f8"), want.astype("f8")
            exact = s.op.name in EXACT
            same = np.isclose(x, y, rtol=0 if exact else rtol, atol=0 if exact else rtol, equal_nan=True)
            same &= (x != 0) | (y != 0) | (np.signbit(x) == np.signbit(y)) | (s.op.name in EITHER_ZERO)
        if not same.all():
            k = int(np.argmin(same))
            args = [leaves[function.body.params.index(a)][k] for a in s.args if isinstance(a, Var)]
            wrong[s.op.name] = (args, got[k], want[k])
    assert not wrong, wrong
