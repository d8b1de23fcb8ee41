"""The results of a loop from the values of all its trips: arrays stored into, sums, additions to shared arrays.

y[i] = t            y[1:n] = t
s += t              s += np.sum(t)
h[k[i]] += t        np.add.at(h, k, t)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .. import make, ops
from ..batch.indexing import aligned, place
from ..batch.rules import Value, pad, spread
from ..bounds import Interval, is_dynamic
from ..builder import Builder
from ..errors import Span
from ..ir import Atom, Aval, Const, Var
from ..ops.core import (
    At,
    Contract,
    ContractAttrs,
    Dim,
    Dyn,
    Gather,
    Index,
    IndexAttrs,
    Reshape,
    Run,
    gather_position,
    read_by,
    reading,
)
from .affine import Affine
from .body import Effect
from .stores import Cells, Dependence, Entry, name_of
from .sums import Sum, combined

SMALL = 1 << 31  # what a Python int may grow by in a trip: no loop gets out of 64 bits so


def numbers(b: Builder, form: Affine, trips: int) -> Atom:
    """The values of a linear form in all trips."""
    x = make.iota(b, trips)
    if form.scale != 1:
        x = make.multiply(b, x, form.scale)
    first = form.first(b)
    return x if isinstance(first, Const) and not first.value else make.add(b, x, first)


def first_trips(b: Builder, x: Atom, n: int) -> Atom:
    """The values of the first n trips."""
    array, dims, axis, run = _slice_of(b, x)
    return make.index(b, array, [*dims[:axis], replace(run, size=n), *dims[axis + 1 :]])


def of_trip(b: Builder, x: Atom, k: Atom) -> Atom:
    """The value of trip k."""
    array, dims, axis, run = _slice_of(b, x)
    place = make.multiply(b, make.number(b, k, np.int64), run.step) if run.step != 1 else k
    place = make.add(b, place, run.start) if run.start else place
    return make.index(b, array, [*dims[:axis], At(Dyn(0)), *dims[axis + 1 :]], [place])


def _slice_of(b: Builder, x: Atom) -> tuple[Atom, list[Dim], int, Run]:
    """The array of which the values of all trips are a slice, the index, and the run of the trips in it: a part of a
    slice is a part of the array."""
    made = make.definition(b, x, ops.INDEX)
    if made is not None and isinstance(made.attrs, IndexAttrs) and not any(map(is_dynamic, made.attrs.dims)):
        dims = list(made.attrs.dims)
        for axis, d in enumerate(dims):
            if isinstance(d, Run):
                return made.args[0], dims, axis, d
    runs = [Run(0, n) for n in x.aval.shape]
    return x, list(runs), 0, runs[0]


# ---- cells ---------------------------------------------------------------------------------------


def _cells_at(b: Builder, c: Cells, k: int, trips: int) -> tuple[list[Dim], list[Atom], int]:
    """The index of the cells of all trips, its run-time arguments, and the axis of the trips in what it selects."""
    dyn: list[Atom] = []
    dims: list[Dim] = []
    cell = c.cells[k]

    def known(form: Affine) -> int | Dyn:
        if not form.terms:
            return form.const
        dyn.append(form.first(b))
        return Dyn(len(dyn) - 1)

    for axis, n in enumerate(c.chain.param.aval.shape):
        e = Entry(cell.key) if axis == c.axis else cell.fixed[axis]
        if e is None:
            dims.append(Run(0, n))
        elif e.is_run:
            dims.append(Run(known(e.form), e.size, e.step))
        elif not e.form.scale:
            dims.append(At(known(e.form)))
        elif cell.is_diagonal:
            dyn.append(numbers(b, e.form, trips))
            dims.append(Gather(len(dyn) - 1))
        else:
            dims.append(Run(known(e.form), trips, e.form.scale))
    front = gather_position(tuple(dims)) if cell.is_diagonal else sum(isinstance(d, Run) for d in dims[: c.axis])
    return dims, dyn, front


def cells_before(b: Builder, array: Atom, c: Cells, k: int, trips: int) -> Atom:
    """What the cells hold before the loop, the trips in front."""
    dims, dyn, axis = _cells_at(b, c, k, trips)
    part = make.index(b, array, dims, dyn)
    return make.transpose(b, part, (axis, *(a for a in range(part.aval.ndim) if a != axis)))


def cells_after(b: Builder, array: Atom, c: Cells, parts: Sequence[Value], trips: int) -> Atom:
    """The array with what the trips leave in their cells."""
    for k, v in enumerate(parts):
        dims, dyn, axis = _cells_at(b, c, k, trips)
        array = make.put(b, array, _moved(b, v, axis), dims, dyn)
    return array


def _moved(b: Builder, v: Value, axis: int) -> Atom:
    """The axis of the trips moved from the front; one of size 1 where the value is the same in all trips."""
    if v.batched:
        return make.transpose(b, v.atom, (*range(1, axis + 1), 0, *range(axis + 1, v.atom.aval.ndim)))
    return make.expand_dims(b, v.atom, axis) if v.atom.aval.ndim else v.atom


# ---- sums ----------------------------------------------------------------------------------------


def total(b: Builder, t: Sum, init: Atom, v: Value, reach: Interval, trips: int, span: Span) -> Atom:
    """The carried value with what all trips add to it. `reach`: of an integer that a trip adds."""
    assert t.reduction is not None
    aval = t.param.aval
    if aval.weak and aval.dtype.kind == "i" and not (t.reduction is ops.SUM and reach.within(-SMALL, SMALL)):
        raise Dependence(f"{name_of(t.param)} may outgrow 64 bits", span)
    value = spread(b, v, trips)
    part = summed(b, value) if t.reduction is ops.SUM else make.reduce(b, t.reduction, value, 0)
    part = make.fitted(b, part, Aval(part.aval.shape, aval.dtype, aval.weak))
    return make.fitted(b, combined(b, t.reduction, init, part), aval)


def summed(b: Builder, value: Atom) -> Atom:
    """The sum over the axis of the trips; of products of arrays as they are a product of matrices or vectors."""
    product = make.definition(b, value, ops.CONTRACT)
    if product is not None and isinstance(product.attrs, ContractAttrs):
        attrs, (first, second) = product.attrs, product.args
        if attrs.out[0] in attrs.lhs and attrs.out[0] in attrs.rhs:
            return make.contract(b, first, second, attrs.lhs, attrs.rhs, attrs.out[1:])
    made = make.definition(b, value, ops.MULTIPLY)
    if made is None or value.aval.dtype.kind not in "fc" or any(a.aval.dtype != value.aval.dtype for a in made.args):
        return make.sum(b, value, 0)
    ndim = value.aval.ndim
    parts: list[tuple[Atom, list[int]]] = []
    for a in made.args:
        if isinstance(a, Const) or (a.aval.ndim < ndim and a.aval.ndim == 0) or not a.aval.shape:
            return make.sum(b, value, 0)
        labels = list(range(ndim - a.aval.ndim, ndim))
        ones = [k for k, n in enumerate(a.aval.shape) if n == 1 and value.aval.shape[labels[k]] != 1]
        x = make.squeeze(b, a, tuple(ones)) if ones else a
        parts.append((x, [label for k, label in enumerate(labels) if k not in ones]))
    (x, lhs), (y, rhs) = parts
    at_rest = all(_at_rest(b, a) for a in made.args)
    if 0 not in lhs or 0 not in rhs or not (at_rest or len(lhs) < ndim or len(rhs) < ndim):
        return make.sum(b, value, 0)
    return make.contract(b, x, y, lhs, rhs, range(1, ndim))


def _at_rest(b: Builder, a: Atom) -> bool:
    """Whether it is memory that is there already, not arithmetic that a sum could take in."""
    s = b.definitions.get(a) if isinstance(a, Var) else None
    if s is None:
        return True
    return isinstance(s.op, Index | Reshape | Contract) and all(_at_rest(b, x) for x in s.args[:1])


# ---- additions to shared arrays ------------------------------------------------------------------


def scattered(b: Builder, array: Atom, e: Effect, value: Value, dyn: Sequence[Value], trips: int) -> Atom:
    """The array with what all trips add: slice by slice where the places are linear."""
    moving = [k for k, v in enumerate(dyn) if v.batched]
    dims = list(map(_shifted, e.attrs.dims))
    if not moving:
        return make.put_add(b, array, summed(b, spread(b, value, trips)), dims, [v.atom for v in dyn])
    form = e.forms[moving[0]]
    if len(moving) == 1 and form is not None and form.scale and not any(isinstance(d, Gather) for d in dims):
        axis = next(k for k, d in enumerate(dims) if read_by(d) == moving[0])
        if isinstance(dims[axis], At):
            return _added_to_slice(b, array, dims, axis, form, value, dyn, trips)
    if any(isinstance(d, Run) and read_by(d) in moving for d in dims):
        raise Dependence(f"windows of {name_of(e.store.targets[0])} overlap", e.store.span)
    at = place(b, e.attrs, [Value(array, False, array.aval), value, *dyn], trips, False)
    return make.put_add(b, array, aligned(b, value, at), at.dims, at.dyn)


def _added_to_slice(
    b: Builder,
    array: Atom,
    dims: list[Dim],
    axis: int,
    form: Affine,
    value: Value,
    dyn: Sequence[Value],
    trips: int,
) -> Atom:
    atoms = [v.atom for v in dyn]
    start: int | Dyn = form.const
    if form.terms:
        start = Dyn(len(atoms))
        atoms.append(form.first(b))
    dims = [*dims[:axis], Run(start, trips, form.scale), *dims[axis + 1 :]]
    position = sum(isinstance(d, Run) for d in dims[:axis])
    inner = sum(isinstance(d, Run) for d in dims) - 1
    if value.batched:
        part = pad(b, value.atom, inner - value.aval.ndim)
        part = _moved(b, Value(part, True, value.aval), position)
    elif value.aval.ndim > inner - position:
        part = make.expand_dims(b, value.atom, value.aval.ndim - (inner - position))
    else:
        part = value.atom
    return make.put_add(b, array, part, dims, atoms)


def _shifted(d: Dim) -> Dim:
    """An entry of a store, whose run-time arguments count from 2, as `make` counts them."""
    place = read_by(d)
    return d if place is None else reading(d, place - 2)
