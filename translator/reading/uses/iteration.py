"""What a `for` loop or a comprehension iterates over."""

from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from ... import make
from ...errors import DTypeError
from ...ir import Var
from ...surface.python import as_python
from ..core.context import Context
from ..core.demand import refuse_undefined, static
from ..core.growing import Growing, Pile, item, length
from ..core.values import (
    Bounds,
    DictView,
    Endless,
    Enumerate,
    Flat,
    Foreign,
    Generator,
    Grid,
    Iterated,
    Masked,
    Places,
    Ref,
    Reversed,
    RunRange,
    Undefined,
    Value,
    Zip,
    describe,
)
from ..facts.contents import known_arrays
from ..facts.runs import first, past
from ..parts.known import run_known
from ..parts.piled import all_items, element
from ..parts.selection import concrete
from ..paths.generators import getters, taken
from ..paths.iterables import UNROLL_LIMIT, Getter, Steps, consumed
from .marked import rows_at_true
from .protocols import is_instance, refuse_loop, special
from .subscripts import MANY_NUMBERS, index_array, index_value, number_line


def known_items(ctx: Context, v: Value, node: ast.AST) -> list[Value]:
    """All elements, for code that runs while the function is translated. Run-time bounds are asked for."""
    if isinstance(v, Foreign) and not hasattr(getattr(type(v.value), "__iter__", None), "__code__"):
        refuse_loop(ctx, v, node)
    if type(v) is Flat:
        v = v.line
    if type(v) is Ref:
        shape = v.aval.shape
        if not shape:
            raise ctx.error(DTypeError, node, "iteration over a 0-d array")
        _check_length(ctx, shape[0], node)
        return [index_array(ctx, v, i, node) for i in range(shape[0])]
    match v:
        case RunRange():
            static(ctx, v, node, "the range")
        case Zip(parts=parts):
            return _zipped(ctx, parts, node)
        case Endless():
            _cut_endless(ctx, node)
        case Pile():
            return all_items(ctx, v, node)
        case Iterated():
            return known_items(ctx, consumed(ctx, v, node), node)
        case DictView():
            return v.elements
        case Generator():
            return taken(ctx, v, node)
        case Grid(shape=shape):
            _check_length(ctx, math.prod(shape), node)
            return list(np.ndindex(*shape))
        case Enumerate(inner=inner, start=start):
            return list(enumerate(known_items(ctx, inner, node), static(ctx, start, node, "the start of enumerate")))
        case Reversed(inner=inner):
            return known_items(ctx, inner, node)[::-1]
        case Var():
            raise ctx.error(DTypeError, node, "a number cannot be iterated over", why=f"it is {describe(v)}")
        case Masked():
            return known_items(ctx, _array_of(ctx, v, node), node)
        case Undefined():
            refuse_undefined(ctx, v, node)
    if is_instance(v):
        made = special(ctx, v, "__iter__", [], node)
        if made is not NotImplemented:
            return known_items(ctx, made, node)
    if isinstance(v, range):
        _check_length(ctx, len(v), node)
    return listed(ctx, node, iter, v)


def listed(ctx: Context, node: ast.AST, python: Callable[..., Iterable[Value]], *args: Value) -> list[Value]:
    """The elements of what Python makes of known values: `itertools.combinations` may give any number."""
    items: list[Value] = run_known(
        ctx, node, lambda *known: list(itertools.islice(python(*known), _MOST_KNOWN + 1)), *args
    )
    if len(items) > _MOST_KNOWN:
        ctx.cut(
            node,
            f"more than {_MOST_KNOWN:,} elements, one by one",
            why="they are no numbers in an array, so each would be looked at when the function is translated",
            instead="run over an array of numbers",
        )
    return items


def _zipped(ctx: Context, parts: tuple[Value, ...], node: ast.AST) -> list[Value]:
    """The rows of a zip; an endless part gives as many elements as the shortest of the others."""
    finite = [known_items(ctx, p, node) for p in parts if not isinstance(p, Endless)]
    if not finite and parts:
        _cut_endless(ctx, node)
    length = min(map(len, finite), default=0)
    waiting = iter(finite)
    columns = [[p.item(i) for i in range(length)] if isinstance(p, Endless) else next(waiting) for p in parts]
    return list(zip(*columns, strict=False))


def _cut_endless(ctx: Context, node: ast.AST) -> NoReturn:
    ctx.cut(node, "a loop over an iterator without an end", instead="write `while True` and a counter")


def item_getters(ctx: Context, v: Value, node: ast.AST) -> list[Getter]:
    """One function an element, which reads it when its turn comes: the loop may have written the array by then."""
    match v:
        case Flat():
            return item_getters(ctx, v.line, node)
        case Ref():
            _check_length(ctx, v.aval.shape[0], node)
            return [functools.partial(index_array, ctx, v, i, node) for i in range(v.aval.shape[0])]
        case Zip(parts=parts) if not any(isinstance(p, Endless) for p in parts):
            rows = zip(*(item_getters(ctx, p, node) for p in parts), strict=False)
            return [functools.partial(_together, row) for row in rows]
        case Enumerate(inner=inner, start=start):
            first = static(ctx, start, node, "the start of enumerate")
            return [functools.partial(_counted, i, get) for i, get in enumerate(item_getters(ctx, inner, node), first)]
        case Reversed(inner=inner):
            return item_getters(ctx, inner, node)[::-1]
    if type(v) is DictView:
        return [functools.partial(_in_dict, ctx, v, key, list(v.owner), node) for key in v.owner]
    if type(v) is dict or type(v) is set:
        return [functools.partial(_among, ctx, v, item, list(v), node) for item in v]
    made = v if type(v) is Generator else ctx.iterator(v)
    if made is not None:
        return getters(ctx, made, node)
    if type(v) is list:
        return [functools.partial(_on_list, ctx, v, i, len(v), node) for i in range(len(v))]
    return [functools.partial(_same, item) for item in known_items(ctx, v, node)]


def _in_dict(ctx: Context, view: DictView, key: Any, keys: list[Any], node: ast.AST) -> Value:
    _check_members(ctx, view.owner, keys, node)
    return view.of(key)


def _among(ctx: Context, v: Collection[Any], item: Any, members: list[Any], node: ast.AST) -> Value:
    _check_members(ctx, v, members, node)
    return item


def _on_list(ctx: Context, v: list[Value], i: int, length: int, node: ast.AST) -> Value:
    _check_length_kept(ctx, v, length, node)
    return v[i]


def _check_length_kept(ctx: Context, v: list[Value], length: int, node: ast.AST) -> None:
    """Elements may have changed before their turn comes; how many there are is CPython's."""
    if len(v) != length:
        ctx.cut(node, "a loop over a list changes how many elements it has", instead="loop over a copy of it")


def _check_members(ctx: Context, v: Collection[Any], members: list[Any], node: ast.AST) -> None:
    """CPython decides whether it may go on."""
    if list(v) != members:
        what = f"a loop over a {type(v).__name__} changes which elements it has"
        ctx.cut(node, what, instead="loop over a list of them")


def end_of(ctx: Context, v: Value, node: ast.AST) -> Callable[[], None]:
    """A check for when no element is left: the loop has not changed the length or members of what it runs over."""
    owners = [(owner, list(owner)) for owner in _changeable(v)]

    def end() -> None:
        for owner, members in owners:
            if type(owner) is list:
                _check_length_kept(ctx, owner, len(members), node)
            else:
                _check_members(ctx, owner, members, node)

    return end


def _changeable(v: Value) -> Iterator[Collection[Any]]:
    """The lists, dicts and sets that are gone through as they are when asked."""
    if type(v) is Zip:
        for part in v.parts:
            yield from _changeable(part)
    elif type(v) is Enumerate or type(v) is Reversed:
        yield from _changeable(v.inner)
    elif type(v) is DictView:
        yield v.owner
    elif type(v) is dict or type(v) is set or type(v) is list:
        yield v


def _together(getters: tuple[Getter, ...]) -> Value:
    return tuple(get() for get in getters)


def _counted(i: int, get: Getter) -> Value:
    return i, get()


def _same(item: Value) -> Value:
    return item


def _check_length(ctx: Context, n: int, node: ast.AST) -> None:
    if n > UNROLL_LIMIT:
        ctx.cut(
            node,
            f"{n} steps would have to be written out",
            why=f"the element is needed when the function is translated; the limit is {UNROLL_LIMIT}",
            instead="use the element as a number or an array index only, so that the loop stays a loop",
        )


_MOST_KNOWN = 100_000  # elements of a known container or iterator
_ENDLESS = 1 << 60  # how far a count goes: nobody waits for its end


def steps_of(ctx: Context, v: Value, node: ast.AST) -> Steps | None:
    """How to run over `v` with a counter; None for containers, which are unrolled."""
    match v:
        case range():
            return Steps(v.start, v.stop, v.step, len(v), lambda i: i)
        case RunRange():
            return Steps(v.start, v.stop, v.step, None, lambda i: i, v.reverse)
        case Endless(counts=(int() as start, int() as step)) if step:
            return steps_of(ctx, range(start, start + step * (_ENDLESS // abs(step)), step), node)
        case Ref():
            if not v.aval.shape:
                raise ctx.error(DTypeError, node, "iteration over a 0-d array")
            n = v.aval.shape[0]
            return Steps(0, n, 1, n, lambda i: index_array(ctx, v, i, node))
        case Flat():
            return steps_of(ctx, v.line, node)
        case Grid(shape=shape):
            n = math.prod(shape)
            return Steps(0, n, 1, n, lambda i: _place(ctx, i, shape, node))
        case Masked(parts=(Bounds() as p, *_), whole=x):
            return Steps(first(ctx, p), past(ctx, p), p.step, None, lambda i: index_array(ctx, x, i, node))
        case Masked():
            return _steps_at_true(ctx, v, node)
        case Reversed(inner=range() as r):
            return steps_of(ctx, r[::-1], node)
        case Reversed(inner=RunRange() as r):
            return Steps(r.start, r.stop, r.step, None, lambda i: i, not r.reverse)
        case Pile():
            return _steps_of_pile(ctx, v, node)
        case Reversed(inner=Pile() as made):
            return _steps_of_pile(ctx, made, node, reverse=True)
        case Growing():
            return Steps(0, length(ctx, v), 1, None, lambda i: item(ctx, v, i, node))
        case Reversed(inner=Growing() as made):
            return Steps(0, length(ctx, made), 1, None, lambda i: item(ctx, made, i, node), True)
        case Reversed(inner=Ref() as x):
            n = x.aval.shape[0]
            return Steps(n - 1, -1, -1, n, lambda i: index_array(ctx, x, i, node))
        case Enumerate(inner=inner, start=start):
            return _enumerate(ctx, inner, start, node)
        case Zip(parts=parts):
            return _zip(ctx, parts, node)
    numbers = number_line(ctx, v)
    return _steps_over_numbers(ctx, v, node) if numbers is not None and len(numbers) > MANY_NUMBERS else None


def _steps_of_pile(ctx: Context, v: Pile, node: ast.AST, reverse: bool = False) -> Steps:
    return Steps(0, v.count, 1, None, lambda i: element(ctx, v, i, node), reverse)


def _steps_over_numbers(ctx: Context, v: list[Value], node: ast.AST) -> Steps:
    n = len(v)

    def element(i: Value) -> Value:
        _check_length_kept(ctx, v, n, node)
        return index_value(ctx, v, i, node)

    return Steps(0, n, 1, n, element)


def length_of(ctx: Context, v: Value, node: ast.AST) -> int | None:
    """How many elements `v` has, where that is known without asking for them."""
    if isinstance(v, list | tuple | dict | set | frozenset | str):
        return len(v)
    if type(v) is Generator:
        return len(v.items)
    if type(v) is DictView:
        return len(v.owner)
    steps = steps_of(ctx, v.inner if type(v) is Iterated else v, node)
    return None if steps is None else steps.length


def _place(ctx: Context, i: Value, shape: tuple[int, ...], node: ast.AST) -> Value:
    """The index of element number `i`."""
    place: list[Value] = []
    for n in shape[:0:-1]:
        place.append(ctx.binary(ast.Mod, i, n, node))
        i = ctx.binary(ast.FloorDiv, i, n, node)
    return (i, *reversed(place)) if shape else ()


def _array_of(ctx: Context, s: Masked, node: ast.AST) -> Ref:
    return concrete(ctx, s, node, "a loop over x[mask]")


def _steps_at_true(ctx: Context, s: Masked, node: ast.AST) -> Steps | None:
    masks = [p.mask for p in s.parts if isinstance(p, Places)]
    if ctx.transforms and known_arrays(ctx, masks) is None:
        rows = rows_at_true(ctx, s, node)
        if rows is not None:
            return Steps(0, rows[0], 1, None, rows[1])
    return steps_of(ctx, _array_of(ctx, s, node), node)


def _from_zero(ctx: Context, v: Value, node: ast.AST) -> Steps | None:
    """The same elements by a counter from 0 in steps of 1; None where the length is not known."""
    steps = steps_of(ctx, v, node)
    if steps is None or (steps.start == 0 and type(steps.start) is int and steps.step == 1 and type(steps.step) is int):
        return steps
    if steps.length is None:
        return None
    def element(i: Value) -> Value:
        scaled = i if steps.step == 1 else ctx.binary(ast.Mult, i, steps.step, node)
        return steps.element(scaled if steps.start == 0 else ctx.binary(ast.Add, scaled, steps.start, node))

    return Steps(0, steps.length, 1, steps.length, element)


def _enumerate(ctx: Context, inner: Value, start: Value, node: ast.AST) -> Steps | None:
    steps = _from_zero(ctx, inner, node)
    if steps is None:
        return None

    def element(i: Value) -> Value:
        count = i if type(start) is int and start == 0 else ctx.binary(ast.Add, i, start, node)
        return (count, steps.element(i))

    return Steps(0, steps.stop, 1, steps.length, element)


def _zip(ctx: Context, parts: tuple[Value, ...], node: ast.AST) -> Steps | None:
    found = [_from_zero(ctx, p, node) for p in parts]
    known = [s for s in found if s is not None]
    if len(known) < len(found) or not known:
        return None
    if all(s.length is not None for s in known):
        shortest = min(s.length for s in known if s.length is not None)
        return Steps(0, shortest, 1, shortest, lambda i: tuple(s.element(i) for s in known))
    ends = functools.reduce(functools.partial(make.minimum, ctx.b), [ctx.atom(s.stop) for s in known])
    stop = ctx.wrap(as_python(ctx.b, ends))
    return Steps(0, stop, 1, None, lambda i: tuple(s.element(i) for s in known))
