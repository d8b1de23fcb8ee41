"""`next(it)` of iterators that names hold: the element that comes next, and what is left."""

from __future__ import annotations

import ast
import operator

from ..core.context import Context
from ..core.growing import Pile
from ..core.values import Endless, Enumerate, Generator, Iterated, Ref, Reversed, Value, Zip, class_name, describe
from ..paths.generators import check_unchanged, taken
from ..paths.iterables import consumed, held
from .iteration import known_items
from .subscripts import index_array


def next_of(ctx: Context, v: Value, node: ast.AST) -> list[Value]:
    """The element that an iterator gives next, which it has no more; nothing where it is at its end."""
    v = held(ctx, v)
    if type(v) is Generator and v.used is False:
        check_unchanged(ctx, v, node)
        first, rest = list(v.items[:1]), v.items[1:]
        ctx.set_attribute(v, "items", rest)
        return first
    if type(v) is Iterated and v.used is False:
        parts = _parted(ctx, v.inner, node)
        if parts is None:
            return []
        ctx.set_attribute(v, "inner", parts[1])
        return [parts[0]]
    if type(v) is Generator:
        return taken(ctx, v, node)
    if type(v) is Pile:
        return known_items(ctx, v, node)[:1]
    if type(v) is Iterated:
        return [consumed(ctx, v, node)]
    raise TypeError(f"'{class_name(v)}' object is not an iterator")


def _parted(ctx: Context, v: Value, node: ast.AST) -> tuple[Value, Value] | None:
    """The first element of what an iterator runs over and the others, each as it is when it is asked for."""
    match v:
        case Ref():
            whole = v.aval.shape[0] > 0
            return (index_array(ctx, v, 0, node), index_array(ctx, v, _OTHERS, node)) if whole else None
        case range() | tuple():
            return (v[0], v[1:]) if v else None
        case Zip(parts=parts):
            rows = [_parted(ctx, p, node) for p in parts]
            found = [row for row in rows if row is not None]
            whole = len(found) == len(rows) > 0
            return (tuple(a for a, _ in found), Zip(tuple(b for _, b in found))) if whole else None
        case Enumerate(inner=inner, start=int() as start):
            row = _parted(ctx, inner, node)
            return None if row is None else ((start, row[0]), Enumerate(row[1], start + 1))
        case Endless(item=item, counts=counts):
            return item(0), Endless(lambda i: item(i + 1), _counted_on(ctx, counts, node))
        case Reversed(inner=Ref() as x):
            whole = x.aval.shape[0] > 0
            last = index_array(ctx, x, -1, node) if whole else None
            return (last, Reversed(index_array(ctx, x, slice(None, -1), node))) if whole else None
    return ctx.cut(node, f"`next` of an iterator over {describe(v)}", instead="loop over the container, or index it")


def _counted_on(ctx: Context, counts: tuple[Value, Value] | None, node: ast.AST) -> tuple[Value, Value] | None:
    return None if counts is None else (ctx.call(operator.add, list(counts), {}, node), counts[1])


_OTHERS = slice(1, None)
