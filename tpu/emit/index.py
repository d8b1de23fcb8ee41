"""Reading and storing elements: `index`, `put` and `put_add` in StableHLO.

A basic index is a dynamic slice (or a static one) followed by a strided slice and a reversal:

    x[i, 1:9:2, ::-1]      ->   dynamic_slice at (i, 1, 0), slice [::1, ::2, ::1], reverse axis 2, drop axis 0

A store takes the same region, replaces its elements, and puts the region back with dynamic_update_slice. Integer
arrays gather and scatter along their axes; the other axes are cut to the region first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import numpy as np

from ...translator.ir import Shape
from ...translator.ops.core import At, Dim, Dyn, Gather, IndexAttrs, Run, gather_position
from ...translator.records import dataclass
from .elementwise import plus_zero
from .writer import BOOL, I64, Value, Writer, tensor_type

Start = int | Value
Normalise = Callable[[int, int, int, int], Value]
"""(argument, axis, lowest, highest valid value) -> the index as int64, wrapped and checked as needed."""
NormaliseGather = Callable[[int, int, int], Value]
"""(argument, axis, size) -> the index array as int64, wrapped and checked as needed."""


@dataclass(frozen=True, slots=True)
class Region:
    """A box of an array: where it begins, its extent, and the strides and reversals inside it."""

    starts: tuple[Start, ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    reversed: tuple[int, ...]
    sizes: tuple[int, ...]

    def is_whole(self, shape: Shape) -> bool:
        return self.extents == shape and all(not isinstance(s, Value) and s == 0 for s in self.starts)

    @property
    def is_static(self) -> bool:
        return not any(isinstance(s, Value) for s in self.starts)

    @property
    def is_dense(self) -> bool:
        return all(s == 1 for s in self.steps)


def region_of(w: Writer, shape: Shape, dims: Sequence[Dim], normalise: Normalise) -> Region:
    """The box that the basic entries select; axes of integer arrays, and At beside them, are taken whole."""
    advanced = any(isinstance(d, Gather) for d in dims)
    starts: list[Start] = []
    extents, steps, sizes, backwards = [], [], [], []
    for axis, (n, d) in enumerate(zip(shape, dims, strict=True)):
        match d:
            case At(index=i) if not advanced:
                starts.append(normalise(i.arg, axis, 0, n - 1) if isinstance(i, Dyn) else i)
                extent, step, size = 1, 1, 1
            case Run(start=start, size=size, step=step):
                extent = (size - 1) * abs(step) + 1 if size else 0
                starts.append(_run_start(w, start, step, extent, axis, n, normalise))
                if step < 0:
                    backwards.append(axis)
            case At() | Gather():
                starts.append(0)
                extent, step, size = n, 1, n
            case _:
                assert_never(d)
        extents.append(extent)
        steps.append(abs(step))
        sizes.append(size)
    return Region(tuple(starts), tuple(extents), tuple(steps), tuple(backwards), tuple(sizes))


def _run_start(
    w: Writer, start: int | Dyn, step: int, extent: int, axis: int, n: int, normalise: Normalise
) -> Start:
    """The lowest element of a run: its first, or its last when it goes backwards."""
    if extent == 0:
        return 0
    shift = extent - 1 if step < 0 else 0
    if not isinstance(start, Dyn):
        return start - shift
    first = normalise(start.arg, axis, shift, n - extent + shift)
    return w.subtract(first, w.integer(shift)) if shift else first


def read_region(w: Writer, x: Value, region: Region) -> Value:
    """The elements of a region, in an array of `region.sizes`."""
    if region.is_static:
        starts = [s for s in region.starts if not isinstance(s, Value)]
        stops = [s + e for s, e in zip(starts, region.extents, strict=True)]
        return w.reverse(w.slice(x, starts, stops, region.steps), region.reversed)
    box = dynamic_slice(w, x, region.starts, region.extents)
    if not region.is_dense:
        box = w.slice(box, [0] * len(box.shape), box.shape, region.steps)
    return w.reverse(box, region.reversed)


def dynamic_slice(w: Writer, x: Value, starts: Sequence[Start], sizes: Sequence[int]) -> Value:
    names = _starts(w, starts)
    return w.op("dynamic_slice", x, *names, shape=tuple(sizes), attrs=f"sizes = [{', '.join(map(str, sizes))}]")


def _starts(w: Writer, starts: Sequence[Start]) -> list[Value]:
    return [s if isinstance(s, Value) else w.integer(s) for s in starts]


# ---- index ---------------------------------------------------------------------------------------


def index(
    w: Writer, x: Value, attrs: IndexAttrs, out: Shape, normalise: Normalise, normalise_gather: NormaliseGather
) -> Value:
    dims = attrs.dims
    region = region_of(w, x.shape, dims, normalise)
    box = x if region.is_whole(x.shape) and region.is_dense and not region.reversed else read_region(w, x, region)
    if not any(isinstance(d, Gather) for d in dims):
        return w.reshape(box, out)
    return _gather(w, box, dims, out, points_of(w, x.shape, dims, normalise, normalise_gather))


@dataclass(frozen=True, slots=True)
class Points:
    """Index vectors: `starts` has shape (*shape, number of axes)."""

    starts: Value
    axes: tuple[int, ...]
    shape: Shape


def points_of(
    w: Writer, whole: Shape, dims: Sequence[Dim], normalise: Normalise, normalise_gather: NormaliseGather
) -> Points:
    axes = tuple(i for i, d in enumerate(dims) if not isinstance(d, Run))
    parts = [_coordinate(w, whole[axis], axis, dims[axis], normalise, normalise_gather) for axis in axes]
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    columns = [w.reshape(w.broadcast(p, shape), (*shape, 1)) for p in parts]
    return Points(w.concatenate(columns, len(shape)), axes, shape)


def _coordinate(
    w: Writer, n: int, axis: int, d: Dim, normalise: Normalise, normalise_gather: NormaliseGather
) -> Value:
    match d:
        case Gather(arg=arg):
            return normalise_gather(arg, axis, n)
        case At(index=Dyn(arg=arg)):
            return normalise(arg, axis, 0, n - 1)
        case At(index=int() as i):
            return w.integer(i)
    raise AssertionError("a run has no coordinate")


def _gather(w: Writer, x: Value, dims: Sequence[Dim], out: Shape, points: Points) -> Value:
    sizes = [1 if i in points.axes else n for i, n in enumerate(x.shape)]
    if 0 in out:
        return w.constant(0, out, x.dtype)
    position, rank = gather_position(tuple(dims)), len(points.shape)
    offsets = [i for i in range(len(out)) if not position <= i < position + rank]
    listed = ", ".join(map(str, points.axes))
    numbers = (
        f"#stablehlo.gather<offset_dims = [{', '.join(map(str, offsets))}], collapsed_slice_dims = [{listed}], "
        f"start_index_map = [{listed}], index_vector_dim = {rank}>"
    )
    result = Value(w.fresh(), out, x.dtype)
    types = (
        f"({tensor_type(x.shape, x.dtype)}, {tensor_type(points.starts.shape, I64)}) -> {tensor_type(out, x.dtype)}"
    )
    w.line(
        f'{result.name} = "stablehlo.gather"({x.name}, {points.starts.name}) <{{dimension_numbers = {numbers}, '
        f"indices_are_sorted = false, slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}> : {types}"
    )
    return result


# ---- put -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Store:
    """Facts about a store. `accumulate`: put_add. `fill`: the number that every element of the array is, None where
    that is not known: a static store into one is a pad. `reads`: the value is computed from the array itself, so that a
    store in place would have to copy the array first. `zero`: what is added is 0.0, which makes 0.0 of -0.0.
    """

    accumulate: bool
    fill: Any
    reads: bool
    zero: bool = False


IN_PLACE = Store(False, None, False)


def put(
    w: Writer,
    x: Value,
    value: Value,
    attrs: IndexAttrs,
    indexed: Shape,
    store: Store,
    normalise: Normalise,
    normalise_gather: NormaliseGather,
) -> Value:
    """`x` with `value` stored, broadcast to the `indexed` shape and cast."""
    value = fit(w, w.convert(value, x.dtype), indexed)
    dims = attrs.dims
    region = region_of(w, x.shape, dims, normalise)
    if 0 in indexed:
        return x
    if any(isinstance(d, Gather) for d in dims):
        points = points_of(w, x.shape, dims, normalise, normalise_gather)
        if region.is_whole(x.shape) and region.is_dense and not region.reversed:
            return _scatter(w, x, value, dims, points, store.accumulate)
        box = _scatter(w, read_region(w, x, region), value, dims, points, store.accumulate)
        return _replace(w, x, box, region, IN_PLACE)
    return _replace(w, x, w.reshape(value, region.sizes), region, store)


def fit(w: Writer, value: Value, shape: Shape) -> Value:
    """A store drops leading axes of size one, then broadcasts."""
    extra = len(value.shape) - len(shape)
    if extra > 0:
        value = w.reshape(value, value.shape[extra:])
    return w.broadcast(value, shape)


FEW = 64  # elements: of so few a copy costs nothing


def _replace(w: Writer, x: Value, value: Value, region: Region, store: Store) -> Value:
    """x with the elements of the region replaced by `value` (of shape `region.sizes`), or increased by it."""
    if store.zero:
        return _replace(w, x, plus_zero(w, read_region(w, x, region)), region, Store(False, store.fill, True))
    value = w.reverse(value, region.reversed)
    accumulate = store.accumulate
    if region.is_static and store.fill is not None and (store.fill == 0 or not accumulate):
        return _padded(w, value, region, x.shape, w.constant(store.fill, (), x.dtype))
    if region.is_whole(x.shape) and region.is_dense:
        return _sum(w, x, value) if accumulate else value
    mostly = region.is_static and (store.reads or accumulate) and 2 * math.prod(value.shape) >= math.prod(x.shape)
    if mostly or not region.is_dense:
        return _spread_out(w, x, value, region, accumulate)
    if accumulate:
        old = read_region(w, x, Region(region.starts, region.extents, region.steps, (), region.sizes))
        value = _sum(w, old, value)
    if region.is_static and math.prod(x.shape) <= FEW and not (store.reads or accumulate):
        return _selected(w, x, value, region)
    return w.op("dynamic_update_slice", x, value, *_starts(w, region.starts), shape=x.shape, attrs="")


def _selected(w: Writer, x: Value, value: Value, region: Region) -> Value:
    """The store by a constant mask. XLA repeats what precedes an update for each use of it, and so on for the updates
    before that: of 18 lines `w[k] = s; w = w * c + d` it makes a program in 130 s, with masks in 0.1 s. A value that is
    computed from `x` would be such a use.
    """
    mask = np.zeros(x.shape, np.bool_)
    starts = [s for s in region.starts if not isinstance(s, Value)]
    mask[tuple(slice(k, k + n) for k, n in zip(starts, region.extents, strict=True))] = True
    spread = w.broadcast(w.reshape(value, ()), x.shape) if math.prod(value.shape) == 1 else None
    if spread is None:
        spread = _padded(w, value, region, x.shape, w.constant(0, (), x.dtype))
    return w.select(w.constant(mask, x.shape, BOOL), spread, x)


def _spread_out(w: Writer, x: Value, value: Value, region: Region, accumulate: bool) -> Value:
    """The value is padded to the box, with gaps for strides, and selected where it has elements.

    For a large part of an array that the value is computed from (`a[1:-1] = f(a)`) this is 2 to 3 times faster than an
    update in place: the whole becomes one parallel fusion, and the array need not be copied first.
    """
    box_region = Region(region.starts, region.extents, (1,) * len(x.shape), (), region.extents)
    whole = region.is_static
    box = x if whole else dynamic_slice(w, x, region.starts, region.extents)
    spread = region if whole else Region((0,) * len(x.shape), region.extents, region.steps, (), region.sizes)
    signed = complex(-0.0, -0.0) if x.dtype.kind == "c" else -0.0  # 0.0 would make 0.0 of -0.0
    nothing = signed if accumulate and x.dtype.kind in "fcV" else 0
    padded = _padded(w, value, spread, box.shape, w.constant(nothing, (), x.dtype))
    if accumulate:
        new = _sum(w, box, padded)
    else:
        marks = _padded(w, w.constant(True, value.shape, BOOL), spread, box.shape, w.constant(False, (), BOOL))
        new = w.select(marks, padded, box)
    return new if whole else _replace(w, x, new, box_region, IN_PLACE)


def _padded(w: Writer, value: Value, region: Region, shape: Shape, fill: Value) -> Value:
    """`value` at a static region of an array that is `fill` elsewhere."""
    low = [s for s in region.starts if not isinstance(s, Value)]
    high = [n - s - e for n, s, e in zip(shape, low, region.extents, strict=True)]
    if not any(low) and not any(high) and region.is_dense:
        return value
    return w.pad(value, fill, low, high, [s - 1 for s in region.steps])


def _sum(w: Writer, x: Value, y: Value) -> Value:
    return w.either(x, y) if x.dtype == BOOL else w.add(x, y)


def _scatter(w: Writer, x: Value, value: Value, dims: Sequence[Dim], points: Points, accumulate: bool) -> Value:
    """`value` has NumPy's indexed shape. A region of runs that go backwards is never scattered to in place."""
    position, rank = gather_position(tuple(dims)), len(points.shape)
    window = [i for i in range(len(value.shape)) if not position <= i < position + rank]
    listed = ", ".join(map(str, points.axes))
    numbers = (
        f"#stablehlo.scatter<update_window_dims = [{', '.join(map(str, window))}], inserted_window_dims = [{listed}], "
        f"scatter_dims_to_operand_dims = [{listed}], index_vector_dim = {rank}>"
    )
    result = Value(w.fresh(), x.shape, x.dtype)
    old, new = Value(w.fresh("old"), (), x.dtype), Value(w.fresh("new"), (), x.dtype)
    scalar = tensor_type((), x.dtype)
    w.line(
        f'{result.name} = "stablehlo.scatter"({x.name}, {points.starts.name}, {value.name}) '
        f"<{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}> ({{"
    )
    w.line(f"^bb0({old.name}: {scalar}, {new.name}: {scalar}):")
    with w.region():
        total = _sum(w, old, new) if accumulate else new
        w.line(f"stablehlo.return {total.name} : {scalar}")
    whole = tensor_type(x.shape, x.dtype)
    parts = f"{whole}, {tensor_type(points.starts.shape, I64)}, {tensor_type(value.shape, x.dtype)}"
    w.line(f"}}) : ({parts}) -> {whole}")
    return result
