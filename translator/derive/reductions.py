"""Derivatives of reductions and cumulative operations, to any order: rules made of operations that have rules.

    def f(x):                           def f_grad(x):
        return np.mean(x) * np.max(x)       t = np.max(x)
                                            t1 = x == t
                                            return np.mean(x) * (t1 / np.count_nonzero(t1)) + t / 5

Elements that are equally large share the cotangent of an extreme.
"""

from __future__ import annotations

import math

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, For, Range, Var, const
from ..named import along
from ..ops.core import At, CumulativeAttrs, Dyn, ReduceAttrs, Run
from ..ops.shapes import resized
from .cotangents import cast_like, materialise, product, strong, zeros


def reduce_vjp(b: Builder, s: Apply, ct: Atom) -> Atom:
    """The cotangent of the operand, lazily: for a sum it is that of the result, with the axes put back."""
    x, y = s.args[0], s.targets[0]
    spread = put_axes_back(b, s, ct)
    if s.op.name == "sum":
        return cast_like(b, spread, x.aval)
    partial = _product_of_others(b, s) if s.op.name == "prod" else _share_of_extreme(b, s, y)
    c = product(b, spread, partial)
    assert c is not None
    return cast_like(b, c, x.aval)


def reduce_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """The tangent of the result."""
    x, y = s.args[0], s.targets[0]
    attrs = s.attrs
    assert isinstance(attrs, ReduceAttrs)
    if s.op.name != "sum":
        partial = _product_of_others(b, s) if s.op.name == "prod" else _share_of_extreme(b, s, y)
        c = product(b, t, partial)
        assert c is not None
        t = c
    return cast_like(b, make.sum(b, materialise(b, t, strong(x.aval)), attrs.axes, attrs.keepdims), strong(y.aval))


def put_axes_back(b: Builder, s: Apply, c: Atom) -> Atom:
    """`c`, which broadcasts to the result, made to broadcast to the operand. Leading axes of size one stay implicit."""
    attrs = s.attrs
    assert isinstance(attrs, ReduceAttrs)
    if attrs.keepdims or not c.aval.shape:
        return c
    ndim = s.args[0].aval.ndim
    kept = [i for i in range(ndim) if i not in attrs.axes]
    lazy = (1,) * (len(kept) - c.aval.ndim) + c.aval.shape
    first = next((i for i, size in zip(kept, lazy, strict=True) if size != 1), ndim)
    sizes = dict(zip(kept, lazy, strict=True))
    goal = tuple(sizes.get(i, 1) for i in range(first, ndim))
    if goal == c.aval.shape:
        return c
    if c.aval.ndim == len(kept) - sum(1 for i in kept if i < first):
        return make.expand_dims(b, c, tuple(i - first for i in attrs.axes if i >= first))
    return make.reshape(b, c, goal)


def _share_of_extreme(b: Builder, s: Apply, y: Atom) -> Atom:
    """d max / d x: one where x is the extreme; ties share equally, as in JAX."""
    attrs, x = s.attrs, s.args[0]
    assert isinstance(attrs, ReduceAttrs)
    y = put_axes_back(b, s, y)
    mask = make.elementwise(b, ops.EQUAL, x, y)
    if x.aval.dtype != np.float64:  # to which the quotient of a bool and an integer belongs
        mask = make.astype(b, mask, x.aval.dtype)
    count = make.sum(b, mask, attrs.axes, keepdims=len(attrs.axes) < x.aval.ndim)
    return make.divide(b, mask, count)


def _product_of_others(b: Builder, s: Apply) -> Atom:
    """d prod / d x: the product of the elements before and of those after, right where elements are zero."""
    attrs, x = s.attrs, s.args[0]
    assert isinstance(attrs, ReduceAttrs)
    shape = x.aval.shape
    kept = tuple(i for i in range(len(shape)) if i not in attrs.axes)
    order = (*kept, *attrs.axes)
    n = math.prod(shape[i] for i in attrs.axes)
    flat = make.reshape(b, make.transpose(b, x, order), (*(shape[i] for i in kept), n))
    axis = len(kept)
    before = _exclusive_cumprod(b, flat, axis)
    after = flip(b, _exclusive_cumprod(b, flip(b, flat, axis), axis), axis)
    others = make.reshape(b, make.multiply(b, before, after), tuple(shape[i] for i in order))
    return make.transpose(b, others, tuple(order.index(i) for i in range(len(shape))))


def _exclusive_cumprod(b: Builder, x: Atom, axis: int) -> Atom:
    """1, x0, x0*x1, ...: the products of the elements before each."""
    shape = x.aval.shape
    if not shape[axis]:
        return x
    ones = make.full(b, resized(shape, axis, 1), const(1.0), x.aval.dtype)
    if shape[axis] == 1:
        return ones
    head = make.index(b, x, along(shape, axis, Run(0, shape[axis] - 1)), ())
    return make.concatenate(b, (ones, make.cumprod(b, head, axis)), axis)


def flip(b: Builder, x: Atom, axis: int) -> Atom:
    """x reversed along an axis."""
    n = x.aval.shape[axis]
    return make.index(b, x, along(x.aval.shape, axis, Run(n - 1, n, -1)), ()) if n else x


def cumulative_vjp(b: Builder, s: Apply, ct: Atom) -> Atom:
    """cumsum: the running sum from the end on. cumprod: see `_cumprod_vjp`."""
    attrs, x = s.attrs, s.args[0]
    assert isinstance(attrs, CumulativeAttrs)
    ct = materialise(b, ct, strong(s.targets[0].aval))
    if s.op.name == "cumsum":
        back = flip(b, make.cumsum(b, flip(b, ct, attrs.axis), attrs.axis), attrs.axis)
    else:
        back = _cumprod_vjp(b, s, ct, attrs.axis)
    return cast_like(b, back, x.aval)


def cumulative_jvp(b: Builder, s: Apply, t: Atom) -> Atom:
    """cumsum is linear; for cumprod see `_cumprod_jvp`."""
    attrs, x, y = s.attrs, s.args[0], s.targets[0]
    assert isinstance(attrs, CumulativeAttrs)
    t = materialise(b, t, strong(x.aval))
    if s.op.name == "cumsum":
        return cast_like(b, make.cumsum(b, t, attrs.axis), strong(y.aval))
    return _cumprod_jvp(b, s, t, attrs.axis)


def _cumprod_jvp(b: Builder, s: Apply, t: Atom, axis: int) -> Atom:
    """dy[k] = dy[k-1] * x[k] + t[k] * y[k-1]: no division, so zeros are harmless."""
    x, y = s.args[0], s.targets[0]
    before = _exclusive(b, y, axis)
    drive = make.multiply(b, t, before)
    return _recurrence(b, drive, x, y.aval, axis, reverse=False)


def _cumprod_vjp(b: Builder, s: Apply, ct: Atom, axis: int) -> Atom:
    """g[k] = ct[k] + g[k+1] * x[k+1], and the cotangent of x[k] is g[k] * y[k-1]."""
    x, y = s.args[0], s.targets[0]
    shape = y.aval.shape
    n = shape[axis]
    if n < 2:
        return ct
    tail = make.index(b, x, along(shape, axis, Run(1, n - 1)), ())
    last = make.full(b, resized(shape, axis, 1), const(0.0), x.aval.dtype)
    following = make.concatenate(b, (tail, last), axis)
    g = _recurrence(b, ct, following, y.aval, axis, reverse=True)
    return make.multiply(b, g, _exclusive(b, y, axis))


def _exclusive(b: Builder, y: Atom, axis: int) -> Atom:
    """The cumulative product before each element: 1, y0, y1, ..."""
    shape = y.aval.shape
    ones = make.full(b, resized(shape, axis, min(1, shape[axis])), const(1.0), y.aval.dtype)
    if shape[axis] < 2:
        return ones
    return make.concatenate(b, (ones, make.index(b, y, along(shape, axis, Run(0, shape[axis] - 1)), ())), axis)


def _recurrence(b: Builder, drive: Atom, x: Atom, aval: Aval, axis: int, reverse: bool) -> Atom:
    """The solution of r[k] = r[k-1] * x[k] + drive[k] (r[k+1] when reversed), as a loop along the axis."""
    shape = aval.shape
    n = shape[axis]
    row = Aval(resized(shape, axis, 1)[:axis] + shape[axis + 1 :], aval.dtype)
    inner = Builder(b.span)
    k = Var("k", const(0).aval)
    state, out = Var("r", row), Var("d_y", strong(aval))
    here = along(shape, axis, At(Dyn(0)))
    step = make.multiply(inner, state, make.index(inner, x, here, (k,)))
    state2 = cast_like(inner, make.add(inner, step, make.index(inner, drive, here, (k,))), row)
    out2 = make.put(inner, out, state2, here, (k,))
    body = inner.block((k, state, out), (state2, out2))
    final, result = Var("r", row), Var("d_y", strong(aval))
    inits = (zeros(b, row), zeros(b, strong(aval)))
    b.append(For((final, result), Range(const(0), const(n), const(1), reverse), inits, body, span=b.span))
    return result
