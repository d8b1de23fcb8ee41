"""Recognising np.roll, np.cross, norms and extremes of numbers in the operations that they are made of.

    np.concatenate([x[n - k :], x[: n - k]])                                   np.roll(x, k)
    np.array([x[1] * y[2] - x[2] * y[1], ..., x[0] * y[1] - x[1] * y[0]])      np.cross(x, y)

    np.where(s == 0, 0.0, np.sqrt(np.where(s == 0, 1.0, s)))                   np.linalg.norm(x), of s = np.sum(x * x)

    np.where(np.all(np.isnan(x)), nan, np.max(np.where(np.isnan(x), -inf, x)))     np.nanmax(x)

They print under their names, and their derivatives are of their kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import make, ops
from .builder import Builder
from .ir import Apply, Atom, Const, Var, is_number
from .ops.core import At, AxesAttrs, ConcatenateAttrs, Dim, IndexAttrs, Op, Run

Maker = Callable[[Var], Apply | None]


class Rolled(NamedTuple):
    x: Atom
    shift: int
    axis: int


def rolled(s: Apply, maker: Maker) -> Rolled | None:
    """What `s` rolls, by less than its length."""
    if not isinstance(s.attrs, ConcatenateAttrs) or len(s.args) != 2:
        return None
    axis, shape = s.attrs.axis, s.targets[0].aval.shape
    tail, head = (_made(a, ops.INDEX, maker) for a in s.args)
    if tail is None or head is None or len(tail.args) != 1 or len(head.args) != 1:
        return None
    x = tail.args[0]
    if head.args[0] is not x or x.aval != s.targets[0].aval:
        return None
    k = s.args[0].aval.shape[axis]
    wanted = along(shape, axis, Run(shape[axis] - k, k)), along(shape, axis, Run(0, shape[axis] - k))
    return Rolled(x, k, axis) if (tail.attrs, head.attrs) == tuple(map(IndexAttrs, wanted)) else None


def roll(b: Builder, x: Atom, shift: int, axis: int) -> Atom:
    n = x.aval.shape[axis]
    k = shift % n
    pieces = [make.index(b, x, along(x.aval.shape, axis, run), ()) for run in (Run(n - k, k), Run(0, n - k))]
    return make.concatenate(b, pieces, axis)


def crossed(s: Apply, maker: Maker) -> tuple[Atom, Atom] | None:
    """The two arrays of vectors, of the result's type, whose cross products `s` is."""
    out = s.targets[0].aval
    if not isinstance(s.attrs, ConcatenateAttrs) or s.attrs.axis != out.ndim - 1 or len(s.args) != 3:
        return None
    found: tuple[Atom, Atom] | None = None
    for i, a in enumerate(s.args):
        pair = _component(a, (i + 1) % 3, (i + 2) % 3, out.ndim, maker)
        if pair is None or (found is not None and (pair[0] is not found[0] or pair[1] is not found[1])):
            return None
        found = pair
    return found if found is not None and found[0].aval == found[1].aval == out else None  # so there are three each


def _component(a: Atom, j: int, k: int, ndim: int, maker: Maker) -> tuple[Atom, Atom] | None:
    """(x, y) where `a` is x[j] * y[k] - x[k] * y[j] with an axis for it."""
    widened = _made(a, ops.EXPAND_DIMS, maker)
    if widened is None or widened.attrs != AxesAttrs((ndim - 1,)):
        return None
    difference = _made(widened.args[0], ops.SUBTRACT, maker)
    if difference is None:
        return None
    products = [_made(p, ops.MULTIPLY, maker) for p in difference.args]
    if products[0] is None or products[1] is None:
        return None
    first, second = ([_element(f, maker) for f in p.args] for p in products if p is not None)
    for (x, m), (y, n) in (first, first[::-1]):
        if (m, n) == (j, k) and any((u is x, p, v is y, q) == (True, k, True, j) for (u, p), (v, q) in _ways(second)):
            return (x, y) if x is not None and y is not None else None
    return None


def _ways(pair: list[tuple[Atom | None, int]]) -> tuple[list[tuple[Atom | None, int]], ...]:
    return pair, pair[::-1]


def _element(a: Atom, maker: Maker) -> tuple[Atom | None, int]:
    """The array of which `a` is x[..., i], and i."""
    made = _made(a, ops.INDEX, maker)
    if made is None or len(made.args) != 1 or not isinstance(made.attrs, IndexAttrs):
        return None, -1
    *before, last = made.attrs.dims
    x = made.args[0]
    whole = before == [Run(0, n) for n in x.aval.shape[:-1]]
    return (x, last.index) if whole and isinstance(last, At) and isinstance(last.index, int) else (None, -1)


def cross(b: Builder, x: Atom, y: Atom) -> Atom:
    """The cross products of two arrays of vectors of one type, as `crossed` finds them."""
    axis = x.aval.ndim - 1
    xs, ys = ([make.index(b, v, along(v.aval.shape, axis, At(i)), ()) for i in range(3)] for v in (x, y))
    parts = []
    for j, k in ((1, 2), (2, 0), (0, 1)):
        part = make.subtract(b, make.multiply(b, xs[j], ys[k]), make.multiply(b, xs[k], ys[j]))
        parts.append(make.expand_dims(b, part, axis))
    return make.concatenate(b, parts, axis)


class Numbers(NamedTuple):
    """The extreme, `ops.MAX` or `ops.MIN`, of those elements of x that are not NaN; `parts` it is made of."""

    extreme: Apply
    x: Atom
    parts: tuple[Apply, ...]


def extreme_of_numbers(s: Apply, maker: Maker) -> Numbers | None:
    """Whether `s` is np.nanmax(x) or np.nanmin(x)."""
    if s.op is not ops.WHERE or not _is_filled(s.args[1], np.nan):
        return None
    every = _made(s.args[0], ops.ALL_, maker)
    extreme = _made(s.args[2], ops.MAX, maker) or _made(s.args[2], ops.MIN, maker)
    if every is None or extreme is None or every.attrs != extreme.attrs:
        return None
    missing, chosen = _made(every.args[0], ops.ISNAN, maker), _made(extreme.args[0], ops.WHERE, maker)
    if missing is None or chosen is None or chosen.args[0] is not every.args[0]:
        return None
    x = missing.args[0]
    found = chosen.args[2] is x and _is_filled(chosen.args[1], -np.inf if extreme.op is ops.MAX else np.inf)
    return Numbers(extreme, x, (every, extreme, missing, chosen)) if found and x.aval.dtype.kind == "f" else None


def _is_filled(a: Atom, number: float) -> bool:
    return isinstance(a, Const) and not a.aval.shape and bool(np.array_equal(a.value, number, equal_nan=True))


def guarded_root(s: Apply, maker: Maker) -> Atom | None:
    """Of what `s` is the square root, with derivative 0 at 0."""
    if s.op is not ops.WHERE or not is_number(s.args[1], 0.0):
        return None
    is_zero, root = _made(s.args[0], ops.EQUAL, maker), _made(s.args[2], ops.SQRT, maker)
    guarded = _made(root.args[0], ops.WHERE, maker) if root is not None else None
    if is_zero is None or guarded is None or guarded.args[0] is not s.args[0] or not is_number(guarded.args[1], 1.0):
        return None
    total = guarded.args[2]
    found = total is is_zero.args[0] and is_number(is_zero.args[1], 0) and total.aval == s.targets[0].aval
    return total if found else None


def along(shape: tuple[int, ...], axis: int, dim: Dim) -> tuple[Dim, ...]:
    """The whole of every axis but `axis`, which takes `dim`."""
    return tuple(dim if i == axis else Run(0, n) for i, n in enumerate(shape))


def _made(a: Atom, op: Op, maker: Maker) -> Apply | None:
    made = maker(a) if isinstance(a, Var) else None
    return made if made is not None and made.op is op else None
