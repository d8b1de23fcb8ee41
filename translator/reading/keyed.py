"""Elements in the order of keys that only the run knows, in what is differentiated or batched.

    max(points, key=np.linalg.norm)    rows = np.array(points); rows[np.argmax([np.linalg.norm(p) for p in points])]
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..surface.python import as_python
from .context import Context
from .values import Ref, Value, is_runtime


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


class Keyed:
    """Elements that are ordered by numbers of the run. NaN among the keys is told apart as Python's `<` does."""

    def __init__(self, ctx: Context, node: ast.AST, items: list[Value], keys: Value) -> None:
        self.ctx, self.node, self.items, self.keys = ctx, node, items, keys

    def extreme(self, places: Callable[..., Any]) -> Value:
        """The first of the largest or smallest, by np.argmax or np.argmin. A key of NaN is passed over but in front,
        where nothing is before it."""
        first = self._call(operator.getitem, self.keys, 0)
        nan = self._call(np.isnan, self.keys)
        at = self._call(places, self._call(np.where, nan, first, self.keys))
        return self._at(self.items, at)

    def ordered(self, reverse: bool) -> list[Value]:
        """Stable either way. NaN goes last, where Python leaves the order of all open."""
        keys = self._call(np.flip, self.keys) if reverse else self.keys
        order = self._call(np.argsort, keys, kind="stable")
        if reverse:
            order = self._call(np.subtract, len(self.items) - 1, self._call(np.flip, order))
        return [self._at(self.items, self._call(operator.getitem, order, i)) for i in range(len(self.items))]

    def _at(self, items: list[Value], place: Value) -> Value:
        first = items[0]
        if type(first) is tuple:
            return tuple(self._at(list(column), place) for column in zip(*items, strict=True))
        found = self._call(operator.getitem, self._call(np.array, items), place)
        if self.ctx.atom(first).aval.weak:
            return self.ctx.wrap(as_python(self.ctx.b, self.ctx.atom(found)))
        if type(first) is not Ref:
            return found
        made = Ref(self.ctx.cell(self.ctx.read(found)))  # a copy of what is one of the elements in Python
        for cell in (made.cell, *(c for x in items if type(x) is Ref for c in x.cell.group)):
            cell.ambiguous = cell.ambiguous or "it may be one that the data chose"
        return made

    def _call(self, f: Callable[..., Any], *args: Value, **options: Value) -> Value:
        return self.ctx.call(f, list(args), options, self.node)
