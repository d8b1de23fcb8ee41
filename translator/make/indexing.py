"""Reads and stores at places; known indices are made static."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, assert_never

from .. import ops
from ..builder import Builder
from ..errors import DTypeError, OutOfBoundsError, ShapeError
from ..fits import check_holds
from ..ir import Atom, Aval, Const, DType, Shape
from ..ops.core import At, Dim, Dyn, Gather, IndexAttrs, Run, axis_of_run, backward_runs, indexed_shape
from .base import definition, emit, lift
from .casts import astype
from .elementwise import add
from .shapes import broadcast_to, expand_dims


def index(b: Builder, x: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x[...]`; `Dyn` and `Gather` positions count within `dyn`."""
    x = lift(x)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 1)
    if _is_whole(x.aval.shape, attrs):
        return x
    return emit(b, ops.INDEX, x, *used, attrs=attrs)


def joined(
    shape: Shape,
    first: Sequence[Dim],
    second: Sequence[Dim],
    shift: int,
    inside: Callable[[At | Run, int], bool] = lambda d, n: False,
) -> tuple[Dim, ...] | None:
    """`x[first][second]` as one index, of `x` of this shape; the run-time positions of `second` count from `shift` on.
    None where that would take arithmetic at run time, or where an array is an index. `inside`: whether an entry, whose
    place only the run knows, is certainly inside an axis of so many elements: from the end of `x` others count anew.
    """
    if any(isinstance(d, Gather) for d in (*first, *second)):
        return None
    following = iter(second)
    dims: list[Dim] = []
    for n, d in zip(shape, first, strict=True):
        found = _joined_dim(d, n, next(following), shift, inside) if isinstance(d, Run) else d
        if found is None:
            return None
        dims.append(found)
    return tuple(dims)


def _joined_dim(run: Run, n: int, d: Dim, shift: int, inside: Callable[[At | Run, int], bool]) -> Dim | None:
    if run.start == 0 and run.step == 1:
        match d:
            case At(index=Dyn(arg=a)):
                return At(Dyn(a + shift)) if run.size and (run.size == n or inside(d, run.size)) else None
            case Run(start=Dyn(arg=a)):
                return Run(Dyn(a + shift), d.size, d.step) if run.size == n or inside(d, run.size) else None
            case _:
                return d
    match d:
        case At(index=int() as i) if isinstance(run.start, int):
            return At(run.start + i * run.step)
        case At(index=0):
            return At(run.start)
        case Run(start=int() as s) if isinstance(run.start, int):
            return Run(run.start + s * run.step, d.size, d.step * run.step) if d.size else Run(0, 0)
        case Run(start=0):
            return Run(run.start, d.size, d.step * run.step)
    return None


def put(b: Builder, x: object, value: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x` with `x[...] = value`; the value is cast to the dtype of `x` and broadcast."""
    x, value = lift(x), lift(value)
    check_holds(x.aval.dtype, value)
    value, dims, dyn = _forwards(b, x.aval.shape, value, dims, dyn)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 2)
    if _is_whole(x.aval.shape, attrs) and value.aval.ndim <= x.aval.ndim:
        return broadcast_to(b, astype(b, value, x.aval.dtype), x.aval.shape)
    if _is_turned(x.aval.shape, attrs) and value.aval.ndim <= x.aval.ndim:
        return index(b, broadcast_to(b, astype(b, value, x.aval.dtype), x.aval.shape), attrs.dims)
    increment = _increment(b, x, value, dims, dyn)
    if increment is not None:
        return emit(b, ops.PUT_ADD, x, increment, *used, attrs=attrs)
    return emit(b, ops.PUT, x, _plain(value, x.aval.dtype), *used, attrs=attrs)


def _plain(value: Atom, dtype: DType) -> Atom:
    """A known number of the array's own dtype as Python's number, which becomes that when it is stored."""
    known = isinstance(value, Const) and value.aval == Aval((), dtype)
    return lift(value.value.item()) if known and isinstance(value, Const) and dtype.char in "qdD" else value


def _increment(b: Builder, x: Atom, value: Atom, dims: Sequence[Dim], dyn: Sequence[Any]) -> Atom | None:
    """`v` where `value` is `x[i] + v` and is about to be stored at `x[i]`: that is `x[i] += v`."""
    total = definition(b, value, ops.ADD)
    part = definition(b, total.args[0], ops.INDEX) if total is not None else None
    if total is None or part is None or part.args[0] is not x or value.aval != total.args[0].aval:
        return None
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 1)
    if part.attrs != attrs or part.args[1:] != used or attrs.gathers:
        return None
    return total.args[1]


def put_add(b: Builder, x: object, value: object, dims: Sequence[Dim], dyn: Sequence[Any] = ()) -> Atom:
    """`x` with `value` added at `x[...]`; repeated indices accumulate.

    A value is written with all axes of the indices of a vector: np.add.at of NumPy 2.4 reads behind the end of others.
    """
    x, value = lift(x), lift(value)
    value, dims, dyn = _forwards(b, x.aval.shape, value, dims, dyn)
    attrs, used = _index_attrs(x.aval.shape, dims, dyn, 2)
    places = used[0].aval.ndim if used and attrs.gathers and x.aval.ndim == 1 else 0
    if 0 < value.aval.ndim < places:
        value = expand_dims(b, value, range(places - value.aval.ndim))
    if _is_whole(x.aval.shape, attrs):
        total = add(b, x, value)
        if total.aval.shape == x.aval.shape:
            return astype(b, total, x.aval.dtype)
    return emit(b, ops.PUT_ADD, x, value, *used, attrs=attrs)


def _forwards(
    b: Builder, shape: Shape, value: Atom, dims: Sequence[Dim], dyn: Sequence[Any]
) -> tuple[Atom, Sequence[Dim], Sequence[Any]]:
    """What is stored backwards from a place that only the run knows is turned round, and stored forwards."""
    attrs, used = _index_attrs(shape, dims, dyn, 0)
    turned = backward_runs(attrs)
    if not turned:
        return value, dims, dyn
    avals = [a.aval for a in used]
    ndim = len(indexed_shape(attrs, avals))
    axes = [axis_of_run(attrs, avals, i) - ndim for i in turned]
    flips: list[Dim] = [Run(0, n) for n in value.aval.shape]
    for axis in axes:
        if -axis <= value.aval.ndim and (n := value.aval.shape[axis]) > 1:
            flips[axis] = Run(n - 1, n, -1)
    ahead, starts = list(attrs.dims), list(used)
    for i in turned:
        d = attrs.dims[i]
        assert isinstance(d, Run) and isinstance(d.start, Dyn)
        ahead[i] = Run(Dyn(len(starts)), d.size, -d.step)
        starts.append(add(b, used[d.start.arg], (d.size - 1) * d.step))
    return index(b, value, flips), ahead, starts


def _index_attrs(
    shape: Shape, dims: Sequence[Dim], dyn: Sequence[Any], offset: int
) -> tuple[IndexAttrs, tuple[Atom, ...]]:
    """Entries with known positions made static and the rest renumbered, in order of use, from `offset`."""
    if len(dims) != len(shape):
        raise ShapeError(f"{len(dims)} index entries for an array of shape {shape}")
    atoms = [lift(a) for a in dyn]
    used: dict[Atom, int] = {}

    def position(i: int) -> int:
        return used.setdefault(atoms[i], offset + len(used))

    normal: list[Dim] = []
    for d, n in zip(dims, shape, strict=True):
        match d:
            case At(index=i):
                known = _known_index(i, atoms)
                normal.append(At(Dyn(position(i.arg)) if known is None and isinstance(i, Dyn) else _inside(known, n)))
            case Run(start=start, size=size, step=step):
                known = _known_index(start, atoms)
                step = step if size > 1 else 1
                if not size:
                    normal.append(Run(0, 0))
                elif known is None and isinstance(start, Dyn):
                    normal.append(Run(Dyn(position(start.arg)), size, step))
                else:
                    normal.append(Run(_inside(known, n), size, step))
            case Gather(arg=a) if not atoms[a].aval.shape:
                known = _known_index(Dyn(a), atoms)
                normal.append(At(Dyn(position(a)) if known is None else _inside(known, n)))
            case Gather(arg=a):
                normal.append(Gather(position(a)))
            case _:
                assert_never(d)
    return IndexAttrs(tuple(normal)), tuple(used)


def _known_index(i: int | Dyn, atoms: Sequence[Atom]) -> int | None:
    if not isinstance(i, Dyn):
        return int(i)
    atom = atoms[i.arg]
    if atom.aval.shape != () or atom.aval.dtype.kind not in "iu":
        raise DTypeError(f"an index must be an integer, not {atom.aval}")
    return int(atom.value) if isinstance(atom, Const) else None


def _inside(i: int | None, n: int) -> int:
    assert i is not None
    if not -n <= i < n:
        raise OutOfBoundsError(f"index {i} is out of bounds for axis of size {n}")
    return i % n


def _is_turned(shape: Shape, attrs: IndexAttrs) -> bool:
    """Whether an index takes every element, in the opposite order along some axes: it is its own inverse."""
    ways = ((Run(0, n), Run(n - 1, n, -1)) for n in shape)
    return bool(shape) and all(d in way for d, way in zip(attrs.dims, ways, strict=True))


def _is_whole(shape: Shape, attrs: IndexAttrs) -> bool:
    return attrs.dims == tuple(Run(0, n) for n in shape)
