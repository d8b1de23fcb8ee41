"""What a loop or a comprehension runs over."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import DTypeError
from ..ir import Var
from .context import Context
from .demand import static
from .indexing import index_array
from .protocols import refuse_loop
from .values import Bounds, Enumerate, Foreign, Masked, Ref, Reversed, RunRange, Undefined, Value, Zip, describe

UNROLL_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class Steps:
    """Iteration by a counter: `range(start, stop, step)`, and the element at each value of the counter.

    `length` is the number of steps where it is known.
    """

    start: Value
    stop: Value
    step: Value
    length: int | None
    element: Callable[[Value], Value]
    reverse: bool = False


def known_items(ctx: Context, v: Value, node: ast.AST) -> list[Value]:
    """All elements, for what runs when the function is translated. Run-time bounds are asked for."""
    if isinstance(v, Foreign):
        refuse_loop(ctx, v, node)
    if type(v) is Ref:
        shape = v.aval.shape
        _check_length(ctx, shape[0], node)
        return [index_array(ctx, v, i, node) for i in range(shape[0])]
    match v:
        case RunRange():
            static(ctx, v, node, "the range")
        case Zip(parts=parts):
            return list(zip(*(known_items(ctx, p, node) for p in parts), strict=False))
        case Enumerate(inner=inner, start=start):
            return list(enumerate(known_items(ctx, inner, node), static(ctx, start, node, "the start of enumerate")))
        case Reversed(inner=inner):
            return known_items(ctx, inner, node)[::-1]
        case Var():
            raise ctx.error(DTypeError, node, "a number cannot be iterated over", why=f"it is {describe(v)}")
        case Masked():
            return known_items(ctx, _array_of(ctx, v, node), node)
        case Undefined():
            ctx.refuse(node, v.why, instead=v.instead)
    from .expressions import run_known

    if isinstance(v, range):
        _check_length(ctx, len(v), node)
    items: list[Value] = run_known(ctx, node, list, v)
    return items


Getter = Callable[[], Value]


def item_getters(ctx: Context, v: Value, node: ast.AST) -> list[Getter]:
    """One function an element, which reads it when its turn comes: the loop may have written the array by then."""
    if isinstance(v, Foreign):
        refuse_loop(ctx, v, node)
    match v:
        case Ref():
            _check_length(ctx, v.aval.shape[0], node)
            return [functools.partial(index_array, ctx, v, i, node) for i in range(v.aval.shape[0])]
        case Zip(parts=parts):
            rows = zip(*(item_getters(ctx, p, node) for p in parts), strict=False)
            return [functools.partial(_together, row) for row in rows]
        case Enumerate(inner=inner, start=start):
            first = static(ctx, start, node, "the start of enumerate")
            return [functools.partial(_counted, i, get) for i, get in enumerate(item_getters(ctx, inner, node), first)]
        case Reversed(inner=inner):
            return item_getters(ctx, inner, node)[::-1]
    return [functools.partial(_same, item) for item in known_items(ctx, v, node)]


def _together(getters: tuple[Getter, ...]) -> Value:
    return tuple(get() for get in getters)


def _counted(i: int, get: Getter) -> Value:
    return i, get()


def _same(item: Value) -> Value:
    return item


def _check_length(ctx: Context, n: int, node: ast.AST) -> None:
    if n > UNROLL_LIMIT:
        ctx.refuse(
            node,
            f"{n} steps would have to be written out",
            why=f"the element is needed when the function is translated; the limit is {UNROLL_LIMIT}",
            instead="use the element as a number or an array index only, so that the loop stays a loop",
        )


def steps_of(ctx: Context, v: Value, node: ast.AST) -> Steps | None:
    """How to run over `v` with a counter; None for containers, which are unrolled."""
    match v:
        case range():
            return Steps(v.start, v.stop, v.step, len(v), lambda i: i)
        case RunRange():
            return Steps(v.start, v.stop, v.step, None, lambda i: i, v.reverse)
        case Ref():
            if not v.aval.shape:
                raise ctx.error(DTypeError, node, "iteration over a 0-d array")
            n = v.aval.shape[0]
            return Steps(0, n, 1, n, lambda i: index_array(ctx, v, i, node))
        case Masked(parts=(Bounds() as p, *_), whole=x):
            from .selection import first, past

            return Steps(first(ctx, p), past(ctx, p), p.step, None, lambda i: index_array(ctx, x, i, node))
        case Masked():
            return steps_of(ctx, _array_of(ctx, v, node), node)
        case Reversed(inner=range() as r):
            return steps_of(ctx, r[::-1], node)
        case Reversed(inner=RunRange() as r):
            return Steps(r.start, r.stop, r.step, None, lambda i: i, not r.reverse)
        case Reversed(inner=Ref() as x):
            n = x.aval.shape[0]
            return Steps(n - 1, -1, -1, n, lambda i: index_array(ctx, x, i, node))
        case Enumerate(inner=inner, start=start):
            return _enumerate(ctx, inner, start, node)
        case Zip(parts=parts):
            return _zip(ctx, parts, node)
    return None


def _array_of(ctx: Context, s: Masked, node: ast.AST) -> Ref:
    from .selection import concrete

    return concrete(ctx, s, node, "a loop over x[mask]")


def _from_zero(ctx: Context, v: Value, node: ast.AST) -> Steps | None:
    """The same elements by a counter from 0 in steps of 1; None where the length is not known."""
    steps = steps_of(ctx, v, node)
    if steps is None or (steps.start == 0 and type(steps.start) is int and steps.step == 1 and type(steps.step) is int):
        return steps
    if steps.length is None:
        return None
    from .expressions import binary

    def element(i: Value) -> Value:
        scaled = i if steps.step == 1 else binary(ctx, ast.Mult, i, steps.step, node)
        return steps.element(scaled if steps.start == 0 else binary(ctx, ast.Add, scaled, steps.start, node))

    return Steps(0, steps.length, 1, steps.length, element)


def _enumerate(ctx: Context, inner: Value, start: Value, node: ast.AST) -> Steps | None:
    from .expressions import binary

    steps = _from_zero(ctx, inner, node)
    if steps is None:
        return None

    def element(i: Value) -> Value:
        count = i if type(start) is int and start == 0 else binary(ctx, ast.Add, i, start, node)
        return (count, steps.element(i))

    return Steps(0, steps.stop, 1, steps.length, element)


def _zip(ctx: Context, parts: tuple[Value, ...], node: ast.AST) -> Steps | None:
    found = [_from_zero(ctx, p, node) for p in parts]
    known = [s for s in found if s is not None]
    if len(known) < len(found) or not known or any(s.length is None for s in known):
        return None
    shortest = min(s.length for s in known if s.length is not None)
    return Steps(0, shortest, 1, shortest, lambda i: tuple(s.element(i) for s in known))
