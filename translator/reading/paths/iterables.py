"""What loops run over: by a counter, or one element after the other; iterators, which are consumed once."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...records import dataclass
from ..core.context import Context
from ..core.values import Endless, Enumerate, Grid, Iterated, Reversed, Value, Zip

UNROLL_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Steps:
    """Iteration by a counter: `range(start, stop, step)`, and the element at each value of the counter.

    `length` is the number of steps where it is known. `last` is the value of the counter that one more iteration has,
    which is read behind the loop.
    """

    start: Value
    stop: Value
    step: Value
    length: int | None
    element: Callable[[Value], Value]
    reverse: bool = False
    last: int | None = None


def held(ctx: Context, v: Value) -> Value:
    """`v` as a name or a container holds it: of an iterator it is known when it has been consumed."""
    if type(v) in (Zip, Enumerate, Reversed, Grid, Endless):
        return Iterated(v)
    return v if type(v) is not list else ctx.iterator(v) or v


def consumed(ctx: Context, v: Value, node: ast.AST) -> Value:
    """The elements an iterator runs over, which nobody may ask it for again; `v` itself if it is no held iterator."""
    if type(v) is not Iterated:
        return v
    if v.used is not False:
        why = "it is empty or half-empty after the first time"
        ctx.cut(node, "an iterator is consumed again", why, "make a list of it first, list(...)")
    ctx.set_attribute(v, "used", True)
    return v.inner


Getter = Callable[[], Value]
