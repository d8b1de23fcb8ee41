"""NumPy functions of selections x[mask]: reductions and products under a mask, calls element by element.

    np.mean(x[mask])                np.sum(np.where(mask, x, 0.0)) / np.count_nonzero(mask)
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ... import make, ops
from ...ir import Atom
from ...library.statistics import COUNTS_ARE_INTS
from ...library.support import mean_dtypes
from ...records import dataclass
from ...surface.python import as_python
from ..core.context import Context
from ..core.values import FULL, Bounds, Masked, Part, Places, Ref, Undefined, Value, is_runtime
from ..facts.runs import axes_of, count, width_of
from ..parts.agreeing import elementwise, select_alike
from ..parts.array_stores import changed
from ..parts.ranked import compressed
from ..parts.selection import concrete, condition, filled, is_front, may_be_empty, same_part, shadowed, shape_of
from ..parts.shifting import shifted
from . import submatrices
from .subscripts import index_selection, reversed_

# ---- reductions ----------------------------------------------------------------------------------


def reduced(
    ctx: Context, name: str, s: Masked, node: ast.AST, axis: Any = None, dtype: Any = None, keepdims: Any = False
) -> Value:
    """np.sum(s), np.max(s), np.mean(s), ... over some axes of the result."""
    ndim = len(s.parts)
    try:
        over = make.normalize_axes(axis, ndim)
    except TypeError:
        return NotImplemented
    kept = tuple(i for i in range(ndim) if i not in over)
    if keepdims and any(width_of(s.parts[i]) != 1 for i in kept):
        return NotImplemented
    b, axes = ctx.b, axes_of(s, over)
    x, inside = ctx.read(s.whole), condition(ctx, s, over)
    if dtype is not None:
        x = make.astype(b, x, np.dtype(dtype))
    result = _reductions[name](ctx, s, x, inside, axes, over)
    if result is None:
        return NotImplemented
    parts = tuple(s.parts[i] for i in kept)
    if keepdims:
        result = make.expand_dims(b, result, over)
        parts = tuple(FULL if i in over else s.parts[i] for i in range(ndim))
    return ctx.wrap(result) if all(p is None for p in parts) else Masked(Ref(ctx.cell(result)), parts)


def _sum(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    return make.sum(ctx.b, filled(ctx, inside, x, 0), axes)


def _prod(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    return make.prod(ctx.b, filled(ctx, inside, x, 1), axes)


def _any(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    return make.any(ctx.b, filled(ctx, inside, x, 0), axes)


def _all(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    return make.all_(ctx.b, filled(ctx, inside, x, 1), axes)


def _count_nonzero(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    found = make.sum(ctx.b, make.logical_and(ctx.b, make.not_equal(ctx.b, x, 0), inside), axes)
    return found if found.aval.shape or not COUNTS_ARE_INTS else as_python(ctx.b, found)


def _mean(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom:
    dtype, result = mean_dtypes(x.aval.dtype, None)
    total = _sum(ctx, s, make.astype(ctx.b, x, dtype), inside, axes, over)
    return make.astype(ctx.b, make.divide(ctx.b, total, _size(ctx, s, over, dtype)), result)


def _var(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom | None:
    b, (dtype, result) = ctx.b, mean_dtypes(x.aval.dtype, None)
    if dtype.kind == "c":
        return None
    x, size = make.astype(b, x, dtype), _size(ctx, s, over, dtype)
    mean = make.divide(b, make.sum(b, filled(ctx, inside, x, 0), axes, True), size)
    d = filled(ctx, inside, make.subtract(b, x, mean), 0)  # a sum of squares, whose root has slope 0 at 0
    return make.astype(b, make.divide(b, make.sum(b, make.multiply(b, d, d), axes), size), result)


def _std(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom | None:
    found = _var(ctx, s, x, inside, axes, over)
    return None if found is None else make.elementwise(ctx.b, ops.SQRT, found)


def _size(ctx: Context, s: Masked, over: Sequence[int], dtype: Any) -> Atom:
    size: Atom = make.lift(1)
    for i in over:
        size = make.multiply(ctx.b, size, ctx.atom(count(ctx, s, i)))
    return make.astype(ctx.b, size, np.float32 if dtype == np.float32 else np.float64)


def _extreme(largest: bool) -> Callable[..., Atom | None]:
    def handler(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom | None:
        dtype = x.aval.dtype
        if dtype.kind == "c":
            return None
        if dtype.kind == "b":
            neutral: Any = not largest
        elif dtype.kind in "iu":
            neutral = np.iinfo(dtype).min if largest else np.iinfo(dtype).max
        else:
            neutral = -np.inf if largest else np.inf
        found = (make.max if largest else make.min)(ctx.b, filled(ctx, inside, x, neutral), axes)
        what = f"reduction operation {'maximum' if largest else 'minimum'} which has no identity"
        return _unless_empty(ctx, s, found, over, f"zero-size array to {what}")

    return handler


def _arg(largest: bool) -> Callable[..., Atom | None]:
    def handler(ctx: Context, s: Masked, x: Atom, inside: Atom, axes: Any, over: Any) -> Atom | None:
        (p,) = s.parts if len(s.parts) == 1 else (FULL,)
        if p is None or len(axes) != 1 or x.aval.dtype.kind not in "fiu":
            return None
        b, info = ctx.b, np.finfo if x.aval.dtype.kind == "f" else np.iinfo
        worst = -np.inf if largest else np.inf
        neutral = worst if info is np.finfo else info(x.aval.dtype).min if largest else info(x.aval.dtype).max
        # where all that is selected is as low as the filling, the first selected place must win
        candidate = filled(ctx, inside, x, neutral)
        best = (make.max if largest else make.min)(b, candidate, 0)
        is_best = make.logical_or(b, make.equal(b, x, best), make.not_equal(b, x, x))
        found = make.argmax(b, make.logical_and(b, inside, is_best), 0)
        before = make.less(b, make.iota(b, x.aval.shape[0]), found)
        index = make.sum(b, make.logical_and(b, before, inside))
        what = "argmax" if largest else "argmin"
        return _unless_empty(ctx, s, index, over, f"attempt to get {what} of an empty sequence")

    return handler


def _unless_empty(ctx: Context, s: Masked, found: Atom, over: Sequence[int], message: str) -> Atom:
    """`found`; ValueError at run time where nothing was selected."""
    doubtful = [p for i, p in enumerate(s.parts) if i in over and p is not None]
    doubtful = [p for p in doubtful if isinstance(p, Places) or may_be_empty(ctx, p)]
    if not doubtful:
        return found
    chosen = [i for i, p in enumerate(s.parts) if any(p is q for q in doubtful)]
    b = ctx.b
    nothing = make.logical_not(b, make.any(b, condition(ctx, s, chosen)))
    make.raise_if(b, nothing, ValueError, message)
    return found


_reductions: dict[str, Callable[..., Atom | None]] = {
    "sum": _sum,
    "prod": _prod,
    "any": _any,
    "all": _all,
    "count_nonzero": _count_nonzero,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "max": _extreme(True),
    "amax": _extreme(True),
    "min": _extreme(False),
    "amin": _extreme(False),
    "argmax": _arg(True),
    "argmin": _arg(False),
}


# ---- products ------------------------------------------------------------------------------------


def product(ctx: Context, name: str, x: Value, y: Value, node: ast.AST) -> Value:
    """np.dot, x @ y, np.outer of selections and arrays; NotImplemented where the parts do not fit."""
    p, q = _parts(x), _parts(y)
    if name == "outer":
        if len(p) != 1 or len(q) != 1 or any(width_of(a) != 1 for a in (*p, *q)):
            return NotImplemented
        b = ctx.b
        left, right = make.expand_dims(b, _zeroed(ctx, x), 1), make.expand_dims(b, _zeroed(ctx, y), 0)
        return _selected(ctx, make.multiply(b, left, right), (*p, *q))
    if name == "vdot" and any(_dtype(ctx, v).kind == "c" for v in (x, y)):
        return NotImplemented
    if not 1 <= len(p) <= 2 or not 1 <= len(q) <= 2 or any(width_of(a) != 1 for a in (*p, *q)):
        return NotImplemented
    if name in ("inner", "vdot") and (len(p) != 1 or len(q) != 1):
        return NotImplemented
    last, first_ = p[-1], q[max(0, len(q) - 2)]
    if isinstance(y, Masked) and isinstance(last, Bounds) and isinstance(first_, Bounds):
        y = y if same_part(ctx, last, first_) else shifted(ctx, y, max(0, len(q) - 2), last) or y
        q = _parts(y)
        first_ = q[max(0, len(q) - 2)]
    if not select_alike(ctx, last, first_):
        front, other = (compressed(ctx, v) if isinstance(v, Masked) else v for v in (x, y))
        return NotImplemented if front is x and other is y else product(ctx, name, front, other, node)
    left, right = _zeroed(ctx, x, [len(p) - 1]), _zeroed(ctx, y, [max(0, len(q) - 2)])
    return _selected(ctx, make.matmul(ctx.b, left, right), (*p[:-1], *_without(q)))


def _without(q: tuple[Part, ...]) -> tuple[Part, ...]:
    return q[-1:] if len(q) == 2 else ()


def _dtype(ctx: Context, v: Value) -> Any:
    return (v.whole if isinstance(v, Masked) else v).aval.dtype


def _parts(v: Value) -> tuple[Part, ...]:
    return v.parts if isinstance(v, Masked) else (FULL,) * len(shape_of(v))


def _zeroed(ctx: Context, v: Value, summed: Sequence[int] | None = None) -> Atom:
    """The whole with 0 outside of the selection. `summed`: of these parts only; what others leave out stays outside."""
    if not isinstance(v, Masked):
        return ctx.atom(v)
    if summed is not None and all(v.parts[i] is None for i in summed):
        return ctx.read(v.whole)
    return filled(ctx, condition(ctx, v, summed), ctx.read(v.whole), 0)


def _selected(ctx: Context, atom: Atom, parts: tuple[Part, ...]) -> Value:
    return ctx.wrap(atom) if all(p is None for p in parts) else Masked(Ref(ctx.cell(atom)), parts)


# ---- order and fits, in what is differentiated or batched, of which CPython can run no part ------

_QUANTILES = {"median": np.nanmedian, "percentile": np.nanpercentile, "quantile": np.nanquantile}


def _quantile(ctx: Context, s: Masked, name: str, rest: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """np.median(s), np.percentile(s, q), np.quantile(s, q): NaN stands for what is not selected, and is passed over."""
    x = ctx.read(s.whole)
    if x.aval.dtype.kind not in "fiu" or not all(width_of(p) == 1 for p in s.parts):
        return NotImplemented
    b, inside = ctx.b, condition(ctx, s)
    dtype = x.aval.dtype if x.aval.dtype.kind == "f" else np.dtype(np.float64)
    value = make.astype(b, x, dtype)
    found = ctx.call(_QUANTILES[name], [ctx.wrap(filled(ctx, inside, value, np.nan)), *rest], kwargs, node)
    nan = make.any(b, make.logical_and(b, make.not_equal(b, value, value), inside))
    return ctx.call(np.where, [ctx.wrap(nan), dtype.type(np.nan), found], {}, node)


def _sorted(ctx: Context, s: Masked, again: Callable[..., Value]) -> Value:
    """np.sort(s): the first so many of the whole in order, with what is not selected, as NaN, behind them."""
    x = ctx.read(s.whole)
    if len(s.parts) != 1 or x.aval.ndim != 1 or x.aval.dtype.kind not in "fiu":
        return NotImplemented
    last = np.nan if x.aval.dtype.kind == "f" else np.iinfo(x.aval.dtype).max
    ordered = again([Ref(ctx.cell(filled(ctx, condition(ctx, s), x, last)))])
    return Masked(ordered, (Bounds(0, count(ctx, s, 0), 1, x.aval.shape[0]),))


def _order(ctx: Context, s: Masked, node: ast.AST) -> Value:
    """np.argsort(s): the numbers of selected elements; what is not selected goes behind them."""
    s = compressed(ctx, s)
    if len(s.parts) != 1 or s.whole.aval.dtype.kind not in "biuf":
        return NotImplemented
    if not is_front(s.parts[0]):
        return NotImplemented
    unused = ctx.wrap(make.logical_not(ctx.b, condition(ctx, s)))
    return Masked(ctx.call(np.lexsort, [(Ref(ctx.cell(ctx.read(s.whole))), unused)], {}, node), s.parts)


def _as_column(ctx: Context, s: Masked, sizes: list[Value], node: ast.AST) -> Value:
    """s.reshape(-1, 1) and the like: a line of elements along one of several axes, the others of size 1."""
    sizes = list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
    ones = [type(n) is int and n == 1 for n in sizes]
    if len(s.parts) != 1 or sum(ones) != len(ones) - 1:
        return NotImplemented
    n = sizes[ones.index(False)]
    if n != -1:
        differs = make.not_equal(ctx.b, ctx.atom(count(ctx, s, 0)), ctx.atom(n))
        make.raise_if(ctx.b, differs, ValueError, "cannot reshape a selection into another size")
    return index_selection(ctx, s, tuple(None if one else slice(None) for one in ones), node)


def one_behind_another(ctx: Context, arrays: Sequence[Value]) -> Masked | None:
    """np.concatenate of selections and arrays along the first axis: what is selected of them all together."""
    if not all(isinstance(v, Masked) or is_runtime(v) for v in arrays):
        return None
    parts = [_parts(v) for v in arrays]
    if not ctx.transforms or any(p is not None for of in parts for p in of[1:]) or not all(parts):
        return None
    b, wholes, inside = ctx.b, list[Atom](), list[Atom]()
    for v, (first, *_) in zip(arrays, parts, strict=True):
        x, width = ctx.read(v.whole) if isinstance(v, Masked) else ctx.atom(v), width_of(first)
        n = math.prod(x.aval.shape[:width])
        wholes.append(make.reshape(b, x, (n, *x.aval.shape[width:])))
        chosen = _first_condition(ctx, first)
        inside.append(make.ones(b, (n,), bool) if chosen is None else make.reshape(b, chosen, (n,)))
    if len({x.aval.shape[1:] for x in wholes}) > 1:
        return None
    mask = Places(make.concatenate(b, inside, 0))
    return Masked(Ref(ctx.cell(make.concatenate(b, wholes, 0))), (mask, *parts[0][1:]))


def _first_condition(ctx: Context, first: Part) -> Atom | None:
    if isinstance(first, Places):
        return first.mask
    return condition(ctx, Masked(Ref(ctx.cell(make.iota(ctx.b, first.n))), (first,))) if first is not None else None


def _fitted(ctx: Context, name: str, args: list[Value], kwargs: dict[str, Value], again: Callable[..., Value]) -> Value:
    """np.linalg.lstsq(a[mask], b[mask]) and np.polyfit(x[mask], y[mask], n): equations of zeros change no solution."""
    x, y, *rest = args
    if not isinstance(x, Masked) or not isinstance(y, Masked) or kwargs.keys() - {"rcond", "deg"}:
        return NotImplemented
    rows, others = zip(*((s.parts[0], s.parts[1:]) for s in (x, y)), strict=True)
    if rows[0] is None or rows[1] is None or not same_part(ctx, *rows) or any(p is not None for o in others for p in o):
        return NotImplemented
    whole = [ctx.wrap(_zeroed(ctx, s)) for s in (x, y)]
    if name == "lstsq":
        solution, _, *more = cast(tuple[Value, ...], again([*whole, *rest], kwargs))
        unknown = Undefined("exist or not by the number of equations", "compute them from the solution")
        return (solution, unknown, *more)
    weights = make.astype(ctx.b, condition(ctx, x), np.float64)
    return again([*whole, *rest], {**kwargs, "w": ctx.wrap(weights)})


# ---- calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a NumPy function, or of the method of this name. `again(args, kwargs)` makes it with others."""

    ctx: Context
    f: Any
    args: list[Value]
    kwargs: dict[str, Value]
    node: ast.AST
    again: Callable[..., Value]

    @property
    def name(self) -> str:
        return self.f if isinstance(self.f, str) else getattr(self.f, "__name__", str(self.f))

    @property
    def what(self) -> str:
        return f"{'the array method .' if isinstance(self.f, str) else 'np.'}{self.name} of a selection x[mask]"

    def of_whole(self, s: Masked, **kwargs: Value) -> Value:
        return self.again([Ref(self.ctx.cell(self.ctx.read(s.whole)))], kwargs)


_Handler = Callable[[_Call, Masked], Value]
_PRODUCTS = frozenset({"dot", "matmul", "inner", "vdot", "outer"})
_ELEMENTWISE = frozenset({"where", "clip", "round", "around", "real", "imag", "conj", "conjugate", "abs", "astype"})
_WRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
_WRITING_METHODS = frozenset({"partition", "put", "sort"})


def call(
    ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST, again: Callable[..., Value]
) -> Value:
    """A NumPy function or method with selections among its arguments: on the whole arrays, or on what they select."""
    c = _Call(ctx, f, args, kwargs, node, again)
    ctx.at(node)
    found = _of_selections(c)
    return found if found is not NotImplemented else _of_arrays(c)


def _of_selections(c: _Call) -> Value:
    """The call on the whole arrays of its selections; NotImplemented where that would be another."""
    s = c.args[0] if c.args else None
    if isinstance(s, Masked) and (handler := _HANDLERS.get(c.name)) is not None:
        found = handler(c, s)
        if found is not NotImplemented:
            return found
    if c.name in _PRODUCTS and len(c.args) == 2 and not c.kwargs:
        return product(c.ctx, c.name, c.args[0], c.args[1], c.node)
    if c.ctx.transforms and c.name in ("lstsq", "polyfit") and len(c.args) > 1:
        return _fitted(c.ctx, c.name, c.args, c.kwargs, c.again)
    if (isinstance(c.f, np.ufunc) or c.name in _ELEMENTWISE) and "out" not in c.kwargs and "where" not in c.kwargs:
        return _elementwise_call(c)
    return submatrices.call(c.ctx, c.f, c.args, c.kwargs, c.again)


def _of_arrays(c: _Call) -> Value:
    """The call on what is selected, as arrays of their own; a write on the whole, where nothing else is selected."""
    s = c.args[0] if c.args else None
    if isinstance(s, Masked) and c.name in (_WRITING_METHODS if isinstance(c.f, str) else _WRITING):
        rest = [_concrete(c, a) for a in c.args[1:]]
        return changed(c.ctx, s, c.node, lambda x: c.again([x, *rest], c.kwargs), c.what)
    options = {k: _concrete(c, v) for k, v in c.kwargs.items()}
    return c.again([_concrete(c, a) for a in c.args], options)


def _concrete(c: _Call, v: Value) -> Value:
    return concrete(c.ctx, v, c.node, c.what) if isinstance(v, Masked) else v


def _elementwise_call(c: _Call) -> Value:
    if any(isinstance(v, Masked) for v in c.kwargs.values()):
        return NotImplemented
    places = [i for i, a in enumerate(c.args) if isinstance(a, Masked) or is_runtime(a)]

    def filled_in(*wholes: Value) -> Value:
        new = list(c.args)
        for i, w in zip(places, wholes, strict=True):
            new[i] = w
        return c.again(new, c.kwargs)

    return elementwise(c.ctx, filled_in, [c.args[i] for i in places], c.node, c.what)


def _reduction(c: _Call, s: Masked) -> Value:
    if len(c.args) > 2 or not set(c.kwargs) <= {"axis", "dtype", "keepdims"}:
        return NotImplemented
    axis = {"axis": c.args[1]} if len(c.args) == 2 else {}
    return reduced(c.ctx, c.name, s, c.node, **{**c.kwargs, **axis})


def _flip(c: _Call, s: Masked) -> Value:
    if len(c.args) != 1 or len(s.parts) != 1 or c.kwargs:
        return NotImplemented
    backwards = reversed_(c.ctx, s, c.node)
    return NotImplemented if backwards is None else backwards


def _norm(c: _Call, s: Masked) -> Value:
    """Of all that is selected, the rest being 0; along an axis that is whole, of each line that is selected."""
    ctx = c.ctx
    if len(c.args) <= 2 and set(c.kwargs) <= {"ord"}:
        if len(s.parts) != s.whole.aval.ndim:
            return NotImplemented
        return c.again([Ref(ctx.cell(_zeroed(ctx, s))), *c.args[1:]], c.kwargs)
    if len(c.args) != 1 or type(c.kwargs.get("axis")) is not int:
        return NotImplemented
    axis = make.normalize_axis(c.kwargs["axis"], len(s.parts))
    if s.parts[axis] is not None or any(width_of(p) != 1 for p in s.parts):
        return NotImplemented
    lengths = ctx.atom(c.of_whole(s, **{**c.kwargs, "axis": axis}))
    instead = [FULL] if c.kwargs.get("keepdims") else []
    return _selected(ctx, lengths, (*s.parts[:axis], *instead, *s.parts[axis + 1 :]))


def _running(c: _Call, s: Masked) -> Value:
    """np.cumsum(s), np.cumprod(s)."""
    if len(c.args) != 1 or c.kwargs or not len(s.parts) == s.whole.aval.ndim == 1:
        return NotImplemented
    neutral = 0 if c.name == "cumsum" else 1
    whole = filled(c.ctx, condition(c.ctx, s), c.ctx.read(s.whole), neutral)
    return Masked(c.again([Ref(c.ctx.cell(whole))], {}), s.parts)


def _diff(c: _Call, s: Masked) -> Value:
    return _steps(c, s, ast.Sub) if len(c.args) == len(s.parts) == 1 and not c.kwargs else NotImplemented


def _steps(c: _Call, s: Masked, kind: type[ast.operator]) -> Value:
    """s[1:] op s[:-1]."""
    later, earlier = (index_selection(c.ctx, s, part, c.node) for part in (slice(1, None), slice(None, -1)))
    return c.ctx.binary(kind, later, earlier, c.node)


def _trapezoid(c: _Call, y: Masked) -> Value:
    if len(c.args) > 2 or len(y.parts) != 1 or not set(c.kwargs) <= {"x"}:
        return NotImplemented
    x = c.kwargs.get("x", c.args[1] if len(c.args) == 2 else None)
    sums = _steps(c, y, ast.Add)
    if x is not None:
        sums = c.ctx.binary(ast.Mult, sums, c.ctx.call(np.diff, [x], {}, c.node), c.node)
    return c.ctx.binary(ast.Mult, reduced(c.ctx, "sum", sums, c.node), 0.5, c.node)


def _like(c: _Call, s: Masked) -> Value:
    """np.zeros_like(s) and the like: all alike, selected as `s` is."""
    if len(c.args) != 1 or not set(c.kwargs) <= {"dtype"}:
        return NotImplemented
    return Masked(c.of_whole(s, **c.kwargs), s.parts)


def _same(c: _Call, s: Masked) -> Value:
    """np.asarray(s), s.ravel(), s.copy() and the like: the selection itself, a view of it, or a copy."""
    changes_axes = c.name in ("ravel", "flatten") and len(s.parts) != 1
    changes_elements = c.name == "real" and s.whole.aval.dtype.kind == "c"
    if len(c.args) != 1 or c.kwargs or changes_axes or changes_elements:
        return NotImplemented
    views = ("ravel", "ascontiguousarray")
    if c.name in ("asarray", "real") or (c.name in views and len(s.parts) == 1 and isinstance(s.parts[0], Places)):
        return s
    copied = Ref(c.ctx.cell(c.ctx.read(s.whole)))
    if c.name in views:
        shadowed(s, copied)
    return Masked(copied, s.parts)


def _transformed(handler: _Handler) -> _Handler:
    """The handler in what is differentiated or batched alone."""
    return lambda c, s: handler(c, s) if c.ctx.transforms else NotImplemented


def _quantile_call(c: _Call, s: Masked) -> Value:
    if c.kwargs.keys() - {"q", "method"}:
        return NotImplemented
    return _quantile(c.ctx, s, c.name, c.args[1:], c.kwargs, c.node)


def _sort(c: _Call, s: Masked) -> Value:
    if len(c.args) != 1 or isinstance(c.f, str):  # the method writes
        return NotImplemented
    return _sorted(c.ctx, s, lambda x: c.again(x, c.kwargs))


def _argsort(c: _Call, s: Masked) -> Value:
    return NotImplemented if len(c.args) != 1 or c.kwargs.keys() - {"kind", "stable"} else _order(c.ctx, s, c.node)


def _reshape(c: _Call, s: Masked) -> Value:
    return NotImplemented if len(c.args) < 2 or c.kwargs else _as_column(c.ctx, s, c.args[1:], c.node)


_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(_reductions, _reduction),
    "flip": _flip,
    "norm": _norm,
    **dict.fromkeys(("cumsum", "cumprod"), _running),
    "diff": _diff,
    **dict.fromkeys(("trapezoid", "trapz"), _trapezoid),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like"), _like),
    **dict.fromkeys(("copy", "asarray", "ascontiguousarray", "array", "ravel", "flatten", "real"), _same),
    **dict.fromkeys(_QUANTILES, _transformed(_quantile_call)),
    "sort": _transformed(_sort),
    "argsort": _transformed(_argsort),
    "reshape": _transformed(_reshape),
}
