"""The namespace `untraced.flatten_util`: a pytree of arrays as one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.hosted import offer
from .tree_util import tree_flatten, tree_unflatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves behind each other, shape (total,), of the dtype that they promote to; and the way back, which gives
    each leaf its shape and dtype again. ValueError there for a vector of another length.
    """
    leaves, tree = tree_flatten(pytree)
    shapes, dtypes = [np.shape(x) for x in leaves], [np.result_type(x) for x in leaves]
    sizes = [math.prod(shape) for shape in shapes]
    total = sum(sizes)
    flat = np.concatenate([np.ravel(x) for x in leaves]) if leaves else np.zeros(0)

    def unravel(vector: Any) -> Any:
        if np.shape(vector) != (total,):
            raise ValueError(f"unravel function: expected an array of shape {(total,)}, got {np.shape(vector)}")
        parts, start = [], 0
        for size, shape, dtype in zip(sizes, shapes, dtypes):
            parts.append(np.reshape(vector[start : start + size], shape).astype(dtype))
            start += size
        return tree_unflatten(tree, parts)

    return flat, unravel


__all__ = ["ravel_pytree"]

offer(globals(), __all__, "untraced.flatten_util")
