"""The routines of a program: applying a pass to a program and to the routines that it calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .errors import NOWHERE, Diagnostic, Span, UnsupportedError
from .ir import (
    Apply,
    Block,
    Function,
    Invoke,
    Param,
    Routine,
    Statement,
    routines_of,
    walk,
    with_blocks,
    with_statements,
)
from .ops.core import Elementwise
from .rewrite import prune, unique_names
from .tree import flat_tree


def program_of(name: str, body: Block, span: Span = NOWHERE) -> Function:
    """A routine's program: a parameter for each variable, a flat tuple of results, nothing that no result needs."""
    names = unique_names([v.hint for v in body.params], set())
    out = flat_tree(len(body.results))
    return Function(name, tuple(map(Param, names)), prune(body), out, span=span)


def runs_in_cpython(block: Block) -> bool:
    """Whether the program has what no target has: calls of routines, functions of other libraries."""
    foreign = (isinstance(s, Apply) and isinstance(s.op, Elementwise) and s.op.foreign for s in walk(block))
    return bool(routines_of(block)) or any(foreign)


def left_to_cpython(s: Invoke) -> UnsupportedError:
    """The refusal of targets that have no calls: `runtime.calls.entries` gives them no such program."""
    return UnsupportedError(
        Diagnostic(
            f"{s.routine.name} calls itself as the data ask for",
            s.span,
            why="compiled code has no such calls; CPython runs the generated source",
            instead='use target="numpy", or write the recursion as a loop',
        )
    )


def everywhere(function: Function, apply: Callable[[Function], Function]) -> Function:
    """`apply(function)`, calling routines to which `apply` has been applied as well."""
    called = routines_of(function.body)
    if not called:
        return apply(function)
    new = {r: Routine(r.name) for r in called}

    def applied(f: Function) -> Function:
        done = apply(f)
        return replace(done, body=with_calls(done.body, lambda s: replace(s, routine=new.get(s.routine, s.routine))))

    for old, made in new.items():
        made.function = applied(old.function)
    return applied(function)


def with_calls(block: Block, each: Callable[[Invoke], Invoke]) -> Block:
    """The block with `each(s)` in place of every call of a routine, also of those in blocks inside."""

    def called(s: Statement) -> Statement:
        return each(s) if isinstance(s, Invoke) else with_blocks(s, lambda inner: with_calls(inner, each))

    return with_statements(block, tuple(map(called, block.statements)))
