"""Operations on selections and arrays together: on the whole arrays, where all select the same places.

    x[m] * y[m]                     (x * y)[m]
    x[lo:hi] + x[lo - 1:hi - 1]     (x + "x moved by one")[lo:hi]
    x[m] - y[k]                     of the first so many elements of both, in what is differentiated or batched
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import make
from ...ops.core import Run
from ..core.context import Context
from ..core.values import FULL, Bounds, Masked, Part, Ref, Value
from ..facts.runs import axes_of, width_of
from .ranked import compressed
from .selection import concrete, is_front, same_part, shape_of
from .shifting import shifted


def elementwise(ctx: Context, f: Callable[..., Value], operands: Sequence[Value], node: ast.AST, what: str) -> Value:
    """f of the whole arrays, where the selections among the operands agree; of the arrays themselves otherwise."""
    aligned = agreed(ctx, operands)
    if aligned is None:
        return f(*[concrete(ctx, v, node, what) if isinstance(v, Masked) else v for v in operands])
    wholes, parts = aligned
    if all(p is None for p in parts):
        return f(*wholes)
    strict = leaves = None
    selected = [v for v in operands if isinstance(v, Masked)]
    if all(s.strict is not None and s.is_as_made for s in selected):
        strict = Ref(ctx.cell(ctx.atom(f(*[v.strict if isinstance(v, Masked) else v for v in operands]))))
        outside = [s.leaves for s in selected if s.leaves is not None]
        leaves = functools.reduce(functools.partial(make.logical_or, ctx.b), outside) if outside else None
    whole = Ref(ctx.cell(ctx.atom(f(*wholes))))
    return Masked(whole, parts, strict, leaves, content=whole.cell.atom)


def agreed(ctx: Context, operands: Sequence[Value]) -> tuple[list[Value], tuple[Part, ...]] | None:
    """`align` of the operands; where their masks differ of first elements, as many, and beside an array as it has."""
    found = align(ctx, operands)
    if found is None and ctx.transforms:
        fronts = [compressed(ctx, v) if isinstance(v, Masked) else v for v in operands]
        found = align(ctx, fronts) or align(ctx, _as_long_as_arrays(ctx, fronts))
    return found


def align(ctx: Context, operands: Sequence[Value]) -> tuple[list[Value], tuple[Part, ...]] | None:
    """The operands with whole arrays in place of selections, and the parts of the result; None where they differ."""
    ndims = [len(v.parts) if isinstance(v, Masked) else len(shape_of(v)) for v in operands]
    ndim = max(ndims)
    parts: list[Part] = []
    lengths: list[tuple[Part, Part]] = []
    for i in range(ndim):
        found: Part = FULL
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            found = found if p is None else p if found is None else found
        operands = [_moved(ctx, v, i - ndim + n, found) for v, n in zip(operands, ndims, strict=True)]
        for v, n in zip(operands, ndims, strict=True):
            p = v.parts[i - ndim + n] if isinstance(v, Masked) and i - ndim + n >= 0 else FULL
            if p is not None and found is not None and not same_part(ctx, p, found):
                if not _are_first_so_many(p, found):
                    return None
                lengths.append((p, found))
        for v, n in zip(operands, ndims, strict=True):
            j = i - ndim + n
            if found is not None and j >= 0 and not _fits(v, j):
                return None
        parts.append(found)
    for p, q in lengths:
        _check_lengths(ctx, p, q)
    wholes = [_spread(ctx, v, parts[ndim - n :]) for v, n in zip(operands, ndims, strict=True)]
    return wholes, tuple(parts)


_OF_TWO_LENGTHS = "operands could not be broadcast together: their lengths differ; of one element write xs[0], not xs"


def _are_first_so_many(p: Part, q: Part) -> bool:
    """Whether both are x[:n] of axes of one size: the run finds out whether they are equally long."""
    return is_front(p) and is_front(q) and p.n == q.n  # type: ignore[union-attr]


def _check_lengths(ctx: Context, p: Any, q: Any) -> None:
    differ = make.not_equal(ctx.b, ctx.atom(p.stop), ctx.atom(q.stop))
    make.raise_if(ctx.b, differ, ValueError, _OF_TWO_LENGTHS)


def select_alike(ctx: Context, p: Part, q: Part) -> bool:
    """Whether two axes select the same places. Raises ValueError at run time where as many are meant, and are not."""
    if p is None or q is None or same_part(ctx, p, q):
        return p is q or (p is not None and q is not None)
    if not _are_first_so_many(p, q):
        return False
    _check_lengths(ctx, p, q)
    return True


def _moved(ctx: Context, v: Value, j: int, to: Part) -> Value:
    """The operand, its axis `j` moved to where another operand has its slice, if that is possible and needed."""
    if not isinstance(v, Masked) or j < 0 or not isinstance(to, Bounds) or same_part(ctx, v.parts[j], to):
        return v
    if any(width_of(p) != 1 for p in v.parts):
        return v
    return shifted(ctx, v, j, to) or v


def _fits(v: Value, j: int) -> bool:
    """Whether axis `j` of an operand may stand beside a selection: it is one, or has size 1."""
    if isinstance(v, Masked):
        return v.parts[j] is not None or v.whole.aval.shape[axes_of(v, [j])[0]] == 1
    return shape_of(v)[j] == 1


def _spread(ctx: Context, v: Value, parts: Sequence[Part]) -> Value:
    """The whole of an operand, with more axes of size 1 where a mask merges several into one."""
    own: Sequence[Part] = v.parts if isinstance(v, Masked) else [FULL] * len(parts)
    whole = Ref(ctx.cell(ctx.read(v.whole))) if isinstance(v, Masked) else v
    if all(width_of(p) == width_of(q) for p, q in zip(own, parts, strict=True)):
        return whole
    atom, axis = ctx.atom(whole), 0
    sizes: list[int] = []
    for p, q in zip(own, parts, strict=True):
        sizes += atom.aval.shape[axis : axis + width_of(p)]
        sizes += [1] * (width_of(q) - width_of(p))
        axis += width_of(p)
    return Ref(ctx.cell(make.reshape(ctx.b, atom, sizes)))


def _as_long_as_arrays(ctx: Context, operands: Sequence[Value]) -> Sequence[Value]:
    for back in range(1, 1 + max(len(v.parts) if isinstance(v, Masked) else len(shape_of(v)) for v in operands)):
        whole = [v for v in operands if not isinstance(v, Masked) and len(shape_of(v)) >= back]
        sizes = {shape_of(v)[-back] for v in whole} - {1}
        if len(sizes) == 1:
            operands = [_cut_to(ctx, v, len(v.parts) - back, *sizes) if isinstance(v, Masked) else v for v in operands]
    return operands


def _cut_to(ctx: Context, s: Masked, i: int, size: int) -> Value:
    """The selection with so many elements along its axis `i`, if they are its first. Raises ValueError at run time
    where it has not as many.
    """
    p = s.parts[i] if i >= 0 else FULL
    if not isinstance(p, Bounds) or not is_front(p) or size > p.n or any(width_of(q) != 1 for q in s.parts):
        return s
    differ = make.not_equal(ctx.b, ctx.atom(p.stop), size)
    make.raise_if(ctx.b, differ, ValueError, _OF_TWO_LENGTHS)
    x = ctx.read(s.whole)
    cut = [Run(0, size if axis == i else n) for axis, n in enumerate(x.aval.shape)]
    whole = Ref(ctx.cell(make.index(ctx.b, x, tuple(cut))))
    parts = (*s.parts[:i], FULL, *s.parts[i + 1 :])
    return Masked(whole, parts) if any(q is not None for q in parts) else whole
