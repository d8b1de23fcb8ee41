"""Derivatives of the linear families: a change of axes, a product, a join, an index, a store. Each is transposed.

    def f(w, x):                                      def f_grad(w, x):
        y = w[1] @ x                                      d_w = np.zeros_like(w)
        return np.sum(np.concatenate([y, x]) * 2.0)       d_w[1] = np.outer(np.full(4, 2.0), x)
                                                          return d_w
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Apply, Atom, Aval, Const, Shape, Var, const
from ..named import along
from ..ops.core import (
    At,
    AxesAttrs,
    ConcatenateAttrs,
    ContractAttrs,
    CreateAttrs,
    Dim,
    Dyn,
    Gather,
    Index,
    IndexAttrs,
    Reduce,
    ReduceAttrs,
    Run,
    indexed_shape,
)
from .cotangents import cast_like, materialise, strong, unbroadcast, zeros


def reshape_vjp(b: Builder, s: Apply, ct: Atom, dtype: np.dtype[np.generic] | None = None) -> Atom:
    """The inverse change of axes; of broadcast_to, the sum. `ct` is of this dtype, or the result's."""
    x, y = s.args[0].aval, s.targets[0].aval
    y = Aval(y.shape, dtype or y.dtype)
    if s.op.name == "broadcast_to":
        return unbroadcast(b, ct, y.shape, x)
    if not ct.aval.shape:
        return ct
    if s.op.name == "expand_dims":
        assert isinstance(s.attrs, AxesAttrs)
        return _without_axes(b, ct, [a - (y.ndim - ct.aval.ndim) for a in s.attrs.axes])
    ct = materialise(b, ct, strong(y))
    if s.op.name == "transpose":
        assert isinstance(s.attrs, AxesAttrs)
        return make.transpose(b, ct, tuple(int(i) for i in np.argsort(s.attrs.axes)))
    if s.op.name == "squeeze":
        assert isinstance(s.attrs, AxesAttrs)
        return make.expand_dims(b, ct, s.attrs.axes)
    return make.reshape(b, ct, x.shape)


def _without_axes(b: Builder, ct: Atom, axes: list[int]) -> Atom:
    """`ct` without these axes of size 1; it lacks the negative ones, which broadcasting would put in front."""
    axes = [a for a in axes if a >= 0]
    made = b.definitions.get(ct) if isinstance(ct, Var) else None
    if made is not None and isinstance(made.op, Reduce) and made.attrs == ReduceAttrs(tuple(axes), keepdims=True):
        return make.reduce(b, made.op, made.args[0], axes)
    if made is not None and isinstance(made.op, Index) and (one := _one_element(made, axes)) is not None:
        return make.index(b, made.args[0], one, made.args[1:])
    return make.squeeze(b, ct, tuple(axes))


def _one_element(s: Apply, axes: list[int]) -> tuple[Dim, ...] | None:
    """The dims of an index that takes an element where `s` takes a run of one, along each of the axes of its result."""
    dims, _ = index_parts(s, 1)
    if len(axes) != 1 or not all(isinstance(d, Run) for d in dims):
        return None
    d = dims[axes[0]]
    assert isinstance(d, Run)
    return (*dims[: axes[0]], At(d.start), *dims[axes[0] + 1 :])


def contract_vjp(b: Builder, s: Apply, ct: Atom, i: int) -> Atom:
    """The cotangent of argument `i`: the product of `ct` and the other one, relabelled; no conjugate, as in JAX."""
    attrs = s.attrs
    assert isinstance(attrs, ContractAttrs)
    ct = materialise(b, ct, strong(s.targets[0].aval))
    x, y = s.args
    if i == 0:
        return cast_like(b, make.contract(b, ct, y, attrs.out, attrs.rhs, attrs.lhs), x.aval)
    return cast_like(b, make.contract(b, x, ct, attrs.lhs, attrs.out, attrs.rhs), y.aval)


def is_square(s: Apply) -> bool:
    """`x @ x` of a vector: both operands contribute the same."""
    assert isinstance(s.attrs, ContractAttrs)
    return s.args[0] is s.args[1] and s.attrs.lhs == s.attrs.rhs


def contract_jvp(b: Builder, s: Apply, tangents: Sequence[Atom | None]) -> Atom | None:
    """The product rule: each operand in turn replaced by its tangent."""
    attrs = s.attrs
    assert isinstance(attrs, ContractAttrs)
    out: Atom | None = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        t = materialise(b, t, strong(s.args[i].aval))
        x, y = (t, s.args[1]) if i == 0 else (s.args[0], t)
        c = cast_like(b, make.contract(b, x, y, attrs.lhs, attrs.rhs, attrs.out), strong(s.targets[0].aval))
        out = c if out is None else make.add(b, out, c)
    return out


def concatenate_vjp(b: Builder, s: Apply, ct: Atom, i: int) -> Atom:
    """The piece of `ct` that stands where argument `i` went."""
    attrs = s.attrs
    assert isinstance(attrs, ConcatenateAttrs)
    x = s.args[i].aval
    if not ct.aval.shape:
        return cast_like(b, ct, x)
    ct = materialise(b, ct, strong(s.targets[0].aval))
    start = sum(a.aval.shape[attrs.axis] for a in s.args[:i])
    piece = make.index(b, ct, along(ct.aval.shape, attrs.axis, Run(start, x.shape[attrs.axis])), ())
    return cast_like(b, piece, x)


def concatenate_jvp(b: Builder, s: Apply, tangents: Sequence[Atom | None]) -> Atom | None:
    """The tangents joined as the parts are; zeros for a part without one."""
    attrs = s.attrs
    assert isinstance(attrs, ConcatenateAttrs)
    if all(t is None for t in tangents):
        return None
    parts = [materialise(b, t, strong(a.aval)) for t, a in zip(tangents, s.args, strict=True)]
    return cast_like(b, make.concatenate(b, parts, attrs.axis), strong(s.targets[0].aval))


def create_vjp(b: Builder, s: Apply, ct: Atom) -> Atom:
    """np.full: the value was broadcast."""
    assert isinstance(s.attrs, CreateAttrs)
    return unbroadcast(b, ct, s.attrs.shape, s.args[0].aval)


def index_parts(s: Apply, first: int) -> tuple[tuple[Dim, ...], tuple[Atom, ...]]:
    """The dims with their dynamic positions counted from 0, as `make` takes them, and the dynamic arguments."""
    assert isinstance(s.attrs, IndexAttrs)

    def shift(d: Dim) -> Dim:
        match d:
            case At(index=Dyn(arg=arg)):
                return At(Dyn(arg - first))
            case Run(start=Dyn(arg=arg), size=size, step=step):
                return Run(Dyn(arg - first), size, step)
            case Gather(arg=arg):
                return Gather(arg - first)
            case _:
                return d

    return tuple(shift(d) for d in s.attrs.dims), s.args[first:]


def put_vjp_base(b: Builder, s: Apply, ct: Atom) -> Atom:
    """The cotangent of the array stored into: what was overwritten has no influence."""
    if s.op.name == "put_add":
        return ct
    dims, dyn = index_parts(s, 2)
    base = s.args[0].aval
    return make.put(b, materialise(b, ct, strong(base)), const(0.0), dims, dyn)


def put_vjp_value(b: Builder, s: Apply, ct: Atom, distinct: bool) -> Atom:
    """The cotangent of the value stored: what stands at the index; of repeated indices the last store wins. `distinct`:
    it is known that none is repeated."""
    dims, dyn = index_parts(s, 2)
    base, value = s.args[0].aval, s.args[1].aval
    assert isinstance(s.attrs, IndexAttrs)
    shape = indexed_shape(s.attrs, [a.aval for a in s.args])
    if ct.aval.shape:
        ct = make.index(b, materialise(b, ct, strong(base)), dims, dyn)
    if s.op.name == "put" and not distinct and not _distinct(s):
        ct = make.multiply(b, ct, make.astype(b, _survivors(b, s, shape), base.dtype))
    while len(value.shape) > len(shape):
        value = type(value)(value.shape[1:], value.dtype)
    return unbroadcast(b, ct, shape, value)


def _distinct(s: Apply) -> bool:
    """True when no two positions of the index name one element, as far as is known before the run."""
    assert isinstance(s.attrs, IndexAttrs)
    gathers = [d for d in s.attrs.dims if isinstance(d, Gather)]
    if not gathers:
        return True
    arrays = [s.args[d.arg] for d in gathers]
    sizes = [n for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True) if isinstance(d, Gather)]
    if not all(isinstance(a, Const) for a in arrays):
        return all(a.aval.size == 1 for a in arrays)
    known = [np.asarray(a.value) % n for a, n in zip(arrays, sizes, strict=True) if isinstance(a, Const)]
    spread = np.broadcast_arrays(*known)
    rows = np.stack([a.ravel() for a in spread], axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)


def _survivors(b: Builder, s: Apply, shape: Shape) -> Atom:
    """Which of the stored elements are still there: store their numbers the same way, and look which one is found."""
    dims, dyn = index_parts(s, 2)
    int64 = np.dtype(np.int64)
    size = int(np.prod(shape, dtype=np.int64))
    numbers = make.reshape(b, make.iota(b, size, int64), shape)
    board = make.put(b, make.zeros(b, s.args[0].aval.shape, int64), numbers, dims, dyn)
    return make.elementwise(b, ops.EQUAL, make.index(b, board, dims, dyn), numbers)


def put_jvp(b: Builder, s: Apply, t: Atom | None, t_value: Atom | None) -> Atom | None:
    """The same store of the tangents."""
    if t is None and t_value is None:
        return None
    dims, dyn = index_parts(s, 2)
    base = strong(s.args[0].aval)
    if t_value is None and s.op.name == "put_add":
        return t
    into = materialise(b, t, base) if t is not None else zeros(b, base)
    value = cast_like(b, t_value, base) if t_value is not None else const(0.0)
    store = make.put if s.op.name == "put" else make.put_add
    return store(b, into, value, dims, dyn)


def squeezed_by(s: Apply) -> tuple[int, ...]:
    """The axes, of one element, that an index drops where it takes all the rest, as m[:, 0] does; none where not."""
    dims, dyn = index_parts(s, 1)
    sizes = s.args[0].aval.shape
    axes = tuple(k for k, d in enumerate(dims) if isinstance(d, At) and sizes[k] == 1)
    rest = all(d == Run(0, n) for k, (d, n) in enumerate(zip(dims, sizes, strict=True)) if k not in axes)
    return axes if rest and not dyn else ()


def assembled(b: Builder, c: Atom) -> Atom:
    """`np.array([p, q, r])` for zeros into which p, q and r have just been stored, each at its own place of the first
    axis: the cotangent of an array of which every element was used.
    """
    shape = c.aval.shape
    parts: dict[int, Atom] = {}
    made = b.definitions.get(c) if isinstance(c, Var) else None
    while made is not None and made.op is ops.PUT:
        assert isinstance(made.attrs, IndexAttrs)
        x, value = made.args[:2]
        first, *rest = made.attrs.dims
        if not isinstance(first, At) or not isinstance(first.index, int) or first.index in parts:
            return c
        if rest != [Run(0, n) for n in shape[1:]] or value.aval != Aval(shape[1:], c.aval.dtype):
            return c
        parts[first.index] = value
        made = b.definitions.get(x) if isinstance(x, Var) else None
    if made is None or made.op is not ops.FULL or len(parts) != shape[0] or len(parts) < 2:
        return c
    return make.concatenate(b, [make.expand_dims(b, parts[i], 0) for i in range(shape[0])], 0)
