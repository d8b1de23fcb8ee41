"""Statements and branches: sequences, `if`, early returns, conditional expressions.

A statement returns None when control goes on behind it, and a `Flow` otherwise. Where a run-time condition decides
whether control leaves early, each branch is read to the end of the function: `Kont` says what "the end" is.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import make
from ..errors import UntracedError
from ..ir import Atom, Var
from ..records import dataclass
from ..shortcut import runs_always
from ..surface.python import truth_of_many
from .attributes import get_attribute
from .booleans import is_python_bool, python_bool
from .context import Context, Snapshot
from .demand import ask, refuse_undefined
from .growing import Pile
from .joins import Joiner
from .known import run_known
from .liveness import imported_names
from .maybes import is_none
from .protocols import is_instance, truth_of_object
from .raising import assert_not, ends_in_raise, keep_message, raise_, read_sides
from .selection import concrete
from .values import Closure, Detour, DictView, Masked, Maybe, Ref, Undefined, Value, leaves_in


@dataclass(frozen=True, slots=True)
class Flow:
    """How control left a block: "return" (with its value), "break", "continue", or "end" of a run-time loop's body."""

    kind: str
    value: Value = None


BREAK = Flow("break")
CONTINUE = Flow("continue")
END = Flow("end")


@dataclass(frozen=True, slots=True)
class Kont:
    """The code after a statement. `rest` reads all that follows; `on_break`, `on_continue` what those lead to.

    In the body of a run-time loop, `loop_names` are the names whose values the end of the body must know.
    """

    rest: Callable[[], Flow]
    on_break: Callable[[], Flow] | None = None
    on_continue: Callable[[], Flow] | None = None
    on_return: Callable[[Value, ast.AST], Flow] | None = None
    loop_names: frozenset[str] | None = None

    def finish(self, flow: Flow | None) -> Flow:
        """Read on until the function returns or the body of the run-time loop ends."""
        if flow is None:
            return self.rest()
        if flow.kind == "break" and self.on_break is not None:
            return self.on_break()
        if flow.kind == "continue" and self.on_continue is not None:
            return self.on_continue()
        return flow


FUNCTION_END = Kont(rest=lambda: Flow("return", None))


def sequence(ctx: Context, body: list[ast.stmt], kont: Kont, start: int = 0) -> Flow | None:
    """Read statements in order until control leaves; errors gain the place in the user's source."""
    raises = ends_in_raise(body)
    for i in range(start, len(body)):
        s = body[i]
        after = kont
        if type(s) in _COMPOUND:

            def rest(i: int = i) -> Flow:
                return kont.finish(sequence(ctx, body, kont, i + 1))

            after = replace(kont, rest=rest)
        try:
            if raises and keep_message(ctx, body, s):
                continue
            flow = ctx.statements[type(s)](ctx, s, after)
        except UntracedError as error:
            raise ctx.located(error, s) from error.__cause__
        except Detour:
            raise
        except Exception as error:
            ctx.tell(error, s)
            raise
        if flow is not None:
            return flow  # type: ignore[no-any-return]
    return None


_COMPOUND = frozenset({ast.If, ast.For, ast.While, ast.With, ast.Match, ast.Try})


# ---- conditions ----------------------------------------------------------------------------------


def truth(ctx: Context, v: Value, node: ast.AST) -> bool | Atom:
    """bool(v) where it is known, else a bool scalar. Raises ShapeError for arrays, as NumPy does."""
    if type(v) is bool:
        return v
    if type(v) is Var or type(v) is Ref:
        aval = v.aval
        if aval.size != 1:
            error = truth_of_many(aval.shape, "use np.any(...), np.all(...), or np.where(condition, a, b)")
            raise ctx.located(error, node)
        ctx.at(node)
        x = make.reshape(ctx.b, ctx.atom(v), ())
        return x if aval.dtype.kind == "b" else make.not_equal(ctx.b, x, 0)
    if type(v) is Undefined:
        refuse_undefined(ctx, v, node)
    if type(v) is Maybe:
        true = truth(ctx, v.value, node)
        present = ctx.atom(is_none(ctx, v, False))
        return make.logical_and(ctx.b, present, make.lift(np.bool_(true)) if isinstance(true, bool) else true)
    if isinstance(v, Masked):
        return truth(ctx, concrete(ctx, v, node, "the truth of x[mask]"), node)
    if type(v) is DictView:
        return bool(v.owner)
    if type(v) is Pile:
        return truth(ctx, v.count, node)
    if is_instance(v):
        decided = truth_of_object(ctx, v, node)
        return decided if isinstance(decided, bool) else truth(ctx, decided, node)
    return bool(v)


def branch_values(
    ctx: Context, condition: Atom, then: Callable[[], Value], orelse: Callable[[], Value], node: ast.AST
) -> Value:
    """The value of a conditional expression: only one side runs."""
    shots = read_sides(ctx, condition, then, orelse)
    if not isinstance(shots, tuple):
        return shots()
    joiner = Joiner(ctx, condition, *shots)
    simple = _logical(ctx, condition, shots)
    if simple is not None:
        return simple
    joiner.join_state(None)
    value = joiner.join(shots[0].flow, shots[1].flow, "t")
    check_defined(ctx, value, node)
    ctx.at(node)
    joiner.finish(value)
    return value


def _logical(ctx: Context, condition: Atom, shots: tuple[Snapshot, Snapshot]) -> Value | None:
    """`c and x`, `c or x` of cheap bool scalars as one operation: a branch would cost more than both sides."""
    values = [s.flow for s in shots]
    is_bool = [type(v) is bool or (isinstance(v, Var | np.bool_) and _is_bool(v)) for v in values]
    if not all(is_bool) or not all(_is_cheap(s) for s in shots) or _binds(*shots):
        return None
    then, orelse = values
    pythons = [is_python_bool(ctx, v) for v in values]
    if any(pythons) and not all(pythons) and condition is not then and condition is not orelse:
        return None  # of Python's class or NumPy's, as the run decides
    if orelse is condition or orelse is False:
        _inline(ctx, shots)
        found = ctx.wrap(make.logical_and(ctx.b, condition, ctx.atom(then)))
    elif then is condition or then is True:
        _inline(ctx, shots)
        found = ctx.wrap(make.logical_or(ctx.b, condition, ctx.atom(orelse)))
    else:
        return None
    return python_bool(ctx, found) if all(pythons) and not is_python_bool(ctx, found) else found


def _is_bool(v: Any) -> bool:
    return not isinstance(v, Var) or v.aval.dtype.kind == "b"


def _is_cheap(shot: Snapshot) -> bool:
    return not (shot.cells or shot.containers or shot.attributes) and runs_always(shot.builder.statements)


def _binds(then: Snapshot, orelse: Snapshot) -> bool:
    """Whether one of the sides binds a name (`:=`)."""
    return any(then.env.get(name) is not orelse.env.get(name) for name in {**then.env, **orelse.env})


def _inline(ctx: Context, shots: tuple[Snapshot, Snapshot]) -> None:
    for shot in shots:
        for s in shot.builder.statements:
            ctx.b.append(s)


def check_defined(ctx: Context, value: Value, node: ast.AST) -> None:
    for v in leaves_in(value):
        if isinstance(v, Undefined):
            refuse_undefined(ctx, v, node, "the value")


# ---- statements ----------------------------------------------------------------------------------


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
    from .stores import delete_item

    for t in node.targets:
        if isinstance(t, ast.Name):
            ctx.frame.env.pop(t.id, None)
        else:
            assert isinstance(t, ast.Subscript)
            delete_item(ctx, ctx.eval(t.value), ctx.eval(t.slice), t)


def assert_(ctx: Context, node: ast.Assert, kont: Kont) -> None:
    assert_not(ctx, node, truth(ctx, ctx.eval(node.test), node.test))


def function_def(ctx: Context, node: ast.FunctionDef, kont: Kont) -> None:
    from .expressions import function_defaults
    from .stores import bind_name
    decorators = [ctx.eval(d) for d in node.decorator_list]
    value: Value = Closure(node, ctx.frame, function_defaults(ctx, node.args))
    for decorate, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
        value = ctx.call(decorate, [value], {}, written)
    bind_name(ctx, node.name, value)


def import_(ctx: Context, node: ast.Import | ast.ImportFrom, kont: Kont) -> None:
    """Modules are imported when the function is translated; what is read from them is guarded like other globals."""
    from .stores import bind_name

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


Context.statements.update(
    {
        ast.If: if_,
        ast.Return: return_,
        ast.Break: break_,
        ast.Continue: continue_,
        ast.Pass: pass_,
        ast.Global: pass_,
        ast.Nonlocal: pass_,
        ast.Expr: expression,
        ast.With: with_,
        ast.Delete: delete,
        ast.Raise: lambda ctx, node, kont: raise_(ctx, node),
        ast.Assert: assert_,
        ast.Import: import_,
        ast.ImportFrom: import_,
        ast.FunctionDef: function_def,
    }
)
