"""Running sums, products and extremes in StableHLO.

Short ones are reduce_windows, over blocks of 16:

    x (n)  ->  blocks (m, 16), the running sums of each; to which those of the m totals, found the same way, are added

Long ones, on the CPU, are a loop of 8 elements a step (a row, where other axes lie behind) that carries the running
value and that XLA makes one native kernel. That is 3 to 4 times faster than windows. Along the last axis NumPy is twice
as fast, and called where that is worth it (`host_calls`).
"""

from __future__ import annotations

from ...translator.ir import DType
from ..client import host_calls
from .reduce import accumulator, identity_of
from .writer import I64, Value, Writer, tensor_type

_COMBINE = {"cumsum": "add", "cumprod": "multiply", "cummax": "maximum", "cummin": "minimum"}
_FOLDS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_WINDOW = 16
_STEP = 8
_LONG = 32  # elements
_MANY_LINES = 8  # without rows behind the axis more lines than these are faster in windows, on all cores


def cumulative(w: Writer, name: str, x: Value, axis: int, result: DType, loops: bool) -> Value:
    """`loops`: whether long lines are scanned by loops."""
    if 0 in x.shape or x.shape[axis] == 1:
        return w.convert(x, result)
    if w.host and host_calls.accumulates(x, axis, result):
        return host_calls.call(w, f"{name} {axis}", [x], x.shape, result)
    x = w.convert(x, accumulator(result))
    outer, n, inner = _three(x, axis)
    long = loops and outer * n * inner >= _LONG and (inner > 1 or outer <= _MANY_LINES)
    scanned = _loop(w, _COMBINE[name], x, (outer, n, inner)) if long else _scan(w, _COMBINE[name], x, axis)
    return w.convert(scanned, result)


def _three(x: Value, axis: int) -> tuple[int, int, int]:
    """The sizes before the axis, along it, behind it."""
    outer = inner = 1
    for i, n in enumerate(x.shape):
        if i < axis:
            outer *= n
        elif i > axis:
            inner *= n
    return outer, x.shape[axis], inner


# ---- windows -------------------------------------------------------------------------------------


def _scan(w: Writer, combine: str, x: Value, axis: int) -> Value:
    n = x.shape[axis]
    if n <= _WINDOW:
        return _window(w, combine, x, axis)
    identity = w.constant(_identity(combine, x.dtype), (), x.dtype)
    blocks = -(-n // _WINDOW)
    rank = len(x.shape)
    padding = [0] * rank
    padding[axis] = blocks * _WINDOW - n
    padded = w.pad(x, identity, [0] * rank, padding, [0] * rank) if padding[axis] else x
    split = (*x.shape[:axis], blocks, _WINDOW, *x.shape[axis + 1 :])
    inner = _window(w, combine, w.reshape(padded, split), axis + 1)
    starts = [0] * (rank + 1)
    starts[axis + 1] = _WINDOW - 1
    last = w.slice(inner, starts, split, [1] * (rank + 1))
    totals = _scan(w, combine, w.reshape(last, (*split[: axis + 1], *split[axis + 2 :])), axis)
    before = _shifted(w, totals, identity, axis)
    dims = [i for i in range(rank + 1) if i != axis + 1]
    whole = w.reshape(w.op(combine, inner, w.broadcast_in(before, split, dims)), padded.shape)
    return w.slice(whole, [0] * rank, x.shape, [1] * rank)


def _identity(combine: str, dtype: DType) -> object:
    if combine == "add" and dtype.kind in "fc":
        return complex(-0.0, -0.0) if dtype.kind == "c" else -0.0  # running sums begin with the first element as it is
    return identity_of(_FOLDS[combine], dtype)


def _shifted(w: Writer, totals: Value, identity: Value, axis: int) -> Value:
    """Exclusive running totals: one step later, the identity first."""
    rank = len(totals.shape)
    low, high = [0] * rank, [0] * rank
    low[axis], high[axis] = 1, -1
    return w.pad(totals, identity, low, high, [0] * rank)


def _window(w: Writer, combine: str, x: Value, axis: int) -> Value:
    """Each element with all before it, by one reduce_window."""
    n, rank = x.shape[axis], len(x.shape)
    window = ", ".join(str(n if i == axis else 1) for i in range(rank))
    padding = ", ".join(f"[{n - 1 if i == axis else 0}, 0]" for i in range(rank))
    identity = w.constant(_identity(combine, x.dtype), (), x.dtype)
    result = Value(w.fresh(), x.shape, x.dtype)
    a, b = Value(w.fresh("a"), (), x.dtype), Value(w.fresh("b"), (), x.dtype)
    scalar, whole = tensor_type((), x.dtype), tensor_type(x.shape, x.dtype)
    w.line(
        f'{result.name} = "stablehlo.reduce_window"({x.name}, {identity.name}) <{{window_dimensions = array<i64: '
        f"{window}>, padding = dense<[{padding}]> : tensor<{rank}x2xi64>}}> ({{"
    )
    w.line(f"^bb0({a.name}: {scalar}, {b.name}: {scalar}):")
    with w.region():
        total = w.op(combine, a, b)
        w.line(f"stablehlo.return {total.name} : {scalar}")
    w.line(f"}}) : ({whole}, {scalar}) -> {whole}")
    return result


# ---- loops -------------------------------------------------------------------------------------


def _loop(w: Writer, combine: str, x: Value, sizes: tuple[int, int, int]) -> Value:
    return w.reshape(_walk(w, combine, w.reshape(x, sizes), sizes), x.shape)


def _walk(w: Writer, combine: str, x: Value, sizes: tuple[int, int, int]) -> Value:
    """for line in range(outer): for step in range(n // size): ...; the rest of the line in one shorter step."""
    outer, n, inner = sizes
    size = min(_STEP, n) if inner == 1 else 1
    start = w.constant(0, sizes, x.dtype)
    line, y = Value(w.fresh("line"), (), I64), Value(w.fresh("y"), sizes, x.dtype)
    lines = w.several("lines", [((), I64), (sizes, x.dtype)])
    with _While(w, lines, [line, y], [w.integer(0), start], outer) as outside:
        carry0 = w.constant(_identity(combine, x.dtype), (1, 1, inner), x.dtype)
        step = Value(w.fresh("step"), (), I64)
        carry, z = Value(w.fresh("carry"), carry0.shape, x.dtype), Value(w.fresh("z"), sizes, x.dtype)
        steps = w.several("steps", [((), I64), (carry0.shape, x.dtype), (sizes, x.dtype)])
        with _While(w, steps, [step, carry, z], [w.integer(0), carry0, y], n // size) as inside:
            at = w.multiply(step, w.integer(size)) if size > 1 else step
            inside.result(*_advance(w, combine, x, line, at, size, carry, z))
        done = steps[2]
        if n % size:
            rest = w.integer(n - n % size)
            done = _advance(w, combine, x, line, rest, n % size, steps[1], done)[1]
        outside.result(done)
    return lines[1]


def _advance(
    w: Writer, combine: str, x: Value, line: Value, at: Value, size: int, carry: Value, y: Value
) -> tuple[Value, Value]:
    """The running values of `size` elements from `at` on, stored in y; the last of them is the next carry."""
    zero, inner = w.integer(0), x.shape[2]
    shape = (1, size, inner)
    block = w.op("dynamic_slice", x, line, at, zero, shape=shape, attrs=f"sizes = [1, {size}, {inner}]")
    identity = w.constant(_identity(combine, x.dtype), (), x.dtype)
    shift = 1
    while shift < size:
        kept = w.slice(block, [0, 0, 0], [1, size - shift, inner], [1, 1, 1])
        block = w.op(combine, block, w.pad(kept, identity, [0, shift, 0], [0, 0, 0], [0, 0, 0]))
        shift *= 2
    block = w.op(combine, w.broadcast(carry, shape), block)
    last = w.slice(block, [0, size - 1, 0], [1, size, inner], [1, 1, 1])
    return last, w.op("dynamic_update_slice", y, block, line, at, zero, shape=y.shape)


class _While:
    """`while counter < limit`; the first carried value is the counter, `result` gives the next ones of the others."""

    def __init__(self, w: Writer, results: list[Value], params: list[Value], inits: list[Value], limit: int) -> None:
        self.w, self.results, self.params, self.inits, self.limit = w, results, params, inits, limit

    def __enter__(self) -> _While:
        w = self.w
        pairs = ", ".join(f"{p.name} = {i.name}" for p, i in zip(self.params, self.inits, strict=True))
        base = self.results[0].name.partition("#")[0]
        w.line(f"{base}:{len(self.results)} = stablehlo.while({pairs}) : {self._types()}")
        w.line("cond {")
        with w.region():
            go = w.compare("LT", self.params[0], w.integer(self.limit))
            w.line(f"stablehlo.return {go.name} : {tensor_type((), go.dtype)}")
        w.line("} do {")
        self._region = w.region()
        self._region.__enter__()
        return self

    def result(self, *values: Value) -> None:
        w = self.w
        following = [w.add(self.params[0], w.integer(1)), *values]
        w.line(f"stablehlo.return {', '.join(v.name for v in following)} : {self._types()}")

    def __exit__(self, *error: object) -> None:
        self._region.__exit__(None, None, None)
        self.w.line("}")

    def _types(self) -> str:
        return ", ".join(tensor_type(p.shape, p.dtype) for p in self.params)
