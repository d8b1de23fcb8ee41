"""Comparisons, truth and membership of objects: methods of their class, which are read like calls."""

from __future__ import annotations

import ast
import dataclasses
import enum
from typing import Any, NoReturn

from ... import make
from ..core.context import Context
from ..core.values import Foreign, Value, describe, has_runtime, is_object, leaves_in
from ..facts.booleans import python_bool
from .attributes import get_attribute

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("__eq__", "__eq__"),
    ast.NotEq: ("__ne__", "__ne__"),
    ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"),
    ast.Gt: ("__gt__", "__lt__"),
    ast.GtE: ("__ge__", "__le__"),
}


def is_instance(v: Value) -> bool:
    """Whether the value is an instance of a user's class."""
    return isinstance(v, Foreign) or is_object(v)


def has_undecided(v: Value) -> bool:
    """Whether it holds what CPython cannot compare while reading: run-time numbers, objects that have methods."""
    if has_runtime(v):
        return True
    held = leaves_in(v) if isinstance(v, list | tuple | dict) else ()
    return any(is_instance(x) and not isinstance(x, enum.Enum) for x in held)


def check_text(ctx: Context, v: Value, node: ast.AST) -> None:
    """Leave to CPython a text of what holds objects: methods of theirs make it, and what these read the run decides."""
    if any(is_instance(x) and not isinstance(x, BaseException) for x in leaves_in(v)):
        ctx.cut(node, f"the text of {describe(v)} that holds objects", instead="write its parts one by one")


def special(ctx: Context, v: Value, name: str, args: list[Value], node: ast.AST) -> Value:
    """The result of the special method; NotImplemented where the class has none that is written in Python."""
    if not is_instance(v):
        return NotImplemented
    method = ctx.captures.part(_class(v), name)
    if isinstance(v, enum.Enum) and getattr(method, "__module__", None) == "enum":
        return NotImplemented
    code = getattr(method, "__code__", None)
    if dataclasses.is_dataclass(_class(v)) and code is not None and code.co_filename == "<string>":
        return _of_dataclass(ctx, v, name, args, node)
    return ctx.call(method, [v, *args], {}, node) if hasattr(method, "__code__") else NotImplemented


def _of_dataclass(ctx: Context, v: Value, name: str, args: list[Value], node: ast.AST) -> Value:
    """The methods that the decorator wrote: comparisons of the fields."""
    kinds = {asked: kind for kind, (asked, _) in _COMPARISONS.items()}
    if name not in kinds or _class(v) is not _class(args[0]):
        return NotImplemented
    names = [f.name for f in dataclasses.fields(_class(v)) if f.compare]
    mine, others = (tuple(get_attribute(ctx, x, n, node) for n in names) for x in (v, args[0]))
    return ctx.compare(kinds[name](), mine, others, node)


def compared(ctx: Context, kind: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    """`left kind right` where one of them is an object; NotImplemented where Python's own comparison will do."""
    name, reflected = _COMPARISONS[type(kind)]
    for v, other, asked in ((left, right, name), (right, left, reflected)):
        result = special(ctx, v, asked, [other], node)
        if result is not NotImplemented:
            return result
        if isinstance(kind, ast.NotEq):
            result = special(ctx, v, "__eq__", [other], node)
            if result is not NotImplemented:
                if isinstance(result, bool):
                    return not result
                return python_bool(ctx, ctx.wrap(make.logical_not(ctx.b, ctx.atom(result))))
    outside = [v for v in (left, right) if isinstance(v, Foreign)]
    if not outside:
        return NotImplemented
    if type(kind) not in (ast.Eq, ast.NotEq) or any(_class(v).__eq__ is not object.__eq__ for v in outside):
        _refuse(ctx, outside[0], "a comparison with", node)
    same = all(isinstance(v, Foreign) for v in (left, right)) and left.value is right.value
    return same is isinstance(kind, ast.Eq)


def truth_of_object(ctx: Context, v: Value, node: ast.AST) -> Value:
    """The value that decides the truth of an object: a bool, or a value whose own truth can be asked."""
    for name in ("__bool__", "__len__"):
        result = special(ctx, v, name, [], node)
        if result is not NotImplemented:
            return result
    if isinstance(v, Foreign) and any(hasattr(_class(v), name) for name in ("__bool__", "__len__")):
        _refuse(ctx, v, "the truth of", node)
    return bool(v.value if isinstance(v, Foreign) else v)


def membership(ctx: Context, container: Value, item: Value, node: ast.AST) -> Value:
    """`item in container`; NotImplemented where Python's own test will do."""
    result = special(ctx, container, "__contains__", [item], node)
    if result is NotImplemented and isinstance(container, Foreign):
        _refuse(ctx, container, "`in` over", node)
    return result


def refuse_loop(ctx: Context, v: Foreign, node: ast.AST) -> NoReturn:
    _refuse(ctx, v, "a loop over", node)


def _refuse(ctx: Context, v: Foreign, what: str, node: ast.AST) -> NoReturn:
    ctx.cut(
        node,
        f"{what} a {_class(v).__name__} from outside the function",
        why="what it holds cannot be seen, so a change of it could go unnoticed",
        instead="use a list, a tuple or a dict, or pass it as an argument",
    )


def _class(v: Value) -> Any:
    return type(v.value if isinstance(v, Foreign) else v)
