"""Lists whose length only the run knows, in what is differentiated or batched, of which CPython can run no part.

    xs = [x]                            rows = np.empty((4096,))
    while xs[-1] < 10.0:                rows[0] = x
        xs.append(1.5 * xs[-1])         count = 1
    return sum(xs)                      while rows[count - 1] < 10.0:
                                            rows[count] = 1.5 * rows[count - 1]
                                            count += 1
                                        return np.sum(rows[:count])

A list that turns out to change its length by the data is read again as such a pile: rows of an array, of which the
first are on the list. NumPy's functions take it as the slice of these rows. All elements are numbers or arrays of one
type, or tuples of such, of which there are rows each. More elements than there are rows raise OverflowError.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from ... import make
from ...ir import Atom, Aval
from ...library.ordering import keys_of
from ...ops.core import promote
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import refuse_undefined, static, static_int
from ..core.detours import Entry, Lengthened, Restart
from ..core.growing import Facts, Pile, has_grown
from ..core.values import FULL, Bounds, Masked, Ref, Undefined, Value, describe, is_runtime, leaves_in
from .array_stores import store_array
from .indexing import indexed

MANY, FEW = 4096, 256  # rows: of numbers and small arrays, of large ones
LARGE = 1 << 22  # bytes

Kind = Aval | tuple["Kind", ...]
"""Of an element: a number or array, or a tuple of such."""


def pile(ctx: Context, node: ast.AST, items: list[Value]) -> Pile:
    """The list made at a place where one turned out to grow."""
    entries = [e.kind for e in ctx.loops.unroll if isinstance(e, Entry) and e.site is node]
    kinds = [k for k in entries if k is not None] + [_kind_of(ctx, v, node) for v in items]
    kind = reduce(lambda x, y: _joined(ctx, x, y, node), kinds) if kinds else None
    made = Pile(Facts(node, kind, 0 if None in entries else len(items)))
    if kind is not None:
        n = _room(kind)
        rows = _built(kind, lambda a: Ref(ctx.cell(_ones(ctx, n, a))))
        ctx.set_attribute(made, "rows", rows)
    for v in items:
        append(ctx, made, v, node)
    return made


def list_of(ctx: Context, node: ast.AST, items: list[Value]) -> list[Value] | Pile:
    """What the place of the source makes: a pile, if the list has turned out to be one."""
    return pile(ctx, node, items) if has_grown(ctx, node, items) else items


def _room(kind: Kind) -> int:
    """How many rows there are for a list that grows."""
    size = sum(a.nbytes for a in _leaves(kind))
    return MANY if size * MANY <= LARGE else max(FEW, LARGE // size)


def _ones(ctx: Context, n: int, aval: Aval) -> Atom:
    return make.full(ctx.b, (n, *aval.shape), 1, aval.dtype)


def _kind_of(ctx: Context, v: Value, node: ast.AST) -> Kind:
    if type(v) is tuple and v:
        return tuple(_kind_of(ctx, x, node) for x in v)
    if is_runtime(v) or isinstance(v, bool | int | float | complex | np.generic):
        aval = ctx.atom(v).aval
        if aval.dtype.kind in "iufcb":
            return aval
    return _refuse(ctx, node, f"{describe(v)} on a list whose length depends on the data")


def _joined(ctx: Context, x: Kind, y: Kind, node: ast.AST) -> Kind:
    """The kind of elements of two kinds, which may differ in their dtypes."""
    if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
        return tuple(_joined(ctx, a, b, node) for a, b in zip(x, y, strict=True))
    if isinstance(x, tuple) or isinstance(y, tuple) or x.shape != y.shape:
        return _refuse(ctx, node, "what differs in shape on a list whose length depends on the data")
    if x.weak is not y.weak and np.promote_types(x.dtype, y.dtype) != promote([x, y]):
        return _refuse(ctx, node, "Python's numbers beside narrower ones on a list whose length depends on the data")
    return Aval(x.shape, np.dtype(promote([x, y])), weak=x.weak and y.weak)


def _leaves(kind: Kind) -> Iterator[Aval]:
    if not isinstance(kind, tuple):
        yield kind
        return
    for k in kind:
        yield from _leaves(k)


def _built(kind: Kind, leaf: Callable[..., Any], *parts: Any) -> Any:
    """leaf(aval, *parts) for each leaf of a kind, in its tuples; of what is in tuples like it."""
    if not isinstance(kind, tuple):
        return leaf(kind, *parts)
    return tuple(_built(k, leaf, *xs) for k, *xs in zip(kind, *parts, strict=True))


def _copied(ctx: Context, p: Pile) -> Pile:
    return Pile(p.facts(), _rows(ctx, p, ctx.read), p.count)


def _rows(ctx: Context, p: Pile, change: Callable[[Ref], Any]) -> Any:
    return None if p.kind is None else _built(p.kind, lambda _, x: Ref(ctx.cell(change(x))), _held(ctx, p))


# ---- what is done with them ----------------------------------------------------------------------


def append(ctx: Context, p: Pile, v: Value, node: ast.AST) -> None:
    _make_room(ctx, p, v, node)
    _put(ctx, p, p.count, v, node)
    _counted(ctx, p, 1)


def _make_room(ctx: Context, p: Pile, v: Value, node: ast.AST) -> None:
    _check_kind(ctx, p, v, node)
    n = _most(ctx, p)
    ctx.at(node)
    if n < _room(p.kind):
        _lengthen(ctx, p)
    full = make.greater_equal(ctx.b, ctx.atom(p.count), n)
    make.raise_if(ctx.b, full, OverflowError, f"a list grows over {n} elements, more than a derivative or batch keeps")


def _most(ctx: Context, p: Pile) -> int:
    return next(_all_rows(ctx, p)).aval.shape[0]


def _lengthen(ctx: Context, p: Pile) -> None:
    """Start again with slices that have as many rows as the list: the rows of others are no more than they may need."""
    if Lengthened(p.site) not in ctx.loops.unroll:
        raise Restart(loops=frozenset({Lengthened(p.site)}), afresh=True)


def _with_room(ctx: Context, p: Pile, rows: Atom) -> Atom:
    """The rows of a slice."""
    n, *others = rows.aval.shape
    if Lengthened(p.site) not in ctx.loops.unroll or n >= (room := _room(p.kind)):
        return rows
    return make.concatenate(ctx.b, [rows, _ones(ctx, room - n, Aval(tuple(others), rows.aval.dtype))], 0)


def _held(ctx: Context, p: Pile) -> Any:
    """The rows, which are not known where a slice with fewer of them is left by a branch or a turn."""
    for x in leaves_in(p.rows):
        if type(x) is Undefined:
            _lengthen(ctx, p)
            refuse_undefined(ctx, x, label="a list whose length depends on the data")
    return p.rows


def _check_kind(ctx: Context, p: Pile, v: Value, node: ast.AST) -> None:
    """Start again where the rows do not hold such an element as it is."""
    kind = _kind_of(ctx, v, node)
    if p.kind is None or _joined(ctx, p.kind, kind, node) != p.kind:
        raise Restart(loops=frozenset({Entry(p.site, kind)}), afresh=True)


def _put(ctx: Context, p: Pile, at: Value, v: Value, node: ast.AST) -> None:
    def put(_: Aval, rows: Ref, x: Value) -> None:
        if type(x) is Ref:
            for cell in x.cell.group:
                cell.ambiguous = cell.ambiguous or SHARED
        store_array(ctx, rows, at, x, node)

    _built(p.kind, put, _held(ctx, p), v)


def _all_rows(ctx: Context, p: Pile) -> Iterator[Ref]:
    found: list[Ref] = []
    _built(p.kind, lambda _, x: found.append(x), _held(ctx, p))
    return iter(found)


SHARED = "it is an element of a list, too"


def _counted(ctx: Context, p: Pile, step: int) -> None:
    ctx.set_attribute(p, "count", ctx.wrap(make.add(ctx.b, ctx.atom(p.count), step)))


def _shrinks(p: Pile) -> None:
    """Elements are taken away: from now on none is certain to be there."""
    if p.least:
        raise Restart(loops=frozenset({Entry(p.site, None)}), afresh=True)


def place(ctx: Context, p: Pile, key: Value, node: ast.AST) -> Value:
    """Where element number `key` is. IndexError where there is none."""
    b, count, k = ctx.b, ctx.atom(p.count), ctx.atom(key)
    if k.aval.shape or k.aval.dtype.kind not in "iu":
        _refuse(ctx, node, f"a list whose length depends on the data, indexed by {describe(key)}")
    ctx.at(node)
    if isinstance(key, int | np.integer):
        found = key if key >= 0 else make.add(b, count, int(key))
        if not -p.least <= key < p.least:
            outside = make.less(b, count, -int(key) if key < 0 else int(key) + 1)
            make.raise_if(b, outside, IndexError, "list index out of range")
        return found if isinstance(found, int) else ctx.wrap(found)
    at = make.where(b, make.less(b, k, 0), make.add(b, count, k), k)
    outside = make.logical_or(b, make.less(b, at, 0), make.greater_equal(b, at, count))
    make.raise_if(b, outside, IndexError, "list index out of range")
    return ctx.wrap(at)


def item(ctx: Context, p: Pile, key: Value, node: ast.AST) -> Value:
    """`xs[key]`, also of slices with known ends."""
    if p.kind is None:
        raise IndexError("list index out of range")
    if type(key) is slice:
        return _sliced(ctx, p, key, node)
    return element(ctx, p, place(ctx, p, key, node), node)


def element(ctx: Context, p: Pile, at: Value, node: ast.AST) -> Value:
    """What is at a place that is known to be on the list."""

    def read(aval: Aval, rows: Ref) -> Value:
        v = indexed(ctx, rows, at, node)
        if aval.weak:
            return ctx.wrap(as_python(ctx.b, ctx.atom(v)))
        if type(v) is not Ref or not aval.shape:
            return v
        made = Ref(ctx.cell(ctx.read(v)))  # the row as it is now; it is the list's, and nobody may write it elsewhere
        made.cell.ambiguous = SHARED
        return made

    return _built(p.kind, read, _held(ctx, p))


def all_items(ctx: Context, p: Pile, node: ast.AST) -> list[Value]:
    """All elements, where it is known how many there are."""
    n = static_int(ctx, p.count, node, "the length of a list")
    return [element(ctx, p, k, node) for k in range(n)]


def _sliced(ctx: Context, p: Pile, key: slice, node: ast.AST) -> Value:
    """A list of its own, by known ends: `xs[j:k]`, `xs[:-k]`, `xs[-k:]`, `xs[j:-k]`."""
    first, last = key.start or 0, key.stop
    if type(first) is not int or (last is not None and type(last) is not int) or key.step not in (None, 1):
        _refuse(ctx, node, "a slice by such ends of a list whose length depends on the data")
    b, count = ctx.b, ctx.atom(p.count)
    if first < 0:
        if last is not None:
            _refuse(ctx, node, "a slice from the end on that ends earlier, of a list whose length depends on the data,")
        start = make.maximum(b, make.add(b, count, first), 0)
        places = ctx.wrap(make.add(b, make.iota(b, -first), start))
        rows = _rows(ctx, p, lambda x: _with_room(ctx, p, ctx.read(indexed(ctx, x, places, node))))
        return Pile(Facts(p.site, p.kind, min(p.least, -first)), rows, ctx.wrap(make.subtract(b, count, start)))
    end = count if last is None else make.add(b, count, last) if last < 0 else make.minimum(b, count, last)
    least = p.least if last is None else p.least + last if last < 0 else min(p.least, last)
    part = slice(first, None)
    rows = _rows(ctx, p, lambda x: _with_room(ctx, p, ctx.read(indexed(ctx, x, part, node))))
    left = make.maximum(b, make.subtract(b, end, first), 0)
    return Pile(Facts(p.site, p.kind, max(least - first, 0)), rows, ctx.wrap(left))


def store(ctx: Context, p: Pile, key: Value, v: Value, node: ast.AST) -> None:
    """`xs[key] = v`."""
    _check_kind(ctx, p, v, node)
    _put(ctx, p, place(ctx, p, key, node), v, node)


def call_method(
    ctx: Context, p: Pile, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    if kwargs.keys() - ({"reverse", "key"} if name == "sort" else ()):
        _refuse(ctx, node, f"`.{name}` with these options of a list whose length depends on the data")
    match name, args:
        case "append", [v]:
            append(ctx, p, v, node)
            return None
        case "extend", [list() as vs]:
            for v in vs:
                append(ctx, p, v, node)
            return None
        case "pop", [] | [_]:
            _shrinks(p)
            at = place(ctx, p, args[0] if args else -1, node)
            taken = element(ctx, p, at, node)
            if args:
                behind = make.greater_equal(ctx.b, _numbers(ctx, p), ctx.atom(at))
                _move(ctx, p, make.add(ctx.b, _numbers(ctx, p), make.astype(ctx.b, behind, np.int64)), node)
            _counted(ctx, p, -1)
            return taken
        case "insert", [key, v]:
            _insert(ctx, p, key, v, node)
            return None
        case "reverse", []:
            _reverse(ctx, p, node)
            return None
        case "sort", []:
            _sort(ctx, p, node, **kwargs)
            return None
        case "copy", []:
            return _copied(ctx, p)
        case "clear", []:
            _shrinks(p)
            ctx.set_attribute(p, "count", 0)
            return None
    return _refuse(ctx, node, f"`.{name}` of a list whose length depends on the data")


# ---- elements change their places ------------------------------------------------------------------


def _numbers(ctx: Context, p: Pile) -> Atom:
    return make.iota(ctx.b, _most(ctx, p))


def _move(ctx: Context, p: Pile, places: Atom, node: ast.AST) -> None:
    """Each element becomes that of the place given for it; places behind the last row mean the last."""
    inside = ctx.wrap(make.minimum(ctx.b, places, _most(ctx, p) - 1))
    for rows in _all_rows(ctx, p):
        store_array(ctx, rows, slice(None), indexed(ctx, rows, inside, node), node)


def _insert(ctx: Context, p: Pile, key: Value, v: Value, node: ast.AST) -> None:
    """`xs.insert(key, v)`: at an end, where the key is behind that."""
    _make_room(ctx, p, v, node)
    b, k, count = ctx.b, ctx.atom(key), ctx.atom(p.count)
    if k.aval.shape or k.aval.dtype.kind not in "iu":
        _refuse(ctx, node, f"`.insert` at {describe(key)} of a list whose length depends on the data")
    at = make.where(b, make.less(b, k, 0), make.maximum(b, make.add(b, count, k), 0), make.minimum(b, k, count))
    behind = make.greater(b, _numbers(ctx, p), at)
    _move(ctx, p, make.subtract(b, _numbers(ctx, p), make.astype(b, behind, np.int64)), node)
    _put(ctx, p, ctx.wrap(at), v, node)
    _counted(ctx, p, 1)


def _reverse(ctx: Context, p: Pile, node: ast.AST) -> None:
    if p.kind is None:
        return
    b, count, numbers = ctx.b, ctx.atom(p.count), _numbers(ctx, p)
    turned = make.subtract(b, make.subtract(b, count, 1), numbers)
    _move(ctx, p, make.where(b, make.less(b, numbers, count), turned, numbers), node)


def _sort(ctx: Context, p: Pile, node: ast.AST, reverse: Value = False, key: Value = None) -> None:
    """By numbers, and tuples of such. NaN goes last, where Python leaves the order of all open; equal ones stay in
    their order either way.
    """
    if p.kind is None:
        return
    backwards = static(ctx, reverse, node, "reverse")
    if backwards:
        _reverse(ctx, p, node)
    keys = p if key is None else ctx.call(keys_of, [p, key], {}, node)
    kinds = keys.kind if isinstance(keys.kind, tuple) else (keys.kind,)
    if any(isinstance(k, tuple) or k.shape or k.dtype.kind == "c" for k in kinds):
        _refuse(ctx, node, "the order of such elements of a list whose length depends on the data")
    unused = ctx.wrap(make.greater_equal(ctx.b, _numbers(ctx, p), ctx.atom(p.count)))
    columns = [indexed(ctx, rows, slice(0, _most(ctx, p)), node) for rows in _all_rows(ctx, keys)]
    order = ctx.call(np.lexsort, [(*reversed(columns), unused)], {}, node)
    _move(ctx, p, ctx.atom(order), node)
    if backwards:
        _reverse(ctx, p, node)


def _first_by(ctx: Context, p: Pile, key: Value, largest: bool, node: ast.AST) -> Value:
    """max(xs, key=key) and min: the first of several."""
    made = _copied(ctx, p)
    _sort(ctx, made, node, largest, key)
    return item(ctx, made, 0, node)


# ---- functions of them ---------------------------------------------------------------------------


def added(ctx: Context, p: Pile, other: Value, node: ast.AST) -> Value:
    """xs + [...]."""
    if type(other) is not list:
        _refuse(ctx, node, f"a list whose length depends on the data and {describe(other)}")
    made = _copied(ctx, p)
    for v in other:
        append(ctx, made, v, node)
    return made


def call(ctx: Context, f: Any, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
    """f(xs, ...) where Python's functions and np.array take the list as it is; NotImplemented for others."""
    if not args or type(args[0]) is not Pile:
        return NotImplemented
    p, *rest = args
    if f is np.vstack and (not isinstance(p.kind, Aval) or len(p.kind.shape) != 1):
        _refuse(ctx, node, "np.vstack of such elements on a list whose length depends on the data")
    if f in (np.concatenate, np.hstack) and not rest and not kwargs and isinstance(p.kind, Aval):
        axes = len(p.kind.shape)
        if axes == 1 or (axes > 1 and f is np.concatenate):
            return _one_behind_another(ctx, p, node)
        f = np.array if axes == 0 and f is np.hstack else f
    if f in (*_ARRAYS, np.vstack) and not rest and not kwargs.keys() - {"dtype"}:
        made = selection_of(ctx, f, p, node)
        dtype = kwargs.get("dtype")
        return made if dtype is None else ctx.call(np.astype, [made, dtype], {}, node)
    if f in (list, tuple) and not rest and not kwargs:
        return _copied(ctx, p)
    if f is sorted and not rest and not kwargs.keys() - {"reverse", "key"}:
        made = _copied(ctx, p)
        _sort(ctx, made, node, **kwargs)
        return made
    if f in (any, all) and not rest and not kwargs and isinstance(p.kind, Aval) and not p.kind.shape:
        return ctx.call(np.any if f is any else np.all, [selection_of(ctx, f, p, node)], {}, node)
    if f is sum and not kwargs and len(rest) < 2:
        if any(k.dtype.kind in "iu" and k.dtype != np.int64 for k in _leaves(p.kind or ())):
            _refuse(ctx, node, "sum() of narrow integers, which Python adds in their own dtype,")
        total = _reduced(ctx, np.sum, p, node)
        return ctx.call(operator.add, [*rest, total], {}, node) if rest else total
    if f in _EXTREMES and not rest and not kwargs.keys() - {"key"}:
        if not p.least:
            make.raise_if(ctx.b, make.equal(ctx.b, ctx.atom(p.count), 0), ValueError, f"{f.__name__}() arg is empty")
        key = kwargs.get("key")
        if key is not None or not isinstance(p.kind, Aval):
            return _first_by(ctx, p, key, f is max, node)
        if p.kind.shape:
            return NotImplemented
        return _reduced(ctx, _EXTREMES[f], p, node)
    return NotImplemented


_ARRAYS = (np.array, np.asarray, np.asanyarray, np.stack)
_EXTREMES = {max: np.max, min: np.min}


def _reduced(ctx: Context, f: Any, p: Pile, node: ast.AST) -> Value:
    """Over the elements; of Python's numbers it is one."""
    if p.kind is None:
        return 0
    elements = selection_of(ctx, f, p, node)
    if f is not np.sum and isinstance(p.kind, Aval) and p.kind.dtype.kind == "f":  # NaN behind the first is passed over
        nan = ctx.call(np.isnan, [elements], {}, node)
        elements = ctx.call(np.where, [nan, item(ctx, p, 0, node), elements], {}, node)
    found = ctx.call(f, [elements], {"axis": 0}, node)
    return ctx.wrap(as_python(ctx.b, ctx.atom(found))) if isinstance(p.kind, Aval) and p.kind.weak else found


def selection_of(ctx: Context, f: Any, p: Pile, node: ast.AST) -> Value:
    """The array that NumPy's function makes of the list: as many rows as there are elements. The other rows are ones,
    of which most functions have values and slopes.
    """
    if f in _OF_ARRAYS:
        _refuse(ctx, node, f"np.{f.__name__} of a list whose length depends on the data")
    b, parts = ctx.b, [] if p.kind is None else [ctx.read(x) for x in _all_rows(ctx, p)]
    if not parts or len({a.aval.shape for a in parts}) > 1 or any(isinstance(k, tuple) for k in _entries(p.kind)):
        _refuse(ctx, node, "an array of a list whose length depends on the data, and of such elements,")
    if isinstance(p.kind, tuple):
        dtype = promote([a.aval for a in parts])
        parts = [make.expand_dims(b, make.astype(b, a, dtype), 1) for a in parts]
    return _first(ctx, make.concatenate(b, parts, 1) if isinstance(p.kind, tuple) else parts[0], p.count, node)


def _one_behind_another(ctx: Context, p: Pile, node: ast.AST) -> Value:
    """np.concatenate of a list of arrays of one shape."""
    (rows,) = (ctx.read(x) for x in _all_rows(ctx, p))
    n, m, *others = rows.aval.shape
    count = ctx.wrap(make.multiply(ctx.b, ctx.atom(p.count), m))
    return _first(ctx, make.reshape(ctx.b, rows, (n * m, *others)), count, node)


def _first(ctx: Context, rows: Atom, count: Value, node: ast.AST) -> Value:
    if type(count) is int:
        return indexed(ctx, Ref(ctx.cell(rows)), slice(0, count), node)
    n, *others = rows.aval.shape
    b = ctx.b
    used = make.expand_dims(b, make.less(b, make.iota(b, n), ctx.atom(count)), tuple(range(1, 1 + len(others))))
    whole = Ref(ctx.cell(make.where(b, used, rows, rows.aval.dtype.type(1))))
    return Masked(whole, (Bounds(0, count, 1, n), *[FULL] * len(others)))


def _entries(kind: Kind) -> tuple[Kind, ...]:
    return kind if isinstance(kind, tuple) else ()


_OF_ARRAYS = (np.concatenate, np.hstack, np.column_stack, np.dstack, np.block, np.select, np.ix_)


def _refuse(ctx: Context, node: ast.AST, what: str) -> NoReturn:
    ctx.cut(
        node,
        f"{what} is not in the language of what is differentiated or batched",
        why="the list is rows of an array there, and a count",
        instead="keep an array of the final size and a count",
    )
