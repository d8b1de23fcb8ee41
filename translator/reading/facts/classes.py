"""The class of a number, which decides what follows: `type(s)`, `isinstance(s, np.floating)`, `s.dtype`.

    s = 0.0                                          # of two classes
    for v in x:
        s = v if v > 1.0 else s
    return s if type(s) is float else s + 1          # read for np.float64

A variable of the program has one type. Where the data decides of which class a number is the reading goes on with the
class of this type, and notes that it did (`make.ask_kind`): CPython runs the calls in which it is the other one.
"""

from __future__ import annotations

import ast
import functools
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import make
from ...ir import Aval, Const, Var, const
from ..core.context import Context
from ..core.values import (
    Bound,
    Closure,
    DictView,
    Endless,
    Enumerate,
    Flat,
    Generator,
    Grid,
    Iterated,
    OpenList,
    Partial,
    Reversed,
    RunRange,
    Value,
    Zip,
)
from .booleans import is_python_bool

_NUMBERS: tuple[Any, ...] = (True, 0, 0.0, 0j, *(np.dtype(c).type(0) for c in "bhilBHILefdFD"))


def class_of(ctx: Context, x: Var) -> type:
    """type(x)."""
    make.ask_kind(ctx.b, x)
    return _class(ctx, x)


def answer(ctx: Context, x: Var, question: Callable[[type], bool]) -> bool:
    """What `question` says of the class of a number."""
    found = question(_class(ctx, x))
    make.ask_kind(ctx.b, x, tuple(_saying(found, question)))
    return found


def _saying(found: bool, question: Callable[[type], bool]) -> Iterator[Const]:
    return (const(n) for n in _NUMBERS if question(type(n)) is found)


def _class(ctx: Context, x: Var) -> type:
    return bool if is_python_bool(ctx, x) else _class_of_type(x.aval)


def _class_of_type(aval: Aval) -> type:
    return {"i": int, "f": float, "c": complex, "b": bool}[aval.dtype.kind] if aval.weak else aval.dtype.type


# ---- what stands for Python's objects ----------------------------------------------------------------

_STANDS_FOR: dict[type, type] = {
    RunRange: range,
    Zip: zip,
    Enumerate: enumerate,
    Grid: np.ndindex,
    Flat: np.flatiter,
    Closure: types.FunctionType,
    Bound: types.MethodType,
    Partial: functools.partial,
}
_ITERATORS: tuple[type, ...] = (
    *(types.GeneratorType, zip, map, filter, enumerate, reversed, itertools.chain, itertools.count),
    *map(type, (iter([]), iter(()), iter(""), iter({}), iter(set()), iter(range(0)))),
)


def classes_shown(v: Value) -> tuple[type, ...]:
    """The classes one of which is that of the object which the reader's value stands for; none where it is its own."""
    if isinstance(v, OpenList):
        return (list,)
    if type(v) is DictView:
        return (type(getattr(v.owner, v.kind)()),)
    if type(v) is Iterated and type(v.inner) in (Zip, Enumerate, Grid):
        return classes_shown(v.inner)
    if type(v) in (Iterated, Generator, Reversed, Endless):
        return _ITERATORS
    return (_STANDS_FOR[type(v)],) if type(v) in _STANDS_FOR else ()


def of_either(ctx: Context, node: ast.AST, classes: tuple[type, ...], question: Callable[[type], Any]) -> Any:
    """What `question` says of all of the classes."""
    said = [question(cls) for cls in classes]
    if any(x is not said[0] for x in said):
        ctx.cut(node, "the class of an iterator", why="what is known of it is what it gives")
    return said[0]
