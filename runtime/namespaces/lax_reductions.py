"""`lax.reduce` and its kin: reductions of trees by functions of two elements, and those that NumPy has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.tree import flatten, tree_map


def reduce_sum(operand: Any, axes: Sequence[int]) -> Any:
    """The sum over `axes`, which go, in the dtype of the operand; integers wrap around. 0 over no elements."""
    return np.sum(operand, tuple(axes), operand.dtype)


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """The product over `axes`, which go, in the dtype of the operand; integers wrap around. 1 over no elements."""
    return np.prod(operand, tuple(axes), operand.dtype)


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """The largest element along `axes`, which go; NaN if there is one. ValueError over no elements."""
    return np.max(operand, tuple(axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """The smallest element along `axes`, which go; NaN if there is one. ValueError over no elements."""
    return np.min(operand, tuple(axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """The bits, or truth values, that every element along `axes`, which go, has: integers or bool, else TypeError."""
    return np.bitwise_and.reduce(operand, tuple(axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """The bitwise or along `axes`, which go: of integers or bool, else TypeError."""
    return np.bitwise_or.reduce(operand, tuple(axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """The bitwise exclusive or along `axes`, which go: of integers or bool, else TypeError."""
    return np.bitwise_xor.reduce(operand, tuple(axes))


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]) -> Any:
    """`computation`, associative and with `init_values` neutral, over the axes `dimensions`, which go, of a tree of
    arrays of one shape. In what order elements are combined is not told; over none the result is `init_values`.
    """
    axes = tuple(dimensions)

    def in_front(x: Any) -> Any:
        moved = np.moveaxis(x, axes, tuple(range(len(axes))))
        return np.reshape(moved, (math.prod(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))

    rows = tree_map(in_front, operands)
    start = tree_map(lambda x, v: np.full(x.shape[1:], v, x.dtype), rows, init_values)
    return computation(start, _halved(computation, rows)) if flatten(rows)[0][0].shape[0] else start


def _halved(computation: Callable[[Any, Any], Any], rows: Any) -> Any:
    n = flatten(rows)[0][0].shape[0]
    if n == 1:
        return tree_map(lambda x: x[0], rows)
    half = n // 2
    left = tree_map(lambda x: x[:half], rows)
    right = tree_map(lambda x: x[half : 2 * half], rows)
    combined = computation(left, right)
    if n % 2:
        combined = tree_map(lambda y, x: np.concatenate([y, x[2 * half :]]), combined, rows)
    return _halved(computation, combined)
