"""How much a statement has to do, in operations on elements, as far as that is known before the run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...translator.ir import Apply, For, Fused, If, Raise, Statement, While, blocks_of
from ...translator.ops.core import At, Create, Dyn, Index, IndexAttrs, Put, Reduce, Reshape, indexed_shape

TURNS = 100  # of a loop of which nothing is known


def work(s: For | While) -> float:
    """Operations on elements, with a guess at the turns that only the run knows."""
    inside = sum(map(operations, _below(s)))
    return _turns(s) * (inside or 1)


def _turns(s: For | While) -> float:
    if isinstance(s, While):
        return TURNS
    turns = s.range.static()
    return max(TURNS, _walked(s)) if turns is None else len(turns)


def _walked(s: For) -> int:
    """The length of the longest axis along which a loop goes by its index."""
    lengths = [0]
    for inner in s.body.statements:
        if isinstance(inner, Apply) and isinstance(inner.attrs, IndexAttrs):
            places = zip(inner.args[0].aval.shape, inner.attrs.dims, strict=True)
            at = [(n, d.index.arg) for n, d in places if isinstance(d, At) and isinstance(d.index, Dyn)]
            lengths += [n for n, k in at if inner.args[k] is s.body.params[0]]
    return max(lengths)


def _below(s: Statement) -> Iterator[Statement]:
    for b in blocks_of(s):
        yield from b.statements


def operations(s: Statement) -> float:
    match s:
        case For() | While():
            return work(s)
        case If() | Fused():
            return sum(map(operations, _below(s)))
        case Raise():
            return 1
        case Apply():
            return elements(s)
    return 1


def elements(s: Apply) -> int:
    """How many elements a statement computes or stores; zero for views."""
    match s.op:
        case Reshape() | Create():
            return 0
        case Put():
            assert isinstance(s.attrs, IndexAttrs)
            return max(1, math.prod(indexed_shape(s.attrs, [a.aval for a in s.args])))
        case Reduce():
            return s.args[0].aval.size
        case Index():
            return 1
    return max(t.aval.size for t in s.targets)
