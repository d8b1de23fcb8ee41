"""Exceptions as source: `raise ValueError(f"sigma must be positive, got {sigma}")`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

import numpy as np

from ..thrown import Argument, Hole, Known, Slot, Text, Thrown
from .pieces import name
from .sourcetext import text_of
from .trees import Scope

_NUMPY = {np.linalg: "np.linalg", np.exceptions: "np.exceptions"}


def class_of(made: Thrown, scope: Scope) -> ast.expr:
    """The class; of the user's own the source has the name, and the scope the class."""
    cls = made.error
    if getattr(builtins, cls.__name__, None) is cls:
        return name(cls.__name__)
    for module, path in _NUMPY.items():
        if getattr(module, cls.__name__, None) is cls:
            return name(f"{path}.{cls.__name__}")
    return scope.refer(cls, cls.__name__)


def arguments(made: Thrown, values: Sequence[ast.expr], scope: Scope) -> list[ast.expr | ast.keyword]:
    """The arguments that the exception class is called with."""
    plain = [_argument(a, values, scope) for a in made.args]
    return [*plain, *(name(f"{k}={text_of(_argument(a, values, scope))}") for k, a in made.keywords)]


def _argument(a: Argument, values: Sequence[ast.expr], scope: Scope) -> ast.expr:
    match a:
        case Slot(number):
            return values[number]
        case Known(value):
            literal = scope.literal(value)
            bare = isinstance(literal, ast.Tuple) and len(literal.elts) != 1  # one of one element has its own
            return name(f"({text_of(literal)})") if bare else literal
        case Text(parts):
            return name(_f_string(parts, values))


def _f_string(parts: Sequence[str | Hole], values: Sequence[ast.expr]) -> str:
    """Before Python 3.12 what stands in the braces has no quotes of the kind around it."""
    holes = {p: text_of(values[p.number]) for p in parts if isinstance(p, Hole)}
    quote = next((q for q in ('"', "'", '"""') if not any(q in h for h in holes.values())), "'''")
    return "f" + quote + "".join(_part(p, holes, quote) for p in parts) + quote


def _part(p: str | Hole, holes: dict[Hole, str], quote: str) -> str:
    if isinstance(p, str):
        return "".join(_escaped(c, quote[0]) for c in p)
    conversion, spec = f"!{p.conversion}" if p.conversion else "", f":{p.spec}" if p.spec else ""
    return f"{{{holes[p]}{conversion}{spec}}}"


def _escaped(c: str, quote: str) -> str:
    if c in "{}":
        return c + c
    return f"\\{c}" if c == quote else c if c in "'\"" else repr(c)[1:-1]
