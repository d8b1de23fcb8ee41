"""JAX's float0: the dtype of tangents and cotangents of integers and bools, whose elements have no size.

An array of it is known by its shape alone. In a program it is no value but a part of the structure of arguments and
results: a STATIC node that holds a `Zeros`, for which the caller passes and gets the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tree import Kind, TreeDef, static

FLOAT0 = np.dtype([("float0", np.void, 0)])


class Zeros:
    """Stands for np.zeros(shape, float0) where a function is read and in structures: compared by its shape."""

    __slots__ = ("ndim", "shape", "size")
    dtype = FLOAT0
    itemsize = nbytes = 0

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.ndim, self.size = shape, len(shape), int(np.prod(shape))

    def __eq__(self, other: object) -> bool:
        return type(other) is Zeros and other.shape == self.shape

    def __hash__(self) -> int:
        return hash((Zeros, self.shape))

    def __repr__(self) -> str:
        return f"an array of shape {self.shape} and dtype float0"

    def array(self) -> np.ndarray[Any, Any]:
        """What the caller of a program sees."""
        return np.zeros(self.shape, FLOAT0)


def is_float0(x: Any) -> bool:
    """Whether this is an array of dtype float0, or stands for one."""
    return type(x) is Zeros or (isinstance(x, np.ndarray) and x.dtype == FLOAT0)


def zeros_node(shape: tuple[int, ...]) -> TreeDef:
    """The node of a structure where an array of dtype float0 is."""
    return static(Zeros(shape))


def zeros_of(node: TreeDef) -> Zeros | None:
    """What the node holds where it is one of `zeros_node`."""
    return node.aux if node.kind is Kind.STATIC and type(node.aux) is Zeros else None
