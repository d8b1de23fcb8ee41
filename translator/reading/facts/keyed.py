"""Elements at places that only the run knows; in the order of keys, in what is differentiated or batched.

    knots[bisect.bisect(x, v)]         np.array(knots)[...]
    max(points, key=np.linalg.norm)    rows = np.array(points); rows[np.argmax([np.linalg.norm(p) for p in points])]
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import make
from ...surface.python import as_python
from ..core.context import Context
from ..core.values import Ref, Value, is_runtime, leaves_in

MOST_CHOICES = 256  # elements, each an operand of one statement


def are_alike(ctx: Context, items: list[Value]) -> bool:
    """Whether all are numbers or arrays of one type, or tuples of such: one of them is rows of arrays then."""
    first = items[0]
    if type(first) is tuple:
        same = all(type(x) is tuple and len(x) == len(first) for x in items)
        return same and all(are_alike(ctx, list(column)) for column in zip(*items, strict=True))
    if any(isinstance(x, bool) or not (is_runtime(x) or isinstance(x, int | float | np.number)) for x in items):
        return False
    avals = [ctx.atom(x).aval for x in items]
    return all(a == avals[0] for a in avals)


def are_choices(ctx: Context, v: Value) -> bool:
    """Whether the run may choose an element of a container. An array would have to be that element, whatever is done
    with it: CPython has it, but in what is differentiated or batched.
    """
    if ctx.frame.fixed or type(v) not in (list, tuple) or not 0 < len(v) <= MOST_CHOICES:
        return False
    return are_alike(ctx, list(v)) and (not ctx.keeps_changes or not any(type(x) is Ref for x in leaves_in(v)))


def element_at(ctx: Context, items: list[Value], place: Value, node: ast.AST) -> Value:
    """The one of items that are alike which stands at a place that only the run knows."""
    first = items[0]
    if type(first) is tuple:
        return tuple(element_at(ctx, list(column), place, node) for column in zip(*items, strict=True))
    found = ctx.call(operator.getitem, [ctx.call(np.array, [items], {}, node), place], {}, node)
    if ctx.atom(first).aval.weak:
        return ctx.wrap(as_python(ctx.b, ctx.atom(found)))
    if type(first) is not Ref:
        return found
    made = Ref(ctx.cell(ctx.read(found)))  # a copy of what is one of the elements in Python
    for cell in (made.cell, *(c for x in items if type(x) is Ref for c in x.cell.group)):
        cell.ambiguous = cell.ambiguous or "it may be one that the data chose"
    return made


def entry_at(ctx: Context, entries: dict[Any, Value], key: Value, node: ast.AST) -> Value:
    """The value of entries that are alike under an int that only the run knows; KeyError where there is none."""
    ints = [k for k in entries if isinstance(k, int | np.integer)]
    found = ctx.call(np.equal, [np.array(ints, np.int64), key], {}, node)
    make.raise_if(ctx.b, make.logical_not(ctx.b, make.any(ctx.b, ctx.read(found))), KeyError, "the key is in no entry")
    place = ctx.call(np.argmax, [found], {}, node)
    return element_at(ctx, [entries[k] for k in ints], place, node)


class Keyed:
    """Elements that are ordered by numbers of the run, or by tuples of such: `columns`, the last compared last. NaN
    among single numbers is told apart as Python's `<` does.
    """

    def __init__(self, ctx: Context, node: ast.AST, items: list[Value], columns: list[Value]) -> None:
        self.ctx, self.node, self.items, self.columns = ctx, node, items, columns

    def extreme(self, largest: bool) -> Value:
        """The first of the largest or smallest. A key of NaN is passed over but in front, where it is before all."""
        if len(self.columns) > 1:
            return self.ordered(largest)[0]
        (keys,) = self.columns
        first = self._call(operator.getitem, keys, 0)
        nan = self._call(np.isnan, keys)
        at = self._call(np.argmax if largest else np.argmin, self._call(np.where, nan, first, keys))
        return element_at(self.ctx, self.items, at, self.node)

    def ordered(self, reverse: bool) -> list[Value]:
        """Stable either way. NaN goes last, where Python leaves the order of all open."""
        columns = [self._call(np.flip, c) if reverse else c for c in self.columns]
        if len(columns) > 1:
            order = self._call(np.lexsort, tuple(columns[::-1]))
        else:
            order = self._call(np.argsort, columns[0], kind="stable")
        if reverse:
            order = self._call(np.subtract, len(self.items) - 1, self._call(np.flip, order))
        return [
            element_at(self.ctx, self.items, self._call(operator.getitem, order, i), self.node)
            for i in range(len(self.items))
        ]

    def _call(self, f: Callable[..., Any], *args: Value, **options: Value) -> Value:
        return self.ctx.call(f, list(args), options, self.node)
