"""Small pieces of Python syntax: names, calls, numbers, arrays written out, slices."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ..ir import Aval, Block, Const, DType, Shape, blocks_of, inputs_of
from .numerals import expression


def name(identifier: str) -> ast.expr:
    return ast.Name(identifier, ast.Load())


def dotted(path: str) -> ast.expr:
    first, *rest = path.split(".")
    node = name(first)
    for attribute in rest:
        node = ast.Attribute(node, attribute, ast.Load())
    return node


def call(function: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.expr:
    head = dotted(function) if isinstance(function, str) else function
    return ast.Call(head, list(args), [ast.keyword(k, v) for k, v in keywords.items()])


def method(owner: ast.expr, attribute: str, *args: ast.expr) -> ast.expr:
    return call(ast.Attribute(owner, attribute, ast.Load()), *args)


def subscript(owner: ast.expr, index: ast.expr) -> ast.Subscript:
    return ast.Subscript(owner, index, ast.Load())


def one_or_tuple(items: Sequence[ast.expr]) -> ast.expr:
    return items[0] if len(items) == 1 else ast.Tuple(list(items), ast.Load())


def integer(n: int) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-n)) if n < 0 else ast.Constant(n)


def nested_list(value: int | Sequence[Any]) -> ast.expr:
    """Integers, in lists or not."""
    return integer(value) if isinstance(value, int) else ast.List([nested_list(v) for v in value], ast.Load())


def shape_literal(shape: Shape) -> ast.expr:
    """3 for (3,), (3, 4) for more."""
    return one_or_tuple([ast.Constant(n) for n in shape])


def dtype_literal(dtype: DType) -> ast.expr:
    if dtype.kind in "SUVOMm" and dtype.type.__module__ == "numpy":  # their classes leave out sizes, fields, units
        return ast.parse(f"np.{dtype!r}".replace("numpy.", "np."), mode="eval").body
    if dtype.type.__module__ == "numpy" and dtype.isnative:
        return dotted("np.bool_" if dtype.kind == "b" else f"np.{dtype.name}")
    if dtype.type.__module__ == "ml_dtypes":
        return dotted(f"ml_dtypes.{dtype.name}")
    return call("np.dtype", ast.Constant(dtype.str))


def number(value: complex) -> ast.expr:
    """A Python number; exact, for infinities, NaN and negative zero too."""
    if isinstance(value, bool | int):
        return integer(value) if not isinstance(value, bool) else ast.Constant(value)
    if isinstance(value, float):
        if math.isnan(value):
            return dotted("np.nan")
        magnitude = dotted("np.inf") if math.isinf(value) else ast.Constant(abs(value))
        return ast.UnaryOp(ast.USub(), magnitude) if math.copysign(1.0, value) < 0 else magnitude
    re, im = value.real, value.imag
    if math.isfinite(re) and math.isfinite(im) and math.copysign(1.0, re) > 0 and math.copysign(1.0, im) > 0:
        if re == 0:
            return ast.Constant(complex(0.0, im))
        return ast.BinOp(ast.Constant(re), ast.Add(), ast.Constant(complex(0.0, im)))
    return call("complex", number(re), number(im))


def constant(value: Any, aval: Aval) -> ast.expr:
    """The literal of a known value."""
    if aval.weak:
        return (expression(value) if isinstance(value, float) else None) or number(value)
    if aval.shape == ():
        if aval.dtype.kind == "b":
            return ast.Constant(bool(value))
        return call(dtype_literal(aval.dtype), scalar(value, aval.dtype))
    array = np.asarray(value)
    if array.size == 0 and array.ndim > 1:
        return filled("np.zeros", array.shape, aval.dtype)  # a nested list would lose the empty axes
    natural = np.asarray(array.reshape(-1)[:1].tolist()).dtype == aval.dtype and array.size > 0
    natural = natural and aval.dtype.char not in "gG"  # their elements are written as Python's numbers
    return call("np.array", _nested(array), **({} if natural else {"dtype": dtype_literal(aval.dtype)}))


def row_of(e: ast.expr) -> ast.List | None:
    """The list of an array that is written out, as a row of a larger one."""
    match e:
        case ast.Call(func=ast.Attribute(attr="array"), args=[ast.List() as row], keywords=[]):
            return row
    return None


LONGEST_LITERAL = 1_000
"""Elements of an array that is written out; nobody reads more, and 100,000 take 15 s to print and compile."""


def large_constants(block: Block) -> Iterator[Const]:
    """Arrays that go by a name, among the operands and results of the block and of those inside."""
    atoms = (*block.results, *(a for s in block.statements for a in inputs_of(s)))
    yield from (a for a in atoms if isinstance(a, Const) and a.aval.size > LONGEST_LITERAL)
    for s in block.statements:
        for inner in blocks_of(s):
            yield from large_constants(inner)


def plain_dtype(dtype: DType) -> ast.expr:
    return name("bool") if dtype.kind == "b" else dtype_literal(dtype)


def scalar(value: Any, dtype: DType) -> ast.expr:
    kind = dtype.kind
    if kind == "b":
        return ast.Constant(bool(value))
    if dtype.char == "g" and np.isfinite(value) and float(value) != value:
        return ast.Constant(str(value))  # digits, which NumPy reads; a Python float has fewer
    return number(int(value) if kind in "iu" else complex(value) if kind == "c" else float(value))


def _nested(array: np.ndarray[Any, Any]) -> ast.expr:
    if array.ndim == 0:
        return scalar(array[()], array.dtype)
    return ast.List([_nested(row) for row in array], ast.Load())


def filled(function: str, shape: Shape, dtype: DType) -> ast.expr:
    if dtype == np.float64:
        return call(function, shape_literal(shape))
    return call(function, shape_literal(shape), dtype=dtype_literal(dtype))


def shape_tuple(shape: Shape) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in shape], ast.Load())


def slice_(start: ast.expr | None = None, stop: ast.expr | None = None, step: ast.expr | None = None) -> ast.expr:
    return ast.Slice(start, stop, step)


def slice_call(entry: ast.expr) -> ast.expr:
    """slice(a, b) for a:b, where an index stands outside brackets."""
    if not isinstance(entry, ast.Slice):
        return entry
    parts = [entry.lower or ast.Constant(None), entry.upper or ast.Constant(None)]
    return call("slice", *parts, *([entry.step] if entry.step else []))


def new_axes(axes: tuple[int, ...], ndim: int) -> ast.expr:
    """[:, None] and the like."""
    total = ndim + len(axes)
    if ndim >= 2 and axes == (total - 1,):
        return ast.Tuple([ast.Constant(...), ast.Constant(None)], ast.Load())
    return one_or_tuple([ast.Constant(None) if i in axes else slice_() for i in range(axes[-1] + 1)])


def with_new_axes(entries: Sequence[ast.expr], axes: Collection[int]) -> list[ast.expr]:
    """The entries of x[:, 0, None] out of those of x[:, 0], for new axes of the result."""
    rest, made, axis = list(entries), list[ast.expr](), 0
    while rest or axis <= max(axes):
        is_new = axis in axes and (not rest or isinstance(rest[0], ast.Slice))
        entry = ast.Constant(None) if is_new else rest.pop(0) if rest else slice_()
        made.append(entry)
        axis += is_new or isinstance(entry, ast.Slice)
    return made
