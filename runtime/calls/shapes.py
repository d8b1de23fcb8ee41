"""Shapes without values: `ShapeDtypeStruct` and `eval_shape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.float0 import Zeros
from ...translator.ir import Aval
from ...translator.reading.reader import read
from ...translator.reading.text.signature import static_value
from ...translator.tracebacks import trim_traceback
from ...translator.tree import Kind, Rows, TreeDef, close_node, tree_map
from ..trees.tree_util import tree_leaves
from .arguments import bind_arguments
from .callables import readable


class ShapeDtypeStruct:
    """The shape and dtype of an array, standing in for the array where no values are needed."""

    __slots__ = ("dtype", "shape", "sharding", "weak_type")
    __untraced_static__ = True  # made where a function is read

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False, **options: Any
    ) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.sharding, self.weak_type = sharding, weak_type

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """That of an array or a number."""
        return cls(np.shape(x), np.result_type(x))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The structure, shapes and dtypes of `fun(*args, **kwargs)`, without computing it: a tree of ShapeDtypeStructs.

    Arguments are trees of arrays, numbers and ShapeDtypeStructs. Raises as an accelerated function does when read.

    >>> eval_shape(lambda a, b: a @ b, ShapeDtypeStruct((1000, 20), "f4"), np.ones((20, 3), "f4")).shape
    (1000, 3)
    """
    function = readable(getattr(fun, "__untraced_function__", fun))
    given, named = abstracted((list(args), dict(kwargs)))
    try:
        reading = read(function, bind_arguments(function, given, named).signature, changes="dropped")
    except Exception as error:
        trim_traceback(error)
        raise
    results = iter(reading.function.body.results)
    return _shown(reading.function.out, results)


eval_shape.__dict__["__untraced_shapes__"] = ShapeDtypeStruct


def abstracted(tree: Any) -> Any:
    """The tree as a function can be read for it: with what it is told of ShapeDtypeStructs in their place."""
    if not any(isinstance(x, ShapeDtypeStruct) for x in tree_leaves(tree)):
        return tree
    return tree_map(lambda x: Aval(x.shape, x.dtype) if isinstance(x, ShapeDtypeStruct) else x, tree)


def _shown(t: TreeDef, results: Any) -> Any:
    if t.kind is Kind.LEAF:
        aval = next(results).aval
        return ShapeDtypeStruct(aval.shape, aval.dtype)
    if t.kind is Kind.STATIC:
        value = static_value(t)
        if type(value) is Zeros:
            return ShapeDtypeStruct(value.shape, value.dtype)
        known = isinstance(value, bool | int | float | complex | np.generic)
        return ShapeDtypeStruct((), np.result_type(value)) if known else value
    children = [_shown(child, results) for child in t.children]
    if t.type is Rows:
        (rows,) = children
        return [ShapeDtypeStruct(rows.shape[1:], rows.dtype)] * rows.shape[0]
    return close_node(t, children)
