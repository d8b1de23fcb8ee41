"""Slices at run-time places, products by dimension numbers, convolutions and windows, under the names of `jax.lax`.

A convolution is a sum over the taps of its kernel: a strided slice of the input times the kernel's matrix at that tap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..tree import flatten, tree_map
from .scattering import updated
from .support import known, one_axis

Pairs = Sequence[tuple[int, int]]


# ---- slices --------------------------------------------------------------------------------------


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Any:
    """operand[s0 : s0 + n0, s1 : s1 + n1, ...], of the shape `slice_sizes`. Starts are integers, known or not; negative
    ones count from the end, and the slice is moved inside.

    ValueError where there are not as many starts and sizes as axes, TypeError for a size that does not fit into its
    axis.
    """
    return operand[_places(operand.shape, start_indices, slice_sizes)].copy()


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """A copy of `operand` with `update`, of as many axes, at these starts, which are taken as in dynamic_slice; its
    errors, too.
    """
    places = _places(operand.shape, start_indices, np.shape(update))
    return updated(operand, places, update, "set") if places else np.asarray(update, operand.dtype)


def _places(shape: tuple[int, ...], starts: Any, sizes: Sequence[int]) -> tuple[slice, ...]:
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise ValueError(f"{len(starts)} starts and {len(sizes)} sizes were given for an array of {len(shape)} axes")
    return tuple(_inside(starts[axis], sizes[axis], shape[axis]) for axis in range(len(shape)))


def _inside(start: Any, size: int, n: int) -> slice:
    if not 0 <= size <= n:
        raise TypeError(f"a slice of size {size} does not fit into an axis of size {n}")
    first = np.minimum(np.maximum(np.where(start < 0, start + n, start), 0), n - size)
    return slice(first, first + size)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """dynamic_slice along one axis, which then has `slice_size` elements. AxisError for an axis that is not there."""
    return operand[_place(operand, start_index, slice_size, axis)].copy()


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """dynamic_update_slice along one axis: `update` is as long as it says, in other axes as `operand`."""
    return updated(operand, _place(operand, start_index, update.shape[axis], axis), update, "set")


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """operand[..., index, ...], the index taken as the starts of dynamic_slice are. The axis stays, with one element,
    where `keepdims`.
    """
    row = dynamic_slice_in_dim(operand, index, 1, axis)
    return row if keepdims else np.squeeze(row, axis)


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """A copy of `operand` with `update` at one index of an axis; `update` has that axis, of one element, or not."""
    value = update if np.ndim(update) == operand.ndim else np.expand_dims(update, axis)
    return dynamic_update_slice_in_dim(operand, value, index, axis)


def _place(operand: Any, start: Any, size: int, axis: int) -> tuple[slice, ...]:
    before = (slice(None) for _ in range(one_axis(axis, operand.ndim)))
    return (*before, _inside(start, size, operand.shape[axis]))


def static_slice(
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """operand[start:limit:stride] along every axis (`lax.slice`); all of it lies inside.

    ValueError where there are not as many numbers as axes, TypeError for bounds outside an axis or in the wrong order.
    """
    steps = strides or (1,) * operand.ndim
    if {len(start_indices), len(limit_indices), len(steps)} != {operand.ndim}:
        raise ValueError(f"an array of {operand.ndim} axes has as many starts, limits and strides")
    for a, b, n in zip(start_indices, limit_indices, operand.shape):
        if not 0 <= a <= b <= n:
            raise TypeError(f"a slice from {a} to {b} does not lie inside an axis of size {n}")
    return operand[tuple(slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, steps, strict=True))].copy()


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """operand[start:limit:stride] along one axis, None being its ends. AxisError for an axis that is not there."""
    before = tuple(slice(None) for _ in range(one_axis(axis, operand.ndim)))
    return operand[(*before, slice(start_index, limit_index, stride))].copy()


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """operand[..., index, ...] of a known index. The axis stays, with one element, where `keepdims`. IndexError out of
    range.
    """
    row = np.take(operand, index, axis)
    return np.expand_dims(row, axis) if keepdims else row


# ---- shapes --------------------------------------------------------------------------------------


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """New leading axes of these sizes: shape (*sizes, *operand.shape), a view that cannot be written."""
    return np.broadcast_to(operand, (*sizes, *np.shape(operand)))


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """An array of this shape: axis k of `operand` is axis broadcast_dimensions[k] of it, the others are repeated.
    ValueError where sizes do not fit.
    """
    sizes = [1] * len(shape)
    for axis, place in enumerate(broadcast_dimensions):
        sizes[place] = np.shape(operand)[axis]
    return np.broadcast_to(np.reshape(operand, tuple(sizes)), tuple(shape))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """(low, high, interior) for each axis: interior elements between neighbours; negative ends cut off.

    ValueError where there are not as many as axes, or less than no elements between neighbours; `padding_value` is a
    number.
    """
    if len(padding_config) != operand.ndim or np.ndim(padding_value):
        raise ValueError(
            f"pad takes (low, high, interior) for each of {operand.ndim} axes and one number, not {padding_config} and "
            f"a value of shape {np.shape(padding_value)}"
        )
    for axis, (low, high, interior) in enumerate(padding_config):
        spread = _dilated(operand, padding_value, axis, interior + 1)
        operand = _extended(spread, padding_value, axis, low, high)
    return operand


def _dilated(x: Any, value: Any, axis: int, step: int) -> Any:
    n = x.shape[axis]
    if step == 1 or n < 2:
        return x
    out = np.full((*x.shape[:axis], (n - 1) * step + 1, *x.shape[axis + 1 :]), value, x.dtype)
    out[(*(slice(None) for _ in range(axis)), slice(None, None, step))] = x
    return out


def _extended(x: Any, value: Any, axis: int, low: int, high: int) -> Any:
    n = x.shape[axis]
    kept = x[(*(slice(None) for _ in range(axis)), slice(max(-low, 0), n - max(-high, 0)))]
    widths = [(0, 0)] * axis + [(max(low, 0), max(high, 0))] + [(0, 0)] * (x.ndim - axis - 1)
    return np.pad(kept, widths, constant_values=value) if max(low, high) > 0 else kept


# ---- products ------------------------------------------------------------------------------------


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Contract and batch axes by number: ((lhs, rhs contracting), (lhs, rhs batch)).

    The result has the batch axes, then those left of `lhs`, then those left of `rhs`. TypeError for axes that an
    operand does not have or that are named twice.
    """
    (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    for side, named in ((lhs, (*contract_l, *batch_l)), (rhs, (*contract_r, *batch_r))):
        if len(set(named)) != len(named) or not set(named) <= set(range(side.ndim)):
            raise TypeError(f"dot_general: axes {named} of an operand of {side.ndim} axes: each once, from 0 on")
    left = [-1] * lhs.ndim
    right = [-1] * rhs.ndim
    count = 0
    for a, b in [*zip(batch_l, batch_r, strict=True), *zip(contract_l, contract_r, strict=True)]:
        left[a] = right[b] = count
        count += 1
    for labels in (left, right):
        for axis in range(len(labels)):
            if labels[axis] < 0:
                labels[axis] = count
                count += 1
    kept = [k for k in left if k not in right] + [k for k in right if k not in left]
    x, y = _at_least(lhs, preferred_element_type), _at_least(rhs, preferred_element_type)
    out = summed(_spelled(left, right, [left[a] for a in batch_l] + kept), x, y)
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def summed(spelled: str, x: Any, y: Any) -> Any:
    """np.einsum; of bfloat16, for which it has no loop, added in float32. Read, it is np.einsum."""
    halves = [a.dtype for a in (x, y) if a.dtype.kind == "V"]
    if not halves:
        return np.einsum(spelled, x, y)
    wide = np.einsum(spelled, *[a.astype(np.float32) if a.dtype.kind in "Vbiu" else a for a in (x, y)])
    return wide if {x.dtype.kind, y.dtype.kind} & {"f", "c"} else wide.astype(halves[0])


def _at_least(x: Any, wanted: Any) -> Any:
    """An operand in the dtype in which products are to be added, where that is the wider one."""
    return x if wanted is None or not np.can_cast(x.dtype, wanted) else x.astype(wanted)


def _spelled(left: list[int], right: list[int], out: list[int]) -> str:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    texts = ["".join(letters[k] for k in labels) for labels in (left, right, out)]
    return f"{texts[0]},{texts[1]}->{texts[2]}"


# ---- windows -------------------------------------------------------------------------------------


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Pairs,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """A convolution (in truth a correlation) over the spatial axes.

    lhs   batch, features in and spatial axes, in the order that `dimension_numbers` says ("NCHW" by default)
    rhs   the kernel: features out, features in / groups, spatial axes ("OIHW" by default)
    """
    rank, window_strides = lhs.ndim - 2, known(window_strides)
    if rank < 0 or rhs.ndim != lhs.ndim or len(window_strides) != rank or min((1, *window_strides)) < 1:
        raise ValueError(
            f"a convolution of arrays of {lhs.ndim} and {rhs.ndim} axes with strides {tuple(window_strides)}: both "
            "have batch, features and as many spatial axes as there are strides, each 1 or more"
        )
    spec_l, spec_r, spec_o = _layouts(dimension_numbers, rank)
    spatial = _SPATIAL[:rank]
    x = np.transpose(_at_least(lhs, preferred_element_type), [spec_l.index(c) for c in f"N{spatial}C"])
    w = np.transpose(_at_least(rhs, preferred_element_type), [spec_r.index(c) for c in f"{spatial}IO"])
    for axis in range(rank):
        x = _dilated(x, 0, axis + 1, lhs_dilation[axis] if lhs_dilation else 1)
    dilation = tuple(rhs_dilation) if rhs_dilation else (1,) * rank
    pairs = pads_of(padding, x.shape[1:-1], w.shape[:-2], window_strides, dilation)
    for axis in range(rank):
        x = _extended(x, 0, axis + 1, *pairs[axis])
    _check_groups(x.shape, w.shape, feature_group_count, batch_group_count)
    y = _correlated(x, w, window_strides, dilation, feature_group_count, batch_group_count)
    out = np.transpose(y, [f"N{spatial}C".index(c) for c in spec_o])
    same = lhs.dtype if lhs.dtype == rhs.dtype else out.dtype  # products of bfloat16 are wider in NumPy
    return out.astype(preferred_element_type or same)


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Pairs,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """What each place of a convolution sees, as features: for each feature of `lhs` the elements of the window."""
    rank = lhs.ndim - 2
    spec_l, spec_r, _ = _layouts(dimension_numbers, rank)
    size, features = math.prod(filter_shape), lhs.shape[spec_l.index("C")]
    one_each = np.eye(size, dtype=lhs.dtype).reshape(size, 1, *filter_shape)
    kernel = np.tile(one_each, (features, 1) + (1,) * rank)
    kernel = np.transpose(kernel, [f"OI{_SPATIAL[:rank]}".index(c) for c in spec_r])
    dilations = (lhs_dilation, rhs_dilation, dimension_numbers, features)
    return conv_general_dilated(
        lhs, kernel, window_strides, padding, *dilations, preferred_element_type=preferred_element_type
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Pairs,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """A convolution with a kernel of its own at each place.

    lhs   as in `conv_general_dilated`
    rhs   features out, features in * the elements of `filter_shape`, and the spatial axes of the result, in the order
          that `dimension_numbers` says ("OIHW" by default)
    """
    rank = lhs.ndim - 2
    spec_l, spec_r, spec_o = _layouts(dimension_numbers, rank)
    spatial = _SPATIAL[:rank]
    x = np.transpose(lhs, [spec_l.index(c) for c in f"NC{spatial}"])
    w = np.transpose(rhs, [spec_r.index(c) for c in f"OI{spatial}"])
    seen = conv_general_dilated_patches(x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation)
    if w.shape[1:] != seen.shape[1:]:
        raise ValueError(
            f"conv_general_dilated_local: the kernel has {w.shape[1]} elements for each of {w.shape[2:]} places, "
            f"but windows have {seen.shape[1]} at {seen.shape[2:]}"
        )
    y = np.einsum("nc...,oc...->no...", seen, w)
    return np.transpose(y, [f"NC{spatial}".index(c) for c in spec_o])


_SPATIAL = "0123456789"


class ConvDimensionNumbers(NamedTuple):
    """For each array the places of batch, features (of the kernel: features out, in) and spatial axes."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def conv_dimension_numbers(lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any) -> ConvDimensionNumbers:
    """Layouts such as ("NHWC", "HWIO", "NHWC") as places of axes; None is the order of batch, features, spatial."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape) - 2
    names = ("NC" + _SPATIAL[:rank], "OI" + _SPATIAL[:rank], "NC" + _SPATIAL[:rank])
    specs = zip(_layouts(dimension_numbers, rank), names, strict=True)
    left, right, out = (tuple(spec.index(c) for c in wanted) for spec, wanted in specs)
    return ConvDimensionNumbers(left, right, out)


def _spelled_layout(places: Sequence[int], first: str) -> str:
    letters = first + _SPATIAL[: len(places) - 2]
    return "".join(letters[list(places).index(k)] for k in range(len(places)))


def _layouts(dimension_numbers: Any, rank: int) -> tuple[str, str, str]:
    """The three layouts with spatial axes as digits."""
    if dimension_numbers is None:
        return "NC" + _SPATIAL[:rank], "OI" + _SPATIAL[:rank], "NC" + _SPATIAL[:rank]
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        specs = zip(dimension_numbers, ("NC", "OI", "NC"), strict=True)
        left, right, result = (_spelled_layout(places, first) for places, first in specs)
        return left, right, result
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    marks = {c: _SPATIAL[i] for i, c in enumerate(spatial)}
    left, right, result = ("".join(marks.get(c, c) for c in spec) for spec in (lhs, rhs, out))
    return left, right, result


def pads_of(
    padding: str | Pairs, size: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> Pairs:
    """The zeros in front of and behind each axis that a name of JAX's stands for. ValueError for another name."""
    if not isinstance(padding, str):
        return [(a, b) for a, b in padding]
    if padding == "VALID":
        return [(0, 0)] * len(window)
    if padding not in ("SAME", "SAME_LOWER"):
        raise ValueError(f'padding must be "SAME", "SAME_LOWER", "VALID" or pairs, not {padding!r}')
    found = []
    for n, k, s, d in zip(size, window, strides, dilation, strict=True):
        total = max((math.ceil(n / s) - 1) * s + (k - 1) * d + 1 - n, 0)
        less, more = total // 2, total - total // 2
        found.append((more, less) if padding == "SAME_LOWER" else (less, more))
    return found


def _check_groups(x: tuple[int, ...], w: tuple[int, ...], features: int, batches: int) -> None:
    """ValueError where the sizes do not fit."""
    if features > 1 and batches > 1:
        raise ValueError("feature_group_count and batch_group_count cannot both be greater than 1")
    if x[-1] != w[-2] * features:
        raise ValueError(
            f"a kernel of {w[-2]} features in and feature_group_count={features} does not fit {x[-1]} features"
        )
    for what, size, count in (
        ("features out", w[-1], features),
        ("features out", w[-1], batches),
        ("the batch", x[0], batches),
    ):
        if size % count:
            raise ValueError(f"{count} groups do not divide {what}, {size}")


def _correlated(x: Any, w: Any, strides: Sequence[int], dilation: Sequence[int], features: int, batches: int) -> Any:
    """x (N, ..., C) with w (..., C / features, O): what a row of the kernel sees, tap beside tap, times that row."""
    *window, inputs, outputs = w.shape
    sizes = _counts(x.shape[1:-1], window, strides, dilation)
    shape = (x.shape[0] // batches, *sizes, outputs)
    if 0 in shape or 0 in w.shape:
        return np.zeros(shape, np.result_type(x, w))
    *outer, width = window or [1]
    rows = w.reshape(*outer, width * inputs, outputs)
    seen = [x]
    if window:
        seen = [x[(..., *_seen((k,), sizes[-1:], strides[-1:], dilation[-1:]), slice(None))] for k in range(width)]
    if inputs > 1 or features == 1:
        seen = [_beside(seen, features)]

    def product(place: tuple[int, ...]) -> Any:
        here = (slice(None), *_seen(place, sizes[:-1], strides[:-1], dilation[:-1]))
        return _row([part[here] for part in seen], rows[place], features, batches).reshape(shape)

    first, *others = itertools.product(*(range(n) for n in outer))
    total = product(first)
    for place in others:
        total = total + product(place)
    return total


def _beside(seen: Sequence[Any], groups: int) -> Any:
    """Taps side by side, those of one group of features together: (N, ..., groups * taps * C / groups)."""
    if groups == 1:
        return np.concatenate(seen, -1)
    parts = np.concatenate([x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups) for x in seen], -1)
    return parts.reshape(*parts.shape[:-2], -1)


def _row(seen: Sequence[Any], kernel: Any, features: int, batches: int) -> Any:
    """What a row of the kernel sees, in one piece (tap by tap where every feature is a group), times the row, whose
    shape is (taps C / features, O)."""
    if features == 1 and batches == 1:
        return seen[0] @ kernel
    groups, outputs = max(features, batches), kernel.shape[1]
    parts = kernel.reshape(-1, groups, outputs // groups)
    if batches > 1:
        return np.einsum("bn...k,kbo->n...bo", seen[0].reshape(batches, -1, *seen[0].shape[1:]), parts)
    if len(parts) == len(seen):
        return sum(x[..., None] * part for x, part in zip(seen, parts, strict=True))
    x = seen[0].reshape(*seen[0].shape[:-1], groups, len(parts))
    return np.einsum("...gk,kgo->...go", x, parts)


def _counts(
    size: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """How many places a window has along each axis."""
    axes = tuple(zip(size, window, strides, dilation, strict=True))
    return tuple(max((n - ((k - 1) * d + 1)) // s + 1, 0) for n, k, s, d in axes)


def _seen(
    tap: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> tuple[slice, ...]:
    """What one tap of the window sees at all places."""
    axes = tuple(zip(tap, sizes, strides, dilation, strict=True))
    return tuple(slice(t * d, t * d + max(n - 1, 0) * s + (1 if n else 0), s) for t, n, s, d in axes)


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv_general_dilated of `lhs` (N, C, ...) with `rhs` (O, C, ...), of which the result is (N, O, ...); `padding`
    is "SAME", "VALID" or pairs.
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type)


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Pairs,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv` with (low, high) padding for each spatial axis, and dilations of operand and kernel."""
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: str | Pairs,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """A convolution with a fractional stride: the transpose of one with `strides`, whose "SAME" and "VALID" are meant.
    With `transpose_kernel` the kernel is that one's: flipped, its features out and in exchanged. The layout is
    ("NHWC", "HWIO", "NHWC") by default, in any number of spatial axes.
    """
    rank = lhs.ndim - 2
    numbers = dimension_numbers
    if numbers is None:
        numbers = ("N" + _SPATIAL[:rank] + "C", _SPATIAL[:rank] + "IO", "N" + _SPATIAL[:rank] + "C")
    spec = _layouts(numbers, rank)[1]
    places = [spec.index(c) for c in _SPATIAL[:rank]]
    dilation = tuple(rhs_dilation) if rhs_dilation else (1,) * rank
    reach = [(rhs.shape[k] - 1) * d + 1 for k, d in zip(places, dilation, strict=True)]
    if isinstance(padding, str):
        pads = [_transposed_padding(padding, k, s) for k, s in zip(reach, strides, strict=True)]
    else:
        pads = [(k - 1 - a, k - 1 - b) if use_consistent_padding else (a, b) for k, (a, b) in zip(reach, padding)]
    kernel = rhs
    if transpose_kernel:
        kernel = np.swapaxes(np.flip(rhs, tuple(places)), spec.index("O"), spec.index("I"))
    return conv_general_dilated(
        lhs, kernel, (1,) * rank, pads, strides, dilation, numbers, preferred_element_type=preferred_element_type
    )


def _transposed_padding(padding: str, reach: int, stride: int) -> tuple[int, int]:
    """Zeros on both sides so that the result has n * stride ("SAME") or all elements that a window of `reach` sees."""
    if padding not in ("SAME", "VALID"):
        raise ValueError(f'padding must be "SAME", "VALID" or pairs, not {padding!r}')
    if padding == "VALID":
        total, low = reach + stride - 2 + max(reach - stride, 0), reach - 1
    else:
        total = reach + stride - 2
        low = reach - 1 if stride > reach - 1 else (total + 1) // 2
    return low, total - low


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Pairs = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """`computation` over the elements of each window, starting from `init_value`, its neutral element. Operand and
    start may be trees of arrays of one shape; `computation` then takes and gives such trees. TypeError where what is
    said for each axis is not said for as many as there are.
    """
    ndim = flatten(operand)[0][0].ndim
    strides = tuple(window_strides) if window_strides else (1,) * ndim
    dilation = tuple(window_dilation) if window_dilation else (1,) * ndim
    base = tuple(base_dilation) if base_dilation else (1,) * ndim
    if {len(window_dimensions), len(strides), len(dilation), len(base)} != {ndim}:
        raise TypeError(f"reduce_window of {ndim} axes takes as many window dimensions, strides and dilations")

    def extended(x: Any, start: Any) -> Any:
        for axis in range(ndim):
            x = _dilated(x, start, axis, base[axis])
        pairs = pads_of(padding, x.shape, window_dimensions, strides, dilation)
        for axis in range(ndim):
            x = _extended(x, start, axis, *pairs[axis])
        return x

    wide = tree_map(extended, operand, init_value)
    sizes = _counts(flatten(wide)[0][0].shape, window_dimensions, strides, dilation)
    out = tree_map(lambda x, start: np.full(sizes, start, x.dtype), wide, init_value)
    for tap in itertools.product(*(range(k) for k in window_dimensions)):
        seen = _seen(tap, sizes, strides, dilation)
        out = computation(out, tree_map(lambda x: x[seen], wide))  # noqa: B023  # called at once
    return out


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k largest elements along an axis, the largest first, and their places, a list; of equal ones the first."""
    x = np.moveaxis(operand, axis, -1)
    n = x.shape[-1]
    if not 0 <= k <= n:
        raise ValueError(f"top_k: k is {k}, and the axis has {n} elements")
    order = n - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    places = order[..., :k].astype(np.int32)
    return [np.moveaxis(np.take_along_axis(x, places, -1), -1, axis), np.moveaxis(places, -1, axis)]


CALLED: tuple[Callable[..., Any], ...] = (
    dynamic_slice, dynamic_update_slice, dynamic_slice_in_dim, dynamic_update_slice_in_dim, dynamic_index_in_dim,
    dynamic_update_index_in_dim, static_slice, slice_in_dim, index_in_dim, broadcast, broadcast_in_dim, pad,
    dot_general, conv_general_dilated, conv_dimension_numbers, conv, conv_with_general_padding, conv_transpose,
    reduce_window, top_k,
)  # fmt: skip
