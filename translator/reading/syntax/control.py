"""Statements and branches: `if`, early returns, `with`, `del`, definitions and imports."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Atom
from ..core.context import Context, Snapshot
from ..core.demand import ask
from ..core.values import Undefined, leaves_in
from ..parts.known import run_known
from ..paths.flow import BREAK, CONTINUE, END, Flow, Kont, sequence
from ..paths.joins import Joiner
from ..paths.raising import assert_not, ends_in_raise, raise_, read_sides
from ..text.liveness import imported_names
from ..uses.attributes import get_attribute
from ..uses.conditions import truth
from ..uses.stores import delete_item
from .assignment import bind_name


def if_(ctx: Context, node: ast.If, kont: Kont) -> Flow | None:
    test, body, orelse = node.test, node.body, node.orelse
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, body, orelse = test.operand, orelse, body
    condition = truth(ctx, ctx.eval(test), test)
    if isinstance(condition, bool):
        return sequence(ctx, body if condition else orelse, kont)
    return branches(
        ctx,
        node,
        test,
        condition,
        lambda k: sequence(ctx, body, k),
        lambda k: sequence(ctx, orelse, k),
        kont,
        ends_in_raise(orelse),
    )


def branches(
    ctx: Context,
    node: ast.stmt,
    test: ast.AST,
    condition: Atom,
    then: Callable[[Kont], Flow | None],
    orelse: Callable[[Kont], Flow | None],
    kont: Kont,
    raises: bool = False,
) -> Flow | None:
    """Read both branches and join them; to the end of the function where one may leave early. `raises`: the second ends
    in a `raise`.
    """
    live = ctx.frame.live
    ctx.at(test)
    span = ctx.b.span
    if node not in live.exits:
        shots = read_sides(ctx, condition, lambda: then(kont), lambda: orelse(kont), raises)
        if not isinstance(shots, tuple):
            return shots()  # type: ignore[no-any-return]
        ctx.b.span = span
        joiner = Joiner(ctx, condition, *shots)
        joiner.join_state(live.after[node] | live.inner)
        joiner.finish()
        return None
    ends = lambda: kont.finish(then(kont)), lambda: kont.finish(orelse(kont))
    sides = read_sides(ctx, condition, *ends, raises)
    ctx.b.span = span
    return join_ends(ctx, node, condition, sides, kont)


def join_ends(
    ctx: Context,
    node: ast.AST,
    condition: Atom,
    shots: tuple[Snapshot, Snapshot] | Callable[[], Flow],
    kont: Kont,
) -> Flow:
    """Join two branches that were read to the end of the function, or of the body of a run-time loop."""
    if not isinstance(shots, tuple):
        return shots()
    first, second = shots[0].flow, shots[1].flow
    joiner = Joiner(ctx, condition, *shots)
    if first.kind == "end":
        joiner.join_state(kont.loop_names)
        joiner.finish()
        return END
    joiner.join_state(frozenset())
    value = joiner.join(first.value, second.value, "t")
    for v in leaves_in(value):
        if isinstance(v, Undefined):
            ask(ctx, v.needs)
            ctx.cut(
                node,
                f"the result {v.why}",
                why="a compiled function returns one structure with one shape and dtype each",
                instead=v.instead,
            )
    joiner.finish(value)
    return Flow("return", value)


def return_(ctx: Context, node: ast.Return, kont: Kont) -> Flow:
    value = None if node.value is None else ctx.eval(node.value)
    if kont.on_return is not None:
        return kont.on_return(value, node)
    return Flow("return", value)


def break_(ctx: Context, node: ast.Break, kont: Kont) -> Flow:
    return BREAK


def continue_(ctx: Context, node: ast.Continue, kont: Kont) -> Flow:
    return CONTINUE


def pass_(ctx: Context, node: ast.Pass | ast.Global | ast.Nonlocal, kont: Kont) -> None:
    return None


def expression(ctx: Context, node: ast.Expr, kont: Kont) -> None:
    if not isinstance(node.value, ast.Constant):
        ctx.eval(node.value)


def with_(ctx: Context, node: ast.With, kont: Kont) -> Flow | None:
    """`with` blocks that change no result are read through: np.errstate unless it raises or calls, and context managers
    marked by the attribute `__untraced_context__`.
    """
    for item in node.items:
        call = item.context_expr
        assert isinstance(call, ast.Call)  # the fence lets nothing else pass
        what = ctx.eval(call.func)
        if getattr(what, "__untraced_context__", False) is True and item.optional_vars is None:
            _enter_unchanged(ctx, what, call)
            continue
        values = [*call.args, *(k.value for k in call.keywords)]
        if what is not np.errstate:
            shown = ast.unparse(call.func)
            ctx.cut(node, f"`with {shown}(...):` cannot be compiled", why="entering it may do anything")
        if any(not isinstance(v, ast.Constant) or v.value not in _SILENT for v in values):
            more = "np.errstate with more than 'ignore' and 'warn' cannot be compiled"
            ctx.cut(node, more, why="compiled arithmetic raises nothing", instead="test what it would raise for")
    return sequence(ctx, node.body, kont)


_SILENT = ("ignore", "warn", None)


def _enter_unchanged(ctx: Context, what: Any, call: ast.Call) -> None:
    """Evaluate the arguments of a block that changes nothing, and let it look at them. A formatted name that calls
    nothing is some str, whichever the run makes it.
    """

    def value(written: ast.expr) -> Any:
        if isinstance(written, ast.JoinedStr) and not any(isinstance(n, ast.Call) for n in ast.walk(written)):
            return ""
        found = None if isinstance(written, ast.Starred) else ctx.eval(written)
        if isinstance(written, ast.Starred) or not isinstance(found, str | int | float | type(None)):
            ctx.cut(call, f"`with {ast.unparse(call)}:` cannot be compiled", why="its argument is made by the run")
        return found

    given, named = [value(v) for v in call.args], {}
    for k in call.keywords:
        if k.arg is None:
            ctx.cut(call, f"`with {ast.unparse(call)}:` cannot be compiled", why="its argument is made by the run")
        named[k.arg] = value(k.value)
    run_known(ctx, call, lambda: what(*given, **named))


def delete(ctx: Context, node: ast.Delete, kont: Kont) -> None:
    for t in node.targets:
        if isinstance(t, ast.Name):
            ctx.frame.env.pop(t.id, None)
        else:
            assert isinstance(t, ast.Subscript)
            delete_item(ctx, ctx.eval(t.value), ctx.eval(t.slice), t)


def raise_statement(ctx: Context, node: ast.Raise, kont: Kont) -> None:
    raise_(ctx, node)


def assert_(ctx: Context, node: ast.Assert, kont: Kont) -> None:
    assert_not(ctx, node, truth(ctx, ctx.eval(node.test), node.test))


def import_(ctx: Context, node: ast.Import | ast.ImportFrom, kont: Kont) -> None:
    """Modules are imported when the function is translated; what is read from them is guarded like other globals."""
    for alias, name in zip(node.names, imported_names(node), strict=True):
        if isinstance(node, ast.Import):
            module = importlib.import_module(alias.name)
            top = module if alias.asname else importlib.import_module(name)
            bind_name(ctx, name, ctx.captures.known(top))
            continue
        package = ctx.frame.scope.globals.get("__package__")
        module = importlib.import_module("." * node.level + (node.module or ""), package)
        try:
            value = get_attribute(ctx, ctx.captures.known(module), alias.name, node)
        except AttributeError:
            value = ctx.captures.known(importlib.import_module(f"{module.__name__}.{alias.name}"))
        bind_name(ctx, name, value)
