"""Slices of sliding windows: fewer windows, or a slice of the array where one window is taken.

    v = sliding_window_view(x, 1024)        x[np.arange(64513)[:, None] + np.arange(1024)]
    v[::256]                                x[(np.arange(253) * 256)[:, None] + np.arange(1024)]
    v[i]                                    x[i : i + 1024]

The windows themselves would be made before they are sliced, of which a spectrogram needs one in hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import make, ops
from ...ir import Atom, Aval
from ...ops.core import At, AxesAttrs, Dim, Dyn, Gather, Run
from ...progressions import Windows, windows_of
from ..core.context import Context
from ..core.demand import interval
from ..core.steps import indexed_aval, read_only
from ..core.values import IndexStep, OpStep, Ref


def slid(ctx: Context, view: Ref, dims: tuple[Dim, ...], atoms: tuple[Atom, ...]) -> Ref | None:
    """The basic index of a view of sliding windows; None where it is no such view, or the index depends on the run."""
    last = view.path[-1] if view.path else None
    before = Ref(view.cell, view.path[:-1])
    if isinstance(last, OpStep) and last.op is ops.TRANSPOSE:
        assert isinstance(last.attrs, AxesAttrs)
        return _slid_turned(ctx, before, last.attrs.axes, dims, atoms)
    windows = _windows_of(ctx, before, last) if isinstance(last, IndexStep) else None
    if windows is None:
        return None
    axis = windows.axis
    found = _positions(ctx, windows, (dims[axis], dims[axis + 1]), atoms)
    if found is None:
        return None
    taken, position = found
    around = (*dims[:axis], Run(0, before.aval.shape[axis]), *dims[axis + 2 :])
    base = _indexed(ctx, before, around, atoms)
    every: list[Dim] = [Run(0, n) for n in base.aval.shape]
    every[sum(isinstance(d, Run) for d in dims[:axis])] = taken
    if isinstance(taken, Gather):
        return _stepped(base, tuple(every), position)
    return read_only(_indexed(ctx, base, tuple(every), position))


def _slid_turned(
    ctx: Context, before: Ref, axes: Sequence[int], dims: tuple[Dim, ...], atoms: tuple[Atom, ...]
) -> Ref | None:
    """The index of a transpose as a transpose of an index."""
    ahead = tuple(dims[axes.index(i)] for i in range(len(axes)))
    found = slid(ctx, before, ahead, atoms)
    if found is None:
        return None
    kept = [i for i, d in enumerate(ahead) if isinstance(d, Run)]
    order = tuple(kept.index(i) for i in axes if i in kept)
    if order == tuple(range(len(order))):
        return found
    aval = Aval(tuple(found.aval.shape[i] for i in order), found.aval.dtype)
    return Ref(found.cell, (*found.path, OpStep(ops.TRANSPOSE, AxesAttrs(order), (), aval)))


def _indexed(ctx: Context, view: Ref, dims: tuple[Dim, ...], atoms: tuple[Atom, ...]) -> Ref:
    if dims == tuple(Run(0, n) for n in view.aval.shape):
        return view
    return slid(ctx, view, dims, atoms) or _stepped(view, dims, atoms)


def _stepped(view: Ref, dims: tuple[Dim, ...], atoms: tuple[Atom, ...]) -> Ref:
    return Ref(view.cell, (*view.path, IndexStep(dims, atoms, indexed_aval(view.aval, dims, atoms))))


def _positions(
    ctx: Context, w: Windows, dims: tuple[Dim, Dim], atoms: tuple[Atom, ...]
) -> tuple[Dim, tuple[Atom, ...]] | None:
    """How an index of the places, and of the axes that follow each, indexes the axis itself."""
    match dims:
        case Run(start=int() as i, size=n, step=s), Run(start=int() as j, size=m, step=t) if n and m:
            starts, within = _part(w.starts, i, n, s), _part(w.within, j, m, t)
            column = make.expand_dims(ctx.b, _progression(ctx, starts), 1)
            return Gather(0), (make.add(ctx.b, column, _progression(ctx, within)),)
        case Run(start=int() as i, size=n, step=s), At(index=int() as j) if n:
            return Run(w.starts[i] + w.within[j], n, w.starts.step * s), ()
        case At(index=int() as i), Run(start=int() as j, size=m, step=t) if m:
            return Run(w.starts[i] + w.within[j], m, w.within.step * t), ()
        case At(index=int() as i), At(index=int() as j):
            return At(w.starts[i] + w.within[j]), ()
        case At(index=Dyn(arg=a)), (Run(start=int() as j) | At(index=int() as j)) as rest if _is_within(
            ctx, atoms[a], w.starts
        ):
            if isinstance(rest, Run) and not rest.size:
                return None
            place = make.multiply(ctx.b, atoms[a], w.starts.step)
            place = make.add(ctx.b, place, w.starts.start + w.within[j])
            return (At(Dyn(0)) if isinstance(rest, At) else Run(Dyn(0), rest.size, w.within.step * rest.step)), (place,)
    return None


def _is_within(ctx: Context, index: Atom, places: range) -> bool:
    low, high = interval(ctx, index)
    return low is not None and high is not None and low >= 0 and high < len(places)


def _part(line: range, start: int, size: int, step: int) -> range:
    first, by = line[start], line.step * step
    return range(first, first + by * size, by)


def _progression(ctx: Context, line: range) -> Atom:
    a = make.iota(ctx.b, len(line))
    if line.step != 1:
        a = make.multiply(ctx.b, a, line.step)
    return make.add(ctx.b, a, line.start) if line.start else a


def _windows_of(ctx: Context, view: Ref, step: IndexStep) -> Windows | None:
    return windows_of(ctx.definition, view.aval.shape, step.dims, step.dynamic)
