"""Rewrites of casts, changes of axes, indices and stores that change no bit of the result.

    y = (x[1:] - x[:-1])[2:]                   y = x[3:] - x[2:-1]
    y = x.T[0]                                 y = x[:, 0]
    x[1:3] = x[1:3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..builder import Builder
from ..ir import Atom, Const, Var, const
from ..ops.core import (
    At,
    AxesAttrs,
    CastAttrs,
    ConcatenateAttrs,
    ContractAttrs,
    CreateAttrs,
    Dim,
    Dyn,
    Elementwise,
    Gather,
    IndexAttrs,
    Reduce,
    ReduceAttrs,
    Run,
)
from .calls import Call, Definitions, Found, Nested, made_by
from .numbers import is_exact, strong, uniform

MOST_PARTS = 16  # of an array that is stored part by part


def cast(call: Call, definitions: Definitions) -> Found:
    assert isinstance(call.attrs, CastAttrs)
    (x,) = call.args
    full = made_by(x, ops.FULL, definitions)
    if full is not None and isinstance(full.args[0], Const):
        value = uniform(x, definitions)
        folded = None if value is None else make.astype(Builder(), value, call.attrs.dtype)
        if isinstance(folded, Const):
            return Call(ops.FULL, (folded,), CreateAttrs(x.aval.shape, call.attrs.dtype))
    inner = made_by(x, ops.ASTYPE, definitions)
    if inner is None or not is_exact(inner.args[0].aval.dtype, x.aval.dtype):
        return None
    original = inner.args[0]
    if original.aval.dtype == call.attrs.dtype and not original.aval.weak and not call.attrs.weak:
        return original
    return Call(ops.ASTYPE, (original,), call.attrs)


def reshape(call: Call, definitions: Definitions) -> Found:
    """Any change of the axes of `np.full`, and a broadcast scalar constant, are `np.full` themselves."""
    value = uniform(call.args[0], definitions)
    if value is None:
        if call.op is ops.TRANSPOSE and (found := _turned_stack(call, definitions)) is not None:
            parts, axis = found
            raised = tuple(Call(ops.EXPAND_DIMS, (a,), AxesAttrs((axis,))) for a in parts)
            return Nested(ops.CONCATENATE, raised, ConcatenateAttrs(axis))
        if call.op is ops.TRANSPOSE:
            return _turned_product(call, definitions)
        if call.op not in (ops.EXPAND_DIMS, ops.SQUEEZE) or not isinstance(call.attrs, AxesAttrs):
            return None
        return _reduced(call.args[0], call.attrs.axes, call.op is ops.EXPAND_DIMS, definitions)
    aval = call.aval()
    if not aval.shape:
        return strong(value, aval.dtype)
    return Call(ops.FULL, (strong(value, aval.dtype),), CreateAttrs(aval.shape, aval.dtype))


def _reduced(x: Atom, axes: tuple[int, ...], keepdims: bool, definitions: Definitions) -> Call | Nested | None:
    """`np.sum(y, axis=1, keepdims=True)` for `np.sum(y, axis=1)[:, None]`, and the other way round for a squeeze, also
    with something done to it between: `np.sum(y, axis=1) / z` for
    `(np.sum(y, axis=1, keepdims=True) / z[:, None])[:, 0]`.
    """
    made = definitions.get(x) if isinstance(x, Var) and definitions.uses.get(x) == 1 else None
    if made is None:
        return None
    if isinstance(made.op, Reduce) and isinstance(made.attrs, ReduceAttrs):
        wanted = made.attrs.axes == axes and made.attrs.keepdims is not keepdims
        return Call(made.op, made.args, ReduceAttrs(axes, keepdims)) if wanted else None
    if not isinstance(made.op, Elementwise):
        return None
    found: list[Atom | Call | Nested] = []
    for a in made.args:
        raised = made_by(a, ops.EXPAND_DIMS, definitions) if a.aval.ndim == x.aval.ndim and not keepdims else None
        plain = raised.args[0] if raised is not None and raised.attrs == AxesAttrs(axes) else None
        inner = a if isinstance(a, Const) and a.aval.shape == () else plain or _reduced(a, axes, keepdims, definitions)
        if inner is None:
            return None
        found.append(inner)
    arrays = sum(not isinstance(a, Const) for a in found)
    return Nested(made.op, tuple(found)) if arrays == 1 or (arrays and not keepdims) else None


def product(call: Call) -> Call | None:
    """A product with a constant matrix as one with its transpose, where that is how the other lies: `a.T @ x` for a
    known `a`.
    """
    if not isinstance(call.attrs, ContractAttrs):
        return None
    lhs, rhs, out = call.attrs.lhs, call.attrs.rhs, call.attrs.out
    x, y = call.args
    if _is_known_matrix(x) and lhs[0] in rhs and lhs[0] not in out and lhs[1] in out:
        return Call(call.op, (_turned(x), y), ContractAttrs(lhs[::-1], rhs, out))
    if _is_known_matrix(y) and rhs[1] in lhs and rhs[1] not in out and rhs[0] in out:
        return Call(call.op, (x, _turned(y)), ContractAttrs(lhs, rhs[::-1], out))
    return None


def _is_known_matrix(a: Atom) -> bool:
    return isinstance(a, Const) and a.aval.ndim == 2 and a.aval.size <= make.FOLD_LIMIT


def _turned(a: Atom) -> Const:
    assert isinstance(a, Const)
    return const(np.ascontiguousarray(a.value.T))


def index(call: Call, definitions: Definitions) -> Found:
    """Reading what was stored at the same place, or joined there, and reading from `np.full`."""
    assert isinstance(call.attrs, IndexAttrs)
    x, *dynamic = call.args
    if not dynamic and isinstance(x, Var):
        value = uniform(x, definitions)
        if value is not None:
            return reshape(Call(ops.INDEX, call.args, call.attrs), definitions)
    if (found := _of_turned(call, definitions) or _of_parts(call, definitions)) is not None:
        return found
    part = made_by(x, ops.INDEX, definitions)
    if part is not None and isinstance(part.attrs, IndexAttrs) and len(part.args) == 1 and not dynamic:
        return Call(ops.INDEX, part.args, IndexAttrs(_composed(part.attrs.dims, call.attrs.dims)))
    return None if call.attrs.gathers else _stored(call, definitions) or _joined(call, definitions)


def _stored(call: Call, definitions: Definitions) -> Atom | None:
    """What was stored at the same place last, other stores since then being elsewhere."""
    assert isinstance(call.attrs, IndexAttrs)
    x = call.args[0]
    for _ in range(MOST_PARTS):
        stored = made_by(x, ops.PUT, definitions)
        if stored is None:
            return None
        assert isinstance(stored.attrs, IndexAttrs)
        if _place(call.attrs, call.args) == _place(stored.attrs, stored.args):
            new = stored.args[1]
            return strong(new, stored.targets[0].aval.dtype) if isinstance(new, Const) and new.aval.weak else new
        rows = zip(call.attrs.dims, stored.attrs.dims, strict=True)
        if not any(_is_other(a, b) for a, b in rows):
            return None
        x = stored.args[0]
    return None


def _is_other(a: Dim, b: Dim) -> bool:
    return isinstance(a, At) and isinstance(b, At) and {type(a.index), type(b.index)} == {int} and a != b


def _joined(call: Call, definitions: Definitions) -> Found:
    """The piece of `np.stack` that an index picks."""
    assert isinstance(call.attrs, IndexAttrs)
    joined, dims = made_by(call.args[0], ops.CONCATENATE, definitions), call.attrs.dims
    if joined is None or not isinstance(joined.attrs, ConcatenateAttrs):
        return None
    axis = joined.attrs.axis
    whole = all(d == Run(0, n) for i, (d, n) in enumerate(zip(dims, call.args[0].aval.shape, strict=True)) if i != axis)
    match dims[axis]:
        case At(index=int() as k) if whole:
            part, k = _part_at(joined.args, axis, k)
            piece = made_by(part, ops.EXPAND_DIMS, definitions)
            if piece is not None and piece.attrs == AxesAttrs((axis,)):
                return piece.args[0]
            return Call(ops.INDEX, (part,), IndexAttrs((*dims[:axis], At(k), *dims[axis + 1 :])))
        case _:
            return None


def _part_at(parts: Sequence[Atom], axis: int, k: int) -> tuple[Atom, int]:
    """Which of the parts joined along an axis holds position k, and at which of its own: parts may be empty."""
    for part in parts:
        if k < part.aval.shape[axis]:
            return part, k
        k -= part.aval.shape[axis]
    raise AssertionError("an index that was checked lies in one of the parts")


def _of_turned(call: Call, definitions: Definitions) -> Call | None:
    """`x[..., 0]` for `x.T[0]`: an index after which the axes that remain stand in the order of `x`."""
    assert isinstance(call.attrs, IndexAttrs)
    turned = made_by(call.args[0], ops.TRANSPOSE, definitions)
    if turned is None or call.attrs.gathers:
        return None
    assert isinstance(turned.attrs, AxesAttrs)
    kept = [a for a, d in zip(turned.attrs.axes, call.attrs.dims, strict=True) if isinstance(d, Run)]
    if len(kept) == len(call.attrs.dims) or kept != sorted(kept):
        return None
    dims = dict(zip(turned.attrs.axes, call.attrs.dims, strict=True))
    attrs = IndexAttrs(tuple(dims[a] for a in range(len(dims))))
    return Call(ops.INDEX, (turned.args[0], *call.args[1:]), attrs)


def _of_parts(call: Call, definitions: Definitions) -> Nested | None:
    """`x[3:] - x[2:-1]` for `(x[1:] - x[:-1])[2:]`, where nothing else reads the difference: less is computed."""
    assert isinstance(call.attrs, IndexAttrs)
    x = call.args[0]
    whole = definitions.get(x) if isinstance(x, Var) and definitions.is_read_once(x) else None
    if whole is None or not isinstance(whole.op, Elementwise) or len(call.args) > 1:
        return None
    arrays = [a for a in whole.args if a.aval.shape]
    if not arrays or not all(_is_part(a, definitions) for a in arrays):
        return None
    parts = (_part(a, call.attrs.dims) if a.aval.shape else a for a in whole.args)
    return Nested(whole.op, tuple(parts))


def _is_part(a: Atom, definitions: Definitions) -> bool:
    made = made_by(a, ops.INDEX, definitions)
    return made is not None and len(made.args) == 1


def _part(a: Atom, dims: tuple[Dim, ...]) -> Call:
    """What meets `y[dims]`, of an operand `a` that is broadcast against the rest of `y`."""
    own = zip(a.aval.shape, dims[len(dims) - a.aval.ndim :], strict=True)
    return Call(ops.INDEX, (a,), IndexAttrs(tuple(_in_one(d) if n == 1 else d for n, d in own)))


def _in_one(d: Dim) -> Dim:
    """The entry for an axis of one element that is repeated along what `d` selects."""
    return Run(0, min(d.size, 1)) if isinstance(d, Run) else At(0)


def put(call: Call, definitions: Definitions) -> Found:
    """Storing what stands there already, at places that are known to be there: others may raise."""
    if call.op is not ops.PUT or len(call.args) > 2:
        return None
    x, value = call.args
    read = made_by(value, ops.INDEX, definitions)
    if read is None or read.args[0] is not x:
        return _assembled(call, definitions)
    assert isinstance(call.attrs, IndexAttrs) and isinstance(read.attrs, IndexAttrs)
    return x if _place(call.attrs, call.args) == _place(read.attrs, read.args) else None


def _assembled(call: Call, definitions: Definitions) -> Nested | None:
    """`np.concatenate([a, b])` for a new array whose parts are stored one by one: `x[:2] = a; x[2:] = b`."""
    x, parts = call.args[0], [call]
    while (made := made_by(x, ops.PUT, definitions)) is not None and len(parts) < MOST_PARTS:
        if len(made.args) > 2 or not isinstance(x, Var) or not definitions.is_read_once(x):
            return None
        parts.append(Call(made.op, made.args, made.attrs))
        x = made.args[0]
    if len(parts) < 2 or (made_by(x, ops.FULL, definitions) or made_by(x, ops.EMPTY, definitions)) is None:
        return None
    shape, dims = x.aval.shape, [p.attrs.dims for p in parts if isinstance(p.attrs, IndexAttrs)]
    apart = [i for i, n in enumerate(shape) if any(d[i] != Run(0, n) for d in dims)]
    if len(apart) != 1 or any(p.args[1].aval.dtype != x.aval.dtype for p in parts):
        return None
    (axis,) = apart
    found = sorted((_first_and_length(d[axis]), k) for k, d in enumerate(dims))
    ends = [first + length for (first, length), _ in found]
    if [first for (first, _), _ in found] != [0, *ends[:-1]] or ends[-1] != shape[axis]:
        return None
    pieces: list[Atom | Call | Nested] = []
    for (_, length), k in found:
        value, single = parts[k].args[1], isinstance(dims[k][axis], At)
        wanted = tuple(length if i == axis else n for i, n in enumerate(shape) if not (single and i == axis))
        if value.aval.shape != wanted:
            return None
        pieces.append(Call(ops.EXPAND_DIMS, (value,), AxesAttrs((axis,))) if single else value)
    return Nested(ops.CONCATENATE, tuple(pieces), ConcatenateAttrs(axis))


def _first_and_length(d: Dim) -> tuple[int, int]:
    """Of what is known to be there; nothing else has an end that fits."""
    match d:
        case At(index=int() as i):
            return i, 1
        case Run(start=int() as first, size=size, step=1):
            return first, size
    return -1, 0


def _turned_stack(call: Call, definitions: Definitions) -> tuple[tuple[Atom, ...], int] | None:
    """What np.stack joins, and the axis, for `np.stack([x, y], axis=1).T`, where the axes of x stay in their order."""
    x = call.args[0]
    stack = made_by(x, ops.CONCATENATE, definitions)
    if stack is None or not isinstance(x, Var) or not definitions.is_read_once(x):
        return None
    assert isinstance(stack.attrs, ConcatenateAttrs) and isinstance(call.attrs, AxesAttrs)
    axis = stack.attrs.axis
    raised = [made_by(a, ops.EXPAND_DIMS, definitions) for a in stack.args]
    rest = [a for a in call.attrs.axes if a != axis]
    if rest != sorted(rest) or not all(r is not None and r.attrs == AxesAttrs((axis,)) for r in raised):
        return None
    return tuple(r.args[0] for r in raised if r is not None), call.attrs.axes.index(axis)


def _turned_product(call: Call, definitions: Definitions) -> Call | Nested | None:
    """`np.outer(y, x)` for `np.outer(x, y).T`, and with a minus in between, which goes in front."""
    x = call.args[0]
    made = definitions.get(x) if isinstance(x, Var) and definitions.is_read_once(x) else None
    if made is None:
        return None
    if made.op is ops.NEGATIVE:
        inner = _turned_product(replace(call, args=made.args), definitions)
        return None if inner is None else Nested(ops.NEGATIVE, (inner,))
    if not isinstance(made.attrs, ContractAttrs) or any(a.aval.ndim != 1 for a in made.args) or x.aval.ndim != 2:
        return None
    lhs, rhs = made.attrs.rhs, made.attrs.lhs
    return Call(made.op, made.args[::-1], ContractAttrs(lhs, rhs, lhs + rhs))


def _composed(outer: tuple[Dim, ...], inner: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The index x[outer][inner], both known: a slice of a slice is a slice."""
    rest = iter(inner)
    dims: list[Dim] = []
    for d in outer:
        if not isinstance(d, Run):
            dims.append(d)
            continue
        match next(rest):
            case At(index=int(i)):
                dims.append(At(int(d.start) + i * d.step))  # type: ignore[arg-type]
            case Run(start=int(start), size=size, step=step):
                first = int(d.start) + start * d.step  # type: ignore[arg-type]
                dims.append(Run(first, size, d.step * step if size > 1 else 1) if size else Run(0, 0))
            case other:
                raise AssertionError(f"{other} is not known")
    return tuple(dims)


def _place(attrs: IndexAttrs, args: tuple[Atom, ...]) -> tuple[object, ...]:
    """The index with atoms in place of positions, comparable between operations."""

    def known(i: int | Dyn) -> object:
        return args[i.arg] if isinstance(i, Dyn) else i

    place: list[object] = []
    for d in attrs.dims:
        match d:
            case At(index=i):
                place.append(("at", known(i)))
            case Run(start=start, size=size, step=step):
                place.append(("run", known(start), size, step))
            case Gather(arg=a):
                place.append(("gather", args[a]))
    return tuple(place)
