"""Lists that loops of a driver fill: a region computes the element, and CPython appends it.

    for t in range(steps):              for t in range(steps):
        u = step(u)                         u, item = f_region_1(u)
        probes.append(u[3])                 probes.append(item)

A region that had the list would be another program for each length of it.
"""

from __future__ import annotations

import ast

from ..reading.text.liveness import Names


def append_of(s: ast.stmt) -> tuple[str, ast.expr] | None:
    """The list and the value of `name.append(value)`."""
    match s:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [value], [])):
            odd = isinstance(value, ast.Starred) or any(isinstance(n, ast.NamedExpr) for n in ast.walk(value))
            return None if odd else (name, value)
    return None


def only_filled(function: ast.FunctionDef, captured: Names) -> Names:
    """Local lists that have no second name while they are filled.

    Each is made once, by `name = []`, and nothing reads it, but to append, in front of the last statement of the
    function's own block that appends to it, or in that one.
    """
    every = (function.args.posonlyargs, function.args.args, function.args.kwonlyargs)
    excluded = {a.arg for several in every for a in several} | captured
    last: dict[str, int] = {}
    receivers: set[ast.AST] = set()
    for position, s in enumerate(function.body):
        for n in ast.walk(s):
            if isinstance(n, ast.stmt) and append_of(n) is not None:
                receiver = n.value.func.value  # type: ignore[attr-defined]
                last[receiver.id] = position
                receivers.add(receiver)
    made: dict[str, int] = {}
    for position, s in enumerate(function.body):
        for n in ast.walk(s):
            match n:
                case ast.Assign([ast.Name(name)], ast.List([])):
                    made[name] = made.get(name, 0) + 1
                case ast.Name(name) if n not in receivers:
                    if isinstance(n.ctx, ast.Load) and position <= last.get(name, -1):
                        excluded.add(name)
    bound = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    return frozenset(name for name in last if made.get(name) == 1 == bound.count(name)) - excluded
