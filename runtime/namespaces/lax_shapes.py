"""The functions of `untraced.lax` that compute shapes of results and pads, from shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...translator.library.windows import conv_dimension_numbers, pads_of

Shape = Sequence[int]


def padtype_to_pads(in_shape: Shape, window_shape: Shape, window_strides: Shape, padding: Any) -> list[tuple[int, int]]:
    """The zeros in front of and behind each axis that "SAME", "SAME_LOWER" or "VALID" stands for: pairs."""
    ones = (1,) * len(in_shape)
    return [(int(low), int(high)) for low, high in pads_of(padding, in_shape, window_shape, window_strides, ones)]


def reduce_window_shape_tuple(
    operand_shape: Shape,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[tuple[int, int]],
    base_dilation: Shape | None = None,
    window_dilation: Shape | None = None,
) -> tuple[int, ...]:
    """The shape of what `reduce_window` gives: how many places of the window each axis has."""
    ones = (1,) * len(operand_shape)
    every = zip(
        operand_shape, window_dimensions, window_strides, padding, base_dilation or ones, window_dilation or ones,
        strict=True,
    )  # fmt: skip
    found = []
    for n, k, step, (low, high), between, apart in every:
        length = low + high + (max((n - 1) * between + 1, 0))
        found.append(max((length - (k - 1) * apart - 1) // step + 1, 0))
    return tuple(found)


def conv_shape_tuple(
    lhs_shape: Shape, rhs_shape: Shape, strides: Shape, pads: Any, batch_group_count: int = 1
) -> tuple[int, ...]:
    """The shape (batch, features, ...) of a convolution of (batch, features, ...) with a kernel (out, in, ...).

    ValueError for a batch that is no multiple of `batch_group_count`.
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if lhs_shape[0] % batch_group_count:
        raise ValueError(f"a batch of {lhs_shape[0]} is no multiple of batch_group_count={batch_group_count}")
    spatial = reduce_window_shape_tuple(lhs_shape[2:], rhs_shape[2:], strides, pads)
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The axes of ("NHWC", "HWIO", "NHWC") in the order (batch, features, spatial ones), of the kernel (out, in,
    spatial ones): three tuples of places. The spatial axes are in the kernel's order.
    """
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    orders = ["".join([*first, *spatial]) for first in ("NC", "OI", "NC")]
    return tuple([tuple(map(s.index, order)) for s, order in zip((lhs, rhs, out), orders, strict=True)])


def conv_general_shape_tuple(
    lhs_shape: Shape, rhs_shape: Shape, window_strides: Shape, padding: Any, dimension_numbers: Any
) -> tuple[int, ...]:
    """The shape of a convolution in any layout."""
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    sizes = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    return _laid_out(conv_shape_tuple(*sizes, window_strides, padding), out)


def conv_transpose_shape_tuple(
    lhs_shape: Shape, rhs_shape: Shape, window_strides: Shape, padding: Any, dimension_numbers: Any
) -> tuple[int, ...]:
    """The shape of a transposed convolution, each axis `window_strides` times as long, in any layout. `padding` is
    "SAME", "VALID" or pairs.
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    sizes, window = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    if isinstance(padding, str):
        before = [n * s for n, s in zip(sizes[2:], window_strides, strict=True)]
        if padding == "VALID":
            before = [n + max(k - s, 0) for n, k, s in zip(before, window[2:], window_strides, strict=True)]
        return _laid_out((sizes[0], window[0], *before), out)
    each = zip(sizes[2:], window[2:], window_strides, padding, strict=True)
    spatial = [(n - 1) * s + 1 + low + high - k + 1 for n, k, s, (low, high) in each]
    return _laid_out((sizes[0], window[0], *spatial), out)


def _laid_out(sizes: Sequence[int], places: Sequence[int]) -> tuple[int, ...]:
    """The sizes (batch, features, ...) at their places."""
    found = [0] * len(sizes)
    for size, place in zip(sizes, places, strict=True):
        found[place] = size
    return tuple(found)
