"""`raise` and `assert`: the exceptions of a program, and branches that end in one.

    if sigma <= 0:                                          a `Raise` of the program; what follows is read as if the
        raise ValueError(f"sigma is {sigma}")               condition were false

A block that may end so is read by `Context.read_branch`. Where a `raise` is reached for certain there is no program:
the exception is raised; `accelerate` lets CPython do that, after all that comes before it. What cannot be said before
the run (a class that depends on the data, a message that holds more than text and numbers) is CPython's: a cut.
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import make
from ...ir import Atom, Block, Raise, Var
from ...patterns import pattern
from ...thrown import Argument, Hole, Known, Slot, Thrown, settled, text
from ..core.context import Context, Snapshot
from ..core.detours import Raised
from ..core.values import Message, Ref, Value, describe, is_object, leaves_in
from ..facts.maybes import narrowed

_WHY = "a compiled program raises what is known before the run: a class, and a message with values in it"
CERTAIN = "_untraced_certain"
_OUTSIDE = "raise it outside of the function, or with a message of text and numbers"


def raise_(ctx: Context, node: ast.Raise) -> None:
    if ctx.b in ctx.branches or _is_caught(ctx, node):
        ctx.at(node)
        error, values = _exception(ctx, node)
        raise Raised(error, values, ctx.b.span)
    if len(ctx.builders) > 1:
        ctx.cut(
            node,
            "`raise` in every iteration of a loop, or in what is no branch",
            why="a compiled program raises where a condition holds",
            instead="put it under a condition",
        )
    again = ctx.tries.handled or RuntimeError("no active exception to re-raise")
    found = ctx.eval(node.exc) if node.exc is not None else again
    if isinstance(found, type) and issubclass(found, BaseException):
        found = found()
    if not isinstance(found, BaseException):
        ctx.refuse(node, "`raise` of something that is no exception")
    raise _certain(found)


def _is_caught(ctx: Context, node: ast.Raise) -> bool:
    """Whether the statement certainly runs in a `try` that catches what it raises, where both are in a loop."""
    classes = next((classes for b, classes in reversed(ctx.tries.catching) if b is ctx.b), ())
    if len(ctx.builders) == 1 or not classes or node.exc is None:
        return False
    found = ctx.eval(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    return isinstance(found, type) and issubclass(found, classes)


def assert_not(ctx: Context, node: ast.Assert, holds: bool | Atom) -> None:
    """Read an `assert` whose condition is `holds`."""
    if holds is True:
        return
    if holds is False and len(ctx.builders) == 1:
        raise _certain(AssertionError(*(() if node.msg is None else (ctx.eval(node.msg),))))

    def failed() -> None:
        values: list[Atom] = []
        args = () if node.msg is None else (_argument(ctx, node.msg, values),)
        raise Raised(Thrown(AssertionError, args), tuple(values), ctx.b.span)

    ctx.at(node)
    if holds is False and ctx.b in ctx.branches:
        failed()
    bad = make.logical_not(ctx.b, make.lift(holds))
    _append(ctx, bad, ctx.read_branch(failed))


def read_sides(
    ctx: Context, condition: Atom, then: Callable[[], Any], orelse: Callable[[], Any], ends: bool = False
) -> tuple[Snapshot, Snapshot] | Callable[[], Any]:
    """Both sides of a branch as blocks. Where one of them ends in a `raise` that stands in the program now, and the
    other is to be read as what follows. `ends`: the second is likely to.
    """
    shots: dict[bool, Snapshot] = {}
    sides = {True: narrowed(ctx, condition, True, then), False: narrowed(ctx, condition, False, orelse)}
    for side in (not ends, ends):
        shot = shots[side] = ctx.read_branch(sides[side])
        if isinstance(shot.flow, Raised):
            bad = condition if side else make.logical_not(ctx.b, condition)
            _append(ctx, bad, shot)
            return sides[not side]
    return shots[True], shots[False]


def ends_in_raise(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def raise_where(ctx: Context, bad: Atom, error: Thrown) -> None:
    """Let the program raise a known error under a condition."""
    ctx.append(Raise(bad, Block((), (), ()), error, ctx.b.span))


def _append(ctx: Context, bad: Atom, shot: Snapshot) -> None:
    raised = shot.flow
    assert isinstance(raised, Raised)
    error, values = settled(raised.error, raised.values)
    body = Block((), tuple(shot.builder.statements), values)
    ctx.append(Raise(bad, body, error, raised.span))


def _certain(error: BaseException) -> BaseException:
    """The user's own, marked as such."""
    error.__dict__[CERTAIN] = True
    return error


# ---- exceptions ----------------------------------------------------------------------------------


def _exception(ctx: Context, node: ast.Raise) -> tuple[Thrown, tuple[Atom, ...]]:
    written, cause = node.exc, node.cause
    if written is None or not (cause is None or (isinstance(cause, ast.Constant) and cause.value is None)):
        ctx.cut(node, "a `raise` under a condition on the data that raises again, or from another exception", why=_WHY)
    values: list[Atom] = []
    if isinstance(written, ast.Call):
        cls = ctx.eval(written.func)
        if _is_exception(cls):
            args = tuple(_argument(ctx, a, values) for a in written.args)
            keywords = tuple((_keyword(ctx, k), _argument(ctx, k.value, values)) for k in written.keywords)
            return Thrown(cls, args, keywords), tuple(values)
    found = ctx.eval(written)
    if _is_exception(found):
        return Thrown(found), ()
    if not isinstance(found, Exception) or found.__dict__ or not _is_made_of_args(type(found)):
        ctx.cut(node, "a `raise` of an exception that is not known before the run", _WHY, _OUTSIDE)
    return Thrown(type(found), tuple(_known(ctx, a, written) for a in found.args)), ()


def _is_exception(cls: Value) -> bool:
    return isinstance(cls, type) and issubclass(cls, Exception)


def _is_made_of_args(cls: type[Exception]) -> bool:
    """Whether an exception of the class is `cls(*error.args)`."""
    own = [c for c in cls.__mro__ if c.__module__ != "builtins"]
    return not any(name in vars(c) for c in own for name in ("__init__", "__new__"))


def _keyword(ctx: Context, node: ast.keyword) -> str:
    if node.arg is None:
        ctx.cut(node.value, "** in an exception that is raised under a condition on the data", _WHY, _OUTSIDE)
    return node.arg


def _argument(ctx: Context, node: ast.expr, values: list[Atom]) -> Argument:
    """An argument of an exception; the run-time values in it join `values`."""
    parts = _text_parts(ctx, node, values)
    if parts is not None:
        return text(parts)
    v = ctx.eval(node)
    if type(v) is Var or type(v) is Ref:
        return Slot(_number(ctx, v, values))
    return _known(ctx, v, node)


def _number(ctx: Context, v: Value, values: list[Atom]) -> int:
    values.append(ctx.atom(v))
    return len(values) - 1


def _known(ctx: Context, v: Value, node: ast.expr) -> Known:
    leaves = v if type(v) is tuple else (v,)
    if not all(x is None or type(x) in (bool, int, float, complex, str, bytes) for x in leaves):
        ctx.cut(node, f"{describe(v)} in an exception that is raised under a condition on the data", _WHY, _OUTSIDE)
    return Known(v)


# ---- messages ------------------------------------------------------------------------------------


def _text_parts(ctx: Context, node: ast.expr, values: list[Atom]) -> list[str | Hole] | None:
    """The parts of an expression that is a text for certain; None for others."""
    match node:
        case ast.Constant(value=str(known)):
            return [known]
        case ast.Name(id=name) if type(ctx.frame.env.get(name)) is Message:
            message = ctx.frame.env[name]
            first = len(values)
            values += message.values
            return [p if isinstance(p, str) else replace(p, number=p.number + first) for p in message.parts]
        case ast.JoinedStr(values=pieces):
            return [p for piece in pieces for p in _piece(ctx, piece, values)]
        case ast.BinOp(left=left, op=ast.Add(), right=right) if _is_text(left) or _is_text(right):
            return [p for side in (left, right) for p in _text_of(ctx, side, values)]
        case ast.BinOp(left=ast.Constant(value=str(form)), op=ast.Mod(), right=right):
            given = right.elts if isinstance(right, ast.Tuple) else [right]
            return _percent(ctx, node, form, given, values) if _holds_data(ctx, right) else None
        case ast.Call(func=ast.Attribute(value=ast.Constant() | ast.Name() as base, attr="format"), args=args):
            form = ctx.eval(base)
            positional, named = _given(ctx, args, node.keywords)
            return list(_format(ctx, node, form, positional, named, values)) if type(form) is str else None
        case ast.Call(func=ast.Name(id="str" | "repr" as how), args=[x], keywords=[]) if _is_builtin(ctx, how):
            return [_hole(ctx, x, {"str": "s", "repr": "r"}[how], "", values)]
    return None


def keep_message(ctx: Context, body: Sequence[ast.stmt], s: ast.stmt) -> bool:
    """Whether the statement, of a body that ends in a `raise`, was a text for that: `message = f"sigma is {sigma}"`."""
    match s, body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)], value=written), ast.Raise(exc=ast.Call(args=args)):
            used = any(isinstance(a, ast.Name) and a.id == name for a in args)
            if not used or ctx.b not in ctx.branches or not (_is_text(written) or isinstance(written, ast.Call)):
                return False
            values: list[Atom] = []
            parts = _text_parts(ctx, written, values)
            if parts is not None:
                ctx.frame.env[name] = Message(tuple(parts), tuple(values))
            return parts is not None
    return False


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return _is_text(left) or (isinstance(node.op, ast.Add) and _is_text(right))
    return False


def _is_builtin(ctx: Context, name: str) -> bool:
    return ctx.eval(ast.Name(name, ast.Load())) is getattr(builtins, name)


def _text_of(ctx: Context, node: ast.expr, values: list[Atom]) -> list[str | Hole]:
    parts = _text_parts(ctx, node, values)
    if parts is not None:
        return parts
    known = ctx.eval(node)
    if not isinstance(known, str):
        ctx.cut(node, f"{describe(known)} added to a text", _WHY, _OUTSIDE)
    return [known]


def _piece(ctx: Context, node: ast.expr, values: list[Atom]) -> list[str | Hole]:
    """A part of an f-string."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    assert isinstance(node, ast.FormattedValue)
    spec = "" if node.format_spec is None else str(ctx.eval(node.format_spec))
    return [_hole(ctx, node.value, "" if node.conversion == -1 else chr(node.conversion), spec, values)]


def _given(
    ctx: Context, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments of a call, those of `*args` and `**kwargs` among them."""
    places: list[Value] = []
    for a in args:
        places += ctx.eval(a.value) if isinstance(a, ast.Starred) else [ctx.eval(a)]
    named: dict[str, Value] = {}
    for k in keywords:
        named.update(ctx.eval(k.value) if k.arg is None else {k.arg: ctx.eval(k.value)})
    return places, named


def _hole(ctx: Context, node: ast.expr, conversion: str, spec: str, values: list[Atom]) -> str | Hole:
    return _hole_of(ctx, node, ctx.eval(node), conversion, spec, values)


def _hole_of(
    ctx: Context, node: ast.expr, v: Value, conversion: str, spec: str, values: list[Atom]
) -> str | Hole:
    if type(v) is Var or type(v) is Ref:
        return Hole(_number(ctx, v, values), conversion, spec)
    if is_object(v) or any(not _is_plain(leaf) for leaf in leaves_in(v)):
        ctx.cut(node, f"{describe(v)} in a message", _WHY, _OUTSIDE)
    return Hole(0, conversion, spec).filled(v)


def _is_plain(v: Value) -> bool:
    known = (bool, int, float, complex, str, bytes, type, np.dtype, np.generic, range)
    return v is None or isinstance(v, known)


def _holds_data(ctx: Context, node: ast.expr) -> bool:
    return any(type(v) is Var or type(v) is Ref for v in leaves_in(ctx.eval(node)))


_PERCENT = pattern(r"%(?:(%)|([-+ 0#]*)(\d*)(?:\.(\d+))?([sdirefgEFG]))")


def _percent(
    ctx: Context, node: ast.expr, form: str, given: Sequence[ast.expr], values: list[Atom]
) -> list[str | Hole]:
    """`form % given`, in the notation of f-strings where the two agree."""
    found: list[str | Hole] = []
    waiting, end = list(given), 0
    for m in _PERCENT.finditer(form):
        found.append(form[end : m.start()])
        end = m.end()
        if m[1]:
            found.append("%")
            continue
        if not waiting or m[2] or (m[3] and m[5] in "sr"):
            ctx.cut(node, f"the format {m[0]!r}", _WHY, "write an f-string")
        precision = "" if m[4] is None else f".{m[4]}"
        of_text = {"s": "s", "r": "r"}.get(m[5], "")
        spec = precision if of_text else f"{m[3]}{precision}{'d' if m[5] == 'i' else m[5]}"
        hole = _hole(ctx, waiting.pop(0), of_text, spec, values)
        if m[5] in "di" and isinstance(hole, Hole) and values[hole.number].aval.dtype.kind not in "iu":
            ctx.cut(node, f"the format {m[0]!r} of a number that is no integer", _WHY, "write an f-string")
        found.append(hole)
    found.append(form[end:])
    if waiting or _PERCENT.sub("", form).count("%"):
        ctx.cut(node, f"the formats of {form!r}", _WHY, "write an f-string")
    return found


def _format(
    ctx: Context,
    node: ast.expr,
    form: str,
    args: Sequence[Value],
    named: dict[str, Value],
    values: list[Atom],
) -> Iterator[str | Hole]:
    """`form.format(*args, **named)`."""
    count = 0
    for literal, field, spec, conversion in string.Formatter().parse(form):
        yield literal
        if field is None:
            continue
        if field == "":
            field, count = str(count), count + 1
        known = int(field) < len(args) if field.isdigit() else field in named
        if not known or "{" in (spec or ""):
            ctx.cut(node, f"the field {field!r} of a text", _WHY, "write an f-string")
        chosen = args[int(field)] if field.isdigit() else named[field]
        yield _hole_of(ctx, node, chosen, conversion or "", spec or "", values)
