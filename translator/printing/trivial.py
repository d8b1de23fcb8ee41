"""Seeing through branches and loops that return a value unchanged.

    if c:                               f(x)
        y = x               ->
    else:
        y = x
    f(y)

A printed program has none of them, for they would not be read back: `y = x` is no statement of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from ..ir import Apply, Atom, Block, For, Function, Fused, If, Invoke, Raise, Var, While, same_atom, walk
from ..rewrite import substituted, without_rules


def aliases(body: Block) -> dict[Var, Atom]:
    """Variables that surely have the value of another atom, which is none of them itself."""
    found: dict[Var, Atom] = {}

    def resolve(a: Atom) -> Atom:
        while isinstance(a, Var) and a in found:
            a = found[a]
        return a

    statements = list(walk(body))
    while True:
        before = len(found)
        for s in reversed(statements):
            match s:
                case For() | While():
                    _carried(s, found, resolve)
                case If():
                    _joined(s, found, resolve)
                case Apply() | Fused() | Raise() | Invoke():
                    pass
                case _:
                    assert_never(s)
        if len(found) == before:
            return {v: resolve(v) for v in found}


def _joined(s: If, found: dict[Var, Atom], resolve: Callable[[Atom], Atom]) -> None:
    """Targets that are the same in both branches, and targets that are the same as an earlier one."""
    seen: dict[tuple[Atom, Atom], Var] = {}
    for t, x, y in zip(s.targets, s.then.results, s.orelse.results, strict=True):
        if t in found:
            continue
        x, y = resolve(x), resolve(y)
        if same_atom(x, y):
            found[t] = x
        elif (x, y) in seen:
            found[t] = seen[x, y]
        else:
            seen[x, y] = t


def _carried(s: For | While, found: dict[Var, Atom], resolve: Callable[[Atom], Atom]) -> None:
    params = s.body.params[1:] if isinstance(s, For) else s.body.params
    tested = s.condition.params if isinstance(s, While) else params
    for t, c, p, init, result in zip(s.targets, tested, params, s.inits, s.body.results, strict=True):
        if p not in found and resolve(result) is p:
            found.update({v: resolve(init) for v in {t, c, p}})


def without_trivial(function: Function) -> Function:
    """The function with aliases replaced by what they stand for. Dead code remains to be dropped."""
    function = without_rules(function)
    found = aliases(function.body)
    return replace(function, body=substituted(function.body, found)) if found else function
