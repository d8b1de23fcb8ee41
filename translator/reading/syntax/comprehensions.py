"""Comprehensions: unrolled, since what they make is a container whose length is known.

    y = np.array([smooth(x[i]) for i in range(100)])        made = []
                                                            for i in range(100):
                                                                made.append(smooth(x[i]))
                                                            y = np.array(made)

Where the elements are much code in all, the list is made by the loop on the right, if it can be the rows of an array
(`listed`).
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Set
from functools import partial
from typing import Any, TypeGuard

from ...builder import Builder
from ...errors import UntracedError
from ...records import dataclass
from ..core.context import Context
from ..core.demand import as_key
from ..core.detours import Detour
from ..core.growing import Pile, has_grown, read_as_grown
from ..core.values import (
    Closure,
    Enumerate,
    Frame,
    Iterated,
    Masked,
    Places,
    Ref,
    Reversed,
    Value,
    Zip,
    has_runtime,
    leaves_in,
)
from ..functions.inlining import inline_closure
from ..parts.listed import marker
from ..paths.generators import Pieces, of_expression
from ..paths.written import Written, size_of
from ..provided.draws import forget
from ..text.liveness import Liveness, named_in
from ..uses.conditions import truth
from ..uses.iteration import end_of, known_items, steps_of
from .assignment import assign

_LONG = 500  # operations: XLA takes half a second or more for them
_FEW = 16  # elements that are added up one after the other
_RANGES = frozenset(("range", "len", "enumerate", "zip", "reversed", "int", "min", "max"))


@dataclass(slots=True)
class Comprehended:
    """A comprehension over numbers or rows, with those inside it: what stands in the block since it began."""

    written: Written
    block: Builder
    since: int


_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def comprehension(ctx: Context, node: _Comprehension) -> Value:
    """Unrolled: what it runs over is known. Its names are its own."""
    if _may_be_a_loop(node, ctx):
        over = ctx.eval(node.generators[0].iter)
        if _is_of_pile(over):
            read_as_grown(ctx, {node}, ())
        if node in ctx.loops.unroll:
            return _in_loop(ctx, node, over)
    if not _may_be_rows(node, ctx):
        return _unrolled(ctx, node)
    over = ctx.eval(node.generators[0].iter)
    mark, counts = len(ctx.captures.params), (ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats)
    for way in (partial(_unrolled, stops=True), _as_rows):
        try:
            with ctx.attempt():
                return way(ctx, node, over)
        except _Unfit as found:
            if found.node is not node:
                raise
        forget(ctx, mark)
        ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats = counts
    return _unrolled(ctx, node, over)


class _Unfit(Detour):
    """The comprehension is better read in another way."""

    def __init__(self, node: ast.AST) -> None:
        self.node = node


def _may_be_rows(node: _Comprehension, ctx: Context) -> TypeGuard[ast.ListComp]:
    """Whether a loop may make the list, which none has failed to do."""
    if not ctx.keeps_changes or ctx.frame.fixed or not isinstance(node, ast.ListComp):
        return False
    if len(node.generators) > 1 or node.generators[0].ifs or not _binds_nothing_outside(node, ctx):
        return False
    return marker(_loop_of(node)) not in ctx.loops.unroll


def _as_rows(ctx: Context, node: ast.ListComp, over: Value) -> Value:
    """The list as what a loop makes that is rows of an array while it runs. Raises _Unfit."""
    loop = _loop_of(node)
    ctx.lists.only_rows.add(loop)
    try:
        return _in_loop(ctx, node, over)
    except (Detour, UntracedError) as found:
        raise _Unfit(node) from found
    finally:
        ctx.lists.only_rows.discard(loop)


def _loop_of(node: ast.ListComp) -> ast.For:
    loop = _as_loop(node).body[1]
    assert isinstance(loop, ast.For)
    return loop


def _in_loop(ctx: Context, node: ast.ListComp | ast.GeneratorExp, over: Value) -> Value:
    return inline_closure(ctx, Closure(_as_loop(node), ctx.frame, {}), [over], {}, node)


def _unrolled(ctx: Context, node: _Comprehension, over: Value = None, stops: bool = False) -> Value:
    """What the comprehension makes, element by element; `over`: what it runs over, where that has been read."""
    outer = ctx.frame
    frame = Frame(outer.source, outer, outer, outer.scope, Liveness(), outer.fixed, outer.name)
    ctx.frame = frame
    items: list[Value] = []
    pieces = Pieces(ctx, outer)
    around = ctx.comprehended
    if around is None or around.block is not ctx.b:
        around = Comprehended(Written(ctx, node), ctx.b, len(ctx.b.statements))
    before, ctx.comprehended = ctx.comprehended, None
    try:
        _comprehend(ctx, node, 0, items, around, over, stops)
    finally:
        ctx.comprehended = before
        named = named_in(node)
        outer.env.update((k, v) for k, v in frame.env.items() if k in named)
        ctx.frame = outer
    if isinstance(node, ast.DictComp):
        return dict(items)
    if isinstance(node, ast.GeneratorExp):
        of_expression(pieces, node, items)
    elif isinstance(node, ast.ListComp) and _may_be_a_loop(node, ctx):
        has_grown(ctx, node, items)  # if it does, it is read in a loop
    return set(as_key(ctx, items, node, "an element of a set")) if isinstance(node, ast.SetComp) else items


def _comprehend(
    ctx: Context,
    node: _Comprehension,
    depth: int,
    items: list[Value],
    around: Comprehended,
    over: Value = None,
    stops: bool = False,
) -> None:
    """Read the elements of one generator. Raises _Unfit behind the first one if `stops` and they are too much code."""
    if depth == len(node.generators):
        if isinstance(node, ast.DictComp):
            items.append((as_key(ctx, ctx.eval(node.key), node.key, "a dict key"), ctx.eval(node.value)))
        else:
            items.append(ctx.eval(node.elt))
        return
    generator = node.generators[depth]
    iterable = ctx.eval(generator.iter) if over is None else over
    check = end_of(ctx, iterable, generator.iter)
    found = known_items(ctx, iterable, generator.iter)
    counts = _is_of_rows(iterable) or not any(type(v) is Ref for v in leaves_in(found))
    has_steps = stops and steps_of(ctx, iterable, generator.iter) is not None
    since = len(ctx.b.statements)
    for k, item in enumerate(found):
        if stops and k == 1 and (counts + size_of(ctx.b.statements[since:])) * len(found) > _LONG and has_steps:
            raise _Unfit(node)
        if counts:
            ctx.comprehended = around
            around.written.check(around.since, len(items))
        assign(ctx, generator.target, item)
        conditions = [truth(ctx, ctx.eval(c), c) for c in generator.ifs]
        if any(not isinstance(c, bool) for c in conditions):
            if _may_be_a_loop(node, ctx):
                read_as_grown(ctx, {node}, conditions)
            ctx.cut(
                generator.ifs[0],
                "a comprehension keeps elements by data",
                why="its length would not be known when the function is translated",
                instead="keep all elements and weight them with np.where",
            )
        if all(conditions):
            _comprehend(ctx, node, depth + 1, items, around)
        check()


def _may_be_a_loop(node: _Comprehension, ctx: Context) -> TypeGuard[ast.ListComp | ast.GeneratorExp]:
    """Whether a loop that appends to a list may stand for it, in what is differentiated or batched. It is a function of
    its own: what `:=` binds around the comprehension must not be read there."""
    if not ctx.transforms or not ctx.boxes or not isinstance(node, ast.ListComp | ast.GeneratorExp):
        return False
    return _binds_nothing_outside(node, ctx)


def _binds_nothing_outside(node: _Comprehension, ctx: Context) -> bool:
    """Whether no name that it binds by `:=` is seen elsewhere."""
    bound = _bound_by(node)
    return not bound or _times_named(ctx.frame.source.node, bound) == _times_named(node, bound)


@functools.lru_cache(maxsize=1024)
def _bound_by(node: _Comprehension) -> frozenset[str]:
    return frozenset(n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))


def _times_named(node: ast.AST, names: Set[str]) -> int:
    """How often the code names one of these, or declares it global or nonlocal."""
    found = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    declared = [name for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names]
    return sum(name in names for name in (*found, *declared))


def _is_of_pile(v: Value) -> bool:
    """Whether it runs over a list or a selection whose length only the run knows."""
    match v:
        case Zip(parts=parts):
            return any(map(_is_of_pile, parts))
        case Enumerate(inner=inner) | Reversed(inner=inner):
            return _is_of_pile(inner)
    if type(v) is Masked:
        return any(isinstance(p, Places) for p in v.parts)
    return type(v) is Pile and type(v.count) is not int


def folded(ctx: Context, function: Callable[..., Any], node: ast.expr) -> Value:
    """sum, any or all of a comprehension over data, as a loop that makes no list; NotImplemented of others."""
    if not isinstance(node, ast.GeneratorExp) and not (function is sum and isinstance(node, ast.ListComp)):
        return NotImplemented
    if function is sum and node in ctx.loops.unroll:  # it turned out to keep elements by data
        return inline_closure(ctx, Closure(_as_sum(node), ctx.frame, {}), [ctx.eval(node.generators[0].iter)], {}, node)
    if not ctx.keeps_changes or ctx.frame.fixed or not _can_be_read_twice(node.generators[0].iter):
        return NotImplemented
    mark, counts = len(ctx.captures.params), (ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats)
    try:
        with ctx.attempt():
            over = ctx.eval(node.generators[0].iter)
            if not _is_long_and_of_data(ctx, node, over) or not _binds_nothing_outside(node, ctx):
                return NotImplemented
            return inline_closure(ctx, Closure(_FOLDS[function](node), ctx.frame, {}), [over], {}, node)
    except (Detour, UntracedError):  # the list may do, whose errors are those to be told
        forget(ctx, mark)
        ctx.effort.calls, ctx.effort.ways, ctx.effort.repeats = counts
        return NotImplemented


def _can_be_read_twice(node: ast.expr) -> bool:
    """Whether to evaluate it has no effect: it calls nothing but functions that tell a loop where to go."""
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call | ast.NamedExpr | ast.Await | ast.Yield))
    return all(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _RANGES for n in calls)


def _is_long_and_of_data(ctx: Context, node: ast.ListComp | ast.GeneratorExp, over: Value) -> bool:
    steps = steps_of(ctx, over, node.generators[0].iter)
    if steps is None or (steps.length is not None and steps.length <= _FEW and not node.generators[0].ifs):
        return False
    env = ctx.frame.env
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return _is_of_rows(over) or any(has_runtime(env[name]) for name in names if name in env)


@functools.lru_cache(maxsize=1024)
def as_expression(node: ast.Call, filters: bool) -> ast.GeneratorExp | None:
    """filter(f, xs) as (v for v in xs if f(v)), map(f, xs) as (f(v) for v in xs); f is a name, None or a lambda."""
    if node.keywords or len(node.args) != 2 or not isinstance(node.args[0], ast.Name | ast.Constant | ast.Lambda):
        return None
    f, over = node.args
    each = ast.Name("%each", ast.Load())
    value = each if isinstance(f, ast.Constant) else ast.Call(f, [each], [])
    generator = ast.comprehension(ast.Name("%each", ast.Store()), over, [value] if filters else [], 0)
    made = ast.GeneratorExp(each if filters else value, [generator])
    for n in ast.walk(made):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, node)
    return made


@functools.lru_cache(maxsize=1024)
def _as_loop(node: ast.ListComp | ast.GeneratorExp) -> ast.FunctionDef:
    """The function that appends what the comprehension makes to a list, in a loop over its argument."""
    append = ast.Call(ast.Attribute(ast.Name("%made", ast.Load()), "append", ast.Load()), [node.elt], [])
    return _looped(node, ast.List([], ast.Load()), ast.Expr(append))


@functools.lru_cache(maxsize=1024)
def _as_sum(node: ast.ListComp | ast.GeneratorExp) -> ast.FunctionDef:
    """The function that adds up what the comprehension makes."""
    added = ast.BinOp(ast.Name("%made", ast.Load()), ast.Add(), node.elt)
    return _looped(node, ast.Constant(0), ast.Assign([ast.Name("%made", ast.Store())], added))


@functools.lru_cache(maxsize=1024)
def _as_any(node: ast.ListComp | ast.GeneratorExp) -> ast.FunctionDef:
    """The function that says whether something is true of what the comprehension makes."""
    return _looped(node, ast.Constant(False), ast.If(node.elt, [ast.Return(ast.Constant(True))], []))


@functools.lru_cache(maxsize=1024)
def _as_all(node: ast.ListComp | ast.GeneratorExp) -> ast.FunctionDef:
    """The function that says whether everything is true of what the comprehension makes."""
    fails = ast.UnaryOp(ast.Not(), node.elt)
    return _looped(node, ast.Constant(True), ast.If(fails, [ast.Return(ast.Constant(False))], []))


_FOLDS: dict[Callable[..., Any], Callable[[Any], ast.FunctionDef]] = {sum: _as_sum, any: _as_any, all: _as_all}


def _looped(node: ast.ListComp | ast.GeneratorExp, start: ast.expr, inner: ast.stmt) -> ast.FunctionDef:
    over = ast.Name("%over", ast.Load())
    for generator in reversed(node.generators):
        for condition in reversed(generator.ifs):
            inner = ast.If(condition, [inner], [])
        inner = ast.For(generator.target, over if generator is node.generators[0] else generator.iter, [inner], [])
    first = ast.Assign([ast.Name("%made", ast.Store())], start)
    body = [first, inner, ast.Return(ast.Name("%made", ast.Load()))]
    arguments = ast.arguments([], [ast.arg("%over")], None, [], [], None, [])
    loop = ast.FunctionDef("<listcomp>", arguments, body, [])
    for n in ast.walk(loop):
        if not hasattr(n, "lineno"):
            ast.copy_location(n, node)
    return loop


def _is_of_rows(v: Value) -> bool:
    """Whether it runs over what an array holds: data, where a list of arrays is as long as the user's structure."""
    match v:
        case Zip(parts=parts):
            return any(map(_is_of_rows, parts))
        case Enumerate(inner=inner) | Reversed(inner=inner) | Iterated(inner=inner):
            return _is_of_rows(inner)
    return type(v) is Ref
