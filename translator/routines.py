"""The routines of a program: applying a pass to a program and to the routines that it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .errors import NOWHERE, Diagnostic, Span, UnsupportedError
from .ir import Apply, Block, For, Function, If, Invoke, Param, Raise, Routine, Statement, While, routines_of, walk
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
    if not any(isinstance(s, Invoke) for s in walk(block)):
        return block
    return replace(block, statements=_with_calls(block.statements, each))


def _with_calls(statements: Sequence[Statement], each: Callable[[Invoke], Invoke]) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for s in statements:
        match s:
            case Invoke():
                s = each(s)
            case If():
                s = replace(s, then=with_calls(s.then, each), orelse=with_calls(s.orelse, each))
            case For() | Raise():
                s = replace(s, body=with_calls(s.body, each))
            case While():
                s = replace(s, condition=with_calls(s.condition, each), body=with_calls(s.body, each))
            case _:
                pass
        made.append(s)
    return tuple(made)
