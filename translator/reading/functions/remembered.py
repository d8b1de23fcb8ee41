"""functools.cache: a function of known values is read once.

    @cache
    def count(n):                         count(5) takes six readings of the body, not fifteen
        return 1 if n < 2 else count(n - 1) + count(n - 2)

One that the function defines itself is the marker `given`, applied to it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable
from typing import Any

from ..core.context import Context
from ..core.values import Closure, Partial, Ref, Value, has_runtime, leaves_in


def of_closure(ctx: Context, f: Value, args: list[Value], node: ast.AST) -> Value:
    """What functools.cache or lru_cache gives; NotImplemented where it is not asked about an inner function.

    A cache that forgets is as good as one that does not, since what is computed again is the same.
    """
    if f is not functools.cache and f is not functools.lru_cache:
        return NotImplemented
    if not args or type(args[0]) is not Closure:
        return functools.cache if f is functools.lru_cache else NotImplemented
    if not ctx.transforms:
        ctx.cut(node, "an inner function behind functools.cache", "what it remembers is Python's own affair")
    return Partial(given, (args[0],), {})


def given(ctx: Context, node: ast.AST, f: Value, *args: Value, **kwargs: Value) -> Value:
    """A call of a function behind functools.cache."""
    return call(ctx, f, f, list(args), kwargs, node)


def call(
    ctx: Context, cached: Any, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST
) -> Value:
    """What `cached` gives, behind which `f` is. Arrays that it gives may not be written: the next call would give what
    has become of them.
    """
    for v in (*args, *kwargs.values()):
        _check_hashable(v)
    key = (cached, *args, *kwargs.items())
    known = not any(map(has_runtime, [*args, *kwargs.values()])) and all(isinstance(v, Hashable) for v in key)
    if known and key in ctx.remembered:
        value, still_there = ctx.remembered[key]
        if still_there():
            return value
    value = ctx.call(f, args, kwargs, node)
    if known:
        ctx.remembered[key] = (value, _place(ctx) if has_runtime(value) else lambda: True)
    for v in leaves_in([value]):
        if type(v) is Ref and not v.cell.doubt:
            v.cell.ambiguous = f"{_name(cached)} keeps the array that it has returned for its next calls"
    return value


def _place(ctx: Context) -> Callable[[], bool]:
    """Whether what has been computed now is still computed before what is read."""
    b, count = ctx.b, len(ctx.b.statements)
    last = ctx.b.statements[-1] if count else None

    def still_there() -> bool:
        return b in ctx.builders and len(b.statements) >= count and (not count or b.statements[count - 1] is last)

    return still_there


def _name(cached: Any) -> str:
    return cached.name if type(cached) is Closure else str(cached.__name__)


def _check_hashable(v: Value) -> None:
    """Raises Python's TypeError for what cannot be a key."""
    if type(v) is Ref:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    if type(v) in (list, dict, set):
        raise TypeError(f"unhashable type: '{type(v).__name__}'")
    for item in v if type(v) is tuple else ():
        _check_hashable(item)
